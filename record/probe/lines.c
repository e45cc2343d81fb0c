/*
 * Writing the probe's lines.
 */
#include "record/probe/lines.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct line {
    char text[LIMIT_LINE_BYTES + 1];
    size_t size_bytes;
};

static void line_add(struct line *line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line_add(struct line *line, const char *fmt, ...)
{
    size_t room_bytes = sizeof line->text - line->size_bytes;
    va_list args;
    int added;

    va_start(args, fmt);
    added = vsnprintf(line->text + line->size_bytes, room_bytes, fmt, args);
    va_end(args);
    assert(added > 0 && (size_t)added < room_bytes);
    line->size_bytes += (size_t)added;
}

/* One write(2) each: a pipe keeps it whole, and a line that was cut short is no line. */
static void line_write(const struct lines *lines, const struct line *line)
{
    (void)!write(STDOUT_FILENO, line->text, line->size_bytes);
    if (lines->file_fd >= 0)
        (void)!write(lines->file_fd, line->text, line->size_bytes);
}

struct lines lines_open(const struct assignment *assignment)
{
    char path[LIMIT_PATH_BYTES + 64];
    int size_bytes =
        snprintf(path, sizeof path, "%s/exhibit-probe-%s.lines", assignment->scratch, role_name(assignment->role));

    assert(size_bytes > 0 && (size_t)size_bytes < sizeof path);
    return (struct lines){.assignment = assignment,
                          .file_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)};
}

static void line_start(struct line *line, const struct lines *lines, const char *kind, uint32_t round)
{
    line->size_bytes = 0;
    line_add(line, "EXHIBIT1 %s %s %s %" PRIu32, kind, lines->assignment->nonce, role_name(lines->assignment->role),
             round);
}

void lines_try(const struct lines *lines, uint32_t round, enum effect effect)
{
    struct line line;

    line_start(&line, lines, "try", round);
    line_add(&line, " %s\n", effect_name(effect));
    line_write(lines, &line);
}

static void line_add_told(struct line *line, const struct told *told)
{
    switch (told->kind) {
    case TOLD_OK:
        line_add(line, told->proof[0] == '\0' ? "ok%s" : "ok:%s", told->proof);
        return;
    case TOLD_ERRNO:
        line_add(line, "errno:%d", told->number);
        return;
    case TOLD_TIMEOUT:
        line_add(line, "timeout");
        return;
    case TOLD_SIGNAL:
        line_add(line, "signal:%d", told->number);
        return;
    }
    assert(told->kind >= TOLD_OK && told->kind <= TOLD_SIGNAL);
}

void lines_row(const struct lines *lines, uint32_t round, const struct told told[EFFECT_COUNT])
{
    const struct assignment *assignment = lines->assignment;
    struct line line;

    line_start(&line, lines, "row", round);
    for (size_t i = 0; i < assignment->effect_count; i++) {
        line_add(&line, " %s=", effect_name(assignment->effects[i]));
        line_add_told(&line, &told[i]);
    }
    line_add(&line, "\n");
    line_write(lines, &line);
}
