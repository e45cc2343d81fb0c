/*
 * Matchers on the files that a run left (ORACLE 4.12).
 */
#include "replay/match_verdict.h"

#include "replay/archives.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static const char *kind_word(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "a regular file";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFDIR:
        return "a folder";
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "something";
    }
}

/* What of a run's artifacts a pattern names. */
struct named {
    size_t count;
    const Exhibit__Event *first;   /* NULL: none */
    const Exhibit__Event *regular; /* the first regular file; NULL: none */
};

/* Whether the launcher leaves this path by itself, whatever the command. */
static bool is_launchers(const struct span *files, const ProtobufCBinaryData *path)
{
    size_t low = 0, high = files->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = archive_bytes_order(path, &files->events[middle]->artifact->path);

        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static struct named find_named(struct span artifacts, const struct span *launcher_files, const char *pattern)
{
    struct named named = {0};

    for (size_t i = 0; i < artifacts.count; i++) {
        const Exhibit__Event *event = artifacts.events[i];

        if (!archive_matches(pattern, &event->artifact->path) || is_launchers(launcher_files, &event->artifact->path))
            continue;
        named.count++;
        if (named.first == NULL)
            named.first = event;
        if (named.regular == NULL && S_ISREG(event->artifact->mode))
            named.regular = event;
    }
    return named;
}

/* Whether the run's listing is whole; where it is not, says why and gives false. */
static bool listing_is_whole(const struct matching *matching, struct span artifacts, struct verdict *out)
{
    const struct tables *tables = &matching->facts->tables;
    uint32_t number = matching->run->number;
    struct span freezes = tables_of_run(tables, EXHIBIT__EVENT__WHAT_FREEZE, number);
    const Exhibit__Event *after = NULL;

    for (size_t i = 0; i < artifacts.count; i++) {
        const Exhibit__Artifact *artifact = artifacts.events[i]->artifact;

        if (artifact->path.len != 0 && !S_ISDIR(artifact->mode))
            continue;
        verdict_unable(out, "its listing is not whole: %s, event %" PRIu64,
                       artifact->path.len == 0 ? "there were more files" : "a folder that was not looked into",
                       artifacts.events[i]->seq);
        out->place.seq = artifacts.events[i]->seq;
        return false;
    }
    for (size_t i = 0; i < freezes.count && after == NULL; i++)
        if (freezes.events[i]->freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER)
            after = freezes.events[i];
    if (after == NULL)
        verdict_unable(out, "its files were not listed");
    else if (tables_last_of_others(tables, number) <= after->seq)
        verdict_unable(out, "the recording ended before all its files were listed");
    return out->kind == VERDICT_HOLDS;
}

/* Says what is there, and where. */
static void see_artifact(const Exhibit__Event *event, struct verdict *out)
{
    const Exhibit__Artifact *artifact = event->artifact;
    char quoted[64];

    verdict_fails(out, "%s %s", kind_word(artifact->mode),
                  match_quote(artifact->path.data, artifact->path.len, quoted, sizeof quoted));
    verdict_at_event(out, event->seq);
}

static void match_digest_of_file(struct named named, const struct oracle_matcher *matcher, struct verdict *out)
{
    const Exhibit__Artifact *artifact = named.count == 1 ? named.first->artifact : NULL;
    struct digest digest;
    char hex[2 * DIGEST_BYTES + 1];

    if (named.count > 0)
        out->place.seq = named.first->seq;
    if (named.count != 1)
        verdict_unable(out, "%zu of the files that it left are meant, not one", named.count);
    else if (!S_ISREG(artifact->mode))
        verdict_unable(out, "event %" PRIu64 " is %s, not a regular file", named.first->seq, kind_word(artifact->mode));
    else if (!artifact->kept)
        verdict_unable(out, "the file of event %" PRIu64 " was not kept: %.60s", named.first->seq, artifact->note);
    else if (!digest_from(artifact->sha256.data, artifact->sha256.len, &digest))
        verdict_unable(out, "event %" PRIu64 " tells no SHA-256", named.first->seq);
    else if (!digest_equal(&digest, &matcher->digest)) {
        hex_encode(digest.bytes, DIGEST_BYTES, hex);
        verdict_fails(out, "SHA-256 %s", hex);
        verdict_at_event(out, named.first->seq);
    }
}

int match_file(struct matching *matching, const struct oracle_matcher *matcher, struct verdict *out, struct err *err)
{
    struct span artifacts =
        tables_of_run(&matching->facts->tables, EXHIBIT__EVENT__WHAT_ARTIFACT, matching->run->number);
    const struct span none = {0};
    bool strict = matching->run->start->mode == EXHIBIT__MODE__MODE_STRICT;
    struct named named = find_named(artifacts, strict ? &matching->facts->launcher_files : &none, matcher->path);
    char quoted[80];

    (void)err;
    if (matcher->kind == ORACLE_FILE_SHA256)
        match_digest_of_file(named, matcher, out);
    else if (matcher->kind == ORACLE_FILE_ABSENT && named.count > 0)
        see_artifact(named.first, out);
    else if (matcher->kind == ORACLE_FILE_ABSENT)
        (void)listing_is_whole(matching, artifacts, out);
    else if (named.regular == NULL && named.count > 0)
        see_artifact(named.first, out);
    else if (named.regular == NULL) {
        verdict_fails(out, "none of the %zu files that it left", artifacts.count);
        verdict_at(out, "%s", match_quote(matcher->path, strlen(matcher->path), quoted, sizeof quoted));
    }
    return 0;
}
