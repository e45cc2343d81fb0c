/*
 * The verifier's own confinement, tried from within: a child enters it and tells by its exit status what went wrong.
 */
#include "verify/confine_self.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/two_files.h"

/* Runs `tries` in a confined child; gives the number of the first that was not as it should be, 0: none. */
static int confined(int (*tries)(void), const char *named)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        char warning[256];

        verify_confine_self(&named, named != NULL, warning, sizeof warning);
        _exit(warning[0] != '\0' ? 99 : tries());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int try_to_get_out(void)
{
    static char program[] = "/bin/true";
    char *const argv[] = {program, NULL};

    if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
        return 1;
    if (open("/tmp/verify-confined", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 || errno != EPERM)
        return 2;
    if (open("/dev/null", O_RDWR | O_CLOEXEC) >= 0 || errno != EPERM)
        return 3;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM)
        return 4;
    if (fork() >= 0 || errno != EPERM)
        return 5;
    if (execv(argv[0], argv) == 0 || errno != EPERM)
        return 6;
    if (unlink("/tmp/verify-confined") == 0 || errno != EPERM)
        return 7;
    return 0;
}

static void *answer(void *context)
{
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES ? NULL : context;
}

/* A thread can be started, and is confined like whoever starts it; a process cannot, by any call or flags. */
static int try_threads(void)
{
    struct {
        uint64_t flags, unused[10];
    } threadless = {0};
    pthread_t thread;
    void *said = NULL;

    if (pthread_create(&thread, NULL, answer, &said) != 0)
        return 1;
    if (pthread_join(thread, &said) != 0 || said == NULL)
        return 2;
    if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) >= 0 || errno != EPERM)
        return 3;
    if (syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL) >= 0 || errno != EPERM)
        return 4;
    return syscall(SYS_clone3, &threadless, sizeof threadless) >= 0 || errno != ENOSYS ? 5 : 0;
}

static int try_to_read_archives_names(void)
{
    return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) == (locale_t)0;
}

static int try_the_source(void)
{
    if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0)
        return 1;
    if (open("/proc/self/maps", O_RDONLY | O_CLOEXEC) >= 0)
        return 2;
    return open("/etc/passwd", O_WRONLY | O_CLOEXEC) >= 0 ? 3 : 0;
}

/* What the path of the bundle leads to may be another file when it is opened: here, as the folder is another one. */
static int try_what_is_named(void)
{
    if (open("file", O_RDONLY | O_CLOEXEC) < 0)
        return 1;
    if (open("file", O_RDWR | O_CLOEXEC) >= 0 || errno != EPERM)
        return 2;
    if (open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || errno != EACCES)
        return 3;
    if (chdir("other") < 0)
        return 4;
    return open("file", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES ? 5 : 0;
}

static void nothing_can_be_opened_started_or_reached(void **state)
{
    (void)state;
    if (EXHIBIT_SANITIZED)
        skip();
    assert_int_equal(confined(try_to_get_out, NULL), 0);
}

static void threads_can_be_started_and_processes_cannot(void **state)
{
    (void)state;
    if (EXHIBIT_SANITIZED)
        skip();
    assert_int_equal(confined(try_threads, NULL), 0);
}

static void the_locale_of_archive_names_stays_at_hand(void **state)
{
    (void)state;
    assert_int_equal(confined(try_to_read_archives_names, NULL), 0);
}

static void the_source_can_be_read_and_nothing_else(void **state)
{
    (void)state;
    if (EXHIBIT_SANITIZED)
        skip();
    assert_int_equal(confined(try_the_source, "/etc"), 0);
}

static void the_named_file_can_be_read_and_no_other_in_its_place(void **state)
{
    static char place[] = "/tmp/exhibit-verify.XXXXXX";

    (void)state;
    if (EXHIBIT_SANITIZED)
        skip();
    two_files_make(place);
    assert_int_equal(confined(try_what_is_named, "file"), 0);
    two_files_remove(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_can_be_opened_started_or_reached),
        cmocka_unit_test(threads_can_be_started_and_processes_cannot),
        cmocka_unit_test(the_locale_of_archive_names_stays_at_hand),
        cmocka_unit_test(the_source_can_be_read_and_nothing_else),
        cmocka_unit_test(the_named_file_can_be_read_and_no_other_in_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
