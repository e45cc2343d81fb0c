/*
 * What the recorder does with an input, alone: bench-ingest keep TREE PACK freezes a tree into a pack, bench-ingest
 * store TREE STORE into a pack of a store, bench-ingest freeze TREE only digests it, bench-ingest check PACK reads
 * every byte of a pack. For measurements.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/pack.h"
#include "record/output.h"
#include "record/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void note(const char *text)
{
    (void)fprintf(stderr, "bench-ingest: %s\n", text);
}

/* Ends a pack that has no receipt: the list of the tree stands in its place. */
static int keep(const char *tree, const char *name, struct err *err)
{
    AUTO_BYTES struct bytes list = {0};
    AUTO_FD int dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct pack_writer *writer = NULL;
    struct digest digest;

    if (dir_fd < 0)
        return err_set_errno(err, "open the folder");
    if (pack_writer_new(dir_fd, name, &writer, err) < 0)
        return err->code;
    if (tree_freeze(tree, writer, &list, err) < 0 ||
        pack_put(writer, PACK_OBSERVATION, list.data, list.size_bytes, &digest, err) < 0) {
        pack_writer_abandon(writer);
        return err->code;
    }
    return pack_writer_finish(writer, &digest, NULL, err);
}

/* The same into a store; random bytes beside the list make each run another one. */
static int store(const char *tree, struct output *output, const char *name, struct err *err)
{
    AUTO_BYTES struct bytes list = {0};
    struct pack_writer *writer = NULL;
    struct digest digest, receipt;
    uint8_t random[16];

    if (file_random(random, sizeof random, err) < 0 ||
        output_check(output, &(struct output_request){.store = name, .note = note}, err) < 0 ||
        output_open(output, err) < 0 || output_start(output, &writer, err) < 0)
        return err->code;
    if (tree_freeze(tree, writer, &list, err) < 0 ||
        pack_put(writer, PACK_OBSERVATION, list.data, list.size_bytes, &digest, err) < 0 ||
        pack_put(writer, PACK_OBSERVATION, random, sizeof random, &receipt, err) < 0 ||
        output_name(output, writer, &receipt, err) < 0) {
        pack_writer_abandon(writer);
        return err->code;
    }
    return pack_writer_finish(writer, &receipt, NULL, err);
}

static int check(const char *name, struct err *err)
{
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct pack *pack = NULL;
    int code;

    if (fd < 0)
        return err_set_errno(err, "open %s", name);
    code = pack_open(fd, &pack, err);
    if (code == 0)
        code = pack_check(pack, err);
    pack_close(pack);
    return code;
}

static int freeze(const char *tree, struct err *err)
{
    AUTO_BYTES struct bytes list = {0};

    return tree_freeze(tree, NULL, &list, err);
}

int main(int argc, char *argv[])
{
    struct output output = {.dir_fd = -1};
    struct err err = {0};
    int code;

    if (argc == 4 && strcmp(argv[1], "keep") == 0)
        code = keep(argv[2], argv[3], &err);
    else if (argc == 4 && strcmp(argv[1], "store") == 0)
        code = store(argv[2], &output, argv[3], &err);
    else if (argc == 3 && strcmp(argv[1], "freeze") == 0)
        code = freeze(argv[2], &err);
    else if (argc == 3 && strcmp(argv[1], "check") == 0)
        code = check(argv[2], &err);
    else
        code = err_set(&err, ERR_USAGE,
                       "usage: bench-ingest keep TREE PACK | store TREE STORE | freeze TREE | check PACK");
    output_done(&output);
    if (code < 0)
        (void)fprintf(stderr, "bench-ingest: %s\n", err.text);
    return code < 0;
}
