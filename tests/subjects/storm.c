/*
 * Starts the given number of processes as fast as it can; each ends at once with status 3. Prints how many it saw end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1, ended = 0, status;

    for (int i = 0; i < count; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(3);
        if (child < 0)
            i--; /* too many at once: those that ended are waited for */
        while (waitpid(-1, &status, child < 0 || i % 64 == 63 ? 0 : WNOHANG) > 0)
            ended++;
    }
    while (waitpid(-1, &status, 0) > 0)
        ended++;
    (void)printf("%d\n", ended);
    return 0;
}
