/*
 * Streams: the description is the input, the pack makes up its segments. The first byte says whether the length (1) and
 * the digest (2) of the whole are made right, so that what comes after those checks is reached.
 */
#include "fake_pack.h"
#include "formats/stream.h"
#include "fuzz.h"

/* An object's digest tells what it is: not there, or so many times the same byte. */
static int made_up(const struct digest *digest, size_t max_bytes, struct bytes *out, struct err *err)
{
    uint8_t piece[256];
    size_t size_bytes = digest->bytes[1] | (size_t)digest->bytes[2] << 8;

    if (digest->bytes[0] == 0)
        return err_set(err, ERR_MISMATCH, "no such object");
    memset(piece, digest->bytes[0], sizeof piece);
    out->size_bytes = 0;
    while (out->size_bytes < size_bytes) {
        size_t left = size_bytes - out->size_bytes, part = left < sizeof piece ? left : sizeof piece;
        int code = bytes_add(out, piece, part, max_bytes, err);

        if (code < 0)
            return code;
    }
    return 0;
}

/* Gives the description the length and digest that its segments have. */
static void make_right(Exhibit__Stream *stream, unsigned what, struct digest *digest)
{
    struct digest_run *run = digest_run_new();
    struct bytes segment = {0};
    struct err err = {0};
    uint64_t sum = 0;

    fuzz_want(run != NULL, "memory");
    for (size_t i = 0; i < stream->n_segments; i++) {
        const ProtobufCBinaryData *named = &stream->segments[i]->sha256;

        sum += stream->segments[i]->size_bytes;
        if (named->len == DIGEST_BYTES && digest_from(named->data, named->len, digest) &&
            made_up(digest, LIMIT_SEGMENT_BYTES, &segment, &err) == 0)
            digest_run_add(run, segment.data, segment.size_bytes);
    }
    *digest = digest_run_now(run);
    if ((what & 1) != 0)
        stream->size_bytes = sum;
    if ((what & 2) != 0 && stream->sha256.len == DIGEST_BYTES)
        memcpy(stream->sha256.data, digest->bytes, DIGEST_BYTES);
    digest_run_free(run);
    bytes_done(&segment);
}

static int count(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    (void)piece;
    (void)err;
    *(uint64_t *)context += size_bytes;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    ProtobufCMessage *message = NULL;
    Exhibit__Stream *stream;
    struct bytes all = {0};
    struct digest digest;
    struct err err = {0};
    uint64_t counted = 0;
    int code, all_code;

    if (size_bytes == 0 || message_unpack(&exhibit__stream__descriptor, data + 1, size_bytes - 1, &message, &err) < 0)
        return 0;
    stream = (Exhibit__Stream *)message;
    make_right(stream, data[0], &digest);
    fake_pack_object = made_up;
    code = stream_read(NULL, stream, count, &counted, &err);
    fuzz_want_answer(code, &err);
    fuzz_want(code < 0 || counted == stream->size_bytes, "a stream that is right has its length");
    all_code = stream_read_all(NULL, stream, 1u << 20, &all, &err);
    fuzz_want_answer(all_code, &err);
    fuzz_want(all_code == code || all_code == ERR_LIMIT, "both ways to read a stream agree");
    fuzz_want(all_code < 0 || all.size_bytes == counted, "both ways to read a stream give the same");
    bytes_done(&all);
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}
