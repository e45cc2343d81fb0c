/*
 * A pack without its end, from which salvage takes what is whole: what is handed on has its digest and its size; and of
 * the whole groups alone the same comes again, but for what was whole in the group that ended them.
 */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/pack_salvage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int take(void *context, const struct pack_found *found, struct err *err)
{
    struct bytes *taken = context; /* all digests, in their order */
    struct digest seen;
    uint64_t size_bytes = found->size_bytes;

    fuzz_want(found->part == PACK_OBSERVATION || found->part == PACK_INPUT, "an object is of a part");
    fuzz_want((found->content == NULL) == (found->size_bytes > LIMIT_BLOCK_BYTES), "a large object alone is in a file");
    if (found->content != NULL)
        seen = digest_of(found->content, (size_t)found->size_bytes);
    else
        fuzz_want(digest_of_fd(found->fd, &seen, &size_bytes, err) == 0, "a spooled object can be read");
    fuzz_want(size_bytes == found->size_bytes && digest_equal(&seen, &found->digest), "an object is what it is called");
    return bytes_add(taken, found->digest.bytes, DIGEST_BYTES, SIZE_MAX / 2, err);
}

static int salvage(int fd, int spool_fd, struct bytes *out, uint64_t *out_whole_bytes)
{
    struct err err = {0};
    int code = pack_salvage(fd, spool_fd, take, out, out_whole_bytes, &err);

    fuzz_want_answer(code, &err);
    fuzz_want(code != ERR_LIMIT || out->size_bytes == 0, "nothing of what is too large is handed on");
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    AUTO_FD int fd = memfd_create("pack", MFD_CLOEXEC), spool_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_BYTES struct bytes first = {0}, again = {0};
    uint64_t whole_bytes = 0, again_bytes = 0;
    struct err err = {0};
    int code;

    fuzz_want(fd >= 0 && spool_fd >= 0 && file_write_all(fd, data, size_bytes, &err) == 0, "memory for a file");
    code = salvage(fd, spool_fd, &first, &whole_bytes);
    fuzz_want(code < 0 || whole_bytes <= size_bytes, "whole groups lie in the file");
    if (code < 0)
        return 0;
    fuzz_want(ftruncate(fd, (off_t)whole_bytes) == 0, "cut a file");
    fuzz_want(salvage(fd, spool_fd, &again, &again_bytes) == 0 && again_bytes == whole_bytes,
              "whole groups stay whole");
    fuzz_want(again.size_bytes <= first.size_bytes &&
                  (again.size_bytes == 0 || memcmp(again.data, first.data, again.size_bytes) == 0),
              "the same objects come again");
    return 0;
}
