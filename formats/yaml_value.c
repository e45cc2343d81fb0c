/*
 * Reading values from the tree.
 */
#include "formats/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How messages call a node: `key`, or "an item of `key`". */
struct label {
    char text[128];
};

static struct label label_of(const struct yaml_node *node)
{
    struct label label;

    if (node->key != NULL)
        (void)snprintf(label.text, sizeof label.text, "`%.64s`", node->key);
    else if (node->parent != NULL && node->parent->key != NULL)
        (void)snprintf(label.text, sizeof label.text, "an item of `%.64s`", node->parent->key);
    else
        (void)snprintf(label.text, sizeof label.text, node->parent == NULL ? "the document" : "an item of a list");
    return label;
}

static bool is_known(const char *key, const char *const *known)
{
    while (*known != NULL && strcmp(key, *known) != 0)
        known++;
    return *known != NULL;
}

int yaml_check_map(const struct yaml_node *node, const char *what, const char *const *known, struct err *err)
{
    if (node->kind != YAML_MAP)
        return yaml_fault(node, err, "%s is not %s; write a map", label_of(node).text, what);
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        const struct yaml_node at_key = {.file = item->file, .line = item->key_line};
        char list[512] = "";
        size_t used = 0;

        if (is_known(item->key, known))
            continue;
        for (size_t i = 0; known[i] != NULL && used < sizeof list; i++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", known[i]);
        return yaml_fault(&at_key, err, "%s has no key `%.64s`; the keys are: %s", what, item->key, list);
    }
    return 0;
}

int yaml_check_root(const struct yaml *yaml, const char *what, const char *const *known, struct err *err)
{
    const struct yaml_node *root = yaml->root, *first = root->first;

    if (root->kind != YAML_MAP || first == NULL || strcmp(first->key, "version") != 0)
        return yaml_fault(root, err, "%s begins with its version; write `version: 1` first", what);
    if (first->kind != YAML_SCALAR || !first->plain || strcmp(first->text, "1") != 0)
        return yaml_fault(first, err, "`version` is not 1, the one that this program knows; write `version: 1`");
    return yaml_check_map(root, what, known, err);
}

int yaml_check_list(const struct yaml_node *node, size_t min_count, size_t max_count, struct err *err)
{
    if (node->kind != YAML_LIST)
        return yaml_fault(node, err, "%s is not a list; write [ITEM, ...]", label_of(node).text);
    if (node->count < min_count)
        return yaml_fault(node, err, "%s has too few items; write at least %zu", label_of(node).text, min_count);
    if (node->count > max_count)
        return yaml_fault(node, err, "%s has %zu items; write at most %zu", label_of(node).text, node->count,
                          max_count);
    return 0;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *item = map->kind == YAML_MAP ? map->first : NULL;

    while (item != NULL && strcmp(item->key, key) != 0)
        item = item->next;
    return item;
}

int yaml_need(const struct yaml_node *map, const char *what, const char *key, const struct yaml_node **out,
              struct err *err)
{
    *out = yaml_get(map, key);
    return *out != NULL ? 0 : yaml_fault(map, err, "%s needs `%s`; add it", what, key);
}

int yaml_text(const struct yaml_node *node, const char **out, struct err *err)
{
    if (node->kind != YAML_SCALAR)
        return yaml_fault(node, err, "%s is a %s; write a text", label_of(node).text,
                          node->kind == YAML_MAP ? "map" : "list");
    if (node->plain && node->text[0] == '\0')
        return yaml_fault(node, err, "%s has no value; write one (\"\" for an empty text)", label_of(node).text);
    *out = node->text;
    return 0;
}

int yaml_text_copy(const struct yaml_node *node, char **out, struct err *err)
{
    const char *text;
    char *copy;

    if (yaml_text(node, &text, err) < 0)
        return err->code;
    copy = strdup(text);
    if (copy == NULL)
        return err_set_errno(err, "memory for a text");
    *out = copy;
    return 0;
}

int yaml_bool(const struct yaml_node *node, bool *out, struct err *err)
{
    bool yes = node->kind == YAML_SCALAR && node->plain && strcmp(node->text, "true") == 0;

    if (!yes && (node->kind != YAML_SCALAR || !node->plain || strcmp(node->text, "false") != 0))
        return yaml_fault(node, err, "%s is neither true nor false; write one of them", label_of(node).text);
    *out = yes;
    return 0;
}

int yaml_uint(const struct yaml_node *node, uint32_t min, uint32_t max, uint32_t *out, struct err *err)
{
    const char *text = node->kind == YAML_SCALAR && node->plain ? node->text : "";
    size_t digits = strspn(text, "0123456789");
    uint64_t value = digits > 0 && digits <= 10 ? strtoull(text, NULL, 10) : UINT64_MAX;

    if (digits == 0 || text[digits] != '\0' || (text[0] == '0' && digits > 1))
        return yaml_fault(node, err, "%s is not a number; write one from %" PRIu32 " to %" PRIu32, label_of(node).text,
                          min, max);
    if (value < min || value > max)
        return yaml_fault(node, err, "%s is out of bounds; write a number from %" PRIu32 " to %" PRIu32,
                          label_of(node).text, min, max);
    *out = (uint32_t)value;
    return 0;
}
