/*
 * The members of archives beside each other, under what an oracle leaves out (DECISION 6.4). Knows no run and no rule.
 */
#pragma once

#include "formats/oracle.h"
#include "proto/exhibit.pb-c.h"

#include <stdbool.h>
#include <stddef.h>

/* A member and its place in the archive. */
struct proof_member {
    const Exhibit__ArchiveMember *member;
    size_t place;
};

/* The members of an archive that are compared, in the order of (path, place). The array is owned. */
struct proof_members {
    struct proof_member *items;
    size_t count;
};

/* In which two members of one path differ. */
enum proof_field {
    PROOF_NOTHING = 0,
    PROOF_NUMBER, /* there are more of the path in one archive; none perhaps in the other */
    PROOF_TYPE,
    PROOF_MODE,
    PROOF_SIZE,
    PROOF_CONTENT,
    PROOF_LINK,
    PROOF_MTIME,
    PROOF_OWNER,
};

/* A difference that nothing excuses. */
struct proof_difference {
    enum proof_field field;
    const ProtobufCBinaryData *path; /* borrowed */
    /* The first two that differ, in the order of the archives; NULL: none of the path is left there. Borrowed. */
    const Exhibit__ArchiveMember *members[2];
};

/*
 * Puts the members that the oracle does not leave out in order. False: out of memory. Release `out->items` with free().
 */
bool proof_members_sort(const Exhibit__Artifact *artifact, const struct oracle_archive *archive,
                        struct proof_members *out);

/*
 * The first path that `first` and `other` do not have alike, though `first` and `second` (NULL: there is none) do. Each
 * path is compared as the whole list of its members.
 */
struct proof_difference proof_members_compare(const struct proof_members *first, const struct proof_members *other,
                                              const struct proof_members *second, const struct oracle_archive *archive);

/* Tells a difference: its member, its field and both values. */
void proof_difference_tell(const struct proof_difference *difference, char *out, size_t room_bytes);
