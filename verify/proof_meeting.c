/*
 * One run of a case against all that the oracle's case asks for, each failure in words (DECISION 6.1, 6.5).
 */
#include "verify/proof.h"

#include "base/cleanup.h"
#include "verify/matching.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A run that is being looked at. One stream is held at a time: from the first matcher that asks for it to another's. */
struct proof_meeting {
    struct proof *proof;
    const struct oracle_case *named;
    struct proof_run *run;
    struct matching_stream stream;
    unsigned held; /* its name; 0: none */
};

static void proof_unmet(struct proof_meeting *meeting, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a sentence to those of the run, or counts it alone where as many are kept as will be told. */
static void proof_unmet(struct proof_meeting *meeting, const char *fmt, ...)
{
    const Exhibit__RunStart *told = ledger_told(meeting->run->run);
    AUTO_FREE char *words = NULL;
    char *sentence = NULL;
    va_list args;

    if (meeting->run->unmet_count++ >= PROOF_DETAILS)
        return;
    va_start(args, fmt);
    if (vasprintf(&words, fmt, args) < 0)
        words = NULL;
    va_end(args);
    if (words == NULL || asprintf(&sentence, "%.64s %s %" PRIu32 ": %s", meeting->named->name,
                                  ledger_mode_text(told->mode), told->repeat, words) < 0) {
        meeting->run->unmet_count--;
        proof_no_memory(meeting->proof);
        return;
    }
    matching_make_printable(sentence);
    meeting->run->unmet[meeting->run->unmet_count - 1] = sentence;
}

/* ---- the end, and the time until then ---- */

static void proof_meet_end(const struct oracle_matcher *matcher, const Exhibit__Event *event, struct matching *out)
{
    const Exhibit__RunExit *exit = event->run_exit;
    bool by_itself = exit->how_case == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS;
    const char *wanted = matcher->kind == ORACLE_EXIT ? "exit status" : "signal";
    const char *seen = by_itself ? "exit status" : "signal";
    uint32_t number = by_itself ? exit->exit_status : exit->term_signal;

    if (exit->how_case == EXHIBIT__RUN_EXIT__HOW__NOT_SET)
        matching_fail(out, "expected %s %" PRId64 ", seen neither a status nor a signal, at event %" PRIu64, wanted,
                      matcher->number, event->seq);
    else if (by_itself != (matcher->kind == ORACLE_EXIT) || (int64_t)number != matcher->number)
        matching_fail(out, "expected %s %" PRId64 ", seen %s %" PRIu32 ", at event %" PRIu64, wanted, matcher->number,
                      seen, number, event->seq);
}

static void proof_meet_duration(const struct oracle_matcher *matcher, const struct ledger_run *run,
                                struct matching *out)
{
    const uint64_t ms_ns = 1000000;
    uint64_t took_ns;

    if (run->spawned == NULL || run->spawned->seq > run->exit->seq || run->spawned->at_ns > run->exit->at_ns) {
        matching_cannot(out, run->spawned == NULL ? "no event tells when it was spawned"
                                                  : "it is told to have been spawned after its end");
        return;
    }
    took_ns = run->exit->at_ns - run->spawned->at_ns;
    if (took_ns < matcher->at_least * ms_ns || (matcher->at_most != UINT64_MAX && took_ns > matcher->at_most * ms_ns))
        matching_fail(out, "expected %s ms, seen %" PRIu64 ".%06" PRIu64 " ms, at event %" PRIu64,
                      matching_bounds(matcher).text, took_ns / ms_ns, took_ns % ms_ns, run->exit->seq);
}

/* ---- files ---- */

/* "a regular file of 3 bytes", by mode. */
static struct proof_text proof_kind_text(const Exhibit__Artifact *artifact)
{
    struct proof_text out;

    if (S_ISREG(artifact->mode))
        (void)snprintf(out.text, sizeof out.text, "a regular file of %" PRIu64 " bytes", artifact->size_bytes);
    else
        (void)snprintf(out.text, sizeof out.text, "%s",
                       S_ISLNK(artifact->mode)   ? "a symbolic link"
                       : S_ISDIR(artifact->mode) ? "a folder"
                                                 : "neither file, link nor folder");
    return out;
}

/* The artifacts of a run that a pattern names. */
struct proof_named_files {
    size_t of;                     /* so many artifacts were looked at */
    size_t count;                  /* and so many are named */
    const Exhibit__Event *first;   /* NULL: none */
    const Exhibit__Event *regular; /* the first one that is a regular file; NULL: none */
};

/* Whether the launcher leaves a file of this path in any strict run, whatever the command. */
static bool proof_is_of_launcher(const struct proof *proof, const ProtobufCBinaryData *path)
{
    return proof->launcher_file_count > 0 && bsearch(&path, proof->launcher_files, proof->launcher_file_count,
                                                     sizeof(const ProtobufCBinaryData *), proof_path_order) != NULL;
}

static struct proof_named_files proof_name_files(const struct proof *proof, const struct ledger_run *run,
                                                 const char *pattern)
{
    struct proof_named_files out = {0};
    bool strict = ledger_told(run)->mode == EXHIBIT__MODE__MODE_STRICT;
    const Exhibit__Event *event;
    size_t position = 0;

    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_ARTIFACT, &position)) != NULL) {
        out.of++;
        if (!proof_path_matches(pattern, &event->artifact->path) ||
            (strict && proof_is_of_launcher(proof, &event->artifact->path)))
            continue;
        out.count++;
        if (out.first == NULL)
            out.first = event;
        if (out.regular == NULL && S_ISREG(event->artifact->mode))
            out.regular = event;
    }
    return out;
}

/* Why the listing of a run's files is not whole (ORACLE 4.12); NULL: it is. Static. */
static const char *proof_listing_fault(const struct ledger *ledger, const struct ledger_run *run)
{
    const Exhibit__Event *event;
    size_t position = 0;

    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_ARTIFACT, &position)) != NULL) {
        if (event->artifact->path.len == 0)
            return "more files were left than are listed";
        if (S_ISDIR(event->artifact->mode))
            return "a folder could not be looked into";
    }
    position = 0;
    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_FREEZE, &position)) != NULL)
        if (event->freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER)
            return ledger_last_elsewhere(ledger, run->number) > event->seq ? NULL
                                                                           : "the recording ended before the listing";
    return "the run's files were not listed";
}

static void proof_meet_absent(const struct ledger *ledger, const struct ledger_run *run,
                              const struct proof_named_files *files, struct matching *out)
{
    const char *fault = proof_listing_fault(ledger, run);

    if (files->count > 0)
        matching_fail(out, "expected nothing, seen %s, at %s, event %" PRIu64,
                      proof_kind_text(files->first->artifact).text,
                      matching_quote(files->first->artifact->path.data, files->first->artifact->path.len).text,
                      files->first->seq);
    else if (fault != NULL)
        matching_cannot(out, "%s", fault);
}

static void proof_meet_file_digest(const struct oracle_matcher *matcher, const struct proof_named_files *files,
                                   struct matching *out)
{
    const Exhibit__Artifact *artifact = files->count == 1 ? files->first->artifact : NULL;
    char wanted[2 * DIGEST_BYTES + 1], seen[2 * DIGEST_BYTES + 1] = "none";

    if (artifact == NULL || !S_ISREG(artifact->mode) || !artifact->kept) {
        if (artifact == NULL)
            matching_cannot(out, "%zu of %zu files are of the path, not one", files->count, files->of);
        else if (!S_ISREG(artifact->mode))
            matching_cannot(out, "it is %s", proof_kind_text(artifact).text);
        else
            matching_cannot(out, "it was not kept: %.100s", artifact->note);
        return;
    }
    if (evidence_digest_is(&artifact->sha256, &matcher->digest))
        return;
    hex_encode(matcher->digest.bytes, DIGEST_BYTES, wanted);
    if (artifact->sha256.len == DIGEST_BYTES)
        hex_encode(artifact->sha256.data, DIGEST_BYTES, seen);
    matching_fail(out, "expected %s, seen %s, at %s, event %" PRIu64, wanted, seen,
                  matching_quote(artifact->path.data, artifact->path.len).text, files->first->seq);
}

static void proof_meet_files(const struct proof_meeting *meeting, const struct oracle_matcher *matcher,
                             struct matching *out)
{
    const struct ledger_run *run = meeting->run->run;
    struct proof_named_files files = proof_name_files(meeting->proof, run, matcher->path);
    struct matching_quote path = matching_quote(matcher->path, strlen(matcher->path));

    if (matcher->kind == ORACLE_FILE_ABSENT)
        proof_meet_absent(&meeting->proof->ledger, run, &files, out);
    else if (matcher->kind == ORACLE_FILE_SHA256)
        proof_meet_file_digest(matcher, &files, out);
    else if (files.regular == NULL && files.first == NULL)
        matching_fail(out, "expected a regular file %s, seen none, at none of %zu files that were left", path.text,
                      files.of);
    else if (files.regular == NULL)
        matching_fail(out, "expected a regular file %s, seen %s, at event %" PRIu64, path.text,
                      proof_kind_text(files.first->artifact).text, files.first->seq);
}

/* ---- streams ---- */

static void proof_meet_digest(const struct oracle_matcher *matcher, const Exhibit__Stream *content,
                              struct matching *out)
{
    struct digest seen = digest_of("", 0);
    char texts[2][2 * DIGEST_BYTES + 1];

    if (content != NULL && !digest_from(content->sha256.data, content->sha256.len, &seen)) {
        matching_cannot(out, "the stream is recorded without a digest");
        return;
    }
    if (digest_equal(&seen, &matcher->digest))
        return;
    hex_encode(matcher->digest.bytes, DIGEST_BYTES, texts[0]);
    hex_encode(seen.bytes, DIGEST_BYTES, texts[1]);
    matching_fail(out, "expected %s, seen %s, at all %" PRIu64 " bytes", texts[0], texts[1],
                  content == NULL ? 0 : content->size_bytes);
}

static int proof_hold_stream(struct proof_meeting *meeting, unsigned name, const Exhibit__Stream *content)
{
    const struct proof *proof = meeting->proof;

    if (meeting->held == name)
        return 0;
    matching_stream_done(&meeting->stream);
    meeting->held = name;
    return evidence_stream_whole(proof->evidence, content, LIMIT_MATCHED_STREAM_BYTES, &meeting->stream.text,
                                 proof->err);
}

static void proof_meet_stream(struct proof_meeting *meeting, const struct oracle_matcher *matcher, struct matching *out)
{
    struct proof *proof = meeting->proof;
    unsigned name = matcher->on_stderr ? EXHIBIT__STREAM_NAME__STREAM_STDERR : EXHIBIT__STREAM_NAME__STREAM_STDOUT;
    const Exhibit__StreamEnd *end = meeting->run->run->ends[name];
    uint64_t size_bytes = end == NULL || end->content == NULL ? 0 : end->content->size_bytes;

    if (end == NULL || end->how == EXHIBIT__STREAM_END__HOW__HOW_LIMIT) {
        matching_cannot(out, end == NULL ? "the end of the stream was not recorded"
                                         : "the stream had more bytes than are kept");
        return;
    }
    if (matcher->kind == ORACLE_SHA256) {
        proof_meet_digest(matcher, end->content, out);
        return;
    }
    if (matcher->kind == ORACLE_EMPTY) {
        if (size_bytes > 0)
            matching_fail(out, "expected no byte, seen %" PRIu64 ", at byte 0", size_bytes);
        return;
    }
    if (size_bytes > LIMIT_MATCHED_STREAM_BYTES) {
        matching_cannot(out, "%" PRIu64 " bytes are more than are looked into (%u)", size_bytes,
                        LIMIT_MATCHED_STREAM_BYTES);
        return;
    }
    if (proof_hold_stream(meeting, name, end->content) < 0 ||
        matching_try(matcher, &meeting->stream, out, proof->err) < 0)
        proof_give_up(proof);
}

/* ---- all of it ---- */

static void proof_meet_matcher(struct proof_meeting *meeting, const struct oracle_matcher *matcher)
{
    struct matching came = {.came = MATCHING_HOLDS};

    switch (matcher->kind) {
    case ORACLE_EXIT:
    case ORACLE_SIGNAL:
        proof_meet_end(matcher, meeting->run->run->exit, &came);
        break;
    case ORACLE_DURATION:
        proof_meet_duration(matcher, meeting->run->run, &came);
        break;
    case ORACLE_FILE_EXISTS:
    case ORACLE_FILE_ABSENT:
    case ORACLE_FILE_SHA256:
        proof_meet_files(meeting, matcher, &came);
        break;
    default:
        proof_meet_stream(meeting, matcher, &came);
    }
    if (!meeting->proof->failed && came.came != MATCHING_HOLDS)
        proof_unmet(meeting, "oracle line %u: %s%s: %s", matcher->line, matching_part(matcher), matching_key(matcher),
                    came.told);
}

void proof_meet(struct proof *proof, const struct oracle_case *named, struct proof_run *run)
{
    struct proof_meeting meeting = {.proof = proof, .named = named, .run = run};

    assert(run->unmet_count == 0); /* an oracle names a case once */
    if (run->run->exit == NULL) {
        proof_unmet(&meeting, "no end of it was observed");
        return;
    }
    if (run->run->exit->run_exit->watchdog) {
        proof_unmet(&meeting, "its watchdog ended it");
        return;
    }
    for (size_t i = 0; i < named->matcher_count && !proof->failed; i++)
        proof_meet_matcher(&meeting, &named->matchers[i]);
    matching_stream_done(&meeting.stream);
}
