/*
 * Parses the regular expressions of docs/ORACLE.md 4.8 into places. Repetition parses the same text once for each copy:
 * every copy costs a place, and their number is bounded.
 */
#include "formats/oracle_regex.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LIMIT_REGEX_PLACES % 64 == 0, "sets of places are whole words");

enum { TIMES_MAX = 255 };

/* A part of the expression: where it may begin and end, and whether it may be nothing. */
struct part {
    bool empty;
    struct regex_set first, last;
};

struct parser {
    const char *text;
    const char *at;
    const char *fault; /* the first thing that is wrong; NULL: nothing so far */
    const char *fault_at;
    bool anchored; /* by ^ or $: a | must stand in parentheses */
    struct oracle_regex regex;
};

static void parser_fault(struct parser *parser, const char *fault)
{
    if (parser->fault != NULL)
        return;
    parser->fault = fault;
    parser->fault_at = parser->at;
}

/* ---- sets ---- */

static void set_unite(struct regex_set *set, const struct regex_set *more)
{
    for (size_t i = 0; i < REGEX_SET_WORDS; i++)
        set->words[i] |= more->words[i];
}

/* Every place of `from` may be followed by every one of `to`. */
static void places_link(struct oracle_regex *regex, const struct regex_set *from, const struct regex_set *to)
{
    for (size_t place = 0; place < regex->place_count; place++)
        if (regex_set_has(from, place))
            set_unite(&regex->places[place].after, to);
}

/* ---- parts ---- */

static struct part part_then(struct oracle_regex *regex, const struct part *a, const struct part *b)
{
    struct part whole = {.empty = a->empty && b->empty, .first = a->first, .last = b->last};

    places_link(regex, &a->last, &b->first);
    if (a->empty)
        set_unite(&whole.first, &b->first);
    if (b->empty)
        set_unite(&whole.last, &a->last);
    return whole;
}

static struct part part_or(const struct part *a, const struct part *b)
{
    struct part whole = *a;

    whole.empty = a->empty || b->empty;
    set_unite(&whole.first, &b->first);
    set_unite(&whole.last, &b->last);
    return whole;
}

/* ---- bytes ---- */

static int hex_value(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = digit == '\0' ? NULL : strchr(digits, digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit);

    return found == NULL ? -1 : (int)(found - digits);
}

/* What stands behind a backslash, as a byte; the backslash was taken. */
static uint8_t escape_take(struct parser *parser)
{
    static const char punctuation[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    char letter = *parser->at;
    int high, low;

    if (letter == 'n' || letter == 'r' || letter == 't') {
        parser->at++;
        return letter == 'n' ? '\n' : letter == 'r' ? '\r' : '\t';
    }
    if (letter != '\0' && strchr(punctuation, letter) != NULL) {
        parser->at++;
        return (uint8_t)letter;
    }
    high = letter == 'x' ? hex_value(parser->at[1]) : -1;
    low = high < 0 ? -1 : hex_value(parser->at[2]);
    if (low < 0) {
        parser_fault(parser, "an escape that is none; write \\n, \\r, \\t, \\xHH or \\ before punctuation");
        return 0;
    }
    parser->at += 3;
    return (uint8_t)(high * 16 + low);
}

/* The next byte of a class. */
static uint8_t class_byte_take(struct parser *parser)
{
    char letter = *parser->at;

    if (letter == '\0') {
        parser_fault(parser, "a class that does not end; write ]");
        return 0;
    }
    if (strchr("[]^-", letter) != NULL) {
        parser_fault(parser, "one of [ ] ^ - for itself in a class; write \\ before it");
        return 0;
    }
    parser->at++;
    return letter == '\\' ? escape_take(parser) : (uint8_t)letter;
}

static void takes_add(struct regex_place *place, unsigned from, unsigned to)
{
    for (unsigned byte = from; byte <= to; byte++)
        place->takes[byte / 8] |= (uint8_t)(1u << (byte % 8));
}

/* A class, whose [ was taken. */
static void class_take(struct parser *parser, struct regex_place *place)
{
    bool other = *parser->at == '^';

    parser->at += other;
    do {
        uint8_t from = class_byte_take(parser), to = from;

        if (parser->fault == NULL && *parser->at == '-') {
            parser->at++;
            to = class_byte_take(parser);
            if (to < from)
                parser_fault(parser, "a range that runs backwards; write the lower byte first");
        }
        takes_add(place, from, to);
    } while (parser->fault == NULL && *parser->at != ']');
    parser->at += parser->fault == NULL;
    for (size_t i = 0; other && i < sizeof place->takes; i++)
        place->takes[i] ^= 0xff;
}

/* ---- structure ---- */

static struct part choice_take(struct parser *parser, unsigned depth);

/* A place for one byte: ., a class, a byte. */
static struct part place_take(struct parser *parser)
{
    struct oracle_regex *regex = &parser->regex;
    struct part part = {0};
    struct regex_place *place;
    char letter = *parser->at;

    if (regex->place_count == LIMIT_REGEX_PLACES) {
        parser_fault(parser, "more than 256 places for a byte, written out; ask for less");
        return part;
    }
    place = &regex->places[regex->place_count];
    parser->at++;
    if (letter == '.')
        takes_add(place, 0, 255);
    else if (letter == '[')
        class_take(parser, place);
    else {
        uint8_t byte = letter == '\\' ? escape_take(parser) : (uint8_t)letter;

        takes_add(place, byte, byte);
    }
    part.first.words[regex->place_count / 64] = UINT64_C(1) << (regex->place_count % 64);
    part.last = part.first;
    regex->place_count++;
    return part;
}

/* What may be repeated: a place, or a choice in parentheses. */
static struct part one_take(struct parser *parser, unsigned depth)
{
    struct part part = {0};

    if (*parser->at != '\0' && strchr("*+?{", *parser->at) != NULL) {
        parser_fault(parser, "a repetition of nothing, or of a repetition; write \\ before it, or parentheses");
        return part;
    }
    if (*parser->at != '\0' && strchr("]}^$", *parser->at) != NULL) {
        parser_fault(parser, "one of ] } ^ $ where it means nothing; write \\ before it");
        return part;
    }
    if (*parser->at != '(')
        return place_take(parser);
    if (depth == LIMIT_REGEX_DEPTH) {
        parser_fault(parser, "parentheses that nest deeper than 16; ask for less");
        return part;
    }
    parser->at++;
    part = choice_take(parser, depth + 1);
    if (parser->fault == NULL && *parser->at != ')')
        parser_fault(parser, "a ( without its ); write it");
    parser->at += parser->fault == NULL;
    return part;
}

static unsigned times_take(struct parser *parser)
{
    unsigned times = 0;
    const char *digit = parser->at;

    while (*parser->at >= '0' && *parser->at <= '9' && times <= TIMES_MAX)
        times = times * 10 + (unsigned)(*parser->at++ - '0');
    if (parser->at == digit || times > TIMES_MAX || (*digit == '0' && parser->at - digit > 1))
        parser_fault(parser, "a number of times that is none; write one from 0 to 255");
    return times;
}

/* How often: *out_most is 0 where there is no bound. */
static void repetition_take(struct parser *parser, unsigned *out_least, unsigned *out_most)
{
    char letter = *parser->at++;

    *out_least = letter == '+';
    *out_most = letter == '?';
    if (letter != '{')
        return;
    *out_least = *out_most = times_take(parser);
    if (parser->fault == NULL && *parser->at == ',') {
        parser->at++;
        *out_most = *parser->at == '}' ? 0 : times_take(parser);
        if (parser->fault == NULL && *out_most == 0 && parser->at[-1] != ',')
            parser_fault(parser, "at most no time at all; write a number from 1 to 255");
    } else if (parser->fault == NULL && *out_most == 0)
        parser_fault(parser, "exactly no time at all; write a number from 1 to 255");
    if (parser->fault == NULL && *parser->at != '}')
        parser_fault(parser, "a { without its }; write it, or \\{");
    if (parser->fault == NULL && *out_most != 0 && *out_most < *out_least)
        parser_fault(parser, "at most less often than at least; write the lower number first");
    parser->at += parser->fault == NULL;
}

static struct part repeated_take(struct parser *parser, unsigned depth)
{
    const char *begin = parser->at, *end;
    struct part whole = one_take(parser, depth), copy = whole;
    unsigned least, most, copies;

    if (parser->fault != NULL || *parser->at == '\0' || strchr("*+?{", *parser->at) == NULL)
        return whole;
    repetition_take(parser, &least, &most);
    end = parser->at;
    copies = most != 0 ? most : least > 1 ? least : 1;
    for (unsigned i = 0; i < copies && parser->fault == NULL; i++) {
        if (i > 0) {
            parser->at = begin;
            copy = one_take(parser, depth);
        }
        if (most == 0 && i + 1 == copies)
            places_link(&parser->regex, &copy.last, &copy.first);
        copy.empty = copy.empty || i >= least;
        whole = i == 0 ? copy : part_then(&parser->regex, &whole, &copy);
    }
    if (parser->fault == NULL)
        parser->at = end;
    return whole;
}

static struct part sequence_take(struct parser *parser, unsigned depth)
{
    struct part whole = {.empty = true};
    const char *begin = parser->at;

    while (parser->fault == NULL && *parser->at != '\0' && *parser->at != '|' && *parser->at != ')' &&
           !(*parser->at == '$' && parser->at[1] == '\0')) {
        struct part next = repeated_take(parser, depth);

        whole = part_then(&parser->regex, &whole, &next);
    }
    if (parser->at == begin)
        parser_fault(parser, "nothing where something must stand; write what, or remove the | or the parentheses");
    return whole;
}

static struct part choice_take(struct parser *parser, unsigned depth)
{
    struct part whole = sequence_take(parser, depth);

    while (parser->fault == NULL && *parser->at == '|') {
        struct part other;

        if (depth == 0 && parser->anchored) {
            parser_fault(parser, "a | beside ^ or $; put it into parentheses, as ^(a|b)$");
            break;
        }
        parser->at++;
        other = sequence_take(parser, depth);
        whole = part_or(&whole, &other);
    }
    return whole;
}

/* Whether the last character is a $ that no backslash precedes (and no escaped backslash does). */
static bool ends_tied(const char *text)
{
    size_t size_bytes = strlen(text), slashes = 0;

    if (size_bytes == 0 || text[size_bytes - 1] != '$')
        return false;
    while (slashes + 1 < size_bytes && text[size_bytes - 2 - slashes] == '\\')
        slashes++;
    return slashes % 2 == 0;
}

static void expression_take(struct parser *parser)
{
    struct oracle_regex *regex = &parser->regex;
    struct part whole;

    for (const char *at = parser->text; *at != '\0' && parser->fault == NULL; at++) {
        parser->at = at;
        if (*at < ' ' || *at > '~')
            parser_fault(parser, "a character that is not printable ASCII; write \\n or \\xHH");
        else if (at - parser->text >= LIMIT_REGEX_BYTES)
            parser_fault(parser, "more than 512 characters; ask for less");
    }
    parser->at = parser->text;
    regex->from_start = *parser->at == '^';
    regex->to_end = ends_tied(parser->text);
    parser->anchored = regex->from_start || regex->to_end;
    parser->at += regex->from_start;
    whole = choice_take(parser, 0);
    if (parser->fault == NULL)
        parser->at += regex->to_end;
    if (*parser->at != '\0')
        parser_fault(parser, "a ) without its (; write it, or \\)");
    regex->empty = whole.empty;
    regex->first = whole.first;
    regex->last = whole.last;
    if (whole.empty && !(regex->from_start && regex->to_end))
        parser_fault(parser, "it describes nothing at all, as every stream has it; write what must be there");
}

const char *oracle_regex_parse(const char *text, struct oracle_regex *out, size_t *out_at)
{
    struct parser parser = {.text = text, .at = text};
    struct regex_place *fitted;

    *out = (struct oracle_regex){0};
    *out_at = 0;
    parser.regex.places = calloc(LIMIT_REGEX_PLACES, sizeof *parser.regex.places);
    if (parser.regex.places == NULL)
        return "";
    expression_take(&parser);
    if (parser.fault != NULL) {
        *out_at = (size_t)(parser.fault_at - text);
        oracle_regex_done(&parser.regex);
        return parser.fault;
    }
    assert(parser.regex.place_count > 0);
    fitted = reallocarray(parser.regex.places, parser.regex.place_count, sizeof *fitted);
    *out = parser.regex;
    if (fitted != NULL) /* shrinking may fail without harm */
        out->places = fitted;
    return NULL;
}

void oracle_regex_done(struct oracle_regex *regex)
{
    free(regex->places);
    *regex = (struct oracle_regex){0};
}
