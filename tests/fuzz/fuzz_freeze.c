/* A FreezeList: the one protobuf root that events name by digest. Read as a message with an allocation for each field
 * and in blocks, and entry by entry. */
#include "formats/freeze.h"
#include "formats/message.h"
#include "fuzz.h"
#include "proto/exhibit.pb-c.h"

/* Whether packing gives these bytes again. */
static void want_same(const ProtobufCMessage *list, const uint8_t *data, size_t size_bytes)
{
    struct bytes again = {0};
    struct err err = {0};

    fuzz_want(message_pack(list, SIZE_MAX / 2, &again, &err) == 0, "what was read can be packed");
    fuzz_want(again.size_bytes == size_bytes && (size_bytes == 0 || memcmp(again.data, data, size_bytes) == 0),
              "one encoding of a list");
    bytes_done(&again);
}

/* Wants the entry to be the list's next one. */
static int take(void *context, const Exhibit__FreezeEntry *entry, const struct cursor *packed, struct err *err)
{
    Exhibit__FreezeEntry ***next = context;
    struct bytes again = {0};

    fuzz_want(message_pack(&entry->base, SIZE_MAX / 2, &again, err) == 0, "an entry can be packed");
    fuzz_want(again.size_bytes == packed->left_bytes &&
                  (packed->left_bytes == 0 || memcmp(again.data, packed->at, packed->left_bytes) == 0),
              "one encoding of an entry");
    bytes_done(&again);
    if (*next != NULL) {
        fuzz_want(message_pack(&(**next)->base, SIZE_MAX / 2, &again, err) == 0 &&
                      again.size_bytes == packed->left_bytes &&
                      (packed->left_bytes == 0 || memcmp(again.data, packed->at, packed->left_bytes) == 0),
                  "it is the same entry in the whole list");
        bytes_done(&again);
        (*next)++;
    }
    return 0;
}

/* Entry by entry it is the same list; what takes too much memory as a whole may do so in parts. */
static void want_entries(const Exhibit__FreezeList *list, int code, const uint8_t *data, size_t size_bytes)
{
    Exhibit__FreezeEntry **next = list == NULL ? NULL : list->entries;
    struct err err = {0};
    int by_entry = freeze_walk(data, size_bytes, take, &next, &err);

    fuzz_want_answer(by_entry, &err);
    fuzz_want(by_entry == code || code == ERR_LIMIT, "it is the same entry by entry");
    fuzz_want(code < 0 || list->n_entries == 0 || next == list->entries + list->n_entries, "no entry is left out");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    ProtobufCMessage *list = NULL;
    struct arena arena = {0};
    struct err err = {0};
    int code = message_unpack(&exhibit__freeze_list__descriptor, data, size_bytes, &list, &err);

    fuzz_want_answer(code, &err);
    want_entries(code == 0 ? (const Exhibit__FreezeList *)list : NULL, code, data, size_bytes);
    if (code == 0) {
        want_same(list, data, size_bytes);
        protobuf_c_message_free_unpacked(list, NULL);
    }
    for (int known = 0; known <= (code == 0); known++) { /* known: found plain before, and not looked at */
        arena_empty(&arena);
        fuzz_want(message_unpack_in(&arena, known == 1, &exhibit__freeze_list__descriptor, data, size_bytes, &list,
                                    &err) == code,
                  "it is the same in blocks");
        if (code == 0)
            want_same(list, data, size_bytes);
    }
    arena_done(&arena);
    return 0;
}
