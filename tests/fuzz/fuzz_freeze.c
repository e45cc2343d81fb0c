/* A FreezeList: the one protobuf root that events name by digest. Read with an allocation for each field, and in
 * blocks. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    ProtobufCMessage *list = NULL;
    struct message_arena arena = {0};
    struct err err = {0};
    int code = message_unpack(&exhibit__freeze_list__descriptor, data, size_bytes, &list, &err);

    fuzz_want_answer(code, &err);
    if (code == 0) {
        want_same(list, data, size_bytes);
        protobuf_c_message_free_unpacked(list, NULL);
    }
    for (int known = 0; known <= (code == 0); known++) { /* known: found plain before, and not looked at */
        fuzz_want(message_unpack_in(&arena, known == 1, &exhibit__freeze_list__descriptor, data, size_bytes, &list,
                                    &err) == code,
                  "it is the same in blocks");
        if (code == 0)
            want_same(list, data, size_bytes);
    }
    message_arena_done(&arena);
    return 0;
}
