/*
 * Scenes written into real packs, and folders to write them in.
 */
#pragma once

#include "base/cleanup.h"
#include "formats/message.h"
#include "formats/stream.h"
#include "verify_scene.h"

#include <fcntl.h>
#include <unistd.h>

/* How a pack is to differ from the one that a recorder would write. */
struct scene_packing {
    const Exhibit__Claim *claim;  /* NULL: none */
    const char *extra;            /* an object that no record names */
    const struct digest *missing; /* an object that is left out */
    const char *input;            /* content of the retained file; NULL: "work" */
    bool other_run_id;
};

/* An empty folder; its path goes to `path` (32 bytes). Gives a descriptor. */
static inline int scene_folder(char path[32])
{
    int fd;

    (void)snprintf(path, 32, "/tmp/verify-XXXXXX");
    if (mkdtemp(path) == NULL)
        abort();
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert(fd >= 0);
    return fd;
}

static inline void scene_must(int code, const struct err *err)
{
    if (code < 0) {
        (void)fprintf(stderr, "%s\n", err->text);
        abort();
    }
}

static inline struct digest scene_put_message(struct pack_writer *pack, const ProtobufCMessage *message)
{
    AUTO_BYTES struct bytes packed = {0};
    struct digest digest;
    struct err err = {0};

    scene_must(message_pack(message, LIMIT_CLAIM_BYTES, &packed, &err), &err);
    scene_must(pack_put(pack, PACK_OBSERVATION, packed.data, packed.size_bytes, &digest, &err), &err);
    return digest;
}

/* Puts all that the scene's records name. */
static inline void scene_put_objects(const struct scene *scene, struct pack_writer *pack,
                                     const struct scene_packing *packing)
{
    const char *input = packing->input == NULL ? "work" : packing->input;
    struct digest digest;
    struct err err = {0};

    for (size_t i = 0; i < scene->object_count; i++) {
        const struct scene_object *object = &scene->objects[i];

        if (packing->missing != NULL && digest_equal(&object->digest, packing->missing))
            continue;
        scene_must(pack_put(pack, PACK_OBSERVATION, object->content.data, object->content.size_bytes, &digest, &err),
                   &err);
    }
    scene_must(pack_put(pack, PACK_INPUT, input, strlen(input), &digest, &err), &err);
    if (packing->extra != NULL)
        scene_must(pack_put(pack, PACK_OBSERVATION, packing->extra, strlen(packing->extra), &digest, &err), &err);
}

/* Writes a sealed scene as the pack `name`; gives the receipt's digest. */
static inline struct digest scene_write(const struct scene *scene, const struct scene_packing *packing, int dir_fd,
                                        const char *name)
{
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    struct stream_writer *events;
    struct pack_writer *pack = NULL;
    const Exhibit__Stream *log = NULL;
    struct digest receipt_digest, claim_digest;
    Exhibit__Claim claim;
    struct err err = {0};

    scene_must(pack_writer_new(dir_fd, name, &pack, &err), &err);
    scene_put_objects(scene, pack, packing);
    events = stream_writer_new(pack);
    for (size_t i = 0; i < scene->count; i++)
        scene_must(events_append(events, scene->events[i].event, &err), &err);
    scene_must(stream_writer_finish(events, &log, &err), &err);
    receipt.version = 1;
    receipt.run_id = (ProtobufCBinaryData){
        RUN_ID_BYTES, (uint8_t *)(uintptr_t)(packing->other_run_id ? "fedcba9876543210" : "0123456789abcdef")};
    receipt.events = (Exhibit__Stream *)(uintptr_t)log;
    receipt.partial = scene->partial;
    receipt_digest = scene_put_message(pack, &receipt.base);
    stream_writer_free(events);
    if (packing->claim != NULL) {
        claim = *packing->claim; /* made before the receipt had its digest */
        claim.receipt_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, receipt_digest.bytes};
        claim_digest = scene_put_message(pack, &claim.base);
    }
    scene_must(pack_writer_finish(pack, &receipt_digest, packing->claim == NULL ? NULL : &claim_digest, &err), &err);
    return receipt_digest;
}
