/*
 * usage: strangers MARK COUNT COMMAND...
 * PID 1 of a namespace in which few numbers are left: keeps COUNT strangers alive, half of them with a child, of which
 * none lives long, while the command runs. Then tells how many there were, how often their numbers came round, and how
 * many of them were signalled; and ends as the command did.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGEST_PID "400" /* the kernel begins again at 300 */
#define SIGNALLED 99

static int started, rounds, signalled;
static pid_t last;

static bool was_signalled(int status)
{
    return WIFSIGNALED(status) || WEXITSTATUS(status) == SIGNALLED;
}

static _Noreturn void live(int number)
{
    pid_t child = number % 2 == 0 ? fork() : -1;
    int status = 0;

    (void)usleep(5000 + (unsigned)(number * 7919 % 50) * 1000);
    if (child > 0)
        (void)waitpid(child, &status, 0);
    _exit(was_signalled(status) ? SIGNALLED : 0);
}

static bool stranger_start(void)
{
    pid_t pid = fork();

    if (pid == 0)
        live(started);
    if (pid < 0)
        return false;
    started++;
    rounds += pid < last;
    last = pid;
    return true;
}

int main(int argc, char **argv)
{
    int fd = open("/proc/sys/kernel/pid_max", O_WRONLY), count = argc > 3 ? atoi(argv[2]) : 0, alive = 0, status;
    int ended = 0;
    pid_t command;

    if (count < 1 || getpid() != 1 || write(fd, LARGEST_PID, sizeof LARGEST_PID - 1) < 0)
        return 98;
    (void)close(fd);
    command = fork();
    if (command == 0) {
        (void)execv(argv[3], argv + 3);
        _exit(96);
    }
    for (bool over = false; !over || alive > 0;) {
        pid_t pid;

        while (!over && alive < count && stranger_start())
            alive++;
        pid = waitpid(-1, &status, 0);
        if (pid == command) {
            over = true;
            ended = status;
        } else if (pid > 0) {
            signalled += was_signalled(status);
            alive--;
        } else {
            break;
        }
    }
    (void)printf("strangers %d rounds %d signalled %d\n", started, rounds, signalled);
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : 97;
}
