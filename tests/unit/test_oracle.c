/* formats/oracle: values, defaults, refusals, whether it fits a plan, and how it is told. */
#include "base/file.h"
#include "formats/oracle.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char good[] = "version: 1\n"
                           "bounds: {ended_ms: 3000, grace_ms: 0}\n"
                           "identities: optional\n"
                           "denials:\n"
                           "  read: {errnos: [EACCES, EIO], timeout: true, signal: true, diverted: true}\n"
                           "  write: {diverted: false}\n"
                           "trials:\n"
                           "  - {name: tree, roles: [parent, grandchild], effects: [tcp, read]}\n"
                           "cases:\n"
                           "  - name: build\n"
                           "    exit: 3\n"
                           "    stdout:\n"
                           "      equals: {base64: /wA=}\n"
                           "      contains: [one, {base64: AA==}]\n"
                           "      json: [{pointer: /a~1b, equals: {b: [1, '1', 1.5, true, null, yes], a: \"\"}}]\n"
                           "      tap: {tests: 41, pass: 40, fail: 1}\n"
                           "    stderr: {empty: true}\n"
                           "    archives: [{path: out/x-*.tgz, bytes: true}, {path: y.tar}]\n"
                           "  - {name: killed, signal: TERM, stderr: {contains: bye}}\n";

static struct oracle parse(const char *text)
{
    struct oracle oracle;
    struct err err = {0};

    if (oracle_parse("o.yaml", text, strlen(text), &oracle, &err) < 0)
        fail_msg("%s", err.text);
    return oracle;
}

/* The good oracle with the first `old` replaced. */
static char *changed(const char *old, const char *new)
{
    const char *at = strstr(good, old);
    char *text = NULL;

    if (at == NULL)
        fail_msg("the good oracle has no %s", old);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - good), good, new, at + strlen(old)) > 0);
    return text;
}

static void check_matcher(const struct oracle_matcher *matcher, enum oracle_matcher_kind kind, int64_t number,
                          const void *content, size_t size_bytes)
{
    assert_int_equal(matcher->kind, kind);
    assert_int_equal(matcher->number, number);
    assert_int_equal(matcher->bytes.size_bytes, size_bytes);
    if (size_bytes > 0)
        assert_memory_equal(matcher->bytes.data, content, size_bytes);
}

static void every_key_is_read(void **state)
{
    static const char json[] = "{\"a\":\"\",\"b\":[1,\"1\",1.5,true,null,\"yes\"]}";
    struct oracle oracle = parse(good);
    const struct oracle_denial *read = oracle_denial_of(&oracle, "read"), *write = oracle_denial_of(&oracle, "write");
    const struct oracle_case *build = &oracle.cases[0];
    struct digest digest = digest_of(good, sizeof good - 1);

    (void)state;
    assert_int_equal(oracle.source.size_bytes, sizeof good - 1);
    assert_true(digest_equal(&oracle.digest, &digest));
    assert_int_equal(oracle.ended_ms, 3000);
    assert_int_equal(oracle.grace_ms, 0);
    assert_false(oracle.identities_required);
    assert_int_equal(oracle.denial_count, 5);
    assert_int_equal(read->errno_count, 2);
    assert_int_equal(read->errnos[1], EIO);
    assert_true(read->timeout && read->signal && read->diverted_allowed);
    assert_int_equal(write->errno_count, 4); /* what is not given keeps its default */
    assert_false(write->diverted_allowed);
    assert_null(oracle_denial_of(&oracle, "fly"));
    assert_int_equal(oracle.trial_count, 1);
    assert_true(oracle.trials[0].roles[1] && !oracle.trials[0].roles[2] && oracle.trials[0].roles[3]);
    assert_int_equal(oracle.trials[0].effect_count, 2);
    assert_string_equal(oracle.trials[0].effects[0], "tcp");
    assert_int_equal(oracle.trials[0].line, 8);
    assert_int_equal(oracle.case_count, 2);
    assert_int_equal(build->line, 10);
    assert_int_equal(build->matcher_count, 9);
    check_matcher(&build->matchers[0], ORACLE_EXIT, 3, NULL, 0);
    assert_int_equal(build->matchers[0].line, 11);
    check_matcher(&build->matchers[1], ORACLE_EQUALS, 0, "\xff\0", 2);
    check_matcher(&build->matchers[2], ORACLE_CONTAINS, 0, "one", 3);
    check_matcher(&build->matchers[3], ORACLE_CONTAINS, 0, "\0", 1);
    check_matcher(&build->matchers[4], ORACLE_JSON_EQUALS, 0, json, sizeof json - 1);
    assert_string_equal(build->matchers[4].pointer, "/a~1b");
    check_matcher(&build->matchers[5], ORACLE_TAP, 41, NULL, 0);
    check_matcher(&build->matchers[6], ORACLE_TAP, 40, NULL, 0);
    check_matcher(&build->matchers[7], ORACLE_TAP, 1, NULL, 0);
    assert_int_equal(build->matchers[5].counter, ORACLE_TAP_TESTS);
    assert_int_equal(build->matchers[6].counter, ORACLE_TAP_PASS);
    assert_int_equal(build->matchers[7].counter, ORACLE_TAP_FAIL);
    assert_false(build->matchers[7].on_stderr);
    check_matcher(&build->matchers[8], ORACLE_EMPTY, 0, NULL, 0);
    assert_true(build->matchers[8].on_stderr);
    assert_int_equal(build->archive_count, 2);
    assert_string_equal(build->archives[0].path, "out/x-*.tgz");
    assert_true(build->archives[0].bytes && !build->archives[1].bytes);
    check_matcher(&oracle.cases[1].matchers[0], ORACLE_SIGNAL, SIGTERM, NULL, 0);
    check_matcher(&oracle.cases[1].matchers[1], ORACLE_CONTAINS, 0, "bye", 3);
    oracle_done(&oracle);
    assert_null(oracle.cases);
}

static bool lists(const struct oracle *oracle, const char *effect, int number)
{
    const struct oracle_denial *denial = oracle_denial_of(oracle, effect);

    for (size_t i = 0; i < denial->errno_count; i++)
        if (denial->errnos[i] == number)
            return true;
    return false;
}

static void check_defaults(const struct oracle *oracle)
{
    static const struct {
        const char *effect;
        size_t errno_count;
        int last;
        bool diverted;
    } expected[] = {{"read", 3, ENOENT, false},
                    {"read-link", 3, ENOENT, false},
                    {"write", 4, EROFS, true},
                    {"tcp", 4, ENETUNREACH, false},
                    {"udp", 4, ENETUNREACH, true}};

    assert_int_equal(oracle->ended_ms, 2000);
    assert_int_equal(oracle->grace_ms, 1000);
    assert_true(oracle->identities_required);
    for (size_t i = 0; i < 5; i++) {
        const struct oracle_denial *denial = &oracle->denials[i];

        assert_string_equal(denial->effect, expected[i].effect);
        assert_string_equal(denial->effect, effect_names[i]);
        assert_int_equal(denial->errno_count, expected[i].errno_count);
        assert_true(lists(oracle, denial->effect, EACCES) && lists(oracle, denial->effect, EPERM));
        assert_int_equal(lists(oracle, denial->effect, ECONNREFUSED), i >= 3);
        assert_true(lists(oracle, denial->effect, expected[i].last));
        assert_false(denial->timeout || denial->signal);
        assert_int_equal(denial->diverted_allowed, expected[i].diverted);
    }
    assert_int_equal(oracle->trial_count, 2);
    assert_string_equal(oracle->trials[0].name, "bootstrap");
    assert_true(oracle->trials[0].roles[1] && !oracle->trials[0].roles[2] && !oracle->trials[0].roles[3]);
    assert_string_equal(oracle->trials[1].name, "tree");
    assert_true(oracle->trials[1].roles[1] && oracle->trials[1].roles[2] && oracle->trials[1].roles[3]);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(oracle->trials[i].effect_count, 5);
    assert_int_equal(oracle->case_count, 0);
}

static void an_oracle_of_nothing_has_the_defaults(void **state)
{
    struct oracle oracle = parse("version: 1\n");

    (void)state;
    check_defaults(&oracle);
    oracle_done(&oracle);
}

/* The shipped file spells the defaults out; the two must not drift apart. */
static void the_shipped_oracle_says_the_defaults(void **state)
{
    AUTO_BYTES struct bytes text = {0};
    struct oracle oracle;
    struct err err = {0};

    (void)state;
    assert_int_equal(file_read_path(AT_FDCWD, EXPERIMENTS "/oracle-default.yaml", 0, LIMIT_YAML_BYTES, &text, &err), 0);
    if (oracle_parse("oracle-default.yaml", text.data, text.size_bytes, &oracle, &err) < 0)
        fail_msg("%s", err.text);
    check_defaults(&oracle);
    oracle_done(&oracle);
}

static void each_fault_is_refused_in_one_line(void **state)
{
    static const struct {
        const char *old, *new, *expected;
    } cases[] = {
        {"version: 1", "version: 2", "1: `version` is not 1, the one that this program knows; write `version: 1`"},
        {"identities", "identity",
         "3: an oracle has no key `identity`; the keys are: version, bounds, identities, "
         "denials, trials, cases"},
        {"optional", "maybe", "3: `identities` is neither required nor optional; write one of them"},
        {"{ended_ms: 3000", "{end_ms: 3000",
         "2: a map of bounds has no key `end_ms`; the keys are: ended_ms, grace_ms"},
        {"ended_ms: 3000", "ended_ms: 0", "2: `ended_ms` is out of bounds; write a number from 1 to 60000"},
        {"ended_ms: 3000", "ended_ms: 60001", "2: `ended_ms` is out of bounds; write a number from 1 to 60000"},
        {"  write:", "  fly:", "6: a map of denials has no key `fly`; the keys are: read, read-link, write, tcp, udp"},
        {"timeout:", "time:", "5: a denial has no key `time`; the keys are: errnos, timeout, signal, diverted"},
        {"timeout: true", "timeout: yes", "5: `timeout` is neither true nor false; write one of them"},
        {"EIO", "EWRONG", "5: there is no errno `EWRONG`; write its name, as EACCES"},
        {"EIO", "0", "5: there is no errno `0`; write its name, as EACCES"},
        {"EIO", "13", "5: there is no errno `13`; write its name, as EACCES"},
        {"EIO", "EACCES", "5: the errno `EACCES` stands twice; keep one"},
        {"{name: tree, roles", "{roles", "8: a trial needs `name`; add it"},
        {"roles: [parent, grandchild], ", "", "8: a trial needs `roles`; add it"},
        {"name: tree", "name: Tree", "8: `Tree` is not a name; write a-z, 0-9 and -, a letter or digit first"},
        {"[parent, grandchild]", "[]", "8: `roles` has too few items; write at least 1"},
        {"[parent, grandchild]", "[parent, uncle]",
         "8: there is no role `uncle`; the roles are: parent, child, "
         "grandchild"},
        {"[parent, grandchild]", "[parent, parent]", "8: the role `parent` stands twice; keep one"},
        {"[tcp, read]", "[]", "8: `effects` has too few items; write at least 1"},
        {"[tcp, read]", "[icmp]", "8: there is no effect `icmp`; the effects are: read, read-link, write, tcp, udp"},
        {"[tcp, read]", "[tcp, tcp]", "8: the effect `tcp` stands twice; keep one"},
        {"cases:\n", "  - {name: tree, roles: [parent]}\ncases:\n",
         "9: a second trial named `tree` (line 8); rename one"},
        {"name: killed", "name: build", "19: a second case named `build` (line 10); rename one"},
        {"name: killed, ", "", "19: a case needs `name`; add it"},
        {"exit: 3", "exit: 256", "11: `exit` is out of bounds; write a number from 0 to 255"},
        {"exit: 3", "exit: -1", "11: `exit` is not a number; write one from 0 to 255"},
        {"exit: 3", "status: 3",
         "11: a case has no key `status`; the keys are: name, exit, signal, duration_ms, stdout, stderr, files, "
         "archives"},
        {"signal: TERM", "exit: 0, signal: TERM", "19: a case that ends by `exit` and by `signal`; keep one"},
        {"signal: TERM", "signal: SIGTERM", "19: there is no signal `SIGTERM`; write its name without SIG, as TERM"},
        {", signal: TERM, stderr: {contains: bye}", "",
         "19: the case `killed` need show nothing; write at least how it "
         "ends, as `exit: 0`"},
        {"{contains: bye}", "{}",
         "19: a stream that need show nothing; write one of: empty, equals, contains, matches, sha256, lines, json, "
         "tap"},
        {"{contains: bye}", "{greets: bye}",
         "19: a map of what a stream shows has no key `greets`; the keys are: "
         "empty, equals, contains, matches, sha256, lines, json, tap"},
        {"contains: bye", "contains: ''", "19: `contains` an empty text, as every stream does; write a text"},
        {"contains: bye", "contains: []", "19: `contains` has too few items; write at least 1"},
        {"empty: true", "empty: false",
         "17: `empty: false` asks for nothing; remove it, or say what the stream must "
         "hold"},
        {"/wA=", "/wB=", "13: `base64` is not base64 (RFC 4648 section 4); write it with padding and without spaces"},
        {"pointer: /a~1b", "pointer: a", "15: `pointer` is not a JSON pointer (RFC 6901); write it as /result/action"},
        {"pointer: /a~1b", "pointer: /a~",
         "15: `pointer` is not a JSON pointer (RFC 6901); write it as "
         "/result/action"},
        {"equals: {b: ", "is: {b: ", "15: a JSON value has no key `is`; the keys are: pointer, equals, type, absent"},
        {"1.5", "99999999999999999999",
         "15: `99999999999999999999` is not a number that JSON knows (64 bits); put it "
         "in quotes for a text"},
        {"1.5", "01", "15: `01` is not a number that JSON knows (64 bits); put it in quotes for a text"},
        {"1.5", "1e999", "15: `1e999` is not a number that JSON knows (64 bits); put it in quotes for a text"},
        {"a: \"\"", "a: ", "15: a JSON value is missing; write one (null, or \"\" for an empty text)"},
        {"{tests: 41, pass: 40, fail: 1}", "{}",
         "16: `tap` names no counter; write at least one of: tests, pass, "
         "fail"},
        {"tests: 41", "test: 41", "16: a map of TAP counters has no key `test`; the keys are: tests, pass, fail"},
        {"tests: 41", "tests: all", "16: `tests` is not a number; write one from 0 to 4294967295"},
        {"bytes: true", "bytes: 1", "18: `bytes` is neither true nor false; write one of them"},
        {"{path: y.tar}", "{bytes: true}", "18: an archive needs `path`; add it"},
    };
    static const char *const patterns[] = {"/x.tgz", "../x.tgz",  "a/../x.tgz", "./x.tgz", "a//x.tgz",
                                           "a/",     "'*/x.tgz'", "a*b*.tgz",   ".",       "''"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] + sizeof patterns / sizeof patterns[0]; i++) {
        size_t pattern = i - sizeof cases / sizeof cases[0];
        bool plain = i < sizeof cases / sizeof cases[0];
        char *text = plain ? changed(cases[i].old, cases[i].new) : changed("y.tar", patterns[pattern]);
        struct oracle oracle;
        struct err err = {0};

        assert_int_equal(oracle_parse("o.yaml", text, strlen(text), &oracle, &err), ERR_USAGE);
        assert_memory_equal(err.text, "o.yaml:", 7);
        assert_string_equal(err.text + 7,
                            plain ? cases[i].expected
                                  : "18: `path` is not one of a file in the scratch folder; write it relative, without "
                                    ". and .., with at most one *, in its last part");
        oracle_done(&oracle);
        free(text);
    }
}

static void a_case_shows_a_bounded_number_of_things(void **state)
{
    struct bytes text = {0};
    static const char head[] = "version: 1\ncases:\n  - name: x\n    exit: 0\n    stdout:\n      contains:\n";
    struct oracle oracle;
    struct err err;

    (void)state;
    assert_int_equal(bytes_add(&text, head, sizeof head - 1, LIMIT_YAML_BYTES, &err), 0);
    for (int i = 0; i < LIMIT_MATCHERS; i++)
        assert_int_equal(bytes_add(&text, "        - x\n", 12, LIMIT_YAML_BYTES, &err), 0);
    assert_int_equal(oracle_parse("o.yaml", text.data, text.size_bytes, &oracle, &err), ERR_USAGE);
    assert_string_equal(err.text, "o.yaml:262: a case that must show more than 256 things; ask for less");
    oracle_done(&oracle);
    assert_int_equal(oracle_parse("o.yaml", text.data, text.size_bytes - 12, &oracle, &err), 0);
    assert_int_equal(oracle.cases[0].matcher_count, LIMIT_MATCHERS);
    oracle_done(&oracle);
    bytes_done(&text);
}

static void it_fits_a_plan_that_has_all_it_names(void **state)
{
    static char build[] = "build", killed[] = "killed", tree[] = "tree", read[] = "read", tcp[] = "tcp";
    static char other[] = "other", file[] = "p.yaml";
    struct plan_case cases[3] = {{.name = build}, {.name = killed}};
    char *effects[] = {read, tcp};
    struct plan_trial trial = {.name = tree, .tree = true, .effects = effects, .effect_count = 2};
    struct plan plan = {.cases = cases, .case_count = 2, .trials = &trial, .trial_count = 1};
    struct oracle oracle = parse(good);
    struct err err = {0};

    (void)state;
    assert_int_equal(oracle_fits_plan("o.yaml", &oracle, &plan, &err), 0);
    cases[0].name = other;
    cases[2].name = build;
    plan.case_count = 3;
    plan.file = file;
    cases[0].line = 7;
    assert_int_equal(oracle_names_cases("o.yaml", &oracle, &plan, &err), ERR_USAGE);
    assert_string_equal(err.text,
                        "p.yaml:7: the oracle o.yaml says nothing of case `other`; name it there, or remove it "
                        "here");
    cases[0].name = build;
    plan.case_count = 1;
    assert_int_equal(oracle_fits_plan("o.yaml", &oracle, &plan, &err), ERR_USAGE);
    assert_string_equal(err.text, "o.yaml:19: the plan has no case `killed`; add it there, or remove it here");
    plan.case_count = 2;
    trial.effect_count = 1;
    assert_int_equal(oracle_fits_plan("o.yaml", &oracle, &plan, &err), ERR_USAGE);
    assert_string_equal(err.text,
                        "o.yaml:8: the plan's trial `tree` has no effect tcp; add it there, or remove it here");
    trial.effect_count = 2;
    trial.tree = false;
    assert_int_equal(oracle_fits_plan("o.yaml", &oracle, &plan, &err), ERR_USAGE);
    assert_string_equal(err.text, "o.yaml:8: the plan's trial `tree` has no role grandchild; write `kind: tree` there, "
                                  "or name the parent alone");
    plan.trial_count = 0;
    assert_int_equal(oracle_fits_plan("o.yaml", &oracle, &plan, &err), ERR_USAGE);
    assert_string_equal(err.text, "o.yaml:8: the plan has no trial `tree`; add it there, or name the trials it has");
    oracle_done(&oracle);
}

/* A tree that says nothing any more when the grace is over: by its rounds, by its lifetime, by a later step. */
static void it_hears_the_silence_of_trees_that_had_more_to_say(void **state)
{
    static char tree[] = "tree", file[] = "p.yaml";
    struct plan_trial trial = {
        .name = tree, .tree = true, .line = 5, .rounds = 10, .interval_ms = 100, .lifetime_ms = 8000, .step_count = 1};
    struct plan plan = {.file = file, .trials = &trial, .trial_count = 1};
    struct oracle oracle = {.grace_ms = 599};
    struct err err = {0};

    (void)state;
    trial.steps[0].target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    trial.steps[0].after_rounds = 4;
    assert_int_equal(oracle_hears_silence(&oracle, &plan, &err), 0);
    oracle.grace_ms = 600;
    assert_int_equal(oracle_hears_silence(&oracle, &plan, &err), ERR_USAGE);
    assert_string_equal(err.text, "p.yaml:5: the trial `tree` says nothing any more 900 ms after its start, when its "
                                  "ending and the grace of 600 ms are over, so that its silence proves nothing; write "
                                  "more `rounds` (and `lifetime_ms`), or an earlier ending");
    trial.rounds = 11;
    assert_int_equal(oracle_hears_silence(&oracle, &plan, &err), 0);
    trial.lifetime_ms = 900;
    assert_int_equal(oracle_hears_silence(&oracle, &plan, &err), ERR_USAGE);
    trial.lifetime_ms = 901;
    assert_int_equal(oracle_hears_silence(&oracle, &plan, &err), 0);
    trial.step_count = 2;
    trial.steps[1].after_ms = 1;
    assert_int_equal(oracle_hears_silence(&oracle, &plan, &err), ERR_USAGE);
    trial.step_count = 0; /* nothing is ended, and nothing is listened to */
    assert_int_equal(oracle_hears_silence(&oracle, &plan, &err), 0);
}

struct told {
    char text[4096];
};

static void take_line(void *context, const char *text, bool wider)
{
    struct told *told = context;
    size_t used = strlen(told->text);

    (void)snprintf(told->text + used, sizeof told->text - used, "%s%s\n", wider ? "! " : "", text);
}

static void what_is_wider_than_shipped_is_marked(void **state)
{
    struct oracle oracle = parse(good), shipped = parse("version: 1\n");
    struct oracle none = parse("version: 1\ndenials: {tcp: {errnos: [EPERM]}, udp: {errnos: []}}\n");
    struct told told = {0}, quiet = {0}, fewer = {0};

    (void)state;
    oracle_describe(&oracle, take_line, &told);
    assert_string_equal(told.text, "! read denied by: EACCES EIO timeout signal\n"
                                   "read-link denied by: EACCES EPERM ENOENT\n"
                                   "write denied by: EACCES EPERM ENOENT EROFS\n"
                                   "tcp denied by: EACCES EPERM ECONNREFUSED ENETUNREACH\n"
                                   "udp denied by: EACCES EPERM ECONNREFUSED ENETUNREACH\n"
                                   "! read diverted: allowed\n"
                                   "read-link diverted: not allowed\n"
                                   "write diverted: not allowed\n"
                                   "tcp diverted: not allowed\n"
                                   "udp diverted: allowed\n"
                                   "! every role ended within 3000 ms of the last step\n"
                                   "quiet 0 ms after the last step\n"
                                   "! host identities of roles: optional\n"
                                   "! effects that must have been tried: read tcp\n"
                                   "! roles that must have been there: parent grandchild\n");
    oracle_describe(&shipped, take_line, &quiet);
    assert_null(strchr(quiet.text, '!'));
    oracle_describe(&none, take_line, &fewer);
    assert_null(strchr(fewer.text, '!'));
    assert_non_null(strstr(fewer.text, "tcp denied by: EPERM\nudp denied by: nothing\n"));
    oracle_done(&oracle);
    oracle_done(&shipped);
    oracle_done(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(an_oracle_of_nothing_has_the_defaults),
        cmocka_unit_test(the_shipped_oracle_says_the_defaults),
        cmocka_unit_test(each_fault_is_refused_in_one_line),
        cmocka_unit_test(a_case_shows_a_bounded_number_of_things),
        cmocka_unit_test(it_fits_a_plan_that_has_all_it_names),
        cmocka_unit_test(it_hears_the_silence_of_trees_that_had_more_to_say),
        cmocka_unit_test(what_is_wider_than_shipped_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
