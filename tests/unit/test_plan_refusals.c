/* formats/plan: every fault is refused in one line that says where, what and what to do. */
#include "tests/unit/test_plan_fixture.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LONG "a123456789012345678901234567890123456789012345678901234567890123"

static const struct change {
    const char *old, *new, *expected;
} top_changes[] = {
    {"version: 1", "version: 0", "1: `version` is not 1, the one that this program knows; write `version: 1`"},
    {"workspace:", "worksapce:",
     "6: a plan has no key `worksapce`; the keys are: version, name, oracle, candidate, "
     "workspace, environment, inputs, local, pins, binaries, cases, trials"},
    {"name: trip\n", "", "1: a plan needs `name`; add it"},
    {"name: trip", "name: Trip", "2: `Trip` is not a name; write a-z, 0-9 and -, a letter or digit first"},
    {"name: trip", "name: a_b", "2: `a_b` is not a name; write a-z, 0-9 and -, a letter or digit first"},
    {"name: trip", "name: -a", "2: `-a` is not a name; write a-z, 0-9 and -, a letter or digit first"},
    {"name: trip", "name: ../a", "2: `../a` is not a name; write a-z, 0-9 and -, a letter or digit first"},
    {"name: trip", "name: ''", "2: `` is not a name; write a-z, 0-9 and -, a letter or digit first"},
    {"name: trip", "name: " LONG "x", "2: the name `" LONG "...` is longer than 64 bytes; shorten it"},
    {"o.yaml", "/etc/passwd", "3: `oracle` is absolute; write it relative to the folder that the file is to be in"},
    {"o.yaml", "../o.yaml", "3: `oracle` leaves its folder; write it without .."},
    {"o.yaml", "w/../o.yaml", "3: `oracle` leaves its folder; write it without .."},
    {"o.yaml", "out/passwd",
     "3: `oracle` leaves its folder through a symbolic link, to /etc/passwd; copy it into "
     "TOP/p"},
    {"o.yaml", "none.yaml", "3: `oracle`: TOP/p/none.yaml: No such file or directory; name what is there"},
    {"o.yaml", "''", "3: `oracle` is not a path; write one of 1 to 4095 bytes"},
    {"workspace: w", "workspace: o.yaml", "6: `workspace` is not a folder that can be read; name one"},
    {"workspace: w", "workspace: out",
     "6: `workspace` leaves its folder through a symbolic link, to /etc; copy it into "
     "TOP/p"},
    {"workspace: w", "workspace: near",
     "6: `workspace` leaves its folder through a symbolic link, to TOP/p-near; copy it into TOP/p"},
    {"workspace: w", "workspace: ..", "6: `workspace` leaves its folder; write it without .."},
    {"B:", "1B:", "7: `1B` is not a variable's name; write letters, digits and _, no digit first"},
    {"B:", "'A=B':", "7: `A=B` is not a variable's name; write letters, digits and _, no digit first"},
    {"B:", "'':", "7: `` is not a variable's name; write letters, digits and _, no digit first"},
    {"B:", "HOME:", "7: the recorder sets HOME itself, in each run's own folders; remove it"},
    {"B:", "TMPDIR:", "7: the recorder sets TMPDIR itself, in each run's own folders; remove it"},
    {"B:", "XDG_CACHE_HOME:", "7: the recorder sets XDG_CACHE_HOME itself, in each run's own folders; remove it"},
    {"B:", "XDG_RUNTIME_DIR:", "7: the recorder sets XDG_RUNTIME_DIR itself, in each run's own folders; remove it"},
    {"B:", "NPM_CONFIG_Cache:", "7: the recorder sets NPM_CONFIG_Cache itself, in each run's own folders; remove it"},
    {"B:", "npm_config_userconfig:",
     "7: the recorder sets npm_config_userconfig itself, in each run's own folders; "
     "remove it"},
    {"B:", "npm_config_globalconfig:",
     "7: the recorder sets npm_config_globalconfig itself, in each run's own folders; "
     "remove it"},
    {"/2E=", "AGE=", "7: a NUL, which no argument or variable can hold; remove it"},
    {"{workspace}/lib", "{place}/lib",
     "7: unknown placeholder at \"{place}/lib\"; write {workspace}, {scratch}, {home}, "
     "{tools}, {policy} or {candidate}, or {{ for a brace"},
    {"{PATH: /bin, B: {base64: /2E=}, LIB: \"{workspace}/lib\"}", "[A]",
     "7: `environment` is not a map; write {NAME: "
     "VALUE, ...}"},
    {"B: {base64: /2E=}", "B: {secret: 1B}", "7: `1B` is not a variable's name; write the one that has the secret"},
    {"B: {base64: /2E=}", "B: {secret: ''}", "7: `` is not a variable's name; write the one that has the secret"},
    {"B: {base64: /2E=}", "B: {secret: B, base64: /2E=}", "7: `secret` stands alone; write {secret: NAME}"},
    {"B: {base64: /2E=}", "B: {secret: [B]}", "7: `secret` is a list; write a text"},
    {"B: {base64: /2E=}", "HOME: {secret: B}",
     "7: the recorder sets HOME itself, in each run's own folders; remove it"},
    {"pins:", "local: workspace\npins:", "9: `local` is not a list; write [ITEM, ...]"},
    {"pins:", "local: []\npins:", "9: `local` has too few items; write at least 1"},
    {"pins:", "local: [three]\npins:", "9: there is no input `three`; name one of `inputs`, or workspace"},
    {"pins:", "local: [one, one]\npins:", "9: `one` stands twice; keep one"},
    {"pins:", "local: [two]\npins:", "9: nothing is kept of the input `two` but digests; retain it, or do not name it"},
    {"name: one", "name: workspace", "8: the workspace is an input of that name already; rename this one"},
    {"name: two", "name: one", "8: a second input named `one` (line 8); rename one"},
    {"path: w}", "path: ../w}", "8: `path` leaves its folder; write it without .."},
    {"path: w}", "path: out}", "8: `path` leaves its folder through a symbolic link, to /etc; copy it into TOP/p"},
    {"/etc/passwd", "/none", "8: `path`: /none: No such file or directory; name what is there"},
    {", path: w}", "}", "8: an input needs `path`; add it"},
    {"retain: false", "retain: no", "8: `retain` is neither true nor false; write one of them"},
    {"/bin/sh, sha256", "bin/sh, sha256", "9: `path` is not absolute; write the whole path"},
    {PLANS_SHA256, "00", "9: `sha256` is not one; write 64 lower-case hexadecimal digits"},
    {PLANS_SHA256, PLANS_SHA256 "00", "9: `sha256` is not one; write 64 lower-case hexadecimal digits"},
    {"aabb", "AABB", "9: `sha256` is not one; write 64 lower-case hexadecimal digits"},
    {"name: sh", "name: launcher", "10: the recorder identifies launcher itself; rename this one"},
    {"name: sh", "name: exhibit-probe", "10: the recorder identifies exhibit-probe itself; rename this one"},
    {"{name: sh, path: /bin/sh}", "{name: sh, path: sh}", "10: `path` is not absolute; write the whole path"},
    {"{name: sh, path: /bin/sh}", "{name: sh, path: /a}, {name: sh, path: /b}",
     "10: a second binary named `sh` (line "
     "10); rename one"},
};

static void faults_at_the_top_are_refused_in_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof top_changes / sizeof top_changes[0]; i++)
        plans_refuse(plans_good, top_changes[i].old, top_changes[i].new, top_changes[i].expected);
}

static void faults_of_a_candidate_are_refused_in_one_line(void **state)
{
    static const struct change inlined[] = {
        {"name: box, ", "", "4: a candidate needs `name`; add it"},
        {", \"{command}\"]", "]", "4: `argv` holds {command} 0 times; write it once, as an item of its own"},
        {"{command}\"]", "{command}\", \"{command}\"]",
         "4: `argv` holds {command} 2 times; write it once, as an item of "
         "its own"},
        {"\"{command}\"]", "\"-c {command}\"]",
         "4: {command} is for the candidate's `argv` alone, as an item of its own"},
        {"--policy={policy}", "{nothing}",
         "4: unknown placeholder at \"{nothing}\"; write {workspace}, {scratch}, "
         "{home}, {tools}, {policy} or {candidate}, or {{ for a brace"},
        {"--policy={policy}", "x{",
         "4: unknown placeholder at \"{\"; write {workspace}, {scratch}, {home}, {tools}, "
         "{policy} or {candidate}, or {{ for a brace"},
        {"--policy={policy}", "{candidate}/x", "4: {candidate} without a folder of candidates; write the path itself"},
        {"policy: sub/p.yaml", "policy: sub/p.yaml, programs: [{name: a, path: /b}]",
         "4: a program needs `get`; add it"},
        {"policy: sub/p.yaml", "policy: sub/p.yaml, programs: [{name: a, path: b, get: c}]",
         "4: `path` is not absolute; write the whole path"},
        {", policy: sub/p.yaml", "", "4: {policy} without a policy; give the candidate one, or remove it"},
        {"sub/p.yaml", "../c/box/p.yaml", "4: `policy` leaves its folder; write it without .."},
        {"/bin/box", "box",
         "4: `argv` begins with a program that is not absolute; write its whole path, or one in "
         "{workspace}, {tools} or {candidate}"},
        {"{tools}/box\", -V", "{tools}/box\", \"{command}\"",
         "5: {command} is for the candidate's `argv` alone, as an item "
         "of its own"},
        {"version_command", "version",
         "5: a candidate has no key `version`; the keys are: name, argv, policy, "
         "version_command, programs"},
    };
    static const struct change used_ones[] = {
        {"{use: box}", "box", "3: `candidate` is not a candidate; write a map"},
        {"use: box", "use: none",
         "3: there is no candidate `none` in c (No such file or directory); name one that is "
         "there"},
        {"use: box", "use: nothing",
         "3: the candidate `nothing` has no TOP/c/nothing/candidate.yaml; add it, or name "
         "another"},
        {"use: box", "use: ../c/box", "3: `../c/box` is not a name; write a-z, 0-9 and -, a letter or digit first"},
        {"use: box", "use: other", "TOP/c/other/candidate.yaml:2: `name` is not the folder's, other; rename one"},
        {"use: box", "use: escaping",
         "TOP/c/escaping/candidate.yaml:3: `policy` leaves its folder; write it without .."},
        {"use: box", "use: bare", "5: {policy} without a policy; give the candidate one, or remove it"},
        {"use: box", "use: box, argv: [x]", "3: a candidate with `use` has no key `argv`; the keys are: use, policy"},
        {"use: box", "use: box, policy: s.yaml",
         "3: `policy` leaves its folder through a symbolic link, to TOP/p/o.yaml; copy it into TOP/c/box"},
        {"use: box", "use: box, policy: ../bare/candidate.yaml", "3: `policy` leaves its folder; write it without .."},
        {"use: box", "use: box, policy: sub/p.yaml",
         "3: `policy`: TOP/c/box/sub/p.yaml: No such file or directory; name "
         "what is there"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof inlined / sizeof inlined[0]; i++)
        plans_refuse(plans_good, inlined[i].old, inlined[i].new, inlined[i].expected);
    for (size_t i = 0; i < sizeof used_ones / sizeof used_ones[0]; i++)
        plans_refuse(plans_used, used_ones[i].old, used_ones[i].new, used_ones[i].expected);
}

static void faults_of_cases_are_refused_in_one_line(void **state)
{
    static const struct change changes[] = {
        {"name: from-file", "name: hello", "17: a second case named `hello` (line 12); rename one"},
        {"name: from-file, ", "", "17: a case needs `name`; add it"},
        {"command: [\"{workspace}/run\"]", "argv: []",
         "17: a case has no key `argv`; the keys are: name, command, stdin, "
         "watchdog_ms, environment"},
        {"[\"{workspace}/run\"]", "[]", "17: `command` has too few items; write at least 1"},
        {"[\"{workspace}/run\"]", "run", "17: `command` is not a list; write [ITEM, ...]"},
        {"[\"{workspace}/run\"]", "[run]",
         "17: `command` begins with a program that is not absolute; write its whole "
         "path, or one in {workspace}, {tools} or {candidate}"},
        {"[\"{workspace}/run\"]", "[\"{command}\"]",
         "17: {command} is for the candidate's `argv` alone, as an item of its "
         "own"},
        {"{{x} {scratch}", "{x}",
         "13: unknown placeholder at \"{x}\"; write {workspace}, {scratch}, {home}, {tools}, "
         "{policy} or {candidate}, or {{ for a brace"},
        {"/w==", "AA==", "13: a NUL, which no argument or variable can hold; remove it"},
        {"/w==", "/x==", "13: `base64` is not base64 (RFC 4648 section 4); write it with padding and without spaces"},
        {"{base64: AAE=}", "{base64: AAE=, file: in.txt}",
         "14: `stdin` is a text, {base64: ...} or {file: ...}; write "
         "one of them"},
        {"{base64: AAE=}", "{}", "14: `stdin` is a text, {base64: ...} or {file: ...}; write one of them"},
        {"{base64: AAE=}", "{text: x}", "14: a map of bytes has no key `text`; the keys are: base64, file"},
        {"{base64: AAE=}", "[x]", "14: `stdin` is a list; write a text"},
        {"in.txt", "out/passwd",
         "17: `file` leaves its folder through a symbolic link, to /etc/passwd; copy it into "
         "TOP/p"},
        {"in.txt", "fifo", "17: TOP/p/fifo is not a regular file; name one"},
        {"watchdog_ms: 5", "watchdog_ms: 0", "15: `watchdog_ms` is out of bounds; write a number from 1 to 3600000"},
        {"watchdog_ms: 5", "watchdog_ms: 3600001",
         "15: `watchdog_ms` is out of bounds; write a number from 1 to "
         "3600000"},
        {"{PATH: /sbin}", "{HOME: /x}", "16: the recorder sets HOME itself, in each run's own folders; remove it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        plans_refuse(plans_good, changes[i].old, changes[i].new, changes[i].expected);
}

static void faults_of_trials_are_refused_in_one_line(void **state)
{
    static const struct change changes[] = {
        {"name: fell", "name: boot", "20: a second trial named `boot` (line 19); rename one"},
        {"    kind: tree\n", "", "20: a trial needs `kind`; add it"},
        {"kind: tree", "kind: bush", "21: `kind` is neither bootstrap nor tree; write one of them"},
        {"lifetime_ms: 1000}", "rounds: 2}", "19: `rounds` is for a tree, and this trial is a bootstrap; remove it"},
        {"lifetime_ms: 1000}", "interval_ms: 2}",
         "19: `interval_ms` is for a tree, and this trial is a bootstrap; remove "
         "it"},
        {"lifetime_ms: 1000}", "ending: {steps: []}}",
         "19: `ending` is for a tree, and this trial is a bootstrap; remove "
         "it"},
        {"lifetime_ms: 1000}", "lifetime_ms: 999}",
         "19: `lifetime_ms` is out of bounds; write a number from 1000 to "
         "120000"},
        {"[tcp]", "[]", "19: `effects` has too few items; write at least 1"},
        {"[tcp]", "[tpc]", "19: there is no effect `tpc`; the effects are: read, read-link, write, tcp, udp"},
        {"[tcp]", "[tcp, udp, tcp]", "19: the effect `tcp` stands twice; keep one"},
        {"rounds: 20", "rounds: 0", "22: `rounds` is out of bounds; write a number from 1 to 1000"},
        {"rounds: 20", "rounds: 1001", "22: `rounds` is out of bounds; write a number from 1 to 1000"},
        {"rounds: 20", "rounds: 9", "27: an ending after 10 rounds of a trial of 9; write at most that many"},
        {"interval_ms: 100", "interval_ms: 10001",
         "23: `interval_ms` is out of bounds; write a number from 1 to 10000"},
        {"lifetime_ms: 4900", "lifetime_ms: 120001",
         "24: `lifetime_ms` is out of bounds; write a number from 1000 to "
         "120000"},
        {"lifetime_ms: 4900", "lifetime_ms: 4899",
         "24: the trial `fell` may end by itself after 4899 ms, before its "
         "ending is over; write `lifetime_ms` of at least 4900, or an earlier "
         "ending"},
        {"after_ms: 1000", "after_ms: 1001",
         "24: the trial `fell` may end by itself after 4900 ms, before its ending is "
         "over; write `lifetime_ms` of at least 4901, or an earlier ending"},
        {"interval_ms: 100", "interval_ms: 101",
         "24: the trial `fell` may end by itself after 4900 ms, before its ending "
         "is over; write `lifetime_ms` of at least 4909, or an earlier ending"},
        {"after_ms: 1000", "after_ms: 120001", "28: `after_ms` is out of bounds; write a number from 0 to 120000"},
        {"      steps:\n", "      first:\n", "26: an ending has no key `first`; the keys are: steps"},
        {"role: grandchild", "role: child",
         "27: `role` is not grandchild, the one that makes many rounds; write "
         "grandchild"},
        {"rounds: 10}", "rounds: 0}", "27: `rounds` is out of bounds; write a number from 1 to 1000"},
        {"after: {role: grandchild, rounds: 10}", "after_ms: 5",
         "27: the first step comes after rounds; write `after: "
         "{role: grandchild, rounds: N}`"},
        {"after_ms: 1000", "after: {role: grandchild, rounds: 12}",
         "28: a later step comes after a time; write "
         "`after_ms: N`"},
        {"after_ms: 1000, ", "", "28: a later step comes after a time; write `after_ms: N`"},
        {"signal: TERM", "signal: HUP", "27: `signal` is neither TERM nor KILL; write one of them"},
        {"to: launcher", "to: everyone", "27: `to` is neither group, launcher nor cgroup; write one of them"},
        {"to: launcher", "to: cgroup", "27: cgroup.kill knows KILL alone; write `signal: KILL`, or another `to`"},
        {"signal: TERM", "exit: parent", "27: a step either sends a signal or is an exit; keep one"},
        {"signal: TERM, to: launcher", "exit: child",
         "27: `exit` is for the parent, and for the first step; write `exit: parent` there"},
        {"signal: KILL, to: group", "exit: parent",
         "28: `exit` is for the parent, and for the first step; write `exit: parent` there"},
        {"signal: TERM, to: launcher", "exit: parent",
         "24: the trial `fell` may end by itself after 4900 ms, before its ending is over; write `lifetime_ms` of at "
         "least 5900, or an earlier ending"},
        {"lifetime_ms: 1000}", "ignores_term: true}",
         "19: `ignores_term` is for a tree, and this trial is a bootstrap; remove it"},
        {"rounds: 20", "ignores_term: yes", "22: `ignores_term` is neither true nor false; write one of them"},
        {", to: launcher", "", "27: a step needs `to`; add it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        plans_refuse(plans_good, changes[i].old, changes[i].new, changes[i].expected);
    plans_refuse(plans_used, "cases:\n", "trials: [{name: t, kind: tree, rounds: 7}]\ncases:\n",
                 "4: the default ending comes after 8 rounds; write at least that many, or an `ending`");
    plans_refuse(
        plans_used, "cases:\n", "trials: [{name: t, kind: tree, interval_ms: 800}]\ncases:\n",
        "4: the trial `t` may end by itself after 8000 ms, before its ending is over; write `lifetime_ms` of at least "
        "8600, or an earlier ending");
    plans_refuse("version: 1\nname: x\ncandidate: {use: bare}\ntrials: []\n", "x", "y",
                 "1: a plan with neither a case nor a trial; write one of them");
}

/* `count` items "UNIT" between brackets. */
static char *many(const char *unit, size_t count)
{
    struct bytes text = {0};
    struct err err;

    assert_int_equal(bytes_add(&text, "[", 1, SIZE_MAX - 1, &err), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(bytes_add(&text, unit, strlen(unit), SIZE_MAX - 1, &err), 0);
    assert_int_equal(bytes_add(&text, "]", 1, SIZE_MAX - 1, &err), 0);
    return (char *)text.data;
}

static void every_list_is_bounded(void **state)
{
    static const struct {
        const char *old, *unit;
        size_t limit;
        const char *expected;
    } lists[] = {
        {"[{name: sh, path: /bin/sh}]", "{},", LIMIT_PINS, "10: `binaries` has 1025 items; write at most 1024"},
        {"[{path: /bin/sh, sha256: " PLANS_SHA256 "}]", "{},", LIMIT_PINS,
         "9: `pins` has 1025 items; write at most 1024"},
        {"[{name: one, path: w}, {name: two, path: /etc/passwd, retain: false}]", "{},", LIMIT_INPUTS,
         "8: `inputs` has 65 items; write at most 64"},
        {"[\"{workspace}/run\"]", "x,", LIMIT_ARGV_COUNT, "17: `command` has 4097 items; write at most 4096"},
        {"[tcp]", "tcp,", 5, "19: `effects` has 6 items; write at most 5"},
        {"\n      steps:\n", "{},", LIMIT_STEPS, "26: `steps` has 17 items; write at most 16"},
        {"\ncases:\n", "{},", LIMIT_CASES, "11: `cases` has 257 items; write at most 256"},
        {"\ntrials:\n", "{},", LIMIT_TRIALS, "18: `trials` has 65 items; write at most 64"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        AUTO_FREE char *list = many(lists[i].unit, lists[i].limit + 1);
        AUTO_FREE char *base = strdup(plans_good), *new = NULL;
        char *below = strstr(base, lists[i].old) + strlen(lists[i].old);

        if (lists[i].old[0] == '\n') { /* the key stands at the old text's end: what is below it goes */
            *below = '\0';
            assert_true(asprintf(&new, "%.*s %s\n", (int)strlen(lists[i].old) - 1, lists[i].old, list) > 0);
        }
        plans_refuse(base, lists[i].old, new != NULL ? new : list, lists[i].expected);
    }
}

static void a_file_that_is_no_plan_is_told_from_one_that_cannot_be_read(void **state)
{
    AUTO_FREE char *large = malloc(LIMIT_YAML_BYTES + 2);
    struct plan plan;
    struct err err = {0};

    (void)state;
    assert_int_equal(plan_read("p/none.yaml", "c", &plan, &err), ERR_SYSTEM);
    assert_string_equal(err.text, "open p/none.yaml: No such file or directory");
    plan_done(&plan);
    assert_int_equal(plan_read("p/fifo", "c", &plan, &err), ERR_USAGE);
    assert_string_equal(err.text, "p/fifo:1: p/fifo is not a regular file; name one");
    plan_done(&plan);
    memset(large, '#', LIMIT_YAML_BYTES + 1);
    large[LIMIT_YAML_BYTES + 1] = '\0';
    plans_put("p/large.yaml", large);
    assert_int_equal(plan_read("p/large.yaml", "c", &plan, &err), ERR_USAGE);
    assert_string_equal(err.text, "p/large.yaml:1: p/large.yaml is larger than 1048576 bytes; make it smaller");
    plan_done(&plan);
    assert_int_equal(plan_parse_recorded(large, LIMIT_YAML_BYTES + 1, &plan, &err), ERR_USAGE);
    assert_string_equal(err.text, "the recorded plan:1: larger than 1048576 bytes; record it again");
    plan_done(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_at_the_top_are_refused_in_one_line),
        cmocka_unit_test(faults_of_a_candidate_are_refused_in_one_line),
        cmocka_unit_test(faults_of_cases_are_refused_in_one_line),
        cmocka_unit_test(faults_of_trials_are_refused_in_one_line),
        cmocka_unit_test(every_list_is_bounded),
        cmocka_unit_test(a_file_that_is_no_plan_is_told_from_one_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, plans_set_up, plans_tear_down);
}
