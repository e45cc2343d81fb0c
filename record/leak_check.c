#include "record/leak_check.h"

#include "base/cleanup.h"
#include "formats/archive.h"
#include "formats/freeze.h"
#include "formats/stream.h"
#include "record/leaks.h"
#include "record/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PLACE_BYTES 256

struct checking {
    struct pack *observations, *local;
    const Exhibit__Receipt *receipt;
    struct leaks *leaks;
    struct bytes lists; /* digests of the first freezes' lists, in order */
    struct bytes all;   /* of all freezes' lists: paths leave in any case, and are no content */
    char **runs;        /* what each is called, by number; LIMIT_RUNS + 1 */
    /* Filling the table: files are numbered over all lists. */
    uint32_t file;       /* the one at hand */
    uint64_t skip_bytes; /* of it, which an earlier table had */
    uint64_t at_bytes;   /* in its content so far */
    bool full;
    struct bytes rest; /* of a piece: less than a block */
    /* Looking. */
    struct leak_flow flow;
    char place[PLACE_BYTES]; /* of what is looked at */
    bool found;
    uint32_t found_file;
};

/* ---- the files that are local ---- */

/* What is called with each local file. */
typedef int file_take(struct checking *checking, uint32_t number, const Exhibit__FreezeEntry *entry,
                      const struct digest *digest, struct err *err);

struct files_walk {
    struct checking *checking;
    file_take *take;
    uint32_t number; /* of the next file */
};

static int entry_take(void *context, const Exhibit__FreezeEntry *entry, const struct cursor *packed, struct err *err)
{
    struct files_walk *walk = context;
    struct digest digest;

    (void)packed;
    if (!S_ISREG(entry->mode) || !digest_from(entry->sha256.data, entry->sha256.len, &digest) ||
        !pack_find(walk->checking->local, PACK_INPUT, &digest, NULL))
        return 0;
    return walk->take(walk->checking, walk->number++, entry, &digest, err);
}

/* Calls `take` with each file of the first freezes whose content is in the local pack, until it fails. */
static int files_each(struct checking *checking, file_take *take, struct err *err)
{
    struct files_walk walk = {.checking = checking, .take = take};
    int code = 0;

    for (size_t at = 0; code == 0 && at < checking->lists.size_bytes; at += DIGEST_BYTES) {
        struct digest digest;

        memcpy(digest.bytes, checking->lists.data + at, DIGEST_BYTES);
        code = freeze_read(checking->observations, &digest, false, entry_take, &walk, err);
    }
    return code;
}

/* Gives whole blocks of a content to the table, from skip_bytes on. The salt is before the content. */
static int content_take(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct checking *checking = context;
    uint64_t from = FREEZE_SALT_BYTES + checking->skip_bytes, end = checking->at_bytes + size_bytes;
    const uint8_t *bytes = piece;
    size_t whole, taken;

    if (!checking->full && end > from) {
        size_t passed = from > checking->at_bytes ? (size_t)(from - checking->at_bytes) : 0;

        if (bytes_add(&checking->rest, bytes + passed, size_bytes - passed, LIMIT_BLOCK_BYTES + LEAKS_BLOCK_BYTES,
                      err) < 0)
            return err->code;
        whole = checking->rest.size_bytes / LEAKS_BLOCK_BYTES * LEAKS_BLOCK_BYTES;
        taken = leaks_add(checking->leaks, checking->rest.data, whole, checking->file);
        checking->skip_bytes += taken;
        checking->full = taken < whole;
        checking->rest.size_bytes -= taken;
        memmove(checking->rest.data, checking->rest.data + taken, checking->rest.size_bytes);
        from += taken;
    }
    checking->at_bytes = end;
    return 0;
}

/* Adds a file to the table, unless an earlier table had it or this one is full. */
static int file_add(struct checking *checking, uint32_t number, const Exhibit__FreezeEntry *entry,
                    const struct digest *digest, struct err *err)
{
    (void)entry;
    if (number < checking->file || checking->full)
        return 0;
    checking->at_bytes = 0;
    checking->rest.size_bytes = 0;
    if (pack_read_pieces(checking->local, PACK_INPUT, digest, content_take, checking, err) < 0)
        return err->code;
    if (checking->full)
        return 0;
    checking->file = number + 1;
    checking->skip_bytes = 0;
    return 0;
}

/* The words that tell a file: its path. */
static int file_name(struct checking *checking, uint32_t number, const Exhibit__FreezeEntry *entry,
                     const struct digest *digest, struct err *err)
{
    (void)digest;
    if (number != checking->found_file)
        return 0;
    return err_set(err, ERR_USAGE, "%.*s", (int)(entry->path.len < 300 ? entry->path.len : 300),
                   (const char *)entry->path.data);
}

/* ---- what is looked at ---- */

static void place_set(struct checking *checking, uint32_t run, const char *what, const ProtobufCBinaryData *name)
{
    const char *called = run <= LIMIT_RUNS && checking->runs[run] != NULL ? checking->runs[run] : "the recording";

    (void)snprintf(checking->place, sizeof checking->place, "%s of %s%s%.*s", what, called, name == NULL ? "" : ": ",
                   name == NULL ? 0 : (int)(name->len < 100 ? name->len : 100),
                   name == NULL ? "" : (const char *)name->data);
    checking->flow = (struct leak_flow){0};
}

/* Ends whatever reads on: the caller tells, by `found`. */
static int piece_look(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct checking *checking = context;

    if (!leak_flow_look(&checking->flow, checking->leaks, piece, size_bytes, &checking->found_file))
        return 0;
    checking->found = true;
    return err_set(err, ERR_MISMATCH, "local content");
}

static int member_look(void *context, bool begins, const void *piece, size_t size_bytes, struct err *err)
{
    struct checking *checking = context;

    if (begins)
        checking->flow = (struct leak_flow){0};
    return piece_look(context, piece, size_bytes, err);
}

static int artifact_look(struct checking *checking, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__Artifact *artifact = event->artifact;
    AUTO_BYTES struct bytes content = {0};
    struct archive_list list = {0};
    struct digest digest;
    struct err other = {0};

    if (!artifact->kept || !digest_from(artifact->sha256.data, artifact->sha256.len, &digest))
        return 0;
    place_set(checking, event->run, "an artifact", &artifact->path);
    if (!archive_name_is_known((const char *)artifact->path.data, artifact->path.len))
        return pack_read_pieces(checking->observations, PACK_OBSERVATION, &digest, piece_look, checking, err);
    if (pack_read(checking->observations, PACK_OBSERVATION, &digest, LIMIT_ARTIFACT_BYTES, &content, err) < 0 ||
        piece_look(checking, content.data, content.size_bytes, err) < 0)
        return err->code;
    place_set(checking, event->run, "a member of an archive", &artifact->path);
    /* An archive that cannot be listed was recorded as such; what could be unpacked of it was looked at. */
    if (archive_list_read_by(content.data, content.size_bytes, member_look, checking, &list, &other) < 0 &&
        (checking->found || other.code == ERR_SYSTEM)) {
        *err = other;
        return err->code;
    }
    archive_list_done(&list);
    return 0;
}

static int stream_look(struct checking *checking, uint32_t run, const char *what, const Exhibit__Stream *stream,
                       struct err *err)
{
    place_set(checking, run, what, NULL);
    return stream_read(checking->observations, stream, piece_look, checking, err);
}

static int start_note(struct checking *checking, const Exhibit__Event *event, struct err *err)
{
    static const char *const modes[] = {"", "baseline", "strict", "control"};
    static const char *const kinds[] = {"", "the", "case", "trial"};
    const Exhibit__RunStart *start = event->run_start;
    char **name = event->run <= LIMIT_RUNS ? &checking->runs[event->run] : NULL;

    if (name != NULL && *name == NULL &&
        asprintf(name, "%s %s %s", modes[start->mode], kinds[start->kind], start->name) < 0) {
        *name = NULL;
        return err_set_errno(err, "memory for a run's name");
    }
    return 0;
}

static int event_look(void *context, const Exhibit__Event *event, struct err *err)
{
    static const char *const streams[] = {
        "", "stdin", "stdout", "stderr", "the parent's copy", "the child's copy", "the grandchild's copy"};
    struct checking *checking = context;

    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_RUN_START:
        if (start_note(checking, event, err) < 0)
            return err->code;
        return stream_look(checking, event->run, "stdin", event->run_start->stdin_stream, err);
    case EXHIBIT__EVENT__WHAT_STREAM_END:
        return stream_look(checking, event->run, streams[event->stream_end->stream], event->stream_end->content, err);
    case EXHIBIT__EVENT__WHAT_ARTIFACT:
        return artifact_look(checking, event, err);
    default:
        return 0;
    }
}

static bool is_list(const struct checking *checking, const struct digest *digest)
{
    for (size_t at = 0; at < checking->all.size_bytes; at += DIGEST_BYTES)
        if (memcmp(checking->all.data + at, digest->bytes, DIGEST_BYTES) == 0)
            return true;
    return false;
}

/* What no event tells the place of: plan, oracle, policy, targets, lists, claim. */
static int objects_look(struct checking *checking, struct err *err)
{
    uint32_t count = pack_object_count(checking->observations, PACK_OBSERVATION);
    int code = 0;

    for (uint32_t i = 0; code == 0 && i < count; i++) {
        struct pack_object object = pack_object_at(checking->observations, PACK_OBSERVATION, i);

        if (is_list(checking, &object.digest))
            continue;
        place_set(checking, 0, "a text or a target", NULL);
        code = pack_read_pieces(checking->observations, PACK_OBSERVATION, &object.digest, piece_look, checking, err);
    }
    return code;
}

/* Looks at everything once, with the table as it is. */
static int all_look(struct checking *checking, struct err *err)
{
    int code = stream_look(checking, 0, "the event log (argv, messages, paths)", checking->receipt->events, err);

    if (code == 0)
        code = events_read(checking->observations, checking->receipt->events, event_look, checking, err);
    return code < 0 ? code : objects_look(checking, err);
}

/* ---- all of it ---- */

static int list_note(void *context, const Exhibit__Event *event, struct err *err)
{
    struct checking *checking = context;

    if (event->what_case != EXHIBIT__EVENT__WHAT_FREEZE || event->freeze->list_sha256.len != DIGEST_BYTES)
        return 0;
    if (bytes_add(&checking->all, event->freeze->list_sha256.data, DIGEST_BYTES, LIMIT_FREEZE_BYTES, err) < 0)
        return err->code;
    if (event->freeze->moment != EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE)
        return 0;
    return bytes_add(&checking->lists, event->freeze->list_sha256.data, DIGEST_BYTES, LIMIT_FREEZE_BYTES, err);
}

/* Says what was found, in place of whatever err says. */
static int found_tell(struct checking *checking, struct err *err)
{
    struct err name = {.text = "a file"};

    if (files_each(checking, file_name, &name) != ERR_USAGE) {
        *err = name;
        return err->code < 0 ? err->code : err_set(err, ERR_SYSTEM, "a local file cannot be found again");
    }
    return err_set(
        err, ERR_USAGE,
        "%s has content of the local file %s; nothing was written: export it --with-local, or record it anew "
        "so that this is not told",
        checking->place, name.text);
}

static int passes_make(struct checking *checking, struct err *err)
{
    int code;

    do {
        checking->full = false;
        leaks_clear(checking->leaks);
        code = files_each(checking, file_add, err);
        if (code == 0)
            code = all_look(checking, err);
        if (checking->found)
            return found_tell(checking, err);
    } while (code == 0 && checking->full);
    return code;
}

int leak_check(struct pack *observations, struct pack *local, uint32_t table_blocks, struct err *err)
{
    struct checking checking = {.observations = observations, .local = local};
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    int code = receipt_read(observations, &arena, &receipt, err);

    if (code < 0)
        return code;
    checking.receipt = receipt;
    checking.leaks = leaks_new(table_blocks);
    checking.runs = calloc(LIMIT_RUNS + 1, sizeof *checking.runs);
    if (checking.leaks == NULL || checking.runs == NULL)
        code = err_set_errno(err, "memory for a search");
    if (code == 0)
        code = events_read(observations, receipt->events, list_note, &checking, err);
    if (code == 0)
        code = passes_make(&checking, err);
    for (size_t i = 0; checking.runs != NULL && i <= LIMIT_RUNS; i++)
        free(checking.runs[i]);
    free(checking.runs);
    leaks_free(checking.leaks);
    bytes_done(&checking.lists);
    bytes_done(&checking.all);
    bytes_done(&checking.rest);
    return code;
}
