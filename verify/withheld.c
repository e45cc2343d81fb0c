#include "verify/withheld.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The beginning of an object, and its size. */
struct withheld_look {
    uint8_t salt[WITHHELD_SALT_BYTES];
    uint64_t size_bytes;
};

static int withheld_take(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct withheld_look *look = context;
    size_t have = look->size_bytes < WITHHELD_SALT_BYTES ? (size_t)look->size_bytes : WITHHELD_SALT_BYTES;
    size_t more = WITHHELD_SALT_BYTES - have < size_bytes ? WITHHELD_SALT_BYTES - have : size_bytes;

    (void)err;
    if (more > 0)
        memcpy(look->salt + have, piece, more);
    look->size_bytes += size_bytes;
    return 0;
}

/* One object that is there: its digest is checked where it is read, so what it holds is what the freeze says. */
static int withheld_check(struct withheld *withheld, struct pack *pack, const struct digest *digest,
                          const Exhibit__FreezeEntry *entry, struct findings *findings, struct err *err)
{
    struct withheld_look look = {0};
    int code = pack_read_pieces(pack, PACK_INPUT, digest, withheld_take, &look, err);

    if (code < 0)
        return finding_of_error(findings, "a local input's object", err);
    if (withheld->has_salt && memcmp(withheld->salt, look.salt, WITHHELD_SALT_BYTES) != 0)
        finding_add(findings, "FORMAT 7.11: \"%.*s\" of a local input does not begin with the salt of the others",
                    (int)entry->path.len, (const char *)entry->path.data);
    if (!withheld->has_salt)
        memcpy(withheld->salt, look.salt, WITHHELD_SALT_BYTES);
    withheld->has_salt = true;
    return 0;
}

/* How many different digests there are. */
static uint32_t withheld_distinct(struct bytes *digests)
{
    uint32_t distinct = 0;

    digest_sort(digests->data, digests->size_bytes / DIGEST_BYTES, DIGEST_BYTES);
    for (size_t at = 0; at < digests->size_bytes; at += DIGEST_BYTES)
        distinct += at == 0 || memcmp(digests->data + at - DIGEST_BYTES, digests->data + at, DIGEST_BYTES) != 0;
    return distinct;
}

int withheld_follow(struct withheld *withheld, struct pack *pack, const Exhibit__FreezeEntry *entry,
                    struct findings *findings, struct err *err)
{
    struct digest digest;
    uint64_t object_bytes;
    uint32_t number;

    if (withheld->checked == NULL)
        withheld->checked = calloc(pack_object_count(pack, PACK_INPUT) / 8 + 1, 1);
    if (withheld->checked == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    if (!S_ISREG(entry->mode) || !digest_from(entry->sha256.data, entry->sha256.len, &digest))
        return 0;
    if (!pack_number(pack, PACK_INPUT, &digest, &number))
        return bytes_add(&withheld->missing, digest.bytes, DIGEST_BYTES, LIMIT_FREEZE_BYTES, err);
    if (bytes_add(&withheld->present, digest.bytes, DIGEST_BYTES, LIMIT_FREEZE_BYTES, err) < 0)
        return err->code;
    object_bytes = pack_object_at(pack, PACK_INPUT, number).size_bytes;
    if (object_bytes < WITHHELD_SALT_BYTES || object_bytes - WITHHELD_SALT_BYTES != entry->size_bytes) {
        finding_add(findings, "FORMAT 7.11: the object of a local file of %" PRIu64 " bytes has %" PRIu64,
                    entry->size_bytes, object_bytes);
        return 0;
    }
    if ((withheld->checked[number / 8] >> (number % 8)) & 1)
        return 0;
    withheld->checked[number / 8] |= (uint8_t)(1u << (number % 8));
    return withheld_check(withheld, pack, &digest, entry, findings, err);
}

void withheld_end(struct withheld *withheld, const char *input)
{
    struct withheld_input *told;

    if (withheld->count <= LIMIT_INPUTS) { /* more freezes than a plan can have: a finding of others */
        told = &withheld->inputs[withheld->count++];
        (void)snprintf(told->name, sizeof told->name, "%s", input);
        told->missing = withheld_distinct(&withheld->missing);
        told->present = withheld_distinct(&withheld->present);
    }
    bytes_done(&withheld->missing);
    bytes_done(&withheld->present);
}

uint64_t withheld_missing(const struct withheld *withheld)
{
    uint64_t missing = 0;

    for (size_t i = 0; i < withheld->count; i++)
        missing += withheld->inputs[i].missing;
    return missing;
}

void withheld_done(struct withheld *withheld)
{
    free(withheld->checked);
    withheld->checked = NULL;
}
