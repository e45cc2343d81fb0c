/*
 * A rule by its name: all that speaks against it, heard while the rule is asked again, or what it holds by. What each
 * rule rests on where it holds is in explain_holds.c.
 */
#include "replay/explain_holds.h"

#include <inttypes.h>
#include <string.h>

static void hear_statement(void *context, const char *text)
{
    explain_say(context, "against it: %s", text);
}

/* Lines of the probe that the event brought are what it means to a judgement: the first few of them. */
static void tell_lines_of(struct explaining *explaining, uint64_t seq)
{
    enum { MOST_LINES = 3 };
    const struct tables *tables = &explaining->judged->facts->tables;
    int told = 0;

    for (size_t i = 0; i < tables->run_count; i++) {
        const struct run *run = tables->runs[i];

        for (size_t j = 0; run->derived != NULL && j < run->derived->line_count && told < MOST_LINES; j++)
            if (run->derived->lines[j].seq == seq) {
                explain_line(explaining, run, &run->derived->lines[j]);
                told++;
            }
    }
}

/* Bytes of the content of the artifact that this event tells of. */
static void tell_artifact(struct explaining *explaining, const struct ground *ground)
{
    struct span artifacts = tables_of_kind(&explaining->judged->facts->tables, EXHIBIT__EVENT__WHAT_ARTIFACT);
    size_t place = span_before(artifacts, ground->seq);
    const ProtobufCBinaryData *data;
    struct digest digest;

    if (ground->size_bytes == 0 || place == artifacts.count)
        return;
    data = &artifacts.events[place]->artifact->sha256;
    if (digest_from(data->data, data->len, &digest))
        explain_content(explaining, "bytes of the artifact", &digest, ground->offset_bytes, ground->size_bytes);
}

static void hear_ground(void *context, const struct ground *ground)
{
    struct explaining *explaining = context;
    const struct row *row;

    if (explaining->facts == NULL)
        return;
    if (ground->seq != 0) {
        explain_event(explaining, "it rests on this event", ground->seq);
        tell_lines_of(explaining, ground->seq);
        tell_artifact(explaining, ground);
    } else if (ground->size_bytes != 0) {
        explain_bytes(explaining, "it rests on these bytes", ground->run, ground->stream, ground->offset_bytes,
                      ground->size_bytes);
    } else if (ground->role != 0 && (row = run_row(ground->run, ground->role, ground->round)) != NULL) {
        explain_line(explaining, ground->run, row->first);
        explain_role(explaining, ground->run, ground->role);
    } else {
        explain_event(explaining, "the run that lacks it", ground->run->event->seq);
    }
}

bool explain_rule(struct explaining *explaining, const char *name)
{
    const struct finding_ear ear = {hear_statement, hear_ground, explaining};

    for (int i = 0; i < RULE_COUNT; i++) {
        struct finding finding = {.ear = &ear};

        if (strcmp(rules[i].name, name) != 0)
            continue;
        explain_say(explaining, "rule %s", name);
        explaining->room = EXPLAIN_STATEMENTS / 2; /* the rest is for what it was asked about */
        if (explaining->code == 0)
            explaining->code = rules[i].check(explaining->judged, &finding, explaining->err);
        explaining->room = EXPLAIN_STATEMENTS;
        if (finding.count > 0)
            explain_say(explaining, "so it does not hold: %zu statement%s against it", finding.count,
                        finding.count == 1 ? " is" : "s are");
        else
            explain_say(explaining, "it holds: nothing speaks against it, and this is what it was asked about");
        explain_holds(explaining, name);
        return true;
    }
    return false;
}
