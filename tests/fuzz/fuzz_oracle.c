/* An oracle's YAML, and the questions that are asked of one that was accepted. */
#include "formats/oracle.h"
#include "formats/plan.h"
#include "fuzz.h"

static const char plan_text[] = "version: 1\nname: p\ncandidate: {name: c, argv: [/c, \"{command}\"]}\n"
                                "cases: [{name: build, command: [/bin/true]}]\n"
                                "trials: [{name: tree, kind: tree}]\n";

static void line(void *context, const char *text, bool wider)
{
    (void)context;
    (void)wider;
    fuzz_want(text[0] != '\0' && strchr(text, '\n') == NULL, "what is described is one line");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static struct plan plan;
    struct oracle oracle = {0};
    struct err err = {0};
    int code;

    if (plan.name == NULL)
        fuzz_want(plan_parse_recorded(plan_text, strlen(plan_text), &plan, &err) == 0, "the plan is one");
    code = oracle_parse("o", data, size_bytes, &oracle, &err);
    fuzz_want_answer(code, &err);
    if (code == 0) {
        oracle_describe(&oracle, line, NULL);
        for (size_t i = 0; effect_names[i] != NULL; i++)
            fuzz_want(oracle_denial_of(&oracle, effect_names[i]) != NULL, "each effect has its denials");
        fuzz_want_answer(oracle_fits_plan("o", &oracle, &plan, &err), &err);
        fuzz_want_answer(oracle_names_cases("o", &oracle, &plan, &err), &err);
    }
    oracle_done(&oracle);
    return 0;
}
