/*
 * The worker process and the time limit of an attempt.
 */
#include "record/probe/worker.h"

#include "base/cleanup.h"
#include "record/probe/clock.h"
#include "record/probe/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* What a process may take until it runs, which is no time of the attempt: on a busy machine far more than usual. */
#define START_LIMIT_MS 400

/* What the worker does: tries what it is asked to, until nobody asks any more. */
static _Noreturn void work(const struct lines *lines, pid_t role_pid, int ask_fd, int answer_fd, uint32_t round)
{
    uint8_t effect = 0;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        (void)alarm(1); /* a kernel without it: more time than a round can take, and still a bound */
    if (getppid() != role_pid)
        _exit(0); /* the role died before the kernel was told to bind our life to its own */
    /* Nobody must wait for the end of a stream because of an attempt that hangs. */
    (void)close(STDIN_FILENO);
    (void)close(STDOUT_FILENO);
    (void)close(STDERR_FILENO);
    if (lines->file_fd >= 0)
        (void)close(lines->file_fd);
    (void)!write(answer_fd, &effect, 1); /* ready */
    while (read(ask_fd, &effect, 1) == 1 && effect < EFFECT_COUNT) {
        struct told told = attempt_make(lines->assignment, (enum effect)effect, round);

        if (write(answer_fd, &told, sizeof told) != (ssize_t)sizeof told)
            break;
    }
    _exit(0);
}

/* Waits for the worker's end. Returns the signal that ended it; 0: none did. */
static int worker_reap(struct worker *worker)
{
    int status = 0;

    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    cleanup_fd(&worker->ask_fd);
    cleanup_fd(&worker->answer_fd);
    worker->pid = 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void worker_stop(struct worker *worker)
{
    if (worker->pid == 0)
        return;
    (void)kill(worker->pid, SIGKILL); /* our own child, not waited for yet: the number is still its own */
    (void)worker_reap(worker);
}

/* Waits for fd to have something, or its end. False: not by deadline_ns. */
static bool wait_readable(int fd, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        uint64_t now_ns = clock_now_ns();
        struct timespec left = clock_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        int count = ppoll(&ready, 1, &left, NULL);

        if (count > 0)
            return true;
        if (count == 0 || errno != EINTR)
            return false;
    }
}

static bool worker_start(struct worker *worker, const struct lines *lines, char *verb, uint32_t round)
{
    int ask[2] = {-1, -1}, answer[2] = {-1, -1};
    pid_t role_pid = getpid(), pid = -1;
    uint8_t ready;

    if (pipe2(ask, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0) {
        tree_step_aside(verb, "try");
        (void)close(ask[1]);
        (void)close(answer[0]);
        work(lines, role_pid, ask[0], answer[1], round);
    }
    cleanup_fd(&ask[0]);
    cleanup_fd(&answer[1]);
    if (pid < 0) {
        cleanup_fd(&ask[1]);
        cleanup_fd(&answer[0]);
        return false;
    }
    *worker = (struct worker){.pid = pid, .ask_fd = ask[1], .answer_fd = answer[0]};
    if (!wait_readable(answer[0], clock_now_ns() + START_LIMIT_MS * NS_PER_MS)) {
        worker_stop(worker);
        return false;
    }
    (void)!read(answer[0], &ready, 1); /* nothing where it is dead already: the attempt finds that too */
    return true;
}

bool worker_attempt(struct worker *worker, const struct lines *lines, char *verb, enum effect effect, uint32_t round,
                    struct told *out)
{
    uint8_t ask = (uint8_t)effect;
    struct told told;
    int signal_number;

    if (worker->pid == 0 && !worker_start(worker, lines, verb, round))
        return false;
    lines_try(lines, round, effect);
    (void)!write(worker->ask_fd, &ask, 1); /* a worker that is dead by now shows at its other pipe */
    if (!wait_readable(worker->answer_fd, clock_now_ns() + ATTEMPT_LIMIT_MS * NS_PER_MS)) {
        worker_stop(worker);
        *out = (struct told){.kind = TOLD_TIMEOUT};
        return true;
    }
    if (read(worker->answer_fd, &told, sizeof told) == (ssize_t)sizeof told) {
        *out = told;
        return true;
    }
    signal_number = worker_reap(worker);
    *out = (struct told){.kind = TOLD_SIGNAL, .number = signal_number};
    return signal_number != 0;
}
