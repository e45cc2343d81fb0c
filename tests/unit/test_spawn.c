/* Starting commands: what they inherit, and how a command that cannot be executed is told. */
#include "record/loop.h"
#include "record/process_events.h"
#include "record/spawn.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct spawned start(char *const *argv, char *const *environment)
{
    struct cgroup none = CGROUP_NONE;
    struct spawned spawned;
    struct err err;

    assert_int_equal(spawn_start(&(struct spawn_request){argv, environment, "/", &none}, &spawned, &err), 0);
    return spawned;
}

/* Reads stdout to its end and waits for the process. Returns its wait status. */
static int finish(struct spawned *spawned, char *output, size_t room)
{
    size_t used = 0;
    int status = -1;

    for (;;) {
        struct pollfd wait = {.fd = spawned->stdout_fd, .events = POLLIN};
        ssize_t got;

        assert_int_equal(poll(&wait, 1, 5000), 1);
        got = read(spawned->stdout_fd, output + used, room - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    output[used] = 0;
    if (spawned->failed_stage == NULL)
        assert_int_equal(waitpid(spawned->pid, &status, 0), spawned->pid);
    (void)close(spawned->stdin_fd);
    (void)close(spawned->stdout_fd);
    (void)close(spawned->stderr_fd);
    (void)close(spawned->pid_fd);
    return status;
}

static void a_command_gets_its_environment_alone_and_leads_its_group(void **state)
{
    char *argv[] = {"/bin/sh", "-c",
                    "env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD=; cut -d' ' -f1,5,6 /proc/$$/stat", NULL};
    char *environment[] = {"PATH=/usr/bin:/bin", "ONLY=this", NULL};
    struct spawned spawned = start(argv, environment);
    char output[1024], expected[1024];

    (void)state;
    assert_null(spawned.failed_stage);
    assert_int_equal(finish(&spawned, output, sizeof output), 0);
    (void)snprintf(expected, sizeof expected, "ONLY=this\nPATH=/usr/bin:/bin\n%d %d %d\n", spawned.pid, spawned.pid,
                   spawned.pid);
    if (strstr(output, "PATH=") == output)
        (void)snprintf(expected, sizeof expected, "PATH=/usr/bin:/bin\nONLY=this\n%d %d %d\n", spawned.pid, spawned.pid,
                       spawned.pid);
    assert_string_equal(output, expected);
}

static void a_command_inherits_no_descriptor_and_no_signal_setting(void **state)
{
    char *argv[] = {"/bin/sh", "-c", "ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status", NULL};
    char *environment[] = {"PATH=/usr/bin:/bin", NULL};
    struct spawned spawned;
    char output[1024];

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    spawned = start(argv, environment);
    assert_int_equal(finish(&spawned, output, sizeof output), 0);
    assert_string_equal(output, "4\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"); /* 3 and ls's own */
}

static void an_exec_that_fails_is_told_apart_from_an_exit(void **state)
{
    char *missing[] = {"/does/not/exist", NULL}, *folder[] = {"/", NULL},
         *exits[] = {"/bin/sh", "-c", "exit 127", NULL};
    char *environment[] = {NULL};
    struct spawned spawned = start(missing, environment);
    char output[64];

    (void)state;
    assert_string_equal(spawned.failed_stage, "exec");
    assert_int_equal(spawned.failed_errno, ENOENT);
    (void)finish(&spawned, output, sizeof output);
    spawned = start(folder, environment);
    assert_string_equal(spawned.failed_stage, "exec");
    assert_int_equal(spawned.failed_errno, EACCES);
    (void)finish(&spawned, output, sizeof output);
    spawned = start(exits, environment);
    assert_null(spawned.failed_stage);
    assert_int_equal(finish(&spawned, output, sizeof output), 127 << 8);
}

struct seen {
    pid_t child;
    int forks;
    int execs;
    int exits;
    int status;
};

static int event_take(void *context, const struct process_event *event, struct err *err)
{
    struct seen *seen = context;

    (void)err;
    if (event->pid != seen->child)
        return 0;
    seen->forks += event->kind == PROCESS_EVENT_FORK && event->parent_pid == getpid();
    seen->execs += event->kind == PROCESS_EVENT_EXEC;
    if (event->kind == PROCESS_EVENT_EXIT) {
        seen->exits++;
        seen->status = event->wait_status;
    }
    return 0;
}

static void process_events_tell_fork_exec_and_exit_of_a_command(void **state)
{
    char *argv[] = {"/bin/sh", "-c", "kill -TERM $$", NULL}, *environment[] = {NULL};
    char note[200] = "", output[64];
    struct process_events *events = process_events_open(note, sizeof note);
    struct spawned spawned;
    struct seen seen = {0};
    struct err err;
    uint64_t lost = 0, deadline_ns;

    (void)state;
    if (events == NULL && getenv("EXHIBIT_TEST_NO_PROCESS_EVENTS") != NULL)
        skip();
    assert_non_null(events);
    spawned = start(argv, environment);
    seen.child = spawned.pid;
    assert_int_equal(finish(&spawned, output, sizeof output), 15);
    deadline_ns = clock_now_ns() + 2000000000u;
    while (seen.exits == 0 && clock_now_ns() < deadline_ns)
        assert_int_equal(process_events_read(events, event_take, &seen, &lost, &err), 0);
    assert_int_equal(seen.forks, 1);
    assert_int_equal(seen.execs, 1);
    assert_int_equal(seen.exits, 1);
    assert_int_equal(seen.status, 15);
    assert_int_equal(lost, 0);
    process_events_close(events);
}

/* How many messages that wait at the bell tell of that process; all are taken. */
static int rings_of(const struct process_events *events, pid_t pid)
{
    struct {
        char headers[NLMSG_HDRLEN + sizeof(struct cn_msg)];
        struct proc_event event;
    } __attribute__((packed)) message;
    int count = 0;

    while (recv(process_events_bell(events), &message, sizeof message, MSG_DONTWAIT) >= 0)
        count += message.event.event_data.exec.process_pid == pid;
    return count;
}

static void the_bell_rings_for_programs_that_are_executed_alone(void **state)
{
    char *argv[] = {"/bin/true", NULL}, *environment[] = {NULL};
    char note[200] = "", output[64];
    struct process_events *events = process_events_open(note, sizeof note);
    struct pollfd bell = {.events = POLLIN};
    struct spawned spawned;
    pid_t child;

    (void)state;
    if (events == NULL && getenv("EXHIBIT_TEST_NO_PROCESS_EVENTS") != NULL)
        skip();
    assert_non_null(events);
    bell.fd = process_events_bell(events);
    process_events_hush(events);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(rings_of(events, child), 0); /* but it was forked, and ended */
    spawned = start(argv, environment);
    assert_int_equal(poll(&bell, 1, 2000), 1);
    assert_int_equal(finish(&spawned, output, sizeof output), 0);
    assert_int_equal(rings_of(events, spawned.pid), 1);
    process_events_close(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_gets_its_environment_alone_and_leads_its_group),
        cmocka_unit_test(a_command_inherits_no_descriptor_and_no_signal_setting),
        cmocka_unit_test(an_exec_that_fails_is_told_apart_from_an_exit),
        cmocka_unit_test(process_events_tell_fork_exec_and_exit_of_a_command),
        cmocka_unit_test(the_bell_rings_for_programs_that_are_executed_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
