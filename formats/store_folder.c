/*
 * The marker is written under another name first, so that it is whole wherever it is.
 */
#include "formats/store_folder.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define MARKER_TEXT "exhibit store 1\n"

DIR *store_list_open(int dir_fd)
{
    /* Opened anew: the position of a descriptor is shared with its duplicates. */
    AUTO_FD int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir != NULL)
        (void)take_fd(&fd);
    return dir;
}

const char *store_list_next(DIR *dir)
{
    const struct dirent *entry;

    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry == NULL ? NULL : entry->d_name;
}

/* Looks at the marker. *out_is_there: there is one, and it is of this version. */
static int marker_read(int dir_fd, const char *path, bool *out_is_there, struct err *err)
{
    AUTO_BYTES struct bytes text = {0};
    struct stat stat;

    *out_is_there = false;
    if (fstatat(dir_fd, STORE_MARKER, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_set_errno(err, "%s/%s", path, STORE_MARKER);
    if (file_read_path(dir_fd, STORE_MARKER, 1, 256, &text, err) < 0)
        return err_wrap(err, "%s", path);
    if (text.size_bytes != strlen(MARKER_TEXT) || memcmp(text.data, MARKER_TEXT, text.size_bytes) != 0)
        return err_set(err, ERR_USAGE,
                       "%s: its file %s does not say `exhibit store 1`: a store of another version, or none", path,
                       STORE_MARKER);
    *out_is_there = true;
    return 0;
}

/* Whether nothing is in the folder, but what making a store may have left. */
static int is_empty(int dir_fd, const char *path, bool *out, struct err *err)
{
    AUTO_DIR DIR *dir = store_list_open(dir_fd);
    const char *name;

    if (dir == NULL)
        return err_set_errno(err, "list %s", path);
    while ((name = store_list_next(dir)) != NULL && strcmp(name, STORE_MARKER_FRESH) == 0)
        ;
    if (name == NULL && errno != 0)
        return err_set_errno(err, "list %s", path);
    *out = name == NULL;
    return 0;
}

/* Makes the folder a store. Of several that do so at once each finds it made. */
static int marker_make(int dir_fd, const char *path, struct err *err)
{
    AUTO_FD int fd = openat(dir_fd, STORE_MARKER_FRESH, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    bool is_there = false;

    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return err_set_errno(err, "%s: make it a store", path);
    if (marker_read(dir_fd, path, &is_there, err) < 0)
        return err->code;
    if (is_there) { /* another one was quicker, and this is a second file, or its own by another name */
        (void)unlinkat(dir_fd, STORE_MARKER_FRESH, 0);
        return 0;
    }
    if (ftruncate(fd, 0) < 0)
        return err_set_errno(err, "%s: make it a store", path);
    if (file_write_all(fd, MARKER_TEXT, strlen(MARKER_TEXT), err) < 0)
        return err_wrap(err, "%s: make it a store", path);
    if (fsync(fd) < 0 || renameat(dir_fd, STORE_MARKER_FRESH, dir_fd, STORE_MARKER) < 0 || fsync(dir_fd) < 0)
        return err_set_errno(err, "%s: make it a store", path);
    return 0;
}

/* Looks whether the folder is a store, or may become one: it is empty then. */
static int marker_look(int dir_fd, const char *path, bool make, bool *out_is_store, struct err *err)
{
    bool empty = false;

    if (marker_read(dir_fd, path, out_is_store, err) < 0)
        return err->code;
    if (*out_is_store)
        return 0;
    if (!make)
        return err_set(err, ERR_USAGE, "%s is no store; exhibit-record run PLAN --store makes one", path);
    if (is_empty(dir_fd, path, &empty, err) < 0)
        return err->code;
    if (!empty && marker_read(dir_fd, path, out_is_store, err) < 0) /* it may have been made meanwhile */
        return err->code;
    if (!empty && !*out_is_store)
        return err_set(err, ERR_USAGE,
                       "%s is no store and not empty; name an empty folder, or one that is not there yet", path);
    return 0;
}

int store_folder_open(const char *path, bool make, int *out_fd, struct err *err)
{
    AUTO_FD int dir_fd = -1;
    bool is_store = false;

    if (*path == 0)
        return err_set(err, ERR_USAGE, "--store takes the name of a folder; see --help");
    if (make && mkdir(path, 0777) < 0 && errno != EEXIST)
        return err_set(err, ERR_USAGE, "%s: cannot be made (%s); the folder above it has to be there", path,
                       strerror(errno));
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return err_set(err, ERR_USAGE, "%s: cannot be opened (%s); name a store", path, strerror(errno));
    if (marker_look(dir_fd, path, make, &is_store, err) < 0 || (!is_store && marker_make(dir_fd, path, err) < 0))
        return err->code;
    *out_fd = take_fd(&dir_fd);
    return 0;
}

int store_may_be(const char *path, struct err *err)
{
    AUTO_FREE char *copy = strdup(path);
    AUTO_FD int dir_fd = -1;
    AUTO_FD int above = -1;
    bool is_store;

    if (copy == NULL)
        return err_set_errno(err, "memory for a name");
    if (*path == 0)
        return err_set(err, ERR_USAGE, "--store takes the name of a folder; see --help");
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd >= 0)
        return marker_look(dir_fd, path, true, &is_store, err);
    if (errno != ENOENT)
        return err_set(err, ERR_USAGE, "%s: cannot be opened (%s); name a store", path, strerror(errno));
    above = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return above < 0 ? err_set(err, ERR_USAGE, "%s: the folder above it cannot be opened (%s); make it first", path,
                               strerror(errno))
                     : 0;
}
