/*
 * What the tests of stores share: a folder in which stores are, packs that are put into one, and what it notes.
 */
#pragma once

#include "base/bytes.h"
#include "formats/pack_writer.h"
#include "formats/store_inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder for one test, and what stores noted in it. */
struct scene {
    char folder[32];
    char path[64]; /* of the store */
    char notes[8192];
    unsigned note_count;
    unsigned pack_count; /* that were put: makes each receipt another */
};

__attribute__((unused)) static void must(int code, const struct err *err)
{
    if (code < 0)
        fail_msg("%s", err->text);
}

__attribute__((unused)) static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);

    *state = scene;
    (void)strcpy(scene->folder, "/tmp/test_store.XXXXXX");
    if (mkdtemp(scene->folder) == NULL)
        return -1;
    (void)snprintf(scene->path, sizeof scene->path, "%s/store", scene->folder);
    return 0;
}

static int one_remove(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return remove(path);
}

__attribute__((unused)) static int scene_remove(void **state)
{
    struct scene *scene = *state;
    int left = nftw(scene->folder, one_remove, 8, FTW_DEPTH | FTW_PHYS);

    free(scene);
    return left;
}

#define WITH_SCENE(name) cmocka_unit_test_setup_teardown(name, scene_make, scene_remove)

__attribute__((unused)) static void scene_note(void *context, const char *text)
{
    struct scene *scene = context;
    size_t used = strlen(scene->notes);

    scene->note_count++;
    (void)snprintf(scene->notes + used, sizeof scene->notes - used, "%s\n", text);
}

__attribute__((unused)) static int scene_try(struct scene *scene, bool make, struct store **out, struct err *err)
{
    return store_open(
        &(struct store_request){
            .path = scene->path, .make = make, .lock = STORE_SHARED, .note = scene_note, .context = scene},
        out, err);
}

__attribute__((unused)) static struct store *scene_open(struct scene *scene)
{
    struct store *store = NULL;
    struct err err;

    must(scene_try(scene, true, &store, &err), &err);
    return store;
}

/* Bytes that are others for each seed, and that nothing compresses. */
__attribute__((unused)) static uint8_t *bytes_of(uint32_t seed, size_t size_bytes)
{
    uint8_t *all = malloc(size_bytes + 1);
    uint64_t random = seed * 0x9E3779B97F4A7C15u + 1;

    assert_non_null(all);
    for (size_t i = 0; i < size_bytes; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        all[i] = (uint8_t)(random >> 56);
    }
    return all;
}

/* Inputs that are put one after the other: seeds from first to last, of one size. */
struct inputs {
    uint32_t first, last;
    size_t size_bytes;
};

__attribute__((unused)) static struct digest input_digest(uint32_t seed, size_t size_bytes)
{
    uint8_t *all = bytes_of(seed, size_bytes);
    struct digest digest = digest_of(all, size_bytes);

    free(all);
    return digest;
}

/* Begins a pack of the store; `inputs` is what the store had, or NULL. */
static bool held(void *context, const struct digest *digest, uint64_t size_bytes)
{
    return store_inputs_holds(context, digest, size_bytes);
}

static bool may_be_held(void *context, uint64_t size_bytes)
{
    return store_inputs_may_hold(context, size_bytes);
}

__attribute__((unused)) static struct pack_writer *pack_begin(const struct store *store, struct store_inputs *inputs)
{
    const struct pack_elsewhere elsewhere = {.holds = held, .may_hold = may_be_held, .context = inputs};
    struct pack_writer *writer = NULL;
    struct err err;

    must(pack_writer_new_unnamed(store_folder(store), "recording", &writer, &err), &err);
    if (inputs != NULL)
        pack_writer_elsewhere(writer, &elsewhere);
    return writer;
}

__attribute__((unused)) static void inputs_put(struct pack_writer *writer, struct inputs what)
{
    for (uint32_t seed = what.first; seed <= what.last; seed++) {
        uint8_t *all = bytes_of(seed, what.size_bytes);
        struct digest digest;
        struct err err;

        must(pack_put(writer, PACK_INPUT, all, what.size_bytes, &digest, &err), &err);
        free(all);
    }
}

/* Ends it; gives its receipt. */
__attribute__((unused)) static struct digest pack_end(struct scene *scene, struct pack_writer *writer)
{
    char name[STORE_NAME_BYTES];
    struct digest receipt;
    struct err err;
    unsigned number = scene->pack_count++;

    must(pack_put(writer, PACK_OBSERVATION, &number, sizeof number, &receipt, &err), &err);
    store_pack_name(&receipt, name);
    must(pack_writer_name(writer, name, PACK_NAME_FRESH, &err), &err);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    return receipt;
}

/* Puts a pack of its own with these inputs into the store. */
__attribute__((unused)) static struct digest pack_add(struct scene *scene, struct inputs what)
{
    struct store *store = scene_open(scene);
    struct pack_writer *writer = pack_begin(store, NULL);
    struct digest receipt;

    inputs_put(writer, what);
    receipt = pack_end(scene, writer);
    store_close(store);
    return receipt;
}

/* The path of a pack. */
__attribute__((unused)) static void pack_path(const struct scene *scene, const struct digest *receipt, char out[256])
{
    char name[STORE_NAME_BYTES];

    store_pack_name(receipt, name);
    (void)snprintf(out, 256, "%s/%s", scene->path, name);
}

/* Flips a bit of each byte of a pack from `at` on. */
__attribute__((unused)) static void pack_flip(const struct scene *scene, const struct digest *receipt, off_t at,
                                              size_t size_bytes)
{
    char path[256];
    int fd;

    pack_path(scene, receipt, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t i = 0; i < size_bytes; i++) {
        uint8_t byte;

        assert_int_equal(pread(fd, &byte, 1, at + (off_t)i), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at + (off_t)i), 1);
    }
    (void)close(fd);
}
