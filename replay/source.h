/*
 * Where the observations of a receipt come from. A pack in the program, memory in the tests.
 */
#pragma once

#include "formats/stream.h"

/* Takes the next piece (valid during the call only). Returns 0, or a negative err_code with err filled: ends it. */
typedef int source_take(void *context, const void *piece, size_t size_bytes, struct err *err);

/* Both readers check what they read and fail as stream_read and pack_read_pieces do. */
struct source {
    int (*read_stream)(void *self, const Exhibit__Stream *stream, source_take *take, void *context, struct err *err);
    int (*read_object)(void *self, const struct digest *digest, source_take *take, void *context, struct err *err);
    void *self;
};

/* The observations of a pack (borrowed while the source is in use). */
struct source source_of_pack(struct pack *pack);

/* Reads a whole stream into memory, replacing what was in out. ERR_LIMIT: more than max_bytes. */
int source_stream(const struct source *source, const Exhibit__Stream *stream, size_t max_bytes, struct bytes *out,
                  struct err *err);

/* The same for an object. */
int source_object(const struct source *source, const struct digest *digest, size_t max_bytes, struct bytes *out,
                  struct err *err);
