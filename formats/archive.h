/*
 * What an archive holds, member by member, through libarchive (tar, gzip, zstd, zip and what else it reads).
 * Knows no rule.
 */
#pragma once

#include "base/err.h"
#include "formats/digest.h"
#include "proto/exhibit.pb-c.h"

#include <stdbool.h>

/* Owned; release with archive_list_done. All zero is the empty one. */
struct archive_list {
    Exhibit__ArchiveMember **members; /* in the archive's order */
    size_t count;
    uint64_t unpacked_bytes; /* how much work it was, whatever came of it: bytes that were unpacked and digested */
};

/* Whether a file of this name is treated as an archive: .tar, .tgz, .tar.*, .zip. */
bool archive_name_is_known(const char *path, size_t size_bytes);

/*
 * Gives this process the time zone in which archives are read: zip members carry local time, and there is one zone for
 * every reader. archive_list_read does it where it was not done; a program with threads does it before it starts them.
 */
void archive_zone_set(void);

/*
 * Lists an archive held in memory (borrowed during the call). ERR_FORMAT: not an archive, or damaged. ERR_LIMIT: over
 * LIMIT_ARCHIVE_MEMBERS or LIMIT_ARCHIVE_CONTENT_BYTES, a path over LIMIT_PATH_BYTES, or paths of more than
 * LIMIT_EVENT_BYTES together (no event could hold them). ERR_SYSTEM: out of memory.
 * The list is empty after a failure, but for unpacked_bytes.
 */
int archive_list_read(const void *from, size_t size_bytes, struct archive_list *out, struct err *err);

/*
 * The same, and hands on the content of each member as it is unpacked, holes left out: `begins` with the first piece of
 * each. `look` (NULL: nobody) returns 0, or a negative err_code with err filled, which ends the listing.
 */
int archive_list_read_by(const void *from, size_t size_bytes,
                         int (*look)(void *context, bool begins, const void *piece, size_t size_bytes, struct err *err),
                         void *context, struct archive_list *out, struct err *err);

/* Releases it. Harmless on the empty one. */
void archive_list_done(struct archive_list *list);
