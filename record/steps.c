#include "record/steps.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "record/artifacts.h"
#include "record/capture.h"
#include "record/expand.h"
#include "record/layout.h"
#include "record/phase.h"
#include "record/probe_assignment.h"
#include "record/run.h"
#include "record/run_start.h"
#include "record/scratch_watch.h"
#include "record/tree.h"

#include <stdio.h>
#include <string.h>

#define LAUNCHER_WATCHDOG_MS 30000

static const char *const mode_texts[] = {"", "baseline", "strict", "control"};
static const char *const kind_texts[] = {"", "run of the", "case", "trial"};

static void progress(const struct session *session, const char *mode, const char *name)
{
    char text[256];

    (void)snprintf(text, sizeof text, "%s %s", mode, name);
    if (session->progress != NULL)
        session->progress(session->progress_context, text);
}

/* Freezes one tree and writes it down. */
static int put_freeze(struct session *session, uint32_t run, Exhibit__FreezeMoment moment, const char *input,
                      const char *root, bool retain, struct err *err)
{
    bool local = plan_input_is_local(session->plan, input);
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_FILES, EXHIBIT__VANTAGE__VANTAGE_HOST, run);
    Exhibit__Freeze freeze = EXHIBIT__FREEZE__INIT;
    AUTO_BYTES struct bytes list = {0};
    struct pack_writer *pack = journal_pack(session->journal);
    struct freeze_way way = {.retain = !retain ? NULL
                                       : local ? session->local
                                               : pack,
                             .salt = local ? session->salt : NULL,
                             .secrets = session->secrets};
    struct digest digest;

    if (tree_freeze_by(root, &way, &list, err) < 0 ||
        secrets_look(session->secrets, list.data, list.size_bytes, "a path of a frozen tree", err) < 0 ||
        pack_put(pack, PACK_OBSERVATION, list.data, list.size_bytes, &digest, err) < 0)
        return err->code;
    freeze.moment = moment;
    freeze.input = (char *)input;
    freeze.root = (ProtobufCBinaryData){strlen(root), (uint8_t *)root};
    freeze.list_sha256 = JOURNAL_DIGEST(digest);
    JOURNAL_WHAT(event, freeze, FREEZE, &freeze);
    return journal_put(session->journal, &event, NULL, 0, err);
}

int steps_freeze(struct session *session, Exhibit__FreezeMoment moment, bool retain, struct err *err)
{
    const struct plan *plan = session->plan;

    if (put_freeze(session, 0, moment, "workspace", layout_source(session), retain, err) < 0)
        return err->code;
    for (size_t i = 0; i < plan->input_count; i++)
        if (put_freeze(session, 0, moment, plan->inputs[i].name, plan->inputs[i].path, retain && plan->inputs[i].retain,
                       err) < 0)
            return err->code;
    return 0;
}

struct artifact_context {
    struct session *session;
    uint32_t run;
};

static int artifact_take(void *context, const Exhibit__Artifact *artifact, const void *content, size_t size_bytes,
                         struct err *err)
{
    struct artifact_context *where = context;
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_FILES, EXHIBIT__VANTAGE__VANTAGE_HOST, where->run);

    JOURNAL_WHAT(event, artifact, ARTIFACT, (Exhibit__Artifact *)artifact); /* packed only */
    return journal_put(where->session->journal, &event, content, size_bytes, err);
}

/* Runs it, and sees what comes and goes in scratch where that can only be the launcher's doing. */
static int execute(struct session *session, const struct run_request *request, uint32_t run, struct err *err)
{
    struct scratch_watch *watch = NULL;
    int code = 0;

    if (request->kind == EXHIBIT__RUN_KIND__RUN_LAUNCHER)
        code = scratch_watch_new(session->loop, session->journal, session->scratch, run, &watch, err);
    if (code == 0)
        code = run_execute(session, request, run, err);
    if (code == 0 && watch != NULL)
        code = scratch_watch_drain(watch, err);
    scratch_watch_free(watch);
    return code < 0 ? err_wrap(err, "%s", request->name) : 0;
}

/* Makes a run in fresh copies, frozen before and after, and takes what it left. */
static int run_in_copies(struct session *session, const struct run_request *request, struct err *err)
{
    const char *skip[] = {capture_role_file(EXHIBIT__ROLE__ROLE_PARENT), capture_role_file(EXHIBIT__ROLE__ROLE_CHILD),
                          capture_role_file(EXHIBIT__ROLE__ROLE_GRANDCHILD)};
    struct artifact_context where = {.session = session, .run = session->run_count + 1};

    if (where.run > LIMIT_RUNS)
        return err_set(err, ERR_LIMIT, "more than %u runs in one recording", LIMIT_RUNS);
    session->run_count++;
    secrets_place(session->secrets, "%s %s %s", mode_texts[request->mode], kind_texts[request->kind], request->name);
    if (layout_reset(session, err) < 0 || run_start_put(session, request, where.run, err) < 0 ||
        put_freeze(session, where.run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE, "workspace", session->workspace,
                   false, err) < 0)
        return err->code;
    if (execute(session, request, where.run, err) < 0 ||
        put_freeze(session, where.run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER, "workspace", session->workspace, false,
                   err) < 0)
        return err->code;
    if (artifacts_collect(&(struct artifacts_request){.scratch = session->scratch,
                                                      .skip = skip,
                                                      .skip_count = request->probe != NULL ? 3 : 0,
                                                      .folders = request->kind != EXHIBIT__RUN_KIND__RUN_CASE,
                                                      .pack = journal_pack(session->journal),
                                                      .secrets = session->secrets,
                                                      .take = artifact_take,
                                                      .context = &where},
                          err) < 0)
        return err->code;
    return journal_settle(session->journal, err);
}

/* Fills argv for the mode: the command itself, or the candidate around it. */
static int argv_for(const struct session *session, Exhibit__Mode mode, const struct text_list *command,
                    struct text_list *argv, struct err *err)
{
    static char whole[] = "{command}";
    char *items[] = {whole, NULL};
    const struct text_list bare = {.items = items, .count = 1};

    return expand_argv(session, mode == EXHIBIT__MODE__MODE_STRICT ? &session->plan->candidate.argv : &bare, command,
                       argv, err);
}

/* The variables whose values the probe must not tell, as words of its command. */
static int hidden_add(const struct plan *plan, struct text_list *command, struct err *err)
{
    for (size_t i = 0; i < plan->environment_count; i++)
        if (plan->environment[i].secret != NULL &&
            text_list_add(command, plan->environment[i].name, strlen(plan->environment[i].name), err) < 0)
            return err->code;
    return 0;
}

int steps_launcher(struct session *session, struct err *err)
{
    AUTO_TEXT_LIST struct text_list command = {0}, argv = {0}, environment = {0};
    char probe[PATH_MAX + 32];
    struct run_request request = {.kind = EXHIBIT__RUN_KIND__RUN_LAUNCHER,
                                  .name = "launcher",
                                  .mode = EXHIBIT__MODE__MODE_STRICT,
                                  .repeat = 1,
                                  .argv = &argv,
                                  .command = &command,
                                  .environment = &environment,
                                  .watchdog_ms = LAUNCHER_WATCHDOG_MS};

    (void)snprintf(probe, sizeof probe, "%s/exhibit-probe", session->tools);
    progress(session, "strict", "launcher");
    if (phase_put(session->journal, "", EXHIBIT__PHASE_NAME__PHASE_LAUNCHER, err) < 0 ||
        text_list_add(&command, probe, strlen(probe), err) < 0 ||
        text_list_add(&command, "surroundings", 12, err) < 0 || hidden_add(session->plan, &command, err) < 0 ||
        argv_for(session, request.mode, &command, &argv, err) < 0 ||
        expand_environment(session, NULL, 0, &environment, err) < 0)
        return err->code;
    return run_in_copies(session, &request, err);
}

static bool has_archives(const struct oracle *oracle, const char *name)
{
    for (size_t i = 0; i < oracle->case_count; i++)
        if (strcmp(oracle->cases[i].name, name) == 0)
            return oracle->cases[i].archive_count > 0;
    return false;
}

static int case_run(struct session *session, const struct plan_case *one, Exhibit__Mode mode, uint32_t repeat,
                    struct err *err)
{
    AUTO_TEXT_LIST struct text_list command = {0}, argv = {0}, environment = {0};
    struct run_request request = {.kind = EXHIBIT__RUN_KIND__RUN_CASE,
                                  .name = one->name,
                                  .mode = mode,
                                  .repeat = repeat,
                                  .argv = &argv,
                                  .command = &command,
                                  .environment = &environment,
                                  .variables = one->environment,
                                  .variable_count = one->environment_count,
                                  .stdin_bytes = one->stdin_bytes.data,
                                  .stdin_size_bytes = one->stdin_bytes.size_bytes,
                                  .watchdog_ms = one->watchdog_ms};

    progress(session, mode == EXHIBIT__MODE__MODE_STRICT ? "strict" : "baseline", one->name);
    if (expand_argv(session, &one->command, NULL, &command, err) < 0 ||
        argv_for(session, mode, &command, &argv, err) < 0 ||
        expand_environment(session, one->environment, one->environment_count, &environment, err) < 0)
        return err->code;
    return run_in_copies(session, &request, err);
}

int steps_cases(struct session *session, Exhibit__Mode mode, struct err *err)
{
    if (phase_put(session->journal, "", EXHIBIT__PHASE_NAME__PHASE_CASES, err) < 0)
        return err->code;
    for (size_t i = 0; i < session->plan->case_count; i++) {
        const struct plan_case *one = &session->plan->cases[i];
        uint32_t repeats = mode == EXHIBIT__MODE__MODE_BASELINE && has_archives(session->oracle, one->name) ? 2 : 1;

        for (uint32_t repeat = 1; repeat <= repeats && !session->interrupted; repeat++)
            if (case_run(session, one, mode, repeat, err) < 0)
                return err->code;
    }
    return 0;
}

/* One run of the probe, between a look at the targets before and after. */
static int trial_run(struct session *session, const struct plan_trial *trial, Exhibit__Mode mode, uint32_t repeat,
                     struct err *err)
{
    AUTO_TEXT_LIST struct text_list command = {0}, argv = {0}, environment = {0};
    struct probe_assignment assignment;
    struct run_request request = {.kind = EXHIBIT__RUN_KIND__RUN_TRIAL,
                                  .name = trial->name,
                                  .mode = mode,
                                  .repeat = repeat,
                                  .argv = &argv,
                                  .command = &command,
                                  .environment = &environment,
                                  .probe = &assignment.message};

    if (session->interrupted)
        return 0;
    progress(session, mode_texts[mode], trial->name);
    if (probe_assign(session, trial, mode, repeat, &assignment, &command, err) < 0 ||
        argv_for(session, mode, &command, &argv, err) < 0 ||
        expand_environment(session, NULL, 0, &environment, err) < 0)
        return err->code;
    if (mode == EXHIBIT__MODE__MODE_STRICT &&
        phase_put(session->journal, trial->name, EXHIBIT__PHASE_NAME__PHASE_STATE_BEFORE, err) < 0)
        return err->code;
    if (targets_state(session->targets, 0, err) < 0)
        return err->code;
    if (mode == EXHIBIT__MODE__MODE_STRICT &&
        phase_put(session->journal, trial->name, EXHIBIT__PHASE_NAME__PHASE_STRICT, err) < 0)
        return err->code;
    if (run_in_copies(session, &request, err) < 0)
        return err->code;
    if (mode == EXHIBIT__MODE__MODE_STRICT &&
        phase_put(session->journal, trial->name, EXHIBIT__PHASE_NAME__PHASE_STATE_AFTER, err) < 0)
        return err->code;
    return targets_state(session->targets, 0, err);
}

/* Sets the targets anew, then makes one run of the trial. */
static int reset_and_run(struct session *session, const struct plan_trial *trial, Exhibit__Mode mode, uint32_t repeat,
                         struct err *err)
{
    static const Exhibit__PhaseName phases[] = {
        [EXHIBIT__MODE__MODE_BASELINE] = EXHIBIT__PHASE_NAME__PHASE_BASELINE,
        [EXHIBIT__MODE__MODE_STRICT] = EXHIBIT__PHASE_NAME__PHASE_RESET,
        [EXHIBIT__MODE__MODE_CONTROL] = EXHIBIT__PHASE_NAME__PHASE_CONTROL_BEFORE,
    };
    bool again = mode == EXHIBIT__MODE__MODE_CONTROL && repeat == 2;

    if (phase_put(session->journal, trial->name, again ? EXHIBIT__PHASE_NAME__PHASE_RESET_AGAIN : phases[mode], err) <
            0 ||
        targets_reset(session->targets, err) < 0)
        return err->code;
    if (again && phase_put(session->journal, trial->name, EXHIBIT__PHASE_NAME__PHASE_CONTROL_AFTER, err) < 0)
        return err->code;
    return trial_run(session, trial, mode, repeat, err);
}

int steps_trials_baseline(struct session *session, struct err *err)
{
    for (size_t i = 0; i < session->plan->trial_count && !session->interrupted; i++)
        if (reset_and_run(session, &session->plan->trials[i], EXHIBIT__MODE__MODE_BASELINE, 1, err) < 0)
            return err->code;
    return 0;
}

int steps_trials_strict(struct session *session, struct err *err)
{
    for (size_t i = 0; i < session->plan->trial_count && !session->interrupted; i++) {
        const struct plan_trial *trial = &session->plan->trials[i];

        if (reset_and_run(session, trial, EXHIBIT__MODE__MODE_CONTROL, 1, err) < 0 ||
            reset_and_run(session, trial, EXHIBIT__MODE__MODE_STRICT, 1, err) < 0 ||
            reset_and_run(session, trial, EXHIBIT__MODE__MODE_CONTROL, 2, err) < 0 ||
            phase_put(session->journal, trial->name, EXHIBIT__PHASE_NAME__PHASE_DONE, err) < 0)
            return err->code;
    }
    return 0;
}
