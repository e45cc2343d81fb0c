/* A plan's YAML as it is recorded, and as a file of this machine (a file in memory; no candidate is beside it). */
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/plan.h"
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

/* Reads the plan as a file. It may name files that are there: whatever comes of it is an answer. */
static void read_file(const uint8_t *data, size_t size_bytes)
{
    AUTO_FD int fd = memfd_create("plan", MFD_CLOEXEC);
    struct plan plan = {0};
    struct err err = {0};
    char path[64];
    int code;

    fuzz_want(fd >= 0 && file_write_all(fd, data, size_bytes, &err) == 0, "memory for a file");
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    code = plan_read(path, "/nonexistent", &plan, &err);
    fuzz_want(code == 0 || (err.code == code && err.text[0] != '\0' && strchr(err.text, '\n') == NULL),
              "an error is one line");
    plan_done(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct plan plan = {0};
    struct err err = {0};
    int code = plan_parse_recorded(data, size_bytes, &plan, &err);

    fuzz_want_answer(code, &err);
    plan_done(&plan);
    read_file(data, size_bytes);
    return 0;
}
