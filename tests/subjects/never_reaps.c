/*
 * usage: never_reaps COMMAND...
 * A launcher that adopts every orphan and waits for none: what ends below it stays a zombie. TERM makes it end all of
 * them, and stay for three seconds more. Without TERM it ends when the command has, with its status.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void tell(int number)
{
    told = number;
}

/* Ends all children, zombies too (which changes nothing); orphans of theirs come to us. */
static void children_kill(void)
{
    char path[64], list[65536], *at = list;
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY);
    got = read(fd, list, sizeof list - 1);
    (void)close(fd);
    list[got > 0 ? got : 0] = 0;
    for (char *word; (word = strsep(&at, " ")) != NULL;)
        if (*word != 0)
            (void)kill(atoi(word), SIGKILL);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = tell};
    siginfo_t info = {0};
    pid_t command;

    if (argc < 2 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || sigaction(SIGTERM, &action, NULL) < 0)
        return 98;
    command = fork();
    if (command == 0) {
        (void)execv(argv[1], argv + 1);
        _exit(96);
    }
    while (told == 0 && info.si_pid == 0 && waitid(P_PID, (id_t)command, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        (void)usleep(10000);
    if (told == 0)
        return info.si_code == CLD_EXITED ? info.si_status : 97;
    for (int i = 0; i < 30; i++) {
        children_kill();
        (void)usleep(10000);
    }
    (void)sleep(3);
    return 0;
}
