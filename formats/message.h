/*
 * Protobuf messages the way docs/FORMAT.md wants them: packed, unpacked in bounded memory, and plain. Works on any
 * message through its descriptor; knows no container, no stream and no judgement.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Checks that a message is plain, all the way down: no unknown field; every enum known and not its zero, which means
 * "never set" (StepPlan.after_role alone may be that); every string UTF-8; every digest, nonce and run id of its
 * length (those that may be absent: or empty). ERR_FORMAT names the message and the field.
 */
int message_check(const ProtobufCMessage *message, struct err *err);

/*
 * Packs a message, replacing what was in out, in the room that it has if that is enough. ERR_FORMAT: it is not plain.
 * ERR_LIMIT: it takes more than max_bytes. ERR_SYSTEM: out of memory. `out` is unchanged after a failure.
 */
int message_pack(const ProtobufCMessage *message, size_t max_bytes, struct bytes *out, struct err *err);

/*
 * Unpacks a message. Owned by the caller: free with its type's free_unpacked (allocator NULL). ERR_FORMAT: not such a
 * message, not plain, or not in its shortest form (a field twice, a zero spelled out, a NUL in a string). ERR_LIMIT:
 * it would take far more memory than its size explains. ERR_SYSTEM: out of memory.
 */
int message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *from, size_t size_bytes,
                   ProtobufCMessage **out, struct err *err);

/*
 * The same for a message whose memory is the arena's: it must not be freed. With `known` these very bytes were found
 * plain before, and are not looked at again.
 */
int message_unpack_in(struct arena *arena, bool known, const ProtobufCMessageDescriptor *descriptor, const void *from,
                      size_t size_bytes, ProtobufCMessage **out, struct err *err);

/* A copy of a message in the arena, all the way down. ERR_SYSTEM. */
int message_copy(struct arena *arena, const ProtobufCMessage *message, ProtobufCMessage **out, struct err *err);

/* Whether these bytes are well-formed UTF-8 (RFC 3629: shortest form, no surrogates, at most U+10FFFF). */
bool text_is_utf8(const void *from, size_t size_bytes);
