/* Tables of any size in little of the heap: strings that go to a file, digests in order, packs of many objects, long
 * lists. */
#include "base/arena.h"
#include "base/sort.h"
#include "base/spill.h"
#include "base/table.h"
#include "formats/freeze.h"
#include "formats/message.h"
#include "test_pack_fixture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (1u << 20)
#define OBJECTS 700000u            /* 33 MiB of index, and in the writer 8 more to look them up by */
#define HEAP_MOST_BYTES (8u * MIB) /* as base/bytes.h says: little; and what else is there stands still */
#define NOISE_BYTES (6u * MIB)

static size_t anonymous_bytes(void)
{
    char line[256];
    size_t kib = 0;
    FILE *status = fopen("/proc/self/status", "r");

    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "RssAnon: %zu", &kib) == 1)
            break;
    (void)fclose(status);
    assert_true(kib > 0);
    return kib * 1024;
}

static void want_little_more(size_t before)
{
    if (!EXHIBIT_SANITIZED) /* their own memory grows with what is freed */
        assert_in_range(anonymous_bytes(), 0, before + HEAP_MOST_BYTES + NOISE_BYTES);
}

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

static void strings_beyond_a_little_of_the_heap_are_kept_in_a_file(void **state)
{
    enum { STRINGS = 24, EACH = 3 * MIB };
    struct bytes strings[STRINGS] = {0};
    size_t before = anonymous_bytes(), in_heap = 0;
    struct err err;

    (void)state;
    for (size_t at = 0; at < EACH; at += 4096) /* they grow side by side */
        for (size_t i = 0; i < STRINGS; i++) {
            uint8_t part[4096];

            for (size_t j = 0; j < sizeof part; j++)
                part[j] = byte_at(i * EACH + at + j);
            must(bytes_add(&strings[i], part, sizeof part, SIZE_MAX - 1, &err), &err);
        }
    want_little_more(before);
    for (size_t i = 0; i < STRINGS; i++) {
        in_heap += strings[i].is_spilled ? 0 : strings[i].room_bytes;
        assert_int_equal(strings[i].size_bytes, EACH);
        assert_int_equal(strings[i].data[EACH], 0);
        for (size_t at = 0; at < EACH; at++)
            if (strings[i].data[at] != byte_at(i * EACH + at))
                fail_msg("string %zu has another byte at %zu", i, at);
    }
    assert_in_range(in_heap, 1, HEAP_MOST_BYTES);
    for (size_t i = 0; i < STRINGS; i++)
        bytes_done(&strings[i]);
    must(bytes_reserve(&strings[0], 4 * MIB, SIZE_MAX - 1, &err), &err); /* what was freed is not counted */
    assert_false(strings[0].is_spilled);
    bytes_done(&strings[0]);
}

static void what_is_never_to_be_spilled_is_not(void **state)
{
    struct bytes secret = {.never_spilled = true};
    struct err err;

    (void)state;
    for (size_t i = 0; i < 20; i++) {
        must(bytes_reserve(&secret, MIB, SIZE_MAX - 1, &err), &err);
        secret.size_bytes += MIB;
        assert_false(secret.is_spilled);
        assert_true(secret.never_spilled);
    }
    bytes_done(&secret);
}

static void a_child_does_not_empty_what_its_parent_has_in_the_file(void **state)
{
    struct bytes bytes = {0};
    struct err err;
    int status = 0;
    pid_t child;

    (void)state;
    must(bytes_reserve(&bytes, 20 * MIB, SIZE_MAX - 1, &err), &err);
    assert_true(bytes.is_spilled);
    memset(bytes.data, 7, 20 * MIB);
    child = fork();
    if (child == 0) {
        bytes_done(&bytes);
        _exit(spill_new(MIB) == NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(bytes.data[0], 7);
    assert_int_equal(bytes.data[20 * MIB - 1], 7);
    bytes_done(&bytes);
}

static void a_text_is_the_callers_wherever_its_bytes_were(void **state)
{
    struct bytes small = {0}, large = {0}, none = {0};
    struct err err;
    char *text;

    (void)state;
    text = bytes_to_text(&none);
    assert_string_equal(text, "");
    free(text);
    must(bytes_add(&small, "word", 4, 100, &err), &err);
    text = bytes_to_text(&small);
    assert_string_equal(text, "word");
    assert_null(small.data);
    free(text);
    must(bytes_reserve(&large, 20 * MIB, SIZE_MAX - 1, &err), &err);
    assert_true(large.is_spilled);
    must(bytes_add(&large, "word", 4, SIZE_MAX - 1, &err), &err);
    text = bytes_to_text(&large);
    assert_string_equal(text, "word");
    assert_null(large.data);
    free(text);
}

/* Where no file can be made, or not so large a one, the heap has to do: nothing fails, and no signal comes. */
static int without_file(const char *folder, rlim_t most_bytes)
{
    pid_t child = fork(); /* a program that has not opened one */
    int status = 0;

    if (child == 0) {
        const struct rlimit limit = {most_bytes, most_bytes};
        char self[4096];
        ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);

        self[size < 0 ? 0 : size] = 0;
        if (setenv("TMPDIR", folder, 1) == 0 && setrlimit(RLIMIT_FSIZE, &limit) == 0)
            (void)execl(self, self, "grow", (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* What that program does: 0 where a large string is in a file, 1 in the heap, 2 with less than half left of a small
 * disk. */
static int grow(void)
{
    struct bytes bytes = {0};
    struct statvfs disk;
    struct err err;

    for (size_t i = 0; i < 40; i++)
        if (bytes_reserve(&bytes, MIB, SIZE_MAX - 1, &err) < 0)
            return 3;
        else
            bytes.size_bytes += MIB;
    memset(bytes.data, 7, bytes.size_bytes);
    if (bytes.is_spilled)
        return 0;
    return statvfs(getenv("TMPDIR"), &disk) == 0 && disk.f_blocks * disk.f_frsize < 100 * MIB &&
                   disk.f_bavail < disk.f_blocks / 2
               ? 2
               : 1;
}

/* Each piece begins with its size, and all of it holds its number. */
static void what_an_arena_gives_is_kept_apart_and_takes_little_of_the_heap(void **state)
{
    enum { PIECES = 3000, EVERY_LARGE = 500, LARGE = 9 * MIB, SMALL = 12000 };
    static uint8_t *pieces[PIECES];
    AUTO_ARENA struct arena arena = {0};
    size_t before = anonymous_bytes();

    (void)state;
    for (size_t i = 0; i < PIECES; i++) {
        size_t size_bytes = i % EVERY_LARGE == 7 ? LARGE : 1 + i * 31 % SMALL;

        pieces[i] = arena_take(&arena, size_bytes);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        assert_int_equal(pieces[i][0] | pieces[i][size_bytes / 2] | pieces[i][size_bytes - 1], 0);
        memset(pieces[i], (int)byte_at(i), size_bytes);
    }
    want_little_more(before);
    for (size_t i = 0; i < PIECES; i++) {
        size_t size_bytes = i % EVERY_LARGE == 7 ? LARGE : 1 + i * 31 % SMALL;

        for (size_t at = 0; at < size_bytes; at++)
            if (pieces[i][at] != byte_at(i))
                fail_msg("piece %zu has another byte at %zu", i, at);
    }
}

static void an_arena_that_was_emptied_gives_zeros_again_and_the_same_memory(void **state)
{
    AUTO_ARENA struct arena arena = {0};
    const uint8_t *first = NULL;

    (void)state;
    assert_null(arena_take(&arena, SIZE_MAX));
    assert_null(arena_take_unset(&arena, SIZE_MAX - 40));
    for (size_t turn = 0; turn < 100; turn++) {
        uint8_t *piece;

        arena_empty(&arena);
        for (size_t i = 0; i < 100; i++) {
            piece = arena_take(&arena, 9000);
            assert_non_null(piece);
            assert_int_equal(piece[0] | piece[8999], 0);
            memset(piece, 255, 9000);
            if (i > 0 || EXHIBIT_SANITIZED)
                continue;
            if (turn > 5) /* the block that stays is large enough for all by then */
                assert_ptr_equal(piece, first);
            first = piece;
        }
        assert_string_equal(arena_text(&arena, "text"), "text");
    }
}

static void a_table_grows_where_it_is_or_moves_and_takes_little_of_the_heap(void **state)
{
    struct row {
        uint64_t number;
        uint32_t twice;
    };
    enum { ROWS = 5000000 };
    AUTO_TABLE struct row *rows = NULL;
    size_t count = 0, before = anonymous_bytes();
    struct err err;

    (void)state;
    for (uint32_t i = 0; i < ROWS; i++)
        must(table_add(&rows, &count, &(struct row){i, 2 * i}, sizeof *rows, &err), &err);
    want_little_more(before);
    for (uint32_t i = 0; i < ROWS; i++)
        if (rows[i].number != i || rows[i].twice != 2 * i)
            fail_msg("row %" PRIu32 " is another one", i);
    count = 10; /* of the room that there is */
    for (uint32_t i = 10; i < ROWS; i++) {
        struct row *at = rows;

        must(table_add(&rows, &count, &(struct row){i + 1, 0}, sizeof *rows, &err), &err);
        assert_ptr_equal(rows, at);
    }
    assert_int_equal(rows[9].number, 9);
    assert_int_equal(rows[ROWS - 1].number, ROWS);
    table_free(NULL);
}

struct sorted {
    uint32_t key;
    uint32_t place; /* where it was */
};

static size_t sorting_most; /* of anonymous memory, while rows are sorted */

static int sorted_order(const void *left, const void *right)
{
    static size_t calls;
    const struct sorted *a = left, *b = right;

    if (++calls % 1000000 == 0 && anonymous_bytes() > sorting_most)
        sorting_most = anonymous_bytes();
    return (a->key > b->key) - (a->key < b->key);
}

static void rows_are_sorted_in_little_of_the_heap(void **state)
{
    static const size_t counts[] = {0, 1, 2, 131071, 131072, 131073, 262144, 393217, 4000001};
    size_t before = anonymous_bytes();

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        AUTO_TABLE struct sorted *rows = NULL;
        size_t count = 0, places = 0;
        struct err err;

        for (uint32_t j = 0; j < counts[i]; j++)
            must(table_add(&rows, &count, &(struct sorted){j * 2654435761u >> 14, j}, sizeof *rows, &err), &err);
        sort_rows(rows, count, sizeof *rows, sorted_order);
        for (size_t j = 0; j < count; j++) {
            places += rows[j].place;
            if (rows[j].key != rows[j].place * 2654435761u >> 14)
                fail_msg("of %zu rows number %zu is none that was there", count, j);
            if (j > 0 && (rows[j].key < rows[j - 1].key || rows[j].place == rows[j - 1].place))
                fail_msg("of %zu rows number %zu comes after its next, or twice", count, j);
        }
        assert_int_equal(places, count == 0 ? 0 : count * (count - 1) / 2); /* so none is missing */
    }
    assert_true(sorting_most > 0);
    if (!EXHIBIT_SANITIZED)
        assert_in_range(sorting_most, 0, before + HEAP_MOST_BYTES + NOISE_BYTES);
}

/* A message of 28 MB, which takes 120 MB when it is unpacked. */
static void a_message_of_any_size_is_unpacked_in_little_of_the_heap(void **state)
{
    enum { SEGMENTS = 700000 };
    AUTO_ARENA struct arena arena = {0};
    AUTO_BYTES struct bytes packed = {0};
    Exhibit__Stream stream = EXHIBIT__STREAM__INIT;
    Exhibit__Segment segment = EXHIBIT__SEGMENT__INIT, **segments = calloc(SEGMENTS, sizeof(Exhibit__Segment *));
    ProtobufCMessage *message = NULL, *copy = NULL;
    struct digest digest = digest_of("x", 1);
    struct err err;
    size_t before;

    (void)state;
    assert_non_null(segments);
    segment.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest.bytes};
    segment.size_bytes = 1;
    for (size_t i = 0; i < SEGMENTS; i++)
        segments[i] = &segment;
    stream.sha256 = segment.sha256;
    stream.segments = segments;
    stream.n_segments = SEGMENTS;
    must(message_pack(&stream.base, SIZE_MAX / 2, &packed, &err), &err);
    free(segments);
    before = anonymous_bytes();
    must(message_unpack_in(&arena, false, &exhibit__stream__descriptor, packed.data, packed.size_bytes, &message, &err),
         &err);
    must(message_copy(&arena, message, &copy, &err), &err);
    want_little_more(before);
    assert_int_equal(((const Exhibit__Stream *)copy)->n_segments, SEGMENTS);
    for (size_t i = 0; i < SEGMENTS; i++)
        assert_memory_equal(((const Exhibit__Stream *)copy)->segments[i]->sha256.data, digest.bytes, DIGEST_BYTES);
}

static void without_a_file_the_heap_has_to_do(void **state)
{
    (void)state;
    assert_int_equal(without_file("/tmp", RLIM_INFINITY), 0);
    assert_int_equal(without_file("/nonexistent", RLIM_INFINITY), 0); /* another folder is tried */
    assert_int_equal(without_file("/tmp", MIB), 1 << 8);
}

static void a_disk_that_is_nearly_full_is_left_to_others(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mount("none", test_folder, "tmpfs", 0, "size=60m"), 0);
    assert_int_equal(without_file(test_folder, RLIM_INFINITY), 1 << 8);
    assert_int_equal(umount(test_folder), 0);
}

static void digests_come_in_order_with_what_follows_them(void **state)
{
    enum { COUNT = 50000, RECORD = 40 };
    uint8_t *records = malloc((size_t)COUNT * RECORD);

    (void)state;
    assert_non_null(records);
    for (uint32_t i = 0; i < COUNT; i++) { /* each number four times, and a third of them begin alike */
        uint32_t number = i / 4;
        struct digest digest = digest_of(&number, sizeof number);

        if (number % 3 == 0)
            memset(digest.bytes, 0x5a, 3);
        memcpy(records + (size_t)i * RECORD, digest.bytes, DIGEST_BYTES);
        memcpy(records + (size_t)i * RECORD + DIGEST_BYTES, &number, sizeof number);
        memcpy(records + (size_t)i * RECORD + DIGEST_BYTES + 4, &number, sizeof number);
    }
    digest_sort(records, COUNT, RECORD);
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint8_t *record = records + (size_t)i * RECORD;
        struct digest digest;
        uint32_t number, again;

        memcpy(&number, record + DIGEST_BYTES, sizeof number);
        memcpy(&again, record + DIGEST_BYTES + 4, sizeof again);
        digest = digest_of(&number, sizeof number);
        if (number % 3 == 0)
            memset(digest.bytes, 0x5a, 3);
        assert_memory_equal(record, digest.bytes, DIGEST_BYTES);
        assert_int_equal(number, again);
        if (i > 0)
            assert_true(memcmp(record - RECORD, record, DIGEST_BYTES) <= 0);
    }
    digest_sort(records, 0, RECORD);
    free(records);
}

static void a_pack_of_many_objects_takes_little_memory(void **state)
{
    size_t before = anonymous_bytes();
    struct pack_writer *writer = NULL;
    struct pack *pack = NULL;
    struct digest receipt = {0}, digest;
    struct err err;
    int fd;

    (void)state;
    must(pack_writer_new(test_folder_fd, "p", &writer, &err), &err);
    must(pack_put(writer, PACK_OBSERVATION, "receipt", 7, &receipt, &err), &err);
    for (uint32_t i = 0; i < OBJECTS; i++)
        must(pack_put(writer, PACK_INPUT, &i, sizeof i, &digest, &err), &err);
    if (!EXHIBIT_SANITIZED) /* with the open blocks and what compresses them */
        assert_in_range(anonymous_bytes(), 0, before + 48 * MIB);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    before = anonymous_bytes();
    fd = openat(test_folder_fd, "p", O_RDONLY | O_CLOEXEC);
    must(pack_open(fd, &pack, &err), &err);
    want_little_more(before);
    for (uint32_t i = 0; i < OBJECTS; i += 997) {
        digest = digest_of(&i, sizeof i);
        assert_true(pack_find(pack, PACK_INPUT, &digest, NULL));
    }
    must(pack_check(pack, &err), &err);
    assert_int_equal(pack_object_count(pack, PACK_INPUT), OBJECTS);
    pack_close(pack);
    (void)close(fd);
}

/* ---- lists ---- */

static void entry_add(struct bytes *list, const char *path, size_t path_bytes, uint32_t mode)
{
    Exhibit__FreezeEntry entry = EXHIBIT__FREEZE_ENTRY__INIT, *entries[] = {&entry};
    Exhibit__FreezeList one = EXHIBIT__FREEZE_LIST__INIT;
    AUTO_BYTES struct bytes packed = {0};
    struct err err;

    entry.path = (ProtobufCBinaryData){path_bytes, (uint8_t *)path};
    entry.mode = mode;
    one.n_entries = 1;
    one.entries = entries;
    must(message_pack(&one.base, SIZE_MAX - 1, &packed, &err), &err);
    must(bytes_add(list, packed.data, packed.size_bytes, SIZE_MAX - 1, &err), &err);
}

/* What the entries of a list were. */
struct seen {
    uint32_t count;
    struct bytes packed; /* as a list again */
    uint32_t last;       /* the number after which it is enough; 0: none is */
    bool stumbles;       /* a fault of an entry is told elsewhere, and goes on */
};

static int seen_add(void *context, const Exhibit__FreezeEntry *entry, const struct cursor *packed, struct err *err)
{
    struct seen *seen = context;
    AUTO_BYTES struct bytes again = {0};

    must(message_pack(&entry->base, SIZE_MAX - 1, &again, err), err);
    assert_int_equal(again.size_bytes, packed->left_bytes);
    assert_memory_equal(again.data, packed->at, packed->left_bytes);
    entry_add(&seen->packed, (const char *)entry->path.data, entry->path.len, entry->mode);
    seen->count++;
    if (seen->stumbles)
        (void)err_set(err, ERR_MISMATCH, "told elsewhere");
    return seen->count == seen->last ? err_set(err, ERR_USAGE, "enough") : 0;
}

/* A pack whose receipt is the list. */
static struct pack *list_keep(const struct bytes *list, struct digest *out, int *out_fd)
{
    struct pack_writer *writer = NULL;
    struct pack *pack = NULL;
    struct err err;

    (void)unlinkat(test_folder_fd, "list", 0);
    must(pack_writer_new(test_folder_fd, "list", &writer, &err), &err);
    must(pack_put(writer, PACK_OBSERVATION, list->data, list->size_bytes, out, &err), &err);
    must(pack_writer_finish(writer, out, NULL, &err), &err);
    *out_fd = openat(test_folder_fd, "list", O_RDONLY | O_CLOEXEC);
    must(pack_open(*out_fd, &pack, &err), &err);
    return pack;
}

/* Reads the list of a pack and of memory; both say the same. */
static int list_read(const struct bytes *list, struct seen *seen, struct err *err)
{
    struct seen again = {.last = seen->last, .stumbles = seen->stumbles};
    struct digest digest = {0};
    struct err other = {0};
    int fd, code;
    struct pack *pack = list_keep(list, &digest, &fd);

    code = freeze_read(pack, &digest, false, seen_add, seen, err);
    assert_int_equal(freeze_walk(list->data, list->size_bytes, seen_add, &again, &other), code);
    assert_int_equal(again.count, seen->count);
    if (code < 0)
        assert_string_equal(other.text, err->text);
    bytes_done(&again.packed);
    pack_close(pack);
    (void)close(fd);
    return code;
}

static void a_list_over_many_blocks_comes_entry_by_entry(void **state)
{
    enum { ENTRIES = 90000, LONG = 9 * MIB };
    AUTO_BYTES struct bytes list = {0};
    struct seen seen = {0};
    size_t before;
    char *path = malloc(LONG);
    struct err err;

    (void)state;
    assert_non_null(path);
    memset(path, 'x', LONG);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        char name[64];

        entry_add(&list, name, (size_t)snprintf(name, sizeof name, "some/folder/and/a/file/called-%08" PRIu32, i),
                  S_IFREG | 0644);
        if (i == 50000) /* longer than a block */
            entry_add(&list, path, LONG, S_IFREG | 0600);
    }
    free(path);
    before = anonymous_bytes();
    must(list_read(&list, &seen, &err), &err);
    want_little_more(before + 16 * MIB); /* a block as it is compressed, as it is decoded, and its decoder */
    assert_int_equal(seen.count, ENTRIES + 1);
    assert_int_equal(seen.packed.size_bytes, list.size_bytes);
    assert_memory_equal(seen.packed.data, list.data, list.size_bytes);
    bytes_done(&seen.packed);
    seen = (struct seen){.stumbles = true};
    assert_int_equal(list_read(&list, &seen, &err), 0);
    assert_int_equal(seen.count, ENTRIES + 1);
    bytes_done(&seen.packed);
    seen = (struct seen){.last = 7};
    assert_int_equal(list_read(&list, &seen, &err), ERR_USAGE);
    assert_string_equal(err.text, "enough");
    bytes_done(&seen.packed);
}

static void what_is_no_list_is_refused_where_it_is_none(void **state)
{
    static const struct {
        const char *bytes;
        size_t size_bytes;
        int code;
        uint32_t count; /* of entries before it */
        const char *why;
    } cases[] = {
        {"\x0a\x05\x10\xa4\x83\x02", 6, ERR_FORMAT, 1, "FORMAT 7.5: not a FreezeList"}, /* cut */
        {"\x0a", 1, ERR_FORMAT, 1, "FORMAT 7.5: not a FreezeList"},
        {"\x12\x04\x10\xa4\x83\x02", 6, ERR_FORMAT, 1, "FORMAT 7.5: not a FreezeList"},     /* another field */
        {"\x0a\x84\x00\x10\xa4\x83\x02", 7, ERR_FORMAT, 1, "FORMAT 7.5: not a FreezeList"}, /* a length spelled long */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, ERR_FORMAT, 1, "FORMAT 7.5: not a FreezeList"},
        {"\x0a\x81\x80\x80\x80\x01", 6, ERR_FORMAT, 1, "FORMAT 7.5: not a FreezeList"},
        {"\x0a\x06\x10\xa4\x83\x02\x18\x00", 8, ERR_FORMAT, 1, "is not in its shortest form"},
        {"\x0a\x02\x30\x01", 4, ERR_FORMAT, 1, "which this version does not know"},
        {"\x0a\x04\x10\xa4\x83\x02", 6, 0, 2, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_BYTES struct bytes list = {0};
        struct seen seen = {0};
        struct err err = {0};

        entry_add(&list, "", 0, S_IFDIR | 0755);
        must(bytes_add(&list, cases[i].bytes, cases[i].size_bytes, 1000, &err), &err);
        if (list_read(&list, &seen, &err) != cases[i].code || seen.count != cases[i].count ||
            (cases[i].code < 0 && strstr(err.text, cases[i].why) == NULL))
            fail_msg("case %zu: %d, %" PRIu32 " entries: %s", i, err.code, seen.count, err.text);
        bytes_done(&seen.packed);
    }
}

int main(int argc, char **argv)
{
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_beyond_a_little_of_the_heap_are_kept_in_a_file),
        cmocka_unit_test(what_is_never_to_be_spilled_is_not),
        cmocka_unit_test(a_child_does_not_empty_what_its_parent_has_in_the_file),
        cmocka_unit_test(a_text_is_the_callers_wherever_its_bytes_were),
        cmocka_unit_test(what_an_arena_gives_is_kept_apart_and_takes_little_of_the_heap),
        cmocka_unit_test(an_arena_that_was_emptied_gives_zeros_again_and_the_same_memory),
        cmocka_unit_test(a_table_grows_where_it_is_or_moves_and_takes_little_of_the_heap),
        cmocka_unit_test(rows_are_sorted_in_little_of_the_heap),
        cmocka_unit_test(a_message_of_any_size_is_unpacked_in_little_of_the_heap),
        cmocka_unit_test(without_a_file_the_heap_has_to_do),
        IN_FOLDER(a_disk_that_is_nearly_full_is_left_to_others),
        cmocka_unit_test(digests_come_in_order_with_what_follows_them),
        IN_FOLDER(a_pack_of_many_objects_takes_little_memory),
        IN_FOLDER(a_list_over_many_blocks_comes_entry_by_entry),
        IN_FOLDER(what_is_no_list_is_refused_where_it_is_none),
    };
#undef IN_FOLDER

    if (argc == 2 && strcmp(argv[1], "grow") == 0)
        return grow();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
