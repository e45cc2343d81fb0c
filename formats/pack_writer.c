/*
 * Writing a pack: its beginning, its indexes, footer and name. Knows descriptors and names; objects are pack_put's, the
 * bytes of records and blocks pack_layout's and pack_grow's.
 */
#include "formats/pack_writer.h"
#include "base/cleanup.h"
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void pack_writer_abandon(struct pack_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->temp_name != NULL)
        (void)unlinkat(writer->dir_fd, writer->temp_name, 0);
    if (writer->fd >= 0)
        (void)close(writer->fd);
    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        pack_table_done(&writer->tables[i]);
    pack_grow_done(&writer->grow);
    free(writer->piece);
    free(writer->name);
    free(writer->temp_name);
    free(writer);
}

static void cleanup_writer(struct pack_writer **writer)
{
    pack_writer_abandon(*writer);
}

#define AUTO_WRITER __attribute__((cleanup(cleanup_writer)))

/* Creates the temporary file of a pack that `stem` stands for, and remembers its name. */
static int create_temp(struct pack_writer *writer, const char *stem, struct err *err)
{
    AUTO_FREE char *temp_name = NULL;
    uint8_t random[8];
    char digits[2 * sizeof random + 1];
    int code = file_random(random, sizeof random, err);

    if (code < 0)
        return code;
    hex_encode(random, sizeof random, digits);
    if (asprintf(&temp_name, ".%s.partial-%s", stem, digits) < 0) {
        temp_name = NULL; /* undefined after a failure */
        return err_set(err, ERR_SYSTEM, "no memory for a name");
    }
    writer->fd = openat(writer->dir_fd, temp_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (writer->fd < 0)
        return err_set_errno(err, "create %s", temp_name);
    (void)flock(writer->fd, LOCK_EX | LOCK_NB); /* tells that the writer is alive, where a file system can */
    writer->temp_name = take_ptr(&temp_name);
    return 0;
}

static bool is_name(const char *name)
{
    return name[0] != 0 && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int pack_writer_new_unnamed(int dir_fd, const char *stem, struct pack_writer **out, struct err *err)
{
    AUTO_WRITER struct pack_writer *writer = NULL;
    int code;

    if (!is_name(stem))
        return err_set(err, ERR_USAGE, "'%s' is not a file's name", stem);
    writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return err_set_errno(err, "memory for a writer");
    writer->dir_fd = dir_fd;
    writer->fd = writer->grow.fd = -1;
    code = create_temp(writer, stem, err);
    if (code == 0)
        code = pack_grow_init(&writer->grow, writer->fd, err);
    if (code < 0)
        return err_wrap(err, "%s", stem);
    *out = take_ptr(&writer);
    return 0;
}

int pack_writer_new(int dir_fd, const char *name, struct pack_writer **out, struct err *err)
{
    AUTO_WRITER struct pack_writer *writer = NULL;
    struct stat stat;

    if (is_name(name) && fstatat(dir_fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0)
        return err_set(err, ERR_USAGE, "%s exists", name);
    if (is_name(name) && errno != ENOENT)
        return err_set_errno(err, "look for %s", name);
    if (pack_writer_new_unnamed(dir_fd, name, &writer, err) < 0 ||
        pack_writer_name(writer, name, PACK_NAME_FRESH, err) < 0)
        return err->code;
    *out = take_ptr(&writer);
    return 0;
}

int pack_writer_name(struct pack_writer *writer, const char *name, enum pack_naming naming, struct err *err)
{
    char *copy;

    assert(naming == PACK_NAME_FRESH || naming == PACK_NAME_REPLACE);
    if (!is_name(name))
        return err_set(err, ERR_USAGE, "'%s' is not a file's name", name);
    copy = strdup(name);
    if (copy == NULL)
        return err_set_errno(err, "memory for a name");
    free(writer->name);
    writer->name = copy;
    writer->naming = naming;
    return 0;
}

void pack_writer_elsewhere(struct pack_writer *writer, const struct pack_elsewhere *elsewhere)
{
    writer->elsewhere = *elsewhere;
}

/* Closes the open block of each part, and waits until they are in the file. */
static int close_blocks(struct pack_writer *writer, struct err *err)
{
    int code = pack_grow_close(&writer->grow, PACK_OBSERVATION, err);

    if (code == 0)
        code = pack_grow_close(&writer->grow, PACK_INPUT, err);
    return code < 0 ? code : pack_grow_settle(&writer->grow, err);
}

int pack_writer_flush(struct pack_writer *writer, struct err *err)
{
    int code;

    assert(!writer->spent);
    code = pack_grow_close(&writer->grow, PACK_INPUT, err); /* what observations name comes before them */
    if (code == 0)
        code = close_blocks(writer, err);
    writer->spent = code < 0;
    return code;
}

/* Writes the index of a part and tells where it is. */
static int write_index(struct pack_writer *writer, enum pack_part part, struct layout_place *out, struct err *err)
{
    struct pack_table *table = &writer->tables[pack_slot(part)];
    const struct bytes *blocks = &writer->grow.parts[pack_slot(part)].blocks;
    uint8_t head[PACK_INDEX_HEAD_BYTES];
    const struct {
        const void *data;
        size_t size_bytes;
    } pieces[] = {
        {head, sizeof head},
        {table->records.data, table->records.size_bytes},
        {blocks->data, blocks->size_bytes},
    };
    struct digest_run *run = digest_run_new();
    int code = run == NULL ? err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256") : 0;

    pack_table_sort(table);
    layout_index_head_put(head, part, pack_table_count(table), (uint32_t)(blocks->size_bytes / PACK_BLOCK_BYTES));
    out->frame.at = writer->grow.at;
    for (size_t i = 0; code == 0 && i < sizeof pieces / sizeof *pieces; i++) {
        digest_run_add(run, pieces[i].data, pieces[i].size_bytes);
        code = pack_grow_write(&writer->grow, pieces[i].data, pieces[i].size_bytes, err);
    }
    out->frame.size_bytes = writer->grow.at - out->frame.at;
    if (code == 0)
        out->digest = digest_run_now(run);
    digest_run_free(run);
    return code;
}

/* Writes all that is left. */
static int complete(struct pack_writer *writer, struct layout_footer *footer, struct err *err)
{
    static const enum pack_part parts[PACK_PART_COUNT] = {PACK_OBSERVATION, PACK_INPUT};
    uint8_t bytes[PACK_FOOTER_BYTES];
    int code = close_blocks(writer, err);

    for (size_t i = 0; code == 0 && i < PACK_PART_COUNT; i++)
        code = write_index(writer, parts[i], &footer->index[i], err);
    if (code < 0)
        return code;
    layout_footer_put(bytes, footer);
    code = pack_grow_write(&writer->grow, bytes, sizeof bytes, err);
    if (code < 0)
        return code;
    return fsync(writer->fd) < 0 ? err_set_errno(err, "fsync") : 0;
}

/* Gives the finished file its name; the temporary one is gone then. */
static int name_file(struct pack_writer *writer, struct err *err)
{
    bool fresh = writer->naming == PACK_NAME_FRESH;
    int done = renameat2(writer->dir_fd, writer->temp_name, writer->dir_fd, writer->name, fresh ? RENAME_NOREPLACE : 0);

    /* Some file systems (NFS) cannot rename without replacing; a second link replaces nothing either. */
    if (done < 0 && fresh && (errno == EINVAL || errno == ENOSYS)) {
        done = linkat(writer->dir_fd, writer->temp_name, writer->dir_fd, writer->name, 0);
        if (done == 0 && unlinkat(writer->dir_fd, writer->temp_name, 0) < 0)
            return err_set_errno(err, "remove %s", writer->temp_name);
    }
    if (done < 0 && errno == EEXIST) {
        err_set(err, ERR_SYSTEM, "%s exists by now; what was made is whole beside it: rename %s", writer->name,
                writer->temp_name);
        free(writer->temp_name);
        writer->temp_name = NULL; /* it is not removed */
        return err->code;
    }
    if (done < 0)
        return err_set_errno(err, "rename %s to %s", writer->temp_name, writer->name);
    free(writer->temp_name);
    writer->temp_name = NULL;
    if (fresh)
        writer->temp_name = take_ptr(&writer->name); /* what to remove should the rest fail */
    return 0;
}

int pack_writer_finish(struct pack_writer *spent_writer, const struct digest *receipt, const struct digest *claim,
                       struct err *err)
{
    AUTO_WRITER struct pack_writer *writer = spent_writer;
    struct layout_footer footer = {.receipt = *receipt};
    int code;

    assert(writer->name != NULL);
    assert(!writer->spent && pack_table_has(&writer->tables[pack_slot(PACK_OBSERVATION)], receipt));
    assert(claim == NULL || pack_table_has(&writer->tables[pack_slot(PACK_OBSERVATION)], claim));
    if (claim != NULL)
        footer.claim = *claim;
    code = complete(writer, &footer, err);
    if (code < 0)
        return err_wrap(err, "%s", writer->name);
    code = name_file(writer, err);
    if (code < 0)
        return code;
    if (fsync(writer->dir_fd) < 0) /* the name itself must survive a power cut */
        return err_set_errno(err, "fsync the folder of %s",
                             writer->temp_name != NULL ? writer->temp_name : writer->name);
    free(writer->temp_name);
    writer->temp_name = NULL;
    return 0;
}
