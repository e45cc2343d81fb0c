/*
 * boundary.attempts and boundary.traces (DECISION 5.2): whether anything came through.
 */
#include "replay/canaries.h"

#include "base/sort.h"
#include "replay/rules.h"
#include "replay/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int rule_attempts(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < judged->oracle->trial_count; i++) {
        const struct run *run = judged->trials[i].strict;

        for (size_t j = 0; run != NULL && j < run->derived->attempt_count; j++) {
            const struct attempt *attempt = &run->derived->attempts[j];
            bool allowed = judged->oracle->denials[attempt->effect].diverted_allowed;

            if (attempt->outcome != OUTCOME_REACHED && (attempt->outcome != OUTCOME_DIVERTED || allowed))
                continue;
            finding_tell(out, "trial %s, strict: %s of %s, round %" PRIu32 ", was %s", run->start->name,
                         word_of_effect((int)attempt->effect), word_of_role(attempt->row->role), attempt->row->round,
                         outcome_word(attempt->outcome));
            finding_event(out, attempt->own_evidence ? attempt->evidence_seq
                                                     : run->derived->unexplained_seq[attempt->effect]);
            finding_row(out, run, attempt->row->role, attempt->row->round);
        }
    }
    return 0;
}

static bool is_strict_trial(const struct run *run)
{
    return run->derived != NULL && run->start->mode == EXHIBIT__MODE__MODE_STRICT;
}

/* Events that no strict run may cause. */
static void check_events(const struct facts *facts, const struct run *run, struct finding *out)
{
    static const struct {
        Exhibit__Event__WhatCase kind;
        const char *what;
    } kinds[] = {
        {EXHIBIT__EVENT__WHAT_ACCEPT, "reached the tcp listener"},
        {EXHIBIT__EVENT__WHAT_MESSAGE, "reached a listener with a message"},
        {EXHIBIT__EVENT__WHAT_FILE_EVENT, "touched a canary, the target or their folder"},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct span span = tables_of_run(&facts->tables, kinds[i].kind, run->number);

        for (size_t j = 0; j < span.count; j++) {
            finding_tell(out, "%.64s, strict: it %s", run->start->name, kinds[i].what);
            finding_event(out, span.events[j]->seq);
        }
    }
}

/* What a strict trial run changed, and what it proved to have read. */
static void check_trial_run(const struct run *run, struct finding *out)
{
    static const char *const words[TARGET_ROOM] = {"", "the canary of read", "the canary of read-link",
                                                   "the target of write", "the folder of the targets"};

    for (int target = 1; target < TARGET_ROOM; target++)
        if (run->derived->changed_seq[target] != 0) {
            finding_tell(out, "trial %.64s, strict: %s changed", run->start->name, words[target]);
            finding_event(out, run->derived->changed_seq[target]);
        }
    for (size_t i = 0; i < run->derived->attempt_count; i++) {
        const struct attempt *attempt = &run->derived->attempts[i];

        if (!attempt->own_evidence || (attempt->effect != EFFECT_READ && attempt->effect != EFFECT_READ_LINK))
            continue;
        finding_tell(out, "trial %.64s, strict: %s proves to have read a canary", run->start->name,
                     word_of_role(attempt->row->role));
        finding_row(out, run, attempt->row->role, attempt->row->round);
    }
}

static const Exhibit__Event *freeze_of_run(const struct facts *facts, const struct run *run,
                                           Exhibit__FreezeMoment moment)
{
    struct span span = tables_of_run(&facts->tables, EXHIBIT__EVENT__WHAT_FREEZE, run->number);

    for (size_t i = 0; i < span.count; i++)
        if (span.events[i]->freeze->moment == moment)
            return span.events[i];
    return NULL;
}

/* Whether the run left its copy of the workspace as it was. */
static void check_copy(const struct facts *facts, const struct run *run, struct finding *out)
{
    const Exhibit__Event *before = freeze_of_run(facts, run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE);
    const Exhibit__Event *after = freeze_of_run(facts, run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER);

    if (before != NULL && after != NULL) {
        if (freeze_same(before, after))
            return;
        finding_tell(out, "%.64s, strict: its workspace changed", run->start->name);
        finding_event(out, after->seq);
    } else if (run->exit != NULL) {
        finding_tell(out, "%.64s, strict: its workspace was not frozen before and after", run->start->name);
        finding_row(out, run, 0, 0);
    }
}

static void check_inputs(const struct facts *facts, struct finding *out)
{
    struct span span = tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_FREEZE);

    for (size_t i = 0; i < span.count; i++) {
        const Exhibit__Freeze *freeze = span.events[i]->freeze;
        const Exhibit__Event *after;

        if (freeze->moment != EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE ||
            freeze_find(facts, freeze->moment, freeze->input) != span.events[i])
            continue;
        after = freeze_find(facts, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT, freeze->input);
        if (after != NULL && freeze_same(span.events[i], after))
            continue;
        finding_tell(out, "input %.64s %s", freeze->input,
                     after == NULL ? "was not frozen after strict" : "was changed by strict");
        finding_event(out, after == NULL ? span.events[i]->seq : after->seq);
    }
}

static int compare_nonces(const void *left, const void *right)
{
    return memcmp(left, right, NONCE_DIGITS);
}

/* Gathers the nonces of the roles of all strict trial runs, sorted, in a table. */
static int gather_nonces(const struct facts *facts, char (**out)[NONCE_DIGITS], size_t *out_count, struct err *err)
{
    for (size_t i = 0; i < facts->tables.run_count; i++) {
        const struct run *run = facts->tables.runs[i];

        for (int role = 1; role < ROLE_ROOM && is_strict_trial(run); role++)
            if (run->listed[role] && table_add(out, out_count, run->nonces[role], NONCE_DIGITS, err) < 0)
                return err->code;
    }
    if (*out_count > 0)
        sort_rows(*out, *out_count, sizeof **out, compare_nonces);
    return 0;
}

static bool is_nonce_digit(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

/* Whether a payload holds one of the nonces: each run of so many digits is looked up. */
static bool holds_nonce(const ProtobufCBinaryData *payload, char (*nonces)[NONCE_DIGITS], size_t count)
{
    size_t digits = 0;

    for (size_t i = 0; i < payload->len && count > 0; i++) {
        digits = is_nonce_digit(payload->data[i]) ? digits + 1 : 0;
        if (digits >= NONCE_DIGITS &&
            bsearch(payload->data + i + 1 - NONCE_DIGITS, nonces, count, NONCE_DIGITS, compare_nonces) != NULL)
            return true;
    }
    return false;
}

/* A strict role that speaks to a listener is found wherever its message was filed. */
static int check_nonces(const struct facts *facts, struct finding *out, struct err *err)
{
    AUTO_TABLE char(*nonces)[NONCE_DIGITS] = NULL;
    struct span span = tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_MESSAGE);
    size_t count = 0;

    if (gather_nonces(facts, &nonces, &count, err) < 0)
        return err->code;
    for (size_t i = 0; i < span.count; i++)
        if (holds_nonce(&span.events[i]->message->payload, nonces, count)) {
            finding_tell(out, "a listener got a message with the nonce of a strict role");
            finding_event(out, span.events[i]->seq);
        }
    return 0;
}

int rule_traces(const struct judged *judged, struct finding *out, struct err *err)
{
    const struct facts *facts = judged->facts;

    for (size_t i = 0; i < facts->tables.run_count; i++) {
        const struct run *run = facts->tables.runs[i];

        if (run->start->mode != EXHIBIT__MODE__MODE_STRICT)
            continue;
        check_events(facts, run, out);
        if (is_strict_trial(run))
            check_trial_run(run, out);
        check_copy(facts, run, out);
    }
    check_inputs(facts, out);
    if (check_nonces(facts, out, err) < 0)
        return err->code;
    return canaries_check(facts, out, err);
}
