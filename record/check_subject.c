#include "record/check_subject.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "record/artifacts.h"
#include "record/capture.h"
#include "record/check_tell.h"
#include "record/judge_match.h"
#include "record/layout.h"

#include <fcntl.h>
#include <string.h>

_Static_assert(TRYOUT_KEPT_BYTES == JUDGE_KEPT_BYTES, "what a matcher may look at is kept");

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

struct archive_search {
    const struct oracle_archive *archive;
    size_t count;
};

static int artifact_take(void *context, const Exhibit__Artifact *artifact, const void *content, size_t size_bytes,
                         struct err *err)
{
    struct archive_search *search = context;

    (void)content;
    (void)size_bytes;
    (void)err;
    search->count += judge_archive_matches(search->archive, artifact);
    return 0;
}

/* Whether each archive that the oracle names was left, once. */
static int archives_look(struct check *check, const struct oracle_case *expected, char *why, size_t room_bytes,
                         struct err *err)
{
    for (size_t i = 0; i < expected->archive_count && *why == 0; i++) {
        struct archive_search search = {.archive = &expected->archives[i]};

        if (artifacts_collect(check->session.scratch, NULL, 0, check->pack, artifact_take, &search, err) < 0)
            return err->code;
        if (search.count != 1)
            (void)snprintf(why, room_bytes, "left %zu archives %s, not one", search.count, expected->archives[i].path);
    }
    return 0;
}

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
    struct judge_run run = {.exited = tryout->failed_stage == NULL,
                            .spawn_failed = tryout->failed_stage != NULL,
                            .watchdog = tryout->overran,
                            .exit_value = tryout->number,
                            .exit_how = tryout->by_signal ? EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL
                                                          : EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS};
    const struct bytes *streams[] = {
        [EXHIBIT__STREAM_NAME__STREAM_STDOUT] = &tryout->out, [EXHIBIT__STREAM_NAME__STREAM_STDERR] = &tryout->err};

    *why = 0;
    if (subject->expected == NULL) {
        if (tryout->failed_stage != NULL || tryout->overran || tryout->by_signal || tryout->number != 0)
            tell_end(tryout, why, room_bytes);
        else if (subject->speaks && !subject_spoke(check, tryout, NULL))
            (void)snprintf(why, room_bytes, "left no row: what is silent proves nothing");
        return 0;
    }
    for (int stream = EXHIBIT__STREAM_NAME__STREAM_STDOUT; stream <= EXHIBIT__STREAM_NAME__STREAM_STDERR; stream++) {
        run.stream_ended[stream] = true;
        run.kept[stream] = *streams[stream]; /* borrowed: matchers only look */
        run.size_bytes[stream] = streams[stream]->size_bytes;
    }
    run.stream_cut[EXHIBIT__STREAM_NAME__STREAM_STDOUT] = tryout->out_is_cut;
    run.stream_cut[EXHIBIT__STREAM_NAME__STREAM_STDERR] = tryout->err_is_cut;
    return judge_case_is_met(&run, subject->expected, why, room_bytes)
               ? archives_look(check, subject->expected, why, room_bytes, err)
               : 0;
}

void subject_done(struct subject *subject)
{
    text_list_done(&subject->command);
    text_list_done(&subject->environment);
}
