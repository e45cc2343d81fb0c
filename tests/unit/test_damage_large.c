/*
 * A pack of many blocks, damaged 10,000 times at random (the same each time): refused with a range no longer than one
 * of its elements, that holds damage; of a single byte, within its element. EXHIBIT_DAMAGE_MIB makes the pack larger
 * than a test has time for; with EXHIBIT_DAMAGE_BUNDLE it is that file, a recorded bundle, and the verifier's verdict.
 */
#include "base/cleanup.h"
#include "test_pack_fixture.h"
#include "verify/verdict.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    TIMES = EXHIBIT_SANITIZED ? 500 : 10000,
    PIECE_BYTES = 25000,
    PIECES = 10, /* each a block of its own, with small objects around it */
    SMALL_OBJECTS = 40,
    LONG_BYTES = 9 << 20, /* runs over three blocks; compresses to little, and stands last */
    RUN_BYTES = 5000,     /* at most, of what is overwritten, taken out, put in or exchanged */
};

static struct bytes whole;
static struct elements elements; /* its */
static uint64_t random_state = 1;

static size_t random_below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state >> 11) % limit;
}

static const char *bundle_given(void)
{
    return getenv("EXHIBIT_DAMAGE_BUNDLE");
}

/* As judge, of a bundle by the verdict that the verifier reaches. */
static int judge_this(const struct bytes *file, struct err *err)
{
    struct verdict_request request = {.source_fd = -1};
    struct verdict verdict;
    AUTO_FD int fd = -1;
    int code = 0;

    if (bundle_given() == NULL)
        return judge(file->data, file->size_bytes, err);
    fd = memory_file(file->data, file->size_bytes);
    request.bundle_fd = fd;
    must(verdict_reach(&request, &verdict, err), err);
    if (verdict.findings.count > 0)
        code = err_set(err, ERR_FORMAT, "%s", verdict.findings.texts[0]);
    verdict_done(&verdict);
    return code;
}

/* Puts a piece of noise and some small objects, as blocks of their own. */
static void put_pieces(struct pack_writer *writer, size_t count, struct digest *out)
{
    static uint8_t piece[PIECE_BYTES];
    struct err err = {0};

    for (size_t i = 0; i < count; i++) {
        enum pack_part part = i % 3 == 1 ? PACK_INPUT : PACK_OBSERVATION;

        noise(piece, sizeof piece, (uint32_t)i);
        must(pack_put(writer, part, piece, sizeof piece, out, &err), &err);
        for (size_t j = 0; j < SMALL_OBJECTS; j++) {
            noise(piece, sizeof piece, (uint32_t)(1000 * i + j + 7));
            must(pack_put(writer, PACK_OBSERVATION, piece, 1 + j * 3, out, &err), &err);
        }
        must(pack_writer_flush(writer, &err), &err);
    }
}

static int set_up(void **state)
{
    const char *mib = getenv("EXHIBIT_DAMAGE_MIB");
    size_t count = mib == NULL ? PIECES : strtoul(mib, NULL, 10) * ((1u << 20) / PIECE_BYTES);
    char path[64];
    int dir_fd = folder_make(path);
    struct pack_writer *writer = NULL;
    uint8_t *lengthy = calloc(1, LONG_BYTES);
    struct digest receipt, digest;
    struct err err = {0};

    (void)state;
    assert_non_null(lengthy);
    if (bundle_given() != NULL) {
        load(AT_FDCWD, bundle_given(), &whole);
        elements = elements_of(&whole);
        folder_remove(dir_fd, path);
        free(lengthy);
        return 0;
    }
    must(pack_writer_new(dir_fd, "p", &writer, &err), &err);
    put_pieces(writer, count, &receipt);
    must(pack_put(writer, PACK_INPUT, lengthy, LONG_BYTES, &digest, &err), &err);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    load(dir_fd, "p", &whole);
    elements = elements_of(&whole);
    folder_remove(dir_fd, path);
    free(lengthy);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    bytes_done(&whole);
    elements_done(&elements);
    return 0;
}

static void add(struct bytes *to, const void *from, size_t size_bytes)
{
    struct err err = {0};

    must(bytes_add(to, from, size_bytes, SIZE_MAX / 2, &err), &err);
}

/* Changes bytes in their places: a bit, a run of noise, or two runs in each other's place. */
static void change(struct bytes *file, size_t how)
{
    uint8_t held[RUN_BYTES];
    size_t run = 1 + random_below(RUN_BYTES), at = random_below(file->size_bytes - 2 * run);
    size_t other = at + run + random_below(file->size_bytes - at - 2 * run);

    if (how < 60) {
        at = random_below(file->size_bytes);
        file->data[at] ^= (uint8_t)(1u << random_below(8));
    } else if (how < 80) {
        noise(file->data + at, run, (uint32_t)random_below(1u << 30));
    } else {
        memcpy(held, file->data + at, run);
        memcpy(file->data + at, file->data + other, run);
        memcpy(file->data + other, held, run);
    }
}

/* A byte within one of the pieces of noise, which stands in its block as it is. */
static size_t middle_of(size_t piece)
{
    enum { LOOKED_FOR_BYTES = 64 };
    static uint8_t noise_of_piece[PIECE_BYTES];
    const uint8_t *found;

    noise(noise_of_piece, sizeof noise_of_piece, (uint32_t)piece);
    found = memmem(whole.data, whole.size_bytes, noise_of_piece + PIECE_BYTES / 2, LOOKED_FOR_BYTES);
    assert_non_null(found);
    return (size_t)(found - whole.data);
}

/* Makes a file that is damaged in one way. */
static void damage(struct bytes *out)
{
    uint8_t run[RUN_BYTES];
    size_t how = random_below(100), at = random_below(whole.size_bytes), more = 1 + random_below(RUN_BYTES);

    out->size_bytes = 0;
    if (how < 85) {
        add(out, whole.data, whole.size_bytes);
        change(out, how);
        return;
    }
    add(out, whole.data, at);
    if (how < 90) /* taken out */
        at = more < whole.size_bytes - at ? at + more : whole.size_bytes;
    else if (how < 95) /* put in */
        noise(run, more, (uint32_t)at);
    else /* cut off */
        at = whole.size_bytes;
    if (how >= 90 && how < 95)
        add(out, run, more);
    add(out, whole.data + at, whole.size_bytes - at);
}

/* The first byte that is another, or the last one that is left. */
static size_t first_difference(const struct bytes *file)
{
    size_t at = 0, step = 4096;

    while (at + step < file->size_bytes && at + step < whole.size_bytes &&
           memcmp(file->data + at, whole.data + at, step) == 0)
        at += step;
    while (at < file->size_bytes - 1 && at < whole.size_bytes && file->data[at] == whole.data[at])
        at++;
    return at;
}

/* Whether a range holds damage: bytes that are others in their place, or what was taken out or put in. */
static bool holds_damage(const struct bytes *file, uint64_t first, uint64_t last)
{
    size_t from = first_difference(file);

    if (file->size_bytes != whole.size_bytes)
        return first <= from + RUN_BYTES && last >= from;
    for (size_t at = (size_t)first; at <= last && at < file->size_bytes; at++)
        if (file->data[at] != whole.data[at])
            return true;
    return false;
}

/* Whether nothing was changed, or so little was left that there is no place to tell. */
static bool is_no_damage(const struct bytes *file)
{
    return file->size_bytes < 24 ||
           (file->size_bytes == whole.size_bytes && memcmp(file->data, whole.data, file->size_bytes) == 0);
}

/* Wants a damaged file refused with the right range; gives whether it is a journal or a block that is told. */
static bool want_refused(const struct bytes *file, size_t number)
{
    struct err err = {0};
    uint64_t first, last;
    bool cut;

    if (judge_this(file, &err) == 0)
        fail_msg("%zu: damage at byte %zu is not noticed", number, first_difference(file));
    range_of(&err, &first, &last);
    cut = strstr(err.text, "no footer at its end") != NULL; /* it is the end that is told then */
    if (first > last || !(cut ? last == file->size_bytes - 1 : holds_damage(file, first, last)))
        fail_msg("%zu: damage from byte %zu on is not in the range: %s", number, first_difference(file), err.text);
    if (!element_is_named(&elements, &err, first, last))
        fail_msg("%zu: damage from byte %zu on, and the range is not of one element: %s", number,
                 first_difference(file), err.text);
    return strstr(err.text, "FORMAT 3") != NULL;
}

static void damage_at_random_is_refused_in_its_range(void **state)
{
    AUTO_BYTES struct bytes file = {0};
    size_t in_content = 0;

    (void)state;
    for (size_t judged = 0; judged < TIMES;) {
        damage(&file);
        if (!is_no_damage(&file))
            in_content += want_refused(&file, judged++);
    }
    assert_true(in_content > TIMES / 2); /* most of it fell into blocks and journals */
}

/* Blocks are looked at side by side, and not at all behind one that has a fault. */
static void of_two_faults_the_first_is_told(void **state)
{
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    if (bundle_given() != NULL)
        skip(); /* it has no such pieces */
    for (size_t i = 0; i < TIMES / 50; i++) {
        size_t one = random_below(PIECES - 1), other = one + 1 + random_below(PIECES - 1 - one);
        size_t at = middle_of(one);
        struct err err = {0};
        uint64_t first, last;

        file.size_bytes = 0;
        add(&file, whole.data, whole.size_bytes);
        file.data[at] ^= 1;
        file.data[middle_of(other)] ^= 1;
        assert_int_equal(judge(file.data, file.size_bytes, &err), ERR_FORMAT);
        range_of(&err, &first, &last);
        if (at < first || at > last)
            fail_msg("of the pieces %zu and %zu it is not the first that is told: %s", one, other, err.text);
    }
}

static void the_pack_itself_is_right(void **state)
{
    struct err err = {0};

    (void)state;
    must(judge_this(&whole, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pack_itself_is_right),
        cmocka_unit_test(of_two_faults_the_first_is_told),
        cmocka_unit_test(damage_at_random_is_refused_in_its_range),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
