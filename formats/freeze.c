#include "formats/freeze.h"

#include "base/bytes.h"
#include "formats/message.h"

enum {
    ENTRY_TAG = 1 << 3 | 2, /* FreezeList.entries, delimited by length */
    HEAD_MOST_BYTES = 11    /* the tag and the longest length */
};

struct freeze_reading {
    freeze_take *take;
    void *context;
    bool known;
    struct arena arena; /* of one entry */
    struct bytes rest;  /* of the pieces so far: the beginning of an entry */
};

static int not_a_list(struct err *err)
{
    return err_set(err, ERR_FORMAT, "FORMAT 7.5: not a FreezeList");
}

/* Takes the packed bytes of the next entry. Returns 1, 0 where they are not all there yet, or a negative err_code. */
static int next_take(struct cursor *from, struct cursor *out, struct err *err)
{
    struct cursor at = *from;
    uint64_t tag, size_bytes;

    if (!cursor_take_varint(&at, &tag) || tag != ENTRY_TAG || !cursor_take_varint(&at, &size_bytes))
        return from->left_bytes >= HEAD_MOST_BYTES || (from->left_bytes > 0 && *from->at != ENTRY_TAG) ? not_a_list(err)
                                                                                                       : 0;
    if (size_bytes > LIMIT_FREEZE_BYTES)
        return not_a_list(err);
    if (!cursor_take_bytes(&at, (size_t)size_bytes, out))
        return 0;
    *from = at;
    return 1;
}

/* Takes the entries that are whole; the cursor is at the first that is not then. */
static int entries_take(struct freeze_reading *reading, struct cursor *from, struct err *err)
{
    struct cursor packed;
    int taken;

    while ((taken = next_take(from, &packed, err)) > 0) {
        ProtobufCMessage *message;

        arena_empty(&reading->arena);
        if (message_unpack_in(&reading->arena, reading->known, &exhibit__freeze_entry__descriptor, packed.at,
                              packed.left_bytes, &message, err) < 0 ||
            reading->take(reading->context, (const Exhibit__FreezeEntry *)message, &packed, err) < 0)
            return err->code;
    }
    return taken;
}

static int piece_take(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct freeze_reading *reading = context;
    struct cursor from = {piece, size_bytes};
    struct bytes rest = {0};
    int code = 0;

    if (reading->rest.size_bytes > 0) {
        if (bytes_add(&reading->rest, piece, size_bytes, SIZE_MAX - 1, err) < 0)
            return err->code;
        from = (struct cursor){reading->rest.data, reading->rest.size_bytes};
    }
    if (entries_take(reading, &from, err) < 0)
        return err->code;
    if (from.at == reading->rest.data) /* an entry of many pieces */
        return 0;
    if (from.left_bytes > 0)
        code = bytes_add(&rest, from.at, from.left_bytes, SIZE_MAX - 1, err);
    if (code == 0) {
        bytes_done(&reading->rest);
        reading->rest = rest;
    }
    return code;
}

static int reading_end(struct freeze_reading *reading, int code, struct err *err)
{
    if (code == 0 && reading->rest.size_bytes > 0)
        code = not_a_list(err);
    bytes_done(&reading->rest);
    arena_done(&reading->arena);
    return code;
}

int freeze_read(struct pack *pack, const struct digest *list, bool known, freeze_take *take, void *context,
                struct err *err)
{
    struct freeze_reading reading = {.take = take, .context = context, .known = known};
    struct pack_object object;

    if (pack_find(pack, PACK_OBSERVATION, list, &object) && object.size_bytes > LIMIT_FREEZE_BYTES)
        return err_set(err, ERR_LIMIT, "FORMAT 1.9: a FreezeList of more than %u bytes", LIMIT_FREEZE_BYTES);
    return reading_end(&reading, pack_read_pieces(pack, PACK_OBSERVATION, list, piece_take, &reading, err), err);
}

int freeze_walk(const void *list, size_t size_bytes, freeze_take *take, void *context, struct err *err)
{
    struct freeze_reading reading = {.take = take, .context = context};

    return reading_end(&reading, piece_take(&reading, list, size_bytes, err), err);
}
