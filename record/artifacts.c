/*
 * What a run left in its scratch. Knows Artifact and archives; not what an artifact is good for.
 */
#include "record/artifacts.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/archive.h"
#include "formats/message.h"
#include "record/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HOLLOW_BYTES = 1 << 20, ENVELOPE_BYTES = 256 }; /* room for what an Event holds beside its Artifact */

struct collecting {
    const struct artifacts_request *request;
    uint64_t count;       /* handed on */
    uint64_t passed_over; /* beyond LIMIT_ARTIFACTS */
};

/* One artifact under way, with all that its message points at. */
struct finding {
    Exhibit__Artifact artifact;
    struct digest digest;
    struct bytes content;
    struct archive_list members;
    char note[256];
};

static void finding_init(struct finding *finding, const char *path, size_t path_bytes)
{
    memset(finding, 0, sizeof *finding);
    exhibit__artifact__init(&finding->artifact);
    finding->artifact.path = (ProtobufCBinaryData){path_bytes, (uint8_t *)path};
    finding->artifact.note = finding->note;
}

static void finding_done(struct finding *finding)
{
    bytes_done(&finding->content);
    archive_list_done(&finding->members);
}

/* Sets the note; what is not printable ASCII becomes '?', since a library's words may quote the subject's bytes. */
static void set_note(struct finding *finding, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void set_note(struct finding *finding, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(finding->note, sizeof finding->note, fmt, args);
    va_end(args);
    for (char *at = finding->note; *at != 0; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

static void set_digest(struct finding *finding, const struct digest *digest)
{
    finding->digest = *digest;
    finding->artifact.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, finding->digest.bytes};
}

/* What is looked for in an archive's members. */
struct looking {
    const struct secrets *secrets;
    struct needle_flow flow;
    bool failed; /* with err: the listing's own fault is another matter */
    struct err err;
};

static int member_look(void *context, bool begins, const void *piece, size_t size_bytes, struct err *err)
{
    struct looking *looking = context;

    if (begins)
        needle_flow_done(&looking->flow);
    if (secrets_look_flow(looking->secrets, &looking->flow, piece, size_bytes, "a member of an archive it left", err) ==
        0)
        return 0;
    looking->failed = true;
    looking->err = *err;
    return err->code;
}

/*
 * Lists the content by member, if it can be listed and the list fits into an event. "Out of memory" is a note too: an
 * archive's maker says how much it takes to unpack it.
 */
static void list_members(struct finding *finding, struct looking *looking)
{
    static uint64_t unpacked_bytes; /* of the recording that this process makes */
    Exhibit__Artifact *artifact = &finding->artifact;
    struct err fault = {0};
    int code;

    if (unpacked_bytes > LIMIT_UNPACKED_BYTES) {
        set_note(finding, "kept, but not listed: the archives before it unpack to more than %llu bytes",
                 LIMIT_UNPACKED_BYTES);
        return;
    }
    code = archive_list_read_by(finding->content.data, finding->content.size_bytes,
                                looking->secrets == NULL ? NULL : member_look, looking, &finding->members, &fault);
    unpacked_bytes += finding->members.unpacked_bytes;
    if (code < 0) {
        set_note(finding, "kept, but not listed: %s", fault.text);
        return;
    }
    artifact->is_archive = true;
    artifact->n_members = finding->members.count;
    artifact->members = finding->members.members;
    if (exhibit__artifact__get_packed_size(artifact) > LIMIT_EVENT_BYTES - ENVELOPE_BYTES) {
        set_note(finding, "kept, but not listed: its %zu members do not fit into an event", finding->members.count);
        artifact->is_archive = false;
        artifact->n_members = 0;
    }
}

static bool same_file_state(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Why an open file is not read, as its note. False: it is. */
static bool is_unwanted(struct finding *finding, int fd, const struct stat *stat)
{
    if (!S_ISREG(stat->st_mode))
        set_note(finding, "not a regular file");
    else if (stat->st_nlink > 1) /* it may be another name of a file outside */
        set_note(finding, "hard link: the file has %ju names", (uintmax_t)stat->st_nlink);
    else if (stat->st_size > LIMIT_ARTIFACT_BYTES)
        set_note(finding, "too large: %jd bytes, %u at most", (intmax_t)stat->st_size, LIMIT_ARTIFACT_BYTES);
    else if (walk_file_is_hollow(fd, stat, HOLLOW_BYTES))
        set_note(finding, "sparse: almost all of its %jd bytes are holes", (intmax_t)stat->st_size);
    else
        return false;
    return true;
}

/* Reads a file that is worth it into finding->content. Whatever fails about the file becomes its note. */
static bool read_file(struct finding *finding, int fd, const struct stat *before)
{
    struct bytes *content = &finding->content;
    size_t size_bytes = (size_t)before->st_size;
    struct err fault = {0};
    struct stat after;

    if (bytes_reserve(content, size_bytes, LIMIT_ARTIFACT_BYTES, &fault) < 0 ||
        file_pread_all(fd, content->data, size_bytes, 0, &fault) < 0) {
        set_note(finding, fault.code == ERR_FORMAT ? "changed while it was read: %s" : "not read: %s", fault.text);
        return false;
    }
    content->size_bytes = size_bytes;
    if (fstat(fd, &after) < 0 || !same_file_state(before, &after)) {
        set_note(finding, "changed while it was read");
        return false;
    }
    return true;
}

static int collect_file(struct collecting *collecting, const struct walk_entry *entry, struct finding *finding,
                        struct err *err)
{
    Exhibit__Artifact *artifact = &finding->artifact;
    struct looking looking = {.secrets = collecting->request->secrets};
    struct digest digest;
    struct stat stat;
    AUTO_FD int fd = walk_open_file(entry->folder_fd, entry->name, &stat);
    int code;

    if (fd < 0) {
        set_note(finding, "cannot be read: %s", strerror(errno));
        return 0;
    }
    artifact->mode = stat.st_mode;
    artifact->size_bytes = S_ISREG(stat.st_mode) ? (uint64_t)stat.st_size : 0;
    if (is_unwanted(finding, fd, &stat) || !read_file(finding, fd, &stat))
        return 0;
    if (archive_name_is_known(entry->path, entry->path_bytes))
        list_members(finding, &looking);
    needle_flow_done(&looking.flow);
    if (looking.failed) {
        *err = looking.err;
        return err->code;
    }
    code =
        secrets_look(looking.secrets, finding->content.data, finding->content.size_bytes, "an artifact it left", err);
    if (code == 0)
        code = pack_put(collecting->request->pack, PACK_OBSERVATION, finding->content.data, finding->content.size_bytes,
                        &digest, err);
    if (code < 0)
        return code;
    set_digest(finding, &digest);
    artifact->kept = true;
    return 0;
}

static void collect_link(const struct walk_entry *entry, struct finding *finding)
{
    char target[LIMIT_PATH_BYTES];
    ssize_t size_bytes = readlinkat(entry->folder_fd, entry->name, target, sizeof target);
    struct digest digest;

    if (size_bytes < 0) {
        set_note(finding, "cannot be read: %s", strerror(errno));
        return;
    }
    digest = digest_of(target, (size_t)size_bytes);
    set_digest(finding, &digest);
    set_note(finding, "a symbolic link");
}

/* Hands an artifact on, or counts it where there were enough. */
static int hand_on(struct collecting *collecting, struct finding *finding, struct err *err)
{
    const struct bytes *content = &finding->content;
    bool kept = finding->artifact.kept;

    collecting->count++;
    return collecting->request->take(collecting->request->context, &finding->artifact, kept ? content->data : NULL,
                                     kept ? content->size_bytes : 0, err);
}

static bool is_skipped(const struct collecting *collecting, const char *path)
{
    for (size_t i = 0; i < collecting->request->skip_count; i++)
        if (strcmp(collecting->request->skip[i], path) == 0)
            return true;
    return false;
}

/* One of those that the recorder makes in each scratch. */
static bool is_own_folder(const char *path)
{
    return strcmp(path, "") == 0 || strcmp(path, "home") == 0 || strcmp(path, "tmp") == 0 || strcmp(path, "run") == 0;
}

static int collect_entry(void *context, const struct walk_entry *entry, struct err *err)
{
    struct collecting *collecting = context;
    struct finding finding;
    int code = 0;

    if (is_skipped(collecting, entry->path) ||
        (S_ISDIR(entry->stat.st_mode) && (!collecting->request->folders || is_own_folder(entry->path))))
        return 0;
    if (collecting->count == LIMIT_ARTIFACTS) {
        collecting->passed_over++;
        return 0;
    }
    finding_init(&finding, entry->path, entry->path_bytes);
    finding.artifact.mode = entry->stat.st_mode;
    if (S_ISREG(entry->stat.st_mode))
        code = collect_file(collecting, entry, &finding, err);
    else if (S_ISDIR(entry->stat.st_mode))
        set_note(&finding, "a folder");
    else if (S_ISLNK(entry->stat.st_mode))
        collect_link(entry, &finding);
    else
        set_note(&finding, "not a regular file");
    if (code == 0)
        code = hand_on(collecting, &finding, err);
    finding_done(&finding);
    return code < 0 ? err_wrap(err, "artifact %.500s", entry->path) : 0;
}

/* A folder that cannot be looked into is told like a file that cannot be read. */
static int collect_obstacle(void *context, const char *path, struct err *err)
{
    struct collecting *collecting = context;
    struct finding finding;

    if (collecting->count == LIMIT_ARTIFACTS) {
        collecting->passed_over++;
        return 0;
    }
    finding_init(&finding, path, strlen(path));
    finding.artifact.mode = S_IFDIR;
    set_note(&finding, "passed over in part: %s", err->text);
    return hand_on(collecting, &finding, err);
}

int artifacts_collect(const struct artifacts_request *request, struct err *err)
{
    struct collecting collecting = {.request = request};
    struct walk_visitor visitor = {.visit = collect_entry, .obstacle = collect_obstacle, .context = &collecting};
    AUTO_FD int fd = open(request->scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct finding rest;
    int code;

    if (fd < 0)
        return err_set_errno(err, "open the folder %s", request->scratch);
    code = walk_tree(fd, &visitor, err);
    if (code < 0 || collecting.passed_over == 0)
        return code;
    finding_init(&rest, "", 0);
    set_note(&rest, "%" PRIu64 " more were passed over: %d at most", collecting.passed_over, LIMIT_ARTIFACTS);
    return hand_on(&collecting, &rest, err);
}
