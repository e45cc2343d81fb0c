/*
 * A thread that is not the first executes a program, which then has the process's number.
 * Usage: successor PROGRAM ...
 */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void *succeed(void *context)
{
    char **words = context;

    (void)execv(words[0], words);
    _exit(127);
}

int main(int argc, char *argv[])
{
    pthread_t thread;

    (void)argc;
    if (pthread_create(&thread, NULL, succeed, argv + 1) != 0)
        return 1;
    for (;;)
        (void)pause();
}
