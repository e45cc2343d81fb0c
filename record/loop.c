#include "record/loop.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define READY_AT_ONCE 64

struct loop {
    int epoll_fd;
    struct epoll_event ready[READY_AT_ONCE];
    int ready_count;
    int (*first)(void *context, struct err *err);
    void *first_context;
};

struct loop *loop_new(void)
{
    struct loop *loop = calloc(1, sizeof *loop);

    if (loop == NULL)
        return NULL;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) {
        free(loop);
        return NULL;
    }
    return loop;
}

int loop_add(struct loop *loop, struct loop_source *source, uint32_t events, struct err *err)
{
    struct epoll_event wanted = {.events = events, .data.ptr = source};

    assert(source->ready != NULL);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &wanted) < 0)
        return err_set_errno(err, "watch descriptor %d", source->fd);
    return 0;
}

void loop_first(struct loop *loop, int (*first)(void *context, struct err *err), void *context)
{
    loop->first = first;
    loop->first_context = context;
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
    if (source->fd >= 0)
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
    for (int i = 0; i < loop->ready_count; i++)
        if (loop->ready[i].data.ptr == source)
            loop->ready[i].data.ptr = NULL;
}

/* Serves the ready sources of one urgency. */
static int serve(struct loop *loop, bool urgent, struct err *err)
{
    for (int i = 0; i < loop->ready_count; i++) {
        struct loop_source *source = loop->ready[i].data.ptr;

        if (source == NULL || source->urgent != urgent)
            continue;
        if (source->ready(source->context, loop->ready[i].events, err) < 0)
            return err->code;
    }
    return 0;
}

int loop_turn(struct loop *loop, int timeout_ms, struct err *err)
{
    int code = 0;

    loop->ready_count = epoll_wait(loop->epoll_fd, loop->ready, READY_AT_ONCE, timeout_ms);
    if (loop->ready_count < 0) {
        loop->ready_count = 0;
        return errno == EINTR ? 0 : err_set_errno(err, "wait for events");
    }
    if (loop->first != NULL)
        code = loop->first(loop->first_context, err);
    if (code == 0)
        code = serve(loop, true, err);
    if (code == 0)
        code = serve(loop, false, err);
    loop->ready_count = 0;
    return code;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    (void)close(loop->epoll_fd);
    free(loop);
}

uint64_t clock_now_ns(void)
{
    struct timespec now;
    int done = clock_gettime(CLOCK_MONOTONIC, &now);

    assert(done == 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t clock_wall_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}
