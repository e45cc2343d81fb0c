/*
 * Reading groups without an index: each journal tells how the content of its part goes on (FORMAT 3.3).
 */
#include "formats/pack_salvage.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/frame.h"
#include "formats/pack_layout.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The object of a part that no journal has listed yet, as far as it was read. */
struct open_object {
    struct bytes head; /* its content while that has at most LIMIT_BLOCK_BYTES */
    uint64_t size_bytes;
    int fd; /* all of it, where it has more; -1: it has not */
    struct digest_run *run;
};

struct salvage {
    int fd;
    int spool_fd;
    int (*take)(void *context, const struct pack_found *found, struct err *err);
    void *context;
    uint64_t at, end;     /* in the file: what is whole so far, its size */
    struct bytes journal; /* entries of the group at hand */
    uint8_t *frame;       /* FRAME_BLOCK_MAX_BYTES */
    uint8_t *content;     /* LIMIT_BLOCK_BYTES */
    uint32_t content_bytes;
    ZSTD_DCtx *decoder;
    struct open_object open[PACK_PART_COUNT];
};

/* Reads a journal at salvage->at. False with err unset: there is no whole one. */
static bool journal_read(struct salvage *salvage, enum pack_part *out_part, struct err *err)
{
    uint8_t head[PACK_JOURNAL_HEAD_BYTES];
    struct err damage;
    uint32_t count;
    size_t size_bytes;

    if (salvage->end - salvage->at < sizeof head ||
        file_pread_all(salvage->fd, head, sizeof head, salvage->at, err) < 0)
        return false;
    if (layout_journal_head_take(head, salvage->at, salvage->end - salvage->at, out_part, &count, &damage) < 0)
        return false;
    size_bytes = (size_t)count * PACK_JOURNAL_ENTRY_BYTES;
    salvage->journal.size_bytes = 0;
    if (bytes_reserve(&salvage->journal, size_bytes, LIMIT_JOURNAL_BYTES, err) < 0 ||
        file_pread_all(salvage->fd, salvage->journal.data, size_bytes, salvage->at + sizeof head, err) < 0)
        return false;
    salvage->journal.size_bytes = size_bytes;
    salvage->at += sizeof head + size_bytes;
    return true;
}

/* Reads the frame of the block at salvage->at and what it says of itself. False with err unset: it is no whole one. */
static bool frame_read(struct salvage *salvage, struct frame_range *out, struct err *err)
{
    uint64_t rest = salvage->end - salvage->at;
    size_t room = rest < FRAME_BLOCK_MAX_BYTES ? (size_t)rest : FRAME_BLOCK_MAX_BYTES, size_bytes;
    unsigned long long content_bytes;

    if (room == 0 || file_pread_all(salvage->fd, salvage->frame, room, salvage->at, err) < 0)
        return false;
    size_bytes = ZSTD_findFrameCompressedSize(salvage->frame, room);
    content_bytes = ZSTD_getFrameContentSize(salvage->frame, room);
    if (ZSTD_isError(size_bytes) || content_bytes < 1 || content_bytes > LIMIT_BLOCK_BYTES)
        return false;
    salvage->content_bytes = (uint32_t)content_bytes;
    *out = (struct frame_range){salvage->at, size_bytes};
    salvage->at += size_bytes;
    return true;
}

/* Reads and decodes the block at salvage->at. False with err unset: there is no whole one. */
static bool block_read(struct salvage *salvage, struct err *err)
{
    struct frame_range frame;
    struct err damage;

    return frame_read(salvage, &frame, err) && frame_decode(salvage->decoder, salvage->frame, frame, salvage->content,
                                                            salvage->content_bytes, &damage) == 0;
}

/* Moves the object, which grows too large for memory, to a file without a name. */
static int spool_begin(struct salvage *salvage, struct open_object *object, struct err *err)
{
    char name[] = ".exhibit-salvage-spool";

    object->fd = openat(salvage->spool_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (object->fd < 0) { /* a file system that has no such files */
        object->fd = openat(salvage->spool_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (object->fd >= 0 && unlinkat(salvage->spool_fd, name, 0) < 0)
            return err_set_errno(err, "remove %s", name);
    }
    if (object->fd < 0)
        return err_set_errno(err, "a temporary file for a large object");
    return file_write_all(object->fd, object->head.data, object->head.size_bytes, err);
}

static int object_add(struct salvage *salvage, struct open_object *object, const uint8_t *from, size_t size_bytes,
                      struct err *err)
{
    if (object->fd < 0 && object->size_bytes + size_bytes > LIMIT_BLOCK_BYTES && spool_begin(salvage, object, err) < 0)
        return err->code;
    digest_run_add(object->run, from, size_bytes);
    object->size_bytes += size_bytes;
    if (object->fd >= 0)
        return file_write_all(object->fd, from, size_bytes, err);
    return bytes_add(&object->head, from, size_bytes, LIMIT_BLOCK_BYTES, err);
}

static void object_reset(struct open_object *object)
{
    if (object->fd >= 0)
        (void)close(object->fd);
    object->fd = -1;
    object->size_bytes = 0;
    object->head.size_bytes = 0;
    digest_run_reset(object->run);
}

/*
 * Takes the objects that the journal lists from the block. *out_whole is false where one of them is not what the
 * journal says: the group is no whole one, though what came before in it was handed on.
 */
static int group_take(struct salvage *salvage, enum pack_part part, bool *out_whole, struct err *err)
{
    struct open_object *object = &salvage->open[pack_slot(part)];
    size_t from = 0;

    *out_whole = false;
    for (size_t at = 0; at < salvage->journal.size_bytes; at += PACK_JOURNAL_ENTRY_BYTES) {
        struct pack_found found = {.part = part};
        struct digest seen;
        size_t rest_bytes;

        layout_journal_entry_take(salvage->journal.data + at, &found.digest, &found.size_bytes);
        if (found.size_bytes <= object->size_bytes ||
            found.size_bytes - object->size_bytes > salvage->content_bytes - from)
            return 0;
        rest_bytes = (size_t)(found.size_bytes - object->size_bytes);
        if (object_add(salvage, object, salvage->content + from, rest_bytes, err) < 0)
            return err->code;
        from += rest_bytes;
        seen = digest_run_now(object->run);
        if (!digest_equal(&seen, &found.digest))
            return 0;
        found.content = object->fd < 0 ? object->head.data : NULL;
        found.fd = object->fd;
        if (salvage->take(salvage->context, &found, err) < 0)
            return err->code;
        object_reset(object);
    }
    *out_whole = true;
    return object_add(salvage, object, salvage->content + from, salvage->content_bytes - from, err);
}

/*
 * Refuses more content than a file of this size may have, by what the groups say of themselves, before any of it is
 * decoded: what no journal lists would be spooled, too (FORMAT 1.9).
 */
static int content_check(struct salvage *salvage, struct err *err)
{
    uint64_t content_bytes = 0;
    struct frame_range frame;
    enum pack_part part;

    err->code = 0;
    while (journal_read(salvage, &part, err) && frame_read(salvage, &frame, err))
        content_bytes += salvage->content_bytes;
    if (err->code < 0)
        return err->code;
    salvage->at = PACK_HEADER_BYTES;
    if (layout_content_fits(content_bytes, salvage->end))
        return 0;
    return err_set(err, ERR_LIMIT,
                   "FORMAT 1.9: %" PRIu64 " bytes of content are more than a file of %" PRIu64 " may have",
                   content_bytes, salvage->end);
}

/* Takes group after group until one is not whole. */
static int groups_take(struct salvage *salvage, uint64_t *out_whole_bytes, struct err *err)
{
    enum pack_part part;
    bool whole = true;

    err->code = 0;
    *out_whole_bytes = PACK_HEADER_BYTES;
    while (journal_read(salvage, &part, err) && block_read(salvage, err)) {
        if (group_take(salvage, part, &whole, err) < 0)
            return err->code;
        if (!whole)
            return 0;
        *out_whole_bytes = salvage->at;
    }
    return err->code; /* of a failed read */
}

/* Gets what the reading needs and checks the header. */
static int salvage_open(struct salvage *salvage, struct err *err)
{
    uint8_t header[PACK_HEADER_BYTES];
    struct stat stat;

    if (fstat(salvage->fd, &stat) < 0)
        return err_set_errno(err, "stat");
    if (!S_ISREG(stat.st_mode))
        return err_set(err, ERR_USAGE, "not a regular file");
    if (stat.st_size < (off_t)sizeof header)
        return err_set(err, ERR_FORMAT, "FORMAT 2.1: not a pack: %lld bytes", (long long)stat.st_size);
    if (file_pread_all(salvage->fd, header, sizeof header, 0, err) < 0 || layout_header_check(header, err) < 0)
        return err->code;
    salvage->at = sizeof header;
    salvage->end = (uint64_t)stat.st_size;
    salvage->decoder = ZSTD_createDCtx();
    salvage->frame = malloc(FRAME_BLOCK_MAX_BYTES);
    salvage->content = malloc(LIMIT_BLOCK_BYTES);
    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        salvage->open[i].run = digest_run_new();
    if (salvage->decoder == NULL || salvage->frame == NULL || salvage->content == NULL ||
        salvage->open[0].run == NULL || salvage->open[1].run == NULL)
        return err_set(err, ERR_SYSTEM, "no memory for a block");
    return 0;
}

int pack_salvage(int fd, int spool_fd, int (*take)(void *context, const struct pack_found *found, struct err *err),
                 void *context, uint64_t *out_whole_bytes, struct err *err)
{
    struct salvage salvage = {.fd = fd, .spool_fd = spool_fd, .take = take, .context = context};
    int code;

    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        salvage.open[i].fd = -1;
    code = salvage_open(&salvage, err);
    if (code == 0)
        code = content_check(&salvage, err);
    if (code == 0)
        code = groups_take(&salvage, out_whole_bytes, err);
    for (size_t i = 0; i < PACK_PART_COUNT; i++) {
        bytes_done(&salvage.open[i].head);
        digest_run_free(salvage.open[i].run);
        if (salvage.open[i].fd >= 0)
            (void)close(salvage.open[i].fd);
    }
    bytes_done(&salvage.journal);
    ZSTD_freeDCtx(salvage.decoder);
    free(salvage.frame);
    free(salvage.content);
    return code;
}

int pack_found_read(const struct pack_found *found, size_t max_bytes, struct bytes *out, struct err *err)
{
    size_t size_bytes = (size_t)found->size_bytes;

    if (found->size_bytes > max_bytes)
        return err_set(err, ERR_LIMIT, "an object of %" PRIu64 " bytes where at most %zu are taken", found->size_bytes,
                       max_bytes);
    out->size_bytes = 0;
    if (bytes_reserve(out, size_bytes, max_bytes, err) < 0)
        return err->code;
    if (found->content != NULL && size_bytes > 0)
        memcpy(out->data, found->content, size_bytes);
    else if (found->content == NULL && file_pread_all(found->fd, out->data, size_bytes, 0, err) < 0)
        return err->code;
    out->size_bytes = size_bytes;
    out->data[size_bytes] = 0;
    return 0;
}
