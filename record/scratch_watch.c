#include "record/scratch_watch.h"

#include "base/cleanup.h"
#include "record/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FOLDERS_MOST = 1024, EVENTS_MOST = 4096 };

#define FOLDER_MASK (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)

struct folder {
    int wd;
    char *path; /* owned; relative to scratch, "" for itself */
};

struct scratch_watch {
    struct loop *loop;
    struct journal *journal;
    struct loop_source source;
    int root_fd;
    uint32_t run;
    struct folder folders[FOLDERS_MOST];
    size_t folder_count;
    size_t event_count;
    bool lost; /* and told so */
};

static int lost_put(struct scratch_watch *watch, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_INOTIFY, EXHIBIT__VANTAGE__VANTAGE_HOST, watch->run);
    Exhibit__Lost lost = EXHIBIT__LOST__INIT;

    if (watch->lost)
        return 0;
    watch->lost = true;
    lost.observer = EXHIBIT__SOURCE__SOURCE_INOTIFY;
    JOURNAL_WHAT(event, lost, LOST, &lost);
    return journal_put(watch->journal, &event, NULL, 0, err);
}

/* Mask 0: it was there when its folder was first looked at. */
static int event_put(struct scratch_watch *watch, const char *path, uint32_t mask, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_INOTIFY, EXHIBIT__VANTAGE__VANTAGE_HOST, watch->run);
    Exhibit__ScratchEvent seen = EXHIBIT__SCRATCH_EVENT__INIT;

    if (watch->event_count == EVENTS_MOST)
        return lost_put(watch, err);
    watch->event_count++;
    seen.path = (ProtobufCBinaryData){strlen(path), (uint8_t *)path};
    seen.mask = mask;
    JOURNAL_WHAT(event, scratch_event, SCRATCH_EVENT, &seen);
    return journal_put(watch->journal, &event, NULL, 0, err);
}

/* Heap, "name" or "folder/name"; NULL with err: out of memory. */
static char *path_below(const char *folder, const char *name, struct err *err)
{
    char *path = NULL;

    if (asprintf(&path, "%s%s%s", folder, *folder == 0 ? "" : "/", name) >= 0)
        return path;
    err_set_errno(err, "memory for a path");
    return NULL;
}

/* Knows the watch of a folder by its path; a folder that was moved has another one now. */
static int folder_keep(struct scratch_watch *watch, int wd, const char *path, struct err *err)
{
    struct folder *folder = watch->folders;
    char *copy = strdup(path);

    if (copy == NULL)
        return err_set_errno(err, "memory for a path");
    while (folder < watch->folders + watch->folder_count && folder->wd != wd)
        folder++;
    if (folder == watch->folders + watch->folder_count)
        watch->folder_count++; /* there is room: folder_open looked */
    else
        free(folder->path);
    *folder = (struct folder){wd, copy};
    return 0;
}

static void folder_forget(struct scratch_watch *watch, int wd)
{
    for (size_t i = 0; i < watch->folder_count; i++) {
        if (watch->folders[i].wd != wd)
            continue;
        free(watch->folders[i].path);
        watch->folders[i] = watch->folders[--watch->folder_count];
        return;
    }
}

/*
 * Opens a folder without following a link anywhere in its path, watches it and reads what is in it. A folder that is no
 * more, or none, is passed over; one that cannot be watched or read is lost.
 */
static int folder_open(struct scratch_watch *watch, const char *path, struct folder_names *names, struct err *err)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    AUTO_FD int fd = (int)syscall(SYS_openat2, watch->root_fd, *path == 0 ? "." : path, &how, sizeof how);
    struct err unread = {0};
    char self[64];
    int wd;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : lost_put(watch, err);
    if (watch->folder_count == FOLDERS_MOST)
        return lost_put(watch, err);
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    wd = inotify_add_watch(watch->source.fd, self, FOLDER_MASK);
    if (wd < 0)
        return lost_put(watch, err);
    if (folder_keep(watch, wd, path, err) < 0)
        return err->code;
    return folder_names_read(fd, false, names, &unread) < 0 ? lost_put(watch, err) : 0;
}

/* Watches a folder and those in it. `tell`: what is in it came while the run was under way. */
static int folder_add(struct scratch_watch *watch, const char *path, bool tell, unsigned depth, struct err *err)
{
    struct folder_names names = {0};
    int code = depth > WALK_DEPTH ? lost_put(watch, err) : folder_open(watch, path, &names, err);

    for (size_t i = 0; code == 0 && i < names.count; i++) {
        AUTO_FREE char *below = path_below(path, names.items[i], err);

        if (below == NULL)
            code = err->code;
        else if (tell)
            code = event_put(watch, below, 0, err);
        if (code == 0)
            code = folder_add(watch, below, tell, depth + 1, err);
    }
    folder_names_done(&names);
    return code;
}

static unsigned depth_of(const char *path)
{
    unsigned depth = 1;

    for (; *path != 0; path++)
        depth += *path == '/';
    return depth;
}

static int take(struct scratch_watch *watch, const struct inotify_event *seen, struct err *err)
{
    AUTO_FREE char *path = NULL;

    if (seen->mask & IN_Q_OVERFLOW)
        return lost_put(watch, err);
    if (seen->mask & IN_IGNORED)
        folder_forget(watch, seen->wd);
    if (seen->len == 0)
        return 0;
    for (size_t i = 0; path == NULL && i < watch->folder_count; i++)
        if (watch->folders[i].wd == seen->wd && (path = path_below(watch->folders[i].path, seen->name, err)) == NULL)
            return err->code;
    if (path == NULL)
        return 0;
    if (event_put(watch, path, seen->mask, err) < 0)
        return err->code;
    if ((seen->mask & IN_ISDIR) == 0 || (seen->mask & (IN_CREATE | IN_MOVED_TO)) == 0)
        return 0;
    return folder_add(watch, path, true, depth_of(path), err);
}

static int ready(void *context, uint32_t events, struct err *err)
{
    struct scratch_watch *watch = context;
    char bytes[65536] __attribute__((aligned(__alignof__(struct inotify_event))));

    (void)events;
    for (;;) {
        ssize_t got = read(watch->source.fd, bytes, sizeof bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return 0;
        if (got <= 0)
            return err_set_errno(err, "read inotify events of scratch");
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *seen = (const struct inotify_event *)(const void *)(bytes + at);

            if (take(watch, seen, err) < 0)
                return err->code;
            at += (ssize_t)(sizeof *seen + seen->len);
        }
        if (watch->event_count == EVENTS_MOST) { /* who floods it is not read on */
            loop_remove(watch->loop, &watch->source);
            return 0;
        }
    }
}

int scratch_watch_drain(struct scratch_watch *watch, struct err *err)
{
    return watch->event_count == EVENTS_MOST ? lost_put(watch, err) : ready(watch, 0, err);
}

int scratch_watch_new(struct loop *loop, struct journal *journal, const char *scratch, uint32_t run,
                      struct scratch_watch **out, struct err *err)
{
    struct scratch_watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL)
        return err_set_errno(err, "memory for a watch of scratch");
    watch->loop = loop;
    watch->journal = journal;
    watch->run = run;
    watch->source = (struct loop_source){
        .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), .urgent = true, .ready = ready, .context = watch};
    watch->root_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (watch->source.fd < 0 || watch->root_fd < 0)
        err_set_errno(err, "watch %s", scratch);
    else if (folder_add(watch, "", false, 0, err) == 0 && loop_add(loop, &watch->source, EPOLLIN, err) == 0) {
        *out = watch;
        return 0;
    }
    scratch_watch_free(watch);
    return err->code;
}

void scratch_watch_free(struct scratch_watch *watch)
{
    if (watch == NULL)
        return;
    loop_remove(watch->loop, &watch->source);
    if (watch->source.fd >= 0)
        (void)close(watch->source.fd);
    if (watch->root_fd >= 0)
        (void)close(watch->root_fd);
    for (size_t i = 0; i < watch->folder_count; i++)
        free(watch->folders[i].path);
    free(watch);
}
