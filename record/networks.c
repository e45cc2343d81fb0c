#include "record/networks.h"

#include "record/loop.h"
#include "record/proc.h"

#define LOOK_EACH_NS 50000000ull
#define LOOK_COUNT 16 /* processes at once */

void networks_keep(struct member *member, const Exhibit__ProcessIdentity *identity)
{
    member->network_namespace = identity->network_namespace;
    member->routes = identity->routes_case == EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK
                         ? (int64_t)identity->routes_beyond_loopback
                         : -1;
}

void networks_raise(const struct networks *networks, Exhibit__ProcessIdentity *identity)
{
    if (networks->came == 0 || identity->network_namespace != networks->came || identity->routes_beyond_loopback > 0)
        return;
    identity->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK;
    identity->routes_beyond_loopback = 1;
}

bool networks_has_changed(const struct member *member)
{
    Exhibit__ProcessIdentity now = EXHIBIT__PROCESS_IDENTITY__INIT;
    struct member seen = {0};

    proc_network_read(member->pid, &now);
    networks_keep(&seen, &now);
    return seen.network_namespace != 0 && seen.routes >= 0 &&
           (seen.network_namespace != member->network_namespace || seen.routes != member->routes);
}

pid_t networks_changed(struct networks *networks, const struct members *members)
{
    uint64_t now_ns = clock_now_ns();

    if (now_ns - networks->looked_at_ns < LOOK_EACH_NS)
        return 0;
    networks->looked_at_ns = now_ns;
    for (size_t i = 0, looks = 0; i < members->count && looks < LOOK_COUNT; i++) {
        const struct member *member = &members->items[networks->next++ % members->count];

        if (member->network_namespace == 0 || member->network_namespace == networks->own)
            continue;
        looks++;
        if (networks_has_changed(member))
            return member->pid;
    }
    return 0;
}
