/*
 * The exact forms of what the probe says, patterns and placeholders.
 */
#include "verify/binding.h"
#include "verify/proof.h"
#include "verify/spoken_line.h"
#include "verify_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NONCE "17171717171717171717171717171717"
#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A run whose parent has the nonce NONCE, one round, and the effects read and tcp. */
static bool parse(const char *text, struct spoken_line *out)
{
    uint8_t nonce[NONCE_BYTES];
    char *effects[] = {(char *)(uintptr_t) "read", (char *)(uintptr_t) "tcp"};
    Exhibit__RoleRounds parent = EXHIBIT__ROLE_ROUNDS__INIT;
    Exhibit__RoleRounds *roles[] = {&parent};
    Exhibit__ProbeAssignment probe = EXHIBIT__PROBE_ASSIGNMENT__INIT;
    Exhibit__RunStart start = EXHIBIT__RUN_START__INIT;
    Exhibit__Event event = EXHIBIT__EVENT__INIT;
    struct ledger_run run = {.start = &event, .nonces = {"", NONCE}};

    memset(nonce, 0x17, sizeof nonce);
    parent.role = EXHIBIT__ROLE__ROLE_PARENT;
    parent.rounds = 12;
    probe.roles = roles;
    probe.n_roles = 1;
    probe.effects = effects;
    probe.n_effects = 2;
    start.probe = &probe;
    event.run_start = &start;
    return spoken_line_parse(&run, (struct cursor){(const uint8_t *)text, strlen(text)}, out);
}

static void a_row_of_the_exact_form_is_taken(void **state)
{
    struct spoken_line line;

    (void)state;
    assert_true(parse("EXHIBIT1 row " NONCE " parent 12 read=ok:" HEX64 " tcp=errno:4095", &line));
    assert_int_equal(line.kind, SPOKEN_ROW);
    assert_int_equal(line.round, 12);
    assert_int_equal(line.told[0].kind, SPOKEN_PROOF);
    assert_int_equal(line.told[0].proof[1], 0x23);
    assert_int_equal(line.told[1].number, 4095);
    assert_true(parse("EXHIBIT1 row " NONCE " parent 1 read=timeout tcp=ok", &line));
    assert_int_equal(line.told[1].kind, SPOKEN_OK);
    assert_true(parse("EXHIBIT1 row " NONCE " parent 1 read=errno:1 tcp=signal:64", &line));
    assert_int_equal(line.told[1].kind, SPOKEN_SIGNAL);
    assert_true(parse("EXHIBIT1 try " NONCE " parent 3 tcp", &line));
    assert_int_equal(line.kind, SPOKEN_TRY);
    assert_int_equal(line.effect, 1);
}

static void any_other_line_is_none_of_the_probes(void **state)
{
    static const char *const lines[] = {
        "",
        "EXHIBIT1",
        "EXHIBIT1 row",
        "EXHIBIT1 row " NONCE " parent",
        "EXHIBIT1 row " NONCE " parent 1",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:1",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:1 tcp=ok ",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:1 tcp=ok more",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:1  tcp=ok",
        " EXHIBIT1 row " NONCE " parent 1 read=errno:1 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 tcp=ok read=errno:1",
        "EXHIBIT1 row " NONCE " parent 1 read=ok tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:1 tcp=ok:" HEX64,
        "EXHIBIT1 row " NONCE " parent 1 read=ok:" HEX64 "0 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=ok:ABCDEF tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:0 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:4096 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:01 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:+1 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=errno: tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=signal:65 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=timeouts tcp=ok",
        "EXHIBIT1 row " NONCE " parent 0 read=errno:1 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 01 read=errno:1 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 13 read=errno:1 tcp=ok",
        "EXHIBIT1 row " NONCE " child 1 read=errno:1 tcp=ok",
        "EXHIBIT1 row 27171717171717171717171717171717 parent 1 read=errno:1 tcp=ok",
        "EXHIBIT2 row " NONCE " parent 1 read=errno:1 tcp=ok",
        "EXHIBIT1 rows " NONCE " parent 1 read=errno:1 tcp=ok",
        "EXHIBIT1 row " NONCE " parent 1 read=errno:1 tcp=ok\r",
        "EXHIBIT1 try " NONCE " parent 1",
        "EXHIBIT1 try " NONCE " parent 1 udp",
        "EXHIBIT1 try " NONCE " parent 1 tcp ",
        "EXHIBIT1 try " NONCE " parent 1 tcp more",
    };
    struct spoken_line line;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (parse(lines[i], &line))
            fail_msg("taken: \"%s\"", lines[i]);
}

static void a_pattern_star_stands_for_part_of_a_name(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {{"out.tgz", "out.tgz", true},
                 {"out.tgz", "xout.tgz", false},
                 {"*.tgz", "a-1.tgz", true},
                 {"*.tgz", "d/a.tgz", false},
                 {"d/*.tgz", "d/a.tgz", true},
                 {"d/*.tgz", "e/a.tgz", false},
                 {"a*a", "a", false},
                 {"a*a", "aa", true},
                 {"d/a*", "d/a/b", false},
                 {"*/a", "d/a", true},
                 {"*/a", "d/e/a", false},
                 {"d*", "d", true},
                 {"*", "", false},
                 {"./a", "a", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ProtobufCBinaryData path = {strlen(cases[i].path), (uint8_t *)(uintptr_t)cases[i].path};

        if (proof_path_matches(cases[i].pattern, &path) != cases[i].matches)
            fail_msg("\"%s\" on \"%s\"", cases[i].pattern, cases[i].path);
    }
}

static void a_placeholder_stands_for_any_text_and_all_else_for_itself(void **state)
{
    static const struct {
        const char *template, *word;
        bool fits;
    } cases[] = {{"plain", "plain", true},
                 {"plain", "plai", false},
                 {"plain", "plain ", false},
                 {"{workspace}/a", "/w/x/a", true},
                 {"{workspace}/a", "/w/x/b", false},
                 {"--ro={policy}:{home}", "--ro=/p:/h", true},
                 {"{candidate}/launch", "/work/box/candidate/launch", true},
                 {"{candidate}/launch", "/work/box/candidate/other", false},
                 {"--ro={policy}:{home}", "--rw=/p:/h", false},
                 {"{scratch}a{tools}ab", "xayab", true},
                 {"{{workspace}", "{workspace}", true},
                 {"{{workspace}", "/w", false},
                 {"{other}", "{other}", true},
                 {"", "", true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (binding_word_fits(cases[i].template, (const uint8_t *)cases[i].word, strlen(cases[i].word)) !=
            cases[i].fits)
            fail_msg("\"%s\" on \"%s\"", cases[i].template, cases[i].word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_the_exact_form_is_taken),
        cmocka_unit_test(any_other_line_is_none_of_the_probes),
        cmocka_unit_test(a_pattern_star_stands_for_part_of_a_name),
        cmocka_unit_test(a_placeholder_stands_for_any_text_and_all_else_for_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
