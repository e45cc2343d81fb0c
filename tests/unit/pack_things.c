#include "pack_things.h"

#include "base/cleanup.h"
#include "test_pack_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static uint8_t content[10u << 20];

/* The content that a number stands for: of the size that is asked, never the same for two numbers. */
static const uint8_t *content_of(uint32_t number, size_t size_bytes)
{
    assert_true(size_bytes <= sizeof content);
    for (size_t at = 0; at < size_bytes; at += sizeof number)
        memcpy(content + at, &number, size_bytes - at < sizeof number ? size_bytes - at : sizeof number);
    return content;
}

struct pack_writer *things_begin(const char *name, struct digest *out_receipt)
{
    struct pack_writer *writer = NULL;
    struct err err = {0};

    must(pack_writer_new(test_folder_fd, name, &writer, &err), &err);
    must(pack_put(writer, PACK_OBSERVATION, "receipt", 7, out_receipt, &err), &err);
    return writer;
}

void things_put(struct pack_writer *writer, enum pack_part part, struct thing *things, size_t count, bool all)
{
    struct err err = {0};

    for (size_t i = 0; i < count; i++)
        if (all || things[i].there)
            must(pack_put(writer, part, content_of(things[i].number, things[i].size_bytes), things[i].size_bytes,
                          &things[i].digest, &err),
                 &err);
}

void things_make(const char *name, enum pack_part part, struct thing *things, size_t count)
{
    struct digest receipt;
    struct err err = {0};
    struct pack_writer *writer = things_begin(name, &receipt);

    things_put(writer, part, things, count, true);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
}

struct pack *things_open(const char *name, int *out_fd)
{
    struct pack *pack = NULL;
    struct err err = {0};

    *out_fd = openat(test_folder_fd, name, O_RDONLY | O_CLOEXEC);
    assert_true(*out_fd >= 0);
    must(pack_open(*out_fd, &pack, &err), &err);
    return pack;
}

bool things_want(void *context, const struct digest *digest)
{
    const struct thing_list *list = context;

    for (size_t i = 0; i < list->count; i++)
        if (digest_equal(&list->things[i].digest, digest))
            return list->things[i].wanted;
    return false;
}

bool thing_is_in(const struct pack *pack, enum pack_part part, const struct thing *thing, uint32_t block)
{
    const struct pack_index *index = &pack->index[pack_slot(part)];
    struct layout_object object;
    uint64_t start;

    if (thing->size_bytes == 0)
        return false;
    assert_true(pack_index_find(index, &thing->digest, &object));
    start = pack_index_start(index, &object);
    return start < index->starts[block + 1] && start + object.size_bytes > index->starts[block];
}

void things_expect(struct pack *to, enum pack_part part, const struct thing *things, size_t count)
{
    uint32_t right = part == PACK_OBSERVATION ? 1 : 0; /* the receipt */
    struct err err = {0};

    must(pack_check(to, &err), &err);
    for (size_t i = 0; i < count; i++) {
        AUTO_BYTES struct bytes read = {0};

        if (!things[i].there && !things[i].wanted) {
            assert_false(pack_find(to, part, &things[i].digest, NULL));
            continue;
        }
        right++;
        must(pack_read(to, part, &things[i].digest, sizeof content, &read, &err), &err);
        assert_int_equal(read.size_bytes, things[i].size_bytes);
        if (read.size_bytes > 0)
            assert_memory_equal(read.data, content_of(things[i].number, things[i].size_bytes), read.size_bytes);
    }
    assert_int_equal(pack_object_count(to, part), right);
}
