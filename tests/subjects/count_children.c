/*
 * Starts 200 children that end at once, one after the other; prints how many SIGCHLD came, the wait statuses, and the
 * signals that it found blocked or ignored.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    struct timespec limit = {.tv_sec = 5};
    sigset_t mask, before;
    int signals = 0;

    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &mask, &before);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;

        if (sigismember(&before, number) == 1)
            (void)printf("blocked %d\n", number);
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            (void)printf("ignored %d\n", number);
    }
    (void)fflush(stdout);
    for (int i = 0; i < 200; i++) {
        int status = -1;
        pid_t child = fork();

        if (child == 0 && i % 10 == 9)
            (void)raise(SIGKILL);
        if (child == 0)
            _exit(i);
        signals += child > 0 && sigtimedwait(&mask, NULL, &limit) == SIGCHLD;
        child = waitpid(-1, &status, 0) == child;
        (void)printf("%d %d\n", child, status);
    }
    (void)printf("signals %d, further children %d\n", signals, waitpid(-1, NULL, WNOHANG) >= 0);
    return 0;
}
