#include "formats/archive_xz.h"

#include "formats/limits.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 64 << 10 };

struct archive_xz {
    lzma_stream stream;
    bool ended;
    uint8_t piece[PIECE_BYTES];
};

bool archive_xz_is_one(const void *from, size_t size_bytes)
{
    static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};

    return size_bytes >= sizeof magic && memcmp(from, magic, sizeof magic) == 0;
}

struct archive_xz *archive_xz_new(const void *from, size_t size_bytes)
{
    struct archive_xz *xz = calloc(1, sizeof *xz);

    if (xz == NULL || lzma_stream_decoder(&xz->stream, LIMIT_XZ_MEMORY_BYTES, LZMA_CONCATENATED) != LZMA_OK) {
        free(xz);
        return NULL;
    }
    xz->stream.next_in = from;
    xz->stream.avail_in = size_bytes;
    return xz;
}

int archive_xz_next(struct archive_xz *xz, const void **out, size_t *out_bytes, struct err *err)
{
    lzma_ret told = LZMA_OK;

    xz->stream.next_out = xz->piece;
    xz->stream.avail_out = sizeof xz->piece;
    while (!xz->ended && told == LZMA_OK && xz->stream.avail_out > 0)
        told = lzma_code(&xz->stream, LZMA_FINISH);
    if (told == LZMA_STREAM_END)
        xz->ended = true;
    else if (told == LZMA_MEMLIMIT_ERROR)
        return err_set(err, ERR_LIMIT, "the xz takes more than %u bytes of memory to be undone", LIMIT_XZ_MEMORY_BYTES);
    else if (told == LZMA_MEM_ERROR)
        return err_set(err, ERR_SYSTEM, "no memory to undo an xz");
    else if (told != LZMA_OK)
        return err_set(err, ERR_FORMAT, "the archive is damaged or none: its xz is damaged or cut short");
    *out = xz->piece;
    *out_bytes = sizeof xz->piece - xz->stream.avail_out;
    return 0;
}

void archive_xz_free(struct archive_xz *xz)
{
    if (xz == NULL)
        return;
    lzma_end(&xz->stream);
    free(xz);
}
