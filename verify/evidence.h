/*
 * Where the evidence comes from: the event log and the objects that it names, behind functions, so that a judgement can
 * be tested on a scene held in memory. Knows no rule.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/digest.h"
#include "formats/pack.h"
#include "proto/exhibit.pb-c.h"

#include <stdbool.h>

/* Gets one event, borrowed during the call; returns 0 or a negative err_code with err filled, which ends the reading.
 */
typedef int evidence_take_event(void *context, const Exhibit__Event *event, struct err *err);

/* Gets one piece of a longer byte string, under the same terms. */
typedef int evidence_take_piece(void *context, const void *piece, size_t size_bytes, struct err *err);

/* One receipt's evidence. What `source` is, only the functions know. Errors are those of formats/stream.h. */
struct evidence {
    void *source;
    struct digest receipt;
    bool partial; /* the receipt says that the recording did not come to its end */

    /* Reads the whole log from the first event on; may be called again. */
    int (*events)(void *source, evidence_take_event *take, void *context, struct err *err);
    /* Reads a whole observation object, replacing what was in out. */
    int (*object)(void *source, const struct digest *digest, size_t max_bytes, struct bytes *out, struct err *err);
    /* Reads an observation object of any size in pieces. */
    int (*pieces)(void *source, const struct digest *digest, evidence_take_piece *take, void *context, struct err *err);
    /* Reads a stream (NULL: the empty one) in pieces, length and digest of the whole checked. */
    int (*stream)(void *source, const Exhibit__Stream *stream, evidence_take_piece *take, void *context,
                  struct err *err);
};

/* A pack and its receipt as evidence; both are borrowed while `out` is used. */
struct evidence_pack {
    struct pack *pack;
    const Exhibit__Receipt *receipt;
};

/* Fills `out` with functions that read from `from`. */
void evidence_from_pack(struct evidence_pack *from, struct evidence *out);

/* Reads a stream of at most max_bytes into memory, replacing what was in out. ERR_LIMIT: it is longer. */
int evidence_stream_whole(const struct evidence *evidence, const Exhibit__Stream *stream, size_t max_bytes,
                          struct bytes *out, struct err *err);

/* Whether a protobuf bytes field is this digest. */
bool evidence_digest_is(const ProtobufCBinaryData *field, const struct digest *digest);

/* Whether two protobuf bytes fields are equal. */
bool evidence_same(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b);
