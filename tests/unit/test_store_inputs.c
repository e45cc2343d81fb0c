#include "stores.h"

/* A store that is open, with its table. */
struct look {
    struct store *store;
    struct store_inputs *inputs;
};

static struct look look_at(struct scene *scene, uint32_t object_max, bool search_rest)
{
    struct look look = {.store = scene_open(scene)};
    struct err err;

    must(store_inputs_new(look.store, object_max, search_rest, &look.inputs, &err), &err);
    return look;
}

static void look_end(struct look *look)
{
    store_inputs_free(look->inputs);
    store_close(look->store);
}

static bool holds(const struct look *look, uint32_t seed, size_t size_bytes)
{
    const struct digest digest = input_digest(seed, size_bytes);

    return store_inputs_holds(look->inputs, &digest, size_bytes);
}

static void what_a_pack_holds_is_found_and_nothing_else(void **state)
{
    struct scene *scene = *state;
    struct digest digest = input_digest(3, 1000), nothing = digest_of("", 0);
    uint32_t packs[4];
    struct look look;

    (void)pack_add(scene, (struct inputs){1, 20, 1000});
    (void)pack_add(scene, (struct inputs){20, 30, 1000});
    look = look_at(scene, 1000, false);
    for (uint32_t seed = 1; seed <= 30; seed++)
        assert_true(holds(&look, seed, 1000));
    assert_false(holds(&look, 31, 1000));
    assert_false(holds(&look, 3, 999));
    assert_false(store_inputs_holds(look.inputs, &digest, 999));
    assert_true(store_inputs_holds(look.inputs, &digest, STORE_ANY_SIZE));
    assert_false(store_inputs_holds(look.inputs, &nothing, 0));
    assert_int_equal(store_inputs_find(look.inputs, &digest, packs, 4), 1);
    digest = input_digest(20, 1000);
    assert_int_equal(store_inputs_find(look.inputs, &digest, packs, 4), 2);
    assert_int_equal(scene->note_count, 0);
    look_end(&look);
}

static void an_empty_store_holds_nothing(void **state)
{
    struct look look = look_at(*state, 1000, true);

    assert_false(holds(&look, 1, 1000));
    look_end(&look);
}

/* About 20 MB in two packs, so that there are several blocks, and objects that run over their borders. */
static void objects_are_found_in_any_order(void **state)
{
    enum { COUNT = 100, SIZE = 100000 };
    struct scene *scene = *state;
    uint32_t order = 1;

    (void)pack_add(scene, (struct inputs){1, COUNT, SIZE});
    (void)pack_add(scene, (struct inputs){COUNT + 1, 2 * COUNT, SIZE});
    for (int way = 0; way < 3; way++) {
        struct look look = look_at(scene, 1000, false);

        for (uint32_t i = 0; i < 2 * COUNT; i++) {
            uint32_t seed = way == 0 ? i + 1 : way == 1 ? 2 * COUNT - i : order % (2 * COUNT) + 1;

            order = order * 1103515245u + 12345u;
            if (!holds(&look, seed, SIZE))
                fail_msg("way %d: object %u is not found: %s", way, seed, scene->notes);
        }
        look_end(&look);
    }
    assert_int_equal(scene->note_count, 0);
}

static void a_damaged_object_is_found_and_noted_once(void **state)
{
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 9, 1000000});
    struct look look;

    /* The first block holds the first four objects and the beginning of the fifth. */
    pack_flip(scene, &receipt, 2000000, 1);
    look = look_at(scene, 1000, false);
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t seed = 1; seed <= 5; seed++)
            assert_false(holds(&look, seed, 1000000));
        for (uint32_t seed = 6; seed <= 9; seed++)
            assert_true(holds(&look, seed, 1000000));
    }
    assert_int_equal(scene->note_count, 1);
    assert_non_null(strstr(scene->notes, "FORMAT 3.6: the block has not the digest"));
    assert_non_null(strstr(scene->notes, "kept anew"));
    look_end(&look);
}

static void what_is_damaged_in_one_pack_is_taken_from_another(void **state)
{
    struct scene *scene = *state;
    struct digest first = pack_add(scene, (struct inputs){1, 5, 100000});
    struct look look;

    (void)pack_add(scene, (struct inputs){1, 5, 100000});
    pack_flip(scene, &first, 300000, 1);
    look = look_at(scene, 1000, false);
    for (uint32_t seed = 1; seed <= 5; seed++)
        assert_true(holds(&look, seed, 100000));
    look_end(&look);
}

static void a_pack_that_lists_what_it_has_not_is_not_believed_any_more(void **state)
{
    struct scene *scene = *state;
    struct store *store = scene_open(scene);
    struct pack_writer *writer = pack_begin(store, NULL);
    struct digest promised = input_digest(7, 500);
    uint8_t *other = bytes_of(8, 500);
    struct look look;
    struct err err;

    inputs_put(writer, (struct inputs){1, 3, 500});
    must(pack_put_digested(writer, PACK_INPUT, other, 500, &promised, &err), &err);
    (void)pack_end(scene, writer);
    store_close(store);
    look = look_at(scene, 1000, false);
    assert_true(holds(&look, 1, 500));
    assert_false(holds(&look, 7, 500));
    assert_non_null(strstr(scene->notes, "FORMAT 4.8: an object has other content"));
    assert_true(holds(&look, 1, 500)); /* it was read */
    assert_false(holds(&look, 2, 500));
    look_end(&look);
    free(other);
}

static void a_full_table_leaves_packs_out_and_the_rest_can_be_searched(void **state)
{
    struct scene *scene = *state;
    unsigned found = 0;
    struct look look;

    (void)pack_add(scene, (struct inputs){1, 20, 100});
    (void)pack_add(scene, (struct inputs){21, 40, 100});
    look = look_at(scene, 30, false);
    for (uint32_t seed = 1; seed <= 40; seed++)
        found += holds(&look, seed, 100);
    assert_int_equal(found, 20);
    look_end(&look);
    for (uint32_t room = 0; room <= 40; room += 20) {
        look = look_at(scene, room, true);
        for (uint32_t seed = 1; seed <= 40; seed++)
            assert_true(holds(&look, seed, 100));
        assert_false(holds(&look, 41, 100));
        look_end(&look);
    }
    assert_int_equal(scene->note_count, 0);
}

static void packs_that_cannot_be_read_are_passed_over(void **state)
{
    struct scene *scene = *state;
    char path[256], name[STORE_NAME_BYTES];
    struct digest cut = pack_add(scene, (struct inputs){1, 3, 5000});
    struct digest index = pack_add(scene, (struct inputs){4, 6, 5000});
    struct digest named = pack_add(scene, (struct inputs){7, 9, 5000}), other = digest_of("other", 5);
    struct digest link = digest_of("link", 4), fifo = digest_of("fifo", 4), folder = digest_of("folder", 6);
    struct stat stat_of;
    char to[256];
    struct look look;

    (void)pack_add(scene, (struct inputs){10, 12, 5000});
    pack_path(scene, &cut, path);
    assert_int_equal(truncate(path, 4000), 0);
    pack_path(scene, &index, path);
    assert_int_equal(stat(path, &stat_of), 0);
    pack_flip(scene, &index, stat_of.st_size - 208 - 48, 1); /* the last block's record */
    pack_path(scene, &named, path);
    pack_path(scene, &other, to);
    assert_int_equal(rename(path, to), 0);
    pack_path(scene, &link, path);
    assert_int_equal(symlink(to, path), 0);
    pack_path(scene, &fifo, path);
    assert_int_equal(mkfifo(path, 0600), 0);
    pack_path(scene, &folder, path);
    assert_int_equal(mkdir(path, 0700), 0);
    look = look_at(scene, 1000, true);
    for (uint32_t seed = 1; seed <= 9; seed++)
        assert_false(holds(&look, seed, 5000));
    for (uint32_t seed = 10; seed <= 12; seed++)
        assert_true(holds(&look, seed, 5000));
    assert_int_equal(scene->note_count, 6);
    store_pack_name(&other, name);
    assert_non_null(strstr(scene->notes, name));
    assert_non_null(strstr(scene->notes, "FORMAT 11.3: the pack of another receipt"));
    assert_non_null(strstr(scene->notes, "FORMAT 5.1: the index has not the digest"));
    assert_non_null(strstr(scene->notes, "partial or cut short"));
    assert_non_null(strstr(scene->notes, "not a regular file"));
    look_end(&look);
}

/* A second pack, with all that the first has and one more; gives how many inputs it holds. */
static uint32_t second_pack(struct scene *scene, struct inputs what, bool large)
{
    struct look look = look_at(scene, 1000, false);
    struct pack_writer *writer = pack_begin(look.store, look.inputs);
    struct store_pack pack = {.fd = -1};
    char digits[2 * DIGEST_BYTES + 1], path[96];
    struct digest receipt, digest;
    uint64_t size_bytes;
    uint32_t count, number;
    struct err err;

    if (!large)
        inputs_put(writer, what);
    for (uint32_t seed = what.first; large && seed <= what.last; seed++) {
        uint8_t *all = bytes_of(seed, what.size_bytes);
        int fd;

        (void)snprintf(path, sizeof path, "%s/large", scene->folder);
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, all, what.size_bytes), what.size_bytes);
        must(pack_put_fd(writer, PACK_INPUT, fd, &digest, &size_bytes, &err), &err);
        (void)close(fd);
        free(all);
    }
    receipt = pack_end(scene, writer);
    look_end(&look);
    look.store = scene_open(scene);
    hex_encode(receipt.bytes, DIGEST_BYTES, digits);
    must(store_find(look.store, digits, &number, &err), &err);
    must(store_pack_open(look.store, number, true, &pack, &err), &err);
    must(pack_check(pack.pack, &err), &err);
    count = pack_object_count(pack.pack, PACK_INPUT);
    store_pack_close(&pack);
    store_close(look.store);
    return count;
}

static void a_second_pack_holds_only_what_is_new(void **state)
{
    struct scene *scene = *state;

    (void)pack_add(scene, (struct inputs){1, 30, 2000});
    assert_int_equal(second_pack(scene, (struct inputs){1, 30, 2000}, false), 0);
    assert_int_equal(second_pack(scene, (struct inputs){1, 31, 2000}, false), 1);
    assert_int_equal(second_pack(scene, (struct inputs){1, 31, 2000}, false), 0);
    assert_int_equal(scene->note_count, 0);
}

static void a_large_file_is_stored_once(void **state)
{
    enum { SIZE = 9000000 };
    struct scene *scene = *state;

    assert_int_equal(second_pack(scene, (struct inputs){1, 1, SIZE}, true), 1);
    assert_int_equal(second_pack(scene, (struct inputs){1, 1, SIZE}, true), 0);
    assert_int_equal(second_pack(scene, (struct inputs){1, 2, SIZE}, true), 1);
    assert_int_equal(second_pack(scene, (struct inputs){2, 3, SIZE + 1}, true), 2);
}

static void damaged_content_is_stored_anew(void **state)
{
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 9, 1000000});

    pack_flip(scene, &receipt, 2000000, 1);
    assert_int_equal(second_pack(scene, (struct inputs){1, 9, 1000000}, false), 5);
    assert_int_equal(scene->note_count, 1);
    assert_int_equal(second_pack(scene, (struct inputs){1, 9, 1000000}, false), 0);
}

static void a_large_damaged_file_is_stored_anew(void **state)
{
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 2, 9000000});

    pack_flip(scene, &receipt, 6000000, 1);
    assert_int_equal(second_pack(scene, (struct inputs){1, 2, 9000000}, true), 1);
    assert_int_equal(second_pack(scene, (struct inputs){1, 2, 9000000}, true), 0);
}

static void a_checked_pack_is_believed(void **state)
{
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 3, 1000});
    struct look look;

    pack_flip(scene, &receipt, 500, 1);
    look = look_at(scene, 1000, false);
    store_inputs_trust(look.inputs, 0);
    assert_true(holds(&look, 1, 1000));
    look_end(&look);
}

/* A pack that is gone, or is another file, while its table is in memory. */
static void a_pack_that_changes_meanwhile_is_no_trap(void **state)
{
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 5, 100000});
    struct look look = look_at(scene, 1000, false);
    char path[256];

    pack_path(scene, &receipt, path);
    assert_true(holds(&look, 1, 100000));
    assert_int_equal(truncate(path, 50000), 0); /* the index is gone, too */
    assert_false(holds(&look, 1, 100000));
    assert_false(holds(&look, 5, 100000));
    assert_int_equal(unlink(path), 0);
    assert_false(holds(&look, 4, 100000));
    look_end(&look);
}

/* A pack in memory, to be forged. */
struct forged {
    uint8_t bytes[16384];
    size_t size_bytes;
};

static uint64_t number_at(const uint8_t *from)
{
    uint64_t number;

    memcpy(&number, from, sizeof number);
    return number;
}

/* Makes the digests right again that stand in the footer, and writes the file. */
static void forged_write(const struct scene *scene, const struct digest *receipt, struct forged *forged)
{
    uint8_t *footer = forged->bytes + forged->size_bytes - 208;
    uint64_t at = number_at(footer + 56), size_bytes = number_at(footer + 64);
    struct digest digest;
    char path[256];
    int fd;

    digest = digest_of(forged->bytes + at, size_bytes);
    memcpy(footer + 72, digest.bytes, DIGEST_BYTES);
    digest = digest_of(footer, 168);
    memcpy(footer + 168, digest.bytes, DIGEST_BYTES);
    pack_path(scene, receipt, path);
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, forged->bytes, forged->size_bytes), forged->size_bytes);
    (void)close(fd);
}

/* Every number of the inputs' index is another one, with digests that fit: nothing is believed that is not there. */
static void an_index_that_lies_leads_nobody_astray(void **state)
{
    static const uint64_t numbers[] = {0, 1, 5, 1000, 4194304, 4194305, 0x7fffffff, 0xffffffff, 1ull << 40, UINT64_MAX};
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 3, 500}), absent = input_digest(9, 500);
    struct forged right = {.size_bytes = 0}, forged;
    unsigned count = 0;
    uint64_t at;
    char path[256];
    int fd;

    pack_path(scene, &receipt, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    right.size_bytes = (size_t)read(fd, right.bytes, sizeof right.bytes);
    (void)close(fd);
    assert_true(right.size_bytes > 2000 && right.size_bytes < sizeof right.bytes);
    at = number_at(right.bytes + right.size_bytes - 208 + 56);
    for (uint64_t offset = 8; offset < 24 + 4 * 48; offset += 4)
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            struct look look;

            forged = right;
            memcpy(forged.bytes + at + offset, &numbers[i], numbers[i] > UINT32_MAX ? 8 : 4);
            forged_write(scene, &receipt, &forged);
            scene->notes[0] = 0;
            look = look_at(scene, 1000, i % 2 == 0);
            for (uint32_t seed = 1; seed <= 3; seed++)
                count += holds(&look, seed, 500);
            assert_false(store_inputs_holds(look.inputs, &absent, STORE_ANY_SIZE));
            look_end(&look);
        }
    assert_true(count > 0 && count < 51 * 10 * 3);
    forged = right;
    memcpy(forged.bytes + at + 24, absent.bytes, DIGEST_BYTES); /* it lists what it has not */
    forged_write(scene, &receipt, &forged);
    for (int turn = 0; turn < 2; turn++) {
        struct look look = look_at(scene, 1000, turn == 1);

        assert_false(store_inputs_holds(look.inputs, &absent, 500));
        look_end(&look);
    }
}

/* Each byte of a pack is another one, once: what is found is right, and the note says which pack it is. */
static void no_byte_that_is_flipped_leads_astray(void **state)
{
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 2, 200});
    char path[256], name[STORE_NAME_BYTES];
    struct stat stat_of;

    pack_path(scene, &receipt, path);
    store_pack_name(&receipt, name);
    assert_int_equal(stat(path, &stat_of), 0);
    for (off_t at = 0; at < stat_of.st_size; at++) {
        struct look look;

        scene->notes[0] = 0;
        pack_flip(scene, &receipt, at, 1);
        look = look_at(scene, 1000, false);
        if (!holds(&look, 1, 200) || !holds(&look, 2, 200))
            assert_non_null(strstr(scene->notes, name));
        assert_false(holds(&look, 3, 200));
        look_end(&look);
        pack_flip(scene, &receipt, at, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCENE(what_a_pack_holds_is_found_and_nothing_else),
        WITH_SCENE(an_empty_store_holds_nothing),
        WITH_SCENE(objects_are_found_in_any_order),
        WITH_SCENE(a_damaged_object_is_found_and_noted_once),
        WITH_SCENE(what_is_damaged_in_one_pack_is_taken_from_another),
        WITH_SCENE(a_pack_that_lists_what_it_has_not_is_not_believed_any_more),
        WITH_SCENE(a_full_table_leaves_packs_out_and_the_rest_can_be_searched),
        WITH_SCENE(packs_that_cannot_be_read_are_passed_over),
        WITH_SCENE(a_second_pack_holds_only_what_is_new),
        WITH_SCENE(a_large_file_is_stored_once),
        WITH_SCENE(damaged_content_is_stored_anew),
        WITH_SCENE(a_large_damaged_file_is_stored_anew),
        WITH_SCENE(a_checked_pack_is_believed),
        WITH_SCENE(a_pack_that_changes_meanwhile_is_no_trap),
        WITH_SCENE(an_index_that_lies_leads_nobody_astray),
        WITH_SCENE(no_byte_that_is_flipped_leads_astray),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
