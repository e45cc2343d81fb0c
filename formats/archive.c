/*
 * Archives by member. Compression is undone apart (archive_filter.c), and feeds a libarchive reader that knows formats
 * only: so every decoded byte is counted, and the compressed stream is read to its own end, where its damage shows even
 * behind the archive's last member.
 */
#include "formats/archive.h"

#include "base/bytes.h"
#include "formats/archive_filter.h"
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
    struct archive_filter *filter; /* NULL where the archive is not compressed as a whole */
    struct err filter_fault;       /* what libarchive is not told the kind of */
    struct archive *formats;
    uint64_t content_bytes; /* of all members, so far */
    size_t name_bytes;      /* of all paths and links, so far */
    struct digest_run *run;
    struct archive_list list;
    size_t room;
    int (*look)(void *context, bool begins, const void *piece, size_t size_bytes, struct err *err);
    void *look_context;
};

/* Says what the format reader said; where its source failed, what that said. */
static int listing_fault(const struct listing *listing, struct err *err)
{
    if (listing->filter_fault.code == ERR_OK)
        return archive_fault(listing->formats, err);
    *err = listing->filter_fault;
    return err->code;
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
    bool begins = true;
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
            return listing_fault(listing, err);
        if (offset < 0 || (uint64_t)offset < at)
            return err_set(err, ERR_FORMAT, "the blocks of a member overlap");
        if ((code = add_hole(listing, &at, (uint64_t)offset, err)) < 0 ||
            (code = count_content(listing, size_bytes, err)) < 0)
            return code;
        digest_run_add(listing->run, block, size_bytes);
        at += size_bytes;
        if (listing->look != NULL && size_bytes > 0) {
            code = listing->look(listing->look_context, begins, block, size_bytes, err);
            if (code < 0)
                return code;
            begins = false;
        }
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
            return listing_fault(listing, err);
        code = check_method(listing->formats, err);
        if (code == 0)
            code = read_member(listing, entry, err);
        if (code < 0)
            return code;
    }
}

/* ---- the two readers ---- */

/* libarchive's read callback of the format reader. */
static la_ssize_t next_decoded(struct archive *archive, void *context, const void **out)
{
    struct listing *listing = context;
    size_t size_bytes = 0;

    if (archive_filter_next(listing->filter, out, &size_bytes, &listing->filter_fault) < 0) {
        archive_set_error(archive, EINVAL, "%s", listing->filter_fault.text);
        return -1;
    }
    return (la_ssize_t)size_bytes;
}

/* Opens the format reader, over the filters where there are some. zip needs to seek, and compresses by itself. */
static int open_formats(struct listing *listing, const void *from, size_t size_bytes, struct err *err)
{
    struct archive *formats = archive_read_new();
    bool plain = listing->filter == NULL;
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
    return told == ARCHIVE_OK ? 0 : listing_fault(listing, err);
}

/* Reads the compressed stream to its end, behind the archive's. */
static int drain_filter(struct listing *listing, struct err *err)
{
    const void *rest;
    size_t size_bytes = 1;
    int code = 0;

    while (listing->filter != NULL && code == 0 && size_bytes > 0)
        code = archive_filter_next(listing->filter, &rest, &size_bytes, err);
    return code;
}

static int read_list(struct listing *listing, const void *from, size_t size_bytes, struct err *err)
{
    int code;

    listing->run = digest_run_new();
    if (listing->run == NULL)
        return err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256");
    if ((code = archive_filter_open(from, size_bytes, &listing->filter, err)) < 0 ||
        (code = open_formats(listing, from, size_bytes, err)) < 0 || (code = read_members(listing, err)) < 0)
        return code;
    return drain_filter(listing, err);
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
    return archive_list_read_by(from, size_bytes, NULL, NULL, out, err);
}

int archive_list_read_by(const void *from, size_t size_bytes,
                         int (*look)(void *context, bool begins, const void *piece, size_t size_bytes, struct err *err),
                         void *context, struct archive_list *out, struct err *err)
{
    struct listing listing = {.look = look, .look_context = context};
    /* libarchive turns the names of some formats into the locale's encoding: this one keeps all of Unicode. */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = utf8 == (locale_t)0 ? (locale_t)0 : uselocale(utf8);
    int code;

    archive_zone_set();
    code = read_list(&listing, from, size_bytes, err);
    if (listing.formats != NULL)
        archive_read_free(listing.formats);
    digest_run_free(listing.run);
    if (utf8 != (locale_t)0) {
        uselocale(before);
        freelocale(utf8);
    }
    if (code < 0)
        archive_list_done(&listing.list);
    *out = listing.list;
    out->unpacked_bytes = archive_filter_total(listing.filter) + listing.content_bytes;
    archive_filter_free(listing.filter);
    return code;
}

void archive_list_done(struct archive_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        exhibit__archive_member__free_unpacked(list->members[i], NULL);
    free(list->members);
    *list = (struct archive_list){0};
}
