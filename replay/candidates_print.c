/*
 * The table as text and as Markdown. Each cell is made when it is needed: once to measure, once to print.
 */
#include "base/cleanup.h"
#include "replay/candidates_cells.h"

#include <string.h>

/* Makes a cell's text. NULL: out of memory. */
static char *cell_text(const struct candidate_row *row, int cell)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    bool failed;

    if (out == NULL)
        return NULL;
    cell_write(row, cell, out);
    failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* Widens a column to the longest line of a cell. */
static void widen(const char *text, size_t *width)
{
    while (*text != 0) {
        size_t length = strcspn(text, "\n");

        if (length > *width)
            *width = length;
        text += length + (text[length] != 0);
    }
}

/* False: out of memory. */
static bool measure(const struct candidates *table, size_t widths[CELL_COUNT])
{
    for (int cell = 0; cell < CELL_COUNT; cell++)
        widths[cell] = strlen(cell_names[cell]);
    for (size_t i = 0; i < table->row_count; i++)
        for (int cell = 0; cell < CELL_COUNT; cell++) {
            AUTO_FREE char *text = cell_text(table->rows[i], cell);

            if (text == NULL)
                return false;
            widen(text, &widths[cell]);
        }
    return true;
}

/* Prints one line of every cell, and moves each on to its next. False: there was none left. */
static bool print_line(const char *rest[CELL_COUNT], const size_t widths[CELL_COUNT], FILE *out)
{
    size_t owed = 0; /* spaces before the next piece, so that no line ends in spaces */
    bool any = false;

    for (int cell = 0; cell < CELL_COUNT; cell++)
        any = any || *rest[cell] != 0;
    if (!any)
        return false;
    for (int cell = 0; cell < CELL_COUNT; cell++) {
        size_t length = strcspn(rest[cell], "\n");

        if (length > 0) {
            (void)fprintf(out, "%*s%.*s", (int)owed, "", (int)length, rest[cell]);
            owed = 0;
        }
        owed += widths[cell] - length + 2;
        rest[cell] += length + (rest[cell][length] != 0);
    }
    (void)fputc('\n', out);
    return true;
}

/* False: out of memory. */
static bool print_row(const struct candidate_row *row, const size_t widths[CELL_COUNT], FILE *out)
{
    char *texts[CELL_COUNT];
    const char *rest[CELL_COUNT];
    bool done = true;

    for (int cell = 0; cell < CELL_COUNT; cell++) {
        rest[cell] = texts[cell] = cell_text(row, cell);
        done = done && texts[cell] != NULL;
    }
    while (done && print_line(rest, widths, out))
        continue;
    for (int cell = 0; cell < CELL_COUNT; cell++)
        free(texts[cell]);
    return done;
}

bool candidates_print_text(const struct candidates *table, FILE *out)
{
    const char *heads[CELL_COUNT];
    size_t widths[CELL_COUNT];
    bool done = measure(table, widths);

    memcpy(heads, cell_names, sizeof heads);
    if (done)
        (void)print_line(heads, widths, out);
    for (size_t i = 0; i < table->row_count && done; i++) {
        (void)fputc('\n', out);
        done = print_row(table->rows[i], widths, out);
    }
    return done && !ferror(out);
}

/* What Markdown would read as its own is said not to be; a line of the cell ends in <br>. */
static void markdown_write(const char *text, FILE *out)
{
    for (; *text != 0; text++) {
        if (*text == '\n') {
            (void)fputs("<br>", out);
            continue;
        }
        if (strchr("\\`*_[]<>|&~$#", *text) != NULL)
            (void)fputc('\\', out);
        (void)fputc(*text, out);
    }
}

bool candidates_print_markdown(const struct candidates *table, FILE *out)
{
    for (int cell = 0; cell < CELL_COUNT; cell++)
        (void)fprintf(out, "| %s ", cell_names[cell]);
    (void)fputs("|\n", out);
    for (int cell = 0; cell < CELL_COUNT; cell++)
        (void)fputs("| --- ", out);
    (void)fputs("|\n", out);
    for (size_t i = 0; i < table->row_count; i++) {
        for (int cell = 0; cell < CELL_COUNT; cell++) {
            AUTO_FREE char *text = cell_text(table->rows[i], cell);

            if (text == NULL)
                return false;
            (void)fputs("| ", out);
            markdown_write(text, out);
            (void)fputc(' ', out);
        }
        (void)fputs("|\n", out);
    }
    return !ferror(out);
}
