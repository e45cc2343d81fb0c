/*
 * Both directions: a claim that says another thing than the evidence, more than it, or less, is refuted by name.
 */
#include "verify/proof.h"
#include "verify/statement.h"
#include "verify_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct pair {
    struct scene *scene;
    struct scene_oracle oracle;
    Exhibit__Claim *claimed;
    Exhibit__Claim *proven;
};

static Exhibit__Claim *derive(struct pair *pair)
{
    struct evidence evidence = scene_evidence(pair->scene);
    Exhibit__Claim *claim = NULL;
    struct err err = {0};

    if (proof_derive(&evidence, scene_link_oracle(&pair->oracle), &claim, &err) != 0)
        fail_msg("%s", err.text);
    return claim;
}

static void set_up(struct pair *pair)
{
    *pair = (struct pair){.scene = scene_good("plan", "oracle")};
    scene_fill_oracle(&pair->oracle, pair->scene);
    scene_seal(pair->scene);
    pair->claimed = derive(pair);
    pair->proven = derive(pair);
}

static void tear_down(struct pair *pair)
{
    exhibit__claim__free_unpacked(pair->claimed, NULL);
    exhibit__claim__free_unpacked(pair->proven, NULL);
    scene_free(pair->scene);
}

static void set_text(char **text, const char *to)
{
    free(*text);
    *text = strdup(to);
}

/* ---- one change of the claim for each of its fields ---- */

static void receipt(Exhibit__Claim *c)
{
    c->receipt_sha256.data[0] ^= 1;
}

static void oracle(Exhibit__Claim *c)
{
    c->oracle_sha256.data[31] ^= 128;
}

static void prospective(Exhibit__Claim *c)
{
    c->prospective = true;
}

static void decision(Exhibit__Claim *c)
{
    set_text(&c->decision, "NO-GO");
}

static void rule_holds(Exhibit__Claim *c)
{
    c->rules[3]->holds = false;
}

static void rule_name(Exhibit__Claim *c)
{
    set_text(&c->rules[3]->rule, "complete.wishes");
}

static void rule_gone(Exhibit__Claim *c)
{
    exhibit__rule_result__free_unpacked(c->rules[--c->n_rules], NULL);
}

static void case_exit(Exhibit__Claim *c)
{
    c->cases[2]->exit = 1;
}

static void case_signal(Exhibit__Claim *c)
{
    c->cases[2]->how_case = EXHIBIT__CASE_RESULT__HOW_SIGNAL;
}

static void case_met(Exhibit__Claim *c)
{
    c->cases[0]->met = false;
}

static void case_repeat(Exhibit__Claim *c)
{
    c->cases[1]->repeat = 3;
}

static void archive_path(Exhibit__Claim *c)
{
    c->cases[0]->archives[0]->path.data[0] = 'X';
}

static void archive_digest(Exhibit__Claim *c)
{
    c->cases[0]->archives[0]->sha256.data[5] ^= 4;
}

static void archive_members(Exhibit__Claim *c)
{
    c->cases[0]->archives[0]->members++;
}

static void attempt_outcome(Exhibit__Claim *c)
{
    set_text(&c->attempts[30]->outcome, "reached");
}

static void attempt_errno(Exhibit__Claim *c)
{
    c->attempts[30]->errno_value = 1;
}

static void attempt_time(Exhibit__Claim *c)
{
    c->attempts[30]->at_ns++;
}

static void attempt_round(Exhibit__Claim *c)
{
    c->attempts[49]->round = 7;
}

static void attempt_gone(Exhibit__Claim *c)
{
    exhibit__attempt_result__free_unpacked(c->attempts[--c->n_attempts], NULL);
}

static void row_count(Exhibit__Claim *c)
{
    c->rows[1]->count--;
}

static void message_tcp(Exhibit__Claim *c)
{
    c->messages[0]->tcp = 0;
}

static void message_udp(Exhibit__Claim *c)
{
    c->messages[1]->udp = 1;
}

static void tree_pid(Exhibit__Claim *c)
{
    c->tree[4]->pid++;
}

static void tree_start(Exhibit__Claim *c)
{
    c->tree[4]->start_time++;
}

static void tree_end(Exhibit__Claim *c)
{
    set_text(&c->tree[5]->ended_by, "cleanup");
}

static void tree_survived(Exhibit__Claim *c)
{
    c->tree[5]->survived_ms += 1000;
}

static void not_measured(Exhibit__Claim *c)
{
    c->not_measured = calloc(1, sizeof(char *));
    c->not_measured[c->n_not_measured++] = strdup("udp");
}

static void other_order(Exhibit__Claim *c)
{
    Exhibit__AttemptResult *first = c->attempts[0];

    c->attempts[0] = c->attempts[1];
    c->attempts[1] = first;
}

static const struct lie {
    void (*tell)(Exhibit__Claim *claim);
    const char *text;
} lies[] = {
    {receipt, "the claim states \"receipt: "},
    {oracle, "the claim states \"oracle: "},
    {prospective, "the claim states \"prospective: true\", the evidence shows \"false\""},
    {decision, "the claim states \"decision: NO-GO\", the evidence shows \"GO\""},
    {rule_holds, "the claim states \"rule complete.controls: does not hold\", the evidence shows \"holds\""},
    {rule_name, "the claim states \"rule complete.wishes: holds\", for which there is no evidence"},
    {rule_gone, "the evidence shows \"rule cancel.quiet: holds\", which the claim does not state"},
    {case_exit, "the claim states \"case build/strict 1: exit 1, met\", the evidence shows \"exit 0, met\""},
    {case_signal, "the claim states \"case build/strict 1: signal 0, met\""},
    {case_met, "the claim states \"case build/baseline 1: exit 0, not met\""},
    {case_repeat, "the claim states \"case build/baseline 3: exit 0, met\", for which there is no evidence"},
    {archive_path, "the claim states \"archive Xut.tgz of case build/baseline 1"},
    {archive_digest, "the claim states \"archive out.tgz of case build/baseline 1: "},
    {archive_members, "3 members\", the evidence shows"},
    {attempt_outcome, "the claim states \"attempt tree/strict/child/1/read: reached, errno 13"},
    {attempt_errno, "the claim states \"attempt tree/strict/child/1/read: denied, errno 1,"},
    {attempt_time, "the claim states \"attempt tree/strict/child/1/read: denied"},
    {attempt_round, "the claim states \"attempt tree/strict/grandchild/7/udp: denied"},
    {attempt_gone, "the evidence shows \"attempt tree/strict/grandchild/3/udp: denied"},
    {row_count, "the claim states \"rows of tree/strict: 4\", the evidence shows \"5\""},
    {message_tcp, "the claim states \"messages of tree/baseline: tcp 0, udp 5\""},
    {message_udp, "the claim states \"messages of tree/strict: tcp 0, udp 1\""},
    {tree_pid, "the claim states \"process tree/strict/child: pid 703,"},
    {tree_start, "the claim states \"process tree/strict/child: pid 702, start 7003"},
    {tree_end, "ended by cleanup"},
    {tree_survived, "the claim states \"process tree/strict/grandchild: "},
    {not_measured, "the claim states \"effect udp: not measured\", for which there is no evidence"},
    {other_order, "in another order or form"},
};

static void equal_claims_have_no_finding(void **state)
{
    struct pair pair;
    struct findings findings = {0};
    struct err err = {0};

    (void)state;
    set_up(&pair);
    set_text(&pair.claimed->rules[0]->detail, "worded as another judge would");
    assert_int_equal(statement_compare(pair.claimed, pair.proven, &findings, &err), 0);
    assert_int_equal(findings.count, 0);
    finding_done(&findings);
    tear_down(&pair);
}

static void each_field_of_a_claim_is_refuted_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct pair pair;
        struct findings findings = {0};
        struct err err = {0};
        bool said = false;

        set_up(&pair);
        lies[i].tell(pair.claimed);
        assert_int_equal(statement_compare(pair.claimed, pair.proven, &findings, &err), 0);
        for (size_t f = 0; f < findings.kept; f++)
            said = said || strstr(findings.texts[f], lies[i].text) != NULL;
        if (!said)
            fail_msg("lie %zu: \"%s\" is not said, but \"%s\"", i, lies[i].text,
                     findings.kept > 0 ? findings.texts[0] : "nothing");
        finding_done(&findings);
        tear_down(&pair);
    }
}

/* What is printed of a finding cannot steer a terminal, whatever names are in it. */
static void findings_are_printable(void **state)
{
    struct findings findings = {0};

    (void)state;
    finding_add(&findings, "name \"%s\"", "a\x1b[31m\xff");
    assert_string_equal(findings.texts[0], "name \"a\\x1b[31m\\xff\"");
    finding_done(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_claims_have_no_finding),
        cmocka_unit_test(each_field_of_a_claim_is_refuted_by_name),
        cmocka_unit_test(findings_are_printable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
