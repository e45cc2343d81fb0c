/*
 * cancel.ended and cancel.quiet (DECISION 5.3): whether the ending ended it.
 */
#include "replay/roles.h"
#include "replay/rules.h"
#include "replay/words.h"

#include <inttypes.h>

enum { NS_PER_MS = 1000000 };

bool trial_has_ending(const struct trial *trial)
{
    return trial->strict != NULL && trial->strict->last_step != NULL;
}

/* Whether something at at_ns comes later than the last step and so many milliseconds. */
static bool is_late(const struct run *run, uint64_t at_ns, uint32_t bound_ms)
{
    return time_is_after(at_ns, run->last_step->at_ns, (int64_t)bound_ms * NS_PER_MS + 1);
}

/* A role without identity: every line of it must have arrived within the bound. */
static void check_lines(const struct judged *judged, const struct run *run, int role, struct finding *out)
{
    for (size_t i = 0; i < run->derived->line_count; i++) {
        const struct line *line = &run->derived->lines[i];

        if (line->role != role || !is_late(run, line->at_ns, judged->oracle->ended_ms))
            continue;
        finding_tell(out, "trial %s, strict: %s still wrote after the bound", run->start->name, word_of_role(role));
        finding_event(out, line->seq);
        return;
    }
}

static void check_ended(const struct judged *judged, const struct run *run, int role, struct finding *out)
{
    const struct identity *identity = &run->derived->roles[role];
    const char *what = NULL;
    uint64_t seq = identity->gone_seq;

    if (!identity->found && !judged->oracle->identities_required) {
        check_lines(judged, run, role, out);
        return;
    }
    if (!identity->found)
        what = "has no identity";
    else if (!identity->gone)
        what = "was not seen to be gone";
    else if (is_late(run, identity->gone_at_ns, judged->oracle->ended_ms))
        what = "was gone too late";
    else if (role_may_have_expired(run, role))
        what = "may have ended by itself";
    if (what == NULL)
        return;
    finding_tell(out, "trial %s, strict: %s %s", run->start->name, word_of_role(role), what);
    finding_event(out, seq != 0 ? seq : run->last_step->seq);
}

void ending_check_ended(const struct judged *judged, const struct trial *trial, struct finding *out)
{
    for (int role = 1; role < ROLE_ROOM && trial_has_ending(trial); role++)
        if (trial->expected->roles[role])
            check_ended(judged, trial->strict, role, out);
}

int rule_ended(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < judged->oracle->trial_count; i++)
        ending_check_ended(judged, &judged->trials[i], out);
    return 0;
}

/* Whether what arrived at at_ns from a role speaks of life after the limit. */
static bool is_life(const struct judged *judged, const struct run *run, int role, uint64_t at_ns)
{
    const struct identity *identity = &run->derived->roles[role];

    return is_late(run, at_ns, judged->oracle->grace_ms) && !(identity->gone && identity->gone_at_ns < at_ns);
}

static void check_quiet(const struct judged *judged, const struct run *run, struct finding *out)
{
    static const Exhibit__Protocol protocols[] = {EXHIBIT__PROTOCOL__PROTOCOL_TCP, EXHIBIT__PROTOCOL__PROTOCOL_UDP};

    for (size_t i = 0; i < run->derived->line_count; i++) {
        const struct line *line = &run->derived->lines[i];

        if (!is_life(judged, run, line->role, line->at_ns))
            continue;
        finding_tell(out, "trial %s, strict: a %s of %s, round %" PRIu32 ", arrived after the end", run->start->name,
                     line->kind == LINE_ROW ? "row" : "try", word_of_role(line->role), line->round);
        finding_event(out, line->seq);
    }
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        for (int role = 1; role < ROLE_ROOM; role++) {
            size_t count = 0;
            const struct message *messages =
                run->listed[role] ? facts_messages(judged->facts, protocols[i], run, role, &count) : NULL;

            for (size_t j = 0; j < count; j++) {
                if (!is_life(judged, run, role, messages[j].at_ns))
                    continue;
                finding_tell(out, "trial %s, strict: a message of %s, round %" PRIu32 ", arrived after the end",
                             run->start->name, word_of_role(role), messages[j].round);
                finding_event(out, messages[j].seq);
            }
        }
}

void ending_check_quiet(const struct judged *judged, const struct trial *trial, struct finding *out)
{
    if (trial_has_ending(trial))
        check_quiet(judged, trial->strict, out);
}

int rule_quiet(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < judged->oracle->trial_count; i++)
        ending_check_quiet(judged, &judged->trials[i], out);
    return 0;
}
