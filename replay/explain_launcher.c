/*
 * "launcher": what comes and goes in scratch where the command touches nothing, so that it is the launcher's own doing:
 * in its run alone, and in the strict runs of trials. Facts; no rule rests on what is told here.
 */
#include "replay/explain_build.h"

#include "base/sort.h"

#include <inttypes.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

enum { PATH_SHOWN = 200 };

static int path_shown(const ProtobufCBinaryData *path)
{
    return path->len < PATH_SHOWN ? (int)path->len : PATH_SHOWN;
}

/* By path as bytes, then by seq. */
static int compare_scratch(const void *left, const void *right)
{
    const Exhibit__Event *one = *(const Exhibit__Event *const *)left;
    const Exhibit__Event *other = *(const Exhibit__Event *const *)right;
    const ProtobufCBinaryData *a = &one->scratch_event->path, *b = &other->scratch_event->path;
    int compared = memcmp(a->data == NULL ? (const uint8_t *)"" : a->data,
                          b->data == NULL ? (const uint8_t *)"" : b->data, a->len < b->len ? a->len : b->len);

    if (compared != 0)
        return compared;
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return one->seq < other->seq ? -1 : one->seq > other->seq;
}

static bool same_path(const Exhibit__Event *one, const Exhibit__Event *other)
{
    const ProtobufCBinaryData *a = &one->scratch_event->path, *b = &other->scratch_event->path;

    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Tells of a path that was made, where it is gone at the end: the event that tells of its making, and the last one. */
static void tell_passing(struct explaining *explaining, const Exhibit__Event *const *events, size_t count)
{
    const Exhibit__ScratchEvent *last = events[count - 1]->scratch_event;
    const Exhibit__Event *made = NULL;
    uint32_t all = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t mask = events[i]->scratch_event->mask;

        all |= mask;
        if (made == NULL && (mask == 0 || (mask & (IN_CREATE | IN_MOVED_TO)) != 0))
            made = events[i];
    }
    if (made == NULL || (last->mask & (IN_DELETE | IN_MOVED_FROM)) == 0)
        return;
    explain_say(explaining, "made and removed by the launcher: %.*s%s", path_shown(&last->path),
                (const char *)last->path.data, (all & IN_ISDIR) != 0 ? "/" : "");
    explain_event(explaining, "it was made", made->seq);
    explain_event(explaining, "it was removed", events[count - 1]->seq);
}

static void tell_all_passing(struct explaining *explaining, const struct run *run)
{
    const struct tables *tables = &explaining->judged->facts->tables;
    struct span span = tables_of_run(tables, EXHIBIT__EVENT__WHAT_SCRATCH_EVENT, run->number);
    struct span lost = tables_of_run(tables, EXHIBIT__EVENT__WHAT_LOST, run->number);
    AUTO_TABLE const Exhibit__Event **sorted = NULL;
    size_t count = 0;

    for (size_t i = 0; i < span.count; i++)
        if (table_add(&sorted, &count, &span.events[i], sizeof span.events[i], explaining->err) < 0) {
            explain_no_memory(explaining);
            return;
        }
    sort_rows(sorted, count, sizeof *sorted, compare_scratch);
    for (size_t i = 0, same; i < span.count; i += same) {
        for (same = 1; i + same < span.count && same_path(sorted[i], sorted[i + same]);)
            same++;
        tell_passing(explaining, sorted + i, same);
    }
    if (lost.count == 0)
        return;
    explain_say(explaining, "more may have come and gone in scratch: events were lost");
    explain_event(explaining, "this tells so", lost.events[0]->seq);
}

static void tell_left(struct explaining *explaining, const struct run *run)
{
    struct span left = tables_of_run(&explaining->judged->facts->tables, EXHIBIT__EVENT__WHAT_ARTIFACT, run->number);

    for (size_t i = 0; i < left.count; i++) {
        const Exhibit__Artifact *artifact = left.events[i]->artifact;

        explain_say(explaining, "left by the launcher in %.64s: %.*s%s", run->start->name, path_shown(&artifact->path),
                    (const char *)artifact->path.data, S_ISDIR(artifact->mode) ? "/" : "");
        explain_event(explaining, "it was there afterwards", left.events[i]->seq);
    }
}

const struct run *explain_launcher_run(const struct tables *tables)
{
    return tables_run(tables, EXHIBIT__RUN_KIND__RUN_LAUNCHER, "launcher", EXHIBIT__MODE__MODE_STRICT, 1);
}

bool explain_launcher(struct explaining *explaining)
{
    const struct tables *tables = &explaining->judged->facts->tables;
    const struct run *run = explain_launcher_run(tables);

    if (run == NULL)
        return false;
    explain_say(explaining, "the launcher alone: its command touches nothing in scratch, so what does is the launcher");
    explain_event(explaining, "the start of the run", run->event->seq);
    explain_event(explaining, "the end of its process", run->exit == NULL ? 0 : run->exit->seq);
    tell_all_passing(explaining, run);
    tell_left(explaining, run);
    for (size_t i = 0; i < tables->run_count; i++)
        if (tables->runs[i]->start->kind == EXHIBIT__RUN_KIND__RUN_TRIAL &&
            tables->runs[i]->start->mode == EXHIBIT__MODE__MODE_STRICT)
            tell_left(explaining, tables->runs[i]);
    return true;
}
