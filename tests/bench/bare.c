/*
 * How long a command takes that nobody records: bench-bare COUNT COMMAND... Runs it so often, one after the other, with
 * its output thrown away, and prints a line for each: milliseconds from just before it is spawned to its end.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char *argv[])
{
    int count = argc > 2 ? atoi(argv[1]) : 0, status = 0;
    posix_spawn_file_actions_t actions;

    if (count < 1 || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) != 0) {
        (void)fputs("usage: bench-bare COUNT COMMAND...\n", stderr);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        double started_ms = now_ms();
        pid_t pid;

        if (posix_spawn(&pid, argv[2], &actions, NULL, argv + 2, environ) != 0 || waitpid(pid, &status, 0) != pid ||
            status != 0) {
            (void)fprintf(stderr, "bench-bare: %s: did not end with 0\n", argv[2]);
            return 1;
        }
        (void)printf("%.3f\n", now_ms() - started_ms);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return 0;
}
