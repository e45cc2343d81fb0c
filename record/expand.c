#include "record/expand.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEM_BYTES 8 /* what an item costs beside its bytes, in an event, at the most */

int text_list_add(struct text_list *list, const char *text, size_t size_bytes, struct err *err)
{
    char **grown = reallocarray(list->items, list->count + 2, sizeof *grown);

    if (grown == NULL)
        return err_set_errno(err, "memory for a list of words");
    list->items = grown;
    list->items[list->count + 1] = NULL;
    list->items[list->count] = strndup(text, size_bytes);
    if (list->items[list->count] == NULL)
        return err_set_errno(err, "memory for a list of words");
    list->count++;
    return 0;
}

void text_list_done(struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct text_list){0};
}

size_t text_list_size(const struct text_list *list)
{
    size_t size_bytes = 0;

    for (size_t i = 0; i < list->count; i++)
        size_bytes += strlen(list->items[i]) + ITEM_BYTES;
    return size_bytes;
}

/* What a placeholder stands for, or NULL. */
static const char *placeholder_value(const struct session *session, const char *name, size_t size_bytes)
{
    const struct {
        const char *name;
        const char *value;
    } known[] = {{"workspace", session->workspace}, {"scratch", session->scratch}, {"home", session->home},
                 {"tools", session->tools},         {"policy", session->policy},   {"candidate", session->candidate}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].name) == size_bytes && memcmp(known[i].name, name, size_bytes) == 0)
            return known[i].value;
    return NULL;
}

/* Expands one item into `out`. */
static int item_expand(const struct session *session, const char *item, struct bytes *out, struct err *err)
{
    while (*item != 0) {
        size_t plain_bytes = strcspn(item, "{");
        const char *end, *value;

        if (bytes_add(out, item, plain_bytes, LIMIT_WORDS_BYTES, err) < 0)
            return err->code;
        item += plain_bytes;
        if (*item == 0)
            return 0;
        if (item[1] == '{') {
            if (bytes_add(out, "{", 1, LIMIT_WORDS_BYTES, err) < 0)
                return err->code;
            item += 2;
            continue;
        }
        end = strchr(item, '}');
        value = end == NULL ? NULL : placeholder_value(session, item + 1, (size_t)(end - item - 1));
        if (value == NULL)
            return err_set(err, ERR_USAGE, "unknown placeholder at \"%.40s\"", item);
        if (bytes_add(out, value, strlen(value), LIMIT_WORDS_BYTES, err) < 0)
            return err->code;
        item = end + 1;
    }
    return 0;
}

/* Adds an expanded item, as long as all of them may be told in one event. */
static int item_add(struct text_list *list, size_t *total_bytes, const char *item, size_t size_bytes, struct err *err)
{
    *total_bytes += size_bytes + ITEM_BYTES;
    if (*total_bytes > LIMIT_WORDS_BYTES)
        return err_set(err, ERR_LIMIT, "more than %u bytes of words", LIMIT_WORDS_BYTES);
    return text_list_add(list, item, size_bytes, err);
}

int expand_argv(const struct session *session, const struct text_list *template, const struct text_list *command,
                struct text_list *out, struct err *err)
{
    size_t total_bytes = 0;

    for (size_t i = 0; i < template->count; i++) {
        AUTO_BYTES struct bytes item = {0};

        if (command != NULL && strcmp(template->items[i], "{command}") == 0) {
            for (size_t j = 0; j < command->count; j++)
                if (item_add(out, &total_bytes, command->items[j], strlen(command->items[j]), err) < 0)
                    return err->code;
            continue;
        }
        if (bytes_reserve(&item, 1, LIMIT_WORDS_BYTES, err) < 0 ||
            item_expand(session, template->items[i], &item, err) < 0 ||
            item_add(out, &total_bytes, (const char *)item.data, item.size_bytes, err) < 0)
            return err->code;
    }
    return 0;
}

/* Sets NAME=value, in place of an earlier one of that name. */
static int variable_set(struct text_list *list, const char *name, const char *value, struct err *err)
{
    AUTO_FREE char *text = NULL;
    size_t name_bytes = strlen(name);

    if (asprintf(&text, "%s=%s", name, value) < 0) {
        text = NULL;
        return err_set_errno(err, "memory for a variable");
    }
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], text, name_bytes + 1) == 0) {
            free(list->items[i]);
            list->items[i] = take_ptr(&text);
            return 0;
        }
    return text_list_add(list, text, strlen(text), err);
}

/* A variable's value: with its placeholders filled in, or the caller's as it is. */
static int value_expand(const struct session *session, const struct plan_variable *from, struct bytes *out,
                        struct err *err)
{
    const char *secret = from->secret == NULL ? NULL : secrets_value(session->secrets, from->secret);

    return secret == NULL ? item_expand(session, from->value, out, err)
                          : bytes_add(out, secret, strlen(secret), LIMIT_WORDS_BYTES, err);
}

/* Sets variables whose values may hold placeholders. */
static int variables_set(const struct session *session, const struct plan_variable *from, size_t count,
                         struct text_list *out, struct err *err)
{
    size_t total_bytes = text_list_size(out);

    for (size_t i = 0; i < count; i++) {
        AUTO_BYTES struct bytes value = {.never_spilled = true}; /* it may be a secret */

        if (bytes_reserve(&value, 1, LIMIT_WORDS_BYTES, err) < 0 || value_expand(session, &from[i], &value, err) < 0)
            return err->code;
        total_bytes += value.size_bytes;
        if (total_bytes > LIMIT_WORDS_BYTES)
            return err_set(err, ERR_LIMIT, "more than %u bytes of variables", LIMIT_WORDS_BYTES);
        if (variable_set(out, from[i].name, (const char *)value.data, err) < 0)
            return err->code;
    }
    return 0;
}

int expand_environment(const struct session *session, const struct plan_variable *more, size_t more_count,
                       struct text_list *out, struct err *err)
{
    static struct plan_variable own[] = {
        {.name = (char *)"HOME", .value = (char *)"{home}"},
        {.name = (char *)"TMPDIR", .value = (char *)"{scratch}/tmp"},
        {.name = (char *)"XDG_CONFIG_HOME", .value = (char *)"{home}/.config"},
        {.name = (char *)"XDG_CACHE_HOME", .value = (char *)"{home}/.cache"},
        {.name = (char *)"XDG_DATA_HOME", .value = (char *)"{home}/.local/share"},
        {.name = (char *)"XDG_STATE_HOME", .value = (char *)"{home}/.local/state"},
        {.name = (char *)"XDG_RUNTIME_DIR", .value = (char *)"{scratch}/run"},
        {.name = (char *)"npm_config_userconfig", .value = (char *)"{home}/.npmrc"},
        {.name = (char *)"npm_config_globalconfig", .value = (char *)"{home}/.npmrc-global"},
        {.name = (char *)"npm_config_cache", .value = (char *)"{home}/.npm"}};

    if (variables_set(session, own, sizeof own / sizeof own[0], out, err) < 0 ||
        variables_set(session, session->plan->environment, session->plan->environment_count, out, err) < 0)
        return err->code;
    return variables_set(session, more, more_count, out, err);
}
