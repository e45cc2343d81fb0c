/*
 * Putting objects: each content once in its part. Knows descriptors to read from; not what becomes of the file.
 */
#include "formats/pack_writer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bit that stands for a size. */
static unsigned size_bit(uint64_t size_bytes)
{
    return (unsigned)(size_bytes * 0x9E3779B97F4A7C15u >> 48) % PACK_SIZE_BITS;
}

static bool size_is_known(const struct pack_writer *writer, enum pack_part part, uint64_t size_bytes)
{
    const struct pack_elsewhere *elsewhere = &writer->elsewhere;
    unsigned bit = size_bit(size_bytes);

    if (part == PACK_INPUT && elsewhere->holds != NULL && elsewhere->may_hold(elsewhere->context, size_bytes))
        return true;
    return (writer->sizes[pack_slot(part)][bit / 8] >> bit % 8) & 1;
}

/* Large objects of the writer are looked for by size before they are read to be compared. */
static void size_remember(struct pack_writer *writer, enum pack_part part, uint64_t size_bytes)
{
    unsigned bit = size_bit(size_bytes);

    if (size_bytes >= LIMIT_BLOCK_BYTES)
        writer->sizes[pack_slot(part)][bit / 8] |= (uint8_t)(1u << bit % 8);
}

int pack_enter(struct pack_writer *writer, enum pack_part part, const struct layout_object *object, struct err *err)
{
    if (pack_table_count(&writer->tables[0]) + pack_table_count(&writer->tables[1]) >= LIMIT_OBJECTS)
        return err_set(err, ERR_LIMIT, "more than %u objects", LIMIT_OBJECTS);
    size_remember(writer, part, object->size_bytes);
    return pack_table_add(&writer->tables[pack_slot(part)], object, err);
}

/* The same, and lists it in the journal of the open block unless it is empty. */
static int enter(struct pack_writer *writer, enum pack_part part, const struct layout_object *object, struct err *err)
{
    int code = pack_enter(writer, part, object, err);

    if (code == 0 && object->size_bytes > 0)
        code = pack_grow_end(&writer->grow, part, &object->digest, object->size_bytes, err);
    return code;
}

/* The body of pack_put for content that is not there yet. */
static int put_new(struct pack_writer *writer, enum pack_part part, const void *from, struct layout_object *object,
                   struct err *err)
{
    int code = 0;

    if (object->size_bytes > 0)
        code = pack_grow_begin(&writer->grow, part, &object->block, &object->offset_bytes, err);
    if (code == 0 && object->size_bytes > 0)
        code = pack_grow_add(&writer->grow, part, from, (size_t)object->size_bytes, err);
    return code < 0 ? code : enter(writer, part, object, err);
}

/* Whether content need not be stored: the writer has it, or it is kept elsewhere. */
static bool is_there(const struct pack_writer *writer, enum pack_part part, const struct digest *digest,
                     uint64_t size_bytes)
{
    const struct pack_elsewhere *elsewhere = &writer->elsewhere;

    return pack_table_has(&writer->tables[pack_slot(part)], digest) ||
           (part == PACK_INPUT && elsewhere->holds != NULL && elsewhere->holds(elsewhere->context, digest, size_bytes));
}

bool pack_put_has(const struct pack_writer *writer, enum pack_part part, const struct digest *digest)
{
    return pack_table_has(&writer->tables[pack_slot(part)], digest);
}

int pack_put_digested(struct pack_writer *writer, enum pack_part part, const void *from, size_t size_bytes,
                      const struct digest *digest, struct err *err)
{
    struct layout_object object = {.digest = *digest, .size_bytes = size_bytes};
    int code = 0;

    assert(!writer->spent && (part == PACK_OBSERVATION || part == PACK_INPUT));
    if (!is_there(writer, part, digest, size_bytes))
        code = put_new(writer, part, from, &object, err);
    writer->spent = code < 0;
    return code;
}

int pack_put(struct pack_writer *writer, enum pack_part part, const void *from, size_t size_bytes,
             struct digest *out_digest, struct err *err)
{
    struct digest digest;
    int code;

    if (size_bytes > LIMIT_OBJECT_BYTES) {
        writer->spent = true;
        return err_set(err, ERR_LIMIT, "an object of %zu bytes", size_bytes);
    }
    digest = digest_of(from, size_bytes);
    code = pack_put_digested(writer, part, from, size_bytes, &digest, err);
    if (code == 0)
        *out_digest = digest;
    return code;
}

/* A file that is being read through, after bytes that stand before it. */
struct reading {
    struct pack_writer *writer;
    enum pack_part part;
    const uint8_t *before;
    size_t before_bytes;
    int fd;
    uint64_t offset_bytes; /* in both */
    struct digest_run *run;
};

/* Reads up to size_bytes at the offset; fewer only at the end of the file. */
static int read_piece(const struct reading *reading, uint8_t *to, size_t size_bytes, size_t *out_bytes, struct err *err)
{
    size_t have = 0;

    for (; have < size_bytes && reading->offset_bytes + have < reading->before_bytes; have++)
        to[have] = reading->before[reading->offset_bytes + have];
    while (have < size_bytes) {
        uint64_t at = reading->offset_bytes + have - reading->before_bytes;
        ssize_t got = pread(reading->fd, to + have, size_bytes - have, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, "read at %" PRIu64, at);
        if (got == 0)
            break;
        have += (size_t)got;
    }
    *out_bytes = have;
    return 0;
}

static int piece_make(struct pack_writer *writer, struct err *err)
{
    if (writer->piece == NULL)
        writer->piece = malloc(LIMIT_BLOCK_BYTES);
    return writer->piece == NULL ? err_set_errno(err, "memory for a piece") : 0;
}

/* Counts and digests what was read. */
static int took(struct reading *reading, const uint8_t *from, size_t size_bytes, struct err *err)
{
    digest_run_add(reading->run, from, size_bytes);
    reading->offset_bytes += size_bytes;
    if (reading->offset_bytes > LIMIT_OBJECT_BYTES)
        return err_set(err, ERR_LIMIT, "an object of more than %llu bytes", LIMIT_OBJECT_BYTES);
    return 0;
}

/* Reads and digests the next piece. *out_more: there may be another. */
static int pass_piece(struct reading *reading, bool *out_more, struct err *err)
{
    uint8_t *to = reading->writer->piece;
    size_t got = 0;

    if (read_piece(reading, to, LIMIT_BLOCK_BYTES, &got, err) < 0)
        return err->code;
    *out_more = got == LIMIT_BLOCK_BYTES;
    return took(reading, to, got, err);
}

/*
 * The same, and appends it to the part's content. A block may be closed only when it is known that the object goes on:
 * else its journal has to name it. So the first byte of each block is read before.
 */
static int keep_piece(struct reading *reading, bool *out_more, struct err *err)
{
    struct pack_grow *grow = &reading->writer->grow;
    uint8_t first, *to = NULL;
    size_t room = 0, got = 0;

    if (read_piece(reading, &first, 1, &got, err) < 0)
        return err->code;
    *out_more = got == 1;
    if (got == 0)
        return 0;
    if (took(reading, &first, 1, err) < 0 || pack_grow_add(grow, reading->part, &first, 1, err) < 0 ||
        pack_grow_room(grow, reading->part, &to, &room, err) < 0 || read_piece(reading, to, room, &got, err) < 0)
        return err->code;
    pack_grow_fill(grow, reading->part, got);
    *out_more = got == room;
    return took(reading, to, got, err);
}

/* Reads it to its end for digest and size, and appends the bytes to the part's content where `keep`. */
static int run_through(const struct reading *from, bool keep, struct layout_object *object, struct err *err)
{
    struct reading reading = *from;
    int code;

    reading.run = digest_run_new();
    code = reading.run == NULL ? err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256") : 0;
    for (bool more = true; code == 0 && more;)
        code = keep ? keep_piece(&reading, &more, err) : pass_piece(&reading, &more, err);
    if (code == 0) {
        object->digest = digest_run_now(reading.run);
        object->size_bytes = reading.offset_bytes;
    }
    digest_run_free(reading.run);
    return code;
}

/*
 * Puts the content of fd, which seems to have a block or more. Where another object may have its size it is read once
 * to see whether it is there already. It is stored as it is read; where that turns out to be there already (the file
 * changed in between), it is taken back.
 */
static int put_large(const struct reading *from, uint64_t seems_bytes, struct layout_object *object, struct err *err)
{
    struct pack_writer *writer = from->writer;
    enum pack_part part = from->part;
    int code = 0;

    if (size_is_known(writer, part, seems_bytes)) {
        code = run_through(from, false, object, err);
        if (code < 0 || is_there(writer, part, &object->digest, object->size_bytes))
            return code;
    }
    code = pack_grow_close(&writer->grow, part, err);
    if (code < 0)
        return code;
    pack_grow_mark(&writer->grow, part);
    code = pack_grow_begin(&writer->grow, part, &object->block, &object->offset_bytes, err);
    if (code == 0)
        code = run_through(from, true, object, err);
    if (code < 0)
        return code;
    if (is_there(writer, part, &object->digest, object->size_bytes))
        return pack_grow_rewind(&writer->grow, err);
    if (object->size_bytes == 0)
        object->block = 0;
    return enter(writer, part, object, err);
}

int pack_put_fd(struct pack_writer *writer, enum pack_part part, int fd, struct digest *out_digest,
                uint64_t *out_size_bytes, struct err *err)
{
    return pack_put_fd_after(writer, part, NULL, 0, fd, out_digest, out_size_bytes, err);
}

int pack_put_fd_after(struct pack_writer *writer, enum pack_part part, const void *before, size_t before_bytes, int fd,
                      struct digest *out_digest, uint64_t *out_size_bytes, struct err *err)
{
    const struct reading reading = {
        .writer = writer, .part = part, .before = before, .before_bytes = before_bytes, .fd = fd};
    struct layout_object object = {0};
    struct stat stat;
    size_t got = LIMIT_BLOCK_BYTES;
    int code;

    assert(!writer->spent && (part == PACK_OBSERVATION || part == PACK_INPUT) && before_bytes <= 4096);
    code = fstat(fd, &stat) < 0 ? err_set_errno(err, "stat") : piece_make(writer, err);
    if (code == 0 && stat.st_size < LIMIT_BLOCK_BYTES) /* what is read counts: it may have grown */
        code = read_piece(&reading, writer->piece, LIMIT_BLOCK_BYTES, &got, err);
    if (code == 0 && got < LIMIT_BLOCK_BYTES) {
        object.size_bytes = got;
        code = pack_put(writer, part, writer->piece, got, &object.digest, err);
    } else if (code == 0) {
        code = put_large(&reading, (uint64_t)stat.st_size + before_bytes, &object, err);
    }
    writer->spent = code < 0;
    if (code < 0)
        return code;
    *out_digest = object.digest;
    *out_size_bytes = object.size_bytes;
    return 0;
}
