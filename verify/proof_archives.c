/*
 * Are the archives of both modes the same (DECISION 6.4). What two baselines do not agree in is the tool's own.
 */
#include "verify/proof.h"

#include "verify/matching.h"
#include "verify/proof_members.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool proof_path_matches(const char *pattern, const ProtobufCBinaryData *path)
{
    const uint8_t *at = path->data, *end;

    if (path->len == 0)
        return false;
    end = at + path->len;
    for (; *pattern != '*'; pattern++, at++) {
        if (*pattern == '\0')
            return at == end;
        if (at == end || *at != (uint8_t)*pattern)
            return false;
    }
    /* What is behind the star is taken from the end; what is left is the star's. */
    for (const char *last = pattern + strlen(pattern) - 1; last > pattern; last--, end--)
        if (at == end || end[-1] != (uint8_t)*last)
            return false;
    return memchr(at, '/', (size_t)(end - at)) == NULL;
}

/* The one artifact of a run that matches; NULL where there is none or more than one. */
static const Exhibit__Artifact *proof_only_artifact(const struct proof_run *run, const char *pattern)
{
    const Exhibit__Artifact *found = NULL;
    const Exhibit__Event *event;
    size_t position = 0;

    while (run != NULL && (event = ledger_next(run->run, EXHIBIT__EVENT__WHAT_ARTIFACT, &position)) != NULL) {
        if (!proof_path_matches(pattern, &event->artifact->path))
            continue;
        if (found != NULL)
            return NULL;
        found = event->artifact;
    }
    return found;
}

/* One archive of the oracle: baseline, strict, and the second baseline where it can excuse anything. */
struct proof_trio {
    const struct oracle_case *named;
    const struct oracle_archive *archive;
    const Exhibit__Artifact *artifacts[3];
    struct proof_members members[3]; /* owned */
};

enum { PROOF_FIRST, PROOF_STRICT, PROOF_SECOND };

enum { PROOF_PATTERN_BYTES = 80 }; /* DECISION 6.5 */

static void proof_refute_archive(struct proof *proof, const struct proof_trio *trio, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* In the words of DECISION 6.5. */
static void proof_refute_archive(struct proof *proof, const struct proof_trio *trio, const char *fmt, ...)
{
    char pattern[PROOF_PATTERN_BYTES + 1], words[640];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    (void)snprintf(pattern, sizeof pattern, "%s", trio->archive->path);
    matching_make_printable(pattern);
    matching_make_printable(words);
    proof_refute(proof, trio->named->name, "%.64s: oracle line %u: archive %s: %s", trio->named->name,
                 trio->archive->line, pattern, words);
}

static void proof_compare_trio(struct proof *proof, const struct proof_trio *trio)
{
    const Exhibit__Artifact *const *artifacts = trio->artifacts;
    bool again = artifacts[PROOF_SECOND] != NULL;
    bool excused = again && !evidence_same(&artifacts[PROOF_FIRST]->sha256, &artifacts[PROOF_SECOND]->sha256);
    struct proof_difference found = proof_members_compare(&trio->members[PROOF_FIRST], &trio->members[PROOF_STRICT],
                                                          again ? &trio->members[PROOF_SECOND] : NULL, trio->archive);
    char told[600];

    if (trio->archive->except_count > 0 && trio->members[PROOF_FIRST].count == 0) {
        proof_refute_archive(proof, trio, "nothing is left of the baseline's members to compare");
        return;
    }
    if (found.field != PROOF_NOTHING) {
        proof_difference_tell(&found, told, sizeof told);
        proof_refute_archive(proof, trio, "%s", told);
        return;
    }
    if (trio->archive->bytes && !excused &&
        !evidence_same(&artifacts[PROOF_FIRST]->sha256, &artifacts[PROOF_STRICT]->sha256))
        proof_refute_archive(proof, trio, "its members are the same in both modes, its bytes are not");
}

/* Looks up the archives. False: it is refuted, there is nothing to compare. */
static bool proof_find_trio(struct proof *proof, const struct proof_run *const runs[3], struct proof_trio *trio)
{
    const Exhibit__Artifact **artifacts = trio->artifacts;

    for (int i = 0; i < 3; i++)
        artifacts[i] = proof_only_artifact(runs[i], trio->archive->path);
    for (int i = PROOF_FIRST; i <= PROOF_STRICT; i++) {
        const char *mode = i == PROOF_FIRST ? "baseline" : "strict";

        if (artifacts[i] == NULL || !artifacts[i]->kept || !artifacts[i]->is_archive) {
            if (artifacts[i] == NULL)
                proof_refute_archive(proof, trio, "not exactly one file matches in %s", mode);
            else
                proof_refute_archive(proof, trio, "%s is not %s in %s",
                                     matching_quote(artifacts[i]->path.data, artifacts[i]->path.len).text,
                                     artifacts[i]->kept ? "an archive" : "kept", mode);
            return false;
        }
    }
    if (!evidence_same(&artifacts[PROOF_FIRST]->path, &artifacts[PROOF_STRICT]->path)) {
        proof_refute_archive(
            proof, trio, "it is %s in baseline and %s in strict",
            matching_quote(artifacts[PROOF_FIRST]->path.data, artifacts[PROOF_FIRST]->path.len).text,
            matching_quote(artifacts[PROOF_STRICT]->path.data, artifacts[PROOF_STRICT]->path.len).text);
        return false;
    }
    if (artifacts[PROOF_SECOND] != NULL && (!artifacts[PROOF_SECOND]->kept || !artifacts[PROOF_SECOND]->is_archive))
        artifacts[PROOF_SECOND] = NULL; /* DECISION 6.4: it excuses nothing */
    return true;
}

static void proof_need_archive(struct proof *proof, const struct proof_run *const runs[3], struct proof_trio *trio)
{
    if (!proof_find_trio(proof, runs, trio))
        return;
    for (int i = 0; i < 3; i++)
        if (trio->artifacts[i] != NULL && !proof_members_sort(trio->artifacts[i], trio->archive, &trio->members[i]))
            proof_no_memory(proof);
    if (!proof->failed)
        proof_compare_trio(proof, trio);
    for (int i = 0; i < 3; i++)
        free(trio->members[i].items);
}

void proof_rule_archives(struct proof *proof)
{
    for (size_t i = 0; i < proof->oracle->case_count; i++) {
        const struct oracle_case *named = &proof->oracle->cases[i];
        const struct proof_run *const runs[3] = {
            proof_find(proof, EXHIBIT__RUN_KIND__RUN_CASE, named->name, EXHIBIT__MODE__MODE_BASELINE, 1),
            proof_find(proof, EXHIBIT__RUN_KIND__RUN_CASE, named->name, EXHIBIT__MODE__MODE_STRICT, 1),
            proof_find(proof, EXHIBIT__RUN_KIND__RUN_CASE, named->name, EXHIBIT__MODE__MODE_BASELINE, 2),
        };

        for (size_t a = 0; runs[0] != NULL && runs[1] != NULL && a < named->archive_count; a++) {
            struct proof_trio trio = {.named = named, .archive = &named->archives[a]};

            proof_need_archive(proof, runs, &trio);
        }
    }
}
