/*
 * From a claim, whose words are this program's own, and the event that names the candidate.
 */
#include "replay/recording.h"

#include "base/bytes.h"
#include "replay/rules.h"
#include "replay/words.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_strict(const char *mode)
{
    return strcmp(mode, word_of_mode(EXHIBIT__MODE__MODE_STRICT)) == 0;
}

static int outcome_of_word(const char *word)
{
    for (int i = OUTCOME_UNDETERMINED; i <= OUTCOME_DIVERTED; i++)
        if (strcmp(outcome_word((enum outcome)i), word) == 0)
            return i;
    return OUTCOME_UNDETERMINED;
}

static void take_outcomes(const Exhibit__Claim *claim, struct recording *out)
{
    for (size_t i = 0; i < claim->n_attempts; i++) {
        const Exhibit__AttemptResult *attempt = claim->attempts[i];
        int role = role_of_word(attempt->role, strlen(attempt->role));
        int effect = effect_of_word(attempt->effect, strlen(attempt->effect));

        assert(role > 0 && effect >= 0);
        if (is_strict(attempt->mode))
            out->outcomes[role][effect] |= (uint8_t)(1u << outcome_of_word(attempt->outcome));
    }
    for (size_t i = 0; i < claim->n_not_measured; i++)
        out->not_measured |= (uint8_t)(1u << effect_of_word(claim->not_measured[i], strlen(claim->not_measured[i])));
}

/* Whether anything is brought to its end in a trial: else each role just ends itself. */
static bool has_ending(const struct facts *facts, const char *trial)
{
    const struct run *run =
        tables_run(&facts->tables, EXHIBIT__RUN_KIND__RUN_TRIAL, trial, EXHIBIT__MODE__MODE_STRICT, 1);

    return run != NULL && (run->start->probe->n_ending > 0 || run->start->probe->n_roles > 1);
}

/* False: out of memory. */
static bool take_ends(const struct facts *facts, const Exhibit__Claim *claim, struct recording *out)
{
    out->ends = calloc(claim->n_tree + 1, sizeof *out->ends);
    for (size_t i = 0; out->ends != NULL && i < claim->n_tree; i++) {
        const Exhibit__TreeMember *member = claim->tree[i];
        struct recorded_end *end = &out->ends[out->end_count];

        if (!is_strict(member->mode) || !has_ending(facts, member->trial))
            continue;
        *end = (struct recorded_end){.trial = strdup(member->trial),
                                     .role = (uint8_t)role_of_word(member->role, strlen(member->role)),
                                     .ended_by = member->ended_by,
                                     .survived_ms = member->survived_ms};
        out->end_count++;
        if (end->trial == NULL)
            return false;
    }
    return out->ends != NULL;
}

/* False: out of memory. */
static bool take_endings(const Exhibit__Claim *claim, struct recording *out)
{
    out->endings = calloc(claim->n_endings + 1, sizeof *out->endings);
    for (size_t i = 0; out->endings != NULL && i < claim->n_endings; i++) {
        const Exhibit__EndingResult *ending = claim->endings[i];

        out->endings[i] = (struct recorded_ending){strdup(ending->trial), ending->ended, ending->quiet};
        out->ending_count++;
        if (out->endings[i].trial == NULL)
            return false;
    }
    return out->endings != NULL;
}

/* False: out of memory. */
static bool take_cases(const Exhibit__Claim *claim, struct recording *out)
{
    out->cases = calloc(claim->n_cases + 1, sizeof *out->cases);
    for (size_t i = 0; out->cases != NULL && i < claim->n_cases; i++) {
        if (!is_strict(claim->cases[i]->mode))
            continue;
        out->cases[out->case_count] = (struct recorded_case){strdup(claim->cases[i]->name), claim->cases[i]->met};
        if (out->cases[out->case_count++].name == NULL)
            return false;
    }
    return out->cases != NULL;
}

int recording_take(const struct facts *facts, const Exhibit__Claim *claim, struct recording *out, struct err *err)
{
    const Exhibit__RecordingStart *start = facts->tables.recording;

    *out = (struct recording){.experiment = strdup(start->experiment),
                              .candidate = strdup(start->candidate),
                              .version = strdup(start->candidate_version),
                              .as_root = start->host != NULL && start->host->uid == 0};
    if (start->policy_sha256.len == DIGEST_BYTES)
        hex_encode(start->policy_sha256.data, DIGEST_BYTES, out->policy);
    take_outcomes(claim, out);
    if (out->experiment != NULL && out->candidate != NULL && out->version != NULL && take_ends(facts, claim, out) &&
        take_endings(claim, out) && take_cases(claim, out))
        return 0;
    recording_done(out);
    return err_set(err, ERR_SYSTEM, "memory for a row of the table");
}

void recording_done(struct recording *recording)
{
    for (size_t i = 0; i < recording->end_count; i++)
        free(recording->ends[i].trial);
    for (size_t i = 0; i < recording->case_count; i++)
        free(recording->cases[i].name);
    for (size_t i = 0; i < recording->ending_count; i++)
        free(recording->endings[i].trial);
    free(recording->endings);
    free(recording->ends);
    free(recording->cases);
    free(recording->experiment);
    free(recording->candidate);
    free(recording->version);
    *recording = (struct recording){0};
}
