#include "base/table.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

/* The string of bytes that an array is in stands before its rows. */
struct table_header {
    alignas(max_align_t) struct bytes memory;
};

static struct table_header *header_of(char *rows)
{
    return (struct table_header *)(void *)(rows - sizeof(struct table_header));
}

int table_add(void *slot, size_t *count, const void *row, size_t row_bytes, struct err *err)
{
    struct bytes memory = {0};
    size_t more_bytes = row_bytes;
    char *rows;

    assert(row_bytes > 0);
    memcpy(&rows, slot, sizeof rows);
    if (rows == NULL) {
        more_bytes += sizeof(struct table_header);
    } else {
        memory = header_of(rows)->memory;
        memory.size_bytes = sizeof(struct table_header) + *count * row_bytes;
    }
    if (bytes_reserve(&memory, more_bytes, SIZE_MAX - 1, err) < 0)
        return err->code;
    rows = (char *)memory.data + sizeof(struct table_header);
    header_of(rows)->memory = memory;
    memcpy(slot, &rows, sizeof rows);
    memcpy(rows + *count * row_bytes, row, row_bytes);
    (*count)++;
    return 0;
}

void table_free(void *rows)
{
    struct bytes memory;

    if (rows == NULL)
        return;
    memory = header_of(rows)->memory;
    bytes_done(&memory);
}
