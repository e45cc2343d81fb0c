/*
 * Matchers on what a run left in its scratch (docs/ORACLE.md 4.12), by the events alone.
 */
#include "record/judge_match.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool judge_path_matches(const char *pattern, const ProtobufCBinaryData *path)
{
    const char *star = strchr(pattern, '*');
    const char *text = (const char *)path->data;
    size_t head_bytes, tail_bytes;

    if (star == NULL)
        return path->len > 0 && strlen(pattern) == path->len && memcmp(text, pattern, path->len) == 0;
    head_bytes = (size_t)(star - pattern);
    tail_bytes = strlen(star + 1);
    return path->len > 0 && path->len >= head_bytes + tail_bytes && memcmp(text, pattern, head_bytes) == 0 &&
           memcmp(text + path->len - tail_bytes, star + 1, tail_bytes) == 0 &&
           memchr(text + head_bytes, '/', path->len - head_bytes - tail_bytes) == NULL;
}

/* What is there that a file's matcher names. */
struct left {
    size_t count;
    size_t regular;
    const Exhibit__Artifact *first;
    bool whole; /* the listing of the run is */
};

static int path_compare(const void *key, const void *item)
{
    const Exhibit__Artifact *const *artifact = item;

    return judge_bytes_order(key, &(*artifact)->path);
}

/* Whether the launcher leaves this path whatever the command. */
static bool is_of_launcher(const struct judge_run *launcher, const ProtobufCBinaryData *path)
{
    return launcher != NULL && launcher->artifact_count > 0 &&
           bsearch(path, launcher->artifacts, launcher->artifact_count, sizeof *launcher->artifacts, path_compare) !=
               NULL;
}

static struct left left_of(const struct judge *judge, const struct judge_run *run, const char *pattern)
{
    struct left left = {.whole = run->listed};
    const struct judge_run *launcher = NULL;

    if (run->mode == EXHIBIT__MODE__MODE_STRICT)
        launcher = judge_run_of(judge, EXHIBIT__RUN_KIND__RUN_LAUNCHER, "launcher", EXHIBIT__MODE__MODE_STRICT, 1);
    for (size_t i = 0; i < run->artifact_count; i++) {
        const Exhibit__Artifact *artifact = run->artifacts[i];

        if (artifact->path.len == 0 || S_ISDIR(artifact->mode))
            left.whole = false;
        if (!judge_path_matches(pattern, &artifact->path) || is_of_launcher(launcher, &artifact->path))
            continue;
        if (left.first == NULL)
            left.first = artifact;
        left.count++;
        left.regular += S_ISREG(artifact->mode);
    }
    return left;
}

static void digest_match(const struct left *left, const struct oracle_matcher *matcher, struct judge_finding *out)
{
    char wanted[2 * DIGEST_BYTES + 1], seen[2 * DIGEST_BYTES + 1];

    if (left->count != 1) {
        judge_finding_cannot(out, "%zu are called %.80s, not one", left->count, matcher->path);
        return;
    }
    if (left->regular != 1 || !left->first->kept || left->first->sha256.len != DIGEST_BYTES) {
        judge_finding_cannot(out, "%.80s was not kept, or is no file: %.80s", matcher->path, left->first->note);
        return;
    }
    out->holds = memcmp(left->first->sha256.data, matcher->digest.bytes, DIGEST_BYTES) == 0;
    hex_encode(matcher->digest.bytes, DIGEST_BYTES, wanted);
    hex_encode(left->first->sha256.data, DIGEST_BYTES, seen);
    if (!out->holds)
        judge_finding_differs(out, "expected %s, seen %s, at %.80s", wanted, seen, matcher->path);
}

void judge_files_match(const struct judge *judge, const struct judge_run *run, const struct oracle_matcher *matcher,
                       struct judge_finding *out)
{
    struct left left = left_of(judge, run, matcher->path);

    if (matcher->kind == ORACLE_FILE_SHA256) {
        digest_match(&left, matcher, out);
        return;
    }
    if (matcher->kind == ORACLE_FILE_EXISTS) {
        out->holds = left.regular > 0;
        if (!out->holds)
            judge_finding_differs(out, "expected a file, seen %s, at %.80s",
                                  left.count == 0 ? "none" : "what is no regular file", matcher->path);
        return;
    }
    if (left.count > 0) {
        judge_finding_differs(out, "expected nothing, seen %s, at %.80s",
                              judge_quote_of(left.first->path.data, left.first->path.len).text, matcher->path);
        return;
    }
    out->holds = left.whole;
    if (!left.whole)
        judge_finding_cannot(out, "what the run left was not listed to the end");
}
