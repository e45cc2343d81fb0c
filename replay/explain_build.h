/*
 * An explanation while it is put together: statements, each with the facts that it rests on. A fact is an event, bytes
 * of a stream or bytes of an object, and always says where in the file it lies. What the statements mean is not known
 * here. Everything is bounded, whatever the bundle holds.
 */
#pragma once

#include "replay/rules.h"

#include <jansson.h>

enum {
    EXPLAIN_STATEMENTS = 64, /* of one explanation; what is left out is counted */
    EXPLAIN_FACTS = 12,      /* of one statement */
    EXPLAIN_PIECES = 8,      /* of one range of bytes */
    EXPLAIN_TEXT_BYTES = 2048,
    EXPLAIN_FIELD_BYTES = 512,
    EXPLAIN_ITEMS = 32, /* of a repeated field */
};

/* An event that a fact names, to be filled in by one reading of the log. */
struct explain_want {
    json_t *into; /* borrowed */
    uint64_t seq; /* 0: the Chunk that brought byte `offset_bytes` of a stream */
    uint32_t run;
    Exhibit__StreamName stream;
    uint64_t offset_bytes;
};

/* Owned by explain(); errors stick in `code` and `err`, and nothing is added after one. */
struct explaining {
    struct pack *pack;
    const struct judged *judged;
    const Exhibit__Receipt *receipt;
    uint64_t start_ns;  /* of the recording's first event */
    json_t *statements; /* an array, owned */
    json_t *facts;      /* of the last statement, borrowed; NULL: it was left out */
    json_t *last;       /* the last statement, borrowed */
    size_t room;        /* how many statements there may be */
    size_t left_out;
    struct explain_want *wants; /* a table */
    size_t want_count;
    int code;
    struct err *err;
};

/* Begins a statement; the text may hold anything, and is escaped. */
void explain_say(struct explaining *explaining, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds facts to the last statement. `what` says what it is to the statement. An event of seq 0 is none. */
void explain_event(struct explaining *explaining, const char *what, uint64_t seq);

/* `size_bytes` bytes of a run's stream, which must have an end; with the events by which they came and are listed. */
void explain_bytes(struct explaining *explaining, const char *what, const struct run *run, Exhibit__StreamName stream,
                   uint64_t offset_bytes, uint64_t size_bytes);

/* Bytes of an observation object. */
void explain_content(struct explaining *explaining, const char *what, const struct digest *digest,
                     uint64_t offset_bytes, uint64_t size_bytes);

/* Gives up for want of memory. */
void explain_no_memory(struct explaining *explaining);

/* Sets a member (stolen; NULL: out of memory). */
void explain_set(struct explaining *explaining, json_t *object, const char *key, json_t *value);

/* ---- the parts, each in a file of its own ---- */

/* Bytes as printable ASCII, all else as \xNN and a backslash as \\. NULL: out of memory. */
json_t *explain_escaped(const void *from, size_t size_bytes);

/* A number; as text where JSON's 64 bits with a sign cannot hold it. NULL: out of memory. */
json_t *explain_number(uint64_t number);

/* The name that an enum's descriptor has for a value; "" for an unknown one. */
const char *explain_enum_name(const ProtobufCEnumDescriptor *descriptor, int value);

/* The fields of a message that are not their default. NULL: out of memory. */
json_t *explain_fields(const ProtobufCMessage *message);

/*
 * Where a range of a stream or of an object lies, piece by piece. NULL: out of memory. Pieces that the pack does not
 * have are left out.
 */
json_t *explain_stream_range(const struct pack *pack, const Exhibit__Stream *stream, uint64_t offset_bytes,
                             uint64_t size_bytes);
json_t *explain_object_range(const struct pack *pack, const struct digest *digest, uint64_t offset_bytes,
                             uint64_t size_bytes);

/* Reads a range of a stream, replacing what was in out: of its segments, those alone. Errors as pack_read. */
int explain_read_stream(struct pack *pack, const Exhibit__Stream *stream, uint64_t offset_bytes, size_t size_bytes,
                        struct bytes *out, struct err *err);

/* Reads the log once, and fills in every wanted event. Errors as events_read, kept in the explanation. */
void explain_resolve(struct explaining *explaining);

/* The words of an argument, by their number; false: there is no such thing, and nothing was added. */
bool explain_rule(struct explaining *explaining, const char *name);
bool explain_attempt(struct explaining *explaining, const char *name);
bool explain_case(struct explaining *explaining, const char *name);
bool explain_launcher(struct explaining *explaining);

/* The run of the launcher alone; NULL: the receipt has none. */
const struct run *explain_launcher_run(const struct tables *tables);

/* "stdout", "stderr", "scratch-parent" ...; "" for another number. Static. */
const char *explain_stream_word(Exhibit__StreamName stream);

/* What several of the above tell: the bytes of a line, of a row's first copy; a role's process; a run's streams. */
void explain_line(struct explaining *explaining, const struct run *run, const struct line *line);
void explain_role(struct explaining *explaining, const struct run *run, int role);
void explain_case_run(struct explaining *explaining, const struct judged_case *judged_case, int which, bool in_short);
