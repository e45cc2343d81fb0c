/*
 * How the child and the detached grandchild come to be.
 */
#include "record/probe/tree.h"

#include "record/probe/proof.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void tree_step_aside(char *verb, const char *word)
{
    assert(strlen(verb) == strlen(word));
    memcpy(verb, word, strlen(word));
}

static void say_failed(enum role role, const char *call)
{
    char line[256];
    int size_bytes = snprintf(line, sizeof line, "exhibit-probe: the %s could not be started: %s: %s\n",
                              role_name(role), call, strerror(errno));

    assert(size_bytes > 0 && (size_t)size_bytes < sizeof line);
    (void)!write(STDERR_FILENO, line, (size_t)size_bytes);
}

static _Noreturn void become(enum role role, char **argv)
{
    (void)execv(argv[0], argv);
    say_failed(role, "exec");
    _exit(127);
}

/* In a fork: leaves the session and the parent behind, then becomes the role. */
static _Noreturn void detach_and_become(enum role role, char **argv)
{
    pid_t pid;

    if (setsid() < 0) {
        say_failed(role, "setsid");
        _exit(127);
    }
    pid = fork();
    if (pid == 0)
        become(role, argv);
    if (pid < 0)
        say_failed(role, "fork");
    _exit(0);
}

void tree_start_next(const struct assignment *assignment, char **argv)
{
    static char run[] = "run";
    char nonce[NONCE_DIGITS + 1], name[16], *own_verb = argv[ARG_VERB];
    enum role next = assignment->role + 1;
    char **next_argv;
    size_t count = 0;
    pid_t pid;

    if (!assignment->tree || next == ROLE_COUNT)
        return;
    while (argv[count] != NULL)
        count++;
    next_argv = calloc(count + 1, sizeof *next_argv);
    if (next_argv == NULL) {
        say_failed(next, "calloc");
        return;
    }
    memcpy(next_argv, argv, count * sizeof *argv);
    nonce_derive(next, assignment->nonce, nonce);
    (void)snprintf(name, sizeof name, "%s", role_name(next));
    next_argv[ARG_VERB] = run;
    next_argv[ARG_ROLE] = name;
    next_argv[ARG_NONCE] = nonce;
    pid = fork();
    if (pid == 0) {
        tree_step_aside(own_verb, "via");
        if (next == ROLE_IS_CHILD)
            become(next, next_argv);
        detach_and_become(next, next_argv);
    }
    if (pid < 0)
        say_failed(next, "fork");
    else if (next == ROLE_IS_GRANDCHILD)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ; /* the one in between ends at once; the grandchild is nobody's */
    free(next_argv);
}
