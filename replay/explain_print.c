/*
 * An explanation as text. Every text in it is printable already. A place that was told in full is not told again.
 */
#include "replay/explain.h"

#include "formats/claim.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { SHOWN_EVENTS = 1024, INDENT = 4 };

struct printing {
    FILE *out;
    json_int_t shown[SHOWN_EVENTS]; /* the sequence numbers of events that were told */
    size_t shown_count;
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

static json_int_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void indent(const struct printing *printing, int depth)
{
    (void)fprintf(printing->out, "%*s", INDENT * depth, "");
}

/* A command for one piece. tail counts from 1. */
static void print_piece(const struct printing *printing, const json_t *piece, int depth)
{
    FILE *out = printing->out;

    indent(printing, depth);
    if (json_object_get(piece, "segment") != NULL)
        (void)fprintf(out, "segment %" JSON_INTEGER_FORMAT ", ", number_of(piece, "segment"));
    (void)fprintf(out, "object %s from its byte %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT " bytes\n",
                  text_of(piece, "object"), number_of(piece, "object_offset"), number_of(piece, "size"));
    indent(printing, depth);
    (void)fprintf(out,
                  "index entry of the object at %" JSON_INTEGER_FORMAT ", of its block at %" JSON_INTEGER_FORMAT
                  "; frame at %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
                  " bytes; offset in its content %" JSON_INTEGER_FORMAT "\n",
                  number_of(piece, "object_entry_at"), number_of(piece, "block_entry_at"), number_of(piece, "frame_at"),
                  number_of(piece, "frame_size"), number_of(piece, "content_offset"));
    indent(printing, depth);
    (void)fprintf(out,
                  "$ tail -c +%" JSON_INTEGER_FORMAT " \"$F\" | head -c %" JSON_INTEGER_FORMAT
                  " | zstd -dc | tail -c +%" JSON_INTEGER_FORMAT " | head -c %" JSON_INTEGER_FORMAT "\n",
                  number_of(piece, "frame_at") + 1, number_of(piece, "frame_size"),
                  number_of(piece, "content_offset") + 1, number_of(piece, "size"));
}

static void print_place(const struct printing *printing, const json_t *place, const char *whole, int depth)
{
    const json_t *pieces = json_object_get(place, "pieces");
    json_int_t offset = number_of(place, "offset"), size = number_of(place, "size"), told = 0;

    indent(printing, depth);
    (void)fprintf(printing->out,
                  "bytes %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT " of %s: %" JSON_INTEGER_FORMAT "\n",
                  offset, offset + size - 1, whole, size);
    for (size_t i = 0; i < json_array_size(pieces); i++) {
        print_piece(printing, json_array_get(pieces, i), depth);
        told += number_of(json_array_get(pieces, i), "size");
    }
    if (told < size) {
        indent(printing, depth);
        (void)fprintf(printing->out, "and %" JSON_INTEGER_FORMAT " bytes in more pieces\n", size - told);
    }
}

/* Escaped bytes, a line of theirs in a line. */
static void print_text(const struct printing *printing, const char *text, int depth)
{
    indent(printing, depth);
    (void)fputs("| ", printing->out);
    while (*text != 0) {
        size_t taken = *text != '\\' ? 1 : text[1] == 'x' ? 4 : 2;
        bool newline = strncmp(text, "\\x0a", 4) == 0;

        (void)fwrite(text, 1, taken, printing->out);
        text += taken;
        if (newline && *text != 0) {
            (void)fputc('\n', printing->out);
            indent(printing, depth);
            (void)fputs("| ", printing->out);
        }
    }
    (void)fputc('\n', printing->out);
}

/* A message's fields; text_print_escaped's form has no quotes in it that JSON would have to escape but '"' itself. */
static void print_fields(const struct printing *printing, const json_t *fields, int depth)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)fields, key, value)
    {
        indent(printing, depth);
        (void)fprintf(printing->out, "%s: ", key);
        if (json_is_string(value))
            (void)fputs(json_string_value(value), printing->out);
        else
            (void)json_dumpf(value, printing->out, JSON_ENCODE_ANY | JSON_COMPACT);
        (void)fputc('\n', printing->out);
    }
}

/* Whether an event was told before; it counts as told from now on. */
static bool was_shown(struct printing *printing, json_int_t seq)
{
    for (size_t i = 0; i < printing->shown_count; i++)
        if (printing->shown[i] == seq)
            return true;
    if (printing->shown_count < SHOWN_EVENTS)
        printing->shown[printing->shown_count++] = seq;
    return false;
}

static void print_event(struct printing *printing, const json_t *event, int depth)
{
    json_int_t seq = number_of(event, "seq"), since = number_of(event, "since_start_ns");

    if (seq == 0) {
        (void)fputs("no event\n", printing->out);
        return;
    }
    (void)fprintf(printing->out, "event %" JSON_INTEGER_FORMAT ", %s", seq, text_of(event, "kind"));
    if (was_shown(printing, seq)) {
        (void)fputs(", told above\n", printing->out);
        return;
    }
    (void)fprintf(printing->out, " (%s, %s, run %" JSON_INTEGER_FORMAT ") at ", text_of(event, "source"),
                  text_of(event, "vantage"), number_of(event, "run"));
    if (json_is_integer(json_object_get(event, "at_ns")))
        (void)fprintf(printing->out, "%" JSON_INTEGER_FORMAT, number_of(event, "at_ns"));
    else /* a number beyond what JSON holds */
        (void)fputs(text_of(event, "at_ns"), printing->out);
    (void)fprintf(printing->out, " ns, %" JSON_INTEGER_FORMAT ".%06" JSON_INTEGER_FORMAT " s into the recording\n",
                  since / 1000000000, since % 1000000000 / 1000);
    print_fields(printing, json_object_get(event, "fields"), depth + 1);
    print_place(printing, json_object_get(event, "place"), "the event log", depth + 1);
}

/* Bytes of a stream or of an object. */
static void print_bytes(const struct printing *printing, const json_t *bytes, int depth)
{
    char whole[160];

    if (json_object_get(bytes, "stream") != NULL)
        (void)snprintf(whole, sizeof whole, "%s of run %" JSON_INTEGER_FORMAT, text_of(bytes, "stream"),
                       number_of(bytes, "run"));
    else
        (void)snprintf(whole, sizeof whole, "the object");
    print_text(printing, text_of(bytes, "text"), depth);
    if (json_object_get(bytes, "shown") != NULL) {
        indent(printing, depth);
        (void)fprintf(printing->out, "(the first %" JSON_INTEGER_FORMAT " bytes are shown)\n",
                      number_of(bytes, "shown"));
    }
    print_place(printing, json_object_get(bytes, "place"), whole, depth);
}

static void print_fact(struct printing *printing, const json_t *fact)
{
    static const struct {
        const char *key, *what;
    } events[] = {{"event", ""}, {"arrived", "it came with "}, {"listed", "the stream is listed in "}};

    (void)fprintf(printing->out, "  - %s: ", text_of(fact, "what"));
    if (json_object_get(fact, "event") == NULL)
        (void)fputc('\n', printing->out);
    if (json_object_get(fact, "bytes") != NULL)
        print_bytes(printing, json_object_get(fact, "bytes"), 1);
    if (json_object_get(fact, "content") != NULL)
        print_bytes(printing, json_object_get(fact, "content"), 1);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        const json_t *event = json_object_get(fact, events[i].key);

        if (event == NULL)
            continue;
        if (i > 0)
            indent(printing, 1);
        (void)fputs(events[i].what, printing->out);
        print_event(printing, event, 1);
    }
}

static void print_roots(const struct printing *printing, const json_t *explanation)
{
    const json_t *roots = json_object_get(explanation, "roots"), *footer = json_object_get(roots, "footer");
    const json_t *log = json_object_get(roots, "log");

    (void)fprintf(printing->out, "the footer, at %" JSON_INTEGER_FORMAT ", names the receipt %s\n",
                  number_of(footer, "at"), text_of(explanation, "receipt"));
    print_place(printing, json_object_get(roots, "receipt"), "the receipt", 1);
    (void)fprintf(printing->out,
                  "the receipt lists the event log: %" JSON_INTEGER_FORMAT " bytes in %" JSON_INTEGER_FORMAT
                  " segments, SHA-256 %s\n",
                  number_of(log, "size"), number_of(log, "segments"), text_of(log, "sha256"));
}

static bool is_plain(const char *name)
{
    while (*name >= ' ' && *name <= '~')
        name++;
    return *name == 0;
}

/* A name as a word that a shell takes as it is; where that would not be safe to show, by printf and octal numbers. */
static void print_quoted(const char *name, FILE *out)
{
    bool plain = is_plain(name);

    (void)fputs(plain ? "'" : "\"$(printf '", out);
    for (; *name != 0; name++)
        if (*name == '\'')
            (void)fputs("'\\''", out);
        else if (*name < ' ' || *name > '~' || (!plain && (*name == '\\' || *name == '%')))
            (void)fprintf(out, "\\%03o", (unsigned)(unsigned char)*name);
        else
            (void)fputc(*name, out);
    (void)fputs(plain ? "'\n" : "')\"\n", out);
}

void explain_print(const json_t *explanation, const char *file, FILE *out)
{
    struct printing printing = {.out = out};
    const json_t *chain = json_object_get(explanation, "chain");

    (void)fprintf(out, "%s, in a bundle of which the decision is %s%s\n", text_of(explanation, "explains"),
                  text_of(explanation, "decision"),
                  json_is_true(json_object_get(explanation, "prospective")) ? " (prospective)" : "");
    (void)fputs("docs/FORMAT.md section 10 tells how to follow this by hand. The commands below need this:\n$ F=", out);
    print_quoted(file, out);
    print_roots(&printing, explanation);
    for (size_t i = 0; i < json_array_size(chain); i++) {
        const json_t *statement = json_array_get(chain, i), *facts = json_object_get(statement, "facts");

        (void)fprintf(out, "%zu. %s\n", i + 1, text_of(statement, "says"));
        for (size_t j = 0; j < json_array_size(facts); j++)
            print_fact(&printing, json_array_get(facts, j));
        if (json_object_get(statement, "facts_left_out") != NULL)
            (void)fprintf(out, "  - and %" JSON_INTEGER_FORMAT " more\n", number_of(statement, "facts_left_out"));
    }
    if (number_of(explanation, "left_out") > 0)
        (void)fprintf(out, "and %" JSON_INTEGER_FORMAT " more statements\n", number_of(explanation, "left_out"));
}
