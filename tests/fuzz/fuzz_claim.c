/* The claim as it stands in a pack, and what it looks like to people and programs. */
#include "fake_pack.h"
#include "formats/claim.h"
#include "formats/stream.h"
#include "fuzz.h"

/* Prints a claim in each form into memory. */
static void show(const Exhibit__Claim *claim)
{
    json_t *json = claim_to_json(claim);
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *out = open_memstream(&text, &text_bytes);

    fuzz_want(out != NULL && json != NULL, "memory for a printed claim");
    claim_print(claim, out);
    fuzz_want(fclose(out) == 0 && text_bytes > 0, "a claim is printed");
    for (size_t i = 0; i < text_bytes; i++)
        fuzz_want(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'), "nothing printed steers a terminal");
    free(text);
    text = json_dumps(json, JSON_COMPACT);
    fuzz_want(text != NULL, "a claim has a JSON form");
    free(text);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Claim *claim = NULL;
    struct bytes again = {0};
    struct err err = {0};
    int code;

    fake_pack_of(data, size_bytes);
    code = claim_read(NULL, &arena, &claim, &err);
    fuzz_want_answer(code, &err);
    if (code < 0)
        return 0;
    fuzz_want(message_pack(&claim->base, LIMIT_CLAIM_BYTES, &again, &err) == 0, "what was read can be packed");
    fuzz_want(again.size_bytes == size_bytes && memcmp(again.data, data, size_bytes) == 0, "one encoding of a claim");
    fuzz_want(claim_pack_comparable(claim, &again, &err) == 0, "a claim can be compared");
    show(claim);
    bytes_done(&again);
    return 0;
}
