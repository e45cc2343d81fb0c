/*
 * The order of a call over many: find, confine, start, confine once more, then read what is hostile.
 */
#include "replay/many.h"

#include "replay/candidates.h"
#include "replay/confine_self.h"
#include "replay/exits.h"
#include "replay/find.h"
#include "replay/many_print.h"
#include "replay/own_oracle.h"
#include "replay/pool.h"
#include "replay/progress.h"
#include "replay/say.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct many {
    const struct args *args;
    struct pool *pool;
    struct summary summary;
    struct candidates table;
    struct progress progress;
    int worst; /* exit code so far */
};

bool many_are_asked(const struct args *args)
{
    struct stat state;

    return args->path_count > 1 || args->table != ARGS_TABLE_NONE ||
           (args->path_count == 1 && stat(args->paths[0], &state) == 0 && S_ISDIR(state.st_mode));
}

/* As many threads as there are cores for this process, but no more than pay: each has a bundle's tables in memory. */
static unsigned jobs_by_cores(void)
{
    enum { MOST = 16 };
    cpu_set_t cores;
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;

    return count > MOST ? MOST : (unsigned)count;
}

/* Of two exit codes the one that comes first. */
static int worse(int a, int b)
{
    static const int order[] = {EXIT_COULD_NOT, EXIT_FALSE, EXIT_REQUIRED, EXIT_INCOMPLETE, EXIT_DERIVED};

    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (order[i] == a || order[i] == b)
            return order[i];
    assert(!"an exit code has its place");
    return EXIT_COULD_NOT;
}

static int exit_of(const struct outline *outline, bool require_go)
{
    if (outline->err.code != ERR_OK)
        return outline->err.code == ERR_SYSTEM ? EXIT_COULD_NOT : EXIT_FALSE;
    if (outline->differing > 0)
        return EXIT_FALSE;
    if (require_go && (outline->prospective || outline->derived != DECISION_GO))
        return EXIT_REQUIRED;
    return outline->derived == DECISION_INCOMPLETE ? EXIT_INCOMPLETE : EXIT_DERIVED;
}

/* Tells of one bundle, or adds it to the table. False: that could not be done. */
static bool many_tell(struct many *many, struct outline *outline)
{
    bool with_table = many->args->table != ARGS_TABLE_NONE;
    struct err err = {0};

    summary_add(&many->summary, outline);
    many->worst = worse(many->worst, exit_of(outline, many->args->require_go));
    if (outline->err.code != ERR_OK || (with_table && outline->differing > 0)) {
        progress_clear(&many->progress);
        replay_say(outline->path,
                   outline->err.code != ERR_OK ? outline->err.text : "the claim differs from the recorded one");
    }
    if (!with_table) {
        if (many->progress.on)
            progress_clear(&many->progress);
        return outline_print(outline, many->args->json, stdout);
    }
    if (outline->err.code != ERR_OK || candidates_add(&many->table, outline, &err) == 0)
        return true;
    replay_say(NULL, err.text);
    return false;
}

static bool many_print_end(const struct many *many)
{
    switch (many->args->table) {
    case ARGS_TABLE_TEXT:
        return candidates_print_text(&many->table, stdout);
    case ARGS_TABLE_MARKDOWN:
        return candidates_print_markdown(&many->table, stdout);
    case ARGS_TABLE_JSON:
        return candidates_print_json(&many->table, stdout);
    default:
        return summary_print(&many->summary, many->args->json, stdout);
    }
}

/* Takes one outline after the other, in order. Returns the exit code. */
static int many_collect(struct many *many, size_t count)
{
    enum { WAIT_MS = 100 };
    bool done = true;

    for (size_t i = 0; i < count && done;) {
        struct outline outline;

        if (pool_take(many->pool, WAIT_MS, &outline)) {
            done = many_tell(many, &outline);
            outline_done(&outline);
            i++;
        }
        progress_draw(&many->progress, i);
    }
    progress_clear(&many->progress);
    if (!done || !many_print_end(many) || fflush(stdout) != 0) {
        replay_say(NULL, "not all could be written to standard output");
        return EXIT_COULD_NOT;
    }
    return many->worst;
}

/* Warns where the kernel does not offer what confines. */
static void many_warn(const struct confinement *done)
{
    if (!EXHIBIT_SANITIZED && !done->seccomp)
        replay_say(NULL, "warning: the system call filter could not be set; the replay is not fully confined");
    if (!EXHIBIT_SANITIZED && !done->landlock)
        replay_say(NULL, "warning: this kernel has no Landlock; the replay is not fully confined");
}

/*
 * Replays what was found, under the oracle of these bytes if there is one. The process is confined by now, but for the
 * system calls.
 */
static int many_run(const struct args *args, const struct bytes *text, const struct found *found,
                    struct confinement *done)
{
    struct many many = {.args = args, .progress = progress_start(found->count)};
    struct pool_request request = {.paths = found->paths,
                                   .path_count = found->count,
                                   .jobs = args->jobs > 0 ? args->jobs : jobs_by_cores(),
                                   .with_recordings = args->table != ARGS_TABLE_NONE};
    const struct oracle *oracle = NULL;
    struct oracle room = {0};
    struct err err = {0};
    int code = pool_start(&request, &many.pool, &err);

    if (code < 0) {
        replay_say(NULL, err.text);
        return EXIT_COULD_NOT;
    }
    confine_calls(done);
    many_warn(done);
    code = own_oracle_parse(args->oracle, text, &room, &oracle);
    if (code == 0) {
        pool_work(many.pool, oracle);
        code = many_collect(&many, found->count);
    }
    pool_stop(many.pool);
    oracle_done(&room);
    candidates_done(&many.table);
    return code;
}

int many_replay(const struct args *args)
{
    AUTO_BYTES struct bytes text = {0};
    struct confinement done;
    struct found found;
    struct err err = {0};
    int code = own_oracle_read(args->oracle, &text);

    if (code != 0)
        return code;
    confine_files(args->paths, args->path_count, &done);
    code = find_bundles(args->paths, args->path_count, &found, &err);
    if (code == 0)
        code = many_run(args, &text, &found, &done);
    else
        replay_say(NULL, err.text);
    found_done(&found);
    if (code >= 0)
        return code;
    return code == ERR_SYSTEM ? EXIT_COULD_NOT : EXIT_USAGE;
}
