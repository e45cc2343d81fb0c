/*
 * An open store: its lock and the names in it.
 */
#include "formats/store.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "formats/store_folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* A file in the store is opened without following a link and without waiting for a FIFO's other end. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

struct store {
    struct store_request request;
    int dir_fd;
    int lock_fd;
    struct bytes receipts; /* DIGEST_BYTES each, ascending */
};

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    if (store->lock_fd >= 0)
        (void)close(store->lock_fd); /* and the lock with it */
    if (store->dir_fd >= 0)
        (void)close(store->dir_fd);
    bytes_done(&store->receipts);
    free(store);
}

static void cleanup_store(struct store **store)
{
    store_close(*store);
}

#define AUTO_STORE __attribute__((cleanup(cleanup_store)))

const char *store_path(const struct store *store)
{
    return store->request.path;
}

int store_folder(const struct store *store)
{
    return store->dir_fd;
}

void store_note(const struct store *store, const char *fmt, ...)
{
    char text[2048];
    va_list arguments;

    if (store->request.note == NULL)
        return;
    va_start(arguments, fmt);
    (void)vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    for (char *at = text; *at != 0; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    store->request.note(store->request.context, text);
}

void store_quiet(struct store *store)
{
    store->request.note = NULL;
}

/* ---- names ---- */

static void name_make(const struct digest *receipt, const char *suffix, char out[STORE_NAME_BYTES])
{
    hex_encode(receipt->bytes, DIGEST_BYTES, out);
    (void)strcpy(out + (size_t)2 * DIGEST_BYTES, suffix);
}

void store_pack_name(const struct digest *receipt, char out[STORE_NAME_BYTES])
{
    name_make(receipt, STORE_PACK_SUFFIX, out);
}

void store_local_name(const struct digest *receipt, char out[STORE_NAME_BYTES])
{
    name_make(receipt, STORE_LOCAL_SUFFIX, out);
}

/* Whether a name is that of a receipt with this suffix. */
static bool name_take(const char *name, const char *suffix, struct digest *out)
{
    char digits[2 * DIGEST_BYTES + 1];

    if (strlen(name) != sizeof digits - 1 + strlen(suffix) || strcmp(name + sizeof digits - 1, suffix) != 0)
        return false;
    memcpy(digits, name, sizeof digits - 1);
    digits[sizeof digits - 1] = 0;
    return hex_decode(digits, out->bytes, DIGEST_BYTES);
}

/* Lists the packs. What only looks like one is noted. */
static int packs_list(struct store *store, struct err *err)
{
    AUTO_DIR DIR *dir = store_list_open(store->dir_fd);
    const char *name;

    if (dir == NULL)
        return err_set_errno(err, "list %s", store->request.path);
    while ((name = store_list_next(dir)) != NULL) {
        size_t size_bytes = strlen(name), suffix_bytes = strlen(STORE_PACK_SUFFIX);
        struct digest receipt;

        if (name_take(name, STORE_PACK_SUFFIX, &receipt)) {
            if (bytes_add(&store->receipts, receipt.bytes, DIGEST_BYTES, (size_t)LIMIT_STORE_PACKS * DIGEST_BYTES,
                          err) < 0)
                return err_wrap(err, "%s: more than %u packs; use another store", store->request.path,
                                LIMIT_STORE_PACKS);
        } else if (size_bytes > suffix_bytes && strcmp(name + size_bytes - suffix_bytes, STORE_PACK_SUFFIX) == 0) {
            store_note(store, "%s/%s is passed over: its name is not that of a receipt", store->request.path, name);
        }
    }
    if (errno != 0)
        return err_set_errno(err, "list %s", store->request.path);
    digest_sort(store->receipts.data, store_pack_count(store), DIGEST_BYTES);
    return 0;
}

uint32_t store_pack_count(const struct store *store)
{
    return (uint32_t)(store->receipts.size_bytes / DIGEST_BYTES);
}

struct digest store_receipt(const struct store *store, uint32_t number)
{
    struct digest receipt;

    assert(number < store_pack_count(store));
    memcpy(receipt.bytes, store->receipts.data + (size_t)number * DIGEST_BYTES, DIGEST_BYTES);
    return receipt;
}

bool store_has_local(const struct store *store, uint32_t number)
{
    const struct digest receipt = store_receipt(store, number);
    char name[STORE_NAME_BYTES];

    store_local_name(&receipt, name);
    return faccessat(store->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int store_find(const struct store *store, const char *text, uint32_t *out_number, struct err *err)
{
    size_t digit_count = strlen(text);
    uint32_t count = 0, found = 0;

    if (digit_count < STORE_PREFIX_DIGITS || digit_count > (size_t)2 * DIGEST_BYTES ||
        strspn(text, "0123456789abcdef") != digit_count)
        return err_set(err, ERR_USAGE,
                       "%.80s: a receipt is named by its digest, or its first %d or more hexadecimal digits", text,
                       STORE_PREFIX_DIGITS);
    for (uint32_t i = 0; i < store_pack_count(store); i++) {
        const struct digest receipt = store_receipt(store, i);
        char name[STORE_NAME_BYTES];

        store_pack_name(&receipt, name);
        if (strncmp(name, text, digit_count) == 0) {
            found = i;
            count++;
        }
    }
    if (count != 1)
        return err_set(err, ERR_USAGE, "%s: %s receipt %s; exhibit-record list --store %s shows what there is",
                       store->request.path, count == 0 ? "has no" : "has more than one", text, store->request.path);
    *out_number = found;
    return 0;
}

/* ---- packs ---- */

/* Opens a file of the store for reading. */
static int file_open(const struct store *store, const char *name, int *out_fd, struct err *err)
{
    struct stat stat;
    AUTO_FD int fd = openat(store->dir_fd, name, OPEN_FLAGS);

    if (fd < 0 && (errno == ELOOP || errno == ENXIO))
        return err_set(err, ERR_FORMAT, "%s/%s: not a regular file", store->request.path, name);
    if (fd < 0 || fstat(fd, &stat) < 0)
        return err_set_errno(err, "%s/%s", store->request.path, name);
    if (!S_ISREG(stat.st_mode))
        return err_set(err, ERR_FORMAT, "%s/%s: not a regular file", store->request.path, name);
    *out_fd = take_fd(&fd);
    return 0;
}

int store_pack_fd(const struct store *store, uint32_t number, int *out_fd, struct err *err)
{
    const struct digest receipt = store_receipt(store, number);
    char name[STORE_NAME_BYTES];

    store_pack_name(&receipt, name);
    return file_open(store, name, out_fd, err);
}

void store_pack_close(struct store_pack *pack)
{
    pack_close(pack->pack);
    if (pack->pack != NULL)
        (void)close(pack->fd);
    *pack = (struct store_pack){.fd = -1};
}

/* Opens the pack of this name, which is that of the receipt. */
static int pack_open_named(const struct store *store, const char *name, const struct digest *receipt, bool with_inputs,
                           struct store_pack *out, struct err *err)
{
    struct digest seen;
    struct pack *pack = NULL;
    AUTO_FD int fd = -1;
    int code;

    if (file_open(store, name, &fd, err) < 0)
        return err->code;
    code = with_inputs ? pack_open(fd, &pack, err) : pack_open_observations(fd, &pack, err);
    if (code < 0)
        return err_wrap(err, "%s/%s", store->request.path, name);
    seen = pack_receipt(pack);
    if (!digest_equal(&seen, receipt)) {
        pack_close(pack);
        return err_set(err, ERR_MISMATCH, "%s/%s: FORMAT 11.3: the pack of another receipt", store->request.path, name);
    }
    *out = (struct store_pack){.fd = take_fd(&fd), .pack = pack};
    return 0;
}

int store_pack_open(const struct store *store, uint32_t number, bool with_inputs, struct store_pack *out,
                    struct err *err)
{
    const struct digest receipt = store_receipt(store, number);
    char name[STORE_NAME_BYTES];

    store_pack_name(&receipt, name);
    return pack_open_named(store, name, &receipt, with_inputs, out, err);
}

int store_local_open(const struct store *store, uint32_t number, struct store_pack *out, struct err *err)
{
    const struct digest receipt = store_receipt(store, number);
    char name[STORE_NAME_BYTES];

    store_local_name(&receipt, name);
    return pack_open_named(store, name, &receipt, true, out, err);
}

/* ---- what else is in the folder ---- */

/* Whether a name is that of a file that is being written: ".*.partial-*". */
static bool is_partial_name(const char *name)
{
    return name[0] == '.' && strstr(name, ".partial-") != NULL;
}

/* Whether it is that of local contents that are being written: the recorder names them by the stem alone. */
static bool is_partial_local(const char *name)
{
    static const char start[] = "." STORE_LOCAL_STEM ".partial-";

    return strncmp(name, start, sizeof start - 1) == 0;
}

/* Whether it is that of a pack that is being written under its name already, as prune does. */
static bool is_partial_copy(const char *name)
{
    static const char rest[] = STORE_PACK_SUFFIX ".partial-";

    return name[0] == '.' && strspn(name + 1, "0123456789abcdef") == 2 * DIGEST_BYTES &&
           strncmp(name + 1 + 2 * DIGEST_BYTES, rest, sizeof rest - 1) == 0;
}

/* Whether the store has the pack of a receipt. */
static bool has_pack(const struct store *store, const struct digest *receipt)
{
    return digest_is_among(store->receipts.data, store_pack_count(store), receipt->bytes);
}

/* Whether no writer has the file any more: it keeps it locked (formats/pack_writer.c). */
static bool is_left(int dir_fd, const char *name)
{
    AUTO_FD int fd = openat(dir_fd, name, OPEN_FLAGS);

    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
}

int store_strays(const struct store *store,
                 int (*tell)(void *context, const struct store_stray *stray, struct err *err), void *context,
                 struct err *err)
{
    AUTO_DIR DIR *dir = store_list_open(store->dir_fd);
    const char *name;

    if (dir == NULL)
        return err_set_errno(err, "list %s", store->request.path);
    while ((name = store_list_next(dir)) != NULL) {
        struct store_stray stray = {.name = name,
                                    .is_partial = is_partial_name(name),
                                    .is_copy = is_partial_copy(name),
                                    .is_local = is_partial_local(name)};
        struct digest receipt;
        int code;

        if (strcmp(name, STORE_MARKER) == 0 || strcmp(name, STORE_LOCK) == 0 || strcmp(name, STORE_MARKER_FRESH) == 0 ||
            name_take(name, STORE_PACK_SUFFIX, &receipt))
            continue;
        if (name_take(name, STORE_LOCAL_SUFFIX, &receipt)) {
            if (has_pack(store, &receipt))
                continue;
            stray.is_local = true;
        }
        stray.is_left = stray.is_partial && is_left(store->dir_fd, name);
        code = tell(context, &stray, err);
        if (code < 0)
            return code;
    }
    return errno == 0 ? 0 : err_set_errno(err, "list %s", store->request.path);
}

void store_stray_note(const struct store *store, const struct store_stray *stray)
{
    const char *path = store->request.path;

    if (stray->is_local)
        store_note(store, "%s/%s: local contents of a recording that was killed; remove it", path, stray->name);
    else if (stray->is_copy)
        store_note(store, "%s/%s: left by a prune that was killed; the next prune removes it", path, stray->name);
    else
        store_note(store,
                   "%s/%s: left by a recording that was killed; exhibit-record salvage %s/%s --store %s -o BUNDLE "
                   "makes a bundle of it, or remove it",
                   path, stray->name, path, stray->name, path);
}

/* Takes the lock. Where another holds it, says so and waits. */
static int lock_take(struct store *store, struct err *err)
{
    int how = store->request.lock == STORE_EXCLUSIVE ? LOCK_EX : LOCK_SH;
    const char *path = store->request.path;

    store->lock_fd = openat(store->dir_fd, STORE_LOCK, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (store->lock_fd < 0)
        return err_set_errno(err, "%s/%s", path, STORE_LOCK);
    if (flock(store->lock_fd, how | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        store_note(store, "%s: waiting for %s", path,
                   how == LOCK_EX ? "those who record into it or read it" : "prune, which is at work there");
    while (flock(store->lock_fd, how) < 0)
        if (errno != EINTR)
            return err_set_errno(err, "lock %s/%s", path, STORE_LOCK);
    return 0;
}

int store_open(const struct store_request *request, struct store **out, struct err *err)
{
    AUTO_STORE struct store *store = calloc(1, sizeof *store);

    assert(request->lock == STORE_SHARED || request->lock == STORE_EXCLUSIVE);
    if (store == NULL)
        return err_set_errno(err, "memory for a store");
    store->request = *request;
    store->dir_fd = store->lock_fd = -1;
    if (store_folder_open(request->path, request->make, &store->dir_fd, err) < 0 || lock_take(store, err) < 0 ||
        packs_list(store, err) < 0)
        return err->code;
    *out = take_ptr(&store);
    return 0;
}
