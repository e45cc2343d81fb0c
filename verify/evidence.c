/*
 * Evidence out of a pack. Knows how to read, not what it means.
 */
#include "verify/evidence.h"

#include "formats/stream.h"

#include <string.h>

static int evidence_pack_events(void *source, evidence_take_event *take, void *context, struct err *err)
{
    struct evidence_pack *from = source;

    return events_read(from->pack, from->receipt->events, take, context, err);
}

static int evidence_pack_object(void *source, const struct digest *digest, size_t max_bytes, struct bytes *out,
                                struct err *err)
{
    struct evidence_pack *from = source;

    return pack_read(from->pack, PACK_OBSERVATION, digest, max_bytes, out, err);
}

static int evidence_pack_pieces(void *source, const struct digest *digest, evidence_take_piece *take, void *context,
                                struct err *err)
{
    struct evidence_pack *from = source;

    return pack_read_pieces(from->pack, PACK_OBSERVATION, digest, take, context, err);
}

static int evidence_pack_stream(void *source, const Exhibit__Stream *stream, evidence_take_piece *take, void *context,
                                struct err *err)
{
    struct evidence_pack *from = source;

    return stream_read(from->pack, stream, take, context, err);
}

void evidence_from_pack(struct evidence_pack *from, struct evidence *out)
{
    *out = (struct evidence){
        .source = from,
        .receipt = pack_receipt(from->pack),
        .partial = from->receipt->partial != 0,
        .events = evidence_pack_events,
        .object = evidence_pack_object,
        .pieces = evidence_pack_pieces,
        .stream = evidence_pack_stream,
    };
}

struct evidence_gathering {
    struct bytes *out;
    size_t max_bytes;
};

static int evidence_gather_piece(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct evidence_gathering *gathering = context;

    return bytes_add(gathering->out, piece, size_bytes, gathering->max_bytes, err);
}

int evidence_stream_whole(const struct evidence *evidence, const Exhibit__Stream *stream, size_t max_bytes,
                          struct bytes *out, struct err *err)
{
    struct evidence_gathering gathering = {out, max_bytes};

    bytes_done(out);
    if (stream != NULL && stream->size_bytes > max_bytes)
        return err_set(err, ERR_LIMIT, "a stream of more than %zu bytes", max_bytes);
    return evidence->stream(evidence->source, stream, evidence_gather_piece, &gathering, err);
}

bool evidence_digest_is(const ProtobufCBinaryData *field, const struct digest *digest)
{
    return field->len == DIGEST_BYTES && memcmp(field->data, digest->bytes, DIGEST_BYTES) == 0;
}

bool evidence_same(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}
