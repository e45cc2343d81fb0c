#include "record/run.h"

#include "base/cleanup.h"
#include "record/capture.h"
#include "record/cgroup.h"
#include "record/ending.h"
#include "record/phase.h"
#include "record/run_start.h"
#include "record/spawn.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
#define TICK_NS 20000000ull
#define SAMPLE_NS 50000000ull
#define ENDING_NS 50000000ull
#define LEFTOVER_NS SECOND_NS     /* how long descendants of a case may stay when it has ended */
#define UNSEEN_NS (5 * SECOND_NS) /* on top of the bounds, where no role was seen (yet) */
#define MARGIN_NS (SECOND_NS / 5)
#define KILLED_NS (5 * SECOND_NS) /* how long the killed may take to go */

struct run {
    struct session *session;
    const struct run_request *request;
    uint32_t number;
    struct spawned spawned;
    struct loop_source exit_source;
    struct cgroup cgroup;
    struct capture *capture;
    struct ending ending;
    uint64_t started_at_ns;
    uint64_t exited_at_ns;  /* 0: the root has not ended */
    uint64_t cleanup_at_ns; /* 0: no cleanup */
    Exhibit__Cleanup__Reason reason;
    uint64_t bound_at_ns; /* trials: the earliest moment of a cleanup */
    int64_t older_than_s; /* as observer_run_begin has it */
};

static Exhibit__Event event_of(const struct run *run)
{
    return journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, run->number);
}

/* A probe process was seen: its own bound counts from now on. One that executes itself for ever is not waited for. */
static void identity_seen(void *context, const Exhibit__ProcessIdentity *identity, uint64_t at_ns)
{
    struct run *run = context;
    const Exhibit__ProbeAssignment *probe = run->request->probe;
    uint64_t bound_at_ns, latest_ns;

    if (probe == NULL || identity->executable_sha256.len != DIGEST_BYTES ||
        memcmp(identity->executable_sha256.data, run->session->probe.bytes, DIGEST_BYTES) != 0)
        return;
    ending_identity(&run->ending, identity);
    bound_at_ns = at_ns + probe->lifetime_ms * 1000000ull + SECOND_NS + MARGIN_NS;
    latest_ns = run->started_at_ns + 3 * (probe->lifetime_ms * 1000000ull + UNSEEN_NS);
    if (bound_at_ns > latest_ns)
        bound_at_ns = latest_ns;
    if (bound_at_ns > run->bound_at_ns)
        run->bound_at_ns = bound_at_ns;
}

static void bytes_seen(void *context, Exhibit__StreamName stream, const uint8_t *bytes, size_t size_bytes)
{
    struct run *run = context;

    ending_lines(&run->ending, stream, bytes, size_bytes);
}

static int exit_ready(void *context, uint32_t ready, struct err *err)
{
    struct run *run = context;
    siginfo_t info = {0};
    Exhibit__Event event = event_of(run);
    Exhibit__RunExit run_exit = EXHIBIT__RUN_EXIT__INIT;

    (void)ready;
    /* WNOWAIT: the zombie keeps its number, so that a signal to its group cannot reach a stranger. */
    if (run->exited_at_ns != 0 || waitid(P_PIDFD, (id_t)run->spawned.pid_fd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        return 0;
    loop_remove(run->session->loop, &run->exit_source);
    event.source = EXHIBIT__SOURCE__SOURCE_WAIT;
    if (info.si_code == CLD_EXITED) {
        run_exit.how_case = EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS;
        run_exit.exit_status = (uint32_t)info.si_status;
    } else {
        run_exit.how_case = EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL;
        run_exit.term_signal = (uint32_t)info.si_status;
        run_exit.core_dumped = info.si_code == CLD_DUMPED;
    }
    run_exit.watchdog = run->reason == EXHIBIT__CLEANUP__REASON__REASON_WATCHDOG;
    JOURNAL_WHAT(event, run_exit, RUN_EXIT, &run_exit);
    if (journal_put(run->session->journal, &event, NULL, 0, err) < 0)
        return err->code;
    run->exited_at_ns = event.at_ns;
    run->ending.leader_ended = true;
    return 0;
}

/* Ends whatever is known of the run, by the kernel's own knowledge of the group first. */
static void kill_all(struct run *run)
{
    (void)cgroup_kill(&run->cgroup);
    observer_kill(run->session->observer);
}

static int cleanup_start(struct run *run, Exhibit__Cleanup__Reason reason, struct err *err)
{
    Exhibit__Event event = event_of(run);
    Exhibit__Cleanup cleanup = EXHIBIT__CLEANUP__INIT;

    cleanup.reason = reason;
    JOURNAL_WHAT(event, cleanup, CLEANUP, &cleanup);
    if (journal_put(run->session->journal, &event, NULL, 0, err) < 0)
        return err->code;
    run->reason = reason;
    run->cleanup_at_ns = event.at_ns;
    kill_all(run);
    return 0;
}

/* Whether something is left that keeps the run from being over. */
static bool is_left(struct run *run)
{
    return run->exited_at_ns == 0 || observer_remaining(run->session->observer) > 0 ||
           cgroup_is_populated(&run->cgroup);
}

/* Starts the cleanup if its reason is there; once it has started, insists. */
static int cleanup_tick(struct run *run, uint64_t now_ns, struct err *err)
{
    bool trial = run->request->probe != NULL;

    if (run->cleanup_at_ns != 0) {
        kill_all(run); /* a process that forked in between is known by now */
        return 0;
    }
    if (run->session->interrupted)
        return cleanup_start(run, EXHIBIT__CLEANUP__REASON__REASON_INTERRUPT, err);
    if (trial)
        return now_ns > run->bound_at_ns ? cleanup_start(run, EXHIBIT__CLEANUP__REASON__REASON_BOUND, err) : 0;
    if (run->exited_at_ns == 0 && now_ns > run->started_at_ns + run->request->watchdog_ms * 1000000ull)
        return cleanup_start(run, EXHIBIT__CLEANUP__REASON__REASON_WATCHDOG, err);
    if (run->exited_at_ns != 0 && now_ns > run->exited_at_ns + LEFTOVER_NS)
        return cleanup_start(run, EXHIBIT__CLEANUP__REASON__REASON_LEFTOVER, err);
    return 0;
}

/* Whether the run is over: all gone and both outputs ended, or no use in waiting longer. */
static bool is_over(struct run *run, uint64_t now_ns, uint64_t *gone_at_ns)
{
    if (run->cleanup_at_ns != 0 && now_ns > run->cleanup_at_ns + KILLED_NS)
        return true;
    if (is_left(run)) {
        *gone_at_ns = 0;
        return false;
    }
    if (*gone_at_ns == 0)
        *gone_at_ns = now_ns;
    /* All that we know of are gone: who still holds a pipe open is nobody of ours, and is not waited for. */
    return capture_is_over(run->capture) || now_ns > *gone_at_ns + LEFTOVER_NS;
}

/* Waits for everything until the run is over. */
static int wait_for_end(struct run *run, struct err *err)
{
    uint64_t ticked_at_ns = 0, sampled_at_ns = 0, gone_at_ns = 0;

    for (;;) {
        /*
         * The last threads of what has just ended go without a word, and who is to be killed goes on forking: look
         * again soon.
         */
        bool ends_now =
            run->cleanup_at_ns != 0 || (run->exited_at_ns != 0 && clock_now_ns() - run->exited_at_ns < ENDING_NS);
        uint64_t now_ns;

        if (loop_turn(run->session->loop, ends_now ? 1 : 10, err) < 0)
            return err->code;
        now_ns = clock_now_ns();
        if (now_ns - sampled_at_ns >= SAMPLE_NS) {
            sampled_at_ns = now_ns;
            if (capture_sample(run->capture, err) < 0)
                return err->code;
        }
        if (now_ns - ticked_at_ns >= TICK_NS || run->exited_at_ns != 0 || run->cleanup_at_ns != 0) {
            ticked_at_ns = now_ns;
            if (observer_tick(run->session->observer, err) < 0 || cleanup_tick(run, now_ns, err) < 0 ||
                journal_settle(run->session->journal, err) < 0) /* what came before it, too, must outlive us */
                return err->code;
        }
        if (ending_tick(&run->ending, err) < 0)
            return err->code;
        if (run->exited_at_ns != 0 && is_over(run, clock_now_ns(), &gone_at_ns))
            return 0;
        if (run->cleanup_at_ns != 0 && now_ns > run->cleanup_at_ns + KILLED_NS)
            return 0;
    }
}

static int put_all_gone(struct run *run, struct err *err)
{
    Exhibit__Event event = event_of(run);
    Exhibit__AllGone all_gone = EXHIBIT__ALL_GONE__INIT;
    bool zombie_root = run->exited_at_ns == 0;

    all_gone.remaining = (uint32_t)observer_remaining(run->session->observer);
    if (all_gone.remaining == 0 && (zombie_root || cgroup_is_populated(&run->cgroup)))
        all_gone.remaining = 1; /* at least: the kernel knows of one that we do not */
    JOURNAL_WHAT(event, all_gone, ALL_GONE, &all_gone);
    return journal_put(run->session->journal, &event, NULL, 0, err);
}

/* Starts watching a command that executes. */
static int begin(struct run *run, struct err *err)
{
    struct session *session = run->session;
    struct capture_request request = {.run = run->number,
                                      .stdin_fd = run->spawned.stdin_fd,
                                      .stdout_fd = run->spawned.stdout_fd,
                                      .stderr_fd = run->spawned.stderr_fd,
                                      .stdin_bytes = run->request->stdin_bytes,
                                      .stdin_size_bytes = run->request->stdin_size_bytes,
                                      .scratch = run->request->probe != NULL ? session->scratch : NULL,
                                      .spool_folder = run->request->probe != NULL ? NULL : session->work,
                                      .seen = bytes_seen,
                                      .context = run};

    run->ending = (struct ending){.session = session,
                                  .probe = run->request->probe,
                                  .command = run->request->command,
                                  .cgroup = &run->cgroup,
                                  .run = run->number,
                                  .leader = run->spawned.pid,
                                  .leader_fd = run->spawned.pid_fd,
                                  .leader_start_time = run->spawned.start_time,
                                  .started_at_ns = run->started_at_ns};
    run->exit_source = (struct loop_source){.fd = run->spawned.pid_fd, .ready = exit_ready, .context = run};
    if (capture_new(session->loop, session->journal, &request, &run->capture, err) < 0 ||
        observer_run_begin(session->observer, run->number, run->older_than_s, run->spawned.pid, run->spawned.start_time,
                           identity_seen, run, err) < 0 ||
        loop_add(session->loop, &run->exit_source, EPOLLIN, err) < 0)
        return err->code;
    return 0;
}

/* Watches it until it is over, and takes what is left to take. */
static int watch(struct run *run, struct err *err)
{
    struct session *session = run->session;

    if (begin(run, err) < 0 || wait_for_end(run, err) < 0)
        return err->code;
    if (observer_settle(session->observer, err) < 0 || put_all_gone(run, err) < 0)
        return err->code;
    if (run->request->mode == EXHIBIT__MODE__MODE_STRICT && run->request->probe != NULL &&
        phase_put(session->journal, run->request->name, EXHIBIT__PHASE_NAME__PHASE_DRAIN, err) < 0)
        return err->code;
    if (loop_turn(session->loop, 0, err) < 0 || listeners_drain(session->listeners, err) < 0 ||
        targets_set_run(session->targets, 0, err) < 0 || capture_finish(run->capture, err) < 0 ||
        observer_digest(session->observer, err) < 0)
        return err->code;
    return 0;
}

/* Ends and forgets everything of the run; what cannot be ended in time stays known by its control group. */
static void release(struct run *run)
{
    struct session *session = run->session;
    static const struct timespec pause = {.tv_nsec = 10000000};
    bool executes = run->spawned.pid > 0 && run->spawned.failed_stage == NULL;
    siginfo_t info = {0};

    loop_remove(session->loop, &run->exit_source);
    if (executes && run->exited_at_ns == 0)
        (void)syscall(SYS_pidfd_send_signal, run->spawned.pid_fd, SIGKILL, NULL, 0u);
    for (int i = 0; i < 200 && (observer_remaining(session->observer) > 0 || cgroup_is_populated(&run->cgroup)); i++) {
        kill_all(run);
        (void)nanosleep(&pause, NULL);
    }
    capture_free(run->capture);
    ending_done(&run->ending);
    observer_run_end(session->observer);
    for (int i = 0; executes && i < 200; i++) {
        if (waitid(P_PIDFD, (id_t)run->spawned.pid_fd, &info, WEXITED | WNOHANG) < 0 || info.si_pid != 0)
            break;
        (void)nanosleep(&pause, NULL);
    }
    observer_reap(session->observer);
    cgroup_close(&run->cgroup);
    if (run->spawned.pid_fd >= 0)
        (void)close(run->spawned.pid_fd);
    listeners_set_run(session->listeners, 0);
}

/* Starts the command. Its descriptors belong to the capture afterwards, or are closed where it did not execute. */
static int start(struct run *run, struct err *err)
{
    struct session *session = run->session;
    const struct run_request *request = run->request;
    struct spawn_request spawn = {.argv = request->argv->items,
                                  .environment = request->environment->items,
                                  .cwd = session->workspace,
                                  .cgroup = &run->cgroup};
    char name[64];

    (void)snprintf(name, sizeof name, "%s-%u", session->group_prefix, run->number);
    if (session->control_groups && !cgroup_open(name, &run->cgroup))
        return err_set_errno(err, "make the control group %s", name);
    if (observer_tick(session->observer, err) < 0 || targets_set_run(session->targets, run->number, err) < 0)
        return err->code;
    listeners_set_run(session->listeners, run->number);
    run->started_at_ns = clock_now_ns();
    /* A role is known by its digest: none of a trial waits. No file system tells times in steps of more than 2 s. */
    run->older_than_s = request->probe != NULL ? INT64_MIN : clock_wall_ns() / 1000000000 - 2;
    run->bound_at_ns = run->started_at_ns + UNSEEN_NS + SECOND_NS + MARGIN_NS +
                       (request->probe == NULL ? 0 : request->probe->lifetime_ms * 1000000ull);
    return spawn_start(&spawn, &run->spawned, err);
}

int run_execute(struct session *session, const struct run_request *request, uint32_t number, struct err *err)
{
    struct run run = {.session = session,
                      .request = request,
                      .number = number,
                      .spawned.pid_fd = -1,
                      .exit_source.fd = -1,
                      .cgroup = CGROUP_NONE};
    int code = start(&run, err);

    if (code == 0)
        code = run_spawned_put(session, run.number, &run.spawned, err);
    if (code == 0 && run.spawned.failed_stage == NULL) {
        code = watch(&run, err);
    } else if (run.spawned.pid > 0 && run.capture == NULL) {
        (void)close(run.spawned.stdin_fd);
        (void)close(run.spawned.stdout_fd);
        (void)close(run.spawned.stderr_fd);
    }
    release(&run);
    if (code == 0)
        code = targets_set_run(session->targets, 0, err);
    return code;
}
