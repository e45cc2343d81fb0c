/* Copies a pack without its claim: strip-claim FROM TO. For tests; everything else stays what it is. */
#include "base/cleanup.h"
#include "formats/pack.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>

struct copy {
    struct bytes bytes;
};

static int piece_take(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct copy *copy = context;

    return bytes_add(&copy->bytes, piece, size_bytes, 1u << 30, err);
}

static int objects_copy(struct pack *pack, struct pack_writer *writer, enum pack_part part, struct err *err)
{
    struct digest claim;
    bool has_claim = pack_claim(pack, &claim);

    for (uint32_t i = 0; i < pack_object_count(pack, part); i++) {
        struct pack_object object = pack_object_at(pack, part, i);
        struct copy copy = {0};
        struct digest digest;
        int code = 0;

        if (part == PACK_OBSERVATION && has_claim && digest_equal(&object.digest, &claim))
            continue;
        if (pack_read_pieces(pack, part, &object.digest, piece_take, &copy, err) < 0)
            code = err->code;
        else
            code = pack_put(writer, part, copy.bytes.data, copy.bytes.size_bytes, &digest, err);
        bytes_done(&copy.bytes);
        if (code < 0)
            return code;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct pack *pack = NULL;
    struct pack_writer *writer = NULL;
    struct err err = {0};
    struct digest receipt;
    AUTO_FD int from = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    AUTO_FREE char *folder = argc == 3 ? strdup(argv[2]) : NULL;
    AUTO_FREE char *name = argc == 3 ? strdup(argv[2]) : NULL;
    AUTO_FD int to = folder == NULL ? -1 : open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (from < 0 || to < 0 || name == NULL)
        return 2;
    if (pack_open(from, &pack, &err) < 0 || pack_writer_new(to, basename(name), &writer, &err) < 0 ||
        objects_copy(pack, writer, PACK_OBSERVATION, &err) < 0 || objects_copy(pack, writer, PACK_INPUT, &err) < 0) {
        (void)fprintf(stderr, "strip-claim: %s\n", err.text);
        pack_writer_abandon(writer);
        pack_close(pack);
        return 1;
    }
    receipt = pack_receipt(pack);
    pack_close(pack);
    if (pack_writer_finish(writer, &receipt, NULL, &err) < 0) {
        (void)fprintf(stderr, "strip-claim: %s\n", err.text);
        return 1;
    }
    return 0;
}
