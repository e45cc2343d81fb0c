/*
 * Prints each argument and the variable ODD, each with a NUL behind it, then stdin, all byte by byte.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *odd = getenv("ODD");
    int byte;

    for (int i = 1; i < argc; i++)
        (void)printf("%s%c", argv[i], 0);
    (void)printf("%s%c", odd == NULL ? "(none)" : odd, 0);
    while ((byte = getchar()) != EOF)
        (void)putchar(byte);
    return 0;
}
