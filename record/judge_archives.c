/*
 * Archives against each other, member by member (docs/DECISION.md 6.4, docs/ORACLE.md section 5). Knows no rule.
 */
#include "record/judge_match.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one artifact of the run that matches, or NULL; *out_count tells how many do. */
static const Exhibit__Artifact *archive_of(const struct judge_run *run, const struct oracle_archive *archive,
                                           size_t *out_count)
{
    const Exhibit__Artifact *found = NULL;

    *out_count = 0;
    for (size_t i = 0; run != NULL && i < run->artifact_count; i++)
        if (judge_path_matches(archive->path, &run->artifacts[i]->path)) {
            found = run->artifacts[i];
            (*out_count)++;
        }
    return *out_count == 1 ? found : NULL;
}

/* A member and its place, so that sorting keeps the order of equal paths. */
struct placed {
    const Exhibit__ArchiveMember *member;
    size_t place;
};

static int placed_compare(const void *a, const void *b)
{
    const struct placed *left = a, *right = b;
    int order = judge_bytes_order(&left->member->path, &right->member->path);

    return order != 0 ? order : (left->place > right->place) - (left->place < right->place);
}

static bool owners_are_same(const Exhibit__MemberOwner *a, const Exhibit__MemberOwner *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->uid == b->uid && a->gid == b->gid && judge_bytes_order(&a->uname, &b->uname) == 0 &&
           judge_bytes_order(&a->gname, &b->gname) == 0;
}

/* The first field in which two members of one path differ, of those that the archive's oracle compares; NULL: none. */
static const char *members_differ(const struct oracle_archive *archive, const Exhibit__ArchiveMember *a,
                                  const Exhibit__ArchiveMember *b)
{
    if (a->type != b->type)
        return "type";
    if (a->mode != b->mode)
        return "mode";
    if (a->size_bytes != b->size_bytes)
        return "size";
    if (judge_bytes_order(&a->sha256, &b->sha256) != 0)
        return "content";
    if (judge_bytes_order(&a->link, &b->link) != 0)
        return "link";
    if (!archive->except_mtime && a->mtime_s != b->mtime_s)
        return "mtime";
    return !archive->except_owner && !owners_are_same(a->owner, b->owner) ? "owner" : NULL;
}

/* A walk over sorted members, path by path. */
struct walk {
    struct placed *at;
    size_t left;
};

/* A walk over what is compared of an archive; `at` is owned by the caller (free). NULL there: out of memory. */
static struct walk walk_begin(const struct oracle_archive *archive, const Exhibit__Artifact *artifact)
{
    struct walk walk = {calloc(artifact->n_members + 1, sizeof *walk.at), 0};

    for (size_t i = 0; walk.at != NULL && i < artifact->n_members; i++) {
        bool excepted = false;

        for (size_t j = 0; j < archive->except_count && !excepted; j++)
            excepted = judge_path_matches(archive->except_paths[j], &artifact->members[i]->path);
        if (!excepted)
            walk.at[walk.left++] = (struct placed){artifact->members[i], i};
    }
    if (walk.at != NULL)
        qsort(walk.at, walk.left, sizeof *walk.at, placed_compare);
    return walk;
}

/* How many of the next members have this path. */
static size_t walk_count(const struct walk *walk, const ProtobufCBinaryData *path)
{
    size_t count = 0;

    while (count < walk->left && judge_bytes_order(&walk->at[count].member->path, path) == 0)
        count++;
    return count;
}

/* What is told of two archives that differ. */
struct unequal {
    const char *field;                     /* static; NULL: they do not */
    const ProtobufCBinaryData *path;       /* of the members; NULL: it is not a matter of members */
    const Exhibit__ArchiveMember *pair[2]; /* theirs, of baseline and strict; NULL: they differ in their number */
};

/* In what two walks go on with other members, so many each of one path. */
static struct unequal walks_differ(const struct oracle_archive *archive, const struct walk *a, size_t a_count,
                                   const struct walk *b, size_t b_count)
{
    struct unequal found = {.field = a_count == b_count ? NULL : "number"};

    for (size_t i = 0; found.field == NULL && i < a_count; i++) {
        found.field = members_differ(archive, a->at[i].member, b->at[i].member);
        found.pair[0] = a->at[i].member;
        found.pair[1] = b->at[i].member;
    }
    return found;
}

/*
 * Walks baseline, strict and second baseline together, leaving out the paths in which the baselines differ already
 * (`excuses`: there is a second one). Gives the first difference of the first two.
 */
static struct unequal walk_all(const struct oracle_archive *archive, struct walk walks[3], bool excuses)
{
    for (;;) {
        const ProtobufCBinaryData *path = NULL;
        struct unequal found = {NULL};
        size_t counts[3];

        for (int i = 0; i < 3; i++)
            if (walks[i].left > 0 && (path == NULL || judge_bytes_order(&walks[i].at->member->path, path) < 0))
                path = &walks[i].at->member->path;
        if (path == NULL)
            return found;
        for (int i = 0; i < 3; i++)
            counts[i] = walk_count(&walks[i], path);
        if (!excuses || walks_differ(archive, &walks[0], counts[0], &walks[2], counts[2]).field == NULL)
            found = walks_differ(archive, &walks[0], counts[0], &walks[1], counts[1]);
        if (found.field != NULL) {
            found.path = path;
            return found;
        }
        for (int i = 0; i < 3; i++) {
            walks[i].at += counts[i];
            walks[i].left -= counts[i];
        }
    }
}

/* What a member has in a field, as people write it. */
static void value_write(const Exhibit__ArchiveMember *member, const char *field, char *out, size_t room_bytes)
{
    const Exhibit__MemberOwner *of = member->owner;

    if (strcmp(field, "type") == 0 || strcmp(field, "mode") == 0)
        (void)snprintf(out, room_bytes, "0%" PRIo32, *field == 't' ? member->type : member->mode);
    else if (strcmp(field, "size") == 0)
        (void)snprintf(out, room_bytes, "%" PRIu64 " bytes", member->size_bytes);
    else if (strcmp(field, "content") == 0 && member->sha256.len == DIGEST_BYTES)
        hex_encode(member->sha256.data, DIGEST_BYTES, out);
    else if (strcmp(field, "link") == 0)
        (void)snprintf(out, room_bytes, "%s", judge_quote_of(member->link.data, member->link.len).text);
    else if (strcmp(field, "mtime") == 0)
        (void)snprintf(out, room_bytes, "%" PRId64 " s", member->mtime_s);
    else if (strcmp(field, "owner") == 0 && of != NULL)
        (void)snprintf(out, room_bytes, "%" PRId64 " %s and group %" PRId64 " %s", of->uid,
                       judge_quote_of(of->uname.data, of->uname.len).text, of->gid,
                       judge_quote_of(of->gname.data, of->gname.len).text);
    else
        (void)snprintf(out, room_bytes, "nothing");
}

static void unequal_tell(const struct unequal *found, char *why, size_t room_bytes)
{
    char values[2][256];

    if (found->path == NULL) {
        (void)snprintf(why, room_bytes, "%s", found->field);
        return;
    }
    if (found->pair[0] == NULL || found->pair[1] == NULL) {
        (void)snprintf(why, room_bytes, "member %s differs in its %s",
                       judge_quote_of(found->path->data, found->path->len).text, found->field);
        return;
    }
    for (int i = 0; i < 2; i++)
        value_write(found->pair[i], found->field, values[i], sizeof values[i]);
    (void)snprintf(why, room_bytes, "member %s differs in its %s (baseline: %s; strict: %s)",
                   judge_quote_of(found->path->data, found->path->len).text, found->field, values[0], values[1]);
}

static bool members_are_equal(const struct oracle_archive *archive, const Exhibit__Artifact *const artifacts[3],
                              char *why, size_t room_bytes)
{
    struct unequal found = {NULL};
    struct placed *lists[3] = {NULL, NULL, NULL};
    struct walk walks[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    bool memory = true;

    for (int i = 0; i < 3; i++)
        if (artifacts[i] != NULL) {
            walks[i] = walk_begin(archive, artifacts[i]);
            lists[i] = walks[i].at;
            memory = memory && lists[i] != NULL;
        }
    if (!memory)
        found.field = "(no memory to compare)";
    else if (archive->except_count > 0 && walks[0].left == 0)
        found.field = "(nothing is left to compare)";
    else
        found = walk_all(archive, walks, artifacts[2] != NULL);
    if (found.field != NULL)
        unequal_tell(&found, why, room_bytes);
    for (int i = 0; i < 3; i++)
        free(lists[i]);
    return found.field == NULL;
}

/* Whether an artifact is what members are compared of. */
static bool is_usable(const Exhibit__Artifact *artifact)
{
    return artifact->kept && artifact->is_archive;
}

bool judge_archives_are_equal(const struct oracle_archive *archive, const struct judge_run *baseline,
                              const struct judge_run *again, const struct judge_run *strict, char *why,
                              size_t room_bytes)
{
    size_t found[3];
    const Exhibit__Artifact *artifacts[3] = {archive_of(baseline, archive, &found[0]),
                                             archive_of(strict, archive, &found[1]),
                                             archive_of(again, archive, &found[2])};
    const Exhibit__Artifact *base = artifacts[0], *confined = artifacts[1];

    if (base == NULL || confined == NULL) {
        (void)snprintf(why, room_bytes, "%zu files match in the baseline and %zu in strict mode, not one each",
                       found[0], found[1]);
        return false;
    }
    if (artifacts[2] != NULL && !is_usable(artifacts[2]))
        artifacts[2] = NULL; /* it excuses nothing */
    if (!is_usable(base) || !is_usable(confined) || judge_bytes_order(&base->path, &confined->path) != 0) {
        (void)snprintf(why, room_bytes, "not kept, no archive, or under different names");
        return false;
    }
    if (archive->bytes && judge_bytes_order(&base->sha256, &confined->sha256) != 0 &&
        (artifacts[2] == NULL || judge_bytes_order(&base->sha256, &artifacts[2]->sha256) == 0)) {
        (void)snprintf(why, room_bytes, "not equal byte by byte");
        return false;
    }
    return members_are_equal(archive, artifacts, why, room_bytes);
}
