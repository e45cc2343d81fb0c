#include "record/version_ask.h"

#include "base/cleanup.h"
#include "record/expand.h"
#include "record/orphans.h"
#include "record/spawn.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_BYTES 200
#define ANSWER_NS 5000000000ull

/* Reads until the end, the room is full, or the time is over. Returns the number of bytes. */
static size_t answer_read(int fd, char *to, size_t room_bytes)
{
    uint64_t deadline_ns = clock_now_ns() + ANSWER_NS;
    size_t used = 0;

    while (used < room_bytes && clock_now_ns() < deadline_ns) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ssize_t got;

        if (poll(&wait, 1, 100) <= 0)
            continue;
        got = read(fd, to + used, room_bytes - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    return used;
}

int version_ask(struct session *session, char **out, struct err *err)
{
    AUTO_TEXT_LIST struct text_list argv = {0}, environment = {0};
    struct cgroup none = CGROUP_NONE;
    struct spawned spawned;
    char answer[ANSWER_BYTES + 1];
    size_t used = 0;

    if (session->plan->candidate.version.count > 0) {
        if (expand_argv(session, &session->plan->candidate.version, NULL, &argv, err) < 0 ||
            expand_environment(session, NULL, 0, &environment, err) < 0)
            return err->code;
        if (spawn_start(
                &(struct spawn_request){
                    .argv = argv.items, .environment = environment.items, .cwd = session->work, .cgroup = &none},
                &spawned, err) < 0)
            return err_wrap(err, "ask the candidate for its version");
        if (spawned.failed_stage == NULL) {
            used = answer_read(spawned.stdout_fd, answer, ANSWER_BYTES);
            (void)spawn_group_signal(spawned.pid, spawned.start_time, SIGKILL); /* whatever is left of it */
            (void)waitpid(spawned.pid, NULL, 0);
            orphans_end(); /* those that left the group */
        }
        (void)close(spawned.stdin_fd);
        (void)close(spawned.stdout_fd);
        (void)close(spawned.stderr_fd);
        if (spawned.pid_fd >= 0)
            (void)close(spawned.pid_fd);
    }
    answer[used] = 0;
    answer[strcspn(answer, "\r\n")] = 0;
    for (char *at = answer; *at != 0; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    *out = strdup(answer);
    return *out == NULL ? err_set_errno(err, "memory for the candidate's version") : 0;
}
