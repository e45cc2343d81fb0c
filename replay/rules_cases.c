/*
 * complete.baseline, useful.contract, useful.archives: whether real work passes.
 */
#include "replay/archives.h"
#include "replay/rules.h"
#include "replay/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void check_met(const struct judged_case *judged_case, int which, struct finding *out)
{
    const struct run *run = judged_case->runs[which];
    const struct match *match = &judged_case->matches[which];

    if (run == NULL)
        return;
    for (const struct mismatch *mismatch = match->first; mismatch != NULL; mismatch = mismatch->next) {
        const struct match_place *place = &mismatch->place;

        finding_tell(out, "%s %s %" PRIu32 ": %s", judged_case->expected->name, word_of_mode((int)run->start->mode),
                     run->start->repeat, mismatch->text);
        if (place->size_bytes > 0)
            finding_bytes(out, run, place->stream, place->offset_bytes, place->size_bytes);
        else
            finding_event(out, place->seq);
    }
}

int rule_baseline(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < judged->oracle->case_count; i++) {
        check_met(&judged->cases[i], CASE_BASELINE, out);
        check_met(&judged->cases[i], CASE_BASELINE_AGAIN, out);
    }
    return 0;
}

int rule_contract(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < judged->oracle->case_count; i++)
        check_met(&judged->cases[i], CASE_STRICT, out);
    return 0;
}

/* The artifact of a run that can be compared; where there is none, *out_why says why. */
static const Exhibit__Event *comparable(const struct facts *facts, const struct run *run, const char *pattern,
                                        const char **out_why)
{
    size_t count;
    const Exhibit__Event *event = archive_only(facts, run, pattern, &count);

    *out_why = NULL;
    if (event == NULL)
        *out_why = count == 0 ? "none was left" : "more than one was left";
    else if (!event->artifact->kept)
        *out_why = "what was left was not kept";
    else if (!event->artifact->is_archive)
        *out_why = "what was left is no archive";
    return *out_why == NULL ? event : NULL;
}

static bool same_path(const Exhibit__Artifact *a, const Exhibit__Artifact *b)
{
    return a->path.len == b->path.len && (a->path.len == 0 || memcmp(a->path.data, b->path.data, a->path.len) == 0);
}

/* DECISION 6.5. */
static void tell_archive(struct finding *out, const struct judged_case *judged_case,
                         const struct oracle_archive *archive, const struct archive_difference *difference)
{
    const ProtobufCBinaryData *member = difference->path;
    char values[ARCHIVE_VALUES_BYTES];
    enum { SHOWN = 80 };
    const char *name = judged_case->expected->name;
    int member_bytes = member == NULL ? 0 : member->len > SHOWN ? SHOWN : (int)member->len;

    if (member == NULL)
        finding_tell(out, "%s: oracle line %u: archive %.*s: %s", name, archive->line, SHOWN, archive->path,
                     difference->what);
    else
        finding_tell(out, "%s: oracle line %u: archive %.*s: member \"%.*s\": %s%s", name, archive->line, SHOWN,
                     archive->path, member_bytes, (const char *)member->data, difference->what,
                     archive_values(difference, values));
}

/* Compares one archive of a case of which both runs are there. */
static int check_archive(const struct judged *judged, const struct judged_case *judged_case,
                         const struct oracle_archive *archive, struct finding *out, struct err *err)
{
    static const int compared[] = {CASE_BASELINE, CASE_STRICT, CASE_BASELINE_AGAIN};
    const Exhibit__Event *found[CASE_RUNS] = {NULL};
    struct archive_difference difference = {0};

    for (size_t i = 0; i < CASE_RUNS; i++) {
        const struct run *run = judged_case->runs[compared[i]];
        char words[100];
        const char *why = NULL;

        if (run != NULL)
            found[compared[i]] = comparable(judged->facts, run, archive->path, &why);
        if (why == NULL || compared[i] == CASE_BASELINE_AGAIN) /* which does not count then */
            continue;
        (void)snprintf(words, sizeof words, "%s: %s", word_of_mode((int)run->start->mode), why);
        difference.what = words;
        tell_archive(out, judged_case, archive, &difference);
        finding_row(out, run, 0, 0);
        return 0;
    }
    if (!same_path(found[CASE_BASELINE]->artifact, found[CASE_STRICT]->artifact))
        difference.what = "the path differs between baseline and strict";
    else if (archives_compare(found[CASE_BASELINE]->artifact,
                              found[CASE_BASELINE_AGAIN] == NULL ? NULL : found[CASE_BASELINE_AGAIN]->artifact,
                              found[CASE_STRICT]->artifact, archive, &difference, err) < 0)
        return err->code;
    if (difference.what == NULL)
        return 0;
    tell_archive(out, judged_case, archive, &difference);
    finding_event(out, found[CASE_BASELINE]->seq);
    finding_event(out, found[CASE_STRICT]->seq);
    return 0;
}

int rule_archives(const struct judged *judged, struct finding *out, struct err *err)
{
    for (size_t i = 0; i < judged->oracle->case_count; i++) {
        const struct judged_case *judged_case = &judged->cases[i];

        if (judged_case->runs[CASE_BASELINE] == NULL || judged_case->runs[CASE_STRICT] == NULL)
            continue;
        for (size_t j = 0; j < judged_case->expected->archive_count; j++) {
            int code = check_archive(judged, judged_case, &judged_case->expected->archives[j], out, err);

            if (code < 0)
                return code;
        }
    }
    return 0;
}
