/*
 * Which objects form the event log is told by their links alone, which no subject can know (FORMAT 7.1.1). Everything
 * else that was found is kept; what no event names is listed as loose.
 */
#include "record/salvage.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/freeze.h"
#include "formats/message.h"
#include "formats/pack_salvage.h"
#include "formats/plan.h"
#include "formats/store.h"
#include "formats/stream.h"
#include "record/gather.h"
#include "record/output.h"
#include "record/salvage_inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGESTS_MAX_BYTES ((size_t)LIMIT_OBJECTS * DIGEST_BYTES)

struct salvaging {
    const struct salvage_request *request;
    int from_fd;
    struct output output;
    struct store *store; /* NULL: none */
    struct salvage_inputs inputs;
    struct pack_writer *pack;
    struct stream_writer *log; /* the log, segment by segment */
    struct digest last;        /* of the log's last segment */
    uint64_t event_count;
    uint8_t run_id[RUN_ID_BYTES];
    uint8_t plan[DIGEST_BYTES]; /* the recorded plan's digest */
    uint32_t version;           /* of the receipt: what that plan asks for */
    /* Digests of DIGEST_BYTES each. */
    struct bytes found;                /* of all objects, both parts */
    struct bytes named;                /* of those that events name */
    struct bytes lists;                /* of the first freezes' lists among them */
    bool linked;                       /* the segment at hand begins as it must */
    bool empty_observed, empty_frozen; /* an event names the empty object, a first freeze's list names it */
};

static int digest_note(struct bytes *to, const ProtobufCBinaryData *digest, struct err *err)
{
    return digest->len != DIGEST_BYTES ? 0 : bytes_add(to, digest->data, DIGEST_BYTES, DIGESTS_MAX_BYTES, err);
}

static int stream_note(struct salvaging *salvaging, const Exhibit__Stream *stream, struct err *err)
{
    for (size_t i = 0; stream != NULL && i < stream->n_segments; i++)
        if (digest_note(&salvaging->named, &stream->segments[i]->sha256, err) < 0)
            return err->code;
    return 0;
}

static int start_note(struct salvaging *salvaging, const Exhibit__RecordingStart *start, struct err *err)
{
    memcpy(salvaging->run_id, start->run_id.data, RUN_ID_BYTES);
    memcpy(salvaging->plan, start->plan_sha256.data, DIGEST_BYTES);
    salvage_inputs_start(&salvaging->inputs, start);
    if (digest_note(&salvaging->named, &start->plan_sha256, err) < 0 ||
        digest_note(&salvaging->named, &start->oracle_sha256, err) < 0)
        return err->code;
    return digest_note(&salvaging->named, &start->policy_sha256, err);
}

/* Notes what an event of the log names (FORMAT 7.9). */
static int event_take(void *context, const Exhibit__Event *event, struct err *err)
{
    struct salvaging *salvaging = context;
    bool first = event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START;

    if (!salvaging->linked && event->seq != 1 && event->what_case != EXHIBIT__EVENT__WHAT_LOG_LINK)
        return err_set(err, ERR_FORMAT, "the segment has no link");
    if (first != (event->seq == 1))
        return err_set(err, ERR_FORMAT, "not the beginning of a log");
    salvaging->linked = true;
    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_RECORDING_START:
        return start_note(salvaging, event->recording_start, err);
    case EXHIBIT__EVENT__WHAT_FREEZE:
        if (salvage_inputs_freeze(&salvaging->inputs, event->freeze, err) < 0 ||
            (event->freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE &&
             digest_note(&salvaging->lists, &event->freeze->list_sha256, err) < 0))
            return err->code;
        return digest_note(&salvaging->named, &event->freeze->list_sha256, err);
    case EXHIBIT__EVENT__WHAT_RUN_START:
        return stream_note(salvaging, event->run_start->stdin_stream, err);
    case EXHIBIT__EVENT__WHAT_STREAM_END:
        return stream_note(salvaging, event->stream_end->content, err);
    case EXHIBIT__EVENT__WHAT_TARGET_STATE:
        return digest_note(&salvaging->named, &event->target_state->content_sha256, err);
    case EXHIBIT__EVENT__WHAT_ARTIFACT:
        return event->artifact->kept ? digest_note(&salvaging->named, &event->artifact->sha256, err) : 0;
    default:
        return 0;
    }
}

/* Takes the object as the next segment of the log, where it is one. */
static int segment_try(struct salvaging *salvaging, const struct pack_found *found, struct err *err)
{
    size_t named_bytes = salvaging->named.size_bytes, list_bytes = salvaging->lists.size_bytes;
    size_t input_bytes = salvaging->inputs.lists.size_bytes;
    const struct digest *before = salvaging->event_count == 0 ? NULL : &salvaging->last;
    struct err other;
    int code;

    if (found->part != PACK_OBSERVATION || found->size_bytes > LIMIT_SEGMENT_BYTES)
        return 0;
    salvaging->linked = false;
    code = events_read_segment(found->content, (size_t)found->size_bytes, before, &salvaging->event_count, event_take,
                               salvaging, &other);
    if (code == ERR_SYSTEM) {
        *err = other;
        return code;
    }
    if (code < 0) { /* another object */
        salvaging->named.size_bytes = named_bytes;
        salvaging->lists.size_bytes = list_bytes;
        salvaging->inputs.lists.size_bytes = input_bytes;
        return 0;
    }
    salvaging->last = found->digest;
    if (digest_note(&salvaging->named, &(ProtobufCBinaryData){DIGEST_BYTES, salvaging->last.bytes}, err) < 0 ||
        stream_writer_add(salvaging->log, found->content, (size_t)found->size_bytes, err) < 0)
        return err->code;
    return stream_writer_flush(salvaging->log, err);
}

static int object_take(void *context, const struct pack_found *found, struct err *err)
{
    struct salvaging *salvaging = context;
    struct digest digest;
    uint64_t size_bytes;
    int code = found->content != NULL
                   ? pack_put(salvaging->pack, found->part, found->content, (size_t)found->size_bytes, &digest, err)
                   : pack_put_fd(salvaging->pack, found->part, found->fd, &digest, &size_bytes, err);

    if (code < 0 || bytes_add(&salvaging->found, found->digest.bytes, DIGEST_BYTES, DIGESTS_MAX_BYTES, err) < 0)
        return err->code;
    return segment_try(salvaging, found, err);
}

/* ---- what is loose ---- */

static void digests_sort(struct bytes *digests)
{
    digest_sort(digests->data, digests->size_bytes / DIGEST_BYTES, DIGEST_BYTES);
}

static bool digests_have(const struct bytes *sorted, const uint8_t *digest)
{
    return digest_is_among(sorted->data, sorted->size_bytes / DIGEST_BYTES, digest);
}

/* FORMAT 8.1 */
static int version_find(struct salvaging *salvaging, const struct pack_found *found, struct err *err)
{
    struct plan plan = {0};
    struct err other;
    int code = plan_parse_recorded(found->content, (size_t)found->size_bytes, &plan, &other);

    if (code == 0 && (plan_has_secret(&plan) || plan_has_local(&plan)))
        salvaging->version = 2;
    plan_done(&plan);
    if (code == ERR_SYSTEM)
        *err = other;
    return code == ERR_SYSTEM ? code : 0;
}

/* Notes an input that the list of a first freeze names. */
static int named_take(void *context, const Exhibit__FreezeEntry *entry, const struct cursor *packed, struct err *err)
{
    const struct digest empty = digest_of("", 0);
    struct salvaging *salvaging = context;

    (void)packed;
    if (!S_ISREG(entry->mode))
        return 0;
    salvaging->empty_frozen = salvaging->empty_frozen || (entry->sha256.len == DIGEST_BYTES &&
                                                          memcmp(entry->sha256.data, empty.bytes, DIGEST_BYTES) == 0);
    return digest_note(&salvaging->named, &entry->sha256, err);
}

/* On a second way through the file: a first freeze's list names inputs, and the plan tells the receipt's version. */
static int list_take(void *context, const struct pack_found *found, struct err *err)
{
    struct salvaging *salvaging = context;
    size_t named_bytes = salvaging->named.size_bytes;
    bool empty_frozen = salvaging->empty_frozen;
    AUTO_BYTES struct bytes list = {0};
    struct err other;

    if (found->part == PACK_OBSERVATION && found->content != NULL && found->size_bytes <= LIMIT_YAML_BYTES &&
        memcmp(found->digest.bytes, salvaging->plan, DIGEST_BYTES) == 0)
        return version_find(salvaging, found, err);
    if (found->part != PACK_OBSERVATION || !digests_have(&salvaging->lists, found->digest.bytes))
        return 0;
    if (pack_found_read(found, LIMIT_FREEZE_BYTES, &list, &other) == 0 &&
        freeze_walk(list.data, list.size_bytes, named_take, salvaging, &other) == 0)
        return 0;
    salvaging->named.size_bytes = named_bytes; /* it is no list, and names nothing */
    salvaging->empty_frozen = empty_frozen;
    if (other.code == ERR_SYSTEM)
        *err = other;
    return other.code == ERR_SYSTEM ? ERR_SYSTEM : 0;
}

/* The digests that were found and that nothing names, each once. */
static int loose_find(struct salvaging *salvaging, struct bytes *out, struct err *err)
{
    const struct bytes *found = &salvaging->found;
    const struct digest empty = digest_of("", 0);
    uint64_t whole_bytes;

    digests_sort(&salvaging->lists);
    digests_sort(&salvaging->named);
    salvaging->empty_observed = digests_have(&salvaging->named, empty.bytes); /* by events, so far */
    if (pack_salvage(salvaging->from_fd, salvaging->output.dir_fd, list_take, salvaging, &whole_bytes, err) < 0)
        return err->code;
    digests_sort(&salvaging->found);
    digests_sort(&salvaging->named);
    for (size_t at = 0; at < found->size_bytes; at += DIGEST_BYTES)
        if (!digests_have(&salvaging->named, found->data + at) &&
            (at == 0 || memcmp(found->data + at - DIGEST_BYTES, found->data + at, DIGEST_BYTES) != 0) &&
            bytes_add(out, found->data + at, DIGEST_BYTES, DIGESTS_MAX_BYTES, err) < 0)
            return err->code;
    return 0;
}

/* The empty object is in no group: it is put where it is named, and in no other part. */
static int empty_put(struct salvaging *salvaging, struct err *err)
{
    struct digest again;

    if (salvaging->empty_observed && pack_put(salvaging->pack, PACK_OBSERVATION, "", 0, &again, err) < 0)
        return err->code;
    return salvaging->empty_frozen ? pack_put(salvaging->pack, PACK_INPUT, "", 0, &again, err) : 0;
}

/* ---- the pack ---- */

static int receipt_put(struct salvaging *salvaging, struct bytes *loose, struct digest *out, struct err *err)
{
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    size_t count = loose->size_bytes / DIGEST_BYTES;
    AUTO_FREE ProtobufCBinaryData *digests = calloc(count + 1, sizeof *digests);
    AUTO_BYTES struct bytes packed = {0};
    const Exhibit__Stream *events;

    if (digests == NULL)
        return err_set_errno(err, "memory for %zu digests", count);
    if (stream_writer_finish(salvaging->log, &events, err) < 0)
        return err->code;
    for (size_t i = 0; i < count; i++)
        digests[i] = (ProtobufCBinaryData){DIGEST_BYTES, loose->data + i * DIGEST_BYTES};
    receipt.version = salvaging->version;
    receipt.run_id = (ProtobufCBinaryData){RUN_ID_BYTES, salvaging->run_id};
    receipt.events = (Exhibit__Stream *)events; /* packed only */
    receipt.partial = true;
    receipt.loose_sha256 = digests;
    receipt.n_loose_sha256 = count;
    if (message_pack(&receipt.base, LIMIT_RECEIPT_BYTES, &packed, err) < 0)
        return err_wrap(err, "a receipt of %zu objects of which no list had been written", count);
    return pack_put(salvaging->pack, PACK_OBSERVATION, packed.data, packed.size_bytes, out, err);
}

static int parts_open(struct salvaging *salvaging, struct err *err)
{
    const struct salvage_request *request = salvaging->request;
    const struct store_request store = {
        .path = request->store, .lock = STORE_SHARED, .note = request->note, .context = request->context};
    struct pack *finished = NULL;
    struct err partial;

    salvaging->from_fd = open(request->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (salvaging->from_fd < 0)
        return err_set(err, ERR_USAGE, "%s: %s", request->from, strerror(errno));
    if (flock(salvaging->from_fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return err_set(err, ERR_USAGE, "%s: its recorder is still at work; wait until it has ended, or end it",
                       request->from);
    if (pack_open(salvaging->from_fd, &finished, &partial) == 0) {
        const struct digest receipt = pack_receipt(finished);
        char name[STORE_NAME_BYTES];

        pack_close(finished);
        store_pack_name(&receipt, name);
        if (request->store == NULL)
            return err_set(err, ERR_USAGE, "%s: a finished bundle: there is nothing to salvage", request->from);
        return err_set(err, ERR_USAGE, "%s: finished: there is nothing to salvage; rename it to %s/%s", request->from,
                       request->store, name);
    }
    if (output_check(&salvaging->output, &(struct output_request){.file = request->output}, err) < 0 ||
        (request->store != NULL && store_open(&store, &salvaging->store, err) < 0))
        return err->code;
    if (output_start(&salvaging->output, &salvaging->pack, err) < 0)
        return err_wrap(err, "-o %s", request->output);
    salvaging->log = stream_writer_new(salvaging->pack);
    return salvaging->log == NULL ? err_set_errno(err, "memory for the log") : 0;
}

/* ---- the store ---- */

static int plan_take(void *context, const struct pack_found *found, struct err *err)
{
    struct salvaging *salvaging = context;

    return salvage_inputs_plan(&salvaging->inputs, found, err);
}

static int inputs_list_take(void *context, const struct pack_found *found, struct err *err)
{
    struct salvaging *salvaging = context;

    return salvage_inputs_list(&salvaging->inputs, found, err);
}

/* Takes what is in no group of the file because the store had it. */
static int store_take(struct salvaging *salvaging, struct salvage_report *out, struct err *err)
{
    struct needs *needs = &salvaging->inputs.needs;
    struct gather gather;
    uint64_t whole_bytes;
    int spool_fd = salvaging->output.dir_fd;

    if (pack_salvage(salvaging->from_fd, spool_fd, plan_take, salvaging, &whole_bytes, err) < 0 ||
        pack_salvage(salvaging->from_fd, spool_fd, inputs_list_take, salvaging, &whole_bytes, err) < 0)
        return err->code;
    needs_settle(needs);
    if (gather_start(&gather, salvaging->store, needs, salvaging->pack, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < store_pack_count(salvaging->store) && gather_missing(&gather) > 0; i++)
        if (gather_number(&gather, i, err) < 0)
            return err->code;
    out->store_count = gather.counts.object_count;
    out->lost_count = gather_missing(&gather);
    return 0;
}

static int pack_make(struct salvaging *salvaging, struct salvage_report *out, struct err *err)
{
    const char *from = salvaging->request->from;
    AUTO_BYTES struct bytes loose = {0};
    struct digest receipt;
    struct pack_writer *pack;
    int code =
        pack_salvage(salvaging->from_fd, salvaging->output.dir_fd, object_take, salvaging, &out->whole_bytes, err);

    if (code < 0)
        return err_wrap(err, "%s", from);
    if (salvaging->event_count == 0)
        return err_set(err, ERR_FORMAT,
                       "%s: there is no event in what is whole of it, its first %" PRIu64
                       " bytes: it ended before the recording had begun, or is damaged behind them",
                       from, out->whole_bytes);
    if (loose_find(salvaging, &loose, err) < 0 || empty_put(salvaging, err) < 0 ||
        (salvaging->store != NULL && store_take(salvaging, out, err) < 0) ||
        receipt_put(salvaging, &loose, &receipt, err) < 0)
        return err->code;
    out->event_count = salvaging->event_count;
    out->object_count = salvaging->found.size_bytes / DIGEST_BYTES;
    out->loose_count = loose.size_bytes / DIGEST_BYTES;
    pack = salvaging->pack;
    salvaging->pack = NULL; /* freed by finishing, also on failure */
    return pack_writer_finish(pack, &receipt, NULL, err);
}

int salvage_make(const struct salvage_request *request, struct salvage_report *out, struct err *err)
{
    struct salvaging salvaging = {.request = request, .from_fd = -1, .output.dir_fd = -1, .version = 1};
    struct stat stat;
    int code = parts_open(&salvaging, err);

    *out = (struct salvage_report){0};
    if (code == 0)
        code = pack_make(&salvaging, out, err);
    if (code == 0 && fstat(salvaging.from_fd, &stat) == 0)
        out->file_bytes = (uint64_t)stat.st_size;
    stream_writer_free(salvaging.log);
    pack_writer_abandon(salvaging.pack);
    store_close(salvaging.store);
    salvage_inputs_done(&salvaging.inputs);
    bytes_done(&salvaging.found);
    bytes_done(&salvaging.named);
    bytes_done(&salvaging.lists);
    if (salvaging.from_fd >= 0)
        (void)close(salvaging.from_fd);
    output_done(&salvaging.output);
    return code;
}
