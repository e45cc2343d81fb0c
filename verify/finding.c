/*
 * Keeping findings in words that are safe to print.
 */
#include "verify/finding.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void finding_add(struct findings *findings, const char *fmt, ...)
{
    char text[1536], *safe;
    size_t used = 0;
    va_list args;

    findings->count++;
    if (findings->kept == FINDING_KEPT)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    safe = malloc(strlen(text) * 4 + 1);
    if (safe == NULL) /* it is counted all the same, so the verdict stands */
        return;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at >= ' ' && *at <= '~')
            safe[used++] = *at;
        else
            used += (size_t)snprintf(safe + used, 5, "\\x%02x", (unsigned char)*at);
    }
    assert(used <= strlen(text) * 4);
    safe[used] = '\0';
    findings->texts[findings->kept++] = safe;
}

int finding_of_error(struct findings *findings, const char *what, const struct err *err)
{
    if (err->code == ERR_SYSTEM)
        return ERR_SYSTEM;
    finding_add(findings, "%s: %s: %s", what, err_kind_text(err->code), err->text);
    return 0;
}

void finding_done(struct findings *findings)
{
    for (size_t i = 0; i < findings->kept; i++)
        free(findings->texts[i]);
    *findings = (struct findings){0};
}
