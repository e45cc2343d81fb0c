/*
 * A process whose first thread ends at once, so that it looks like one that has ended, while another goes on for 300 s.
 */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void *go_on(void *context)
{
    (void)sleep(300);
    return context;
}

int main(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, go_on, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}
