/*
 * Shows a finished bundle to the recorder's own judge, event by event as it was recorded, and prints the claim as JSON:
 * rejudge BUNDLE [ORACLE]. For tests: the recorder itself judges only what it records.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/heap.h"
#include "formats/claim.h"
#include "formats/oracle.h"
#include "formats/stream.h"
#include "record/judge.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define STREAM_MAX_BYTES (256u << 20)
#define STREAMS_MAX 4096

struct kept_stream {
    uint32_t run;
    Exhibit__StreamName name;
    struct bytes content;
};

struct feed {
    struct pack *pack;
    struct judge *judge;
    struct kept_stream *streams;
    size_t stream_count;
    struct digest oracle;
};

/* First pass: the whole of each stream, and which oracle was recorded. */
static int gather(void *context, const Exhibit__Event *event, struct err *err)
{
    struct feed *feed = context;
    struct kept_stream *kept;

    if (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START)
        (void)digest_from(event->recording_start->oracle_sha256.data, event->recording_start->oracle_sha256.len,
                          &feed->oracle);
    if (event->what_case != EXHIBIT__EVENT__WHAT_STREAM_END)
        return 0;
    if (feed->stream_count == STREAMS_MAX)
        return err_set(err, ERR_LIMIT, "too many streams for this tool");
    kept = &feed->streams[feed->stream_count++];
    kept->run = event->run;
    kept->name = event->stream_end->stream;
    return stream_read_all(feed->pack, event->stream_end->content, STREAM_MAX_BYTES, &kept->content, err);
}

/* The bytes of a chunk. */
static int chunk_find(const struct feed *feed, const Exhibit__Event *event, const uint8_t **out, struct err *err)
{
    const Exhibit__Chunk *chunk = event->chunk;

    for (size_t i = 0; i < feed->stream_count; i++) {
        const struct kept_stream *kept = &feed->streams[i];

        if (kept->run != event->run || kept->name != chunk->stream)
            continue;
        if (chunk->offset_bytes > kept->content.size_bytes ||
            chunk->size_bytes > kept->content.size_bytes - chunk->offset_bytes)
            return err_set(err, ERR_FORMAT, "event %llu: outside of its stream", (unsigned long long)event->seq);
        *out = kept->content.data + chunk->offset_bytes;
        return 0;
    }
    return err_set(err, ERR_FORMAT, "event %llu: a chunk of no stream", (unsigned long long)event->seq);
}

static int feed_take(void *context, const Exhibit__Event *event, struct err *err)
{
    struct feed *feed = context;
    AUTO_BYTES struct bytes content = {0};
    const ProtobufCBinaryData *address = NULL;
    const uint8_t *chunk = NULL;
    struct digest digest;

    if (event->what_case == EXHIBIT__EVENT__WHAT_CHUNK) {
        if (chunk_find(feed, event, &chunk, err) < 0)
            return err->code;
        return judge_take(feed->judge, event, chunk, event->chunk->size_bytes, err);
    }
    if (event->what_case == EXHIBIT__EVENT__WHAT_TARGET_STATE)
        address = &event->target_state->content_sha256;
    if (event->what_case == EXHIBIT__EVENT__WHAT_ARTIFACT && event->artifact->kept)
        address = &event->artifact->sha256;
    if (address != NULL && digest_from(address->data, address->len, &digest) &&
        pack_read(feed->pack, PACK_OBSERVATION, &digest, STREAM_MAX_BYTES, &content, err) < 0)
        return err->code;
    return judge_take(feed->judge, event, content.data, content.size_bytes, err);
}

/* Judges an open pack and prints the claim. */
static int rejudge(struct feed *feed, const char *oracle_file, struct err *err)
{
    AUTO_BYTES struct bytes source = {0};
    struct oracle oracle = {0};
    struct digest receipt_digest = pack_receipt(feed->pack);
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    Exhibit__Claim *claim = NULL;
    json_t *json;

    if (receipt_read(feed->pack, &arena, &receipt, err) < 0 ||
        events_read(feed->pack, receipt->events, gather, feed, err) < 0 ||
        (oracle_file != NULL
             ? file_read_path(AT_FDCWD, oracle_file, 0, LIMIT_YAML_BYTES, &source, err)
             : pack_read(feed->pack, PACK_OBSERVATION, &feed->oracle, LIMIT_YAML_BYTES, &source, err)) < 0 ||
        oracle_parse("oracle", source.data, source.size_bytes, &oracle, err) < 0)
        return err->code;
    feed->judge = judge_new(&oracle);
    if (feed->judge == NULL || events_read(feed->pack, receipt->events, feed_take, feed, err) < 0 ||
        judge_finish(feed->judge, &receipt_digest, &claim, err) < 0)
        return err->code;
    json = claim_to_json(claim);
    if (json == NULL || json_dumpf(json, stdout, JSON_INDENT(1)) < 0)
        return err_set(err, ERR_SYSTEM, "cannot print the claim");
    json_decref(json);
    exhibit__claim__free_unpacked(claim, NULL);
    judge_free(feed->judge);
    oracle_done(&oracle);
    return 0;
}

int main(int argc, char **argv)
{
    struct feed feed = {0};
    struct err err = {0};
    AUTO_FD int fd = argc == 2 || argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    int code;

    heap_begin();
    feed.streams = calloc(STREAMS_MAX, sizeof(struct kept_stream));
    if (fd < 0 || feed.streams == NULL)
        return 2;
    code = pack_open(fd, &feed.pack, &err);
    if (code == 0)
        code = rejudge(&feed, argc == 3 ? argv[2] : NULL, &err);
    if (code < 0)
        (void)fprintf(stderr, "rejudge: %s\n", err.text);
    for (size_t i = 0; i < feed.stream_count; i++)
        bytes_done(&feed.streams[i].content);
    free(feed.streams);
    pack_close(feed.pack);
    return code < 0 ? 1 : 0;
}
