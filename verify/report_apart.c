/*
 * What a bundle is without, for people and for programs: secret values, and the contents of local inputs.
 */
#include "verify/report.h"

#include "formats/claim.h"

#include <inttypes.h>
#include <string.h>

/* Calls `tell` with each variable that some run has as a secret, once. */
static void report_secrets_each(const struct verdict *verdict, void (*tell)(void *context, const char *name),
                                void *context)
{
    const struct ledger *ledger = &verdict->ledger;
    char told[REPORT_SECRETS][REPORT_SECRET_BYTES];
    size_t count = 0;

    for (size_t i = 0; i < ledger->run_count; i++) {
        const Exhibit__RunStart *start = ledger_told(ledger->runs[i]);

        for (size_t j = 0; j < start->n_secrets; j++) {
            char name[REPORT_SECRET_BYTES];
            bool known = false;

            (void)snprintf(name, sizeof name, "%.*s", (int)start->secrets[j]->name.len,
                           (const char *)start->secrets[j]->name.data);
            for (size_t k = 0; k < count && !known; k++)
                known = strcmp(told[k], name) == 0;
            if (known || count == REPORT_SECRETS)
                continue;
            memcpy(told[count++], name, sizeof name);
            tell(context, name);
        }
    }
}

static void report_secret_print(void *context, const char *name)
{
    FILE *out = context;

    (void)fputc(' ', out);
    text_print_escaped(out, name, strlen(name));
}

static void report_rules_without(FILE *out, const struct verdict *verdict)
{
    const Exhibit__Claim *claim = verdict->claim;
    bool any = false;

    if (claim == NULL)
        return;
    if (verdict->proof_input_blocks > 0) {
        (void)fprintf(out,
                      "%-12s the proof read inputs that are here (%" PRIu64
                      " blocks); which rules rest on them is not known\n",
                      "", verdict->proof_input_blocks);
        return;
    }
    (void)fprintf(out, "%-12s no rule was judged by an input's content. These hold without:", "");
    for (size_t i = 0; i < claim->n_rules; i++) {
        if (!claim->rules[i]->holds)
            continue;
        (void)fprintf(out, "%s %s", any ? "," : "", claim->rules[i]->rule);
        any = true;
    }
    (void)fputs(any ? "\n" : " none\n", out);
}

void report_apart(FILE *out, const struct verdict *verdict)
{
    const struct withheld *withheld = &verdict->withheld;

    if (plan_has_secret(&verdict->plan)) {
        (void)fprintf(out, "%-12s", "secrets");
        report_secrets_each(verdict, report_secret_print, out);
        (void)fputs(" (their values are not in the bundle; that all runs got the same ones is)\n", out);
    }
    for (size_t i = 0; i < withheld->count; i++) {
        const struct withheld_input *input = &withheld->inputs[i];

        (void)fprintf(out, "%-12s ", i == 0 ? "local" : "");
        text_print_escaped(out, input->name, strlen(input->name));
        (void)fprintf(out, ": %" PRIu32 " %s withheld, %" PRIu32 " here\n", input->missing,
                      input->missing == 1 ? "object" : "objects", input->present);
    }
    if (withheld_missing(withheld) > 0)
        report_rules_without(out, verdict);
    if (verdict->source == VERDICT_SOURCE_IN_PART)
        (void)fprintf(out, "%-12s not compared by content: the workspace is local, and this bundle has not its salt\n",
                      "source");
}

static void report_secret_append(void *context, const char *name)
{
    json_t **names = context;

    if (*names != NULL && json_array_append_new(*names, json_string(name)) < 0) {
        json_decref(*names);
        *names = NULL;
    }
}

json_t *report_secrets_json(const struct verdict *verdict)
{
    json_t *names = json_array();

    report_secrets_each(verdict, report_secret_append, &names);
    return names;
}

json_t *report_withheld_json(const struct verdict *verdict)
{
    const struct withheld *withheld = &verdict->withheld;
    const Exhibit__Claim *claim = verdict->claim;
    json_t *inputs = json_array(), *rules = json_array();
    bool told = claim != NULL && withheld_missing(withheld) > 0 && verdict->proof_input_blocks == 0;
    bool failed = inputs == NULL || rules == NULL;
    json_t *whole;

    for (size_t i = 0; !failed && i < withheld->count; i++)
        failed = json_array_append_new(inputs, json_pack("{s:s, s:i, s:i}", "input", withheld->inputs[i].name,
                                                         "objects", (int)withheld->inputs[i].missing, "here",
                                                         (int)withheld->inputs[i].present)) < 0;
    for (size_t i = 0; !failed && told && i < claim->n_rules; i++)
        failed = claim->rules[i]->holds && json_array_append_new(rules, json_string(claim->rules[i]->rule)) < 0;
    whole = failed ? NULL : json_pack("{s:O, s:O}", "inputs", inputs, "rules_without", rules);
    json_decref(inputs);
    json_decref(rules);
    return whole;
}
