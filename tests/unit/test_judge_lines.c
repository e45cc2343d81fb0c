/* docs/DECISION.md section 2: what is a row, what is a try, and which bytes are neither. */
#include "judge_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD "read=errno:13 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13"
#define ROWS 4 /* of the strict tree, without what a test adds */

static uint32_t strict_tree(const struct scene *scene)
{
    return scene_run_of(scene, "tree", MODE(STRICT), 1);
}

/* How many rows the strict tree has; releases the scene. */
static uint32_t rows_of(struct scene *scene)
{
    Exhibit__Claim *claim = scene_judge(scene);
    uint32_t count = 0;

    for (size_t i = 0; i < claim->n_rows; i++)
        if (strcmp(claim->rows[i]->trial, "tree") == 0 && strcmp(claim->rows[i]->mode, "strict") == 0)
            count = claim->rows[i]->count;
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
    return count;
}

/* The rows after a text with NONCE in it, the grandchild's nonce, came on a stream of the strict tree. */
static uint32_t rows_with(Exhibit__StreamName stream, const char *text)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);

    scene_insert_text(scene, scene_place(scene, run, SCENE(STEP), 0), run, stream, text);
    if (strstr(text, "NONCE") != NULL)
        scene_replace(scene, run, "NONCE", scene->runs[run].nonces[3]);
    return rows_of(scene);
}

static void a_row_is_a_line_of_exactly_its_form(void **state)
{
    static const char *const rows[] = {
        "EXHIBIT1 row NONCE grandchild 5 " TOLD "\n", "x\n\nEXHIBIT1 row NONCE grandchild 5 " TOLD "\nx",
        "EXHIBIT1 row NONCE grandchild 3 read=timeout read-link=signal:64 write=ok tcp=errno:4095 udp=signal:1\n",
        "EXHIBIT1 row NONCE grandchild 4 "
        "read=ok:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff read-link=errno:1 write=ok tcp=ok "
        "udp=ok\n"};
    static const char *const others[] = {
        "EXHIBIT1 row NONCE grandchild 5 " TOLD,        /* no end */
        "EXHIBIT1 row NONCE grandchild 5 " TOLD " \n",  /* a space more */
        " EXHIBIT1 row NONCE grandchild 5 " TOLD "\n",  /* */
        "EXHIBIT1  row NONCE grandchild 5 " TOLD "\n",  /* */
        "EXHIBIT1 row NONCE grandchild 5 " TOLD "\r\n", /* */
        "EXHIBIT1 row NONCE grandchild 5 " TOLD " x\n", /* a word more */
        "EXHIBIT2 row NONCE grandchild 5 " TOLD "\n",   /* */
        "EXHIBIT1 Row NONCE grandchild 5 " TOLD "\n",   /* */
        "EXHIBIT1 row NONCE0 grandchild 5 " TOLD "\n",  /* */
        "EXHIBIT1 row NONCE child 1 " TOLD "\n",        /* another's nonce */
        "EXHIBIT1 row NONCE grandchild 0 " TOLD "\n",   /* */
        "EXHIBIT1 row NONCE grandchild 6 " TOLD "\n",   /* not planned */
        "EXHIBIT1 row NONCE grandchild 05 " TOLD "\n",  /* */
        "EXHIBIT1 row NONCE grandchild +5 " TOLD "\n",  /* */
        "EXHIBIT1 row NONCE grandchild 4294967301 " TOLD "\n",
        "EXHIBIT1 row NONCE grandchild 5 read=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        "EXHIBIT1 row NONCE grandchild 5 read-link=errno:13 read=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        "EXHIBIT1 row NONCE grandchild 5 read=ok read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        "EXHIBIT1 row NONCE grandchild 5 read=errno:0 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        "EXHIBIT1 row NONCE grandchild 5 read=errno:4096 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        "EXHIBIT1 row NONCE grandchild 5 read=errno: read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        "EXHIBIT1 row NONCE grandchild 5 read=signal:65 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        "EXHIBIT1 row NONCE grandchild 5 read=timeout: read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        "EXHIBIT1 row NONCE grandchild 5 "
        "read=ok:00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff read-link=errno:1 write=ok tcp=ok "
        "udp=ok\n",
        "EXHIBIT1 row NONCE grandchild 5 "
        "read=errno:1 read-link=errno:1 "
        "write=ok:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff tcp=ok udp=ok\n"};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows_with(STREAM(STDOUT), rows[i]) != ROWS + 1)
            fail_msg("not taken for a row: %s", rows[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (rows_with(STREAM(STDOUT), others[i]) != ROWS)
            fail_msg("taken for a row: %s", others[i]);
}

static void rows_are_read_from_stdout_and_the_scratch_streams_alone(void **state)
{
    static const char row[] = "EXHIBIT1 row NONCE grandchild 5 " TOLD "\n";

    (void)state;
    for (Exhibit__StreamName stream = STREAM(STDIN); stream <= STREAM(SCRATCH_GRANDCHILD); stream++)
        assert_int_equal(rows_with(stream, row), stream == STREAM(STDIN) || stream == STREAM(STDERR) ? ROWS : ROWS + 1);
}

/* Each stream has a line of its own under way; it arrives with the chunk that ends it. */
static void a_line_runs_over_chunks_and_arrives_with_its_end(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(STEP), 0);
    char row[1024], head[1024];
    Exhibit__Claim *claim;

    (void)state;
    scene_row(scene, run, ROLE(GRANDCHILD), 3, "errno:13", row);
    for (size_t at = strlen(row); at > 0; at--) { /* each byte is a chunk, with another stream's bytes between */
        (void)snprintf(head, sizeof head, "%c", row[at - 1]);
        scene_insert_text(scene, place, run, STREAM(STDOUT), head);
        scene_insert_text(scene, place, run, STREAM(SCRATCH_CHILD), "\nEXHIBIT1 ");
    }
    place = scene_place(scene, run, SCENE(STEP), 0) - 1;
    scene_delay(scene, place, 77);
    claim = scene_judge(scene);
    assert_int_equal(scene_attempt(claim, "tree", "strict", "grandchild/3", "read")->at_ns,
                     scene->events[place].event->at_ns);
    exhibit__claim__free_unpacked(claim, NULL);
    EXPECT_GO(scene);
}

static void a_copy_counts_once_and_arrives_with_the_first(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(STEP), 0);
    uint64_t first_ns;
    char row[1024];
    Exhibit__Claim *claim;

    (void)state;
    scene_row(scene, run, ROLE(GRANDCHILD), 3, "errno:13", row);
    scene_insert_text(scene, place, run, STREAM(SCRATCH_GRANDCHILD), row);
    scene_insert_text(scene, place, run, STREAM(STDOUT), row);
    first_ns = scene->events[place].event->at_ns;
    scene_delay(scene, place + 1, 50);
    claim = scene_judge(scene);
    assert_int_equal(scene_attempt(claim, "tree", "strict", "grandchild/3", "read")->at_ns, first_ns);
    exhibit__claim__free_unpacked(claim, NULL);
    assert_int_equal(rows_of(scene), ROWS + 1);
}

/* What follows a line of 2048 bytes, or a longer one, is a line of its own. */
static void a_longer_line_hides_only_itself(void **state)
{
    (void)state;
    for (size_t size_bytes = 2047; size_bytes <= 2049; size_bytes++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        size_t place = scene_place(scene, run, SCENE(STEP), 0);
        char line[4096], row[1024];

        scene_row(scene, run, ROLE(GRANDCHILD), 3, "errno:13", row);
        memset(line, ' ', sizeof line);
        memcpy(line + size_bytes - strlen(row), row, strlen(row) + 1);
        scene_insert_text(scene, place, run, STREAM(STDOUT), line);
        scene_row(scene, run, ROLE(GRANDCHILD), 4, "errno:13", row);
        scene_insert_text(scene, place + 1, run, STREAM(STDOUT), row);
        assert_int_equal(rows_of(scene), ROWS + 1); /* the one that follows */
    }
}

/* Effects with long names make a row as long as a line may be. */
static void a_row_of_2048_bytes_is_a_line_and_one_of_2049_is_not(void **state)
{
    (void)state;
    for (int longer = 0; longer <= 1; longer++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        Exhibit__ProbeAssignment *probe = scene_event(scene, run, SCENE(RUN_START), 0)->run_start->probe;
        size_t used, place = scene_place(scene, run, SCENE(STEP), 0);
        char line[4096];

        used = (size_t)snprintf(line, sizeof line, "EXHIBIT1 row %s grandchild 3", scene->runs[run].nonces[3]);
        for (size_t i = 0; i < probe->n_effects; i++) {
            size_t left = 2048 + (size_t)longer - used - 1, name_bytes = i + 1 < probe->n_effects ? 380 : left - 9;

            probe->effects[i] = realloc(probe->effects[i], name_bytes + 1);
            assert_non_null(probe->effects[i]);
            memset(probe->effects[i], 'a' + (int)i, name_bytes);
            probe->effects[i][name_bytes] = 0;
            used += (size_t)snprintf(line + used, sizeof line - used, " %s=errno:1", probe->effects[i]);
        }
        (void)snprintf(line + used, sizeof line - used, "\n");
        assert_int_equal(strlen(line), 2048 + longer);
        scene_insert_text(scene, place, run, STREAM(STDOUT), line);
        assert_int_equal(rows_of(scene), longer ? 0 : 1); /* the others are of other effects */
    }
}

/* Whether a line that came long after the ending is taken for a sign of life. */
static bool is_life(const char *format_head, const char *tail)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(PROCESS_EXIT), 0);
    bool life = false;
    char line[256];
    Exhibit__Claim *claim;

    (void)snprintf(line, sizeof line, "%s%s%s", format_head, scene->runs[run].nonces[3], tail);
    scene_insert_text(scene, place, run, STREAM(STDOUT), line);
    scene_delay(scene, place, 1500);
    claim = scene_judge(scene);
    for (size_t i = 0; i < claim->n_rules; i++)
        if (strcmp(claim->rules[i]->rule, "cancel.quiet") == 0)
            life = !claim->rules[i]->holds;
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
    return life;
}

static void a_try_is_a_line_of_exactly_its_form(void **state)
{
    (void)state;
    assert_true(is_life("EXHIBIT1 try ", " grandchild 5 udp\n"));
    assert_true(is_life("EXHIBIT1 try ", " grandchild 1 read-link\n"));
    assert_false(is_life("EXHIBIT1 try ", " grandchild 5 fly\n"));
    assert_false(is_life("EXHIBIT1 try ", " grandchild 5\n"));
    assert_false(is_life("EXHIBIT1 try ", " grandchild 5 udp tcp\n"));
    assert_false(is_life("EXHIBIT1 try ", " grandchild 5 udp \n"));
    assert_false(is_life("EXHIBIT1 try ", " grandchild 6 udp\n"));
    assert_false(is_life("EXHIBIT1 try ", " parent 1 udp\n"));
    assert_false(is_life("EXHIBIT1 write ", " grandchild 5\n"));
}

/* A subject that repeats a line, or makes up ever new ones, changes nothing but what it says. */
static void a_flood_of_lines_is_taken(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(STEP), 0);
    struct bytes *payload;
    struct err err;
    char line[1024];

    (void)state;
    scene_row(scene, run, ROLE(GRANDCHILD), 2, "errno:13", line);
    scene_insert_text(scene, place, run, STREAM(STDOUT), "");
    payload = &scene->events[place].payload;
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(bytes_add(payload, line, strlen(line), SIZE_MAX / 2, &err), 0);
        if (i == 50000) /* from now on each is another copy of a row of the child's */
            scene_row(scene, run, ROLE(CHILD), 1, "errno:13", line);
        if (i >= 50000)
            (void)snprintf(strstr(line, "read="), 512,
                           "read=errno:%d read-link=errno:%d write=errno:13 tcp=errno:13 udp=errno:13\n", 1 + i % 4000,
                           1 + i / 4000);
    }
    EXPECT(scene, "INCOMPLETE", {"complete.outcomes", "tree strict child/1 read is undetermined (copies differ)"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_a_line_of_exactly_its_form),
        cmocka_unit_test(rows_are_read_from_stdout_and_the_scratch_streams_alone),
        cmocka_unit_test(a_line_runs_over_chunks_and_arrives_with_its_end),
        cmocka_unit_test(a_copy_counts_once_and_arrives_with_the_first),
        cmocka_unit_test(a_longer_line_hides_only_itself),
        cmocka_unit_test(a_row_of_2048_bytes_is_a_line_and_one_of_2049_is_not),
        cmocka_unit_test(a_try_is_a_line_of_exactly_its_form),
        cmocka_unit_test(a_flood_of_lines_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
