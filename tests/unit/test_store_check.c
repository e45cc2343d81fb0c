/* Many packs at once: more than one core works, and what is told is the same, and in the same order, as by one. */
#include "base/cleanup.h"
#include "meeting.h"
#include "record/store_check.h"
#include "stores.h"

#define PACKS 60u

/* The linker puts this before the real one. */
ssize_t __real_pread64(int fd, void *to, size_t size_bytes, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t size_bytes, off_t offset);

ssize_t __wrap_pread64(int fd, void *to, size_t size_bytes, off_t offset)
{
    meet();
    return __real_pread64(fd, to, size_bytes, offset);
}

/* Small packs, and `large_count` large ones somewhere among them. Gives the receipts. */
static void packs_make(struct scene *scene, unsigned large_count, struct digest out[])
{
    for (uint32_t i = 0; i < PACKS + large_count; i++)
        out[i] = pack_add(scene, (struct inputs){3 * i, 3 * i + 2, i < PACKS ? 1000 : 700000});
}

struct told {
    char *text;
    size_t size_bytes;
    struct store_check_report report;
};

static struct told check_told(struct scene *scene, void (*progress)(void *context, const char *text))
{
    struct store *store = scene_open(scene);
    struct told told = {0};
    FILE *out = open_memstream(&told.text, &told.size_bytes);
    struct err err;

    assert_non_null(out);
    store_quiet(store);
    must(store_check(store, progress, out, &told.report, &err), &err);
    (void)fclose(out);
    store_close(store);
    return told;
}

static unsigned met_count; /* of the two ways through the packs: in how many of them two workers met */

/* It begins a way, or goes on with it. */
static void progressed(void *context, const char *text)
{
    (void)context;
    if (strstr(text, " 1 of ") == NULL)
        return;
    met_count += meeting_end();
    meeting_begin();
}

static void more_than_one_core_looks_at_small_packs_and_at_what_receipts_need(void **state)
{
    struct digest receipts[PACKS];

    packs_make(*state, 0, receipts);
    for (cores = 1; cores <= 4; cores *= 2) {
        struct told told;

        met_count = 0;
        meeting.met = false;
        told = check_told(*state, progressed);
        met_count += meeting_end();
        assert_int_equal(met_count, cores > 1 ? 2 : 0);
        assert_int_equal(told.report.pack_count, PACKS);
        assert_int_equal(told.report.damaged_count, 0);
        free(told.text);
    }
}

static void what_is_told_of_damage_is_the_same_with_one_core_and_with_many(void **state)
{
    enum { LARGE = 3 };
    struct digest receipts[PACKS + LARGE];
    struct told one;
    char path[256];

    packs_make(*state, LARGE, receipts);
    for (unsigned i = 0; i < PACKS + LARGE; i += 7)
        pack_flip(*state, &receipts[i], 1000 + (off_t)i, 1);
    pack_flip(*state, &receipts[PACKS + 1], 1000000, 1);
    pack_path(*state, &receipts[5], path);
    assert_int_equal(truncate(path, 500), 0);
    cores = 1;
    one = check_told(*state, NULL);
    assert_int_equal(one.report.damaged_count, (PACKS + LARGE) / 7 + 2);
    assert_int_equal(one.report.concerned_count, PACKS + LARGE); /* none has a receipt that can be read */
    for (cores = 2; cores <= 8; cores *= 2) {
        struct told many = check_told(*state, NULL);

        assert_string_equal(many.text, one.text);
        assert_memory_equal(&many.report, &one.report, sizeof one.report);
        free(many.text);
    }
    free(one.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCENE(more_than_one_core_looks_at_small_packs_and_at_what_receipts_need),
        WITH_SCENE(what_is_told_of_damage_is_the_same_with_one_core_and_with_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
