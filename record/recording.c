#include "record/recording.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/message.h"
#include "record/bindings.h"
#include "record/cgroup.h"
#include "record/layout.h"
#include "record/orphans.h"
#include "record/output.h"
#include "record/preflight.h"
#include "record/spawn.h"
#include "record/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everything that a recording owns. */
struct recording {
    const struct recording_request *request;
    struct session session;
    struct bindings bindings;
    struct bytes policy;
    struct judge *judge;
    struct pack_writer *pack;
    struct loop_source signals;
    struct output output;
};

/* ---- before anything is started ---- */

/* A bundle that holds what is to stay here would be no better than none that says so. */
static int local_check(const struct recording *recording, struct err *err)
{
    if (!plan_has_local(recording->request->plan) || recording->request->store != NULL)
        return 0;
    return err_set(err, ERR_USAGE,
                   "%s: it has `local` inputs, whose contents are kept in a store alone; record it with --store DIR "
                   "instead of -o, and export a bundle from there",
                   recording->request->plan->file);
}

static int policy_read(struct recording *recording, struct err *err)
{
    const char *file = recording->request->plan->candidate.policy_file;

    if (file == NULL)
        return 0;
    if (file_read_path(AT_FDCWD, file, 0, LIMIT_YAML_BYTES, &recording->policy, err) < 0)
        return err_wrap(err, "the policy");
    return 0;
}

/* ---- the parts ---- */

static int signal_ready(void *context, uint32_t ready, struct err *err)
{
    struct recording *recording = context;
    struct signalfd_siginfo info;

    (void)ready;
    (void)err;
    while (read(recording->signals.fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD) /* that one only wakes the loop */
            recording->session.interrupted = true;
    return 0;
}

/* Signals become something that the loop reads, and orphans of the subject come to us. */
static int signals_open(struct recording *recording, struct err *err)
{
    sigset_t mask;

    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGINT);
    (void)sigaddset(&mask, SIGTERM);
    (void)sigaddset(&mask, SIGHUP);
    (void)sigaddset(&mask, SIGQUIT);
    (void)sigaddset(&mask, SIGCHLD);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* were it ignored, children would give their numbers up before we wait for them */
    if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_set_errno(err, "prepare for signals and orphans");
    recording->signals = (struct loop_source){
        .fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signal_ready, .context = recording};
    if (recording->signals.fd < 0)
        return err_set_errno(err, "watch for signals");
    return loop_add(recording->session.loop, &recording->signals, EPOLLIN, err);
}

/* A step by cgroup.kill on a machine that has none would be found out only when half of it is measured. */
static int kill_check(const struct plan *plan, bool can_kill, struct err *err)
{
    for (size_t i = 0; i < plan->trial_count; i++)
        for (size_t j = 0; j < plan->trials[i].step_count; j++)
            if (!can_kill && plan->trials[i].steps[j].target == EXHIBIT__STEP_TARGET__STEP_CGROUP)
                return err_set(err, ERR_USAGE,
                               "%s:%u: the trial `%s` ends by cgroup.kill, and this machine gives the recorder no "
                               "control group that has it; remove the trial, or run where /sys/fs/cgroup (version 2) "
                               "can be written",
                               plan->file, plan->trials[i].line, plan->trials[i].name);
    return 0;
}

/* Tries whether the machine gives control groups. */
static int groups_try(struct session *session, struct err *err)
{
    struct cgroup cgroup;
    bool can_kill;

    session->control_groups = cgroup_open(session->group_prefix, &cgroup);
    if (!session->control_groups && cgroup_wants_room(errno)) /* which is no fact about control groups */
        return err_set_errno(err, "make a control group");
    can_kill = session->control_groups && cgroup_can_kill(&cgroup);
    cgroup_close(&cgroup);
    return kill_check(session->plan, can_kill, err);
}

/* The salt of local inputs, and where their contents go. */
static int local_open(struct recording *recording, struct err *err)
{
    struct session *session = &recording->session;

    if (!plan_has_local(session->plan))
        return 0;
    if (file_random(session->salt, sizeof session->salt, err) < 0)
        return err->code;
    return output_start_local(&recording->output, &session->local, err);
}

static int parts_open(struct recording *recording, struct err *err)
{
    const struct recording_request *request = recording->request;
    struct session *session = &recording->session;
    const struct bytes *policy = request->plan->candidate.policy_file == NULL ? NULL : &recording->policy;
    char targets[PATH_MAX + 16];

    session->plan = request->plan;
    session->oracle = request->oracle;
    session->progress = request->progress;
    session->progress_context = request->progress_context;
    session->loop = loop_new();
    recording->judge = judge_new(request->oracle);
    if (session->loop == NULL || recording->judge == NULL)
        return err_set_errno(err, "start");
    if (spawn_limits_raise(err) < 0 || output_open(&recording->output, err) < 0 ||
        layout_make(session, request->work_parent, request->program_dir, policy, err) < 0 ||
        signals_open(recording, err) < 0 || groups_try(session, err) < 0 ||
        output_start(&recording->output, &recording->pack, err) < 0 || local_open(recording, err) < 0)
        return err->code;
    session->journal = journal_new(recording->pack, recording->judge);
    if (session->journal == NULL)
        return err_set_errno(err, "start the journal");
    journal_watch(session->journal, session->secrets);
    (void)snprintf(targets, sizeof targets, "%s/targets", session->work);
    if (observer_new(session->loop, session->journal, request->snapshots_only, &session->observer, err) < 0 ||
        bindings_gather(session, request->program_dir, policy, &recording->bindings, err) < 0 ||
        listeners_new(session->loop, session->journal, &session->listeners, err) < 0 ||
        targets_new(session->loop, session->journal, targets, &session->targets, err) < 0)
        return err->code;
    return 0;
}

/* ---- the recording ---- */

static int put_end(struct session *session, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, 0);
    Exhibit__RecordingEnd end = EXHIBIT__RECORDING_END__INIT;

    if (journal_flush(session->journal, err) < 0) /* so that no link comes between the count and the event */
        return err->code;
    end.event_count = journal_count(session->journal) + 1;
    JOURNAL_WHAT(event, recording_end, RECORDING_END, &end);
    return journal_put(session->journal, &event, NULL, 0, err);
}

static int steps_make(struct recording *recording, struct err *err)
{
    struct session *session = &recording->session;

    if (bindings_put(session, &recording->bindings, err) < 0 ||
        journal_flush(session->journal, err) < 0 || /* with that, salvage makes a receipt of whatever comes next */
        steps_freeze(session, EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE, true, err) < 0 ||
        pack_writer_flush(recording->pack, err) < 0 || /* lists in a block of their own, which replay need not decode */
        journal_flush(session->journal, err) < 0 ||    /* the log's beginning, before any subject could write one */
        targets_reset(session->targets, err) < 0 || steps_cases(session, EXHIBIT__MODE__MODE_BASELINE, err) < 0 ||
        steps_trials_baseline(session, err) < 0 ||
        steps_freeze(session, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE, false, err) < 0)
        return err->code;
    if ((!session->interrupted && steps_launcher(session, err) < 0) ||
        steps_cases(session, EXHIBIT__MODE__MODE_STRICT, err) < 0 || steps_trials_strict(session, err) < 0 ||
        steps_freeze(session, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT, false, err) < 0)
        return err->code;
    return session->interrupted ? 0 : put_end(session, err);
}

/* Puts a packed message and gives its digest. */
static int message_put(struct recording *recording, const ProtobufCMessage *message, size_t max_bytes,
                       struct digest *out, struct err *err)
{
    AUTO_BYTES struct bytes packed = {0};

    if (message_pack(message, max_bytes, &packed, err) < 0 ||
        secrets_look(recording->session.secrets, packed.data, packed.size_bytes, "what is said of it", err) < 0)
        return err->code;
    return pack_put(recording->pack, PACK_OBSERVATION, packed.data, packed.size_bytes, out, err);
}

/* FORMAT 8.1 */
static uint32_t receipt_version(const struct plan *plan)
{
    return plan_has_secret(plan) || plan_has_local(plan) ? 2 : 1;
}

/* Finishes what is kept apart: a pack of the same receipt, with nothing else of the observations. */
static int local_seal(struct recording *recording, const Exhibit__Receipt *receipt, const struct digest *digest,
                      struct err *err)
{
    struct pack_writer *local = recording->session.local;
    AUTO_BYTES struct bytes packed = {0};
    struct digest again;

    if (local == NULL)
        return 0;
    if (message_pack(&receipt->base, LIMIT_RECEIPT_BYTES, &packed, err) < 0 ||
        pack_put(local, PACK_OBSERVATION, packed.data, packed.size_bytes, &again, err) < 0 ||
        output_name_local(local, digest, err) < 0)
        return err->code;
    recording->session.local = NULL;
    return pack_writer_finish(local, digest, NULL, err);
}

/* Writes receipt and claim, and finishes the pack. */
static int seal(struct recording *recording, Exhibit__Claim **out, struct err *err)
{
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    const Exhibit__Stream *events;
    struct digest receipt_digest, claim_digest;
    struct pack_writer *pack = recording->pack;
    int code;

    if (journal_finish(recording->session.journal, &events, err) < 0)
        return err->code;
    receipt.version = receipt_version(recording->request->plan);
    receipt.run_id = recording->bindings.message.run_id;
    receipt.events = (Exhibit__Stream *)events; /* packed only */
    receipt.partial = recording->session.interrupted;
    if (message_put(recording, &receipt.base, LIMIT_RECEIPT_BYTES, &receipt_digest, err) < 0 ||
        judge_finish(recording->judge, &receipt_digest, out, err) < 0 ||
        message_put(recording, &(*out)->base, LIMIT_CLAIM_BYTES, &claim_digest, err) < 0 ||
        output_name(&recording->output, pack, &receipt_digest, err) < 0 ||
        local_seal(recording, &receipt, &receipt_digest, err) < 0)
        return err->code;
    recording->pack = NULL; /* freed by finishing, also on failure */
    code = pack_writer_finish(pack, &receipt_digest, &claim_digest, err);
    if (code < 0 && plan_has_local(recording->request->plan))
        output_forget_local(&recording->output, &receipt_digest);
    return code;
}

/* Releases everything; a work folder that stays is named beside an earlier failure. */
static int release(struct recording *recording, struct err *err, int code)
{
    struct session *session = &recording->session;
    struct err removal;
    bool removed;

    pack_writer_abandon(recording->pack);
    pack_writer_abandon(session->local);
    explicit_bzero(session->salt, sizeof session->salt);
    targets_free(session->targets);
    listeners_free(session->listeners);
    observer_free(session->observer);
    orphans_end();
    bindings_done(&recording->bindings);
    journal_free(session->journal);
    judge_free(recording->judge);
    if (session->loop != NULL)
        loop_remove(session->loop, &recording->signals);
    if (recording->signals.fd >= 0)
        (void)close(recording->signals.fd);
    loop_free(session->loop);
    bytes_done(&recording->policy);
    output_done(&recording->output);
    removed = layout_remove(session, &removal) == 0;
    if (!removed && code < 0)
        code = err_wrap(err, "%s stays (%.300s)", session->work, removal.text);
    else if (!removed)
        code = err_set(err, ERR_SYSTEM, "%s stays: %.600s", session->work, removal.text);
    if (code < 0)
        secrets_hide(session->secrets, err->text); /* it may quote what a subject called its files */
    secrets_free(session->secrets);
    return code;
}

int recording_make(const struct recording_request *request, Exhibit__Claim **out, bool *out_interrupted,
                   struct err *err)
{
    struct recording *recording = calloc(1, sizeof *recording);
    Exhibit__Claim *claim = NULL;
    int code;

    if (recording == NULL)
        return err_set_errno(err, "memory for the recording");
    if (orphans_refuse(err) < 0) {
        free(recording);
        return err->code;
    }
    recording->request = request;
    recording->output.dir_fd = -1;
    recording->signals.fd = -1;
    code = output_check(
        &recording->output,
        &(struct output_request){.file = request->output, .store = request->store, .note = request->note}, err);
    if (code == 0)
        code = local_check(recording, err);
    if (code == 0)
        code = secrets_new(request->plan, &recording->session.secrets, err);
    if (code == 0)
        code =
            preflight_check(request->plan, request->program_dir, request->work_parent, recording->session.secrets, err);
    if (code == 0)
        code = policy_read(recording, err);
    if (code == 0)
        code = secrets_look_given(recording->session.secrets, request->plan, request->oracle, &recording->policy, err);
    if (code == 0)
        code = parts_open(recording, err);
    if (code == 0)
        code = steps_make(recording, err);
    if (code == 0)
        code = seal(recording, &claim, err);
    *out_interrupted = recording->session.interrupted;
    code = release(recording, err, code);
    free(recording);
    if (code < 0 && claim != NULL) {
        exhibit__claim__free_unpacked(claim, NULL);
        claim = NULL;
    }
    *out = claim;
    return code;
}
