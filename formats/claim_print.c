/*
 * A claim as a short table for people. Every section is walked twice by the same function: once to measure the
 * columns, once to print them.
 */
#include "formats/claim.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum {
    COLUMNS = 6,
    WIDEST_COLUMN = 40, /* a longer text is printed whole, but moves nobody else */
    SHOWN_EVIDENCE = 3, /* of a rule that does not hold */
    SHOWN_CELLS = 32,   /* effect and outcome pairs in one line */
};

/* A table under way: the columns of a line are filled from left to right. */
struct table {
    FILE *out; /* NULL while measuring */
    size_t widths[COLUMNS];
    size_t column;
    size_t owed; /* spaces before the next cell, so that no line ends in spaces */
};

/* How many columns the escaped text takes: what text_print_escaped writes. */
static size_t escaped_width(const char *text)
{
    size_t width = 0;

    for (; *text != 0; text++)
        width += *text == '\\' ? 2 : *text >= ' ' && *text <= '~' ? 1 : 4;
    return width;
}

static void cell(struct table *table, const char *text)
{
    size_t width = escaped_width(text), *widest = &table->widths[table->column];

    table->column++;
    if (table->out == NULL) {
        if (width > *widest && width <= WIDEST_COLUMN)
            *widest = width;
        return;
    }
    (void)fprintf(table->out, "%*s", (int)table->owed, "");
    text_print_escaped(table->out, text, strlen(text));
    table->owed = (width < *widest ? *widest - width : 0) + 2;
}

static void cell_number(struct table *table, uint64_t number, const char *unit)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%" PRIu64 "%s", number, unit);
    cell(table, text);
}

static void line_begin(struct table *table)
{
    table->column = 0;
    table->owed = 2;
}

static void line_end(struct table *table)
{
    if (table->out != NULL)
        (void)fputc('\n', table->out);
}

/* Prints a heading and the lines that `lines` makes; nothing where there is none. */
static void section(FILE *out, const char *heading, size_t count, const Exhibit__Claim *claim,
                    void (*lines)(struct table *table, const Exhibit__Claim *claim))
{
    struct table table = {0};

    if (count == 0)
        return;
    (void)fprintf(out, "%s\n", heading);
    lines(&table, claim);
    table.out = out;
    lines(&table, claim);
}

static void case_lines(struct table *table, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_cases; i++) {
        const Exhibit__CaseResult *result = claim->cases[i];
        char text[64];

        line_begin(table);
        cell(table, result->met ? "ok" : "no");
        cell(table, result->name);
        cell(table, result->mode);
        cell_number(table, result->repeat, "");
        if (result->how_case == EXHIBIT__CASE_RESULT__HOW_EXIT)
            (void)snprintf(text, sizeof text, "exit %" PRIu32, result->exit);
        else if (result->how_case == EXHIBIT__CASE_RESULT__HOW_SIGNAL)
            (void)snprintf(text, sizeof text, "signal %" PRIu32, result->signal);
        else
            (void)snprintf(text, sizeof text, "no end seen");
        cell(table, text);
        if (result->n_archives > 0)
            cell_number(table, result->n_archives, result->n_archives == 1 ? " archive" : " archives");
        line_end(table);
    }
}

/* How to see what an unmet case wrote: of the first one. */
static void unmet_hint(FILE *out, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_cases; i++) {
        const Exhibit__CaseResult *result = claim->cases[i];

        if (result->met)
            continue;
        (void)fputs("  what it was to show, and what it wrote: exhibit-replay BUNDLE --explain ", out);
        text_print_escaped(out, result->name, strlen(result->name));
        (void)fputc('/', out);
        text_print_escaped(out, result->mode, strlen(result->mode));
        (void)fputs(claim->prospective ? " --oracle FILE\n" : "\n", out);
        return;
    }
}

static void row_lines(struct table *table, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_rows; i++) {
        line_begin(table);
        cell(table, claim->rows[i]->trial);
        cell(table, claim->rows[i]->mode);
        cell_number(table, claim->rows[i]->count, claim->rows[i]->count == 1 ? " row" : " rows");
        line_end(table);
    }
}

static void message_lines(struct table *table, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_messages; i++) {
        line_begin(table);
        cell(table, claim->messages[i]->trial);
        cell(table, claim->messages[i]->mode);
        cell_number(table, claim->messages[i]->tcp, " tcp");
        cell_number(table, claim->messages[i]->udp, " udp");
        line_end(table);
    }
}

static void tree_lines(struct table *table, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_tree; i++) {
        const Exhibit__TreeMember *member = claim->tree[i];

        line_begin(table);
        cell(table, member->trial);
        cell(table, member->mode);
        cell(table, member->role);
        if (member->pid == 0)
            cell(table, "no identity");
        else
            cell_number(table, member->pid, "");
        cell(table, member->ended_by);
        cell_number(table, member->survived_ms, " ms");
        line_end(table);
    }
}

static void ending_lines(struct table *table, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_endings; i++) {
        const Exhibit__EndingResult *ending = claim->endings[i];

        line_begin(table);
        cell(table, ending->trial);
        cell(table, ending->ended ? "all gone in time" : "not all gone in time");
        cell(table, ending->quiet ? "quiet" : "not quiet");
        line_end(table);
    }
}

/* Sums up attempts[from ...] of one trial, mode and role in one line. Returns the index of the first one not in it. */
static size_t attempt_line(struct table *table, const Exhibit__Claim *claim, size_t from)
{
    const Exhibit__AttemptResult *first = claim->attempts[from];
    const Exhibit__AttemptResult *kinds[SHOWN_CELLS];
    uint64_t counts[SHOWN_CELLS] = {0};
    size_t kind_count = 0, i;

    for (i = from; i < claim->n_attempts; i++) {
        const Exhibit__AttemptResult *attempt = claim->attempts[i];
        size_t kind = 0;

        if (strcmp(attempt->trial, first->trial) != 0 || strcmp(attempt->mode, first->mode) != 0 ||
            strcmp(attempt->role, first->role) != 0)
            break;
        while (kind < kind_count && (strcmp(kinds[kind]->effect, attempt->effect) != 0 ||
                                     strcmp(kinds[kind]->outcome, attempt->outcome) != 0))
            kind++;
        if (kind == SHOWN_CELLS)
            break; /* the rest gets a line of its own */
        if (kind == kind_count)
            kinds[kind_count++] = attempt;
        counts[kind]++;
    }
    line_begin(table);
    cell(table, first->trial);
    cell(table, first->mode);
    cell(table, first->role);
    for (size_t kind = 0; kind < kind_count && table->out != NULL; kind++) {
        (void)fprintf(table->out, "%*s", (int)table->owed, "");
        text_print_escaped(table->out, kinds[kind]->effect, strlen(kinds[kind]->effect));
        (void)fputc(' ', table->out);
        text_print_escaped(table->out, kinds[kind]->outcome, strlen(kinds[kind]->outcome));
        (void)fprintf(table->out, " %" PRIu64, counts[kind]);
        table->owed = 2;
    }
    line_end(table);
    return i;
}

static void attempt_lines(struct table *table, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_attempts;)
        i = attempt_line(table, claim, i);
}

/* The evidence of a rule that does not hold, cut to a few lines. */
static void evidence_lines(FILE *out, const Exhibit__RuleResult *rule)
{
    for (size_t i = 0; i < rule->n_evidence && i < SHOWN_EVIDENCE; i++) {
        (void)fputs("        ", out);
        text_print_escaped(out, rule->evidence[i], strlen(rule->evidence[i]));
        (void)fputc('\n', out);
    }
    if (rule->n_evidence > SHOWN_EVIDENCE)
        (void)fprintf(out, "        and %zu more\n", rule->n_evidence - SHOWN_EVIDENCE);
}

static void rule_lines(struct table *table, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_rules; i++) {
        const Exhibit__RuleResult *rule = claim->rules[i];

        line_begin(table);
        cell(table, rule->holds ? "ok" : "no");
        cell(table, rule->rule);
        if (rule->detail[0] != 0)
            cell(table, rule->detail);
        line_end(table);
        if (table->out != NULL && !rule->holds)
            evidence_lines(table->out, rule);
    }
}

void claim_print(const Exhibit__Claim *claim, FILE *out)
{
    section(out, "cases: useful work (contract met, name, mode, repeat, how it ended)", claim->n_cases, claim,
            case_lines);
    unmet_hint(out, claim);
    section(out, "rows the probe left", claim->n_rows, claim, row_lines);
    section(out, "messages that the listeners got", claim->n_messages, claim, message_lines);
    section(out, "tree: processes of the probe (pid, ended by, lived on after the last step)", claim->n_tree, claim,
            tree_lines);
    section(out, "endings: how the strict tree took each (gone in time, quiet afterwards)", claim->n_endings, claim,
            ending_lines);
    section(out, "attempts: what the probe tried (effect, outcome, how often)", claim->n_attempts, claim,
            attempt_lines);
    section(out, "rules (ok: it holds)", claim->n_rules, claim, rule_lines);
    if (claim->n_not_measured > 0)
        (void)fputs("not measured:", out);
    for (size_t i = 0; i < claim->n_not_measured; i++) {
        (void)fputc(' ', out);
        text_print_escaped(out, claim->not_measured[i], strlen(claim->not_measured[i]));
    }
    if (claim->n_not_measured > 0)
        (void)fputc('\n', out);
    (void)fputs("decision: ", out);
    text_print_escaped(out, claim->decision, strlen(claim->decision));
    (void)fputs(claim->prospective ? " (prospective)\n" : "\n", out);
}
