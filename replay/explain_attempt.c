/*
 * TRIAL/ROLE/ROUND/EFFECT and TRIAL/MODE/ROLE/ROUND/EFFECT: what an attempt rests on, in each run of the trial that has
 * it. Tells again what outcomes.c judged; judges nothing.
 */
#include "replay/explain_build.h"

#include "base/cleanup.h"
#include "replay/attempts.h"
#include "replay/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WORDS = 5 };

/* An argument that was cut at its slashes; borrowed. */
struct attempt_name {
    char trial[LIMIT_NAME_BYTES + 1];
    int mode; /* 0: baseline and strict */
    int role;
    uint32_t round;
    enum effect effect;
};

static int mode_of_word(const char *word, size_t size_bytes)
{
    for (int mode = EXHIBIT__MODE__MODE_BASELINE; mode <= EXHIBIT__MODE__MODE_CONTROL; mode++)
        if (strlen(word_of_mode(mode)) == size_bytes && memcmp(word_of_mode(mode), word, size_bytes) == 0)
            return mode;
    return 0;
}

/* A decimal number from 1 to LIMIT_ROUNDS without a leading zero; 0 where it is none. */
static uint32_t round_of_word(const char *word, size_t size_bytes)
{
    uint32_t round = 0;

    for (size_t i = 0; i < size_bytes; i++) {
        if (word[i] < '0' || word[i] > '9' || (round == 0 && word[i] == '0'))
            return 0;
        round = round * 10 + (uint32_t)(word[i] - '0');
        if (round > LIMIT_ROUNDS)
            return 0;
    }
    return round;
}

/* Reads the argument. False: it has not the form of an attempt's name. */
static bool attempt_name_read(const char *name, struct attempt_name *out)
{
    const char *words[MOST_WORDS];
    size_t sizes[MOST_WORDS], count = 0;
    int role, effect;

    for (const char *at = name; count < MOST_WORDS; at += sizes[count - 1] + 1) {
        words[count] = at;
        sizes[count++] = strcspn(at, "/");
        if (at[sizes[count - 1]] == 0)
            break;
    }
    if (count < 4 || words[count - 1][sizes[count - 1]] != 0 || sizes[0] > LIMIT_NAME_BYTES)
        return false;
    *out = (struct attempt_name){0};
    memcpy(out->trial, words[0], sizes[0]);
    out->mode = count == 5 ? mode_of_word(words[1], sizes[1]) : 0;
    role = role_of_word(words[count - 3], sizes[count - 3]);
    out->round = round_of_word(words[count - 2], sizes[count - 2]);
    effect = effect_of_word(words[count - 1], sizes[count - 1]);
    out->role = role;
    out->effect = (enum effect)effect;
    return role > 0 && effect >= 0 && out->round > 0 && (count == 4 || out->mode != 0);
}

/* Every copy of the row that was told: the first one, and those that differ from it. */
static void tell_copies(struct explaining *explaining, const struct run *run, const struct row *row)
{
    explain_line(explaining, run, row->first);
    for (size_t i = 0; i < run->derived->line_count && row->contested; i++) {
        const struct line *line = &run->derived->lines[i];

        if (line != row->first && line->kind == LINE_ROW && line->role == row->role && line->round == row->round)
            explain_line(explaining, run, line);
    }
}

static void tell_told(struct explaining *explaining, const struct run *run, const struct attempt *attempt)
{
    static const char *const words[] = {
        [TOLD_NONE] = "nothing",      [TOLD_OK] = "ok",         [TOLD_ERRNO] = "errno",
        [TOLD_TIMEOUT] = "a timeout", [TOLD_SIGNAL] = "signal",
    };
    bool numbered = attempt->told.kind == TOLD_ERRNO || attempt->told.kind == TOLD_SIGNAL;
    char number[16] = "";

    if (numbered)
        (void)snprintf(number, sizeof number, " %u", attempt->told.number);
    explain_say(explaining, "its row tells %s%s for it%s", words[attempt->told.kind], number,
                attempt->row->contested ? "; copies of the row differ, so it is contested" : "");
    tell_copies(explaining, run, attempt->row);
}

/* The Accept of a connection: the one that a message came over. */
static uint64_t accept_seq(const struct explaining *explaining, uint64_t message_seq)
{
    struct span messages = tables_of_kind(&explaining->judged->facts->tables, EXHIBIT__EVENT__WHAT_MESSAGE);
    struct span accepts = tables_of_kind(&explaining->judged->facts->tables, EXHIBIT__EVENT__WHAT_ACCEPT);
    size_t place = span_before(messages, message_seq);
    uint32_t connection = place < messages.count ? messages.events[place]->message->connection : 0;

    for (size_t i = 0; i < accepts.count && connection != 0; i++)
        if (accepts.events[i]->accept->connection == connection)
            return accepts.events[i]->seq;
    return 0;
}

/* The line that a write left in the target, as the state of this event shows it. */
static void tell_written(struct explaining *explaining, uint64_t state_seq, const char *line)
{
    struct span states = explaining->judged->facts->state_of[EXHIBIT__TARGET_NAME__TARGET_WRITE];
    size_t place = span_before(states, state_seq), line_bytes = strlen(line);
    AUTO_BYTES struct bytes content = {0};
    const uint8_t *at, *found;
    struct digest digest;

    if (explaining->code < 0 || place == states.count ||
        !digest_from(states.events[place]->target_state->content_sha256.data,
                     states.events[place]->target_state->content_sha256.len, &digest))
        return;
    explaining->code =
        source_object(explaining->judged->facts->source, &digest, LIMIT_TARGET_BYTES, &content, explaining->err);
    at = content.data;
    while (explaining->code == 0 && content.size_bytes > 0 &&
           (found = memmem(at, content.size_bytes - (size_t)(at - content.data), line, line_bytes)) != NULL) {
        if (found == content.data || found[-1] == '\n') {
            explain_content(explaining, "the line that it left in the target", &digest,
                            (uint64_t)(found - content.data), line_bytes);
            return;
        }
        at = found + 1;
    }
}

/* DECISION 3.1, own evidence: what was found, or what was looked for. */
static void tell_evidence(struct explaining *explaining, const struct run *run, const struct attempt *attempt)
{
    struct span resets = tables_of_kind(&explaining->judged->facts->tables, EXHIBIT__EVENT__WHAT_TARGETS);
    size_t before = span_before(resets, run->event->seq);
    const char *seen = attempt->own_evidence ? "the host saw it" : "the host saw none of its own";
    const char *effect = word_of_effect((int)attempt->effect), *nonce = run->nonces[attempt->row->role];
    char line[160];

    (void)snprintf(line, sizeof line, "EXHIBIT1 %s %s %s %" PRIu32 "\n", effect, nonce,
                   word_of_role(attempt->row->role), attempt->row->round);
    switch (attempt->effect) {
    case EFFECT_READ:
    case EFFECT_READ_LINK:
        explain_say(explaining, "%s: a proof would be the SHA-256 of the canary's content and \" %s %" PRIu32 "\"",
                    seen, nonce, attempt->row->round);
        if (before > 0)
            explain_event(explaining, "what the canaries were set to", resets.events[before - 1]->seq);
        break;
    case EFFECT_WRITE:
        explain_say(explaining, "%s: a line \"%.*s\" in the target after the run", seen, (int)strlen(line) - 1, line);
        explain_event(explaining, "the target as it was found", attempt->evidence_seq);
        if (attempt->own_evidence)
            tell_written(explaining, attempt->evidence_seq, line);
        break;
    default:
        explain_say(explaining, "%s: a message that is \"%.*s\" and a newline", seen, (int)strlen(line) - 1, line);
        explain_event(explaining, "the message", attempt->evidence_seq);
        if (attempt->own_evidence && attempt->effect == EFFECT_TCP)
            explain_event(explaining, "the connection that brought it", accept_seq(explaining, attempt->evidence_seq));
        break;
    }
}

/* The first trace of an effect in a run; the effect may be explained. */
static void tell_traces(struct explaining *explaining, const struct run *run, const struct attempt *attempt)
{
    Exhibit__TargetName target = effect_target(attempt->effect);
    uint64_t unexplained = run->derived->unexplained_seq[attempt->effect];

    if (unexplained != 0)
        explain_say(explaining,
                    "the run has a trace of %s that no attempt of it explains: all of them count as reached",
                    word_of_effect((int)attempt->effect));
    else if (target != EXHIBIT__TARGET_NAME__TARGET_NONE && run->derived->file_event_seq[target] != 0)
        explain_say(explaining, "the kernel told of the file, first by this event");
    else if (target != EXHIBIT__TARGET_NAME__TARGET_NONE)
        explain_say(explaining, "the kernel told of nothing on the file during the run");
    else
        return;
    explain_event(explaining, "the trace", unexplained);
    if (target == EXHIBIT__TARGET_NAME__TARGET_NONE)
        return;
    if (unexplained != run->derived->file_event_seq[target])
        explain_event(explaining, "inotify's event", run->derived->file_event_seq[target]);
    explain_event(explaining, "the state after the run, which differs", run->derived->changed_seq[target]);
}

static void tell_process(struct explaining *explaining, const struct run *run, const struct attempt *attempt)
{
    const struct identity *identity = &run->derived->roles[attempt->row->role];
    bool network = attempt->effect == EFFECT_TCP || attempt->effect == EFFECT_UDP;

    explain_say(explaining, "the %s of the run %s%s", word_of_role(attempt->row->role),
                identity->found ? "is a process that the host saw" : "has no identity",
                !network                       ? ""
                : identity->network_is_private ? "; its network is private"
                                               : "; its network is not known to be private");
    explain_role(explaining, run, attempt->row->role);
    explain_event(explaining, "what the run was told to do", run->event->seq);
}

static void tell_list(struct explaining *explaining, const struct attempt *attempt)
{
    const struct oracle_denial *denial = &explaining->judged->oracle->denials[attempt->effect];
    char list[400] = "";
    size_t used = 0;

    for (size_t i = 0; i < denial->errno_count && used < sizeof list - 16; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, " %d", denial->errnos[i]);
    explain_say(explaining, "under the oracle these count as a denial of %s: errno%s%s%s; diverted is %s",
                word_of_effect((int)attempt->effect), denial->errno_count == 0 ? " (none)" : list,
                denial->timeout ? ", timeout" : "", denial->signal ? ", signal" : "",
                denial->diverted_allowed ? "allowed" : "not allowed");
}

static bool tell_attempt(struct explaining *explaining, const struct run *run, const struct attempt_name *name)
{
    for (size_t i = 0; run != NULL && i < run->derived->attempt_count; i++) {
        const struct attempt *attempt = &run->derived->attempts[i];

        if (attempt->row->role != name->role || attempt->row->round != name->round || attempt->effect != name->effect)
            continue;
        explain_say(explaining, "trial %s, %s%s: %s of %s, round %" PRIu32 ", is %s", run->start->name,
                    word_of_mode((int)run->start->mode),
                    run->start->mode != EXHIBIT__MODE__MODE_CONTROL ? ""
                    : run->start->repeat == 1                       ? " before"
                                                                    : " after",
                    word_of_effect((int)name->effect), word_of_role(name->role), name->round,
                    outcome_word(attempt->outcome));
        tell_told(explaining, run, attempt);
        tell_evidence(explaining, run, attempt);
        tell_traces(explaining, run, attempt);
        tell_process(explaining, run, attempt);
        tell_list(explaining, attempt);
        return true;
    }
    return false;
}

bool explain_attempt(struct explaining *explaining, const char *name)
{
    struct attempt_name wanted;
    bool found = false;

    if (!attempt_name_read(name, &wanted))
        return false;
    for (size_t i = 0; i < explaining->judged->oracle->trial_count; i++) {
        const struct trial *trial = &explaining->judged->trials[i];

        if (strcmp(trial->expected->name, wanted.trial) != 0)
            continue;
        if (wanted.mode == 0 || wanted.mode == EXHIBIT__MODE__MODE_BASELINE)
            found |= tell_attempt(explaining, trial->baseline, &wanted);
        if (wanted.mode == 0 || wanted.mode == EXHIBIT__MODE__MODE_STRICT)
            found |= tell_attempt(explaining, trial->strict, &wanted);
        for (int which = 0; which < 2 && wanted.mode == EXHIBIT__MODE__MODE_CONTROL; which++)
            found |= tell_attempt(explaining, trial->controls[which], &wanted);
    }
    return found;
}
