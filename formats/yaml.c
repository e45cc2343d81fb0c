/*
 * From libyaml's events to the tree.
 */
#include "formats/yaml.h"

#include "base/cleanup.h"
#include "formats/limits.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct build {
    yaml_parser_t parser;
    const uint8_t *from;
    size_t size_bytes;
    struct yaml *out;
    struct yaml_node *within; /* the collection that is open; NULL: none */
    char *key;                /* of the next item, where `within` is a map; owned */
    unsigned key_line;
    size_t depth, node_count;
};

static int __attribute__((format(printf, 4, 0)))
fault_at(struct err *err, const char *file, size_t line, const char *fmt, va_list args)
{
    char text[sizeof err->text];
    size_t used;

    (void)snprintf(text, sizeof text, "%s:%zu: ", file, line);
    used = strlen(text);
    (void)vsnprintf(text + used, sizeof text - used, fmt, args);
    for (char *at = text; *at != '\0'; at++) {
        uint8_t byte = (uint8_t)*at;

        /* U+0080 to U+009F steer terminals too. */
        if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && byte <= 0x9f && at > text && (uint8_t)at[-1] == 0xc2))
            *at = '?';
    }
    return err_set(err, ERR_USAGE, "%s", text);
}

int yaml_fault(const struct yaml_node *at, struct err *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)fault_at(err, at->file, at->line, fmt, args);
    va_end(args);
    return ERR_USAGE;
}

static int __attribute__((format(printf, 4, 5)))
build_fault(const struct build *build, size_t line, struct err *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)fault_at(err, build->out->file, line, fmt, args);
    va_end(args);
    return ERR_USAGE;
}

static int out_of_memory(struct err *err)
{
    return err_set(err, ERR_SYSTEM, "memory for a YAML document");
}

/* The line of a byte. */
static size_t line_of(const struct build *build, size_t offset)
{
    size_t line = 1;

    for (size_t i = 0; i < offset && i < build->size_bytes; i++)
        line += build->from[i] == '\n';
    return line;
}

static int parser_fault(const struct build *build, struct err *err)
{
    const yaml_parser_t *parser = &build->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "it cannot be parsed";

    if (parser->error == YAML_MEMORY_ERROR)
        return out_of_memory(err);
    if (parser->error == YAML_READER_ERROR)
        return build_fault(build, line_of(build, parser->problem_offset), err,
                           "bytes that YAML does not allow (%s); write them as {base64: ...}", problem);
    return build_fault(build, parser->problem_mark.line + 1, err, "not YAML: %s; correct it", problem);
}

/* Appends a node for an event to what is open. */
static int node_add(struct build *build, enum yaml_kind kind, const yaml_event_t *event, struct yaml_node **out,
                    struct err *err)
{
    struct yaml_node *within = build->within, *node;
    size_t line = event->start_mark.line + 1;

    if (within != NULL && within->kind == YAML_MAP && build->key == NULL)
        return build_fault(build, line, err, "a key that is a map or a list; write a plain word");
    if (++build->node_count > LIMIT_YAML_NODES)
        return build_fault(build, line, err, "more than %d values; write fewer", LIMIT_YAML_NODES);
    node = calloc(1, sizeof *node);
    if (node == NULL)
        return out_of_memory(err);
    node->kind = kind;
    node->line = (unsigned)line;
    node->file = build->out->file;
    node->parent = within;
    node->key = take_ptr(&build->key);
    node->key_line = build->key_line;
    if (within == NULL) {
        build->out->root = node;
    } else {
        *(within->last == NULL ? &within->first : &within->last->next) = node;
        within->last = node;
        within->count++;
    }
    *out = node;
    return 0;
}

static int scalar_take(struct build *build, const yaml_event_t *event, struct err *err)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t line = event->start_mark.line + 1;
    struct yaml_node *node;

    if (event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL)
        return build_fault(build, line, err, "an anchor or a tag; write the value without it");
    if (strlen(text) != event->data.scalar.length)
        return build_fault(build, line, err, "a NUL in a text; write its bytes as {base64: ...}");
    if (build->within != NULL && build->within->kind == YAML_MAP && build->key == NULL) {
        if (strcmp(text, "<<") == 0)
            return build_fault(build, line, err, "a merge key; write the keys out");
        build->key = strdup(text);
        build->key_line = (unsigned)line;
        return build->key == NULL ? out_of_memory(err) : 0;
    }
    if (node_add(build, YAML_SCALAR, event, &node, err) < 0)
        return err->code;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = strdup(text);
    return node->text == NULL ? out_of_memory(err) : 0;
}

static int collection_open(struct build *build, enum yaml_kind kind, const yaml_event_t *event, struct err *err)
{
    const yaml_char_t *anchor = kind == YAML_MAP ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const yaml_char_t *tag = kind == YAML_MAP ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    size_t line = event->start_mark.line + 1;

    if (anchor != NULL || tag != NULL)
        return build_fault(build, line, err, "an anchor or a tag; write the value without it");
    if (++build->depth > LIMIT_YAML_DEPTH)
        return build_fault(build, line, err, "maps and lists nested more than %d deep; nest less", LIMIT_YAML_DEPTH);
    return node_add(build, kind, event, &build->within, err);
}

static int by_key(const void *a, const void *b)
{
    const struct yaml_node *const *first = a, *const *second = b;
    int order = strcmp((*first)->key, (*second)->key);

    return order != 0 ? order : ((*first)->key_line > (*second)->key_line) - ((*first)->key_line < (*second)->key_line);
}

static int collection_close(struct build *build, struct err *err)
{
    const struct yaml_node *map = build->within;
    AUTO_FREE const struct yaml_node **sorted = NULL;
    size_t count = 0;

    assert(map != NULL); /* libyaml's events are balanced */
    build->within = map->parent;
    build->depth--;
    if (map->kind != YAML_MAP || map->count == 0)
        return 0;
    sorted = calloc(map->count, sizeof *sorted);
    if (sorted == NULL)
        return out_of_memory(err);
    for (const struct yaml_node *item = map->first; item != NULL; item = item->next)
        sorted[count++] = item;
    qsort(sorted, count, sizeof *sorted, by_key);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            return build_fault(build, sorted[i]->key_line, err, "`%.64s` stands twice (line %u); keep one",
                               sorted[i]->key, sorted[i - 1]->key_line);
    return 0;
}

static int document_start(const struct build *build, const yaml_event_t *event, struct err *err)
{
    size_t line = event->start_mark.line + 1;

    if (build->out->root != NULL)
        return build_fault(build, line, err, "a second document; keep one");
    if (event->data.document_start.version_directive != NULL ||
        event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
        return build_fault(build, line, err, "a directive; remove it");
    return 0;
}

static int event_take(struct build *build, const yaml_event_t *event, struct err *err)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return document_start(build, event, err);
    case YAML_ALIAS_EVENT:
        return build_fault(build, event->start_mark.line + 1, err, "an alias; write the value out");
    case YAML_SCALAR_EVENT:
        return scalar_take(build, event, err);
    case YAML_SEQUENCE_START_EVENT:
        return collection_open(build, YAML_LIST, event, err);
    case YAML_MAPPING_START_EVENT:
        return collection_open(build, YAML_MAP, event, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return collection_close(build, err);
    default:
        return 0;
    }
}

static int events_take(struct build *build, struct err *err)
{
    for (bool done = false; !done;) {
        yaml_event_t event;
        int code;

        if (!yaml_parser_parse(&build->parser, &event))
            return parser_fault(build, err);
        done = event.type == YAML_STREAM_END_EVENT;
        code = event_take(build, &event, err);
        yaml_event_delete(&event);
        if (code < 0)
            return code;
    }
    return build->out->root == NULL ? build_fault(build, 1, err, "an empty document; write it") : 0;
}

int yaml_parse(const char *file, const void *from, size_t size_bytes, struct yaml *out, struct err *err)
{
    struct build build = {.from = from, .size_bytes = size_bytes, .out = out};
    const void *nul = size_bytes == 0 ? NULL : memchr(from, 0, size_bytes);
    int code;

    *out = (struct yaml){.file = strdup(file)};
    if (out->file == NULL)
        return out_of_memory(err);
    if (size_bytes > LIMIT_YAML_BYTES) {
        code = build_fault(&build, 1, err, "larger than %u bytes; make it smaller", LIMIT_YAML_BYTES);
    } else if (nul != NULL) {
        code = build_fault(&build, line_of(&build, (size_t)((const uint8_t *)nul - build.from)), err,
                           "a NUL byte; write bytes as {base64: ...}");
    } else if (!yaml_parser_initialize(&build.parser)) {
        code = out_of_memory(err);
    } else {
        yaml_parser_set_encoding(&build.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&build.parser, from != NULL ? from : (const void *)"", size_bytes);
        code = events_take(&build, err);
        yaml_parser_delete(&build.parser);
    }
    free(build.key);
    if (code < 0)
        yaml_done(out);
    return code;
}

static void nodes_free(struct yaml_node *node)
{
    while (node != NULL) {
        struct yaml_node *next = node->next;

        nodes_free(node->first); /* no deeper than LIMIT_YAML_DEPTH */
        free(node->text);
        free(node->key);
        free(node);
        node = next;
    }
}

void yaml_done(struct yaml *yaml)
{
    nodes_free(yaml->root);
    free(yaml->file);
    *yaml = (struct yaml){0};
}
