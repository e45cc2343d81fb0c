/* Process events, from each source: what is told of whom, when the bell rings, and that a loss is told. */
#include "record/loop.h"
#include "record/proc.h"
#include "record/process_events_source.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ROOM_BYTES (1u << 20)
#define PATIENCE_NS 5000000000u

/* What came of one process. */
struct seen {
    pid_t pid;
    int forks, execs, exits, threads;
    pid_t parent;
    int status;
    char state_at_exit; /* as /proc has it when the event is read */
};

static int seen_take(void *context, const struct process_event *event, struct err *err)
{
    struct seen *seen = context;
    struct proc_stat stat;

    (void)err;
    if (event->pid != seen->pid)
        return 0;
    seen->execs += event->kind == PROCESS_EVENT_EXEC;
    seen->threads += event->kind == PROCESS_EVENT_THREAD;
    if (event->kind == PROCESS_EVENT_FORK) {
        seen->forks++;
        seen->parent = event->parent_pid;
    }
    if (event->kind == PROCESS_EVENT_EXIT) {
        seen->exits++;
        seen->status = event->wait_status;
        seen->state_at_exit = proc_stat_read(event->pid, &stat) ? stat.state : 0;
    }
    return 0;
}

static struct process_events *open_ring(void)
{
    return process_events_ring(ROOM_BYTES);
}

/* Opens the source that the test was given; skips where the machine has it not, as no full one may. */
static struct process_events *opened(void **state)
{
    struct process_events *(*const *open_one)(void) = *state;
    struct process_events *events = (*open_one)();

    if (events == NULL) {
        print_message("no process events: %s\n", strerror(errno));
        skip();
    }
    return events;
}

/* Reads until `until` is not 0, for which it waits. Nothing may be lost. */
static void read_until(struct process_events *events, struct seen *seen, const int *until)
{
    uint64_t lost = 0, deadline_ns = clock_now_ns() + PATIENCE_NS;
    struct err err;

    do {
        assert_int_equal(process_events_read(events, seen_take, seen, &lost, &err), 0);
    } while (*until == 0 && clock_now_ns() < deadline_ns);
    assert_int_equal(lost, 0);
}

static pid_t fork_ending_with(int status)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(status);
    return pid;
}

static pid_t start(const char *command)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void fork_exec_and_exit_of_a_command_are_told(void **state)
{
    struct process_events *events = opened(state);
    struct seen seen = {.pid = start("kill -TERM $$")};

    read_until(events, &seen, &seen.exits);
    assert_int_equal(waitpid(seen.pid, NULL, 0), seen.pid);
    assert_int_equal(seen.forks, 1);
    assert_int_equal(seen.parent, getpid());
    assert_int_equal(seen.execs, 1);
    assert_int_equal(seen.exits, 1);
    assert_int_equal(seen.status, SIGTERM);
    seen = (struct seen){.pid = fork_ending_with(7)};
    read_until(events, &seen, &seen.exits);
    assert_int_equal(waitpid(seen.pid, NULL, 0), seen.pid);
    assert_int_equal(seen.status, 7 << 8);
    assert_int_equal(seen.execs, 0);
    process_events_close(events);
}

static void an_exit_is_told_when_all_is_closed_and_the_process_a_zombie(void **state)
{
    struct process_events *events = opened(state);

    for (int i = 0; i < 20; i++) {
        struct seen seen = {.pid = fork()};

        assert_true(seen.pid >= 0);
        if (seen.pid == 0) {
            char *much = malloc(16 << 20); /* to give back takes a while */

            if (much != NULL)
                memset(much, 1, 16 << 20);
            _exit(much == NULL);
        }
        read_until(events, &seen, &seen.exits);
        assert_int_equal(seen.state_at_exit, 'Z');
        assert_int_equal(waitpid(seen.pid, NULL, 0), seen.pid);
    }
    process_events_close(events);
}

static void the_parent_of_a_child_by_clone_parent_is_its_makers(void **state)
{
    struct process_events *events = opened(state);
    struct seen seen = {0};
    int pipe_fds[2];
    pid_t maker;

    assert_int_equal(pipe(pipe_fds), 0);
    maker = fork();
    assert_true(maker >= 0);
    if (maker == 0) {
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

        if (pid == 0)
            _exit(0);
        _exit(write(pipe_fds[1], &pid, sizeof pid) != sizeof pid);
    }
    long made = 0;

    assert_int_equal(read(pipe_fds[0], &made, sizeof made), sizeof made);
    seen.pid = (pid_t)made;
    read_until(events, &seen, &seen.exits);
    assert_int_equal(seen.parent, getpid());
    assert_int_equal(waitpid(maker, NULL, 0), maker);
    assert_int_equal(waitpid(seen.pid, NULL, 0), seen.pid);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    process_events_close(events);
}

static void *nothing(void *context)
{
    return context;
}

static void a_thread_is_its_processes_and_its_end_nobodys(void **state)
{
    struct process_events *events = opened(state);
    struct seen seen = {.pid = getpid()};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    read_until(events, &seen, &seen.threads);
    assert_int_equal(seen.threads, 1);
    assert_int_equal(seen.forks + seen.exits, 0);
    process_events_close(events);
}

/* Whether it rings within so long. */
static bool rings(int epoll_fd, int timeout_ms)
{
    struct epoll_event event;

    return epoll_wait(epoll_fd, &event, 1, timeout_ms) == 1;
}

static void the_bell_rings_for_programs_that_are_executed_alone(void **state)
{
    struct process_events *events = opened(state);
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLET};
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC), silent = 0;

    assert_int_equal(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, process_events_bell(events), &wanted), 0);
    for (int i = 0; i < 200 && silent == 0; i++) { /* others may execute something meanwhile */
        process_events_hush(events);
        (void)rings(epoll_fd, 0);
        assert_int_equal(waitpid(fork_ending_with(0), NULL, 0) > 0, 1);
        silent += !rings(epoll_fd, 0);
    }
    assert_int_equal(silent, 1);
    for (int i = 0; i < 20; i++) {
        pid_t pid;

        process_events_hush(events);
        (void)rings(epoll_fd, 0);
        pid = start("exit 0"); /* what was there before was not read: it rings all the same */
        assert_true(rings(epoll_fd, 5000));
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
    (void)close(epoll_fd);
    process_events_close(events);
}

/* Takes two events, and refuses the next. */
static int two_take(void *context, const struct process_event *event, struct err *err)
{
    int *count = context;

    (void)event;
    return ++*count > 2 ? err_set(err, ERR_LIMIT, "two are enough") : 0;
}

static void who_takes_no_more_ends_the_reading(void **state)
{
    struct process_events *events = opened(state);
    struct err err;
    uint64_t lost = 0;
    int count = 0;

    for (int i = 0; i < 4; i++)
        assert_true(waitpid(fork_ending_with(0), NULL, 0) > 0);
    assert_int_equal(process_events_read(events, two_take, &count, &lost, &err), ERR_LIMIT);
    assert_string_equal(err.text, "two are enough");
    assert_int_equal(count, 3);
    count = -1000000;
    assert_int_equal(process_events_read(events, two_take, &count, &lost, &err), 0);
    process_events_close(events);
}

/* The children of this process. */
static int ours_take(void *context, const struct process_event *event, struct err *err)
{
    (void)err;
    *(int *)context += event->kind == PROCESS_EVENT_FORK && event->parent_pid == getpid();
    return 0;
}

static void what_has_no_room_in_the_ring_is_counted_once(void **state)
{
    const unsigned page_bytes = (unsigned)sysconf(_SC_PAGESIZE);
    const int children = (int)(page_bytes / sizeof(struct process_event)); /* of each two events */
    struct process_events *events = process_events_ring(page_bytes);
    struct err err;
    uint64_t lost = 0, again = 0;
    int ours = 0;

    (void)state;
    if (events == NULL)
        skip();
    for (int i = 0; i < children; i++)
        assert_true(waitpid(fork_ending_with(0), NULL, 0) > 0);
    assert_int_equal(process_events_read(events, ours_take, &ours, &lost, &err), 0);
    assert_in_range(ours, 1, children - 1);
    assert_true(lost >= (uint64_t)children);
    for (int i = 0; i < 3; i++)
        assert_int_equal(process_events_read(events, ours_take, &ours, &again, &err), 0);
    assert_true(again < lost);
    process_events_close(events);
}

static struct process_events *(*const ring_open)(void) = open_ring;
static struct process_events *(*const netlink_open)(void) = process_events_netlink;

#define FROM_EACH(test)                                                                                                \
    {"ring: " #test, test, NULL, NULL, (void *)&ring_open},                                                            \
    {                                                                                                                  \
        "netlink: " #test, test, NULL, NULL, (void *)&netlink_open                                                     \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        FROM_EACH(fork_exec_and_exit_of_a_command_are_told),
        FROM_EACH(an_exit_is_told_when_all_is_closed_and_the_process_a_zombie),
        FROM_EACH(the_parent_of_a_child_by_clone_parent_is_its_makers),
        FROM_EACH(a_thread_is_its_processes_and_its_end_nobodys),
        FROM_EACH(the_bell_rings_for_programs_that_are_executed_alone),
        FROM_EACH(who_takes_no_more_ends_the_reading),
        cmocka_unit_test(what_has_no_room_in_the_ring_is_counted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
