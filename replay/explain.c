/*
 * From a name to a whole explanation: the roots that every chain ends in, the statements, and what there is to explain.
 */
#include "replay/explain.h"

#include "formats/claim.h"
#include "formats/pack_where.h"
#include "replay/explain_build.h"
#include "replay/judge.h"
#include "replay/words.h"

#include <inttypes.h>
#include <string.h>

static json_t *hex_text(const uint8_t *from, size_t size_bytes)
{
    char digits[2 * DIGEST_BYTES + 1] = "";

    if (size_bytes <= DIGEST_BYTES)
        hex_encode(from, size_bytes, digits);
    return json_string(digits);
}

/* Where a chain ends: the footer names the receipt, and that lists the segments of the log. */
static json_t *roots_json(struct explaining *explaining)
{
    const struct pack *pack = explaining->pack;
    struct frame_range footer = pack_footer_where(pack);
    struct digest digest = pack_receipt(pack);
    const Exhibit__Stream *log = explaining->receipt->events;
    struct pack_object object = {0};
    json_t *roots = json_object();

    (void)pack_find(pack, PACK_OBSERVATION, &digest, &object);
    explain_set(explaining, roots, "footer",
                json_pack("{s:I, s:I}", "at", (json_int_t)footer.at, "size", (json_int_t)footer.size_bytes));
    explain_set(explaining, roots, "receipt", explain_object_range(pack, &digest, 0, object.size_bytes));
    explain_set(explaining, roots, "log",
                json_pack("{s:o, s:o, s:I}", "sha256", hex_text(log->sha256.data, log->sha256.len), "size",
                          explain_number(log->size_bytes), "segments", (json_int_t)log->n_segments));
    return roots;
}

/* Puts the explanation together after its events are filled in. NULL: out of memory. */
static json_t *whole_json(struct explaining *explaining, const struct bundle *bundle, const char *name)
{
    const Exhibit__Claim *claim = bundle->claim;
    json_t *whole = json_object();

    explain_set(explaining, whole, "schema", json_string("exhibit.explanation/1"));
    explain_set(explaining, whole, "explains", explain_escaped(name, strlen(name)));
    explain_set(explaining, whole, "receipt", hex_text(claim->receipt_sha256.data, claim->receipt_sha256.len));
    explain_set(explaining, whole, "oracle", hex_text(claim->oracle_sha256.data, claim->oracle_sha256.len));
    explain_set(explaining, whole, "prospective", json_boolean(claim->prospective));
    explain_set(explaining, whole, "decision", json_string(claim->decision));
    explain_set(explaining, whole, "roots", roots_json(explaining));
    explain_set(explaining, whole, "chain", json_incref(explaining->statements));
    explain_set(explaining, whole, "left_out", json_integer((json_int_t)explaining->left_out));
    if (explaining->code == 0)
        return whole;
    json_decref(whole);
    return NULL;
}

/* Finds what the name names, and tells about it. */
static int tell_named(struct explaining *explaining, const char *name)
{
    size_t slashes = 0;
    bool found;

    for (const char *at = name; *at != 0; at++)
        slashes += *at == '/';
    if (strcmp(name, "launcher") == 0)
        found = explain_launcher(explaining);
    else if (slashes == 0)
        found = explain_rule(explaining, name);
    else
        found = slashes > 2 ? explain_attempt(explaining, name) : explain_case(explaining, name);
    if (explaining->code == 0 && !found)
        explaining->code =
            err_set(explaining->err, ERR_USAGE, "--explain %.100s: there is no such rule, attempt or case", name);
    if (explaining->code == 0)
        explain_resolve(explaining);
    return explaining->code;
}

int explain(struct bundle *bundle, const char *name, json_t **out, struct err *err)
{
    struct judge_request request = {.oracle = bundle->oracle};
    struct span first = tables_of_kind(&bundle->facts.tables, EXHIBIT__EVENT__WHAT_RECORDING_START);
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    struct judged judged;
    struct explaining explaining = {.pack = bundle->pack, .judged = &judged, .room = EXPLAIN_STATEMENTS, .err = err};

    explaining.code = receipt_read(bundle->pack, &arena, &receipt, err);
    if (explaining.code < 0)
        return explaining.code;
    request.partial = receipt->partial;
    explaining.receipt = receipt;
    explaining.start_ns = first.count == 0 ? 0 : first.events[0]->at_ns;
    explaining.statements = json_array();
    explaining.code = judge_prepare(&bundle->facts, &request, &judged, err);
    if (explaining.code == 0)
        explaining.code = tell_named(&explaining, name);
    *out = explaining.code < 0 ? NULL : whole_json(&explaining, bundle, name);
    json_decref(explaining.statements);
    table_free(explaining.wants);
    return explaining.code;
}

/* One line for the rounds of a role in a run of a trial. */
static void list_rows(const struct bundle *bundle, const struct oracle_trial *trial, Exhibit__Mode mode, FILE *out)
{
    const struct run *run = tables_run(&bundle->facts.tables, EXHIBIT__RUN_KIND__RUN_TRIAL, trial->name, mode, 1);

    for (size_t i = 0; run != NULL && i < run->derived->row_count; i++) {
        const struct row *row = &run->derived->rows[i], *next = row + 1;

        if (i > 0 && row[-1].role == row->role)
            continue;
        while (i + (size_t)(next - row) < run->derived->row_count && next->role == row->role)
            next++;
        (void)fputs("  ", out);
        text_print_escaped(out, trial->name, strlen(trial->name));
        (void)fprintf(out, "/%s/%s/ROUND/EFFECT, ROUND %" PRIu32, word_of_mode((int)mode), word_of_role(row->role),
                      row->round);
        if (next - row > 1)
            (void)fprintf(out, " to %" PRIu32, next[-1].round);
        (void)fputs(", EFFECT", out);
        for (size_t j = 0; j < run->effect_count; j++)
            (void)fprintf(out, " %s", word_of_effect((int)run->effects[j]));
        (void)fputc('\n', out);
    }
}

void explain_list(const struct bundle *bundle, FILE *out)
{
    (void)fputs("rules:\n", out);
    for (int i = 0; i < RULE_COUNT; i++)
        (void)fprintf(out, "  %s\n", rules[i].name);
    if (explain_launcher_run(&bundle->facts.tables) != NULL)
        (void)fputs("what the launcher does by itself:\n  launcher\n", out);
    (void)fputs("cases:\n", out);
    for (size_t i = 0; i < bundle->claim->n_cases; i++) {
        const Exhibit__CaseResult *result = bundle->claim->cases[i];

        (void)fputs("  ", out);
        text_print_escaped(out, result->name, strlen(result->name));
        (void)fprintf(out, "/%s/%" PRIu32 "\n", result->mode, result->repeat);
    }
    (void)fputs("attempts (without the mode: baseline and strict):\n", out);
    for (size_t i = 0; i < bundle->oracle->trial_count; i++)
        for (int mode = EXHIBIT__MODE__MODE_BASELINE; mode <= EXHIBIT__MODE__MODE_CONTROL; mode++)
            list_rows(bundle, &bundle->oracle->trials[i], (Exhibit__Mode)mode, out);
}
