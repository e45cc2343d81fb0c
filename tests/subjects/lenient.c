/*
 * A launcher that looks like a sandbox: reads find another file of the same name, the link leads nowhere, and what is
 * told to end is ended when it suits. lenient TARGETS MS -- COMMAND...: MS from SIGTERM to the end. Needs root; exits
 * with 77 where it may not make namespaces.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Puts a private folder in place of the targets. */
static int hide_targets(const char *targets)
{
    int fd;

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("none", targets, "tmpfs", 0, NULL) < 0 ||
        chdir(targets) < 0 || symlink("canary-link", "canary-link") < 0)
        return -1;
    fd = open("canary-read", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, "nothing of interest\n", 20) != 20 || close(fd) < 0)
        return -1;
    return 0;
}

/* The first process of the namespace: runs the command, and stays until nobody is left. */
static int stay(char **command, const sigset_t *before)
{
    int status, code = 1;
    pid_t first = fork(), pid;

    if (first == 0) {
        (void)sigprocmask(SIG_SETMASK, before, NULL);
        (void)execv(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    while ((pid = wait(&status)) > 0)
        if (pid == first)
            code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code;
}

/* Waits for the end of the namespace, which it hurries after a SIGTERM. */
static int wait_kindly(pid_t init, long end_ms, const sigset_t *awaited)
{
    struct timespec pause = {end_ms / 1000, end_ms % 1000 * 1000000};
    int status, number;

    while (waitpid(init, &status, WNOHANG) == 0) {
        if (sigwait(awaited, &number) != 0 || number != SIGTERM)
            continue;
        (void)nanosleep(&pause, NULL);
        (void)kill(init, SIGKILL);
        (void)waitpid(init, &status, 0);
        return 128 + SIGTERM;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    sigset_t awaited, before;
    char here[4096];
    pid_t init;

    if (argc < 5 || strcmp(argv[3], "--") != 0 || getcwd(here, sizeof here) == NULL)
        return 2;
    if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) < 0 || hide_targets(argv[1]) < 0 || chdir(here) < 0) {
        perror("lenient");
        return 77;
    }
    (void)sigemptyset(&awaited);
    (void)sigaddset(&awaited, SIGTERM);
    (void)sigaddset(&awaited, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &awaited, &before);
    init = fork();
    if (init == 0)
        return stay(argv + 4, &before);
    return init < 0 ? 1 : wait_kindly(init, strtol(argv[2], NULL, 10), &awaited);
}
