/*
 * A process that confined itself can open what is named, and in the end read what is open and print, and nothing else.
 * Tried in a child of its own each time.
 */
#include "replay/confine_self.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/two_files.h"

static int file_fd;

/* Each returns whether the call was refused. */
static bool open_is_refused(void)
{
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && (errno == EPERM || errno == EACCES);
}

static bool create_is_refused(void)
{
    return open("/tmp/exhibit-confined", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 && errno == EPERM;
}

static bool write_elsewhere_is_refused(void)
{
    return write(file_fd, "x", 1) < 0 && errno == EPERM;
}

static bool socket_is_refused(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 && errno == EPERM;
}

static bool fork_is_refused(void)
{
    return fork() < 0 && errno == EPERM;
}

static bool exec_is_refused(void)
{
    char *const argv[] = {(char *)"true", NULL};

    return execve("/bin/true", argv, NULL) < 0 && errno == EPERM;
}

static bool ptrace_is_refused(void)
{
    return syscall(SYS_ptrace, 0, 0, 0, 0) < 0 && errno == EPERM;
}

static bool kill_is_refused(void)
{
    return kill(getppid(), 0) < 0 && errno == EPERM;
}

static bool code_is_refused(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EPERM;
}

/* What is needed goes on. */
static bool reading_goes_on(void)
{
    char byte;
    struct stat state;
    void *memory = malloc(32 << 20);
    bool done = pread(file_fd, &byte, 1, 0) == 1 && fstat(file_fd, &state) == 0 && memory != NULL &&
                write(STDERR_FILENO, "", 0) == 0;

    free(memory);
    return done;
}

/* Whether a child ended with 0. */
static bool child_is_content(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Whether `check` holds in a child that confined itself in all steps, even if what it tries to open was named. */
static bool holds_confined(bool (*check)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        char *const named[] = {(char *)"/etc/passwd"};
        struct confinement done;
        int fd;

        confine_files(named, 1, &done);
        confine_calls(&done);
        fd = open(named[0], O_RDONLY | O_CLOEXEC);
        confine_opening(&done);
        _exit(!(fd >= 0 && done.seccomp && check()));
    }
    return child_is_content(pid);
}

static void a_confined_process_can_do_nothing_but_read_and_print(void **state)
{
    char name[] = "/tmp/exhibit-replay.XXXXXX";

    (void)state;
    if (EXHIBIT_SANITIZED)
        skip();
    file_fd = mkstemp(name);
    assert_true(file_fd >= 0);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(write(file_fd, "x", 1), 1);
    assert_true(holds_confined(reading_goes_on));
    assert_true(holds_confined(open_is_refused));
    assert_true(holds_confined(create_is_refused));
    assert_true(holds_confined(write_elsewhere_is_refused));
    assert_true(holds_confined(socket_is_refused));
    assert_true(holds_confined(fork_is_refused));
    assert_true(holds_confined(exec_is_refused));
    assert_true(holds_confined(ptrace_is_refused));
    assert_true(holds_confined(kill_is_refused));
    assert_true(holds_confined(code_is_refused));
    assert_int_equal(close(file_fd), 0);
}

static char named_folder[] = "/tmp/exhibit-replay.XXXXXX";
static char named_file[64];

static bool what_is_named_opens_for_reading(void)
{
    int fd = open(named_file, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && close(fd) == 0;
}

static bool writing_is_refused(void)
{
    static const int forms[] = {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT, O_RDONLY | O_APPEND};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (open(named_file, forms[i] | O_CLOEXEC, 0600) >= 0 || errno != EPERM)
            return false;
    return open(named_folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600) < 0 && errno == EPERM;
}

static void *do_nothing(void *context)
{
    return context;
}

static bool thread_is_refused(void)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, do_nothing, NULL) != 0;
}

/* A thread that was started before the second step, and tries something after it. */
struct trying {
    pthread_barrier_t started, confined;
    bool (*check)(void);
    bool holds;
};

static void *try_confined(void *context)
{
    struct trying *trying = context;

    (void)pthread_barrier_wait(&trying->started);
    (void)pthread_barrier_wait(&trying->confined);
    trying->holds = trying->check();
    return NULL;
}

/* Whether `check` holds in each thread of a child that confined itself in two steps. */
static bool holds_in_threads(bool (*check)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct trying trying = {.check = check};
        char *const paths[] = {named_folder, (char *)"/no/such/path"};
        struct confinement done;
        pthread_t thread;
        bool holds;

        if (pthread_barrier_init(&trying.started, NULL, 2) != 0 || pthread_barrier_init(&trying.confined, NULL, 2) != 0)
            _exit(2);
        confine_files(paths, 2, &done);
        if (pthread_create(&thread, NULL, try_confined, &trying) != 0)
            _exit(3);
        (void)pthread_barrier_wait(&trying.started);
        confine_calls(&done);
        (void)pthread_barrier_wait(&trying.confined);
        holds = pthread_join(thread, NULL) == 0 && trying.holds && check();
        _exit(!(done.seccomp && holds));
    }
    return child_is_content(pid);
}

static void threads_can_open_what_is_named_and_do_no_more_than_that(void **state)
{
    int fd;

    (void)state;
    if (EXHIBIT_SANITIZED)
        skip();
    assert_non_null(mkdtemp(named_folder));
    (void)snprintf(named_file, sizeof named_file, "%s/a.exhibit", named_folder);
    fd = open(named_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    file_fd = fd;
    assert_int_equal(write(fd, "x", 1), 1);
    assert_true(holds_in_threads(what_is_named_opens_for_reading));
    assert_true(holds_in_threads(writing_is_refused));
    assert_true(holds_in_threads(thread_is_refused));
    assert_true(holds_in_threads(reading_goes_on));
    assert_true(holds_in_threads(open_is_refused));
    assert_true(holds_in_threads(create_is_refused));
    assert_true(holds_in_threads(write_elsewhere_is_refused));
    assert_true(holds_in_threads(socket_is_refused));
    assert_true(holds_in_threads(fork_is_refused));
    assert_true(holds_in_threads(exec_is_refused));
    assert_true(holds_in_threads(ptrace_is_refused));
    assert_true(holds_in_threads(kill_is_refused));
    assert_true(holds_in_threads(code_is_refused));
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(named_file), 0);
    assert_int_equal(rmdir(named_folder), 0);
}

/* What a path leads to can be another file when it is opened: here, as the folder is another one by then. */
static bool opens_where(const char *here)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        char *const named[] = {(char *)"file"};
        struct confinement done;

        confine_files(named, 1, &done);
        if (chdir(here) < 0)
            _exit(2);
        confine_calls(&done);
        _exit(!(open(named[0], O_RDONLY | O_CLOEXEC) >= 0 || !done.landlock || errno != EACCES));
    }
    return child_is_content(pid);
}

static void another_file_in_the_place_of_the_named_one_is_refused(void **state)
{
    static char place[] = "/tmp/exhibit-replay.XXXXXX";

    (void)state;
    if (EXHIBIT_SANITIZED)
        skip();
    two_files_make(place);
    assert_true(opens_where("."));
    assert_false(opens_where("other"));
    two_files_remove(place);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_can_open_what_is_named_and_do_no_more_than_that),
        cmocka_unit_test(a_confined_process_can_do_nothing_but_read_and_print),
        cmocka_unit_test(another_file_in_the_place_of_the_named_one_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
