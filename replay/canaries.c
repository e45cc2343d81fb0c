/*
 * Streams and artifacts are searched piece by piece; the end of a piece is kept, so that a canary that runs over it is
 * found too; and so are the digits of a proof.
 */
#include "replay/canaries.h"

#include "base/sort.h"
#include "replay/proofs.h"

#include <inttypes.h>
#include <string.h>

/* The content of a canary, and the event that set it first. */
struct pattern {
    const ProtobufCBinaryData *content;
    uint64_t seq;
};

/* One stream or artifact while it is searched. */
struct search {
    const struct pattern *patterns; /* distinct, none empty */
    size_t pattern_count;
    const struct proofs *proofs;
    uint64_t start_seq; /* of the run; proofs of runs that start later are not looked for */
    uint64_t end_seq;   /* nor are patterns set later than this */
    size_t kept_bytes;  /* less by one than the longest pattern, or than a proof */
    struct bytes window;
    uint64_t window_at; /* where the window begins in what is searched */
    const char *found;  /* what, in words; NULL: nothing yet */
    uint64_t found_at;
    size_t found_bytes;
};

static int compare_patterns(const void *left, const void *right)
{
    const struct pattern *a = left, *b = right;
    int order;

    if (a->content->len != b->content->len)
        return a->content->len < b->content->len ? -1 : 1;
    order = memcmp(a->content->data, b->content->data, a->content->len);
    return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

/* Gathers all canary contents, each once, in a table. */
static int gather_patterns(const struct facts *facts, struct pattern **out, size_t *out_count, struct err *err)
{
    struct span span = tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_TARGETS);
    size_t kept = 0;

    for (size_t i = 0; i < span.count; i++)
        for (int target = EXHIBIT__TARGET_NAME__TARGET_CANARY_READ; target <= EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK;
             target++) {
            struct pattern pattern = {targets_content(span.events[i]->targets, (Exhibit__TargetName)target),
                                      span.events[i]->seq};

            if (pattern.content->len > 0 && table_add(out, out_count, &pattern, sizeof pattern, err) < 0)
                return err->code;
        }
    if (*out_count > 0)
        sort_rows(*out, *out_count, sizeof **out, compare_patterns);
    for (size_t i = 0; i < *out_count; i++) {
        const struct pattern *last = kept == 0 ? NULL : &(*out)[kept - 1];

        if (last == NULL || last->content->len != (*out)[i].content->len ||
            memcmp(last->content->data, (*out)[i].content->data, last->content->len) != 0)
            (*out)[kept++] = (*out)[i];
    }
    *out_count = kept;
    return 0;
}

/* Before each thing that is searched. */
static void search_begin(struct search *search)
{
    search->window.size_bytes = 0;
    search->window_at = 0;
    search->found = NULL;
}

/* Looks at what the window holds now. */
static void search_window(struct search *search)
{
    const struct bytes *window = &search->window;
    size_t at;

    for (size_t i = 0; i < search->pattern_count && window->size_bytes > 0; i++) {
        const struct pattern *pattern = &search->patterns[i];
        const uint8_t *found = pattern->seq < search->end_seq ? memmem(window->data, window->size_bytes,
                                                                       pattern->content->data, pattern->content->len)
                                                              : NULL;

        if (found == NULL)
            continue;
        search->found = "the content of a canary";
        search->found_at = search->window_at + (uint64_t)(found - window->data);
        search->found_bytes = pattern->content->len;
        return;
    }
    if (!proofs_find(search->proofs, search->start_seq, window, &at))
        return;
    search->found = "a proof that a canary was read";
    search->found_at = search->window_at + at;
    search->found_bytes = PROOF_DIGITS;
}

static int search_piece(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct search *search = context;
    struct bytes *window = &search->window;
    int code;

    if (search->found != NULL)
        return 0;
    code = bytes_add(window, piece, size_bytes, LIMIT_BLOCK_BYTES + LIMIT_EVENT_BYTES, err);
    if (code < 0)
        return code;
    search_window(search);
    if (window->size_bytes > search->kept_bytes) {
        search->window_at += window->size_bytes - search->kept_bytes;
        memmove(window->data, window->data + window->size_bytes - search->kept_bytes, search->kept_bytes);
        window->size_bytes = search->kept_bytes;
    }
    return 0;
}

/* Searches the streams of one strict run. */
static int search_streams(const struct facts *facts, const struct run *run, struct search *search, struct finding *out,
                          struct err *err)
{
    static const char *const words[STREAM_ROOM] = {
        [EXHIBIT__STREAM_NAME__STREAM_STDOUT] = "stdout",
        [EXHIBIT__STREAM_NAME__STREAM_STDERR] = "stderr",
        [EXHIBIT__STREAM_NAME__STREAM_SCRATCH_PARENT] = "the scratch of its parent",
        [EXHIBIT__STREAM_NAME__STREAM_SCRATCH_CHILD] = "the scratch of its child",
        [EXHIBIT__STREAM_NAME__STREAM_SCRATCH_GRANDCHILD] = "the scratch of its grandchild",
    };

    for (int stream = 1; stream < STREAM_ROOM; stream++) {
        int code;

        if (words[stream] == NULL || run->ends[stream] == NULL)
            continue;
        search_begin(search);
        code = facts->source->read_stream(facts->source->self, run->ends[stream]->content, search_piece, search, err);
        if (code < 0)
            return err_wrap(err, "run %" PRIu32, run->number);
        if (search->found == NULL)
            continue;
        finding_tell(out, "%.64s, strict: %s holds %s", run->start->name, words[stream], search->found);
        finding_bytes(out, run, (Exhibit__StreamName)stream, search->found_at, search->found_bytes);
    }
    return 0;
}

/* Searches the kept artifacts of one strict run. */
static int search_artifacts(const struct facts *facts, const struct run *run, struct search *search,
                            struct finding *out, struct err *err)
{
    struct span span = tables_of_run(&facts->tables, EXHIBIT__EVENT__WHAT_ARTIFACT, run->number);

    for (size_t i = 0; i < span.count; i++) {
        const Exhibit__Artifact *artifact = span.events[i]->artifact;
        struct digest digest;
        int code;

        if (!artifact->kept)
            continue;
        if (!digest_from(artifact->sha256.data, artifact->sha256.len, &digest))
            return err_set(err, ERR_FORMAT, "event %" PRIu64 ": kept without a digest", span.events[i]->seq);
        search_begin(search);
        code = facts->source->read_object(facts->source->self, &digest, search_piece, search, err);
        if (code < 0)
            return err_wrap(err, "event %" PRIu64, span.events[i]->seq);
        if (search->found == NULL)
            continue;
        finding_tell(out, "%.64s, strict: an artifact holds %s", run->start->name, search->found);
        finding_content(out, span.events[i]->seq, search->found_at, search->found_bytes);
    }
    return 0;
}

int canaries_check(const struct facts *facts, struct finding *out, struct err *err)
{
    AUTO_TABLE struct pattern *patterns = NULL;
    struct proofs proofs = {0};
    struct search search = {.proofs = &proofs, .kept_bytes = PROOF_DIGITS - 1};
    int code = gather_patterns(facts, &patterns, &search.pattern_count, err);

    if (code == 0)
        code = proofs_gather(facts, &proofs, err);
    search.patterns = patterns;
    for (size_t i = 0; i < search.pattern_count; i++)
        if (patterns[i].content->len - 1 > search.kept_bytes)
            search.kept_bytes = patterns[i].content->len - 1;
    for (size_t i = 0; i < facts->tables.run_count && code == 0; i++) {
        const struct run *run = facts->tables.runs[i];

        if (run->start->mode != EXHIBIT__MODE__MODE_STRICT)
            continue;
        search.start_seq = run->event->seq;
        search.end_seq = run->exit == NULL ? UINT64_MAX : run->exit->seq;
        code = search_streams(facts, run, &search, out, err);
        if (code == 0)
            code = search_artifacts(facts, run, &search, out, err);
    }
    bytes_done(&search.window);
    proofs_done(&proofs);
    return code;
}
