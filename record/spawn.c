#include "record/spawn.h"

#include "base/cleanup.h"
#include "record/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCRIPTORS_NEEDED 1024   /* connections to the listeners, and deep folders */
#define PIPE_ROOM_BYTES (1 << 20) /* more than the default, so that a flood of output waits less for us */

/* What the child tells when it cannot execute; the pipe is closed by a successful exec. */
struct failure {
    int stage;
    int errno_value;
};

enum { STAGE_SESSION, STAGE_CGROUP, STAGE_PIPES, STAGE_CWD, STAGE_LIMITS, STAGE_EXEC };

static const char *const stage_names[] = {"setsid", "control group", "pipes", "chdir", "limits", "exec"};

/* What commands get back: the limit of open files that the recorder itself was started with. */
static struct rlimit before_raise;
static bool was_raised;

/* What a child is to do. */
struct child {
    const struct spawn_request *request;
    const int *pipes; /* 6, as pipes_open has them */
    int report_fd;    /* where it tells its failure */
    int group_fd;     /* of the cgroup.procs to move itself to; -1: it is in its group */
};

/* In the child: makes itself ready and executes. Only async-signal-safe calls. Returns only on failure. */
static void child_execute(const struct child *child, struct failure *failure)
{
    const struct spawn_request *request = child->request;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    failure->stage = STAGE_SESSION;
    if (setsid() < 0)
        return;
    failure->stage = STAGE_CGROUP;
    if (child->group_fd >= 0 && write(child->group_fd, "0", 1) != 1)
        return;
    failure->stage = STAGE_PIPES;
    if (dup2(child->pipes[0], 0) < 0 || dup2(child->pipes[3], 1) < 0 || dup2(child->pipes[5], 2) < 0)
        return;
    (void)syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
    failure->stage = STAGE_CWD;
    if (chdir(request->cwd) < 0)
        return;
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &plain, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)umask(022);
    failure->stage = STAGE_LIMITS;
    if (was_raised && setrlimit(RLIMIT_NOFILE, &before_raise) < 0)
        return;
    failure->stage = STAGE_EXEC;
    (void)execve(request->argv[0], request->argv, request->environment);
}

/* All of the child's life before its program. */
static _Noreturn void child_run(const struct child *child)
{
    struct failure failure;

    child_execute(child, &failure);
    failure.errno_value = errno;
    (void)!write(child->report_fd, &failure, sizeof failure);
    _exit(127);
}

#if defined(__x86_64__) && !defined(__ILP32__) && !EXHIBIT_SANITIZED /* a sanitizer does not know the stack */
/*
 * clone3(2) for a child that begins with child_run on a stack of its own: it has this process's memory, so that none of
 * it is copied, before or when it is next written to; the kernel lets this thread wait until the child has executed.
 * Returns its number; negative: it could not be started.
 */
static pid_t clone_sharing(struct clone_args *args, const struct child *child)
{
    static _Alignas(16) char stack[65536]; /* one child at a time */
    sigset_t all, before;
    long pid;

    args->flags |= CLONE_VM | CLONE_VFORK;
    args->stack = (uintptr_t)stack;
    args->stack_size = sizeof stack;
    (void)sigfillset(&all); /* no handler of this process may run in the child */
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov %[child], %%rdi\n\t"
                     "call *%[run]\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(pid)
                     : "0"((long)SYS_clone3), "D"(args), "S"(sizeof *args), [child] "r"(child), [run] "r"(child_run)
                     : "rcx", "r11", "memory");
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return (pid_t)pid;
}
#else
static pid_t clone_sharing(struct clone_args *args, const struct child *child)
{
    pid_t pid = (pid_t)syscall(SYS_clone3, args, sizeof *args);

    if (pid == 0)
        child_run(child);
    return pid;
}
#endif

/*
 * Starts the child in the control group, where there is one, from its first instruction on where the kernel can (5.7):
 * to move one takes a lock for which the whole machine waits. Returns as fork.
 */
static pid_t child_start(const struct spawn_request *request, struct child *child)
{
    struct clone_args args = {.exit_signal = SIGCHLD};
    int group_fd = child->group_fd;
    pid_t pid;

    if (group_fd >= 0) {
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (unsigned)request->cgroup->dir_fd;
    }
    child->group_fd = -1;
    pid = clone_sharing(&args, child);
    if (pid >= 0)
        return pid;
    child->group_fd = group_fd;
    pid = fork();
    if (pid == 0)
        child_run(child);
    return pid;
}

int spawn_limits_raise(struct err *err)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return err_set_errno(err, "read the limit of open files");
    if (limit.rlim_cur >= DESCRIPTORS_NEEDED)
        return 0;
    if (limit.rlim_max < DESCRIPTORS_NEEDED)
        return err_set(err, ERR_SYSTEM, "at most %ju files may be open at once (ulimit -n); a recording needs %d",
                       (uintmax_t)limit.rlim_max, DESCRIPTORS_NEEDED);
    before_raise = limit;
    limit.rlim_cur = DESCRIPTORS_NEEDED;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return err_set_errno(err, "raise the limit of open files");
    was_raised = true;
    return 0;
}

/* Three pipes: in reader, in writer, out reader, out writer, err reader, err writer. */
static int pipes_open(int pipes[6], struct err *err)
{
    for (int i = 0; i < 6; i += 2)
        if (pipe2(pipes + i, O_CLOEXEC) < 0)
            return err_set_errno(err, "make a pipe");
    for (int i = 0; i < 6; i++) {
        bool ours = i == 1 || i == 2 || i == 4;

        if (ours && fcntl(pipes[i], F_SETFL, O_NONBLOCK) < 0)
            return err_set_errno(err, "make a pipe non-blocking");
        if (ours)
            (void)fcntl(pipes[i], F_SETPIPE_SZ, PIPE_ROOM_BYTES); /* a wish: a user over its quota keeps 64 KiB */
        if (pipes[i] < 3)                                         /* dup2 in the child relies on this */
            return err_set(err, ERR_SYSTEM, "descriptors 0, 1 and 2 must be open");
    }
    return 0;
}

static void close_all(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

/* Reads what the child tells. Returns false when it told nothing: it executes. */
static bool failure_read(int fd, struct failure *failure)
{
    ssize_t got;

    do
        got = read(fd, failure, sizeof *failure);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *failure;
}

int spawn_start(const struct spawn_request *request, struct spawned *out, struct err *err)
{
    int pipes[6] = {-1, -1, -1, -1, -1, -1}, report[2] = {-1, -1};
    struct child child = {.request = request, .pipes = pipes};
    struct failure failure = {0};
    struct spawned spawned = {.pid_fd = -1};
    struct proc_stat stat;
    AUTO_FD int group_fd = -1;

    if (request->cgroup->dir_fd >= 0) {
        group_fd = openat(request->cgroup->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (group_fd < 0)
            return err_set_errno(err, "open cgroup.procs");
    }
    if (pipes_open(pipes, err) < 0)
        goto undo;
    if (pipe2(report, O_CLOEXEC) < 0) {
        err_set_errno(err, "make a pipe");
        goto undo;
    }
    child.report_fd = report[1];
    child.group_fd = group_fd;
    spawned.pid = child_start(request, &child);
    if (spawned.pid < 0) {
        err_set_errno(err, "start a process");
        goto undo;
    }
    (void)close(report[1]);
    report[1] = -1;
    spawned.pid_fd = (int)syscall(SYS_pidfd_open, spawned.pid, 0u);
    if (failure_read(report[0], &failure)) {
        spawned.failed_stage = stage_names[failure.stage];
        spawned.failed_errno = failure.errno_value;
        (void)waitpid(spawned.pid, NULL, 0);
    } else if (spawned.pid_fd < 0 || !proc_stat_read(spawned.pid, &stat)) {
        err_set(err, ERR_SYSTEM, "cannot hold on to the process that was started");
        /* Our own child, nobody has waited for it, and SIGCHLD is not ignored: the number is its own. */
        (void)kill(spawned.pid, SIGKILL);
        (void)waitpid(spawned.pid, NULL, 0);
        close_all(&spawned.pid_fd, 1);
        goto undo;
    } else {
        spawned.start_time = stat.start_time;
    }
    spawned.stdin_fd = pipes[1];
    spawned.stdout_fd = pipes[2];
    spawned.stderr_fd = pipes[4];
    close_all((int[]){pipes[0], pipes[3], pipes[5], report[0]}, 4);
    *out = spawned;
    return 0;

undo:
    close_all(pipes, 6);
    close_all(report, 2);
    return err->code;
}

int spawn_group_signal(pid_t leader, uint64_t start_time, int signal_number)
{
    struct proc_stat stat;

    /* The leader is our unreaped child, so its number is its own; that it still leads its group is what we look at. */
    if (!proc_stat_read(leader, &stat) || stat.start_time != start_time || stat.parent_pid != (uint32_t)getpid() ||
        stat.group != (uint32_t)leader)
        return ESRCH;
    return kill(-leader, signal_number) < 0 ? errno : 0;
}
