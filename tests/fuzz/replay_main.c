/*
 * Gives a fuzz target each file named on the command line: a corpus as an ordinary test, without libFuzzer.
 */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/file.h"

#include <fcntl.h>

int main(int argc, char *argv[])
{
    struct err err = {0};

    for (int i = 1; i < argc; i++) {
        struct bytes input = {0};

        if (file_read_path(AT_FDCWD, argv[i], 0, 1u << 30, &input, &err) < 0) {
            (void)fprintf(stderr, "%s: %s\n", argv[i], err.text);
            return 2;
        }
        (void)fprintf(stderr, "%s\n", argv[i]); /* the last line before a crash names its cause */
        (void)LLVMFuzzerTestOneInput(input.data == NULL ? (const uint8_t *)"" : input.data, input.size_bytes);
        bytes_done(&input);
    }
    return argc > 1 ? 0 : 2; /* nothing replayed is nothing shown */
}
