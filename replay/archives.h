/*
 * Archives that runs left behind (DECISION 6.3, 6.4).
 */
#pragma once

#include "formats/oracle.h"
#include "replay/derive.h"

/*
 * Lists every kept archive of the recording anew from its bytes. ERR_MISMATCH: what was recorded of its members is not
 * so, or it is no archive. Else as source->read_object.
 */
int archives_check(const struct facts *facts, struct err *err);

/* Whether a path matches an oracle's pattern: a '*' in it stands for any bytes but '/'. An empty path matches none. */
bool archive_matches(const char *pattern, const ProtobufCBinaryData *path);

/* Orders two byte strings as memcmp does, a shorter one first where it begins the other. */
int archive_bytes_order(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b);

/* The only artifact of a run that matches. NULL: none, or more than one. *out_count is how many. */
const Exhibit__Event *archive_only(const struct facts *facts, const struct run *run, const char *pattern,
                                   size_t *out_count);

/* A difference between archives; `path` is borrowed from an event. */
struct archive_difference {
    const char *what;                /* NULL: none. Static: the field, or what else it is */
    const ProtobufCBinaryData *path; /* of the member; NULL: it is none of one member */
    unsigned field;                  /* in which two members of that path differ; 0: it is none of a field */
    const Exhibit__ArchiveMember *baseline, *strict; /* these two; borrowed */
};

enum { ARCHIVE_VALUES_BYTES = 512 };

/* Writes ": baseline has V, strict has V", or an empty text where the difference is none of a field. Gives `out`. */
const char *archive_values(const struct archive_difference *difference, char out[ARCHIVE_VALUES_BYTES]);

/*
 * Compares the archives of baseline and strict as the oracle asks for it (DECISION 6.4); `again` is that of the second
 * baseline, NULL where there is none that counts. ERR_SYSTEM: out of memory.
 */
int archives_compare(const Exhibit__Artifact *baseline, const Exhibit__Artifact *again, const Exhibit__Artifact *strict,
                     const struct oracle_archive *asked, struct archive_difference *out, struct err *err);

/*
 * The artifacts of a run that match any archive of the oracle's case, sorted by path, each once: a table of
 * *out_count events, which the caller releases (NULL where there is none). ERR_SYSTEM: out of memory.
 */
int archives_of_run(const struct facts *facts, const struct oracle_case *expected, const struct run *run,
                    const Exhibit__Event ***out, size_t *out_count, struct err *err);
