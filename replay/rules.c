/*
 * The table of rules, what speaks against them as text, and what several of them ask.
 */
#include "replay/rules.h"

#include "replay/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct rule rules[RULE_COUNT] = {
    {"complete.recording", rule_recording}, {"complete.pins", rule_pins},       {"complete.observers", rule_observers},
    {"complete.controls", rule_controls},   {"complete.spoke", rule_spoke},     {"complete.outcomes", rule_outcomes},
    {"complete.baseline", rule_baseline},   {"complete.cleanup", rule_cleanup}, {"boundary.attempts", rule_attempts},
    {"boundary.traces", rule_traces},       {"useful.contract", rule_contract}, {"useful.archives", rule_archives},
    {"cancel.ended", rule_ended},           {"cancel.quiet", rule_quiet},
};

/* Names come from the receipt: what is not printable ASCII becomes a question mark. */
static void make_printable(char *text)
{
    for (; *text != 0; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

void finding_tell(struct finding *finding, const char *fmt, ...)
{
    char text[sizeof finding->texts[0]];
    va_list args;

    if (finding->count < FINDING_TEXTS || finding->ear != NULL) {
        va_start(args, fmt);
        (void)vsnprintf(text, sizeof text, fmt, args);
        va_end(args);
        make_printable(text);
        if (finding->count < FINDING_TEXTS)
            (void)strcpy(finding->texts[finding->count], text);
        if (finding->ear != NULL)
            finding->ear->statement(finding->ear->context, text);
    }
    finding->count++;
}

static void tell_ground(const struct finding *finding, struct ground ground)
{
    if (finding->ear != NULL)
        finding->ear->ground(finding->ear->context, &ground);
}

/* Adds what stands in the next free place, unless it was named before. */
static void add_evidence(struct finding *finding, const char *text)
{
    for (size_t i = 0; i < finding->evidence_count; i++)
        if (strcmp(finding->evidence[i], text) == 0)
            return;
    if (finding->evidence_count < FINDING_EVIDENCE)
        (void)snprintf(finding->evidence[finding->evidence_count++], sizeof finding->evidence[0], "%s", text);
}

void finding_event(struct finding *finding, uint64_t seq)
{
    finding_content(finding, seq, 0, 0);
}

void finding_content(struct finding *finding, uint64_t seq, uint64_t offset_bytes, uint64_t size_bytes)
{
    char text[sizeof finding->evidence[0]];

    if (seq == 0)
        return;
    tell_ground(finding, (struct ground){.seq = seq, .offset_bytes = offset_bytes, .size_bytes = size_bytes});
    (void)snprintf(text, sizeof text, "event %" PRIu64, seq);
    add_evidence(finding, text);
}

/* Adds the name of a run, and of a row of it where there is a role. */
static void add_run(struct finding *finding, const struct run *run, int role, uint32_t round)
{
    char text[sizeof finding->evidence[0]];
    int used = snprintf(text, sizeof text, "run %.80s/%s", run->start->name, word_of_mode((int)run->start->mode));

    if (role != 0)
        (void)snprintf(text + used, sizeof text - (size_t)used, " row %s/%" PRIu32, word_of_role(role), round);
    make_printable(text);
    add_evidence(finding, text);
}

void finding_row(struct finding *finding, const struct run *run, int role, uint32_t round)
{
    tell_ground(finding, (struct ground){.run = run, .role = role, .round = round});
    add_run(finding, run, role, round);
}

void finding_bytes(struct finding *finding, const struct run *run, Exhibit__StreamName stream, uint64_t offset_bytes,
                   uint64_t size_bytes)
{
    tell_ground(finding,
                (struct ground){.run = run, .stream = stream, .offset_bytes = offset_bytes, .size_bytes = size_bytes});
    add_run(finding, run, 0, 0);
}

const Exhibit__Event *freeze_find(const struct facts *facts, Exhibit__FreezeMoment moment, const char *input)
{
    struct span span = tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_FREEZE);

    for (size_t i = 0; i < span.count; i++)
        if (span.events[i]->freeze->moment == moment && strcmp(span.events[i]->freeze->input, input) == 0)
            return span.events[i];
    return NULL;
}

bool freeze_same(const Exhibit__Event *a, const Exhibit__Event *b)
{
    const ProtobufCBinaryData *left = &a->freeze->list_sha256, *right = &b->freeze->list_sha256;

    return left->len == right->len && (left->len == 0 || memcmp(left->data, right->data, left->len) == 0);
}
