/*
 * Archives by member. The filters (gzip, xz ...) are undone by one libarchive reader, whose output feeds a second one
 * that knows formats only: so every decoded byte is counted, and the compressed stream is read to its own end, where
 * its damage shows even behind the archive's last member.
 */
#include "formats/archive.h"

#include "base/bytes.h"
#include "formats/archive_xz.h"
#include "formats/limits.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static bool ends_with(const char *path, size_t size_bytes, const char *end)
{
    size_t end_bytes = strlen(end);

    return size_bytes >= end_bytes && memcmp(path + size_bytes - end_bytes, end, end_bytes) == 0;
}

bool archive_name_is_known(const char *path, size_t size_bytes)
{
    size_t stem_bytes = size_bytes;

    if (ends_with(path, size_bytes, ".tar") || ends_with(path, size_bytes, ".tgz") ||
        ends_with(path, size_bytes, ".zip"))
        return true;
    while (stem_bytes > 0 && path[stem_bytes - 1] != '.' && path[stem_bytes - 1] != '/')
        stem_bytes--;
    return stem_bytes < size_bytes && ends_with(path, stem_bytes, ".tar.");
}

/* One listing under way. */
struct listing {
    struct archive *filters; /* undoes compression; NULL where there is none, or it is xz */
    struct archive_xz *xz;
    struct err xz_fault;
    struct archive *formats;
    uint64_t decoded_bytes; /* by the filters, so far */
    bool over_limit;        /* they gave more than is allowed */
    uint64_t content_bytes; /* of all members, so far */
    size_t name_bytes;      /* of all paths and links, so far */
    struct digest_run *run;
    struct archive_list list;
    size_t room;
};

/* Says what libarchive said, as the kind of error that it is. */
static int archive_fault(const struct listing *listing, struct archive *archive, struct err *err)
{
    const char *text = archive_error_string(archive);

    if (listing->over_limit)
        return err_set(err, ERR_LIMIT, "the archive unpacks to more than %llu bytes", LIMIT_ARCHIVE_CONTENT_BYTES);
    if (listing->xz_fault.code != ERR_OK) {
        *err = listing->xz_fault;
        return err->code;
    }
    if (archive_errno(archive) == ENOMEM)
        return err_set(err, ERR_SYSTEM, "out of memory in an archive");
    return err_set(err, ERR_FORMAT, "the archive is damaged or none: %s", text == NULL ? "no reason given" : text);
}

/* ---- members ---- */

static int copy_field(struct listing *listing, const char *text, ProtobufCBinaryData *out, struct err *err)
{
    size_t size_bytes = strlen(text);

    if (size_bytes > LIMIT_PATH_BYTES)
        return err_set(err, ERR_LIMIT, "a member has a path of %zu bytes", size_bytes);
    listing->name_bytes += size_bytes;
    if (listing->name_bytes > LIMIT_EVENT_BYTES)
        return err_set(err, ERR_LIMIT, "the members' paths have more than %u bytes", LIMIT_EVENT_BYTES);
    if (size_bytes == 0)
        return 0;
    out->data = malloc(size_bytes);
    if (out->data == NULL)
        return err_set_errno(err, "memory for a member's path");
    memcpy(out->data, text, size_bytes);
    out->len = size_bytes;
    return 0;
}

/* A name that libarchive cannot give as text is as good as none. */
static int copy_owner(struct listing *listing, struct archive_entry *entry, Exhibit__ArchiveMember *member,
                      struct err *err)
{
    const char *uname = archive_entry_uname(entry), *gname = archive_entry_gname(entry);

    member->owner = malloc(sizeof *member->owner);
    if (member->owner == NULL)
        return err_set_errno(err, "memory for a member's owner");
    exhibit__member_owner__init(member->owner);
    member->owner->uid = archive_entry_uid(entry);
    member->owner->gid = archive_entry_gid(entry);
    if (uname != NULL && copy_field(listing, uname, &member->owner->uname, err) < 0)
        return err->code;
    return gname == NULL ? 0 : copy_field(listing, gname, &member->owner->gname, err);
}

/* Appends an empty member to the list, which owns it. */
static int add_member(struct listing *listing, Exhibit__ArchiveMember **out, struct err *err)
{
    struct archive_list *list = &listing->list;

    if (list->count == LIMIT_ARCHIVE_MEMBERS)
        return err_set(err, ERR_LIMIT, "an archive of more than %d members", LIMIT_ARCHIVE_MEMBERS);
    if (list->count == listing->room) {
        size_t room = listing->room == 0 ? 64 : listing->room * 2;
        Exhibit__ArchiveMember **grown = reallocarray(list->members, room, sizeof(Exhibit__ArchiveMember *));

        if (grown == NULL)
            return err_set_errno(err, "memory for %zu members", room);
        list->members = grown;
        listing->room = room;
    }
    *out = malloc(sizeof **out);
    if (*out == NULL)
        return err_set_errno(err, "memory for a member");
    exhibit__archive_member__init(*out);
    list->members[list->count++] = *out;
    return 0;
}

/* Counts content against the limit before it is digested. */
static int count_content(struct listing *listing, uint64_t more_bytes, struct err *err)
{
    if (more_bytes > LIMIT_ARCHIVE_CONTENT_BYTES - listing->content_bytes)
        return err_set(err, ERR_LIMIT, "the archive unpacks to more than %llu bytes", LIMIT_ARCHIVE_CONTENT_BYTES);
    listing->content_bytes += more_bytes;
    return 0;
}

/* Digests the hole of a sparse member from *at to `end`. */
static int add_hole(struct listing *listing, uint64_t *at, uint64_t end, struct err *err)
{
    static const uint8_t zeros[65536];
    int code;

    if (end <= *at)
        return 0;
    code = count_content(listing, end - *at, err);
    if (code < 0)
        return code;
    while (*at < end) {
        uint64_t part = end - *at < sizeof zeros ? end - *at : sizeof zeros;

        digest_run_add(listing->run, zeros, (size_t)part);
        *at += part;
    }
    return 0;
}

/* Reads the content of the current member through the digest. */
static int read_content(struct listing *listing, struct archive_entry *entry, uint64_t *out_size, struct err *err)
{
    uint64_t at = 0;
    int code, told;

    digest_run_reset(listing->run);
    for (;;) {
        const void *block = NULL;
        size_t size_bytes = 0;
        la_int64_t offset = 0;

        told = archive_read_data_block(listing->formats, &block, &size_bytes, &offset);
        if (told == ARCHIVE_EOF)
            break;
        if (told != ARCHIVE_OK)
            return archive_fault(listing, listing->formats, err);
        if (offset < 0 || (uint64_t)offset < at)
            return err_set(err, ERR_FORMAT, "the blocks of a member overlap");
        if ((code = add_hole(listing, &at, (uint64_t)offset, err)) < 0 ||
            (code = count_content(listing, size_bytes, err)) < 0)
            return code;
        digest_run_add(listing->run, block, size_bytes);
        at += size_bytes;
    }
    /* A sparse member may end in a hole, which no block tells. */
    if (archive_entry_size_is_set(entry) && archive_entry_size(entry) > 0) {
        code = add_hole(listing, &at, (uint64_t)archive_entry_size(entry), err);
        if (code < 0)
            return code;
    }
    *out_size = at;
    return 0;
}

static int read_member(struct listing *listing, struct archive_entry *entry, struct err *err)
{
    const char *path = archive_entry_pathname(entry);
    const char *hard = archive_entry_hardlink(entry), *link = hard != NULL ? hard : archive_entry_symlink(entry);
    Exhibit__ArchiveMember *member;
    uint64_t size_bytes = 0;
    int code = add_member(listing, &member, err);

    if (code < 0)
        return code;
    if (path == NULL)
        return err_set(err, ERR_FORMAT, "member %zu of the archive has no readable path", listing->list.count);
    if ((code = copy_field(listing, path, &member->path, err)) < 0 ||
        (link != NULL && (code = copy_field(listing, link, &member->link, err)) < 0) ||
        (code = copy_owner(listing, entry, member, err)) < 0 ||
        (code = read_content(listing, entry, &size_bytes, err)) < 0)
        return code;
    member->type = archive_entry_filetype(entry);
    member->mode = archive_entry_perm(entry);
    member->mtime_s = archive_entry_mtime(entry);
    member->size_bytes = size_bytes;
    if (S_ISREG(member->type) && (hard == NULL || size_bytes > 0)) {
        struct digest digest = digest_run_now(listing->run);

        member->sha256.data = malloc(DIGEST_BYTES);
        if (member->sha256.data == NULL)
            return err_set_errno(err, "memory for a digest");
        memcpy(member->sha256.data, digest.bytes, DIGEST_BYTES);
        member->sha256.len = DIGEST_BYTES;
    }
    return 0;
}

/*
 * Whether a warning is only that a name is not text: the name's bytes are there all the same. libarchive has no code
 * for that, only words; any other warning (malformed records that it ignores) is damage.
 */
static bool is_about_a_name(struct archive *archive)
{
    const char *text = archive_error_string(archive);

    return text != NULL && (strstr(text, "can't be converted") != NULL || strstr(text, "cannot be converted") != NULL);
}

/*
 * Checks how a member of a zip is compressed: other methods (LZMA, PPMd, xz ...) take as much memory at once as the
 * member's own head asks for, up to 4 GiB. libarchive tells the method in words alone: "ZIP 2.0 (deflation)".
 */
static int check_method(struct archive *formats, struct err *err)
{
    static const char *const known[] = {"uncompressed", "deflation", "bzip"};
    const char *name = archive_format_name(formats), *method = name == NULL ? NULL : strchr(name, '(');
    size_t size_bytes = method == NULL ? 0 : strcspn(++method, ")");

    if ((archive_format(formats) & ARCHIVE_FORMAT_BASE_MASK) != ARCHIVE_FORMAT_ZIP)
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (size_bytes == strlen(known[i]) && memcmp(method, known[i], size_bytes) == 0)
            return 0;
    return err_set(err, ERR_LIMIT, "a member of the zip is compressed in a way that is not read here: %.*s",
                   (int)size_bytes, method == NULL ? "" : method);
}

static int read_members(struct listing *listing, struct err *err)
{
    for (;;) {
        struct archive_entry *entry = NULL;
        int code, told = archive_read_next_header(listing->formats, &entry);

        if (told == ARCHIVE_EOF)
            return 0;
        if (told != ARCHIVE_OK && (told != ARCHIVE_WARN || !is_about_a_name(listing->formats)))
            return archive_fault(listing, listing->formats, err);
        code = check_method(listing->formats, err);
        if (code == 0)
            code = read_member(listing, entry, err);
        if (code < 0)
            return code;
    }
}

/* ---- the two readers ---- */

/* The next bytes of an xz; a fault is kept for archive_fault. */
static la_ssize_t next_of_xz(struct archive *archive, struct listing *listing, const void **out)
{
    size_t size_bytes = 0;

    if (archive_xz_next(listing->xz, out, &size_bytes, &listing->xz_fault) < 0) {
        archive_set_error(archive, EINVAL, "%s", listing->xz_fault.text);
        return -1;
    }
    return (la_ssize_t)size_bytes;
}

/* The next bytes that the filters give. */
static la_ssize_t next_of_filters(struct archive *archive, struct listing *listing, const void **out)
{
    size_t size_bytes = 0;
    la_int64_t offset;
    int told;

    do
        told = archive_read_data_block(listing->filters, out, &size_bytes, &offset);
    while (told == ARCHIVE_OK && size_bytes == 0);
    if (told == ARCHIVE_EOF)
        return 0;
    if (told != ARCHIVE_OK) {
        archive_set_error(archive, archive_errno(listing->filters), "%s", archive_error_string(listing->filters));
        return -1;
    }
    return (la_ssize_t)size_bytes;
}

/* libarchive's read callback of the format reader: the next bytes that are undone, counted. */
static la_ssize_t next_decoded(struct archive *archive, void *context, const void **out)
{
    struct listing *listing = context;
    la_ssize_t got = listing->xz != NULL ? next_of_xz(archive, listing, out) : next_of_filters(archive, listing, out);

    if (got <= 0)
        return got;
    listing->decoded_bytes += (uint64_t)got;
    /* Headers and padding come on top of the members' content: twice the limit is room enough for any of them. */
    if (listing->decoded_bytes > 2 * LIMIT_ARCHIVE_CONTENT_BYTES) {
        listing->over_limit = true;
        archive_set_error(archive, EFBIG, "it unpacks to too much");
        return -1;
    }
    return got;
}

/* Opens what undoes an xz, or the filter reader, if the bytes are compressed at all; else listing->filters stays NULL.
 */
static int open_filters(struct listing *listing, const void *from, size_t size_bytes, struct err *err)
{
    struct archive *filters;
    struct archive_entry *entry;

    if (archive_xz_is_one(from, size_bytes)) {
        listing->xz = archive_xz_new(from, size_bytes);
        return listing->xz == NULL ? err_set(err, ERR_SYSTEM, "out of memory for an archive") : 0;
    }
    filters = archive_read_new();
    if (filters == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory for an archive");
    listing->filters = filters;
    if (archive_read_support_filter_gzip(filters) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(filters) != ARCHIVE_OK ||
        archive_read_support_filter_bzip2(filters) != ARCHIVE_OK ||
        archive_read_support_format_raw(filters) != ARCHIVE_OK)
        return err_set(err, ERR_SYSTEM, "libarchive was built without a filter: %s", archive_error_string(filters));
    if (archive_read_open_memory(filters, from, size_bytes) != ARCHIVE_OK ||
        archive_read_next_header(filters, &entry) != ARCHIVE_OK)
        return archive_fault(listing, filters, err);
    if (archive_filter_count(filters) > 2) /* each takes memory of its own */
        return err_set(err, ERR_LIMIT, "the archive is compressed more than once");
    if (archive_filter_count(filters) == 1) { /* the innermost one, which does nothing */
        archive_read_free(filters);
        listing->filters = NULL;
    }
    return 0;
}

/* Opens the format reader, over the filters where there are some. zip needs to seek, and compresses by itself. */
static int open_formats(struct listing *listing, const void *from, size_t size_bytes, struct err *err)
{
    struct archive *formats = archive_read_new();
    bool plain = listing->filters == NULL && listing->xz == NULL;
    int told;

    if (formats == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory for an archive");
    listing->formats = formats;
    told = archive_read_support_format_tar(formats);
    if (told == ARCHIVE_OK && plain)
        told = archive_read_support_format_zip(formats);
    if (told == ARCHIVE_OK)
        told = plain ? archive_read_open_memory(formats, from, size_bytes)
                     : archive_read_open(formats, listing, NULL, next_decoded, NULL);
    return told == ARCHIVE_OK ? 0 : archive_fault(listing, formats, err);
}

/* Reads the compressed stream to its end, behind the archive's. */
static int drain_filters(struct listing *listing, struct err *err)
{
    const void *rest;
    la_ssize_t got;

    if (listing->filters == NULL && listing->xz == NULL)
        return 0;
    while ((got = next_decoded(listing->formats, listing, &rest)) > 0)
        continue;
    return got == 0 ? 0 : archive_fault(listing, listing->formats, err);
}

static int read_list(struct listing *listing, const void *from, size_t size_bytes, struct err *err)
{
    int code;

    listing->run = digest_run_new();
    if (listing->run == NULL)
        return err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256");
    if ((code = open_filters(listing, from, size_bytes, err)) < 0 ||
        (code = open_formats(listing, from, size_bytes, err)) < 0 || (code = read_members(listing, err)) < 0)
        return code;
    return drain_filters(listing, err);
}

void archive_zone_set(void)
{
    const char *zone = getenv("TZ");

    if (zone != NULL && strcmp(zone, "UTC0") == 0)
        return; /* the C library reads it at the first use; changing it again would race with other threads */
    (void)setenv("TZ", "UTC0", 1);
    tzset();
}

int archive_list_read(const void *from, size_t size_bytes, struct archive_list *out, struct err *err)
{
    struct listing listing = {0};
    /* libarchive turns the names of some formats into the locale's encoding: this one keeps all of Unicode. */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = utf8 == (locale_t)0 ? (locale_t)0 : uselocale(utf8);
    int code;

    archive_zone_set();
    code = read_list(&listing, from, size_bytes, err);
    if (listing.formats != NULL)
        archive_read_free(listing.formats);
    if (listing.filters != NULL)
        archive_read_free(listing.filters);
    archive_xz_free(listing.xz);
    digest_run_free(listing.run);
    if (utf8 != (locale_t)0) {
        uselocale(before);
        freelocale(utf8);
    }
    if (code < 0)
        archive_list_done(&listing.list);
    *out = listing.list;
    out->unpacked_bytes = listing.decoded_bytes + listing.content_bytes;
    return code;
}

void archive_list_done(struct archive_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        exhibit__archive_member__free_unpacked(list->members[i], NULL);
    free(list->members);
    *list = (struct archive_list){0};
}
