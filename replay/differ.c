/*
 * Statements of one kind are compared pair by pair, in the order that DECISION 7 fixes: each is packed by itself, so
 * that no field is forgotten here.
 */
#include "replay/differ.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "formats/claim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct telling {
    void (*tell)(void *context, const char *text);
    void *context;
    size_t count;
};

static void __attribute__((format(printf, 2, 3))) tell(struct telling *telling, const char *fmt, ...)
{
    char text[512];
    va_list args;

    telling->count++;
    if (telling->tell == NULL)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (char *at = text; *at != 0; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    telling->tell(telling->context, text);
}

/* Whether two messages have the same packed bytes. Returns 1, 0, or a negative err_code. */
static int same_message(const ProtobufCMessage *a, const ProtobufCMessage *b, struct err *err)
{
    size_t size_bytes = protobuf_c_message_get_packed_size(a);
    AUTO_FREE uint8_t *left = NULL;
    AUTO_FREE uint8_t *right = NULL;

    if (size_bytes != protobuf_c_message_get_packed_size(b))
        return 0;
    left = malloc(size_bytes + 1);
    right = malloc(size_bytes + 1);
    if (left == NULL || right == NULL)
        return err_set_errno(err, "memory for a statement");
    (void)protobuf_c_message_pack(a, left);
    (void)protobuf_c_message_pack(b, right);
    return memcmp(left, right, size_bytes) == 0;
}

/* Names one statement. */
static void name_statement(const ProtobufCMessage *message, char *out, size_t size_bytes)
{
    const ProtobufCMessageDescriptor *kind = message->descriptor;

    if (kind == &exhibit__rule_result__descriptor) {
        const Exhibit__RuleResult *rule = (const Exhibit__RuleResult *)message;

        (void)snprintf(out, size_bytes, "rule %s %s", rule->rule, rule->holds ? "holds" : "fails");
    } else if (kind == &exhibit__case_result__descriptor) {
        const Exhibit__CaseResult *result = (const Exhibit__CaseResult *)message;

        (void)snprintf(out, size_bytes, "case %s/%s/%" PRIu32 " %s", result->name, result->mode, result->repeat,
                       result->met ? "met" : "not met");
    } else if (kind == &exhibit__attempt_result__descriptor) {
        const Exhibit__AttemptResult *attempt = (const Exhibit__AttemptResult *)message;

        (void)snprintf(out, size_bytes, "attempt %s/%s/%s/%" PRIu32 "/%s %s errno %" PRIu32 " at %" PRIu64,
                       attempt->trial, attempt->mode, attempt->role, attempt->round, attempt->effect, attempt->outcome,
                       attempt->errno_value, attempt->at_ns);
    } else if (kind == &exhibit__row_count__descriptor) {
        const Exhibit__RowCount *rows = (const Exhibit__RowCount *)message;

        (void)snprintf(out, size_bytes, "%" PRIu32 " rows of %s/%s", rows->count, rows->trial, rows->mode);
    } else if (kind == &exhibit__message_count__descriptor) {
        const Exhibit__MessageCount *count = (const Exhibit__MessageCount *)message;

        (void)snprintf(out, size_bytes, "messages of %s/%s tcp %" PRIu32 " udp %" PRIu32, count->trial, count->mode,
                       count->tcp, count->udp);
    } else if (kind == &exhibit__ending_result__descriptor) {
        const Exhibit__EndingResult *ending = (const Exhibit__EndingResult *)message;

        (void)snprintf(out, size_bytes, "ending of %s: %s, %s", ending->trial, ending->ended ? "ended" : "not ended",
                       ending->quiet ? "quiet" : "not quiet");
    } else {
        const Exhibit__TreeMember *member = (const Exhibit__TreeMember *)message;

        (void)snprintf(out, size_bytes, "tree %s/%s/%s pid %" PRIu32 " start %" PRIu64 " %s survived %" PRIu64 " ms",
                       member->trial, member->mode, member->role, member->pid, member->start_time, member->ended_by,
                       member->survived_ms);
    }
}

/* What is compared of a statement: a rule without its free texts, which `bare` takes; anything else as it is. */
static const ProtobufCMessage *comparable(const ProtobufCMessage *message, Exhibit__RuleResult *bare)
{
    const Exhibit__RuleResult *rule = (const Exhibit__RuleResult *)message;

    if (message->descriptor != &exhibit__rule_result__descriptor)
        return message;
    exhibit__rule_result__init(bare);
    bare->rule = rule->rule;
    bare->holds = rule->holds;
    return &bare->base;
}

/* One kind of statement of two claims. */
struct lists {
    const char *what;
    size_t recorded_count, derived_count;
    const void *recorded, *derived; /* arrays of pointers to messages */
};

static const ProtobufCMessage *message_at(const void *messages, size_t index)
{
    return ((const ProtobufCMessage *const *)messages)[index];
}

static int compare_lists(const struct lists *lists, struct telling *telling, struct err *err)
{
    size_t common = lists->recorded_count < lists->derived_count ? lists->recorded_count : lists->derived_count;

    if (lists->recorded_count != lists->derived_count)
        tell(telling, "%zu %s are recorded, %zu derived", lists->recorded_count, lists->what, lists->derived_count);
    for (size_t i = 0; i < common; i++) {
        const ProtobufCMessage *recorded = message_at(lists->recorded, i), *derived = message_at(lists->derived, i);
        Exhibit__RuleResult bare[2];
        char texts[2][200];
        int same = same_message(comparable(recorded, &bare[0]), comparable(derived, &bare[1]), err);

        if (same < 0)
            return same;
        if (same != 0)
            continue;
        name_statement(recorded, texts[0], sizeof texts[0]);
        name_statement(derived, texts[1], sizeof texts[1]);
        tell(telling, "recorded: %s; derived: %s%s", texts[0], texts[1],
             strcmp(texts[0], texts[1]) == 0 ? " (in another field)" : "");
    }
    return 0;
}

static bool same_texts(char *const *a, char *const *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static bool same_digests(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* The fields that stand alone. */
static void compare_heads(const Exhibit__Claim *recorded, const Exhibit__Claim *derived, struct telling *telling)
{
    if (!same_digests(&recorded->receipt_sha256, &derived->receipt_sha256))
        tell(telling, "the recorded claim is about another receipt");
    if (!same_digests(&recorded->oracle_sha256, &derived->oracle_sha256))
        tell(telling, "the recorded claim names another oracle");
    if (recorded->prospective != derived->prospective)
        tell(telling, "recorded: %s; derived: %s", recorded->prospective ? "prospective" : "not prospective",
             derived->prospective ? "prospective" : "not prospective");
    if (strcmp(recorded->decision, derived->decision) != 0)
        tell(telling, "recorded: decision %s; derived: %s", recorded->decision, derived->decision);
    if (recorded->n_not_measured != derived->n_not_measured ||
        !same_texts(recorded->not_measured, derived->not_measured, derived->n_not_measured))
        tell(telling, "other effects are listed as not measured");
}

/* What an older program would have said of the same: it knew no endings. */
static Exhibit__Claim as_of_version(const Exhibit__Claim *derived, uint32_t version)
{
    Exhibit__Claim older = *derived;

    if (version < 2) {
        older.version = version;
        older.n_endings = 0;
    }
    return older;
}

int claims_differ(const Exhibit__Claim *recorded, const Exhibit__Claim *newest,
                  void (*tell_line)(void *context, const char *text), void *context, size_t *out_count, struct err *err)
{
    const Exhibit__Claim as_recorded = as_of_version(newest, recorded->version), *derived = &as_recorded;
    struct telling telling = {tell_line, context, 0};
    const struct lists lists[] = {
        {"rules", recorded->n_rules, derived->n_rules, recorded->rules, derived->rules},
        {"cases", recorded->n_cases, derived->n_cases, recorded->cases, derived->cases},
        {"attempts", recorded->n_attempts, derived->n_attempts, recorded->attempts, derived->attempts},
        {"counts of rows", recorded->n_rows, derived->n_rows, recorded->rows, derived->rows},
        {"counts of messages", recorded->n_messages, derived->n_messages, recorded->messages, derived->messages},
        {"members of trees", recorded->n_tree, derived->n_tree, recorded->tree, derived->tree},
        {"endings", recorded->n_endings, derived->n_endings, recorded->endings, derived->endings},
    };
    AUTO_BYTES struct bytes left = {0};
    AUTO_BYTES struct bytes right = {0};

    compare_heads(recorded, derived, &telling);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int code = compare_lists(&lists[i], &telling, err);

        if (code < 0)
            return code;
    }
    if (claim_pack_comparable(recorded, &left, err) < 0 || claim_pack_comparable(derived, &right, err) < 0)
        return err->code;
    if (telling.count == 0 &&
        (left.size_bytes != right.size_bytes || memcmp(left.data, right.data, left.size_bytes) != 0))
        tell(&telling, "the recorded claim differs in its bytes");
    *out_count = telling.count;
    return 0;
}
