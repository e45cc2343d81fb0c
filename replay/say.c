/*
 * One line on stderr.
 */
#include "replay/say.h"

#include "formats/claim.h"

#include <stdio.h>
#include <string.h>

void replay_say(const char *file, const char *text)
{
    (void)fputs("exhibit-replay: ", stderr);
    if (file != NULL) {
        text_print_escaped(stderr, file, strlen(file));
        (void)fputs(": ", stderr);
    }
    text_print_escaped(stderr, text, strlen(text));
    (void)fputc('\n', stderr);
}
