/*
 * Statements by subject: sorted, then walked in step.
 */
#include "verify/statement.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "base/sort.h"
#include "base/table.h"
#include "formats/claim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct statement {
    const char *subject;
    const char *says;
};

struct statement_set {
    struct arena arena; /* the texts */
    struct statement *items;
    size_t count;
    bool failed; /* out of memory */
};

/* A text of the set. NULL: out of memory. */
static const char *statement_vtext(struct statement_set *set, const char *fmt, va_list args)
{
    va_list again;
    char *text;
    int size;

    va_copy(again, args);
    size = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    text = size < 0 ? NULL : arena_take_unset(&set->arena, (size_t)size + 1);
    if (text != NULL)
        (void)vsnprintf(text, (size_t)size + 1, fmt, args);
    return text;
}

static const char *statement_subject(struct statement_set *set, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static const char *statement_subject(struct statement_set *set, const char *fmt, ...)
{
    const char *text;
    va_list args;

    va_start(args, fmt);
    text = statement_vtext(set, fmt, args);
    va_end(args);
    return text;
}

static void statement_add(struct statement_set *set, const char *subject, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a statement; `subject` is of the set, or static. */
static void statement_add(struct statement_set *set, const char *subject, const char *fmt, ...)
{
    struct statement statement = {.subject = subject};
    struct err err;
    va_list args;

    va_start(args, fmt);
    statement.says = statement_vtext(set, fmt, args);
    va_end(args);
    set->failed = set->failed || subject == NULL || statement.says == NULL ||
                  table_add(&set->items, &set->count, &statement, sizeof statement, &err) < 0;
}

/* Any bytes as hexadecimal digits. */
static const char *statement_hex(struct statement_set *set, const ProtobufCBinaryData *bytes)
{
    char *text = arena_take(&set->arena, bytes->len * 2 + 1);

    set->failed = set->failed || text == NULL;
    if (text != NULL && bytes->len > 0)
        hex_encode(bytes->data, bytes->len, text);
    return text == NULL ? "" : text;
}

static void statement_add_case(struct statement_set *set, const Exhibit__CaseResult *result)
{
    const char *how = "no end";
    uint32_t number = 0;

    if (result->how_case == EXHIBIT__CASE_RESULT__HOW_EXIT) {
        how = "exit";
        number = result->exit;
    }
    if (result->how_case == EXHIBIT__CASE_RESULT__HOW_SIGNAL) {
        how = "signal";
        number = result->signal;
    }
    statement_add(set, statement_subject(set, "case %s/%s %" PRIu32, result->name, result->mode, result->repeat),
                  "%s %" PRIu32 ", %s", how, number, result->met ? "met" : "not met");
    for (size_t i = 0; i < result->n_archives; i++) {
        const Exhibit__ArchiveResult *archive = result->archives[i];

        statement_add(set,
                      statement_subject(set, "archive %.*s of case %s/%s %" PRIu32, (int)archive->path.len,
                                        archive->path.len == 0 ? "" : (const char *)archive->path.data, result->name,
                                        result->mode, result->repeat),
                      "%s, %" PRIu32 " members", statement_hex(set, &archive->sha256), archive->members);
    }
}

static void statement_add_lists(struct statement_set *set, const Exhibit__Claim *claim)
{
    for (size_t i = 0; i < claim->n_attempts; i++) {
        const Exhibit__AttemptResult *attempt = claim->attempts[i];

        statement_add(set,
                      statement_subject(set, "attempt %s/%s/%s/%" PRIu32 "/%s", attempt->trial, attempt->mode,
                                        attempt->role, attempt->round, attempt->effect),
                      "%s, errno %" PRIu32 ", at %" PRIu64, attempt->outcome, attempt->errno_value, attempt->at_ns);
    }
    for (size_t i = 0; i < claim->n_rows; i++)
        statement_add(set, statement_subject(set, "rows of %s/%s", claim->rows[i]->trial, claim->rows[i]->mode),
                      "%" PRIu32, claim->rows[i]->count);
    for (size_t i = 0; i < claim->n_messages; i++)
        statement_add(set,
                      statement_subject(set, "messages of %s/%s", claim->messages[i]->trial, claim->messages[i]->mode),
                      "tcp %" PRIu32 ", udp %" PRIu32, claim->messages[i]->tcp, claim->messages[i]->udp);
    for (size_t i = 0; i < claim->n_tree; i++) {
        const Exhibit__TreeMember *member = claim->tree[i];

        statement_add(set, statement_subject(set, "process %s/%s/%s", member->trial, member->mode, member->role),
                      "pid %" PRIu32 ", start %" PRIu64 ", ended by %s, survived %" PRIu64 " ms", member->pid,
                      member->start_time, member->ended_by, member->survived_ms);
    }
    for (size_t i = 0; i < claim->n_endings; i++)
        statement_add(set, statement_subject(set, "ending of %s", claim->endings[i]->trial), "%s, %s",
                      claim->endings[i]->ended ? "ended" : "not ended",
                      claim->endings[i]->quiet ? "quiet" : "not quiet");
    for (size_t i = 0; i < claim->n_not_measured; i++)
        statement_add(set, statement_subject(set, "effect %s", claim->not_measured[i]), "not measured");
}

static int statement_order(const void *a, const void *b)
{
    return strcmp(((const struct statement *)a)->subject, ((const struct statement *)b)->subject);
}

static void statement_of_claim(struct statement_set *set, const Exhibit__Claim *claim)
{
    statement_add(set, "version", "%" PRIu32, claim->version);
    statement_add(set, "receipt", "%s", statement_hex(set, &claim->receipt_sha256));
    statement_add(set, "oracle", "%s", statement_hex(set, &claim->oracle_sha256));
    statement_add(set, "prospective", "%s", claim->prospective ? "true" : "false");
    statement_add(set, "decision", "%s", claim->decision);
    for (size_t i = 0; i < claim->n_rules; i++)
        statement_add(set, statement_subject(set, "rule %s", claim->rules[i]->rule), "%s",
                      claim->rules[i]->holds ? "holds" : "does not hold");
    for (size_t i = 0; i < claim->n_cases; i++)
        statement_add_case(set, claim->cases[i]);
    statement_add_lists(set, claim);
    sort_rows(set->items, set->count, sizeof *set->items, statement_order);
}

static void statement_done(struct statement_set *set)
{
    table_free(set->items);
    arena_done(&set->arena);
}

static void statement_walk(const struct statement_set *claimed, const struct statement_set *proven,
                           struct findings *findings)
{
    size_t c = 0, p = 0;

    while (c < claimed->count || p < proven->count) {
        const struct statement *left = &claimed->items[c], *right = &proven->items[p];
        int order;

        if (c == claimed->count)
            order = 1;
        else if (p == proven->count)
            order = -1;
        else
            order = strcmp(left->subject, right->subject);
        if (order < 0)
            finding_add(findings, "the claim states \"%.256s: %.256s\", for which there is no evidence", left->subject,
                        left->says);
        else if (order > 0)
            finding_add(findings, "the evidence shows \"%.256s: %.256s\", which the claim does not state",
                        right->subject, right->says);
        else if (strcmp(left->says, right->says) != 0)
            finding_add(findings, "the claim states \"%.256s: %.256s\", the evidence shows \"%.256s\"", left->subject,
                        left->says, right->says);
        c += order <= 0;
        p += order >= 0;
    }
}

int statement_compare(const Exhibit__Claim *claimed, const Exhibit__Claim *whole, struct findings *findings,
                      struct err *err)
{
    Exhibit__Claim known = *whole; /* of it, what the claim's version could state (FORMAT 9.1) */
    const Exhibit__Claim *proven = &known;
    AUTO_BYTES struct bytes left = {0};
    AUTO_BYTES struct bytes right = {0};
    struct statement_set of_claim = {0}, of_evidence = {0};
    size_t before = findings->count;
    int code = claim_pack_comparable(claimed, &left, err);

    if (claimed->version == 1) {
        known.version = 1;
        known.n_endings = 0;
    }
    if (code == 0)
        code = claim_pack_comparable(proven, &right, err);
    if (code < 0)
        return code;
    if (left.size_bytes == right.size_bytes && memcmp(left.data, right.data, left.size_bytes) == 0)
        return 0; /* each statement has its evidence, and the other way round */
    statement_of_claim(&of_claim, claimed);
    statement_of_claim(&of_evidence, proven);
    if (of_claim.failed || of_evidence.failed)
        code = err_set(err, ERR_SYSTEM, "out of memory");
    else
        statement_walk(&of_claim, &of_evidence, findings);
    if (code == 0 && findings->count == before)
        finding_add(findings, "the claim's statements are right, but in another order or form");
    statement_done(&of_claim);
    statement_done(&of_evidence);
    return code;
}
