/*
 * The probe's command line and its digests.
 */
#include "record/probe/proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NONCE "00112233445566778899aabbccddeeff"
#define KEY_COUNT 11

static const char *const good_keys[KEY_COUNT] = {"tree=1",         "read=/a",          "read-link=/b",    "write=/c",
                                                 "tcp=1",          "udp=65535",        "effects=udp,tcp", "rounds=3",
                                                 "interval_ms=50", "lifetime_ms=1500", "scratch=/s"};

/* Parses a good command line in which the key at `at` (if any) is replaced, or left out for NULL. */
static int parse_with(int at, const char *key, struct assignment *out, struct err *err)
{
    char *argv[ARG_KEYS + KEY_COUNT + 1] = {"probe", "run", "child", NONCE};
    int argc = ARG_KEYS;

    for (int i = 0; i < KEY_COUNT; i++) {
        const char *item = i == at ? key : good_keys[i];

        if (item != NULL)
            argv[argc++] = (char *)(uintptr_t)item;
    }
    return assignment_parse(argc, argv, out, err);
}

static void assignment_parse_takes_every_key(void **state)
{
    struct assignment made;
    struct err err = {0};

    (void)state;
    assert_int_equal(parse_with(-1, NULL, &made, &err), 0);
    assert_int_equal(made.role, ROLE_IS_CHILD);
    assert_string_equal(made.nonce, NONCE);
    assert_true(made.tree);
    assert_string_equal(made.read_path, "/a");
    assert_string_equal(made.read_link_path, "/b");
    assert_string_equal(made.write_path, "/c");
    assert_string_equal(made.scratch, "/s");
    assert_int_equal(made.tcp_port, 1);
    assert_int_equal(made.udp_port, 65535);
    assert_int_equal(made.effect_count, 2);
    assert_int_equal(made.effects[0], EFFECT_UDP);
    assert_int_equal(made.effects[1], EFFECT_TCP);
    assert_int_equal(made.rounds, 3);
    assert_int_equal(made.interval_ms, 50);
    assert_int_equal(made.lifetime_ms, 1500);
}

/* Two keys may be missing: what they ask for is then not so. */
static void assignment_parse_takes_or_misses_the_keys_of_an_ending(void **state)
{
    char *argv[ARG_KEYS + KEY_COUNT + 3] = {"probe", "run", "parent", NONCE};
    struct assignment made;
    struct err err = {0};

    (void)state;
    assert_int_equal(parse_with(-1, NULL, &made, &err), 0);
    assert_int_equal(made.parent_ms, 0);
    assert_false(made.ignores_term);
    for (int i = 0; i < KEY_COUNT; i++)
        argv[ARG_KEYS + i] = (char *)(uintptr_t)good_keys[i];
    argv[ARG_KEYS + KEY_COUNT] = "parent_ms=1400";
    argv[ARG_KEYS + KEY_COUNT + 1] = "ignore_term=1";
    assert_int_equal(assignment_parse(ARG_KEYS + KEY_COUNT + 2, argv, &made, &err), 0);
    assert_int_equal(made.parent_ms, 1400);
    assert_true(made.ignores_term);
    argv[ARG_KEYS + KEY_COUNT] = "parent_ms=0";
    assert_int_equal(assignment_parse(ARG_KEYS + KEY_COUNT + 2, argv, &made, &err), ERR_USAGE);
    assert_string_equal(err.text, "parent_ms= takes a number from 1 to 120000, not '0'");
}

static void assignment_parse_refuses_each_missing_key(void **state)
{
    (void)state;
    for (int i = 0; i < KEY_COUNT; i++) {
        struct assignment made;
        struct err err = {0};
        char text[32];

        (void)snprintf(text, sizeof text, "%.*s= is missing", (int)strcspn(good_keys[i], "="), good_keys[i]);
        assert_int_equal(parse_with(i, NULL, &made, &err), ERR_USAGE);
        assert_string_equal(err.text, text);
    }
}

static void assignment_parse_refuses_bad_values(void **state)
{
    static const struct {
        int at;
        const char *key, *text;
    } bad[] = {
        {0, "tree=2", "tree= takes a number from 0 to 1"},
        {0, "tree=", "tree= takes a number"},
        {0, "tree", "unknown argument 'tree'"},
        {1, "read=a", "read= takes an absolute path"},
        {1, "reads=/a", "unknown argument 'reads=/a'"},
        {2, "read=/b", "read= is given twice"},
        {4, "tcp=0", "tcp= takes a number from 1 to 65535"},
        {5, "udp=65536", "udp= takes a number from 1 to 65535"},
        {5, "udp=4294967297", "udp= takes a number from 1 to 65535"},
        {6, "effects=", "effects= takes"},
        {6, "effects=tcp,", "effects= takes"},
        {6, "effects=tcp,tcp", "effects= takes"},
        {6, "effects=rea", "effects= takes"},
        {7, "rounds=1001", "rounds= takes a number from 1 to 1000"},
        {7, "rounds=03", "rounds= takes a number"},
        {7, "rounds=-3", "rounds= takes a number"},
        {7, "rounds= 3", "rounds= takes a number"},
        {8, "interval_ms=0", "interval_ms= takes a number from 1 to 10000"},
        {9, "lifetime_ms=120001", "lifetime_ms= takes a number from 1 to 120000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct assignment made;
        struct err err = {0};

        assert_int_equal(parse_with(bad[i].at, bad[i].key, &made, &err), ERR_USAGE);
        if (strstr(err.text, bad[i].text) == NULL)
            fail_msg("%s: %s", bad[i].key, err.text);
    }
}

static void assignment_parse_refuses_bad_roles_and_nonces(void **state)
{
    char *no_role[] = {"probe", "run", "uncle", NONCE, NULL};
    char *upper_case[] = {"probe", "run", "child", "00112233445566778899AABBCCDDEEFF", NULL};
    char *too_long[] = {"probe", "run", "child", NONCE "0", NULL};
    char *no_verb[] = {"probe", "walk", "child", NONCE, NULL};
    struct assignment made;
    struct err err = {0};

    (void)state;
    assert_int_equal(assignment_parse(4, no_role, &made, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "not 'uncle'"));
    assert_int_equal(assignment_parse(4, upper_case, &made, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "NONCE is 32 lower-case"));
    assert_int_equal(assignment_parse(4, too_long, &made, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "NONCE is 32 lower-case"));
    assert_int_equal(assignment_parse(4, no_verb, &made, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "expected: run"));
    assert_int_equal(assignment_parse(3, no_role, &made, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "expected: run"));
}

/* The expected values were made with sha256sum. */
static void digests_are_those_of_the_decision(void **state)
{
    char nonce[NONCE_DIGITS + 1], digits[PROOF_DIGITS + 1];
    struct proof *proof = proof_start();

    (void)state;
    proof_add(proof, "can", 3);
    proof_add(proof, "ary", 3);
    proof_finish(proof, NONCE, 12, digits);
    assert_string_equal(digits, "c5540dd4dcba49ca04c198128f717cf52c5cb32af0b8036a94cddb764b1c2db1");
    nonce_derive(ROLE_IS_CHILD, NONCE, nonce);
    assert_string_equal(nonce, "4bd90da373a9c6cddcadb66027bfbace");
    nonce_derive(ROLE_IS_GRANDCHILD, NONCE, nonce);
    assert_string_equal(nonce, "b38c13ebbe34aecbc801d4ab9fec20c2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assignment_parse_takes_every_key),
        cmocka_unit_test(assignment_parse_takes_or_misses_the_keys_of_an_ending),
        cmocka_unit_test(assignment_parse_refuses_each_missing_key),
        cmocka_unit_test(assignment_parse_refuses_bad_values),
        cmocka_unit_test(assignment_parse_refuses_bad_roles_and_nonces),
        cmocka_unit_test(digests_are_those_of_the_decision),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
