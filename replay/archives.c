/*
 * Archives: their members listed anew, the patterns that name them, and the comparison of two, member by member, with
 * what the tool itself leaves different in two baselines set aside.
 */
#include "replay/archives.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "formats/archive.h"
#include "replay/match_verdict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int archive_bytes_order(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    size_t common = a->len < b->len ? a->len : b->len;
    int order = common == 0 ? 0 : memcmp(a->data, b->data, common);

    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static bool same_owner(const Exhibit__MemberOwner *a, const Exhibit__MemberOwner *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->uid == b->uid && a->gid == b->gid && archive_bytes_order(&a->uname, &b->uname) == 0 &&
           archive_bytes_order(&a->gname, &b->gname) == 0;
}

/* The fields of DECISION 6.4, each a bit, in the order in which a difference is told. */
enum field {
    FIELD_PATH = 1 << 0,
    FIELD_TYPE = 1 << 1,
    FIELD_MODE = 1 << 2,
    FIELD_SIZE = 1 << 3,
    FIELD_DIGEST = 1 << 4,
    FIELD_LINK = 1 << 5,
    FIELD_MTIME = 1 << 6,
    FIELD_OWNER = 1 << 7,
};

/* The set of fields in which two members differ. */
static unsigned fields_that_differ(const Exhibit__ArchiveMember *a, const Exhibit__ArchiveMember *b)
{
    unsigned fields = 0;

    fields |= archive_bytes_order(&a->path, &b->path) == 0 ? 0u : FIELD_PATH;
    fields |= a->type == b->type ? 0u : FIELD_TYPE;
    fields |= a->mode == b->mode ? 0u : FIELD_MODE;
    fields |= a->size_bytes == b->size_bytes ? 0u : FIELD_SIZE;
    fields |= archive_bytes_order(&a->sha256, &b->sha256) == 0 ? 0u : FIELD_DIGEST;
    fields |= archive_bytes_order(&a->link, &b->link) == 0 ? 0u : FIELD_LINK;
    fields |= a->mtime_s == b->mtime_s ? 0u : FIELD_MTIME;
    fields |= same_owner(a->owner, b->owner) ? 0u : FIELD_OWNER;
    return fields;
}

/* What is told of the first field of a set, which is not empty. Static. */
static const char *words_of_fields(unsigned fields)
{
    static const char *const words[] = {"its path differs",  "its type differs",   "its mode differs",
                                        "its size differs",  "its digest differs", "its link differs",
                                        "its mtime differs", "its owner differs"};

    return words[__builtin_ctz(fields)];
}

/* Whether a member is what was recorded of it; an older recording says nothing of its owner. */
static bool as_recorded(const Exhibit__ArchiveMember *member, const Exhibit__ArchiveMember *recorded)
{
    unsigned unknown = recorded->owner == NULL ? FIELD_OWNER : 0;

    return (fields_that_differ(member, recorded) & ~unknown) == 0;
}

static int check_members(const struct facts *facts, const Exhibit__Event *event, struct archive_list *list,
                         struct err *err)
{
    const Exhibit__Artifact *artifact = event->artifact;
    AUTO_BYTES struct bytes content = {0};
    struct digest digest;
    int code;

    if (!digest_from(artifact->sha256.data, artifact->sha256.len, &digest))
        return err_set(err, ERR_FORMAT, "a kept artifact without a digest");
    code = source_object(facts->source, &digest, LIMIT_ARTIFACT_BYTES, &content, err);
    if (code < 0)
        return code;
    code = archive_list_read(content.data, content.size_bytes, list, err);
    if (code == ERR_SYSTEM)
        return code;
    if (code < 0)
        return err_set(err, ERR_MISMATCH, "it is not an archive that can be read, though it was recorded as one");
    if (list->count != artifact->n_members)
        return err_set(err, ERR_MISMATCH, "it has %zu members; %zu were recorded", list->count, artifact->n_members);
    for (size_t i = 0; i < list->count; i++)
        if (!as_recorded(list->members[i], artifact->members[i]))
            return err_set(err, ERR_MISMATCH, "its member %zu is not as recorded", i + 1);
    return 0;
}

int archives_check(const struct facts *facts, struct err *err)
{
    struct span span = tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_ARTIFACT);
    uint64_t work_bytes = 0;

    for (size_t i = 0; i < span.count; i++) {
        struct archive_list list = {0};
        int code;

        if (!span.events[i]->artifact->kept || !span.events[i]->artifact->is_archive)
            continue;
        if (work_bytes > LIMIT_UNPACKED_BYTES)
            return err_set(err, ERR_LIMIT, "FORMAT 7.4: the archives unpack to more than %llu bytes",
                           LIMIT_UNPACKED_BYTES);
        code = check_members(facts, span.events[i], &list, err);
        work_bytes += list.unpacked_bytes;
        archive_list_done(&list);
        if (code < 0)
            return err_wrap(err, "event %" PRIu64 ": an archive", span.events[i]->seq);
    }
    return 0;
}

/* Whether a path has these bytes from there on. */
static bool has_at(const ProtobufCBinaryData *path, size_t from, const char *part, size_t size_bytes)
{
    return from <= path->len && size_bytes <= path->len - from && memcmp(path->data + from, part, size_bytes) == 0;
}

bool archive_matches(const char *pattern, const ProtobufCBinaryData *path)
{
    size_t before = strcspn(pattern, "*"), after = strlen(pattern) - before;

    if (path->len == 0 || !has_at(path, 0, pattern, before))
        return false;
    if (after == 0)
        return path->len == before;
    after--; /* the star itself */
    if (path->len - before < after || !has_at(path, path->len - after, pattern + before + 1, after))
        return false;
    return memchr(path->data + before, '/', path->len - before - after) == NULL;
}

const Exhibit__Event *archive_only(const struct facts *facts, const struct run *run, const char *pattern,
                                   size_t *out_count)
{
    struct span span = tables_of_run(&facts->tables, EXHIBIT__EVENT__WHAT_ARTIFACT, run->number);
    const Exhibit__Event *found = NULL;

    *out_count = 0;
    for (size_t i = 0; i < span.count; i++)
        if (archive_matches(pattern, &span.events[i]->artifact->path)) {
            found = span.events[i];
            (*out_count)++;
        }
    return *out_count == 1 ? found : NULL;
}

/* A member and its place; `members` of one archive sorted by path, then place. */
struct placed {
    const Exhibit__ArchiveMember *member;
    size_t place;
};

struct listing {
    struct placed *members; /* heap */
    size_t count;
    size_t at; /* the first that was not compared yet */
};

static void listing_done(struct listing *listing)
{
    free(listing->members);
}

static int compare_placed(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    int order = archive_bytes_order(&a->member->path, &b->member->path);

    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

static bool is_excepted(const ProtobufCBinaryData *path, const struct oracle_archive *asked)
{
    for (size_t i = 0; i < asked->except_count; i++)
        if (archive_matches(asked->except_paths[i], path))
            return true;
    return false;
}

/* Lists the members that are compared at all. */
static int listing_make(const Exhibit__Artifact *artifact, const struct oracle_archive *asked, struct listing *out,
                        struct err *err)
{
    size_t count = artifact == NULL ? 0 : artifact->n_members;

    out->members = calloc(count + 1, sizeof *out->members);
    if (out->members == NULL)
        return err_set_errno(err, "memory for %zu members", count);
    for (size_t i = 0; i < count; i++)
        if (!is_excepted(&artifact->members[i]->path, asked))
            out->members[out->count++] = (struct placed){artifact->members[i], i};
    sort_rows(out->members, out->count, sizeof *out->members, compare_placed);
    return 0;
}

/* The members of a path, which may be none. What comes before it is passed over. */
static struct listing take_member_path(struct listing *from, const ProtobufCBinaryData *path)
{
    struct listing group;

    while (from->at < from->count && archive_bytes_order(&from->members[from->at].member->path, path) < 0)
        from->at++;
    group = (struct listing){.members = from->members + from->at};
    while (from->at < from->count && archive_bytes_order(&from->members[from->at].member->path, path) == 0) {
        from->at++;
        group.count++;
    }
    return group;
}

/* In what the members of one path differ between two archives, but for some fields. */
static struct archive_difference difference_of(const struct listing *a, const struct listing *b, unsigned excepted)
{
    struct archive_difference out = {0};
    unsigned fields = 0;

    if (a->count != b->count) {
        out.what = a->count == 0   ? "it is in strict alone"
                   : b->count == 0 ? "it is in baseline alone"
                                   : "it is there another number of times in strict";
        return out;
    }
    for (size_t i = 0; i < a->count; i++)
        fields |= fields_that_differ(a->members[i].member, b->members[i].member) & ~excepted;
    if (fields == 0)
        return out;
    out.what = words_of_fields(fields);
    out.field = fields & -fields; /* the first, which is the one that is told */
    for (size_t i = 0; out.baseline == NULL; i++)
        if ((fields_that_differ(a->members[i].member, b->members[i].member) & out.field) != 0) {
            out.baseline = a->members[i].member;
            out.strict = b->members[i].member;
        }
    return out;
}

/* What stands in one field of a member. */
static const char *value_of(const Exhibit__ArchiveMember *member, unsigned field, char *out, size_t room_bytes)
{
    char quoted[2][60] = {"", ""};

    switch (field) {
    case FIELD_TYPE:
        (void)snprintf(out, room_bytes, "type bits %06" PRIo32, member->type);
        return out;
    case FIELD_MODE:
        (void)snprintf(out, room_bytes, "%03" PRIo32, member->mode);
        return out;
    case FIELD_SIZE:
        (void)snprintf(out, room_bytes, "%" PRIu64, member->size_bytes);
        return out;
    case FIELD_DIGEST:
        if (member->sha256.len != DIGEST_BYTES || room_bytes < 2 * DIGEST_BYTES + 1)
            return "none";
        hex_encode(member->sha256.data, DIGEST_BYTES, out);
        return out;
    case FIELD_LINK:
        return match_quote(member->link.data, member->link.len, out, room_bytes);
    case FIELD_MTIME:
        (void)snprintf(out, room_bytes, "%" PRId64, member->mtime_s);
        return out;
    case FIELD_OWNER:
        if (member->owner == NULL)
            return "none that was recorded";
        (void)snprintf(out, room_bytes, "uid %" PRId64 " %s gid %" PRId64 " %s", member->owner->uid,
                       match_quote(member->owner->uname.data, member->owner->uname.len, quoted[0], sizeof quoted[0]),
                       member->owner->gid,
                       match_quote(member->owner->gname.data, member->owner->gname.len, quoted[1], sizeof quoted[1]));
        return out;
    default:
        return "another";
    }
}

const char *archive_values(const struct archive_difference *difference, char out[ARCHIVE_VALUES_BYTES])
{
    char baseline[200], strict[200];

    out[0] = '\0';
    if (difference->field != 0)
        (void)snprintf(out, ARCHIVE_VALUES_BYTES, ": baseline has %s, strict has %s",
                       value_of(difference->baseline, difference->field, baseline, sizeof baseline),
                       value_of(difference->strict, difference->field, strict, sizeof strict));
    return out;
}

/* The lower of the next paths of two listings. NULL: both are at their ends. */
static const ProtobufCBinaryData *next_path(const struct listing *a, const struct listing *b)
{
    const ProtobufCBinaryData *left = a->at < a->count ? &a->members[a->at].member->path : NULL;
    const ProtobufCBinaryData *right = b->at < b->count ? &b->members[b->at].member->path : NULL;

    if (left == NULL || right == NULL)
        return left == NULL ? right : left;
    return archive_bytes_order(left, right) <= 0 ? left : right;
}

int archives_compare(const Exhibit__Artifact *baseline, const Exhibit__Artifact *again, const Exhibit__Artifact *strict,
                     const struct oracle_archive *asked, struct archive_difference *out, struct err *err)
{
    __attribute__((cleanup(listing_done))) struct listing a = {0};
    __attribute__((cleanup(listing_done))) struct listing b = {0};
    __attribute__((cleanup(listing_done))) struct listing s = {0};
    const unsigned excepted = (asked->except_mtime ? FIELD_MTIME : 0u) | (asked->except_owner ? FIELD_OWNER : 0u);
    const ProtobufCBinaryData *path;

    *out = (struct archive_difference){0};
    if (listing_make(baseline, asked, &a, err) < 0 || listing_make(again, asked, &b, err) < 0 ||
        listing_make(strict, asked, &s, err) < 0)
        return err->code;
    if (asked->except_count > 0 && a.count == 0) {
        out->what = "its exceptions leave no member of the baseline's to compare";
        return 0;
    }
    while ((path = next_path(&a, &s)) != NULL) {
        struct listing in_a = take_member_path(&a, path), in_b = take_member_path(&b, path),
                       in_s = take_member_path(&s, path);
        bool excused = again != NULL && difference_of(&in_a, &in_b, excepted).what != NULL;
        struct archive_difference found = difference_of(&in_a, &in_s, excepted);

        if (found.what != NULL && !excused) {
            *out = found;
            out->path = path;
            return 0;
        }
    }
    if (asked->bytes && archive_bytes_order(&baseline->sha256, &strict->sha256) != 0 &&
        (again == NULL || archive_bytes_order(&baseline->sha256, &again->sha256) == 0))
        out->what = "its bytes differ between baseline and strict";
    return 0;
}

static int compare_artifacts(const void *left, const void *right)
{
    const Exhibit__Event *a = *(const Exhibit__Event *const *)left, *b = *(const Exhibit__Event *const *)right;
    int order = archive_bytes_order(&a->artifact->path, &b->artifact->path);

    return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

int archives_of_run(const struct facts *facts, const struct oracle_case *expected, const struct run *run,
                    const Exhibit__Event ***out, size_t *out_count, struct err *err)
{
    struct span span = tables_of_run(&facts->tables, EXHIBIT__EVENT__WHAT_ARTIFACT, run->number);
    AUTO_TABLE const Exhibit__Event **found = NULL;
    size_t count = 0;

    for (size_t i = 0; i < span.count; i++) {
        bool matches = false;

        for (size_t j = 0; j < expected->archive_count && !matches; j++)
            matches = archive_matches(expected->archives[j].path, &span.events[i]->artifact->path);
        if (matches && table_add(&found, &count, &span.events[i], sizeof span.events[i], err) < 0)
            return err->code;
    }
    if (count > 0)
        sort_rows(found, count, sizeof *found, compare_artifacts);
    *out = take_ptr(&found);
    *out_count = count;
    return 0;
}
