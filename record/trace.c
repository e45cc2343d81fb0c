#include "record/trace.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/limits.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 2000000u
#define FILE_MAX_BYTES (256u << 20)

/* ---- one line ---- */

/* The parts of `name(arguments) = result`, borrowed from a line. */
struct parts {
    char name[32];
    const char *arguments;
    size_t arguments_bytes;
    const char *result;
};

/* Cuts a line (NUL-terminated) into its parts. False: it tells of no finished call. */
static bool line_cut(const char *line, struct parts *out)
{
    size_t name_bytes = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
    const char *end = NULL;

    if (name_bytes == 0 || name_bytes >= sizeof out->name || line[name_bytes] != '(')
        return false;
    memcpy(out->name, line, name_bytes);
    out->name[name_bytes] = 0;
    out->arguments = line + name_bytes + 1;
    for (const char *at = strstr(out->arguments, " = "); at != NULL; at = strstr(at + 1, " = "))
        end = at; /* the last one: a path may hold another */
    if (end == NULL)
        return false;
    out->result = end + 3;
    while (end > out->arguments && *end == ' ')
        end--;
    out->arguments_bytes = (size_t)(end - out->arguments);
    return *end == ')' && *out->result != '?';
}

/* The first text in quotes in the arguments, or the last one. False: there is none. */
static bool quoted_find(const struct parts *parts, bool last, const char **out, size_t *out_bytes)
{
    const char *end = parts->arguments + parts->arguments_bytes;
    bool found = false;

    for (const char *at = parts->arguments; at < end && (last || !found); at++) {
        const char *begin = at + 1;

        if (*at != '"')
            continue;
        for (at++; at < end && *at != '"'; at++)
            at += *at == '\\';
        if (at >= end)
            break;
        *out = begin;
        *out_bytes = (size_t)(at - begin);
        found = true;
    }
    return found;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static bool arguments_have(const struct parts *parts, const char *word)
{
    return memmem(parts->arguments, parts->arguments_bytes, word, strlen(word)) != NULL;
}

/* What a call on a path wants. */
static enum trace_access access_of(const struct parts *parts)
{
    static const char *const writers[] = {
        "creat",     "mkdir",    "mkdirat",   "rmdir",       "unlink",    "unlinkat", "rename",    "renameat",
        "renameat2", "link",     "linkat",    "symlink",     "symlinkat", "truncate", "chmod",     "fchmodat",
        "chown",     "lchown",   "fchownat",  "mknod",       "mknodat",   "utime",    "utimes",    "utimensat",
        "futimesat", "setxattr", "lsetxattr", "removexattr", "mount",     "umount2",  "fchmodat2", NULL};

    if (strncmp(parts->name, "exec", 4) == 0 || arguments_have(parts, "X_OK"))
        return TRACE_EXECUTE;
    if (is_one_of(parts->name, writers) || arguments_have(parts, "W_OK"))
        return TRACE_WRITE;
    if (strncmp(parts->name, "open", 4) == 0 &&
        (arguments_have(parts, "O_WRONLY") || arguments_have(parts, "O_RDWR") || arguments_have(parts, "O_CREAT")))
        return TRACE_WRITE;
    return TRACE_READ;
}

/* The folder that a relative path begins in, as strace -y shows it before the path. NULL: not shown. */
static const char *folder_of(const struct parts *parts, const char *quoted, size_t *out_bytes)
{
    const char *open = memchr(parts->arguments, '<', (size_t)(quoted - parts->arguments));
    const char *close = quoted;

    while (open != NULL && close > open && *close != '>')
        close--;
    if (open == NULL || close == open || open[1] != '/')
        return NULL;
    *out_bytes = (size_t)(close - open - 1);
    return open + 1;
}

/* The path of a call. Owned by the caller; NULL: out of memory. */
static char *path_of(const struct parts *parts, const char *quoted, size_t quoted_bytes)
{
    size_t folder_bytes = 0;
    const char *folder = quoted_bytes > 0 && *quoted == '/' ? NULL : folder_of(parts, quoted, &folder_bytes);
    char *path = NULL;

    if (quoted_bytes > LIMIT_PATH_BYTES * 4)
        quoted_bytes = LIMIT_PATH_BYTES * 4;
    if (asprintf(&path, "%.*s%s%.*s", (int)folder_bytes, folder == NULL ? "" : folder,
                 folder == NULL || quoted_bytes == 0 ? "" : "/", (int)quoted_bytes, quoted) < 0)
        return NULL;
    return path;
}

/* The address of a network call: what stands between braces; of one without, all but a descriptor in front. */
static char *address_of(const struct parts *parts)
{
    const char *begin = memchr(parts->arguments, '{', parts->arguments_bytes);
    const char *end = memrchr(parts->arguments, '}', parts->arguments_bytes);

    if (begin != NULL && end != NULL && end > begin)
        return strndup(begin, (size_t)(end - begin) + 1);
    if (strcmp(parts->name, "socket") == 0 || strcmp(parts->name, "socketpair") == 0)
        return strndup(parts->arguments, parts->arguments_bytes);
    return strdup(parts->name);
}

static int call_add(struct trace *trace, const struct parts *parts, struct err *err)
{
    static const char *const network[] = {"socket",  "socketpair", "connect", "bind",     "listen",     "accept",
                                          "accept4", "sendto",     "sendmsg", "sendmmsg", "setsockopt", NULL};
    static const char *const second[] = {"rename", "renameat",  "renameat2", "link",
                                         "linkat", "symlinkat", "symlink",   NULL};
    struct trace_call call = {.access = TRACE_CALL};
    const char *quoted = NULL;
    size_t quoted_bytes = 0;

    if (is_one_of(parts->name, network)) {
        call.access = TRACE_NETWORK;
        call.what = address_of(parts);
    } else if (quoted_find(parts, is_one_of(parts->name, second), &quoted, &quoted_bytes)) {
        call.access = access_of(parts);
        call.what = path_of(parts, quoted, quoted_bytes);
    } else {
        call.what = strdup(parts->name);
    }
    if (call.what == NULL)
        return err_set_errno(err, "memory for a trace");
    memcpy(call.name, parts->name, sizeof call.name);
    if (strncmp(parts->result, "-1 E", 4) == 0)
        (void)snprintf(call.errno_name, sizeof call.errno_name, "%.*s", (int)strcspn(parts->result + 3, " "),
                       parts->result + 3);
    trace->items[trace->count++] = call;
    return 0;
}

int trace_add(struct trace *trace, const char *text, size_t size_bytes, struct err *err)
{
    const char *end = text + size_bytes;

    for (const char *at = text, *line_end; at < end; at = line_end + 1) {
        AUTO_FREE char *line = NULL;
        struct parts parts;

        line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            line_end = end;
        if (trace->count == CALLS_MAX)
            return err_set(err, ERR_LIMIT, "a trace of more than %u calls", CALLS_MAX);
        if (trace->count == trace->room) {
            size_t room = trace->room == 0 ? 256 : trace->room * 2;
            struct trace_call *grown = reallocarray(trace->items, room, sizeof *grown);

            if (grown == NULL)
                return err_set_errno(err, "memory for a trace");
            trace->items = grown;
            trace->room = room;
        }
        line = strndup(at, (size_t)(line_end - at));
        if (line == NULL)
            return err_set_errno(err, "memory for a trace");
        if (line_cut(line, &parts) && call_add(trace, &parts, err) < 0)
            return err->code;
    }
    return 0;
}

int trace_read(struct trace *trace, const char *path, const char *prefix, struct err *err)
{
    size_t prefix_bytes = strlen(prefix);
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, versionsort), code = 0;

    if (count < 0)
        return err_set_errno(err, "read %s", path);
    for (int i = 0; i < count; i++) {
        AUTO_BYTES struct bytes text = {0};
        AUTO_FREE char *file = NULL;

        if (code == 0 && strncmp(entries[i]->d_name, prefix, prefix_bytes) == 0 &&
            entries[i]->d_name[prefix_bytes] == '.') {
            if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0) {
                file = NULL;
                code = err_set_errno(err, "memory for a path");
            }
            if (code == 0)
                code = file_read_path(AT_FDCWD, file, 0, FILE_MAX_BYTES, &text, err);
            if (code == 0)
                code = trace_add(trace, (const char *)text.data, text.size_bytes, err);
        }
        free(entries[i]);
    }
    free(entries);
    return code;
}

/* ---- two traces ---- */

static int calls_order(const void *a, const void *b)
{
    const struct trace_call *left = a, *right = b;

    if (left->access != right->access)
        return left->access < right->access ? -1 : 1;
    return strcmp(left->what, right->what);
}

/* Whether the sorted trace has calls about the same, and whether any of them succeeded or failed. */
static bool find(const struct trace *trace, const struct trace_call *call, bool *out_succeeded, bool *out_failed)
{
    const struct trace_call *at =
        trace->count == 0 ? NULL : bsearch(call, trace->items, trace->count, sizeof *trace->items, calls_order);
    const struct trace_call *end = trace->items + trace->count;

    *out_succeeded = *out_failed = false;
    if (at == NULL)
        return false;
    while (at > trace->items && calls_order(at - 1, call) == 0)
        at--;
    for (; at < end && calls_order(at, call) == 0; at++) {
        *out_succeeded = *out_succeeded || at->errno_name[0] == 0;
        *out_failed = *out_failed || at->errno_name[0] != 0;
    }
    return true;
}

static void sort(struct trace *trace)
{
    if (trace->count > 0)
        qsort(trace->items, trace->count, sizeof *trace->items, calls_order);
}

/* Whether it was the confinement that made this call fail. */
static bool is_blamed(const struct trace_call *call, const struct trace *baseline, const struct trace *harmless)
{
    static const char *const forbidden[] = {"EACCES", "EPERM", "EROFS", NULL};
    bool succeeded, failed;

    if (call->errno_name[0] == 0 || strcmp(call->errno_name, "ECHILD") == 0) /* it had no child: so says no sandbox */
        return false;
    (void)find(harmless, call, &succeeded, &failed);
    if (failed)
        return false;
    if (find(baseline, call, &succeeded, &failed))
        return succeeded;
    return is_one_of(call->errno_name, forbidden);
}

int trace_blame(const struct trace *strict, struct trace *baseline, struct trace *harmless,
                void (*take)(void *context, const struct trace_call *call), void *context, struct err *err)
{
    struct trace told = {.items = calloc(strict->count + 1, sizeof *told.items)};

    if (told.items == NULL)
        return err_set_errno(err, "memory for a trace");
    sort(baseline);
    sort(harmless);
    for (size_t i = strict->count; i > 0; i--) {
        const struct trace_call *call = &strict->items[i - 1];
        bool is_new = true;

        for (size_t j = 0; is_new && j < told.count; j++)
            is_new = calls_order(&told.items[j], call) != 0;
        if (!is_new || !is_blamed(call, baseline, harmless))
            continue;
        told.items[told.count++] = *call; /* borrows the text */
        take(context, call);
    }
    free(told.items);
    return 0;
}

void trace_done(struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++)
        free(trace->items[i].what);
    free(trace->items);
    *trace = (struct trace){0};
}
