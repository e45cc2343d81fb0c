#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list args;

    assert(code != ERR_OK);
    err->code = code;
    err->sys_errno = 0;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    return code;
}

int err_set_errno(struct err *err, const char *fmt, ...)
{
    int saved = errno;
    size_t used;
    va_list args;

    err->code = ERR_SYSTEM;
    err->sys_errno = saved;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(saved));
    return ERR_SYSTEM;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    char old[sizeof err->text];
    size_t used;
    va_list args;

    assert(err->code != ERR_OK);
    memcpy(old, err->text, sizeof old);
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof err->text - used, ": %s", old);
    return err->code;
}

const char *err_kind_text(enum err_code code)
{
    switch (code) {
    case ERR_OK:
        return "no error";
    case ERR_SYSTEM:
        return "could not";
    case ERR_FORMAT:
        return "malformed";
    case ERR_MISMATCH:
        return "false";
    case ERR_LIMIT:
        return "over a limit";
    case ERR_USAGE:
        return "wrong usage";
    }
    return "unknown";
}
