/*
 * Looks again at the networks of processes that have one of their own: an uplink may come when the process runs
 * already. Knows members; writes nothing down.
 */
#pragma once

#include "proto/exhibit.pb-c.h"
#include "record/members.h"

struct networks {
    uint64_t own;          /* the recorder's network namespace; 0: unknown */
    uint64_t looked_at_ns; /* when a look began last */
    size_t next;           /* the place in the members where the next one begins */
    uint64_t came;         /* the network namespace to which a route came just now; 0: none */
};

/* Keeps what network a member was seen in, as its identity tells it. */
void networks_keep(struct member *member, const Exhibit__ProcessIdentity *identity);

/*
 * A route that came to the identity's network just now may be gone again, and was there: it has one beyond the
 * loopback.
 */
void networks_raise(const struct networks *networks, Exhibit__ProcessIdentity *identity);

/* Whether the network of a member can be read, and is not the one that was kept. */
bool networks_has_changed(const struct member *member);

/*
 * A member whose network is another than the one that was kept: another namespace, or another number of routes. 0: none
 * of those that were looked at. Looks at few, and seldom, so that a crowd of processes costs nothing.
 */
pid_t networks_changed(struct networks *networks, const struct members *members);
