/*
 * Launcher, init and payload. The init stands in between because a payload that is the first process of its namespace
 * would ignore every signal that it has no handler for, and because someone must wait for orphans.
 */
#include "candidates/confine/namespace.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void close_streams(void)
{
    (void)close(STDIN_FILENO);
    (void)close(STDOUT_FILENO);
    (void)close(STDERR_FILENO);
}

static int write_map(const char *path, const char *text, struct err *err)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return err_set_errno(err, "%s", path);
    return 0;
}

/* A user namespace in which we are who we were. */
static int map_ids(uid_t uid, gid_t gid, struct err *err)
{
    char text[64];
    int code = write_map("/proc/self/setgroups", "deny", err);

    (void)snprintf(text, sizeof text, "%u %u 1\n", uid, uid);
    if (code == 0)
        code = write_map("/proc/self/uid_map", text, err);
    (void)snprintf(text, sizeof text, "%u %u 1\n", gid, gid);
    if (code == 0)
        code = write_map("/proc/self/gid_map", text, err);
    return code;
}

static int leave_namespace(struct err *err)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWPID) == 0)
        return 0;
    if (errno != EPERM)
        return err_set_errno(err, "make a pid namespace");
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
        return err_set_errno(err, "make a pid namespace with a user namespace");
    return map_ids(uid, gid, err);
}

/* Whether somebody still has the other end of the pipe. */
static bool launcher_lives(int status_fd)
{
    struct pollfd state = {.fd = status_fd};

    return poll(&state, 1, 0) >= 0 && (state.revents & POLLERR) == 0;
}

static _Noreturn void init_fails(const char *what)
{
    (void)dprintf(STDERR_FILENO, "exhibit-confine: cannot confine, so the command is not started: %s: %s\n", what,
                  strerror(errno));
    _exit(125);
}

/* The namespace's first process: its end is the end of all others. */
static _Noreturn void be_init(int status_fd, void (*payload)(const void *context), const void *context)
{
    pid_t payload_pid, pid;
    int status;

    /* Its parent has no number in this namespace, so that the pipe tells whether it died before the request. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        init_fails("bind the namespace to the launcher's life");
    if (!launcher_lives(status_fd))
        _exit(125);
    payload_pid = fork();
    if (payload_pid < 0)
        init_fails("fork");
    if (payload_pid == 0) {
        (void)close(status_fd);
        payload(context);
        _exit(125);
    }
    close_streams();
    do {
        pid = waitpid(-1, &status, 0);
    } while (pid != payload_pid && (pid >= 0 || errno == EINTR));
    if (pid == payload_pid)
        (void)!write(status_fd, &status, sizeof status);
    _exit(0);
}

/* Ends this process by the signal that ended the payload, leaving no second core file. */
static void die_by(int number)
{
    sigset_t set;

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(number);
}

int namespace_run(void (*payload)(const void *context), const void *context, struct err *err)
{
    AUTO_FD int read_fd = -1;
    int ends[2], status = 0, code;
    ssize_t got;
    pid_t pid;

    (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would take the statuses away */
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, "make a pipe");
    read_fd = ends[0];
    code = leave_namespace(err);
    pid = code < 0 ? -1 : fork();
    if (pid == 0) {
        (void)close(read_fd);
        be_init(ends[1], payload, context);
    }
    (void)close(ends[1]);
    if (code < 0)
        return code;
    if (pid < 0)
        return err_set_errno(err, "fork");
    close_streams();
    do {
        got = read(read_fd, &status, sizeof status);
    } while (got < 0 && errno == EINTR);
    /* Only when the init can be waited for has its whole namespace ended. */
    while (waitpid(pid, got == (ssize_t)sizeof status ? NULL : &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        die_by(WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
