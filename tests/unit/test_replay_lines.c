/*
 * Which bytes are a line of the probe, and which are not (DECISION 2).
 */
#include "replay/parse.h"
#include "replay_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NONCE "0123456789abcdef0123456789abcdef"
#define PROOF "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct run test_run(void)
{
    struct run run = {.listed = {false, true, false, false},
                      .rounds = {0, 12, 0, 0},
                      .effects = {EFFECT_TCP, EFFECT_READ},
                      .effect_count = 2};

    (void)snprintf(run.nonces[1], sizeof run.nonces[1], "%s", NONCE);
    (void)snprintf(run.nonces[2], sizeof run.nonces[2], "%s", NONCE);
    return run;
}

static bool parses(const char *text, struct line *out)
{
    struct run run = test_run();

    return line_read(&run, (struct text){text, strlen(text)}, out);
}

static void a_row_tells_each_planned_effect(void **state)
{
    struct line line;

    (void)state;
    assert_true(parses("EXHIBIT1 row " NONCE " parent 12 tcp=errno:4095 read=ok:" PROOF, &line));
    assert_int_equal(line.kind, LINE_ROW);
    assert_int_equal(line.role, 1);
    assert_int_equal(line.round, 12);
    assert_int_equal(line.told[EFFECT_TCP].kind, TOLD_ERRNO);
    assert_int_equal(line.told[EFFECT_TCP].number, 4095);
    assert_int_equal(line.told[EFFECT_READ].kind, TOLD_OK);
    assert_int_equal(line.proofs[EFFECT_READ][1], 0x11);
    assert_true(parses("EXHIBIT1 row " NONCE " parent 1 tcp=ok read=signal:64", &line));
    assert_true(parses("EXHIBIT1 row " NONCE " parent 1 tcp=timeout read=errno:1", &line));
    assert_true(parses("EXHIBIT1 try " NONCE " parent 3 read", &line));
    assert_int_equal(line.kind, LINE_TRY);
    assert_int_equal(line.effect, EFFECT_READ);
}

static void every_other_form_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "EXHIBIT1 row ",
        "EXHIBIT1  row " NONCE " parent 1 tcp=ok read=timeout",
        "EXHIBIT1 row " NONCE " parent 1 tcp=ok read=timeout ",
        "EXHIBIT1 row " NONCE " parent 1  tcp=ok read=timeout",
        "EXHIBIT1 row " NONCE " parent 1 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=timeout tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 tcp=ok read=timeout udp=ok",
        "EXHIBIT1 row " NONCE " parent 1 tcp=ok read=ok",
        "EXHIBIT1 row " NONCE " parent 1 tcp=ok:" PROOF " read=timeout",
        "EXHIBIT1 row " NONCE " parent 1 tcp=ok read=ok:" PROOF "0",
        "EXHIBIT1 row " NONCE " parent 1 tcp=errno:0 read=timeout",
        "EXHIBIT1 row " NONCE " parent 1 tcp=errno:4096 read=timeout",
        "EXHIBIT1 row " NONCE " parent 1 tcp=errno:013 read=timeout",
        "EXHIBIT1 row " NONCE " parent 1 tcp=errno:+1 read=timeout",
        "EXHIBIT1 row " NONCE " parent 1 tcp=signal:65 read=timeout",
        "EXHIBIT1 row " NONCE " parent 1 tcp=timeout0 read=timeout",
        "EXHIBIT1 row " NONCE " parent 0 tcp=ok read=timeout",
        "EXHIBIT1 row " NONCE " parent 01 tcp=ok read=timeout",
        "EXHIBIT1 row " NONCE " parent 13 tcp=ok read=timeout",
        "EXHIBIT1 row " NONCE " parent 4294967297 tcp=ok read=timeout",
        "EXHIBIT1 row " NONCE " child 1 tcp=ok read=timeout",
        "EXHIBIT1 row " NONCE " Parent 1 tcp=ok read=timeout",
        "EXHIBIT1 row 1123456789abcdef0123456789abcdef parent 1 tcp=ok read=timeout",
        "EXHIBIT1 row 0123456789ABCDEF0123456789ABCDEF parent 1 tcp=ok read=timeout",
        "EXHIBIT1 try " NONCE " parent 1",
        "EXHIBIT1 try " NONCE " parent 1 ",
        "EXHIBIT1 try " NONCE " parent 1 udp",
        "EXHIBIT1 try " NONCE " parent 1 read ",
        "EXHIBIT2 try " NONCE " parent 1 read",
        "xEXHIBIT1 try " NONCE " parent 1 read",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct line line;

        if (parses(texts[i], &line))
            fail_msg("taken: %s", texts[i]);
    }
}

/* How many rows the strict run of a scene with these bytes after its rows has. */
static size_t strict_rows(const char *extra, uint32_t drop_round)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct facts facts;
    const Exhibit__Claim *claim = NULL;
    struct err err;
    size_t count;

    assert_non_null(scene);
    scene_init(scene);
    scene->extra_stdout = extra;
    scene_build(scene);
    if (drop_round > 0)
        scene_find(scene, EXHIBIT__EVENT__WHAT_RUN_START, RUN_STRICT, 0)->run_start->probe->roles[2]->rounds = 3;
    assert_int_equal(scene_claim(scene, &facts, &claim, &err), 0);
    count = claim->rows[1]->count;
    facts_done(&facts);
    scene_done(scene);
    free(scene);
    return count;
}

/* A row of round 3 of the grandchild, which the good scene does not have, `padding` bytes after `head`. */
static const char *third_row(struct scene *scene, const char *head)
{
    const char *row = scene_row(scene, RUN_STRICT, GRANDCHILD, 3);
    char *text = scene_take(scene, strlen(head) + strlen(row) + 1);

    return strcat(strcat(text, head), row);
}

static void only_whole_lines_of_their_own_count(void **state)
{
    struct scene scene;
    char long_line[LIMIT_LINE_BYTES + 1], *cut;

    (void)state;
    scene_init(&scene);
    assert_int_equal(strict_rows("noise\n", 1), 4);
    assert_int_equal(strict_rows(third_row(&scene, ""), 1), 5);
    assert_int_equal(strict_rows(third_row(&scene, "noise\n"), 1), 5);
    assert_int_equal(strict_rows(third_row(&scene, "noise"), 1), 4);
    memset(long_line, 'x', sizeof long_line);
    long_line[sizeof long_line - 2] = '\n';
    long_line[sizeof long_line - 1] = 0;
    assert_int_equal(strict_rows(third_row(&scene, long_line), 1), 5);
    long_line[sizeof long_line - 2] = 'x';
    assert_int_equal(strict_rows(third_row(&scene, long_line), 1), 4);
    cut = scene_take(&scene, 1024);
    memcpy(cut, third_row(&scene, ""), strlen(third_row(&scene, "")) - 1);
    assert_int_equal(strict_rows(cut, 1), 4);
    assert_int_equal(strict_rows(third_row(&scene, ""), 0), 4);
    scene_done(&scene);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_tells_each_planned_effect),
        cmocka_unit_test(every_other_form_is_refused),
        cmocka_unit_test(only_whole_lines_of_their_own_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
