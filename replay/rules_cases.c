/*
 * complete.baseline, useful.contract, useful.archives: whether real work passes.
 */
#include "replay/archives.h"
#include "replay/rules.h"
#include "replay/words.h"

#include <string.h>

static void check_met(const struct judged_case *judged_case, int which, struct finding *out)
{
    const struct run *run = judged_case->runs[which];
    const struct match *match = &judged_case->matches[which];

    if (run == NULL || match->met)
        return;
    finding_tell(out, "case %s, %s: %s", judged_case->expected->name, word_of_mode((int)run->start->mode), match->why);
    finding_event(out, match->seq);
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
        *out_why = count == 0 ? "left no" : "left more than one";
    else if (!event->artifact->kept)
        *out_why = "left, but nothing kept, the";
    else if (!event->artifact->is_archive)
        *out_why = "left something else than an archive as";
    return *out_why == NULL ? event : NULL;
}

static bool same_path(const Exhibit__Artifact *a, const Exhibit__Artifact *b)
{
    return a->path.len == b->path.len && (a->path.len == 0 || memcmp(a->path.data, b->path.data, a->path.len) == 0);
}

/* Compares one archive of a case of which both runs are there. */
static int check_archive(const struct judged *judged, const struct judged_case *judged_case,
                         const struct oracle_archive *archive, struct finding *out, struct err *err)
{
    struct run *const *runs = judged_case->runs;
    const char *name = judged_case->expected->name, *why, *excused;
    const Exhibit__Event *again = NULL, *strict, *baseline;
    struct archive_difference difference = {0};

    baseline = comparable(judged->facts, runs[CASE_BASELINE], archive->path, &why);
    if (baseline == NULL) {
        finding_tell(out, "case %s, baseline: it %s %s", name, why, archive->path);
        finding_row(out, runs[CASE_BASELINE], 0, 0);
        return 0;
    }
    strict = comparable(judged->facts, runs[CASE_STRICT], archive->path, &why);
    if (strict == NULL) {
        finding_tell(out, "case %s, strict: it %s %s", name, why, archive->path);
        finding_row(out, runs[CASE_STRICT], 0, 0);
        return 0;
    }
    if (runs[CASE_BASELINE_AGAIN] != NULL)
        again = comparable(judged->facts, runs[CASE_BASELINE_AGAIN], archive->path, &excused);
    if (!same_path(baseline->artifact, strict->artifact))
        difference.what = "the path differs";
    else if (archives_compare(baseline->artifact, again == NULL ? NULL : again->artifact, strict->artifact,
                              archive->bytes, &difference, err) < 0)
        return err->code;
    if (difference.what == NULL)
        return 0;
    if (difference.path == NULL)
        finding_tell(out, "case %s: %s of %s", name, difference.what, archive->path);
    else
        finding_tell(out, "case %s: %s in %s: %.*s", name, difference.what, archive->path,
                     difference.path->len > 80 ? 80 : (int)difference.path->len, (const char *)difference.path->data);
    finding_event(out, baseline->seq);
    finding_event(out, strict->seq);
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
