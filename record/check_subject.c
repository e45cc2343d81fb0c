#include "record/check_subject.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "record/artifacts.h"
#include "record/capture.h"
#include "record/check_tell.h"
#include "record/judge_match.h"
#include "record/layout.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int subject_run(struct check *check, const struct subject *subject, bool strict, const char *trace, struct tryout *out,
                struct err *err)
{
    static char whole[] = "{command}";
    char *items[] = {whole, NULL};
    const struct text_list bare = {.items = items, .count = 1};
    AUTO_TEXT_LIST struct text_list argv = {0};
    struct session *session = &check->session;

    if (layout_reset(session, err) < 0 || (trace != NULL && check_trace_words(check, trace, &argv, err) < 0) ||
        expand_argv(session, strict ? &session->plan->candidate.argv : &bare, &subject->command, &argv, err) < 0)
        return err->code;
    return tryout_run(&(struct tryout_request){.argv = &argv,
                                               .environment = &subject->environment,
                                               .cwd = session->workspace,
                                               .stdin_bytes = subject->stdin_bytes,
                                               .stdin_size_bytes = subject->stdin_size_bytes,
                                               .watchdog_ms = subject->watchdog_ms,
                                               .interrupted = check_interrupted()},
                      out, err);
}

/* ---- cases: what the recorder's judge says of them ---- */

/* A case that is shown to a judge of its own, event by event. */
struct showing {
    struct judge *judge;
    const struct oracle_case *expected;
    uint64_t seq;
    size_t *archive_counts; /* how many artifacts match each archive of the oracle; owned */
};

static int show(struct showing *showing, Exhibit__Event *event, uint64_t at_ns, const void *payload,
                size_t payload_bytes, struct err *err)
{
    event->seq = ++showing->seq;
    event->at_ns = at_ns;
    return judge_take(showing->judge, event, payload, payload_bytes, err);
}

static Exhibit__Event event_of(void)
{
    return journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, 1);
}

static int stream_show(struct showing *showing, Exhibit__StreamName name, const struct bytes *bytes, bool is_cut,
                       uint64_t at_ns, struct err *err)
{
    Exhibit__Event event = event_of();
    Exhibit__Chunk chunk = EXHIBIT__CHUNK__INIT;
    Exhibit__StreamEnd end = EXHIBIT__STREAM_END__INIT;
    Exhibit__Stream content = EXHIBIT__STREAM__INIT;
    struct digest digest = digest_of(bytes->data, bytes->size_bytes);

    chunk.stream = end.stream = name;
    chunk.size_bytes = content.size_bytes = bytes->size_bytes;
    content.sha256 = JOURNAL_DIGEST(digest);
    end.content = &content;
    end.how = is_cut ? EXHIBIT__STREAM_END__HOW__HOW_LIMIT : EXHIBIT__STREAM_END__HOW__HOW_EOF;
    JOURNAL_WHAT(event, chunk, CHUNK, &chunk);
    if (bytes->size_bytes > 0 && show(showing, &event, at_ns, bytes->data, bytes->size_bytes, err) < 0)
        return err->code;
    JOURNAL_WHAT(event, stream_end, STREAM_END, &end);
    return show(showing, &event, at_ns, NULL, 0, err);
}

static int start_show(struct showing *showing, const struct subject *subject, const struct tryout *tryout,
                      struct err *err)
{
    Exhibit__Event event = event_of();
    Exhibit__RunStart start = EXHIBIT__RUN_START__INIT;
    Exhibit__Spawned spawned = EXHIBIT__SPAWNED__INIT;
    Exhibit__SpawnFailed failed = EXHIBIT__SPAWN_FAILED__INIT;

    start.kind = EXHIBIT__RUN_KIND__RUN_CASE;
    start.name = (char *)subject->name; /* only looked at */
    start.mode = EXHIBIT__MODE__MODE_STRICT;
    start.repeat = 1;
    JOURNAL_WHAT(event, run_start, RUN_START, &start);
    if (show(showing, &event, tryout->started_at_ns, NULL, 0, err) < 0)
        return err->code;
    if (tryout->failed_stage != NULL)
        JOURNAL_WHAT(event, spawn_failed, SPAWN_FAILED, &failed);
    else
        JOURNAL_WHAT(event, spawned, SPAWNED, &spawned);
    return show(showing, &event, tryout->started_at_ns, NULL, 0, err);
}

static int exit_show(struct showing *showing, const struct tryout *tryout, struct err *err)
{
    Exhibit__Event event = event_of();
    Exhibit__RunExit run_exit = EXHIBIT__RUN_EXIT__INIT;

    run_exit.watchdog = tryout->overran;
    run_exit.how_case = tryout->by_signal ? EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL : EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS;
    if (tryout->by_signal)
        run_exit.term_signal = tryout->number;
    else
        run_exit.exit_status = tryout->number;
    JOURNAL_WHAT(event, run_exit, RUN_EXIT, &run_exit);
    return show(showing, &event, tryout->ended_at_ns, NULL, 0, err);
}

static int artifact_show(void *context, const Exhibit__Artifact *artifact, const void *content, size_t size_bytes,
                         struct err *err)
{
    struct showing *showing = context;
    Exhibit__Event event = event_of();

    for (size_t i = 0; i < showing->expected->archive_count; i++)
        showing->archive_counts[i] += judge_path_matches(showing->expected->archives[i].path, &artifact->path) ? 1 : 0;
    JOURNAL_WHAT(event, artifact, ARTIFACT, (Exhibit__Artifact *)artifact); /* only looked at */
    return show(showing, &event, clock_now_ns(), content, size_bytes, err);
}

/* What was left is listed between these two: only then is it known what was not left. */
static int listing_show(struct showing *showing, bool over, struct err *err)
{
    Exhibit__Event event = event_of();
    Exhibit__Freeze freeze = EXHIBIT__FREEZE__INIT;
    Exhibit__Phase phase = EXHIBIT__PHASE__INIT;
    struct digest none = digest_of("", 0);

    freeze.moment = EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER;
    freeze.list_sha256 = JOURNAL_DIGEST(none);
    if (over) {
        event.run = 0;
        JOURNAL_WHAT(event, phase, PHASE, &phase);
    } else
        JOURNAL_WHAT(event, freeze, FREEZE, &freeze);
    return show(showing, &event, clock_now_ns(), NULL, 0, err);
}

/* Says in `why` what the claim has against the case, if anything. */
static void claim_look(const Exhibit__Claim *claim, const char *name, char *why, size_t room_bytes)
{
    for (size_t i = 0; i < claim->n_cases; i++)
        if (strcmp(claim->cases[i]->name, name) == 0 && claim->cases[i]->met)
            return;
    (void)snprintf(why, room_bytes, "did not show what the oracle asks for");
    for (size_t i = 0; i < claim->n_rules; i++) {
        const char *detail = claim->rules[i]->detail;

        if (strcmp(claim->rules[i]->rule, "useful.contract") == 0 && strncmp(detail, name, strlen(name)) == 0 &&
            strncmp(detail + strlen(name), " strict 1: ", 11) == 0) {
            const char *told = detail + strlen(name) + 11;
            bool of_matcher = strncmp(told, "oracle line", 11) == 0;

            if (strncmp(told, "it ", 3) == 0) /* whoever prints it begins so */
                told += 3;
            (void)snprintf(why, room_bytes, "%s%s", of_matcher ? "does not meet " : "", told);
        }
    }
}

/* Shows the run to the judge, from its start to what it left, and has it judged. */
static int show_all(struct check *check, const struct subject *subject, const struct tryout *tryout,
                    struct showing *showing, char *why, size_t room_bytes, struct err *err)
{
    static const struct digest none;
    Exhibit__Claim *claim = NULL;

    if (start_show(showing, subject, tryout, err) < 0)
        return err->code;
    if (tryout->failed_stage == NULL && exit_show(showing, tryout, err) < 0)
        return err->code;
    if (stream_show(showing, EXHIBIT__STREAM_NAME__STREAM_STDOUT, &tryout->out, tryout->out_is_cut, tryout->ended_at_ns,
                    err) < 0 ||
        stream_show(showing, EXHIBIT__STREAM_NAME__STREAM_STDERR, &tryout->err, tryout->err_is_cut, tryout->ended_at_ns,
                    err) < 0 ||
        listing_show(showing, false, err) < 0 ||
        artifacts_collect(&(struct artifacts_request){.scratch = check->session.scratch,
                                                      .pack = check->pack,
                                                      .secrets = check->session.secrets,
                                                      .take = artifact_show,
                                                      .context = showing},
                          err) < 0 ||
        listing_show(showing, true, err) < 0 || judge_finish(showing->judge, &none, &claim, err) < 0)
        return err->code;
    claim_look(claim, subject->name, why, room_bytes);
    exhibit__claim__free_unpacked(claim, NULL);
    for (size_t i = 0; i < showing->expected->archive_count && *why == 0; i++)
        if (showing->archive_counts[i] != 1)
            (void)snprintf(why, room_bytes, "left %zu archives %s, not one", showing->archive_counts[i],
                           showing->expected->archives[i].path);
    return 0;
}

/* Whether a secret of the plan came out: that would end a recording. */
static int secret_look(const struct check *check, const struct tryout *tryout, char *why, size_t room_bytes)
{
    const struct secrets *secrets = check->session.secrets;
    struct err told;

    if (secrets_look(secrets, tryout->out.data, tryout->out.size_bytes, "its stdout", &told) == 0 &&
        secrets_look(secrets, tryout->err.data, tryout->err.size_bytes, "its stderr", &told) == 0)
        return 0;
    (void)snprintf(why, room_bytes, "would end a recording: %.300s", told.text);
    return 1;
}

static int case_look(struct check *check, const struct subject *subject, const struct tryout *tryout, char *why,
                     size_t room_bytes, struct err *err)
{
    struct showing showing = {.judge = judge_new(check->oracle),
                              .expected = subject->expected,
                              .archive_counts = calloc(subject->expected->archive_count + 1, sizeof(size_t))};
    int code;

    if (showing.judge == NULL || showing.archive_counts == NULL)
        code = err_set_errno(err, "memory for a judge");
    else
        code = show_all(check, subject, tryout, &showing, why, room_bytes, err);
    if (code == ERR_MISMATCH) { /* an artifact tells a secret */
        (void)snprintf(why, room_bytes, "would end a recording: %.300s", err->text);
        code = 0;
    }
    judge_free(showing.judge);
    free(showing.archive_counts);
    return code;
}

/* ---- the probe ---- */

/* Whether the probe's row is in these bytes; tells `out` (NULL: nobody) what it says of each effect. */
static bool row_tell(FILE *out, const struct bytes *bytes)
{
    static const char head[] = "EXHIBIT1 row ";
    const char *row = bytes->size_bytes == 0 ? NULL : memmem(bytes->data, bytes->size_bytes, head, sizeof head - 1);
    size_t left_bytes = row == NULL ? 0 : bytes->size_bytes - (size_t)(row - (const char *)bytes->data);
    const char *end = row == NULL ? NULL : memchr(row, '\n', left_bytes);
    int words = 5; /* in front of the effects */

    while (end != NULL && row < end && words > 0)
        words -= *row++ == ' ';
    if (end == NULL || words > 0)
        return false;
    if (out != NULL)
        tell_row(out, row, (size_t)(end - row));
    return true;
}

bool subject_spoke(const struct check *check, const struct tryout *tryout, FILE *out)
{
    AUTO_BYTES struct bytes copy = {0};
    char file[PATH_MAX + 64];
    struct err ignored;

    if (row_tell(out, &tryout->out))
        return true;
    (void)snprintf(file, sizeof file, "%s/%s", check->session.scratch, capture_role_file(EXHIBIT__ROLE__ROLE_PARENT));
    return file_read_path(AT_FDCWD, file, 1, LIMIT_LINE_BYTES * 16, &copy, &ignored) == 0 && row_tell(out, &copy);
}

int subject_look(struct check *check, const struct subject *subject, const struct tryout *tryout, char *why,
                 size_t room_bytes, struct err *err)
{
    *why = 0;
    if (secret_look(check, tryout, why, room_bytes) > 0)
        return 0;
    if (subject->expected != NULL)
        return case_look(check, subject, tryout, why, room_bytes, err);
    if (tryout->failed_stage != NULL || tryout->overran || tryout->by_signal || tryout->number != 0)
        tell_end(tryout, why, room_bytes);
    else if (subject->speaks && !subject_spoke(check, tryout, NULL))
        (void)snprintf(why, room_bytes, "left no row: what is silent proves nothing");
    return 0;
}

void subject_done(struct subject *subject)
{
    text_list_done(&subject->command);
    text_list_done(&subject->environment);
}
