/*
 * How a claim looks: JSON, the table, and its comparable form.
 */
#include "base/cleanup.h"
#include "formats/claim.h"
#include "formats/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

static uint8_t digest_a[DIGEST_BYTES], digest_b[DIGEST_BYTES];

static char text_empty[] = "";

/* A claim with one of everything; its parts are static, so each test takes a fresh copy by calling this. */
static Exhibit__Claim *usual_claim(void)
{
    static Exhibit__Claim claim;
    static Exhibit__RuleResult rules[2];
    static Exhibit__RuleResult *rule_list[2] = {&rules[0], &rules[1]};
    static Exhibit__CaseResult cases[2];
    static Exhibit__CaseResult *case_list[2] = {&cases[0], &cases[1]};
    static Exhibit__ArchiveResult archives[2];
    static Exhibit__ArchiveResult *archive_list[2] = {&archives[0], &archives[1]};
    static Exhibit__AttemptResult attempts[4];
    static Exhibit__AttemptResult *attempt_list[4] = {&attempts[0], &attempts[1], &attempts[2], &attempts[3]};
    static Exhibit__RowCount row;
    static Exhibit__RowCount *rows = &row;
    static Exhibit__MessageCount message;
    static Exhibit__MessageCount *messages = &message;
    static Exhibit__TreeMember member;
    static Exhibit__TreeMember *tree = &member;
    static Exhibit__EndingResult ending;
    static Exhibit__EndingResult *endings = &ending;
    static char *evidence[4], *not_measured[2];

    memset(digest_a, 0xa1, sizeof digest_a);
    memset(digest_b, 0x0b, sizeof digest_b);
    exhibit__claim__init(&claim);
    claim.version = 1;
    claim.receipt_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest_a};
    claim.oracle_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest_b};
    claim.decision = (char *)"NO-GO";
    exhibit__rule_result__init(&rules[0]);
    exhibit__rule_result__init(&rules[1]);
    rules[0].rule = (char *)"complete.spoke";
    rules[0].holds = 1;
    rules[1].rule = (char *)"boundary.attempts";
    rules[1].detail = (char *)"2 attempts reached";
    evidence[0] = (char *)"tree strict child 1 tcp";
    evidence[1] = evidence[2] = evidence[3] = text_empty;
    rules[1].evidence = evidence;
    rules[1].n_evidence = 4;
    claim.n_rules = 2;
    claim.rules = rule_list;
    exhibit__case_result__init(&cases[0]);
    exhibit__case_result__init(&cases[1]);
    cases[0].name = cases[1].name = (char *)"npm-pack";
    cases[0].mode = (char *)"baseline";
    cases[1].mode = (char *)"strict";
    cases[0].repeat = cases[1].repeat = 1;
    cases[0].how_case = EXHIBIT__CASE_RESULT__HOW_EXIT;
    cases[0].met = 1;
    cases[1].how_case = EXHIBIT__CASE_RESULT__HOW_SIGNAL;
    cases[1].signal = 9;
    exhibit__archive_result__init(&archives[0]);
    exhibit__archive_result__init(&archives[1]);
    archives[0].path = (ProtobufCBinaryData){5, (uint8_t *)(char *)"a.tgz"};
    archives[0].sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest_a};
    archives[0].members = 42;
    archives[1].path = (ProtobufCBinaryData){2, (uint8_t *)(char *)"\xff\n"};
    cases[0].n_archives = 2;
    cases[0].archives = archive_list;
    claim.n_cases = 2;
    claim.cases = case_list;
    for (unsigned i = 0; i < 4; i++) {
        exhibit__attempt_result__init(&attempts[i]);
        attempts[i].trial = (char *)"tree";
        attempts[i].mode = (char *)"strict";
        attempts[i].role = (char *)"child";
        attempts[i].round = 1 + i / 2;
        attempts[i].effect = (char *)(i % 2 == 0 ? "read" : "tcp");
        attempts[i].outcome = (char *)(i == 3 ? "reached" : "denied");
        attempts[i].errno_value = i == 3 ? 0 : 13;
        attempts[i].at_ns = 1000 + i;
    }
    claim.n_attempts = 4;
    claim.attempts = attempt_list;
    exhibit__row_count__init(&row);
    row.trial = (char *)"tree";
    row.mode = (char *)"strict";
    row.count = 2;
    claim.n_rows = 1;
    claim.rows = &rows;
    exhibit__message_count__init(&message);
    message.trial = (char *)"tree";
    message.mode = (char *)"strict";
    message.tcp = 1;
    claim.n_messages = 1;
    claim.messages = &messages;
    exhibit__tree_member__init(&member);
    member.trial = (char *)"tree";
    member.mode = (char *)"strict";
    member.role = (char *)"child";
    member.pid = 77;
    member.start_time = UINT64_MAX;
    member.ended_by = (char *)"step";
    member.survived_ms = 3;
    claim.n_tree = 1;
    claim.tree = &tree;
    exhibit__ending_result__init(&ending);
    ending.trial = (char *)"tree";
    ending.ended = 1;
    claim.n_endings = 1;
    claim.endings = &endings;
    not_measured[0] = (char *)"write";
    not_measured[1] = (char *)"udp";
    claim.n_not_measured = 2;
    claim.not_measured = not_measured;
    return &claim;
}

static void json_has_every_field_by_its_name(void **state)
{
    static const char wanted[] =
        "{\"schema\":\"exhibit.claim/1\","
        "\"receipt\":\"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1\","
        "\"oracle\":\"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b\","
        "\"prospective\":false,\"decision\":\"NO-GO\",\"rules\":["
        "{\"rule\":\"complete.spoke\",\"holds\":true,\"detail\":\"\",\"evidence\":[]},"
        "{\"rule\":\"boundary.attempts\",\"holds\":false,\"detail\":\"2 attempts reached\","
        "\"evidence\":[\"tree strict child 1 tcp\",\"\",\"\",\"\"]}],\"cases\":["
        "{\"name\":\"npm-pack\",\"mode\":\"baseline\",\"repeat\":1,\"exit\":0,\"signal\":null,\"met\":true,"
        "\"archives\":["
        "{\"path\":\"a.tgz\",\"sha256\":\"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1\","
        "\"members\":42},{\"path\":{\"base64\":\"/wo=\"},\"sha256\":\"\",\"members\":0}]},"
        "{\"name\":\"npm-pack\",\"mode\":\"strict\",\"repeat\":1,\"exit\":null,\"signal\":9,\"met\":false,\"archives\":"
        "[]}],"
        "\"attempts\":[{\"trial\":\"tree\",\"mode\":\"strict\",\"role\":\"child\",\"round\":1,\"effect\":\"read\","
        "\"outcome\":\"denied\",\"errno\":13,\"at_ns\":1000},"
        "{\"trial\":\"tree\",\"mode\":\"strict\",\"role\":\"child\",\"round\":1,\"effect\":\"tcp\","
        "\"outcome\":\"denied\",\"errno\":13,\"at_ns\":1001},"
        "{\"trial\":\"tree\",\"mode\":\"strict\",\"role\":\"child\",\"round\":2,\"effect\":\"read\","
        "\"outcome\":\"denied\",\"errno\":13,\"at_ns\":1002},"
        "{\"trial\":\"tree\",\"mode\":\"strict\",\"role\":\"child\",\"round\":2,\"effect\":\"tcp\","
        "\"outcome\":\"reached\",\"errno\":0,\"at_ns\":1003}],"
        "\"rows\":[{\"trial\":\"tree\",\"mode\":\"strict\",\"count\":2}],"
        "\"messages\":[{\"trial\":\"tree\",\"mode\":\"strict\",\"tcp\":1,\"udp\":0}],"
        "\"tree\":[{\"trial\":\"tree\",\"mode\":\"strict\",\"role\":\"child\",\"pid\":77,"
        "\"start_time\":\"18446744073709551615\",\"ended_by\":\"step\",\"survived_ms\":3}],"
        "\"endings\":[{\"trial\":\"tree\",\"ended\":true,\"quiet\":false}],"
        "\"not_measured\":[\"write\",\"udp\"]}";
    json_t *json = claim_to_json(usual_claim());
    AUTO_FREE char *text = json_dumps(json, JSON_COMPACT);

    (void)state;
    assert_non_null(text);
    assert_string_equal(text, wanted);
    json_decref(json);
}

static void json_keeps_text_that_is_not_utf8_as_base64(void **state)
{
    Exhibit__Claim *claim = usual_claim();
    json_t *json;

    (void)state;
    claim->rules[1]->detail = (char *)"a\xff";
    json = claim_to_json(claim);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(json_array_get(json_object_get(json, "rules"), 1), "detail"), "base64")),
                        "Yf8=");
    json_decref(json);
}

static char *printed(const Exhibit__Claim *claim)
{
    char *text = NULL;
    size_t size_bytes;
    FILE *out = open_memstream(&text, &size_bytes);

    assert_non_null(out);
    claim_print(claim, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_table_is_aligned_and_ends_in_the_decision(void **state)
{
    static const char wanted[] = "cases: useful work (contract met, name, mode, repeat, how it ended)\n"
                                 "  ok  npm-pack  baseline  1  exit 0    2 archives\n"
                                 "  no  npm-pack  strict    1  signal 9\n"
                                 "  what it was to show, and what it wrote: exhibit-replay BUNDLE --explain "
                                 "npm-pack/strict\n"
                                 "rows the probe left\n"
                                 "  tree  strict  2 rows\n"
                                 "messages that the listeners got\n"
                                 "  tree  strict  1 tcp  0 udp\n"
                                 "tree: processes of the probe (pid, ended by, lived on after the last step)\n"
                                 "  tree  strict  child  77  step  3 ms\n"
                                 "endings: how the strict tree took each (gone in time, quiet afterwards)\n"
                                 "  tree  all gone in time  not quiet\n"
                                 "attempts: what the probe tried (effect, outcome, how often)\n"
                                 "  tree  strict  child  read denied 2  tcp denied 1  tcp reached 1\n"
                                 "rules (ok: it holds)\n"
                                 "  ok  complete.spoke\n"
                                 "  no  boundary.attempts  2 attempts reached\n"
                                 "        tree strict child 1 tcp\n"
                                 "        \n"
                                 "        \n"
                                 "        and 1 more\n"
                                 "not measured: write udp\n"
                                 "decision: NO-GO\n";
    AUTO_FREE char *text = printed(usual_claim());

    (void)state;
    assert_string_equal(text, wanted);
}

static void a_prospective_decision_says_so(void **state)
{
    Exhibit__Claim claim = EXHIBIT__CLAIM__INIT, *usual = usual_claim();
    AUTO_FREE char *text = NULL, *hint = NULL;

    (void)state;
    claim.decision = (char *)"GO";
    claim.prospective = 1;
    text = printed(&claim);
    assert_string_equal(text, "decision: GO (prospective)\n");
    usual->prospective = 1;
    hint = printed(usual);
    assert_non_null(strstr(hint, "exhibit-replay BUNDLE --explain npm-pack/strict --oracle FILE\n"));
    usual->prospective = 0;
}

/* Whatever a claim holds, its table has no byte that could steer a terminal. */
static void no_byte_of_a_claim_reaches_the_terminal_raw(void **state)
{
    Exhibit__Claim *claim = usual_claim();
    char *const hostile = (char *)"\x1b[2J\r\\\x7f\xc2\x9b";
    AUTO_FREE char *text = NULL;

    (void)state;
    claim->decision = claim->rules[0]->rule = claim->rules[0]->detail = claim->rules[1]->evidence[0] = hostile;
    claim->cases[0]->name = claim->cases[0]->mode = claim->rows[0]->trial = claim->rows[0]->mode = hostile;
    claim->messages[0]->trial = claim->messages[0]->mode = claim->tree[0]->trial = claim->tree[0]->mode = hostile;
    claim->tree[0]->role = claim->tree[0]->ended_by = claim->not_measured[0] = hostile;
    claim->attempts[0]->trial = claim->attempts[0]->mode = claim->attempts[0]->role = hostile;
    claim->attempts[0]->effect = claim->attempts[0]->outcome = hostile;
    text = printed(claim);
    for (const char *at = text; *at != 0; at++)
        assert_true((*at >= ' ' && *at <= '~') || *at == '\n');
    assert_non_null(strstr(text, "decision: \\x1b[2J\\x0d\\\\\\x7f\\xc2\\x9b\n"));
}

/* More kinds of outcomes than a line holds go on in a further line; none is lost. */
static void attempts_of_many_kinds_are_all_summed_up(void **state)
{
    enum { KINDS = 70 };
    static Exhibit__AttemptResult attempts[KINDS];
    static Exhibit__AttemptResult *list[KINDS];
    static char names[KINDS][8];
    Exhibit__Claim claim = EXHIBIT__CLAIM__INIT;
    AUTO_FREE char *text = NULL;

    (void)state;
    for (int i = 0; i < KINDS; i++) {
        exhibit__attempt_result__init(&attempts[i]);
        (void)snprintf(names[i], sizeof names[i], "<%d>", i);
        attempts[i].effect = names[i];
        attempts[i].outcome = (char *)"denied";
        list[i] = &attempts[i];
    }
    claim.n_attempts = KINDS;
    claim.attempts = list;
    text = printed(&claim);
    for (int i = 0; i < KINDS; i++)
        assert_non_null(strstr(text, names[i]));
}

static void claims_compare_equal_when_only_free_texts_differ(void **state)
{
    AUTO_BYTES struct bytes a = {0}, b = {0}, c = {0};
    Exhibit__Claim *claim = usual_claim();
    struct err err = {0};

    (void)state;
    assert_int_equal(claim_pack_comparable(claim, &a, &err), ERR_OK);
    claim->rules[0]->detail = (char *)"other words";
    claim->rules[1]->n_evidence = 1;
    assert_int_equal(claim_pack_comparable(claim, &b, &err), ERR_OK);
    assert_int_equal(a.size_bytes, b.size_bytes);
    assert_memory_equal(a.data, b.data, a.size_bytes);
    assert_string_equal(claim->rules[0]->detail, "other words");
    claim->rules[1]->holds = 1;
    assert_int_equal(claim_pack_comparable(claim, &c, &err), ERR_OK);
    assert_true(a.size_bytes != c.size_bytes || memcmp(a.data, c.data, a.size_bytes) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_every_field_by_its_name),
        cmocka_unit_test(json_keeps_text_that_is_not_utf8_as_base64),
        cmocka_unit_test(the_table_is_aligned_and_ends_in_the_decision),
        cmocka_unit_test(a_prospective_decision_says_so),
        cmocka_unit_test(no_byte_of_a_claim_reaches_the_terminal_raw),
        cmocka_unit_test(attempts_of_many_kinds_are_all_summed_up),
        cmocka_unit_test(claims_compare_equal_when_only_free_texts_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
