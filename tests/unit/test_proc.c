/* Single looks into /proc: hostile names, identities, and who counts as gone. */
#include "formats/digest.h"
#include "record/proc.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct executables *executables;

static void stat_is_read_past_a_name_that_looks_like_fields(void **state)
{
    static const char text[] = "42 (a) Z 1 1 (b) S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 98765 1 2 3\n";
    struct proc_stat stat;

    (void)state;
    assert_true(proc_stat_parse(text, sizeof text - 1, &stat));
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.parent_pid, 7);
    assert_int_equal(stat.group, 8);
    assert_int_equal(stat.session, 9);
    assert_int_equal(stat.thread_count, 3);
    assert_int_equal(stat.start_time, 98765);
}

static void stat_that_is_cut_is_refused(void **state)
{
    static const char text[] = "42 (sh) S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 98765 1";
    struct proc_stat stat;

    (void)state;
    for (size_t size = 0; size < sizeof text - 9; size++)
        assert_false(proc_stat_parse(text, size, &stat));
    assert_true(proc_stat_parse(text, sizeof text - 1, &stat));
}

/* Starts a process that waits until it is killed. */
static pid_t sleeper_start(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    return pid;
}

static void a_zombie_and_another_start_time_are_gone(void **state)
{
    pid_t pid = sleeper_start();
    struct proc_stat stat;
    siginfo_t info;

    (void)state;
    assert_true(proc_stat_read(pid, &stat));
    assert_false(proc_is_gone(pid, stat.start_time));
    assert_true(proc_is_gone(pid, stat.start_time + 1));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(proc_stat_read(pid, &stat));
    assert_int_equal(stat.state, 'Z');
    assert_true(proc_is_gone(pid, stat.start_time));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(proc_is_gone(pid, stat.start_time));
}

static void the_age_of_a_process_is_never_told_to_be_more_than_it_is(void **state)
{
    struct proc_stat stat;
    struct timespec a_while = {.tv_nsec = 50000000};
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(proc_stat_read(child, &stat));
    assert_true(proc_age_ns(stat.start_time) < 40000000u);
    (void)nanosleep(&a_while, NULL);
    assert_in_range(proc_age_ns(stat.start_time), 40000000u, 10000000000u);
    assert_int_equal(proc_age_ns(UINT64_MAX / 1000000000u), 0);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

static void identity_tells_executable_argv_and_network(void **state)
{
    Exhibit__ProcessIdentity *identity = proc_identity_read(getpid(), executables);
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path);

    (void)state;
    assert_non_null(identity);
    assert_int_equal(identity->pid, getpid());
    assert_int_equal(identity->parent_pid, getppid());
    assert_int_equal(identity->executable.len, size);
    assert_memory_equal(identity->executable.data, path, (size_t)size);
    assert_int_equal(identity->executable_sha256.len, DIGEST_BYTES);
    assert_true(identity->n_argv >= 1);
    assert_int_equal(identity->n_namespace_pids, 1);
    assert_int_equal(identity->namespace_pids[0], getpid());
    assert_true(identity->network_namespace != 0);
    assert_int_equal(identity->routes_case, EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK);
    exhibit__process_identity__free_unpacked(identity, NULL);
}

/* Forks a process in a pid namespace of its own that ends with us. Returns it; 0: none is to be had. */
static pid_t namespaced_start(void)
{
    int told[2], held[2];
    pid_t pid = 0, starter;

    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(held), 0);
    starter = fork();
    if (starter == 0) {
        pid = unshare(CLONE_NEWPID) < 0 ? 0 : fork();
        if (pid == 0 && getpid() == 1) {
            (void)close(held[1]);
            (void)!read(held[0], &pid, sizeof pid);
            _exit(0);
        }
        _exit(write(told[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
    }
    assert_int_equal(waitpid(starter, NULL, 0), starter);
    assert_int_equal(read(told[0], &pid, sizeof pid), sizeof pid);
    (void)close(told[0]);
    (void)close(told[1]);
    (void)close(held[0]); /* the other end stays open as long as this process lives */
    return pid;
}

static void the_pids_in_other_namespaces_are_told_outermost_first(void **state)
{
    Exhibit__ProcessIdentity *identity;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    pid = namespaced_start();
    assert_true(pid > 0);
    identity = proc_identity_read(pid, executables);
    assert_non_null(identity);
    assert_int_equal(identity->n_namespace_pids, 2);
    assert_int_equal(identity->namespace_pids[0], pid);
    assert_int_equal(identity->namespace_pids[1], 1);
    exhibit__process_identity__free_unpacked(identity, NULL);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void identity_of_a_zombie_is_none(void **state)
{
    pid_t pid = sleeper_start();
    siginfo_t info;

    (void)state;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_null(proc_identity_read(pid, executables));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_null(proc_identity_read(pid, executables));
}

int main(void)
{
    int failed;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_is_read_past_a_name_that_looks_like_fields),
        cmocka_unit_test(stat_that_is_cut_is_refused),
        cmocka_unit_test(a_zombie_and_another_start_time_are_gone),
        cmocka_unit_test(the_age_of_a_process_is_never_told_to_be_more_than_it_is),
        cmocka_unit_test(identity_tells_executable_argv_and_network),
        cmocka_unit_test(the_pids_in_other_namespaces_are_told_outermost_first),
        cmocka_unit_test(identity_of_a_zombie_is_none),
    };

    executables = executables_new();
    failed = executables == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    executables_free(executables);
    return failed;
}
