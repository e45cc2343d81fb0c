#include "record/leaks.h"

#include "formats/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR 0x9E3779B97F4A7C15ull /* of the polynomial, odd */
#define MIX 0xD6E8FEB86659FD93ull
#define FILTER_BITS 24

/* A bucket is empty where its hash is 0. */
struct leaks {
    uint64_t *hashes;
    uint32_t *checks; /* a part of the block's SHA-256 */
    uint32_t *contents;
    uint8_t *filter; /* a bit for each value of the hash's top bits */
    uint32_t count, max_count;
    unsigned bits; /* of the number of buckets */
    uint64_t drop; /* FACTOR to the 32nd: what the byte that leaves the window weighs */
};

static uint64_t mixed(uint64_t hash)
{
    hash ^= hash >> 32;
    return hash * MIX;
}

/* The hash of a whole block, never 0. */
static uint64_t block_hash(const uint8_t *block)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < LEAKS_BLOCK_BYTES; i++)
        hash = hash * FACTOR + block[i] + 1;
    return hash;
}

static uint32_t block_check(const uint8_t *block)
{
    struct digest digest = digest_of(block, LEAKS_BLOCK_BYTES);
    uint32_t check;

    memcpy(&check, digest.bytes, sizeof check);
    return check;
}

static bool says_nothing(const uint8_t *block)
{
    uint64_t seen[4] = {0};
    unsigned different = 0;

    for (size_t i = 0; i < LEAKS_BLOCK_BYTES; i++) {
        uint64_t bit = 1ull << (block[i] % 64);

        different += (seen[block[i] / 64] & bit) == 0;
        seen[block[i] / 64] |= bit;
    }
    return different < LEAKS_LEAST_BYTES;
}

struct leaks *leaks_new(uint32_t max_blocks)
{
    struct leaks *leaks = calloc(1, sizeof *leaks);

    assert(max_blocks >= 1 && max_blocks <= 1u << 20);
    if (leaks == NULL)
        return NULL;
    leaks->max_count = max_blocks;
    leaks->bits = 1;
    while (1u << leaks->bits < 2 * max_blocks)
        leaks->bits++;
    leaks->hashes = calloc(1u << leaks->bits, sizeof *leaks->hashes);
    leaks->checks = calloc(1u << leaks->bits, sizeof *leaks->checks);
    leaks->contents = calloc(1u << leaks->bits, sizeof *leaks->contents);
    leaks->filter = calloc(1u << (FILTER_BITS - 3), 1);
    leaks->drop = 1;
    for (size_t i = 0; i < LEAKS_BLOCK_BYTES; i++)
        leaks->drop *= FACTOR;
    if (leaks->hashes == NULL || leaks->checks == NULL || leaks->contents == NULL || leaks->filter == NULL) {
        leaks_free(leaks);
        return NULL;
    }
    return leaks;
}

void leaks_clear(struct leaks *leaks)
{
    memset(leaks->hashes, 0, (sizeof *leaks->hashes) << leaks->bits);
    memset(leaks->filter, 0, 1u << (FILTER_BITS - 3));
    leaks->count = 0;
}

/* The bucket of a hash, or the empty one that it would get. Half of the buckets are always empty. */
static uint32_t bucket_of(const struct leaks *leaks, uint64_t hash)
{
    uint32_t mask = (1u << leaks->bits) - 1, at = (uint32_t)(mixed(hash) >> (64 - leaks->bits));

    while (leaks->hashes[at] != 0 && leaks->hashes[at] != hash)
        at = (at + 1) & mask;
    return at;
}

static void block_add(struct leaks *leaks, const uint8_t *block, uint32_t content)
{
    uint64_t hash = block_hash(block);
    uint32_t at, bit = (uint32_t)(mixed(hash) >> (64 - FILTER_BITS));

    if (hash == 0)
        return; /* one block in 2^64 */
    at = bucket_of(leaks, hash);
    if (leaks->hashes[at] != 0)
        return;
    leaks->hashes[at] = hash;
    leaks->checks[at] = block_check(block);
    leaks->contents[at] = content;
    leaks->filter[bit / 8] |= (uint8_t)(1u << (bit % 8));
    leaks->count++;
}

size_t leaks_add(struct leaks *leaks, const void *from, size_t size_bytes, uint32_t content)
{
    const uint8_t *bytes = from;
    size_t taken = 0;

    for (; size_bytes - taken >= LEAKS_BLOCK_BYTES && leaks->count < leaks->max_count; taken += LEAKS_BLOCK_BYTES)
        if (!says_nothing(bytes + taken))
            block_add(leaks, bytes + taken, content);
    return taken;
}

void leaks_free(struct leaks *leaks)
{
    if (leaks == NULL)
        return;
    free(leaks->hashes);
    free(leaks->checks);
    free(leaks->contents);
    free(leaks->filter);
    free(leaks);
}

/* Whether a window whose hash is in the filter is a block of the table. */
static bool is_block(const struct leaks *leaks, uint64_t hash, const uint8_t *window, uint32_t *out_content)
{
    uint32_t at = bucket_of(leaks, hash);

    if (hash == 0 || leaks->hashes[at] == 0 || leaks->checks[at] != block_check(window))
        return false;
    *out_content = leaks->contents[at];
    return true;
}

static bool filter_has(const struct leaks *leaks, uint64_t hash)
{
    uint32_t bit = (uint32_t)(mixed(hash) >> (64 - FILTER_BITS));

    return (leaks->filter[bit / 8] >> (bit % 8)) & 1;
}

/* The window that ends with byte `at` of the piece, put together from the tail and the piece. */
static void window_make(const struct leak_flow *flow, const uint8_t *bytes, size_t at, uint8_t *out)
{
    size_t of_piece = at + 1 < LEAKS_BLOCK_BYTES ? at + 1 : LEAKS_BLOCK_BYTES, of_tail = LEAKS_BLOCK_BYTES - of_piece;

    memcpy(out, flow->tail + flow->have - of_tail, of_tail);
    memcpy(out + of_tail, bytes + at + 1 - of_piece, of_piece);
}

/* Keeps the last bytes of tail and piece. */
static void tail_move(struct leak_flow *flow, const uint8_t *bytes, size_t size_bytes)
{
    size_t more = size_bytes < LEAKS_BLOCK_BYTES ? size_bytes : LEAKS_BLOCK_BYTES, kept = LEAKS_BLOCK_BYTES - more;

    if (kept > flow->have)
        kept = flow->have;
    memmove(flow->tail, flow->tail + flow->have - kept, kept);
    memcpy(flow->tail + kept, bytes + size_bytes - more, more);
    flow->have = (uint32_t)(kept + more);
}

bool leak_flow_look(struct leak_flow *flow, const struct leaks *leaks, const void *from, size_t size_bytes,
                    uint32_t *out_content)
{
    const uint8_t *bytes = from;
    uint8_t window[LEAKS_BLOCK_BYTES];
    uint64_t hash = flow->hash;

    for (size_t i = 0; i < size_bytes; i++) {
        size_t before = flow->have + i; /* bytes that are known before this one */
        uint8_t out = 0;

        hash = hash * FACTOR + bytes[i] + 1;
        if (before >= LEAKS_BLOCK_BYTES) {
            out = i >= LEAKS_BLOCK_BYTES ? bytes[i - LEAKS_BLOCK_BYTES] : flow->tail[before - LEAKS_BLOCK_BYTES];
            hash -= (out + 1ull) * leaks->drop;
        }
        if (before + 1 < LEAKS_BLOCK_BYTES || !filter_has(leaks, hash))
            continue;
        window_make(flow, bytes, i, window);
        if (is_block(leaks, hash, window, out_content))
            return true;
    }
    flow->hash = hash;
    if (size_bytes > 0)
        tail_move(flow, bytes, size_bytes);
    return false;
}
