#include "record/tryout.h"

#include "base/file.h"
#include "record/loop.h"
#include "record/orphans.h"
#include "record/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEFTOVER_NS 1000000000ull /* how long descendants may still write when it has ended */
#define POLL_MS 50

/* What is under way. */
struct going {
    const struct tryout_request *request;
    struct spawned spawned;
    size_t fed_bytes;
    struct tryout *out;
};

static void close_once(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* Writes what fits; closes where all is written or nobody reads. */
static void feed(struct going *going)
{
    const struct tryout_request *request = going->request;
    ssize_t written = 0;

    if (going->fed_bytes < request->stdin_size_bytes)
        written = write(going->spawned.stdin_fd, request->stdin_bytes + going->fed_bytes,
                        request->stdin_size_bytes - going->fed_bytes);
    if (written > 0)
        going->fed_bytes += (size_t)written;
    if (going->fed_bytes == request->stdin_size_bytes || (written < 0 && errno != EAGAIN && errno != EINTR))
        close_once(&going->spawned.stdin_fd);
}

/* Takes one piece; closes at the end. */
static int take(int *fd, struct bytes *to, bool *is_cut, struct err *err)
{
    uint8_t piece[65536];
    ssize_t got = read(*fd, piece, sizeof piece);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        close_once(fd);
        return 0;
    }
    *is_cut = *is_cut || to->size_bytes + (size_t)got > TRYOUT_KEPT_BYTES;
    return *is_cut ? 0 : bytes_add(to, piece, (size_t)got, TRYOUT_KEPT_BYTES, err);
}

/* Whether the command itself has ended: how is noted, and it stays a zombie. */
static void look_for_end(struct going *going)
{
    siginfo_t info = {0};

    if (going->out->ended_at_ns != 0 ||
        waitid(P_PIDFD, (id_t)going->spawned.pid_fd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
        return;
    going->out->ended_at_ns = clock_now_ns();
    going->out->by_signal = info.si_code != CLD_EXITED;
    going->out->number = (uint32_t)info.si_status;
}

/* Feeds and reads until it and its outputs have ended, or the time is over. */
static int attend(struct going *going, struct err *err)
{
    uint64_t deadline_ns = clock_now_ns() + going->request->watchdog_ms * 1000000ull;
    struct spawned *spawned = &going->spawned;

    for (;;) {
        struct pollfd wait[] = {{.fd = spawned->stdout_fd, .events = POLLIN},
                                {.fd = spawned->stderr_fd, .events = POLLIN},
                                {.fd = spawned->stdin_fd, .events = POLLOUT},
                                {.fd = going->out->ended_at_ns == 0 ? spawned->pid_fd : -1, .events = POLLIN}};

        (void)poll(wait, sizeof wait / sizeof wait[0], POLL_MS); /* a signal only makes it look earlier */
        if ((wait[0].revents != 0 && take(&spawned->stdout_fd, &going->out->out, &going->out->out_is_cut, err) < 0) ||
            (wait[1].revents != 0 && take(&spawned->stderr_fd, &going->out->err, &going->out->err_is_cut, err) < 0))
            return err->code;
        if (wait[2].revents != 0)
            feed(going);
        look_for_end(going);
        if (going->out->ended_at_ns != 0 && ((spawned->stdout_fd < 0 && spawned->stderr_fd < 0) ||
                                             clock_now_ns() > going->out->ended_at_ns + LEFTOVER_NS))
            return 0;
        if (*going->request->interrupted)
            return 0;
        if (going->out->ended_at_ns == 0 && clock_now_ns() > deadline_ns) {
            going->out->overran = true;
            return 0;
        }
    }
}

int tryout_run(const struct tryout_request *request, struct tryout *out, struct err *err)
{
    struct cgroup none = CGROUP_NONE;
    struct going going = {.request = request, .out = out};
    int code = spawn_start(&(struct spawn_request){.argv = request->argv->items,
                                                   .environment = request->environment->items,
                                                   .cwd = request->cwd,
                                                   .cgroup = &none},
                           &going.spawned, err);

    if (code < 0)
        return code;
    out->started_at_ns = clock_now_ns();
    out->failed_stage = going.spawned.failed_stage;
    out->failed_errno = going.spawned.failed_errno;
    if (out->failed_stage == NULL) {
        code = attend(&going, err);
        if (out->ended_at_ns == 0)
            out->ended_at_ns = clock_now_ns();
        (void)spawn_group_signal(going.spawned.pid, going.spawned.start_time, SIGKILL); /* whatever is left of it */
        (void)waitpid(going.spawned.pid, NULL, 0);
        orphans_end(); /* those that left the group */
    }
    close_once(&going.spawned.stdin_fd);
    close_once(&going.spawned.stdout_fd);
    close_once(&going.spawned.stderr_fd);
    close_once(&going.spawned.pid_fd);
    return code;
}

void tryout_done(struct tryout *tryout)
{
    bytes_done(&tryout->out);
    bytes_done(&tryout->err);
}
