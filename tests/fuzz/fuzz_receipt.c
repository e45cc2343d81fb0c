/* The receipt as it stands in a pack: bytes that are accepted are what packing gives. */
#include "fake_pack.h"
#include "formats/stream.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    struct bytes again = {0};
    struct err err = {0};
    int code;

    fake_pack_of(data, size_bytes);
    code = receipt_read(NULL, &arena, &receipt, &err);
    fuzz_want_answer(code, &err);
    if (code < 0)
        return 0;
    fuzz_want(message_pack(&receipt->base, LIMIT_RECEIPT_BYTES, &again, &err) == 0, "what was read can be packed");
    fuzz_want(again.size_bytes == size_bytes && memcmp(again.data, data, size_bytes) == 0, "one encoding of a receipt");
    bytes_done(&again);
    return 0;
}
