/*
 * Finds the runs that the oracle names, asks every rule, and has the claim written.
 */
#include "replay/judge.h"

#include "replay/archives.h"
#include "replay/claim_make.h"

#include <string.h>

/* Finds the runs of all trials. */
static int find_trials(struct facts *facts, struct judged *judged, struct err *err)
{
    const struct oracle *oracle = judged->oracle;
    const struct tables *tables = &facts->tables;

    judged->trials = arena_take(&facts->tables.arena, (oracle->trial_count + 1) * sizeof *judged->trials);
    if (judged->trials == NULL)
        return err_set(err, ERR_SYSTEM, "memory for %zu trials", oracle->trial_count);
    for (size_t i = 0; i < oracle->trial_count; i++) {
        const char *name = oracle->trials[i].name;
        const Exhibit__RunKind kind = EXHIBIT__RUN_KIND__RUN_TRIAL;

        judged->trials[i] = (struct trial){
            .expected = &oracle->trials[i],
            .baseline = tables_run(tables, kind, name, EXHIBIT__MODE__MODE_BASELINE, 1),
            .strict = tables_run(tables, kind, name, EXHIBIT__MODE__MODE_STRICT, 1),
            .controls = {tables_run(tables, kind, name, EXHIBIT__MODE__MODE_CONTROL, 1),
                         tables_run(tables, kind, name, EXHIBIT__MODE__MODE_CONTROL, 2)},
        };
    }
    return 0;
}

/* Finds the runs of all cases, and judges each. */
static int judge_cases(struct facts *facts, struct judged *judged, struct err *err)
{
    const struct oracle *oracle = judged->oracle;

    judged->cases = arena_take(&facts->tables.arena, (oracle->case_count + 1) * sizeof *judged->cases);
    if (judged->cases == NULL)
        return err_set(err, ERR_SYSTEM, "memory for %zu cases", oracle->case_count);
    for (size_t i = 0; i < oracle->case_count; i++) {
        static const struct {
            Exhibit__Mode mode;
            uint32_t repeat;
        } wanted[CASE_RUNS] = {[CASE_BASELINE] = {EXHIBIT__MODE__MODE_BASELINE, 1},
                               [CASE_BASELINE_AGAIN] = {EXHIBIT__MODE__MODE_BASELINE, 2},
                               [CASE_STRICT] = {EXHIBIT__MODE__MODE_STRICT, 1}};
        struct judged_case *judged_case = &judged->cases[i];

        judged_case->expected = &oracle->cases[i];
        for (int which = 0; which < CASE_RUNS; which++) {
            struct run *run = tables_run(&facts->tables, EXHIBIT__RUN_KIND__RUN_CASE, oracle->cases[i].name,
                                         wanted[which].mode, wanted[which].repeat);

            judged_case->runs[which] = run;
            if (run != NULL && match_case(facts, judged_case->expected, run, &judged_case->matches[which], err) < 0)
                return err->code;
        }
    }
    return 0;
}

int judge_prepare(struct facts *facts, const struct judge_request *request, struct judged *out, struct err *err)
{
    int code;

    *out = (struct judged){.facts = facts, .oracle = request->oracle, .partial = request->partial};
    code = find_trials(facts, out, err);
    if (code == 0)
        code = judge_cases(facts, out, err);
    if (code == 0)
        outcomes_judge(facts, request->oracle);
    return code;
}

int judge_facts(struct facts *facts, const struct judge_request *request, const Exhibit__Claim **out, struct err *err)
{
    struct judged judged;
    struct finding *findings = arena_take(&facts->tables.arena, RULE_COUNT * sizeof *findings);
    int code = findings == NULL ? err_set(err, ERR_SYSTEM, "memory for the rules") : archives_check(facts, err);

    if (code == 0)
        code = judge_prepare(facts, request, &judged, err);
    for (int i = 0; i < RULE_COUNT && code == 0; i++)
        code = rules[i].check(&judged, &findings[i], err);
    return code < 0 ? code : claim_make(&judged, request, findings, out, err);
}
