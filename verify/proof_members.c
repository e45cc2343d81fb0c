/*
 * Members in order, compared path by path, and a difference in words.
 */
#include "verify/proof_members.h"

#include "base/sort.h"
#include "verify/matching.h"
#include "verify/proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The members of an archive that are called alike: `count` from `items` on. */
struct proof_namesakes {
    const struct proof_member *items;
    size_t count;
};

static int proof_compare_paths(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    size_t shorter = a->len < b->len ? a->len : b->len;
    int order = shorter == 0 ? 0 : memcmp(a->data, b->data, shorter);

    if (order != 0)
        return order;
    return a->len < b->len ? -1 : a->len > b->len;
}

int proof_path_order(const void *a, const void *b)
{
    const ProtobufCBinaryData *const *left = a, *const *right = b;

    return proof_compare_paths(*left, *right);
}

static int proof_compare_members(const void *a, const void *b)
{
    const struct proof_member *left = a, *right = b;
    int order = proof_compare_paths(&left->member->path, &right->member->path);

    if (order != 0)
        return order;
    return left->place < right->place ? -1 : left->place > right->place;
}

bool proof_members_sort(const Exhibit__Artifact *artifact, const struct oracle_archive *archive,
                        struct proof_members *out)
{
    *out = (struct proof_members){.items = calloc(artifact->n_members + 1, sizeof *out->items)};
    if (out->items == NULL)
        return false;
    for (size_t i = 0; i < artifact->n_members; i++) {
        bool excepted = false;

        for (size_t p = 0; p < archive->except_count && !excepted; p++)
            excepted = proof_path_matches(archive->except_paths[p], &artifact->members[i]->path);
        if (!excepted)
            out->items[out->count++] = (struct proof_member){artifact->members[i], i};
    }
    sort_rows(out->items, out->count, sizeof *out->items, proof_compare_members);
    return true;
}

/* Two members without a recorded owner are alike in it; one with and one without are not. */
static bool proof_owners_same(const Exhibit__MemberOwner *a, const Exhibit__MemberOwner *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->uid == b->uid && a->gid == b->gid && evidence_same(&a->uname, &b->uname) &&
           evidence_same(&a->gname, &b->gname);
}

static enum proof_field proof_member_differs(const Exhibit__ArchiveMember *a, const Exhibit__ArchiveMember *b,
                                             const struct oracle_archive *archive)
{
    if (a->type != b->type)
        return PROOF_TYPE;
    if (a->mode != b->mode)
        return PROOF_MODE;
    if (a->size_bytes != b->size_bytes)
        return PROOF_SIZE;
    if (!evidence_same(&a->sha256, &b->sha256))
        return PROOF_CONTENT;
    if (!evidence_same(&a->link, &b->link))
        return PROOF_LINK;
    if (!archive->except_mtime && a->mtime_s != b->mtime_s)
        return PROOF_MTIME;
    if (!archive->except_owner && !proof_owners_same(a->owner, b->owner))
        return PROOF_OWNER;
    return PROOF_NOTHING;
}

static struct proof_namesakes proof_namesakes_of(const struct proof_members *members, const ProtobufCBinaryData *path)
{
    struct proof_namesakes out = {members->items, 0};
    size_t low = 0, high = members->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (proof_compare_paths(&members->items[middle].member->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    out.items = &members->items[low];
    while (low + out.count < members->count && evidence_same(&out.items[out.count].member->path, path))
        out.count++;
    return out;
}

static struct proof_difference proof_namesakes_differ(struct proof_namesakes a, struct proof_namesakes b,
                                                      const struct oracle_archive *archive)
{
    struct proof_difference out = {0};

    for (size_t i = 0; i < a.count && i < b.count && out.field == PROOF_NOTHING; i++)
        out = (struct proof_difference){.field = proof_member_differs(a.items[i].member, b.items[i].member, archive),
                                        .members = {a.items[i].member, b.items[i].member}};
    if (out.field == PROOF_NOTHING && a.count != b.count)
        out = (struct proof_difference){
            .field = PROOF_NUMBER,
            .members = {a.count > 0 ? a.items[0].member : NULL, b.count > 0 ? b.items[0].member : NULL}};
    return out;
}

/* The first difference of those at a path that the archive `of` has. */
static struct proof_difference proof_first_difference(const struct proof_members *of, const struct proof_members *first,
                                                      const struct proof_members *other,
                                                      const struct proof_members *second,
                                                      const struct oracle_archive *archive)
{
    for (size_t i = 0; i < of->count;) {
        const ProtobufCBinaryData *path = &of->items[i].member->path;
        struct proof_namesakes own = proof_namesakes_of(first, path);
        struct proof_difference found = proof_namesakes_differ(own, proof_namesakes_of(other, path), archive);

        i += proof_namesakes_of(of, path).count;
        if (found.field == PROOF_NOTHING)
            continue;
        if (second != NULL && proof_namesakes_differ(own, proof_namesakes_of(second, path), archive).field != 0)
            continue;
        found.path = path;
        return found;
    }
    return (struct proof_difference){0};
}

struct proof_difference proof_members_compare(const struct proof_members *first, const struct proof_members *other,
                                              const struct proof_members *second, const struct oracle_archive *archive)
{
    struct proof_difference found = proof_first_difference(first, first, other, second, archive);

    if (found.field == PROOF_NOTHING)
        found = proof_first_difference(other, first, other, second, archive);
    return found;
}

/* ---- in words ---- */

static void proof_field_text(const Exhibit__ArchiveMember *member, enum proof_field field, char *out, size_t room_bytes)
{
    const Exhibit__MemberOwner *owner = member->owner;

    if (field == PROOF_TYPE)
        (void)snprintf(out, room_bytes, "%s",
                       S_ISREG(member->type)   ? "a regular file"
                       : S_ISDIR(member->type) ? "a folder"
                       : S_ISLNK(member->type) ? "a symbolic link"
                                               : "another type");
    else if (field == PROOF_MODE)
        (void)snprintf(out, room_bytes, "%04" PRIo32, member->mode);
    else if (field == PROOF_SIZE)
        (void)snprintf(out, room_bytes, "%" PRIu64, member->size_bytes);
    else if (field == PROOF_CONTENT && member->sha256.len == DIGEST_BYTES && room_bytes > 2 * DIGEST_BYTES)
        hex_encode(member->sha256.data, DIGEST_BYTES, out);
    else if (field == PROOF_LINK)
        (void)snprintf(out, room_bytes, "%s", matching_quote(member->link.data, member->link.len).text);
    else if (field == PROOF_MTIME)
        (void)snprintf(out, room_bytes, "%" PRId64, member->mtime_s);
    else if (field == PROOF_OWNER && owner != NULL)
        (void)snprintf(out, room_bytes, "%" PRId64 ":%" PRId64 " %s:%s", owner->uid, owner->gid,
                       matching_quote(owner->uname.data, owner->uname.len).text,
                       matching_quote(owner->gname.data, owner->gname.len).text);
    else
        (void)snprintf(out, room_bytes, "none recorded");
}

void proof_difference_tell(const struct proof_difference *difference, char *out, size_t room_bytes)
{
    static const char *const names[] = {"nothing", "number", "type",  "mode", "size",
                                        "content", "link",   "mtime", "owner"};
    struct matching_quote path = matching_quote(difference->path->data, difference->path->len);
    char values[2][192];

    if (difference->members[0] == NULL || difference->members[1] == NULL) {
        (void)snprintf(out, room_bytes, "member %s is in %s alone", path.text,
                       difference->members[0] == NULL ? "strict" : "baseline");
        return;
    }
    if (difference->field == PROOF_NUMBER) {
        (void)snprintf(out, room_bytes, "member %s is there more often in one mode than in the other", path.text);
        return;
    }
    for (int i = 0; i < 2; i++)
        proof_field_text(difference->members[i], difference->field, values[i], sizeof values[i]);
    (void)snprintf(out, room_bytes, "member %s differs in %s: %s in baseline, %s in strict", path.text,
                   names[difference->field], values[0], values[1]);
}
