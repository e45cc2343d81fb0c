/*
 * Matchers over what a case left, and archives against each other (docs/DECISION.md section 6, docs/ORACLE.md 4 and 5).
 * Knows no rule.
 */
#include "record/judge_match.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value at an RFC 6901 pointer, borrowed, or NULL. */
static json_t *pointer_follow(json_t *value, const char *pointer)
{
    while (value != NULL && *pointer != 0) {
        char key[LIMIT_PATH_BYTES];
        size_t used = 0;

        if (*pointer++ != '/')
            return NULL;
        for (; *pointer != 0 && *pointer != '/'; pointer++) {
            char letter = *pointer;

            if (letter == '~') {
                pointer++;
                if (*pointer != '0' && *pointer != '1')
                    return NULL;
                letter = *pointer == '0' ? '~' : '/';
            }
            if (used + 1 >= sizeof key)
                return NULL;
            key[used++] = letter;
        }
        key[used] = 0;
        if (json_is_object(value)) {
            value = json_object_get(value, key);
        } else if (json_is_array(value)) {
            if (used == 0 || used > 9 || strspn(key, "0123456789") != used || (key[0] == '0' && used > 1))
                return NULL;
            value = json_array_get(value, strtoul(key, NULL, 10));
        } else {
            return NULL;
        }
    }
    return value;
}

static bool json_holds(const struct bytes *stream, const struct oracle_matcher *matcher, char *why, size_t room_bytes)
{
    json_error_t error;
    json_t *text =
        json_loadb((const char *)stream->data, stream->size_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    json_t *expected = json_loadb((const char *)matcher->bytes.data, matcher->bytes.size_bytes, JSON_DECODE_ANY, NULL);
    json_t *value = text == NULL ? NULL : pointer_follow(text, matcher->pointer);
    bool holds = value != NULL && expected != NULL && json_equal(value, expected) == 1;

    if (text == NULL)
        (void)snprintf(why, room_bytes, "is not one JSON text: %s", error.text);
    else if (value == NULL)
        (void)snprintf(why, room_bytes, "has nothing at %s", matcher->pointer);
    else if (!holds)
        (void)snprintf(why, room_bytes, "has another value at %s than %.80s", matcher->pointer,
                       (const char *)matcher->bytes.data);
    json_decref(text);
    json_decref(expected);
    return holds;
}

/*
 * Looks at every line that begins with "# NAME ". Returns whether there is exactly one, and its rest is a number.
 * *out_lines tells how many there are.
 */
static bool counter_read(const struct bytes *stream, const char *name, int64_t *out, int *out_lines)
{
    const char *at = (const char *)stream->data, *end = at + stream->size_bytes;
    char start[32];
    size_t start_bytes = (size_t)snprintf(start, sizeof start, "# %s ", name);
    bool readable = false;

    *out_lines = 0;
    while (at != NULL && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline == NULL ? end : newline;

        if ((size_t)(line_end - at) >= start_bytes && memcmp(at, start, start_bytes) == 0) {
            const char *digit = at + start_bytes;
            size_t digits = (size_t)(line_end - digit);

            *out = 0;
            while (digit < line_end && *digit >= '0' && *digit <= '9' && digits <= 15)
                *out = *out * 10 + (*digit++ - '0');
            readable = digits > 0 && digit == line_end;
            (*out_lines)++;
        }
        at = newline == NULL ? NULL : newline + 1;
    }
    return *out_lines == 1 && readable;
}

static bool tap_holds(const struct bytes *stream, const struct oracle_matcher *matcher, char *why, size_t room_bytes)
{
    static const char *const names[] = {"", "tests", "pass", "fail"};
    const char *name = names[matcher->counter];
    int64_t value = 0;
    int lines;
    bool readable = counter_read(stream, name, &value, &lines);

    if (!readable)
        (void)snprintf(why, room_bytes, "has %d lines \"# %s ...\", not one with a number", lines, name);
    else if (value != matcher->number)
        (void)snprintf(why, room_bytes, "counts %lld as %s, not %lld", (long long)value, name,
                       (long long)matcher->number);
    return readable && value == matcher->number;
}

static bool stream_holds(const struct judge_run *run, const struct oracle_matcher *matcher, char *why,
                         size_t room_bytes)
{
    int stream = matcher->on_stderr ? EXHIBIT__STREAM_NAME__STREAM_STDERR : EXHIBIT__STREAM_NAME__STREAM_STDOUT;
    const struct bytes *kept = &run->kept[stream];
    bool holds;

    if (run->stream_cut[stream] || !run->stream_ended[stream] ||
        (run->size_bytes[stream] > JUDGE_KEPT_BYTES && matcher->kind != ORACLE_EMPTY)) {
        (void)snprintf(why, room_bytes, "is not whole, or too long to be looked at");
        return false;
    }
    switch (matcher->kind) {
    case ORACLE_EMPTY:
        holds = run->size_bytes[stream] == 0;
        break;
    case ORACLE_EQUALS:
        holds = kept->size_bytes == matcher->bytes.size_bytes &&
                (kept->size_bytes == 0 || memcmp(kept->data, matcher->bytes.data, kept->size_bytes) == 0);
        break;
    case ORACLE_CONTAINS:
        holds = matcher->bytes.size_bytes == 0 ||
                (kept->size_bytes > 0 &&
                 memmem(kept->data, kept->size_bytes, matcher->bytes.data, matcher->bytes.size_bytes) != NULL);
        break;
    case ORACLE_JSON_EQUALS:
        return json_holds(kept, matcher, why, room_bytes);
    case ORACLE_TAP:
        return tap_holds(kept, matcher, why, room_bytes);
    default:
        holds = false;
    }
    if (!holds)
        (void)snprintf(why, room_bytes, "is not what the oracle's line %u says (%llu bytes)", matcher->line,
                       (unsigned long long)run->size_bytes[stream]);
    return holds;
}

static bool matcher_holds(const struct judge_run *run, const struct oracle_matcher *matcher, char *why,
                          size_t room_bytes)
{
    char what[300] = "";
    bool holds;

    if (matcher->kind == ORACLE_EXIT || matcher->kind == ORACLE_SIGNAL) {
        holds = run->exit_how == (matcher->kind == ORACLE_SIGNAL ? EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL
                                                                 : EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS) &&
                (int64_t)run->exit_value == matcher->number;
        if (!holds)
            (void)snprintf(why, room_bytes, "ended with %s %u, not %s %lld",
                           run->exit_how == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL ? "signal" : "exit status",
                           run->exit_value, matcher->kind == ORACLE_SIGNAL ? "signal" : "exit status",
                           (long long)matcher->number);
        return holds;
    }
    holds = stream_holds(run, matcher, what, sizeof what);
    if (!holds)
        (void)snprintf(why, room_bytes, "%s %s", matcher->on_stderr ? "stderr" : "stdout", what);
    return holds;
}

bool judge_case_is_met(const struct judge_run *run, const struct oracle_case *expected, char *why, size_t room_bytes)
{
    if (!run->exited) {
        (void)snprintf(why, room_bytes, run->spawn_failed ? "could not be executed" : "was not seen to end");
        return false;
    }
    if (run->watchdog) {
        (void)snprintf(why, room_bytes, "overran and was ended by the watchdog");
        return false;
    }
    for (size_t i = 0; i < expected->matcher_count; i++)
        if (!matcher_holds(run, &expected->matchers[i], why, room_bytes))
            return false;
    return true;
}

bool judge_archive_matches(const struct oracle_archive *archive, const Exhibit__Artifact *artifact)
{
    const char *star = strchr(archive->path, '*');
    const char *path = (const char *)artifact->path.data;
    size_t size_bytes = artifact->path.len, head_bytes, tail_bytes;

    if (star == NULL)
        return strlen(archive->path) == size_bytes && memcmp(path, archive->path, size_bytes) == 0;
    head_bytes = (size_t)(star - archive->path);
    tail_bytes = strlen(star + 1);
    return size_bytes >= head_bytes + tail_bytes && memcmp(path, archive->path, head_bytes) == 0 &&
           memcmp(path + size_bytes - tail_bytes, star + 1, tail_bytes) == 0 &&
           memchr(path + head_bytes, '/', size_bytes - head_bytes - tail_bytes) == NULL;
}

/* The one artifact of the run that matches, or NULL; *out_count tells how many do. */
static const Exhibit__Artifact *archive_of(const struct judge_run *run, const struct oracle_archive *archive,
                                           size_t *out_count)
{
    const Exhibit__Artifact *found = NULL;

    *out_count = 0;
    for (size_t i = 0; run != NULL && i < run->artifact_count; i++)
        if (judge_archive_matches(archive, run->artifacts[i])) {
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

static bool members_are_same(const Exhibit__ArchiveMember *a, const Exhibit__ArchiveMember *b)
{
    return judge_bytes_order(&a->path, &b->path) == 0 && a->type == b->type && a->mode == b->mode &&
           a->size_bytes == b->size_bytes && judge_bytes_order(&a->sha256, &b->sha256) == 0 &&
           judge_bytes_order(&a->link, &b->link) == 0 && a->mtime_s == b->mtime_s;
}

/* The members in order, owned by the caller (free). NULL: out of memory. */
static struct placed *members_sort(const Exhibit__Artifact *artifact)
{
    struct placed *placed = calloc(artifact->n_members + 1, sizeof *placed);

    for (size_t i = 0; placed != NULL && i < artifact->n_members; i++)
        placed[i] = (struct placed){artifact->members[i], i};
    if (placed != NULL)
        qsort(placed, artifact->n_members, sizeof *placed, placed_compare);
    return placed;
}

/* A walk over sorted members, path by path. */
struct walk {
    const struct placed *at;
    size_t left;
};

/* How many of the next members have this path. */
static size_t walk_count(const struct walk *walk, const ProtobufCBinaryData *path)
{
    size_t count = 0;

    while (count < walk->left && judge_bytes_order(&walk->at[count].member->path, path) == 0)
        count++;
    return count;
}

/* Whether two walks go on with the same members, so many each. */
static bool walks_agree(const struct walk *a, size_t a_count, const struct walk *b, size_t b_count)
{
    bool same = a_count == b_count;

    for (size_t i = 0; same && i < a_count; i++)
        same = members_are_same(a->at[i].member, b->at[i].member);
    return same;
}

/*
 * Walks baseline, strict and second baseline together. Whether the first two are equal in every path, leaving out those
 * in which the baselines differ already (`excuses`: there is a second one). Where not, *out_path is the first such
 * path.
 */
static bool walks_are_equal(struct walk walks[3], bool excuses, const ProtobufCBinaryData **out_path)
{
    for (;;) {
        const ProtobufCBinaryData *path = NULL;
        size_t counts[3];

        for (int i = 0; i < 3; i++)
            if (walks[i].left > 0 && (path == NULL || judge_bytes_order(&walks[i].at->member->path, path) < 0))
                path = &walks[i].at->member->path;
        if (path == NULL)
            return true;
        for (int i = 0; i < 3; i++)
            counts[i] = walk_count(&walks[i], path);
        if (!(excuses && !walks_agree(&walks[0], counts[0], &walks[2], counts[2])) &&
            !walks_agree(&walks[0], counts[0], &walks[1], counts[1])) {
            *out_path = path;
            return false;
        }
        for (int i = 0; i < 3; i++) {
            walks[i].at += counts[i];
            walks[i].left -= counts[i];
        }
    }
}

bool judge_archives_are_equal(const struct oracle_archive *archive, const struct judge_run *baseline,
                              const struct judge_run *again, const struct judge_run *strict, char *why,
                              size_t room_bytes)
{
    size_t found[3];
    const Exhibit__Artifact *base = archive_of(baseline, archive, &found[0]);
    const Exhibit__Artifact *confined = archive_of(strict, archive, &found[1]);
    const Exhibit__Artifact *second = archive_of(again, archive, &found[2]);
    const ProtobufCBinaryData *path = NULL;
    struct placed *lists[3];
    struct walk walks[3];
    bool equal;

    if (base == NULL || confined == NULL) {
        (void)snprintf(why, room_bytes, "%zu files match %s in the baseline and %zu in strict mode, not one each",
                       found[0], archive->path, found[1]);
        return false;
    }
    if (second != NULL && (!second->kept || !second->is_archive))
        second = NULL; /* it excuses nothing */
    if (!base->kept || !confined->kept || !base->is_archive || !confined->is_archive ||
        judge_bytes_order(&base->path, &confined->path) != 0) {
        (void)snprintf(why, room_bytes, "%s: not kept, no archive, or under different names", archive->path);
        return false;
    }
    if (archive->bytes && judge_bytes_order(&base->sha256, &confined->sha256) != 0 &&
        (second == NULL || judge_bytes_order(&base->sha256, &second->sha256) == 0)) {
        (void)snprintf(why, room_bytes, "%s: not equal byte by byte", archive->path);
        return false;
    }
    lists[0] = members_sort(base);
    lists[1] = members_sort(confined);
    lists[2] = second == NULL ? NULL : members_sort(second);
    walks[0] = (struct walk){lists[0], base->n_members};
    walks[1] = (struct walk){lists[1], confined->n_members};
    walks[2] = (struct walk){lists[2], second == NULL ? 0 : second->n_members};
    equal = lists[0] != NULL && lists[1] != NULL && (second == NULL || lists[2] != NULL) &&
            walks_are_equal(walks, second != NULL, &path);
    if (!equal)
        (void)snprintf(why, room_bytes, "%s: member %.*s differs", archive->path, path == NULL ? 0 : (int)path->len,
                       path == NULL ? "" : (const char *)path->data);
    for (int i = 0; i < 3; i++)
        free(lists[i]);
    return equal;
}
