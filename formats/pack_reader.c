/*
 * Opening a pack and reading objects from it, each checked against its digest. Checking every byte is pack_check.c's.
 */
#include "formats/pack_reader.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const part_names[PACK_PART_COUNT] = {"observation", "input"};

void pack_close(struct pack *pack)
{
    if (pack == NULL)
        return;
    for (size_t i = 0; i < PACK_PART_COUNT; i++) {
        pack_index_done(&pack->index[i]);
        for (size_t slot = 0; slot < PACK_CACHE_SLOTS; slot++)
            free(pack->cache[i][slot].content);
    }
    ZSTD_freeDCtx(pack->decoder);
    free(pack->frame);
    free(pack);
}

static void cleanup_pack(struct pack **pack)
{
    pack_close(*pack);
}

#define AUTO_PACK __attribute__((cleanup(cleanup_pack)))

int pack_ends_read(int fd, struct layout_footer *out, uint64_t *out_at, struct err *err)
{
    uint8_t header[PACK_HEADER_BYTES], footer[PACK_FOOTER_BYTES];
    struct stat stat;
    uint64_t size_bytes;
    int code;

    if (fstat(fd, &stat) < 0)
        return err_set_errno(err, "stat");
    if (!S_ISREG(stat.st_mode))
        return err_set(err, ERR_USAGE, "not a regular file");
    size_bytes = (uint64_t)stat.st_size;
    if (size_bytes < sizeof header)
        return err_set(err, ERR_FORMAT, "FORMAT 2.1: not a pack, or cut short within its header: %" PRIu64 " bytes",
                       size_bytes);
    code = file_pread_all(fd, header, sizeof header, 0, err);
    if (code == 0)
        code = layout_header_check(header, err);
    if (code < 0)
        return code;
    *out_at = size_bytes > sizeof footer ? size_bytes - sizeof footer : 0;
    if (size_bytes < sizeof header + sizeof footer)
        return frame_fault(err, ERR_FORMAT, (struct frame_range){*out_at, size_bytes - *out_at},
                           "FORMAT 1.8: partial or cut short, or followed by something: no footer at its end; see "
                           "exhibit-record salvage");
    code = file_pread_all(fd, footer, sizeof footer, *out_at, err);
    return code < 0 ? code : layout_footer_take(footer, *out_at, out, err);
}

/* Checks that the footer stands where it says. Where a whole pack is read, the fault is looked for by its range. */
static int check_place(struct pack *pack, uint64_t at, struct err *err)
{
    uint64_t place;
    bool possible = layout_footer_place(&pack->footer, &place);

    if (possible && place == at)
        return 0;
    if (possible && !pack->inputs_skipped)
        return pack_moved_fault(pack, place, at, err);
    return frame_fault(err, ERR_FORMAT, (struct frame_range){at, PACK_FOOTER_BYTES}, PACK_MOVED_TEXT);
}

/* Checks that receipt and claim are observations (FORMAT 5.3), and the bounds over both parts (FORMAT 1.9). */
static int check_roots(const struct pack *pack, struct err *err)
{
    static const struct digest none;
    const struct pack_index *observations = &pack->index[pack_slot(PACK_OBSERVATION)];
    const struct layout_place *last = &pack->footer.index[pack_slot(PACK_INPUT)];
    struct frame_range where = {last->frame.at + last->frame.size_bytes, PACK_FOOTER_BYTES};
    struct layout_object object;

    if (!pack_index_find(observations, &pack->footer.receipt, &object))
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 5.3: the receipt is no observation of this pack");
    if (!digest_equal(&pack->footer.claim, &none) && !pack_index_find(observations, &pack->footer.claim, &object))
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 5.3: the claim is no observation of this pack");
    if (pack->index[0].object_count + pack->index[1].object_count > LIMIT_OBJECTS ||
        pack->index[0].block_count + pack->index[1].block_count > LIMIT_BLOCKS)
        return frame_fault(err, ERR_LIMIT, last->frame, "FORMAT 1.9: too many objects or blocks");
    return 0;
}

/* Checks how much content there is, and sets how much may be read of it (FORMAT 1.9). */
static int check_content(struct pack *pack, uint64_t footer_at, struct err *err)
{
    const struct frame_range where = {footer_at, PACK_FOOTER_BYTES};
    uint64_t content_bytes = 0;

    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        if (pack->index[i].block_count > 0)
            content_bytes += pack->index[i].starts[pack->index[i].block_count];
    if (!layout_content_fits(content_bytes, footer_at + PACK_FOOTER_BYTES))
        return frame_fault(err, ERR_LIMIT, where,
                           "FORMAT 1.9: %" PRIu64 " bytes of content are more than a file of %" PRIu64 " may have",
                           content_bytes, footer_at + PACK_FOOTER_BYTES);
    pack->read_max_bytes = LIMIT_READ_BYTES + LIMIT_READ_RATIO * content_bytes;
    return 0;
}

/* The body of both ways to open. */
static int open_parts(int fd, bool with_inputs, struct pack **out, struct err *err)
{
    AUTO_PACK struct pack *pack = calloc(1, sizeof *pack);
    uint64_t footer_at = 0;
    int code;

    if (pack == NULL)
        return err_set_errno(err, "memory for a pack");
    pack->fd = fd;
    pack->inputs_skipped = !with_inputs;
    pack->decoder = ZSTD_createDCtx();
    if (pack->decoder == NULL)
        return err_set(err, ERR_SYSTEM, "no memory for a decoder");
    code = pack_ends_read(fd, &pack->footer, &footer_at, err);
    if (code == 0)
        code = check_place(pack, footer_at, err);
    for (unsigned i = 0; code == 0 && i < (with_inputs ? PACK_PART_COUNT : 1); i++)
        code = pack_index_read(fd, (enum pack_part)(i + 1), &pack->footer.index[i], pack->footer.index[0].frame.at,
                               &pack->index[i], err);
    if (code == 0)
        code = check_roots(pack, err);
    if (code == 0)
        code = check_content(pack, footer_at, err);
    if (code < 0)
        return code;
    *out = take_ptr(&pack);
    return 0;
}

int pack_open(int fd, struct pack **out, struct err *err)
{
    return open_parts(fd, true, out, err);
}

int pack_open_observations(int fd, struct pack **out, struct err *err)
{
    return open_parts(fd, false, out, err);
}

struct digest pack_receipt(const struct pack *pack)
{
    return pack->footer.receipt;
}

bool pack_claim(const struct pack *pack, struct digest *out)
{
    static const struct digest none;

    if (digest_equal(&pack->footer.claim, &none))
        return false;
    *out = pack->footer.claim;
    return true;
}

uint32_t pack_object_count(const struct pack *pack, enum pack_part part)
{
    return pack->index[pack_slot(part)].object_count;
}

struct pack_object pack_object_at(const struct pack *pack, enum pack_part part, uint32_t index)
{
    struct layout_object object = pack_index_object(&pack->index[pack_slot(part)], index);

    return (struct pack_object){object.digest, part, object.size_bytes};
}

bool pack_number(const struct pack *pack, enum pack_part part, const struct digest *digest, uint32_t *out)
{
    return pack_index_number(&pack->index[pack_slot(part)], digest, out);
}

bool pack_find(const struct pack *pack, enum pack_part part, const struct digest *digest, struct pack_object *out)
{
    struct layout_object object;

    if (!pack_index_find(&pack->index[pack_slot(part)], digest, &object))
        return false;
    if (out != NULL)
        *out = (struct pack_object){object.digest, part, object.size_bytes};
    return true;
}

/* Says that the file ends within a block, or before it. */
static int block_cut(int fd, struct frame_range frame, struct err *err)
{
    struct stat stat;
    uint64_t size_bytes;

    if (fstat(fd, &stat) < 0)
        return err_set_errno(err, "stat");
    size_bytes = (uint64_t)stat.st_size;
    if (size_bytes <= frame.at)
        frame = (struct frame_range){size_bytes > 0 ? size_bytes - 1 : 0, 1};
    else if (size_bytes - frame.at < frame.size_bytes)
        frame.size_bytes = size_bytes - frame.at;
    return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.6: the file ends at %" PRIu64 ", within a block", size_bytes);
}

int pack_block_read(int fd, const struct layout_block *block, uint8_t *frame, struct err *err)
{
    struct digest digest;
    int code = file_pread_all(fd, frame, (size_t)block->frame.size_bytes, block->frame.at, err);

    if (code < 0)
        return code == ERR_FORMAT ? block_cut(fd, block->frame, err) : code;
    digest = digest_of(frame, (size_t)block->frame.size_bytes);
    if (!digest_equal(&digest, &block->digest))
        return frame_fault(err, ERR_FORMAT, block->frame,
                           "FORMAT 3.6: the block has not the digest that the index tells");
    return 0;
}

int pack_block_decode_fd(int fd, const struct layout_block *block, ZSTD_DCtx *decoder, uint8_t *frame, uint8_t *content,
                         struct err *err)
{
    if (pack_block_read(fd, block, frame, err) < 0)
        return err->code;
    return frame_decode(decoder, frame, block->frame, content, block->content_bytes, err);
}

int pack_block_decode(const struct pack *pack, const struct layout_block *block, ZSTD_DCtx *decoder, uint8_t *frame,
                      uint8_t *content, struct err *err)
{
    return pack_block_decode_fd(pack->fd, block, decoder, frame, content, err);
}

/* The digest of the object that holds the first byte of a block. */
static bool first_object(const struct pack_index *index, uint32_t number, struct digest *out)
{
    for (uint32_t i = 0; i < index->object_count; i++) {
        struct layout_object object = pack_index_object(index, i);
        uint64_t start = object.size_bytes == 0 ? UINT64_MAX : pack_index_start(index, &object);

        if (start <= index->starts[number] && index->starts[number] - start < object.size_bytes) {
            *out = object.digest;
            return true;
        }
    }
    return false;
}

int pack_block_fault(const struct pack *pack, enum pack_part part, uint32_t number, struct err *err)
{
    struct digest digest;
    char digits[2 * DIGEST_BYTES + 1] = "unknown";

    if (err->code != ERR_FORMAT)
        return err->code;
    if (first_object(&pack->index[pack_slot(part)], number, &digest))
        hex_encode(digest.bytes, DIGEST_BYTES, digits);
    return err_wrap(err, "%s block %" PRIu32 ", first object %s", part_names[pack_slot(part)], number, digits);
}

size_t pack_room_bytes(const struct pack *pack)
{
    size_t of_first = pack->index[0].room_bytes, of_second = pack->index[1].room_bytes;

    return of_first > of_second ? of_first : of_second;
}

void pack_cache_drop(struct pack *pack)
{
    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        for (size_t slot = 0; slot < PACK_CACHE_SLOTS; slot++)
            pack->cache[i][slot].filled = false;
}

/* Where a block is kept: all slots of a part together have room for one block of the largest size. */
static struct pack_cache *cache_slot(struct pack *pack, enum pack_part part, uint32_t number)
{
    size_t slots = LIMIT_BLOCK_BYTES / pack_room_bytes(pack);

    if (slots > PACK_CACHE_SLOTS)
        slots = PACK_CACHE_SLOTS;
    return &pack->cache[pack_slot(part)][slots > 1 ? number % slots : 0];
}

int pack_block_load(struct pack *pack, enum pack_part part, uint32_t number, const uint8_t **out, struct err *err)
{
    struct pack_cache *cache = cache_slot(pack, part, number);
    struct layout_block block = pack_index_block(&pack->index[pack_slot(part)], number);

    pack->blocks_read[pack_slot(part)]++;
    if (!cache->filled || cache->block != number) {
        int code;

        if (cache->content == NULL)
            cache->content = frame_room_new(pack_room_bytes(pack));
        if (pack->frame == NULL)
            pack->frame = frame_room_new(pack_room_bytes(pack));
        if (cache->content == NULL || pack->frame == NULL)
            return err_set_errno(err, "memory for a block");
        cache->filled = false;
        code = pack_block_decode(pack, &block, pack->decoder, pack->frame, cache->content, err);
        if (code < 0)
            return pack_block_fault(pack, part, number, err);
        cache->filled = true;
        cache->block = number;
    }
    *out = cache->content;
    return 0;
}

/* Says that the object's content is another one; `last` is the number of the block in which it ends. */
static int wrong_digest(const struct pack_index *index, const struct layout_object *object, uint32_t last,
                        struct err *err)
{
    struct layout_block block = {.frame = {0, PACK_HEADER_BYTES}};
    char digits[2 * DIGEST_BYTES + 1];

    hex_encode(object->digest.bytes, DIGEST_BYTES, digits);
    if (object->size_bytes > 0)
        block = pack_index_block(index, last);
    return frame_fault(err, ERR_MISMATCH, block.frame, "FORMAT 4.8: object %s has other content", digits);
}

uint64_t pack_blocks_read(const struct pack *pack, enum pack_part part)
{
    return pack->blocks_read[pack_slot(part)];
}

bool pack_log_is_known(const struct pack *pack, const struct digest *log)
{
    return pack->has_known_log && digest_equal(&pack->known_log, log);
}

void pack_know_log(struct pack *pack, const struct digest *log)
{
    pack->known_log = *log;
    pack->has_known_log = true;
}

int pack_read_pieces(struct pack *pack, enum pack_part part, const struct digest *digest,
                     int (*take)(void *context, const void *piece, size_t size_bytes, struct err *err), void *context,
                     struct err *err)
{
    const struct pack_index *index = &pack->index[pack_slot(part)];
    struct digest_run *run = NULL;
    struct digest right = {0};
    struct layout_object object;
    uint64_t left_bytes;
    uint32_t block, offset_bytes;
    int code = 0;

    if (!pack_index_find(index, digest, &object)) {
        char digits[2 * DIGEST_BYTES + 1];

        hex_encode(digest->bytes, DIGEST_BYTES, digits);
        return err_set(err, ERR_MISMATCH, "the pack has no %s %s", part_names[pack_slot(part)], digits);
    }
    if (object.size_bytes > pack->read_max_bytes - pack->read_bytes)
        return err_set(err, ERR_LIMIT, "FORMAT 1.9: more than %" PRIu64 " bytes are to be read of this file's objects",
                       pack->read_max_bytes);
    pack->read_bytes += object.size_bytes;
    run = digest_run_new();
    if (run == NULL)
        return err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256");
    left_bytes = object.size_bytes;
    block = object.block;
    offset_bytes = object.offset_bytes;
    while (code == 0 && left_bytes > 0) {
        uint64_t room = index->starts[block + 1] - index->starts[block] - offset_bytes;
        size_t size_bytes = (size_t)(left_bytes < room ? left_bytes : room);
        const uint8_t *content;

        code = pack_block_load(pack, part, block, &content, err);
        if (code < 0)
            break;
        digest_run_add(run, content + offset_bytes, size_bytes);
        code = take(context, content + offset_bytes, size_bytes, err);
        left_bytes -= size_bytes;
        offset_bytes = 0;
        block++;
    }
    right = digest_run_now(run);
    digest_run_free(run);
    if (code < 0)
        return code;
    return digest_equal(&right, digest) ? 0 : wrong_digest(index, &object, block - 1, err);
}

/* Appends a piece to the bytes that were reserved for the whole. */
static int take_bytes(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    return bytes_add(context, piece, size_bytes, SIZE_MAX - 1, err);
}

int pack_read(struct pack *pack, enum pack_part part, const struct digest *digest, size_t max_bytes, struct bytes *out,
              struct err *err)
{
    AUTO_BYTES struct bytes content = {0};
    struct pack_object object;
    int code = 0;

    if (pack_find(pack, part, digest, &object)) {
        if (object.size_bytes > max_bytes)
            return err_set(err, ERR_LIMIT, "an object of %" PRIu64 " bytes where at most %zu are taken",
                           object.size_bytes, max_bytes);
        code = bytes_reserve(&content, (size_t)object.size_bytes, SIZE_MAX - 1, err);
    }
    if (code == 0)
        code = pack_read_pieces(pack, part, digest, take_bytes, &content, err);
    if (code < 0)
        return code;
    bytes_done(out);
    *out = content;
    content = (struct bytes){0};
    return 0;
}
