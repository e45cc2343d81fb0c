/* A FreezeList: the one protobuf root that events name by digest. */
#include "formats/message.h"
#include "fuzz.h"
#include "proto/exhibit.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    ProtobufCMessage *list = NULL;
    struct bytes again = {0};
    struct err err = {0};
    int code = message_unpack(&exhibit__freeze_list__descriptor, data, size_bytes, &list, &err);

    fuzz_want_answer(code, &err);
    if (code < 0)
        return 0;
    fuzz_want(message_pack(list, SIZE_MAX / 2, &again, &err) == 0, "what was read can be packed");
    fuzz_want(again.size_bytes == size_bytes && (size_bytes == 0 || memcmp(again.data, data, size_bytes) == 0),
              "one encoding of a list");
    bytes_done(&again);
    protobuf_c_message_free_unpacked(list, NULL);
    return 0;
}
