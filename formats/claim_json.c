/*
 * A claim as JSON: its fields under the names that programs rely on, one to one.
 */
#include "formats/claim.h"

#include "base/cleanup.h"
#include "formats/message.h"

#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* In all of these NULL means out of memory; json_pack and add() below hand it on. */

/* Bytes as they are where they are UTF-8, else {"base64": ...}. */
static json_t *bytes_json(const void *from, size_t size_bytes)
{
    AUTO_FREE unsigned char *digits = NULL;

    if (size_bytes == 0)
        return json_string("");
    if (text_is_utf8(from, size_bytes))
        return json_stringn(from, size_bytes);
    if (size_bytes > INT_MAX / 2)
        return NULL;
    digits = malloc((size_bytes + 2) / 3 * 4 + 1);
    if (digits == NULL)
        return NULL;
    (void)EVP_EncodeBlock(digits, from, (int)size_bytes);
    return json_pack("{s:s}", "base64", digits);
}

static json_t *text_json(const char *text)
{
    return bytes_json(text, strlen(text));
}

static json_t *hex_json(const ProtobufCBinaryData *from)
{
    AUTO_FREE char *digits = malloc(2 * from->len + 1);

    if (digits == NULL)
        return NULL;
    hex_encode(from->data, from->len, digits);
    return json_string(digits);
}

/* A number; as decimal text where JSON's signed 64 bits cannot hold it. */
static json_t *number_json(uint64_t number)
{
    char digits[24];

    if (number <= INT64_MAX)
        return json_integer((json_int_t)number);
    (void)snprintf(digits, sizeof digits, "%" PRIu64, number);
    return json_string(digits);
}

/* Appends an item (stolen) to the array *all; on failure releases it and makes it NULL. */
static void add(json_t **all, json_t *item)
{
    if (*all == NULL) {
        json_decref(item);
    } else if (json_array_append_new(*all, item) < 0) {
        json_decref(*all);
        *all = NULL;
    }
}

static json_t *texts_json(char *const *texts, size_t count)
{
    json_t *all = json_array();

    for (size_t i = 0; i < count; i++)
        add(&all, text_json(texts[i]));
    return all;
}

static json_t *rules_json(const Exhibit__Claim *claim)
{
    json_t *all = json_array();

    for (size_t i = 0; i < claim->n_rules; i++) {
        const Exhibit__RuleResult *rule = claim->rules[i];

        add(&all, json_pack("{s:o, s:b, s:o, s:o}", "rule", text_json(rule->rule), "holds", rule->holds, "detail",
                            text_json(rule->detail), "evidence", texts_json(rule->evidence, rule->n_evidence)));
    }
    return all;
}

static json_t *archives_json(const Exhibit__CaseResult *result)
{
    json_t *all = json_array();

    for (size_t i = 0; i < result->n_archives; i++) {
        const Exhibit__ArchiveResult *archive = result->archives[i];

        add(&all, json_pack("{s:o, s:o, s:o}", "path", bytes_json(archive->path.data, archive->path.len), "sha256",
                            hex_json(&archive->sha256), "members", number_json(archive->members)));
    }
    return all;
}

static json_t *cases_json(const Exhibit__Claim *claim)
{
    json_t *all = json_array();

    for (size_t i = 0; i < claim->n_cases; i++) {
        const Exhibit__CaseResult *result = claim->cases[i];
        bool exited = result->how_case == EXHIBIT__CASE_RESULT__HOW_EXIT;
        bool signalled = result->how_case == EXHIBIT__CASE_RESULT__HOW_SIGNAL;

        add(&all, json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "name", text_json(result->name), "mode",
                            text_json(result->mode), "repeat", number_json(result->repeat), "exit",
                            exited ? number_json(result->exit) : json_null(), "signal",
                            signalled ? number_json(result->signal) : json_null(), "met", result->met, "archives",
                            archives_json(result)));
    }
    return all;
}

static json_t *attempts_json(const Exhibit__Claim *claim)
{
    json_t *all = json_array();

    for (size_t i = 0; i < claim->n_attempts; i++) {
        const Exhibit__AttemptResult *attempt = claim->attempts[i];

        add(&all,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "trial", text_json(attempt->trial), "mode",
                      text_json(attempt->mode), "role", text_json(attempt->role), "round", number_json(attempt->round),
                      "effect", text_json(attempt->effect), "outcome", text_json(attempt->outcome), "errno",
                      number_json(attempt->errno_value), "at_ns", number_json(attempt->at_ns)));
    }
    return all;
}

static json_t *rows_json(const Exhibit__Claim *claim)
{
    json_t *all = json_array();

    for (size_t i = 0; i < claim->n_rows; i++)
        add(&all, json_pack("{s:o, s:o, s:o}", "trial", text_json(claim->rows[i]->trial), "mode",
                            text_json(claim->rows[i]->mode), "count", number_json(claim->rows[i]->count)));
    return all;
}

static json_t *messages_json(const Exhibit__Claim *claim)
{
    json_t *all = json_array();

    for (size_t i = 0; i < claim->n_messages; i++) {
        const Exhibit__MessageCount *count = claim->messages[i];

        add(&all, json_pack("{s:o, s:o, s:o, s:o}", "trial", text_json(count->trial), "mode", text_json(count->mode),
                            "tcp", number_json(count->tcp), "udp", number_json(count->udp)));
    }
    return all;
}

static json_t *tree_json(const Exhibit__Claim *claim)
{
    json_t *all = json_array();

    for (size_t i = 0; i < claim->n_tree; i++) {
        const Exhibit__TreeMember *member = claim->tree[i];

        add(&all, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "trial", text_json(member->trial), "mode",
                            text_json(member->mode), "role", text_json(member->role), "pid", number_json(member->pid),
                            "start_time", number_json(member->start_time), "ended_by", text_json(member->ended_by),
                            "survived_ms", number_json(member->survived_ms)));
    }
    return all;
}

static json_t *endings_json(const Exhibit__Claim *claim)
{
    json_t *all = json_array();

    for (size_t i = 0; i < claim->n_endings; i++) {
        const Exhibit__EndingResult *ending = claim->endings[i];

        add(&all, json_pack("{s:o, s:b, s:b}", "trial", text_json(ending->trial), "ended", ending->ended, "quiet",
                            ending->quiet));
    }
    return all;
}

json_t *claim_to_json(const Exhibit__Claim *claim)
{
    return json_pack("{s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "exhibit.claim/1",
                     "receipt", hex_json(&claim->receipt_sha256), "oracle", hex_json(&claim->oracle_sha256),
                     "prospective", claim->prospective, "decision", text_json(claim->decision), "rules",
                     rules_json(claim), "cases", cases_json(claim), "attempts", attempts_json(claim), "rows",
                     rows_json(claim), "messages", messages_json(claim), "tree", tree_json(claim), "endings",
                     endings_json(claim), "not_measured", texts_json(claim->not_measured, claim->n_not_measured));
}
