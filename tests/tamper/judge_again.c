/*
 * Feeds a bundle's facts to the recorder's own judge, as if they happened now, and prints its claim as JSON:
 * judge-again BUNDLE. For tests: so that all three judges can be asked about a bundle that nobody recorded.
 */
#include "base/cleanup.h"
#include "base/cursor.h"
#include "formats/claim.h"
#include "formats/stream.h"
#include "record/judge.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LARGEST_BYTES (256u << 20)

/* The bytes of one stream of one run. */
struct again_stream {
    uint32_t run;
    Exhibit__StreamName name;
    struct bytes content;
};

struct again {
    struct pack *pack;
    struct again_stream *streams;
    size_t stream_count;
    struct oracle oracle;
    struct judge *judge;
};

/* First pass: the oracle's digest, and the bytes of all streams. */
static int again_collect(void *context, const Exhibit__Event *event, struct err *err)
{
    struct again *again = context;
    AUTO_BYTES struct bytes text = {0};
    struct digest digest;
    struct again_stream *streams;

    if (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START) {
        const ProtobufCBinaryData *named = &event->recording_start->oracle_sha256;

        if (!digest_from(named->data, named->len, &digest) ||
            pack_read(again->pack, PACK_OBSERVATION, &digest, LIMIT_YAML_BYTES, &text, err) < 0)
            return err_set(err, ERR_FORMAT, "no oracle");
        return oracle_parse("recorded oracle", text.data, text.size_bytes, &again->oracle, err);
    }
    if (event->what_case != EXHIBIT__EVENT__WHAT_STREAM_END)
        return 0;
    streams = reallocarray(again->streams, again->stream_count + 1, sizeof *streams);
    if (streams == NULL)
        return err_set_errno(err, "memory for a stream");
    again->streams = streams;
    streams[again->stream_count] = (struct again_stream){event->run, event->stream_end->stream, {0}};
    return stream_read_all(again->pack, event->stream_end->content, LARGEST_BYTES,
                           &streams[again->stream_count++].content, err);
}

/* The bytes that a chunk brought. */
static int again_chunk(const struct again *again, const Exhibit__Event *event, struct cursor *out, struct err *err)
{
    const Exhibit__Chunk *chunk = event->chunk;

    for (size_t i = 0; i < again->stream_count; i++) {
        const struct again_stream *stream = &again->streams[i];

        if (stream->run != event->run || stream->name != chunk->stream)
            continue;
        if (chunk->offset_bytes > stream->content.size_bytes ||
            chunk->size_bytes > stream->content.size_bytes - chunk->offset_bytes)
            break;
        *out = (struct cursor){stream->content.data + chunk->offset_bytes, (size_t)chunk->size_bytes};
        return 0;
    }
    return err_set(err, ERR_FORMAT, "event %" PRIu64 ": its bytes are not there", event->seq);
}

/* Second pass: each event with the bytes that it stands for. */
static int again_feed(void *context, const Exhibit__Event *event, struct err *err)
{
    struct again *again = context;
    const ProtobufCBinaryData *named = NULL;
    AUTO_BYTES struct bytes content = {0};
    struct cursor payload = {NULL, 0};
    struct digest digest;

    if (event->what_case == EXHIBIT__EVENT__WHAT_CHUNK && again_chunk(again, event, &payload, err) < 0)
        return err->code;
    if (event->what_case == EXHIBIT__EVENT__WHAT_TARGET_STATE)
        named = &event->target_state->content_sha256;
    if (event->what_case == EXHIBIT__EVENT__WHAT_ARTIFACT && event->artifact->kept)
        named = &event->artifact->sha256;
    if (named != NULL && digest_from(named->data, named->len, &digest)) {
        if (pack_read(again->pack, PACK_OBSERVATION, &digest, LARGEST_BYTES, &content, err) < 0)
            return err->code;
        payload = (struct cursor){content.data, content.size_bytes};
    }
    return judge_take(again->judge, event, payload.at, payload.left_bytes, err);
}

static int again_judge(struct again *again, struct err *err)
{
    struct digest digest = pack_receipt(again->pack);
    Exhibit__Receipt *receipt = NULL;
    Exhibit__Claim *claim = NULL;
    json_t *json;
    int code = receipt_read(again->pack, &receipt, err);

    if (code < 0)
        return code;
    code = events_read(again->pack, receipt->events, again_collect, again, err);
    again->judge = code == 0 ? judge_new(&again->oracle) : NULL;
    if (again->judge != NULL)
        code = events_read(again->pack, receipt->events, again_feed, again, err);
    exhibit__receipt__free_unpacked(receipt, NULL);
    if (code < 0 || judge_finish(again->judge, &digest, &claim, err) < 0)
        return err->code;
    json = claim_to_json(claim);
    exhibit__claim__free_unpacked(claim, NULL);
    code = json != NULL && json_dumpf(json, stdout, 0) == 0 ? 0 : err_set(err, ERR_SYSTEM, "could not print");
    json_decref(json);
    return code;
}

int main(int argc, char **argv)
{
    struct again again = {0};
    struct err err = {0};
    AUTO_FD int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    int code = fd < 0 ? err_set(&err, ERR_USAGE, "usage: judge-again BUNDLE") : pack_open(fd, &again.pack, &err);

    if (code == 0)
        code = again_judge(&again, &err);
    if (code < 0)
        (void)fprintf(stderr, "judge-again: %s\n", err.text);
    for (size_t i = 0; i < again.stream_count; i++)
        bytes_done(&again.streams[i].content);
    free(again.streams);
    judge_free(again.judge);
    oracle_done(&again.oracle);
    pack_close(again.pack);
    return code < 0;
}
