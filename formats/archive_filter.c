#include "formats/archive_filter.h"

#include "base/cleanup.h"
#include "formats/archive_xz.h"
#include "formats/limits.h"

#include <archive.h>
#include <errno.h>
#include <stdlib.h>

struct archive_filter {
    struct archive *library; /* NULL where it is xz */
    struct archive_xz *xz;
    uint64_t bytes;
};

void archive_filter_free(struct archive_filter *filter)
{
    if (filter == NULL)
        return;
    if (filter->library != NULL)
        archive_read_free(filter->library);
    archive_xz_free(filter->xz);
    free(filter);
}

static void cleanup_filter(struct archive_filter **filter)
{
    archive_filter_free(*filter);
}

int archive_fault(struct archive *archive, struct err *err)
{
    const char *text = archive_error_string(archive);

    if (archive_errno(archive) == ENOMEM)
        return err_set(err, ERR_SYSTEM, "out of memory in an archive");
    return err_set(err, ERR_FORMAT, "the archive is damaged or none: %s", text == NULL ? "no reason given" : text);
}

/* Opens libarchive's filters; *out_count is how many undo something. */
static int open_library(struct archive *library, const void *from, size_t size_bytes, int *out_count, struct err *err)
{
    struct archive_entry *entry;

    if (archive_read_support_filter_gzip(library) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(library) != ARCHIVE_OK ||
        archive_read_support_filter_bzip2(library) != ARCHIVE_OK ||
        archive_read_support_format_raw(library) != ARCHIVE_OK)
        return err_set(err, ERR_SYSTEM, "libarchive was built without a filter: %s", archive_error_string(library));
    if (archive_read_open_memory(library, from, size_bytes) != ARCHIVE_OK ||
        archive_read_next_header(library, &entry) != ARCHIVE_OK)
        return archive_fault(library, err);
    *out_count = archive_filter_count(library) - 1; /* the innermost one does nothing */
    if (*out_count > 1)                             /* each takes memory of its own */
        return err_set(err, ERR_LIMIT, "the archive is compressed more than once");
    return 0;
}

int archive_filter_open(const void *from, size_t size_bytes, struct archive_filter **out, struct err *err)
{
    __attribute__((cleanup(cleanup_filter))) struct archive_filter *filter = calloc(1, sizeof *filter);
    bool is_xz = archive_xz_is_one(from, size_bytes);
    int count = 1, code = 0;

    *out = NULL;
    if (filter != NULL && is_xz)
        filter->xz = archive_xz_new(from, size_bytes);
    else if (filter != NULL)
        filter->library = archive_read_new();
    if (filter == NULL || (filter->xz == NULL && filter->library == NULL))
        return err_set(err, ERR_SYSTEM, "out of memory for an archive");
    if (!is_xz)
        code = open_library(filter->library, from, size_bytes, &count, err);
    if (code == 0 && count > 0)
        *out = take_ptr(&filter);
    return code;
}

/* The next bytes that libarchive gives. */
static int next_of_library(struct archive *library, const void **out, size_t *out_bytes, struct err *err)
{
    la_int64_t offset;
    int told;

    do
        told = archive_read_data_block(library, out, out_bytes, &offset);
    while (told == ARCHIVE_OK && *out_bytes == 0);
    if (told == ARCHIVE_EOF)
        *out_bytes = 0;
    return told == ARCHIVE_OK || told == ARCHIVE_EOF ? 0 : archive_fault(library, err);
}

int archive_filter_next(struct archive_filter *filter, const void **out, size_t *out_bytes, struct err *err)
{
    int code = filter->xz != NULL ? archive_xz_next(filter->xz, out, out_bytes, err)
                                  : next_of_library(filter->library, out, out_bytes, err);

    if (code < 0)
        return code;
    filter->bytes += *out_bytes;
    /* Headers and padding come on top of the members' content: twice the limit is room enough for any of them. */
    if (filter->bytes > 2 * LIMIT_ARCHIVE_CONTENT_BYTES)
        return err_set(err, ERR_LIMIT, "the archive unpacks to more than %llu bytes", LIMIT_ARCHIVE_CONTENT_BYTES);
    return 0;
}

uint64_t archive_filter_total(const struct archive_filter *filter)
{
    return filter == NULL ? 0 : filter->bytes;
}
