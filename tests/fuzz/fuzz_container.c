/*
 * The container: whatever is not right is refused, and what is accepted can be read whole and has no other form (a bit
 * of it that is flipped is noticed). Under libFuzzer most inputs get right digests again, so that they get deeper.
 */
#include "fuzz.h"

#include "base/file.h"
#include "formats/pack.h"
#include "formats/pack_layout.h"

#include <sys/mman.h>
#include <unistd.h>

/* The file in memory that every input is written to. */
static int file_of(const uint8_t *data, size_t size_bytes)
{
    static int fd = -1;
    struct err err = {0};

    if (fd < 0)
        fd = memfd_create("pack", MFD_CLOEXEC);
    fuzz_want(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
                  file_write_all(fd, data, size_bytes, &err) == 0,
              "memory for a file");
    return fd;
}

static int count(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    fuzz_want(piece != NULL && size_bytes > 0 && size_bytes <= LIMIT_BLOCK_BYTES, "a piece is of one block");
    (void)err;
    *(uint64_t *)context += size_bytes;
    return 0;
}

/* Reads every object; gives how many could not be. */
static unsigned read_all(struct pack *pack)
{
    unsigned failed = 0;

    for (enum pack_part part = PACK_OBSERVATION; part <= PACK_INPUT; part++) {
        for (uint32_t i = 0; i < pack_object_count(pack, part) && i < 64; i++) {
            struct pack_object object = pack_object_at(pack, part, i);
            struct err err = {0};
            uint64_t counted = 0;
            int code = pack_read_pieces(pack, part, &object.digest, count, &counted, &err);

            fuzz_want_answer(code, &err);
            fuzz_want(code < 0 || counted == object.size_bytes, "an object has its size");
            failed += code < 0;
        }
    }
    return failed;
}

/* Opens and checks; true: it is right. Objects are read in either case. */
static bool accepted(const uint8_t *data, size_t size_bytes)
{
    struct pack *pack = NULL;
    struct err err = {0};
    unsigned failed;
    int code = pack_open(file_of(data, size_bytes), &pack, &err);

    fuzz_want_answer(code, &err);
    if (code < 0)
        return false;
    failed = read_all(pack);
    code = pack_check(pack, &err);
    fuzz_want_answer(code, &err);
    fuzz_want(code < 0 || failed == 0, "what is right can be read");
    pack_close(pack);
    return code == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    uint8_t *flipped;
    struct digest random;

    if (!accepted(data, size_bytes))
        return 0;
    flipped = malloc(size_bytes);
    fuzz_want(flipped != NULL, "memory");
    memcpy(flipped, data, size_bytes);
    random = digest_of(data, size_bytes);
    for (size_t i = 0; i < 8; i++) {
        size_t at = (random.bytes[4 * i] | (size_t)random.bytes[4 * i + 1] << 8) % size_bytes;
        uint8_t bit = (uint8_t)(1u << random.bytes[4 * i + 3] % 8);

        flipped[at] ^= bit;
        fuzz_want(!accepted(flipped, size_bytes), "a flipped bit is noticed");
        flipped[at] ^= bit;
    }
    free(flipped);
    return 0;
}

#ifdef EXHIBIT_FUZZ

size_t LLVMFuzzerMutate(uint8_t *data, size_t size_bytes, size_t max_bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size_bytes, size_t max_bytes, unsigned seed);

/* Gives each block of an index that stands at `at` the digest of its frame, where that lies in the file. */
static void seal_blocks(uint8_t *data, size_t size_bytes, size_t at, size_t index_bytes)
{
    uint32_t objects;
    size_t records;

    memcpy(&objects, data + at + 12, sizeof objects);
    if (objects > index_bytes / PACK_OBJECT_BYTES)
        return;
    records = at + PACK_INDEX_HEAD_BYTES + (size_t)objects * PACK_OBJECT_BYTES;
    for (; records + PACK_BLOCK_BYTES <= at + index_bytes; records += PACK_BLOCK_BYTES) {
        struct layout_block block = layout_block_take(data + records);

        if (block.frame.at > size_bytes || block.frame.size_bytes > size_bytes - block.frame.at)
            continue;
        block.digest = digest_of(data + block.frame.at, (size_t)block.frame.size_bytes);
        memcpy(data + records + 16, block.digest.bytes, DIGEST_BYTES);
    }
}

/* Makes the digests of blocks, indexes and footer right, as far as the footer's positions make sense. */
static void seal(uint8_t *data, size_t size_bytes)
{
    uint8_t *footer = data + size_bytes - PACK_FOOTER_BYTES;
    struct digest digest;

    for (unsigned i = 0; i < PACK_PART_COUNT; i++) {
        uint64_t at, index_bytes;

        memcpy(&at, footer + 8 + 48 * i, sizeof at);
        memcpy(&index_bytes, footer + 16 + 48 * i, sizeof index_bytes);
        if (at > size_bytes || index_bytes > size_bytes - at || index_bytes < PACK_INDEX_HEAD_BYTES)
            continue;
        seal_blocks(data, size_bytes, (size_t)at, (size_t)index_bytes);
        digest = digest_of(data + at, (size_t)index_bytes);
        memcpy(footer + 24 + 48 * i, digest.bytes, DIGEST_BYTES);
    }
    digest = digest_of(footer, 168);
    memcpy(footer + 168, digest.bytes, DIGEST_BYTES);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size_bytes, size_t max_bytes, unsigned seed)
{
    /* Three in four keep their length: every position in the file stands for a length before it. */
    size_t now = LLVMFuzzerMutate(data, size_bytes, seed % 4 == 0 || size_bytes == 0 ? max_bytes : size_bytes);

    if (seed % 4 != 0 && now < size_bytes)
        now = size_bytes; /* what was cut off stands there still */
    if (seed / 4 % 8 != 0 && now >= PACK_FOOTER_BYTES)
        seal(data, now);
    return now;
}

#endif
