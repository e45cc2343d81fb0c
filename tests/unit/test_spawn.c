/* Starting commands: what they inherit, and how a command that cannot be executed is told. */
#include "record/loop.h"
#include "record/spawn.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_gets_its_environment_alone_and_leads_its_group),
        cmocka_unit_test(a_command_inherits_no_descriptor_and_no_signal_setting),
        cmocka_unit_test(an_exec_that_fails_is_told_apart_from_an_exit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
