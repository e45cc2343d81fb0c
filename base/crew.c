#include "base/crew.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

struct crew_member {
    struct crew *crew;
    unsigned number;
    pthread_t thread;
};

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t given;
    pthread_cond_t finished;
    struct crew_job *first, **last; /* the queue */
    bool closing;
    unsigned thread_count;
    struct crew_member members[];
};

/* How many cores this process may run on. */
static unsigned core_count(void)
{
    cpu_set_t cores;

    /* More cores than the set can tell: as many as anybody asks for. */
    return sched_getaffinity(0, sizeof cores, &cores) < 0 ? CPU_SETSIZE : (unsigned)CPU_COUNT(&cores);
}

/* Takes the next job, or NULL when there will be none. The lock is held. */
static struct crew_job *take_job(struct crew *crew)
{
    struct crew_job *job;

    while (crew->first == NULL && !crew->closing)
        (void)pthread_cond_wait(&crew->given, &crew->lock);
    job = crew->first;
    if (job != NULL) {
        crew->first = job->next;
        if (crew->first == NULL)
            crew->last = &crew->first;
    }
    return job;
}

static void *serve(void *context)
{
    const struct crew_member *member = context;
    struct crew *crew = member->crew;
    struct crew_job *job;

    (void)pthread_mutex_lock(&crew->lock);
    while ((job = take_job(crew)) != NULL) {
        (void)pthread_mutex_unlock(&crew->lock);
        job->work(job, member->number);
        (void)pthread_mutex_lock(&crew->lock);
        job->done = true;
        (void)pthread_cond_broadcast(&crew->finished);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Starts what can be started, with all signals blocked: they are for the thread that waits for them. */
static void start_threads(struct crew *crew, unsigned wanted)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (crew->thread_count < wanted) {
        struct crew_member *member = &crew->members[crew->thread_count];

        *member = (struct crew_member){.crew = crew, .number = crew->thread_count};
        if (pthread_create(&member->thread, NULL, serve, member) != 0)
            break;
        crew->thread_count++;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct crew *crew_new(unsigned most)
{
    unsigned cores = core_count(), wanted = cores < most ? cores : most;
    struct crew *crew = calloc(1, sizeof *crew + wanted * sizeof crew->members[0]);

    if (crew == NULL)
        return NULL;
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_cond_init(&crew->given, NULL);
    (void)pthread_cond_init(&crew->finished, NULL);
    crew->last = &crew->first;
    if (wanted > 1)
        start_threads(crew, wanted);
    return crew;
}

unsigned crew_size(const struct crew *crew)
{
    return crew->thread_count == 0 ? 1 : crew->thread_count;
}

void crew_give(struct crew *crew, struct crew_job *job)
{
    job->next = NULL;
    job->done = false;
    if (crew->thread_count == 0) {
        job->work(job, 0);
        job->done = true;
        return;
    }
    (void)pthread_mutex_lock(&crew->lock);
    *crew->last = job;
    crew->last = &job->next;
    (void)pthread_cond_signal(&crew->given);
    (void)pthread_mutex_unlock(&crew->lock);
}

bool crew_is_done(struct crew *crew, const struct crew_job *job)
{
    bool done;

    (void)pthread_mutex_lock(&crew->lock);
    done = job->done;
    (void)pthread_mutex_unlock(&crew->lock);
    return done;
}

void crew_wait(struct crew *crew, const struct crew_job *job)
{
    (void)pthread_mutex_lock(&crew->lock);
    while (!job->done)
        (void)pthread_cond_wait(&crew->finished, &crew->lock);
    (void)pthread_mutex_unlock(&crew->lock);
}

void crew_free(struct crew *crew)
{
    if (crew == NULL)
        return;
    (void)pthread_mutex_lock(&crew->lock);
    crew->closing = true;
    (void)pthread_cond_broadcast(&crew->given);
    (void)pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->thread_count; i++)
        (void)pthread_join(crew->members[i].thread, NULL);
    (void)pthread_cond_destroy(&crew->finished);
    (void)pthread_cond_destroy(&crew->given);
    (void)pthread_mutex_destroy(&crew->lock);
    free(crew);
}
