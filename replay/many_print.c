/*
 * Lines for people and lines for programs. Paths and texts may hold anything: nothing of them may steer a terminal.
 */
#include "replay/many_print.h"

#include "base/cleanup.h"
#include "formats/claim.h"

#include <jansson.h>
#include <string.h>

void summary_add(struct summary *summary, const struct outline *outline)
{
    summary->bundles++;
    if (outline->err.code == ERR_SYSTEM) {
        summary->unread++;
    } else if (outline->err.code != ERR_OK) {
        summary->malformed++;
    } else {
        summary->pairs[outline->old][outline->derived]++;
        summary->differing += outline->differing > 0;
        for (size_t i = 0; i < RULE_COUNT; i++)
            summary->changed[i] += outline->changed >> i & 1;
    }
}

static const char *failure_word(const struct err *err)
{
    return err->code == ERR_SYSTEM ? "could not be read" : "malformed or false";
}

static void outline_print_text(const struct outline *outline, FILE *out)
{
    const char *before = ": ";

    text_print_escaped(out, outline->path, strlen(outline->path));
    if (outline->err.code != ERR_OK) {
        (void)fprintf(out, ": %s\n", failure_word(&outline->err));
        return;
    }
    (void)fprintf(out, ": %s -> %s%s", decision_word(outline->old), decision_word(outline->derived),
                  outline->prospective ? " (prospective)" : "");
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if ((outline->changed >> i & 1) == 0)
            continue;
        (void)fprintf(out, "%s%s %s", before, rules[i].name, outline->holds >> i & 1 ? "holds" : "fails");
        before = ", ";
    }
    if (outline->differing > 0)
        (void)fprintf(out, "; the recorded claim does not follow, %zu statements differ", outline->differing);
    (void)fputc('\n', out);
}

/* A text as JSON has it; one that is not UTF-8 is escaped as on a terminal. NULL: out of memory. */
static json_t *text_json(const char *from)
{
    json_t *whole = json_string(from);
    AUTO_FREE char *text = NULL;
    size_t size_bytes = 0;
    FILE *out;

    if (whole != NULL)
        return whole;
    out = open_memstream(&text, &size_bytes);
    if (out == NULL)
        return NULL;
    text_print_escaped(out, from, strlen(from));
    return fclose(out) == 0 ? json_string(text) : NULL;
}

static json_t *changes_json(const struct outline *outline)
{
    json_t *changes = json_array();

    for (size_t i = 0; i < RULE_COUNT; i++)
        if ((outline->changed >> i & 1) != 0)
            (void)json_array_append_new(
                changes, json_pack("{s:s, s:b}", "rule", rules[i].name, "holds", (int)(outline->holds >> i & 1)));
    return changes;
}

static json_t *decision_json(enum decision decision)
{
    return decision == DECISION_NONE ? json_null() : json_string(decision_word(decision));
}

/* NULL: out of memory. */
static json_t *outline_json(const struct outline *outline)
{
    char receipt[2 * DIGEST_BYTES + 1], oracle[2 * DIGEST_BYTES + 1];

    if (outline->err.code != ERR_OK)
        return json_pack("{s:s, s:o, s:{s:s, s:o}}", "schema", "exhibit.replay/1", "bundle", text_json(outline->path),
                         "error", "kind", failure_word(&outline->err), "text", text_json(outline->err.text));
    hex_encode(outline->receipt.bytes, DIGEST_BYTES, receipt);
    hex_encode(outline->oracle.bytes, DIGEST_BYTES, oracle);
    return json_pack("{s:s, s:o, s:s, s:s, s:b, s:o, s:s, s:o, s:I}", "schema", "exhibit.replay/1", "bundle",
                     text_json(outline->path), "receipt", receipt, "oracle", oracle, "prospective",
                     (int)outline->prospective, "recorded", decision_json(outline->old), "decision",
                     decision_word(outline->derived), "rules_changed", changes_json(outline), "differing",
                     (json_int_t)outline->differing);
}

/* Writes a JSON text as one line, and releases it. A NULL could not be made. */
static bool line_json(json_t *json, FILE *out)
{
    bool done = json != NULL && json_dumpf(json, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF;

    json_decref(json);
    return done;
}

bool outline_print(const struct outline *outline, bool as_json, FILE *out)
{
    if (as_json)
        return line_json(outline_json(outline), out);
    outline_print_text(outline, out);
    return !ferror(out);
}

static json_t *summary_json(const struct summary *summary)
{
    json_t *pairs = json_array(), *changed = json_object();

    for (enum decision old = 0; old < DECISION_ROOM; old++)
        for (enum decision derived = 0; derived < DECISION_ROOM; derived++)
            if (summary->pairs[old][derived] > 0)
                (void)json_array_append_new(pairs, json_pack("{s:o, s:s, s:I}", "recorded", decision_json(old),
                                                             "decision", decision_word(derived), "count",
                                                             (json_int_t)summary->pairs[old][derived]));
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (summary->changed[i] > 0)
            (void)json_object_set_new(changed, rules[i].name, json_integer((json_int_t)summary->changed[i]));
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "schema", "exhibit.replays/1", "bundles",
                     (json_int_t)summary->bundles, "malformed", (json_int_t)summary->malformed, "unread",
                     (json_int_t)summary->unread, "differing", (json_int_t)summary->differing, "decisions", pairs,
                     "rules_changed", changed);
}

static void summary_print_text(const struct summary *summary, FILE *out)
{
    (void)fprintf(out, "%zu bundle%s: %zu replayed, %zu malformed or false, %zu could not be read\n", summary->bundles,
                  summary->bundles == 1 ? "" : "s", summary->bundles - summary->malformed - summary->unread,
                  summary->malformed, summary->unread);
    for (enum decision old = 0; old < DECISION_ROOM; old++)
        for (enum decision derived = 0; derived < DECISION_ROOM; derived++)
            if (summary->pairs[old][derived] > 0)
                (void)fprintf(out, "  %s -> %s: %zu\n", decision_word(old), decision_word(derived),
                              summary->pairs[old][derived]);
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (summary->changed[i] > 0)
            (void)fprintf(out, "  %s changed: %zu\n", rules[i].name, summary->changed[i]);
    if (summary->differing > 0)
        (void)fprintf(out, "  recorded claims that do not follow: %zu\n", summary->differing);
}

bool summary_print(const struct summary *summary, bool as_json, FILE *out)
{
    if (as_json)
        return line_json(summary_json(summary), out);
    summary_print_text(summary, out);
    return !ferror(out);
}
