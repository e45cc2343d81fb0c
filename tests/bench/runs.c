/*
 * How long each run of a bundle took, by the events' own times: bench-runs BUNDLE. A line for each: name, mode,
 * milliseconds from its RunStart to the next run or the freeze after the last, milliseconds from spawned to its exit.
 */
#include "base/cleanup.h"
#include "formats/stream.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timing {
    char *name; /* NULL: no run is under way */
    const char *mode;
    uint64_t started_ns, spawned_ns, exited_ns;
};

static double ms(uint64_t from_ns, uint64_t to_ns)
{
    return (double)(to_ns - from_ns) / 1e6;
}

static void run_print(struct timing *timing, uint64_t end_ns)
{
    if (timing->name == NULL)
        return;
    (void)printf("%s %s %.3f %.3f\n", timing->name, timing->mode, ms(timing->started_ns, end_ns),
                 ms(timing->spawned_ns, timing->exited_ns));
    free(timing->name);
    timing->name = NULL;
}

static int event_take(void *context, const Exhibit__Event *event, struct err *err)
{
    struct timing *timing = context;

    (void)err;
    if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START) {
        run_print(timing, event->at_ns);
        *timing = (struct timing){.name = strdup(event->run_start->name), .started_ns = event->at_ns};
        timing->mode = event->run_start->mode == EXHIBIT__MODE__MODE_STRICT ? "strict" : "baseline";
    } else if (event->what_case == EXHIBIT__EVENT__WHAT_SPAWNED) {
        timing->spawned_ns = event->at_ns;
    } else if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_EXIT) {
        timing->exited_ns = event->at_ns;
    } else if (event->run == 0 &&
               (event->what_case == EXHIBIT__EVENT__WHAT_FREEZE || event->what_case == EXHIBIT__EVENT__WHAT_PHASE)) {
        run_print(timing, event->at_ns);
    }
    return 0;
}

int main(int argc, char *argv[])
{
    AUTO_FD int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    struct timing timing = {0};
    struct pack *pack = NULL;
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    struct err err = {0};
    int code = fd < 0 ? err_set(&err, ERR_USAGE, "usage: bench-runs BUNDLE") : pack_open_observations(fd, &pack, &err);

    if (code == 0)
        code = receipt_read(pack, &arena, &receipt, &err);
    if (code == 0)
        code = events_read(pack, receipt->events, event_take, &timing, &err);
    pack_close(pack);
    free(timing.name);
    if (code < 0)
        (void)fprintf(stderr, "bench-runs: %s\n", err.text);
    return code < 0;
}
