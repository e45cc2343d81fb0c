/*
 * Archives by member. Digests are not taken (the linker puts a counter in their place): a hole of 4 GiB in a few bytes
 * would take seconds.
 */
#include "formats/archive.h"
#include "formats/limits.h"
#include "formats/message.h"
#include "fuzz.h"

static uint64_t digested_bytes;

/* What the linker calls for digest_run_add. */
void __wrap_digest_run_add(struct digest_run *run, const void *from, size_t size_bytes);
void __wrap_digest_run_add(struct digest_run *run, const void *from, size_t size_bytes)
{
    (void)run;
    (void)from;
    digested_bytes += size_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct archive_list list = {0};
    struct err err = {0};
    uint64_t content_bytes = 0;
    int code;

    digested_bytes = 0;
    code = archive_list_read(data, size_bytes, &list, &err);
    fuzz_want(code == 0 || (err.code == code && err.text[0] != '\0'), "a failure is told");
    fuzz_want(digested_bytes <= LIMIT_ARCHIVE_CONTENT_BYTES, "no more is unpacked than is allowed");
    fuzz_want(code == 0 || list.count == 0, "no members after a failure");
    fuzz_want(list.count <= LIMIT_ARCHIVE_MEMBERS, "no more members than are allowed");
    for (size_t i = 0; i < list.count; i++) {
        fuzz_want(message_check(&list.members[i]->base, &err) == 0, "a member is a plain message");
        content_bytes += list.members[i]->size_bytes;
    }
    fuzz_want(code < 0 || content_bytes == digested_bytes, "members have the content that was digested");
    archive_list_done(&list);
    return 0;
}
