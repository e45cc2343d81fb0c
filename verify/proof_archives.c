/*
 * Are the archives of both modes the same (DECISION 6.4). What two baselines do not agree in is the tool's own.
 */
#include "verify/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A member and its place; an archive in the order of (path, place). */
struct proof_member {
    const Exhibit__ArchiveMember *member;
    size_t place;
};

/* The members of an archive that are called alike: `count` from `items` on. */
struct proof_namesakes {
    const struct proof_member *items;
    size_t count;
};

bool proof_archive_matches(const char *pattern, const ProtobufCBinaryData *path)
{
    const char *slash = strrchr(pattern, '/');
    const char *star = strchr(slash == NULL ? pattern : slash, '*');
    size_t size_bytes = strlen(pattern), before, after;

    if (star == NULL)
        return path->len == size_bytes && memcmp(path->data, pattern, size_bytes) == 0;
    before = (size_t)(star - pattern);
    after = size_bytes - before - 1;
    if (path->len < before + after || memcmp(path->data, pattern, before) != 0 ||
        memcmp(path->data + path->len - after, star + 1, after) != 0)
        return false;
    return path->len == before + after || memchr(path->data + before, '/', path->len - before - after) == NULL;
}

/* The one artifact of a run that matches; NULL where there is none or more than one. */
static const Exhibit__Artifact *proof_only_artifact(const struct proof_run *run, const char *pattern)
{
    const Exhibit__Artifact *found = NULL;
    const Exhibit__Event *event;
    size_t position = 0;

    while (run != NULL && (event = ledger_next(run->run, EXHIBIT__EVENT__WHAT_ARTIFACT, &position)) != NULL) {
        if (!proof_archive_matches(pattern, &event->artifact->path))
            continue;
        if (found != NULL)
            return NULL;
        found = event->artifact;
    }
    return found;
}

static int proof_compare_paths(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    size_t shorter = a->len < b->len ? a->len : b->len;
    int order = shorter == 0 ? 0 : memcmp(a->data, b->data, shorter);

    if (order != 0)
        return order;
    return a->len < b->len ? -1 : a->len > b->len;
}

static int proof_compare_members(const void *a, const void *b)
{
    const struct proof_member *left = a, *right = b;
    int order = proof_compare_paths(&left->member->path, &right->member->path);

    if (order != 0)
        return order;
    return left->place < right->place ? -1 : left->place > right->place;
}

static struct proof_member *proof_sorted(struct proof *proof, const Exhibit__Artifact *artifact)
{
    struct proof_member *sorted = calloc(artifact->n_members + 1, sizeof *sorted);

    if (sorted == NULL) {
        proof_no_memory(proof);
        return NULL;
    }
    for (size_t i = 0; i < artifact->n_members; i++)
        sorted[i] = (struct proof_member){artifact->members[i], i};
    qsort(sorted, artifact->n_members, sizeof *sorted, proof_compare_members);
    return sorted;
}

static bool proof_members_equal(const Exhibit__ArchiveMember *a, const Exhibit__ArchiveMember *b)
{
    return evidence_same(&a->path, &b->path) && a->type == b->type && a->mode == b->mode &&
           a->size_bytes == b->size_bytes && a->mtime_s == b->mtime_s && evidence_same(&a->sha256, &b->sha256) &&
           evidence_same(&a->link, &b->link);
}

static struct proof_namesakes proof_namesakes_of(const struct proof_member *sorted, size_t count,
                                                 const ProtobufCBinaryData *path)
{
    struct proof_namesakes out = {sorted, 0};
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (proof_compare_paths(&sorted[middle].member->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    out.items = &sorted[low];
    while (low + out.count < count && evidence_same(&out.items[out.count].member->path, path))
        out.count++;
    return out;
}

static bool proof_namesakes_equal(struct proof_namesakes a, struct proof_namesakes b)
{
    if (a.count != b.count)
        return false;
    for (size_t i = 0; i < a.count; i++)
        if (!proof_members_equal(a.items[i].member, b.items[i].member))
            return false;
    return true;
}

/* The archives of one pattern: baseline, strict, and the second baseline where it can excuse anything. */
struct proof_trio {
    const Exhibit__Artifact *artifacts[3];
    struct proof_member *sorted[3];
};

enum { PROOF_FIRST, PROOF_STRICT, PROOF_SECOND };

/*
 * The first path, of those in archive `of`, that both modes do not have alike and no difference of the baselines
 * excuses. NULL: none. Each path is compared as the whole list of its members.
 */
static const ProtobufCBinaryData *proof_first_difference(const struct proof_trio *trio, int of)
{
    size_t count = trio->artifacts[of]->n_members;

    for (size_t i = 0; i < count;) {
        const ProtobufCBinaryData *path = &trio->sorted[of][i].member->path;
        struct proof_namesakes same[3] = {{0}};

        for (int which = 0; which < 3; which++)
            if (trio->artifacts[which] != NULL)
                same[which] = proof_namesakes_of(trio->sorted[which], trio->artifacts[which]->n_members, path);
        i += same[of].count;
        if (proof_namesakes_equal(same[PROOF_FIRST], same[PROOF_STRICT]))
            continue;
        if (trio->artifacts[PROOF_SECOND] != NULL && !proof_namesakes_equal(same[PROOF_FIRST], same[PROOF_SECOND]))
            continue;
        return path;
    }
    return NULL;
}

static void proof_compare_trio(struct proof *proof, const struct oracle_archive *archive, const struct proof_trio *trio,
                               const char *where)
{
    const Exhibit__Artifact *const *artifacts = trio->artifacts;
    const ProtobufCBinaryData *path = proof_first_difference(trio, PROOF_FIRST);
    bool excused = artifacts[PROOF_SECOND] != NULL &&
                   !evidence_same(&artifacts[PROOF_FIRST]->sha256, &artifacts[PROOF_SECOND]->sha256);

    if (path == NULL)
        path = proof_first_difference(trio, PROOF_STRICT);
    if (path != NULL) {
        char name[96];
        size_t size = path->len < sizeof name - 1 ? path->len : sizeof name - 1;

        for (size_t i = 0; i < size; i++)
            name[i] = path->data[i] < ' ' || path->data[i] > '~' ? '?' : (char)path->data[i];
        name[size] = '\0';
        proof_refute(proof, where, "archive %.64s of case %s differs in member %s", archive->path, where, name);
    }
    if (archive->bytes && !excused && !evidence_same(&artifacts[PROOF_FIRST]->sha256, &artifacts[PROOF_STRICT]->sha256))
        proof_refute(proof, where, "archive %.64s of case %s differs in its bytes", archive->path, where);
}

static void proof_need_archive(struct proof *proof, const struct oracle_archive *archive,
                               const struct proof_run *const runs[3], const char *where)
{
    struct proof_trio trio = {0};

    for (int i = 0; i < 3; i++)
        trio.artifacts[i] = proof_only_artifact(runs[i], archive->path);
    for (int i = PROOF_FIRST; i <= PROOF_STRICT; i++) {
        const char *mode = i == PROOF_FIRST ? "baseline" : "strict";

        if (trio.artifacts[i] == NULL) {
            proof_refute(proof, where, "case %s has not exactly one archive %.64s in %s", where, archive->path, mode);
            return;
        }
        if (!trio.artifacts[i]->kept || !trio.artifacts[i]->is_archive) {
            proof_refute(proof, where, "archive %.64s of case %s is not kept as an archive in %s", archive->path, where,
                         mode);
            return;
        }
    }
    if (!evidence_same(&trio.artifacts[PROOF_FIRST]->path, &trio.artifacts[PROOF_STRICT]->path)) {
        proof_refute(proof, where, "archive %.64s of case %s has another name in strict", archive->path, where);
        return;
    }
    if (trio.artifacts[PROOF_SECOND] != NULL &&
        (!trio.artifacts[PROOF_SECOND]->kept || !trio.artifacts[PROOF_SECOND]->is_archive))
        trio.artifacts[PROOF_SECOND] = NULL; /* DECISION 6.4: it excuses nothing */
    for (int i = 0; i < 3; i++)
        if (trio.artifacts[i] != NULL)
            trio.sorted[i] = proof_sorted(proof, trio.artifacts[i]);
    if (!proof->failed)
        proof_compare_trio(proof, archive, &trio, where);
    for (int i = 0; i < 3; i++)
        free(trio.sorted[i]);
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

        for (size_t a = 0; runs[0] != NULL && runs[1] != NULL && a < named->archive_count; a++)
            proof_need_archive(proof, &named->archives[a], runs, named->name);
    }
}
