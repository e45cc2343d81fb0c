/*
 * A ring of slots: path i has slot i modulo its size, and is begun only when the one before in that slot was taken.
 */
#include "replay/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { SLOTS_FOR_EACH = 8 };

struct slot {
    bool done;
    struct outline outline;
};

struct pool {
    struct pool_request request;
    const struct oracle *oracle;
    pthread_mutex_t mutex;
    pthread_cond_t may_begin, was_done;
    bool working, stopped;
    unsigned ready; /* threads that run */
    size_t begun, taken;
    struct slot *slots;
    size_t slot_count;
    pthread_t *threads;
    unsigned thread_count;
};

/* Gets the next path to be replayed. False: there will be none. With the mutex held. */
static bool next_begin(struct pool *pool, size_t *out_index)
{
    for (;;) {
        if (pool->stopped || pool->begun == pool->request.path_count)
            return false;
        if (pool->working && pool->begun < pool->taken + pool->slot_count)
            break;
        (void)pthread_cond_wait(&pool->may_begin, &pool->mutex);
    }
    *out_index = pool->begun++;
    return true;
}

static void *thread_run(void *context)
{
    struct pool *pool = context;
    size_t index;

    (void)pthread_mutex_lock(&pool->mutex);
    pool->ready++;
    (void)pthread_cond_signal(&pool->was_done);
    while (next_begin(pool, &index)) {
        struct slot *slot = &pool->slots[index % pool->slot_count];

        (void)pthread_mutex_unlock(&pool->mutex);
        outline_make(pool->request.paths[index], pool->oracle, pool->request.with_recordings, &slot->outline);
        (void)pthread_mutex_lock(&pool->mutex);
        slot->done = true;
        (void)pthread_cond_signal(&pool->was_done);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static int init_clock(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    int code = pthread_condattr_init(&attributes);

    if (code != 0)
        return code;
    code = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (code == 0)
        code = pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return code;
}

int pool_start(const struct pool_request *request, struct pool **out, struct err *err)
{
    struct pool *pool = calloc(1, sizeof *pool);

    assert(request->jobs >= 1);
    if (pool == NULL)
        return err_set_errno(err, "memory for threads");
    pool->request = *request;
    pool->slot_count = (size_t)request->jobs * SLOTS_FOR_EACH;
    pool->slots = calloc(pool->slot_count, sizeof *pool->slots);
    pool->threads = calloc(request->jobs, sizeof *pool->threads);
    if (pthread_mutex_init(&pool->mutex, NULL) != 0 || pthread_cond_init(&pool->may_begin, NULL) != 0 ||
        init_clock(&pool->was_done) != 0)
        abort(); /* on Linux they need nothing that could be missing */
    while (pool->slots != NULL && pool->threads != NULL && pool->thread_count < request->jobs &&
           pthread_create(&pool->threads[pool->thread_count], NULL, thread_run, pool) == 0)
        pool->thread_count++;
    if (pool->thread_count == 0) {
        pool_stop(pool);
        return err_set(err, ERR_SYSTEM, "no thread can be started");
    }
    (void)pthread_mutex_lock(&pool->mutex);
    while (pool->ready < pool->thread_count) /* the C library still makes calls that a filter would refuse */
        (void)pthread_cond_wait(&pool->was_done, &pool->mutex);
    (void)pthread_mutex_unlock(&pool->mutex);
    *out = pool;
    return 0;
}

void pool_work(struct pool *pool, const struct oracle *oracle)
{
    (void)pthread_mutex_lock(&pool->mutex);
    assert(!pool->working);
    pool->oracle = oracle;
    pool->working = true;
    (void)pthread_cond_broadcast(&pool->may_begin);
    (void)pthread_mutex_unlock(&pool->mutex);
}

bool pool_take(struct pool *pool, unsigned wait_ms, struct outline *out)
{
    struct slot *slot = &pool->slots[pool->taken % pool->slot_count];
    struct timespec until;
    bool done;

    assert(pool->taken < pool->request.path_count);
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_mutex_lock(&pool->mutex);
    while (!slot->done && pthread_cond_timedwait(&pool->was_done, &pool->mutex, &until) == 0)
        continue;
    done = slot->done;
    if (done) {
        *out = slot->outline;
        *slot = (struct slot){0};
        pool->taken++;
        (void)pthread_cond_signal(&pool->may_begin);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return done;
}

void pool_stop(struct pool *pool)
{
    if (pool == NULL)
        return;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->stopped = true;
    (void)pthread_cond_broadcast(&pool->may_begin);
    (void)pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->thread_count; i++)
        (void)pthread_join(pool->threads[i], NULL);
    for (size_t i = 0; pool->slots != NULL && i < pool->slot_count; i++)
        outline_done(&pool->slots[i].outline);
    (void)pthread_cond_destroy(&pool->was_done);
    (void)pthread_cond_destroy(&pool->may_begin);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool->slots);
    free(pool);
}
