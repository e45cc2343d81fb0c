#include "record/targets.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "record/tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define CANARY_BYTES 64 /* hexadecimal digits: 256 bits that nobody guesses */
#define TARGET_COUNT 5  /* by Exhibit__TargetName */
#define FILE_MASK (IN_ACCESS | IN_OPEN | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVE_SELF | IN_DELETE_SELF)
#define FOLDER_MASK                                                                                                    \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR)

static const char *const file_names[TARGET_COUNT] = {NULL, "canary-read", "canary-link", "write-here", ""};
static const char write_content[] = "This file is written by nobody but the recorder.\n";

struct targets {
    struct loop *loop;
    struct journal *journal;
    struct loop_source source;
    int dir_fd;
    uint32_t run;
    char paths[TARGET_COUNT][PATH_MAX];
    int watches[TARGET_COUNT];
    ino_t inodes[TARGET_COUNT]; /* of the recorder's own files */
};

static int put_file_event(struct targets *targets, const struct inotify_event *seen, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_INOTIFY, EXHIBIT__VANTAGE__VANTAGE_HOST, targets->run);
    Exhibit__FileEvent file_event = EXHIBIT__FILE_EVENT__INIT;
    Exhibit__Lost lost = EXHIBIT__LOST__INIT;

    if (seen->mask & IN_Q_OVERFLOW) {
        lost.observer = EXHIBIT__SOURCE__SOURCE_INOTIFY;
        JOURNAL_WHAT(event, lost, LOST, &lost);
        return journal_put(targets->journal, &event, NULL, 0, err);
    }
    if (seen->mask & IN_IGNORED) /* the watch itself went with its file: the DELETE_SELF before it tells */
        return 0;
    file_event.target = EXHIBIT__TARGET_NAME__TARGET_FOLDER; /* also of a file that stood there before a reset */
    for (int name = 1; name < TARGET_COUNT; name++)
        if (targets->watches[name] == seen->wd)
            file_event.target = (Exhibit__TargetName)name;
    file_event.mask = seen->mask;
    if (seen->len > 0)
        file_event.name = (ProtobufCBinaryData){strnlen(seen->name, seen->len), (uint8_t *)seen->name};
    JOURNAL_WHAT(event, file_event, FILE_EVENT, &file_event);
    return journal_put(targets->journal, &event, NULL, 0, err);
}

static int inotify_ready(void *context, uint32_t ready, struct err *err)
{
    struct targets *targets = context;
    char bytes[65536] __attribute__((aligned(__alignof__(struct inotify_event))));

    (void)ready;
    for (;;) {
        ssize_t got = read(targets->source.fd, bytes, sizeof bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return 0;
        if (got <= 0)
            return err_set_errno(err, "read inotify events");
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *seen = (const struct inotify_event *)(const void *)(bytes + at);

            if (targets->run != 0 && put_file_event(targets, seen, err) < 0)
                return err->code;
            at += (ssize_t)(sizeof *seen + seen->len);
        }
    }
}

int targets_set_run(struct targets *targets, uint32_t run, struct err *err)
{
    int code = inotify_ready(targets, 0, err); /* what is there already belongs to what was before */

    targets->run = run;
    return code;
}

/* Watches a target again: a file that a subject replaced has another inode. */
static int watch(struct targets *targets, Exhibit__TargetName name, struct err *err)
{
    uint32_t mask = name == EXHIBIT__TARGET_NAME__TARGET_FOLDER ? FOLDER_MASK : FILE_MASK;

    targets->watches[name] = inotify_add_watch(targets->source.fd, targets->paths[name], mask | IN_DONT_FOLLOW);
    return targets->watches[name] < 0 ? err_set_errno(err, "watch %s", targets->paths[name]) : 0;
}

/* Puts content into a target. A file that is still the recorder's keeps its inode; whatever else is there is removed.
 */
static int file_set(struct targets *targets, Exhibit__TargetName name, const void *from, size_t size_bytes,
                    struct err *err)
{
    struct stat stat;
    bool plain = fstatat(targets->dir_fd, file_names[name], &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(stat.st_mode) &&
                 stat.st_nlink == 1;
    AUTO_FD int fd = -1;

    if (!plain && tree_remove(targets->paths[name], err) < 0)
        return err->code;
    fd = openat(targets->dir_fd, file_names[name], O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || fchmod(fd, 0644) < 0 || fstat(fd, &stat) < 0)
        return err_set_errno(err, "set %s", targets->paths[name]);
    targets->inodes[name] = stat.st_ino;
    if (file_write_all(fd, from, size_bytes, err) < 0)
        return err_wrap(err, "set %s", targets->paths[name]);
    return watch(targets, name, err);
}

int targets_reset(struct targets *targets, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, 0);
    Exhibit__Targets set = EXHIBIT__TARGETS__INIT;
    uint8_t secret[2][CANARY_BYTES / 2];
    char canary[2][CANARY_BYTES + 1];

    assert(targets->run == 0);
    if (file_random(secret, sizeof secret, err) < 0)
        return err->code;
    for (int i = 0; i < 2; i++)
        hex_encode(secret[i], sizeof secret[i], canary[i]);
    if (file_set(targets, EXHIBIT__TARGET_NAME__TARGET_CANARY_READ, canary[0], CANARY_BYTES, err) < 0 ||
        file_set(targets, EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK, canary[1], CANARY_BYTES, err) < 0 ||
        file_set(targets, EXHIBIT__TARGET_NAME__TARGET_WRITE, write_content, sizeof write_content - 1, err) < 0)
        return err->code;
    set.canary_read = (ProtobufCBinaryData){CANARY_BYTES, (uint8_t *)canary[0]};
    set.canary_link = (ProtobufCBinaryData){CANARY_BYTES, (uint8_t *)canary[1]};
    set.write = (ProtobufCBinaryData){sizeof write_content - 1, (uint8_t *)write_content};
    JOURNAL_WHAT(event, targets, TARGETS, &set);
    if (journal_put(targets->journal, &event, NULL, 0, err) < 0)
        return err->code;
    return targets_set_run(targets, 0, err);
}

/*
 * Reads a target's content, at most LIMIT_TARGET_BYTES of it. A target that is no regular file has none, and neither
 * has another name of a file elsewhere that was put in its place.
 */
static int content_read(struct targets *targets, Exhibit__TargetName name, struct bytes *out, bool *truncated,
                        struct err *err)
{
    AUTO_FD int fd = -1;
    struct stat stat;

    if (name == EXHIBIT__TARGET_NAME__TARGET_FOLDER)
        return tree_freeze(targets->paths[name], NULL, out, err);
    fd = openat(targets->dir_fd, file_names[name], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
        (stat.st_nlink > 1 && stat.st_ino != targets->inodes[name]))
        return 0;
    *truncated = stat.st_size > LIMIT_TARGET_BYTES;
    for (;;) {
        uint8_t part[65536];
        size_t room_bytes = LIMIT_TARGET_BYTES - out->size_bytes;
        ssize_t got = read(fd, part, room_bytes < sizeof part ? room_bytes : sizeof part);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, "read %s", targets->paths[name]);
        if (got == 0)
            return 0;
        if (bytes_add(out, part, (size_t)got, LIMIT_TARGET_BYTES, err) < 0)
            return err->code;
    }
}

static int put_state(struct targets *targets, uint32_t run, Exhibit__TargetName name, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_FILES, EXHIBIT__VANTAGE__VANTAGE_HOST, run);
    Exhibit__TargetState state = EXHIBIT__TARGET_STATE__INIT;
    AUTO_BYTES struct bytes content = {0};
    struct digest digest;
    struct stat stat;
    bool truncated = false;

    state.target = name;
    state.exists = lstat(targets->paths[name], &stat) == 0;
    if (state.exists) {
        state.mode = stat.st_mode;
        state.size_bytes = (uint64_t)stat.st_size;
        state.inode = stat.st_ino;
        state.mtime_ns = stat.st_mtim.tv_sec * 1000000000ll + stat.st_mtim.tv_nsec;
        state.ctime_ns = stat.st_ctim.tv_sec * 1000000000ll + stat.st_ctim.tv_nsec;
        if (content_read(targets, name, &content, &truncated, err) < 0)
            return err->code;
    }
    if (secrets_look(journal_secrets(targets->journal), content.data, content.size_bytes, "a target", err) < 0 ||
        pack_put(journal_pack(targets->journal), PACK_OBSERVATION, content.data, content.size_bytes, &digest, err) < 0)
        return err->code;
    state.content_sha256 = JOURNAL_DIGEST(digest);
    state.content_truncated = truncated;
    JOURNAL_WHAT(event, target_state, TARGET_STATE, &state);
    return journal_put(targets->journal, &event, content.data, content.size_bytes, err);
}

int targets_state(struct targets *targets, uint32_t run, struct err *err)
{
    assert(targets->run == 0); /* reading them is the recorder's own doing */
    for (int name = 1; name < TARGET_COUNT; name++)
        if (put_state(targets, run, (Exhibit__TargetName)name, err) < 0)
            return err->code;
    return targets_set_run(targets, 0, err);
}

const char *targets_path(const struct targets *targets, Exhibit__TargetName name)
{
    return targets->paths[name];
}

int targets_new(struct loop *loop, struct journal *journal, const char *path, struct targets **out, struct err *err)
{
    struct targets *targets = calloc(1, sizeof *targets);

    if (targets == NULL)
        return err_set_errno(err, "memory for the targets");
    targets->loop = loop;
    targets->journal = journal;
    targets->dir_fd = -1;
    targets->source = (struct loop_source){
        .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), .urgent = true, .ready = inotify_ready, .context = targets};
    for (int name = 1; name < TARGET_COUNT; name++)
        if (snprintf(targets->paths[name], PATH_MAX, "%s%s%s", path, *file_names[name] ? "/" : "", file_names[name]) >=
            PATH_MAX) {
            err_set(err, ERR_LIMIT, "%s: the path is too long", path);
            goto undo;
        }
    if (targets->source.fd < 0 || mkdir(path, 0755) < 0 ||
        (targets->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        err_set_errno(err, "make %s", path);
        goto undo;
    }
    if (watch(targets, EXHIBIT__TARGET_NAME__TARGET_FOLDER, err) < 0 ||
        loop_add(loop, &targets->source, EPOLLIN, err) < 0)
        goto undo;
    *out = targets;
    return 0;

undo:
    targets_free(targets);
    return err->code;
}

void targets_free(struct targets *targets)
{
    if (targets == NULL)
        return;
    loop_remove(targets->loop, &targets->source);
    if (targets->source.fd >= 0)
        (void)close(targets->source.fd);
    if (targets->dir_fd >= 0)
        (void)close(targets->dir_fd);
    free(targets);
}
