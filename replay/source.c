/*
 * Pieces put together, and a pack's observations as a source. The inputs of a pack are never read here.
 */
#include "replay/source.h"

static int pack_stream(void *self, const Exhibit__Stream *stream, source_take *take, void *context, struct err *err)
{
    return stream_read(self, stream, take, context, err);
}

static int pack_object(void *self, const struct digest *digest, source_take *take, void *context, struct err *err)
{
    return pack_read_pieces(self, PACK_OBSERVATION, digest, take, context, err);
}

struct source source_of_pack(struct pack *pack)
{
    return (struct source){.read_stream = pack_stream, .read_object = pack_object, .self = pack};
}

struct whole {
    struct bytes *out;
    size_t max_bytes;
};

static int add_piece(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct whole *whole = context;

    return bytes_add(whole->out, piece, size_bytes, whole->max_bytes, err);
}

int source_stream(const struct source *source, const Exhibit__Stream *stream, size_t max_bytes, struct bytes *out,
                  struct err *err)
{
    struct whole whole = {out, max_bytes};

    out->size_bytes = 0;
    return source->read_stream(source->self, stream, add_piece, &whole, err);
}

int source_object(const struct source *source, const struct digest *digest, size_t max_bytes, struct bytes *out,
                  struct err *err)
{
    struct whole whole = {out, max_bytes};

    out->size_bytes = 0;
    return source->read_object(source->self, digest, add_piece, &whole, err);
}
