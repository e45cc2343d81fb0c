#include "verify/surroundings.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "base/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define TOLD_BYTES (2u << 20) /* of what the launcher's run said */
#define TOLD_VARIABLES 16384  /* what comes behind is passed over */
#define NAME_BYTES 256        /* shown of a name */

/* It must not steer a terminal, and fit into JSON. */
static void surroundings_make_plain(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

static int surroundings_add(struct surroundings_list *list, const char *before, const void *name, size_t name_bytes,
                            struct err *err)
{
    char *text = NULL;

    if (list->count++ >= SURROUNDINGS_KEPT)
        return 0;
    if (asprintf(&text, "%s%.*s", before, (int)(name_bytes < NAME_BYTES ? name_bytes : NAME_BYTES),
                 (const char *)name) < 0)
        return err_set_errno(err, "memory for a name");
    surroundings_make_plain(text);
    list->names[list->count - 1] = text;
    return 0;
}

/* The variable of this name (name_bytes of `item`) among those given; NULL: none. */
static const ProtobufCBinaryData *surroundings_given(const Exhibit__RunStart *start, const char *item,
                                                     size_t name_bytes)
{
    for (size_t i = 0; i < start->n_environment; i++) {
        const ProtobufCBinaryData *given = &start->environment[i];

        if (given->len > name_bytes && memcmp(given->data, item, name_bytes) == 0 && given->data[name_bytes] == '=')
            return given;
    }
    return NULL;
}

/* One variable as the command found it. Marks the given one as found. */
static int surroundings_variable(struct surroundings *out, const Exhibit__RunStart *start, const char *item,
                                 bool *found, struct err *err)
{
    size_t name_bytes = strcspn(item, "="), size_bytes = strlen(item);
    const ProtobufCBinaryData *given = surroundings_given(start, item, name_bytes);

    if (given == NULL)
        return surroundings_add(&out->set, "", item, name_bytes, err);
    found[given - start->environment] = true;
    if (given->len == size_bytes && memcmp(given->data, item, size_bytes) == 0)
        return 0;
    return surroundings_add(&out->changed, "", item, name_bytes, err);
}

/* Reads what `exhibit-probe surroundings` said. `text` ends in NUL behind its size_bytes. */
static int surroundings_parse(struct surroundings *out, const Exhibit__RunStart *start, const struct bytes *told,
                              struct err *err)
{
    static const char first[] = "EXHIBIT1 surroundings\n";
    AUTO_FREE bool *found = calloc(start->n_environment + 1, sizeof *found);
    const char *text = (const char *)told->data, *mark, *end = text + told->size_bytes;

    if (found == NULL)
        return err_set_errno(err, "memory for variables");
    mark = text == NULL ? NULL : memmem(text, told->size_bytes, first, sizeof first - 1);
    if (mark == NULL)
        return 0;
    out->told = true;
    mark += sizeof first - 1;
    if (strlen(mark) != start->cwd.len || memcmp(mark, start->cwd.data, start->cwd.len) != 0) {
        out->folder = strdup(mark);
        if (out->folder == NULL)
            return err_set_errno(err, "memory for a path");
        surroundings_make_plain(out->folder);
    }
    mark += strlen(mark) + 1;
    for (size_t i = 0; mark < end && i < TOLD_VARIABLES; mark += strlen(mark) + 1, i++)
        if (surroundings_variable(out, start, mark, found, err) < 0)
            return err->code;
    for (size_t i = 0; i < start->n_environment; i++) {
        const ProtobufCBinaryData *given = &start->environment[i];
        const uint8_t *equals = given->len == 0 ? NULL : memchr(given->data, '=', given->len);

        if (!found[i] && equals != NULL &&
            surroundings_add(&out->removed, "", given->data, (size_t)(equals - given->data), err) < 0)
            return err->code;
    }
    return 0;
}

/* Recordings of older versions ran a command that tells nothing. */
static bool surroundings_asked(const struct ledger_run *run)
{
    static const char word[] = "surroundings";
    const Exhibit__RunStart *start = ledger_told(run);

    return start->kind == EXHIBIT__RUN_KIND__RUN_LAUNCHER && start->n_command == 2 &&
           start->command[1].len == sizeof word - 1 && memcmp(start->command[1].data, word, sizeof word - 1) == 0;
}

static int surroundings_hear(const struct evidence *evidence, const struct ledger_run *run, struct surroundings *out,
                             struct err *err)
{
    const Exhibit__Event *event;
    AUTO_BYTES struct bytes told = {0};
    size_t position = 0;

    out->ran = true;
    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_STREAM_END, &position)) != NULL)
        if (event->stream_end->stream == EXHIBIT__STREAM_NAME__STREAM_STDOUT)
            break;
    if (event == NULL)
        return 0;
    if (evidence_stream_whole(evidence, event->stream_end->content, TOLD_BYTES, &told, err) < 0)
        return err->code == ERR_LIMIT ? 0 : err->code;
    return surroundings_parse(out, ledger_told(run), &told, err);
}

/* The probe leaves nothing in scratch but its own lines, which are no artifacts. */
static int surroundings_leavings(const struct ledger_run *run, bool trial, struct surroundings *out, struct err *err)
{
    const Exhibit__Event *event;
    size_t position = 0;

    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_ARTIFACT, &position)) != NULL) {
        const Exhibit__Artifact *artifact = event->artifact;
        AUTO_FREE char *before = NULL, *path = NULL;

        if (asprintf(&before, "%s%s", trial ? ledger_told(run)->name : "", trial ? ": " : "") < 0) {
            before = NULL;
            return err_set_errno(err, "memory for a name");
        }
        if (asprintf(&path, "%.*s%s", (int)artifact->path.len, (const char *)artifact->path.data,
                     S_ISDIR(artifact->mode) ? "/" : "") < 0) {
            path = NULL;
            return err_set_errno(err, "memory for a name");
        }
        if (surroundings_add(&out->left, before, path, strlen(path), err) < 0)
            return err->code;
    }
    return 0;
}

/* By path, then in the order of the log. */
static int surroundings_order(const void *left, const void *right)
{
    const Exhibit__Event *a = *(const Exhibit__Event *const *)left, *b = *(const Exhibit__Event *const *)right;
    const ProtobufCBinaryData *x = &a->scratch_event->path, *y = &b->scratch_event->path;
    size_t both_bytes = x->len < y->len ? x->len : y->len;
    int order = both_bytes == 0 ? 0 : memcmp(x->data, y->data, both_bytes);

    if (order == 0)
        order = (x->len > y->len) - (x->len < y->len);
    return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

/* One path's events, `count` of them: whether it was made in that run, and is gone at its end. */
static int surroundings_path(const Exhibit__Event *const *events, size_t count, struct surroundings *out,
                             struct err *err)
{
    const Exhibit__ScratchEvent *last = events[count - 1]->scratch_event;
    AUTO_FREE char *path = NULL;
    bool made = false, folder = false;

    for (size_t i = 0; i < count; i++) {
        made = made || events[i]->scratch_event->mask == 0 ||
               (events[i]->scratch_event->mask & (IN_CREATE | IN_MOVED_TO)) != 0;
        folder = folder || (events[i]->scratch_event->mask & IN_ISDIR) != 0;
    }
    if (!made || (last->mask & (IN_DELETE | IN_MOVED_FROM)) == 0)
        return 0;
    if (asprintf(&path, "%.*s%s", (int)last->path.len, (const char *)last->path.data, folder ? "/" : "") < 0) {
        path = NULL;
        return err_set_errno(err, "memory for a name");
    }
    return surroundings_add(&out->passed, "", path, strlen(path), err);
}

static int surroundings_passing(const struct ledger_run *run, struct surroundings *out, struct err *err)
{
    AUTO_TABLE const Exhibit__Event **events = NULL;
    size_t position = 0, count = 0, same;
    const Exhibit__Event *event;

    out->unseen = ledger_next(run, EXHIBIT__EVENT__WHAT_LOST, &position) != NULL;
    position = 0;
    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_SCRATCH_EVENT, &position)) != NULL)
        if (table_add(&events, &count, &event, sizeof event, err) < 0)
            return err->code;
    sort_rows(events, count, sizeof *events, surroundings_order);
    for (size_t i = 0; i < count; i += same) {
        for (same = 1; i + same < count; same++)
            if (!evidence_same(&events[i]->scratch_event->path, &events[i + same]->scratch_event->path))
                break;
        if (surroundings_path(events + i, same, out, err) < 0)
            return err->code;
    }
    return 0;
}

int surroundings_gather(const struct evidence *evidence, const struct ledger *ledger, struct surroundings *out,
                        struct err *err)
{
    *out = (struct surroundings){0};
    for (size_t i = 0; i < ledger->run_count; i++) {
        const struct ledger_run *run = ledger->runs[i];
        bool trial = ledger_is_trial(run);

        if (ledger_told(run)->mode != EXHIBIT__MODE__MODE_STRICT)
            continue;
        if (surroundings_asked(run) && !out->ran &&
            (surroundings_passing(run, out, err) < 0 || surroundings_hear(evidence, run, out, err) < 0))
            return err->code;
        if ((trial || ledger_told(run)->kind == EXHIBIT__RUN_KIND__RUN_LAUNCHER) &&
            surroundings_leavings(run, trial, out, err) < 0)
            return err->code;
    }
    return 0;
}

static void surroundings_list_done(struct surroundings_list *list)
{
    for (size_t i = 0; i < SURROUNDINGS_KEPT; i++)
        free(list->names[i]);
}

void surroundings_done(struct surroundings *surroundings)
{
    free(surroundings->folder);
    surroundings_list_done(&surroundings->set);
    surroundings_list_done(&surroundings->changed);
    surroundings_list_done(&surroundings->removed);
    surroundings_list_done(&surroundings->left);
    surroundings_list_done(&surroundings->passed);
    *surroundings = (struct surroundings){0};
}
