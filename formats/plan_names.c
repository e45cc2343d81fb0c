#include "formats/plan_names.h"

#include "formats/oracle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const effect_names[] = {"read", "read-link", "write", "tcp", "udp", NULL};

_Static_assert(sizeof effect_names / sizeof effect_names[0] == EFFECT_COUNT + 1, "one name for each effect");
_Static_assert(EFFECT_COUNT <= LIMIT_EFFECTS, "all effects fit a trial");

int plan_name_read(const struct yaml_node *node, char **out, struct err *err)
{
    const char *text;
    size_t size_bytes;

    if (yaml_text(node, &text, err) < 0)
        return err->code;
    size_bytes = strlen(text);
    if (size_bytes > LIMIT_NAME_BYTES)
        return yaml_fault(node, err, "the name `%.64s...` is longer than %d bytes; shorten it", text, LIMIT_NAME_BYTES);
    if (size_bytes == 0 || text[0] == '-' || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != size_bytes)
        return yaml_fault(node, err, "`%s` is not a name; write a-z, 0-9 and -, a letter or digit first", text);
    return yaml_text_copy(node, out, err);
}

int plan_name_check_fresh(const struct yaml_node *map, const char *what, struct err *err)
{
    const struct yaml_node *name = yaml_get(map, "name");

    assert(name != NULL && name->kind == YAML_SCALAR && map->parent != NULL); /* it was read before */
    for (const struct yaml_node *item = map->parent->first; item != map; item = item->next)
        if (strcmp(yaml_get(item, "name")->text, name->text) == 0)
            return yaml_fault(name, err, "a second %s named `%s` (line %u); rename one", what, name->text, item->line);
    return 0;
}

static bool is_known(const char *text)
{
    for (size_t i = 0; effect_names[i] != NULL; i++)
        if (strcmp(effect_names[i], text) == 0)
            return true;
    return false;
}

static int effect_check(const struct yaml_node *node, struct err *err)
{
    const char *text;

    if (yaml_text(node, &text, err) < 0)
        return err->code;
    if (!is_known(text))
        return yaml_fault(node, err, "there is no effect `%.64s`; the effects are: read, read-link, write, tcp, udp",
                          text);
    for (const struct yaml_node *item = node->parent->first; item != node; item = item->next)
        if (strcmp(item->text, text) == 0)
            return yaml_fault(node, err, "the effect `%s` stands twice; keep one", text);
    return 0;
}

int plan_effects_read(const struct yaml_node *node, char ***out, size_t *out_count, struct err *err)
{
    const struct yaml_node *item = NULL;

    if (node != NULL) {
        if (yaml_check_list(node, 1, EFFECT_COUNT, err) < 0)
            return err->code;
        item = node->first;
    }
    *out = calloc(EFFECT_COUNT, sizeof **out);
    if (*out == NULL)
        return err_set_errno(err, "memory for effects");
    for (size_t i = 0; i < (node != NULL ? node->count : EFFECT_COUNT); i++) {
        if (item != NULL && effect_check(item, err) < 0)
            return err->code;
        (*out)[i] = strdup(item != NULL ? item->text : effect_names[i]);
        if ((*out)[i] == NULL)
            return err_set_errno(err, "memory for effects");
        *out_count = i + 1;
        item = item != NULL ? item->next : NULL;
    }
    return 0;
}

void plan_texts_free(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}
