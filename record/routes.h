/*
 * Hears of routes that come to another network namespace, however short they stay there: the kernel tells a socket that
 * was made in it. Knows no process but the one in whose namespace the socket is made.
 */
#pragma once

#include "record/loop.h"

#include <stdint.h>
#include <sys/types.h>

/* At a fixed place while it is open. Closed: fd -1. */
struct routes {
    struct loop *loop;
    uint64_t network; /* the inode of the namespace */
    struct loop_source source;
    int (*came)(void *context, uint64_t network, struct err *err); /* a route beyond the loopback came to it */
    void *context;
};

/*
 * Listens in the network namespace of a process, if that is still `network`. Where that is not permitted (only root
 * may) it stays closed. ERR_SYSTEM: the recorder could not go back into its own namespace, or the loop's failure.
 */
int routes_open(struct routes *routes, struct loop *loop, pid_t pid, uint64_t network,
                int (*came)(void *context, uint64_t network, struct err *err), void *context, struct err *err);

/* Closes it; harmless where it is closed. */
void routes_close(struct routes *routes);
