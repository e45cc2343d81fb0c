/*
 * What the liar's lies are made of.
 */
#include "tests/subjects/liar.h"

#include "record/probe/assignment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Noreturn void broken(const char *what)
{
    (void)fprintf(stderr, "liar: %s: %s\n", what, strerror(errno));
    _exit(LIAR_BROKEN);
}

void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&time, &time) < 0 && errno == EINTR)
        ;
}

void put(int fd, const void *bytes, size_t size_bytes)
{
    for (const char *at = bytes; size_bytes > 0;) {
        ssize_t written = write(fd, at, size_bytes);

        if (written < 0)
            broken("write");
        at += written;
        size_bytes -= (size_t)written;
    }
}

void say(int fd, const char *fmt, ...)
{
    char text[4096];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put(fd, text, strlen(text));
}

const char *value(const struct task *task, const char *key)
{
    for (char **word = task->probe; *word != NULL; word++)
        if (strncmp(*word, key, strlen(key)) == 0 && (*word)[strlen(key)] == '=')
            return *word + strlen(key) + 1;
    broken(key);
}

long number(const struct task *task, const char *key)
{
    return strtol(value(task, key), NULL, 10);
}

void say_row(int fd, const char *nonce, const char *role, int round, int denial)
{
    say(fd, "EXHIBIT1 row %s %s %d read=errno:%d read-link=errno:%d write=errno:%d tcp=errno:%d udp=errno:%d\n", nonce,
        role, round, denial, denial, denial, denial, denial);
}

_Noreturn void become(char **argv)
{
    (void)execv(argv[0], argv);
    broken(argv[0]);
}

pid_t start(char **argv)
{
    pid_t pid = fork();

    if (pid < 0)
        broken("fork");
    if (pid == 0)
        become(argv);
    return pid;
}

int await(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            broken("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool aside(void)
{
    pid_t pid = fork();

    if (pid < 0)
        broken("fork");
    if (pid == 0 && setsid() < 0)
        broken("setsid");
    return pid == 0;
}

const char *copy_path(const struct task *task)
{
    static char path[4096];

    (void)snprintf(path, sizeof path, "%s/exhibit-probe-parent.lines", value(task, "scratch"));
    return path;
}
