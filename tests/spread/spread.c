/*
 * Makes many receipts of one: spread BUNDLE FOLDER COUNT FROM. Each has a name, a run and boot id, nonces, proofs and
 * times of its own, and so objects and digests of its own; in five of ten a fact is another. Its claim is the
 * recorder's judge's. Numbers FROM ... FROM + COUNT - 1; a folder for each two hundred. Prints how many were decided
 * how, as JSON.
 *
 * For tests: nothing is synced to the disk.
 */
#include "base.h"
#include "base/cleanup.h"
#include "formats/claim.h"
#include "record/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER_FILES 200
#define KEPT_BYTES (32 << 20) /* the most that mallopt takes */

/* What is made of a base, in memory of its own that is used again. */
struct made {
    struct base *base;
    struct oracle oracle;
    struct bytes *objects; /* contents, as patched */
    uint64_t shift_ns;
};

static void must(int code, const char *what, const struct err *err)
{
    if (code < 0)
        base_fail(what, err->text);
}

int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

/* ---- what is different ---- */

/* New bytes for a pair: from its old ones and the number, so that the same call makes the same receipts. */
static struct digest number_digest(const struct pair *pair, unsigned number)
{
    uint8_t text[sizeof pair->old + sizeof number];

    memcpy(text, pair->old, pair->size_bytes);
    memcpy(text + pair->size_bytes, &number, sizeof number);
    return digest_of(text, pair->size_bytes + sizeof number);
}

static void set_raw(struct pair *pair, unsigned number)
{
    struct digest digest = number_digest(pair, number);

    memcpy(pair->new, digest.bytes, pair->size_bytes < DIGEST_BYTES ? pair->size_bytes : DIGEST_BYTES);
}

/* The last five characters of the name are the number. */
static void set_name(struct pair *pair, unsigned number)
{
    char digits[16];

    (void)snprintf(digits, sizeof digits, "%05u", number % 100000);
    if (pair->size_bytes < 6)
        base_fail("the bundle", "its experiment needs a name that ends in five digits");
    memcpy(pair->new + pair->size_bytes - 5, digits, 5);
}

static void set_pairs(struct base *base, unsigned number)
{
    set_raw(&base->pairs[base->run_id], number);
    set_name(&base->pairs[base->name], number);
    for (size_t i = 0; i < base->nonce_count; i++) {
        struct pair *raw = &base->pairs[base->nonce_pairs[i][0]], *text = &base->pairs[base->nonce_pairs[i][1]];
        char digits[2 * NONCE_BYTES + 1];

        set_raw(raw, number);
        hex_encode(raw->new, NONCE_BYTES, digits);
        memcpy(text->new, digits, text->size_bytes);
    }
    for (size_t i = 0; i < base->proof_count; i++) {
        const struct base_proof *proof = &base->proofs[i];
        char nonce[2 * NONCE_BYTES + 1] = "", digits[2 * DIGEST_BYTES + 1];

        memcpy(nonce, base->pairs[proof->nonce_pair].new, 2 * NONCE_BYTES);
        proof_make(&proof->canary, nonce, proof->round, digits);
        memcpy(base->pairs[proof->proof_pair].new, digits, 2 * DIGEST_BYTES);
    }
}

static void patch(const struct base *base, const struct patched *from, struct bytes *out)
{
    struct err err = {0};

    out->size_bytes = 0;
    must(bytes_add(out, from->bytes.data, from->bytes.size_bytes, SIZE_MAX - 1, &err), "memory", &err);
    for (size_t i = 0; i < from->place_count; i++) {
        const struct pair *pair = &base->pairs[from->places[i].pair];

        memcpy(out->data + from->places[i].at, pair->new, pair->size_bytes);
    }
}

/* Patches the objects; one that names another by digest comes after it, for pairs of digests are in that order. */
static void patch_objects(struct made *made)
{
    struct base *base = made->base;

    for (size_t i = 0; i < base->object_count; i++)
        patch(base, &base->objects[i].content, &made->objects[i]);
    for (size_t i = 0; i < base->pair_count; i++) {
        struct pair *pair = &base->pairs[i];
        struct digest digest;

        if (pair->digest_of == SIZE_MAX)
            continue;
        patch(base, &base->objects[pair->digest_of].content, &made->objects[pair->digest_of]);
        digest = digest_of(made->objects[pair->digest_of].data, made->objects[pair->digest_of].size_bytes);
        memcpy(pair->new, digest.bytes, DIGEST_BYTES);
    }
}

/* ---- writing ---- */

static size_t put_varint(uint8_t *to, uint64_t number)
{
    size_t size_bytes = 0;

    for (; number >= 128; number >>= 7)
        to[size_bytes++] = (uint8_t)(number | 128);
    to[size_bytes++] = (uint8_t)number;
    return size_bytes;
}

/* The bytes of event i, with its number and time in front. */
static void event_bytes(const struct made *made, size_t i, struct bytes *rest, struct bytes *out)
{
    uint8_t head[32];
    struct err err = {0};
    size_t used = 0;

    head[used++] = 1 << 3; /* seq */
    used += put_varint(head + used, i + 1);
    head[used++] = 2 << 3; /* at_ns */
    used += put_varint(head + used, made->base->events[i].at_ns + made->shift_ns);
    patch(made->base, &made->base->events[i].rest, rest);
    out->size_bytes = 0;
    must(bytes_add(out, head, used, LIMIT_EVENT_BYTES, &err), "an event", &err);
    must(bytes_add(out, rest->data, rest->size_bytes, LIMIT_EVENT_BYTES, &err), "an event", &err);
}

/* Shows event i to the judge. */
static void judge_event(const struct made *made, size_t i, const struct bytes *packed, struct judge *judge)
{
    const struct base_event *from = &made->base->events[i];
    const uint8_t *payload = from->object == SIZE_MAX ? NULL : made->objects[from->object].data;
    Exhibit__Event *event = exhibit__event__unpack(NULL, packed->size_bytes, packed->data);
    struct err err = {0};

    if (event == NULL)
        base_fail("an event", "it cannot be unpacked");
    must(judge_take(judge, event, payload == NULL ? NULL : payload + from->offset_bytes, from->size_bytes, &err),
         "the judge", &err);
    exhibit__event__free_unpacked(event, NULL);
}

static struct digest put_message(struct pack_writer *writer, const ProtobufCMessage *message)
{
    AUTO_BYTES struct bytes packed = {0};
    struct err err = {0};
    struct digest digest;

    must(message_pack(message, LIMIT_CLAIM_BYTES, &packed, &err), "a message", &err);
    must(pack_put(writer, PACK_OBSERVATION, packed.data, packed.size_bytes, &digest, &err), "a message", &err);
    return digest;
}

/* Writes the log, judges it on the way, and writes receipt and claim. Gives the decision. */
static void write_facts(struct made *made, struct pack_writer *writer, struct digest roots[2], char *out_decision)
{
    AUTO_BYTES struct bytes rest = {0};
    AUTO_BYTES struct bytes packed = {0};
    struct stream_writer *log = stream_writer_new(writer);
    struct judge *judge = judge_new(&made->oracle);
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    struct pair *run_id = &made->base->pairs[made->base->run_id];
    Exhibit__Claim *claim = NULL;
    const Exhibit__Stream *events;
    struct err err = {0};

    for (size_t i = 0; i < made->base->event_count; i++) {
        uint8_t length[16];

        event_bytes(made, i, &rest, &packed);
        must(stream_writer_add(log, length, put_varint(length, packed.size_bytes), &err), "the log", &err);
        must(stream_writer_add(log, packed.data, packed.size_bytes, &err), "the log", &err);
        judge_event(made, i, &packed, judge);
    }
    must(stream_writer_finish(log, &events, &err), "the log", &err);
    receipt.version = 1;
    receipt.run_id = (ProtobufCBinaryData){run_id->size_bytes, run_id->new};
    receipt.events = (Exhibit__Stream *)events;
    roots[0] = put_message(writer, &receipt.base);
    must(judge_finish(judge, &roots[0], &claim, &err), "the judge", &err);
    roots[1] = put_message(writer, &claim->base);
    (void)snprintf(out_decision, 16, "%s", claim->decision);
    exhibit__claim__free_unpacked(claim, NULL);
    judge_free(judge);
    stream_writer_free(log);
}

/* Makes one receipt. */
static void make_one(struct made *made, unsigned number, int folder_fd, char *out_decision)
{
    struct pack_writer *writer = NULL;
    struct base *base = made->base;
    struct digest digest, roots[2];
    struct err err = {0};
    char name[32];

    made->shift_ns = (uint64_t)number * 1000003;
    set_pairs(base, number);
    patch_objects(made);
    (void)snprintf(name, sizeof name, "%05u.exhibit", number);
    must(pack_writer_new(folder_fd, name, &writer, &err), name, &err);
    for (size_t i = 0; i < base->object_count; i++)
        must(pack_put(writer, PACK_OBSERVATION, made->objects[i].data, made->objects[i].size_bytes, &digest, &err),
             name, &err);
    for (size_t i = 0; i < base->input_count; i++)
        must(pack_put(writer, PACK_INPUT, base->inputs[i].content.bytes.data, base->inputs[i].content.bytes.size_bytes,
                      &digest, &err),
             name, &err);
    write_facts(made, writer, roots, out_decision);
    must(pack_writer_finish(writer, &roots[0], &roots[1], &err), name, &err);
}

static int open_folder(const char *path, unsigned number)
{
    char name[4096];
    int fd;

    (void)snprintf(name, sizeof name, "%s/%02u", path, number / FOLDER_FILES);
    if (mkdir(name, 0755) < 0 && errno != EEXIST)
        base_fail(name, strerror(errno));
    fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        base_fail(name, strerror(errno));
    return fd;
}

/* Of ten receipts the first five are as recorded, the others one of each variant. */
static enum variant variant_of(unsigned number)
{
    return number % 10 < 5 ? VARIANT_AS_RECORDED : (enum variant)(number % 10 - 4);
}

static void start_base(const char *path, enum variant variant, struct base *base, struct made *made)
{
    struct err err = {0};

    base_read(path, variant, base);
    *made = (struct made){.base = base, .objects = calloc(base->object_count, sizeof *made->objects)};
    if (made->objects == NULL)
        base_fail("memory", "none is left");
    must(oracle_parse("oracle", base->oracle.data, base->oracle.size_bytes, &made->oracle, &err), "oracle", &err);
}

int main(int argc, char **argv)
{
    static struct base bases[VARIANT_COUNT];
    static struct made made[VARIANT_COUNT];
    static const char *const decisions[] = {"GO", "NO-GO", "INCOMPLETE"};
    size_t counts[3] = {0};
    unsigned count, from;

    if (argc != 5)
        base_fail("usage", "spread BUNDLE FOLDER COUNT FROM");
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES); /* each receipt needs the same large rooms again */
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    count = (unsigned)strtoul(argv[3], NULL, 10);
    from = (unsigned)strtoul(argv[4], NULL, 10);
    for (enum variant i = 0; i < VARIANT_COUNT; i++)
        start_base(argv[1], i, &bases[i], &made[i]);
    for (unsigned i = from; i < from + count; i++) {
        AUTO_FD int fd = open_folder(argv[2], i);
        char decision[16];

        make_one(&made[variant_of(i)], i, fd, decision);
        for (size_t j = 0; j < 3; j++)
            counts[j] += strcmp(decision, decisions[j]) == 0;
    }
    printf("{\"GO\": %zu, \"NO-GO\": %zu, \"INCOMPLETE\": %zu}\n", counts[0], counts[1], counts[2]);
    return 0;
}
