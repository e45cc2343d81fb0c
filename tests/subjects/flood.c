/*
 * Writes COUNT pieces of 64 KiB to stdout: flood COUNT [fork]. Each piece is its number in 8 bytes, little-endian, over
 * and over. With `fork` each is written by a child of its own, which ends by _exit() right behind the last byte.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE_BYTES 65536

static void piece_write(uint64_t number)
{
    static uint64_t piece[PIECE_BYTES / sizeof number];
    const char *from = (const char *)piece;
    size_t left_bytes = PIECE_BYTES;

    for (size_t i = 0; i < PIECE_BYTES / sizeof number; i++)
        piece[i] = number;
    while (left_bytes > 0) {
        ssize_t put = write(STDOUT_FILENO, from, left_bytes);

        if (put < 0)
            _exit(1);
        from += put;
        left_bytes -= (size_t)put;
    }
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int status = 0;

    for (uint64_t number = 0; number < count; number++) {
        pid_t child = argc > 2 ? fork() : 0;

        if (child < 0)
            return 1;
        if (child == 0)
            piece_write(number);
        if (child == 0 && argc > 2)
            _exit(0);
        if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
            return 1;
    }
    return 0;
}
