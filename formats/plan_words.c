/*
 * Commands and environments: words that may hold placeholders and bytes that are not UTF-8.
 */
#include "formats/plan_names.h"
#include "formats/plan_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const placeholders[] = {"{workspace}", "{scratch}", "{home}", "{tools}", "{policy}", "{candidate}"};
enum { PLACEHOLDER_COUNT = sizeof placeholders / sizeof placeholders[0] };

/* A node's bytes as a text without NUL, owned by the caller. */
static int word_read(const struct yaml_node *node, char **out, struct err *err)
{
    AUTO_BYTES struct bytes bytes = {0};

    if (yaml_bytes(node, &bytes, err) < 0)
        return err->code;
    if (memchr(bytes.data, 0, bytes.size_bytes) != NULL)
        return yaml_fault(node, err, "a NUL, which no argument or variable can hold; remove it");
    *out = bytes_to_text(&bytes);
    return *out == NULL ? err_set_errno(err, "memory for a text") : 0;
}

/* The size of the placeholder at the start of a text, or 0. */
static size_t placeholder_at(const char *text)
{
    for (size_t i = 0; i < PLACEHOLDER_COUNT; i++)
        if (strncmp(text, placeholders[i], strlen(placeholders[i])) == 0)
            return strlen(placeholders[i]);
    return 0;
}

int plan_placeholders_check(const struct plan_reader *reader, const struct yaml_node *node, const char *text,
                            struct err *err)
{
    while ((text = strchr(text, '{')) != NULL) {
        size_t size_bytes = placeholder_at(text);

        if (text[1] == '{') {
            text += 2;
            continue;
        }
        if (strncmp(text, "{command}", 9) == 0)
            return yaml_fault(node, err, "{command} is for the candidate's `argv` alone, as an item of its own");
        if (size_bytes == 0)
            return yaml_fault(node, err,
                              "unknown placeholder at \"%.32s\"; write {workspace}, {scratch}, {home}, "
                              "{tools}, {policy} or {candidate}, or {{ for a brace",
                              text);
        if (strncmp(text, "{policy}", 8) == 0 && !reader->has_policy)
            return yaml_fault(node, err, "{policy} without a policy; give the candidate one, or remove it");
        if (strncmp(text, "{candidate}", 11) == 0 && !reader->has_folder)
            return yaml_fault(node, err, "{candidate} without a folder of candidates; write the path itself");
        text += size_bytes;
    }
    return 0;
}

static int words_fill(const struct yaml_node *node, struct text_list *out, struct err *err)
{
    if (yaml_check_list(node, 1, LIMIT_ARGV_COUNT, err) < 0)
        return err->code;
    out->items = calloc(node->count + 1, sizeof *out->items);
    if (out->items == NULL)
        return err_set_errno(err, "memory for a command");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        if (word_read(item, &out->items[out->count], err) < 0)
            return err->code;
        out->count++;
    }
    return 0;
}

int plan_words_read(const struct plan_reader *reader, const struct yaml_node *node, enum plan_words form,
                    struct text_list *out, struct err *err)
{
    const struct yaml_node *item = node->first;
    size_t command_count = 0;

    if (words_fill(node, out, err) < 0)
        return err->code;
    for (size_t i = 0; i < out->count; i++, item = item->next) {
        bool is_command = form == PLAN_WORDS_LAUNCHER && strcmp(out->items[i], "{command}") == 0;

        command_count += is_command;
        if (is_command && i == 0 && reader->candidates_dir != NULL) /* a bundle may have such a plan */
            return yaml_fault(
                item, err,
                "`%s` begins with {command}, so that nothing wraps it; write the launcher before it, as in "
                "[/usr/bin/env, \"{command}\"]",
                node->key);
        if (!is_command && plan_placeholders_check(reader, item, out->items[i], err) < 0)
            return err->code;
        if (i == 0 && !is_command && out->items[0][0] != '/' && placeholder_at(out->items[0]) == 0)
            return yaml_fault(item, err,
                              "`%s` begins with a program that is not absolute; write its whole path, or "
                              "one in {workspace}, {tools} or {candidate}",
                              node->key);
    }
    if (form == PLAN_WORDS_LAUNCHER && command_count != 1)
        return yaml_fault(node, err, "`%s` holds {command} %zu times; write it once, as an item of its own", node->key,
                          command_count);
    return 0;
}

/* What the recorder sets itself: HOME, TMPDIR, the XDG folders, npm's configuration (in any case, as npm reads it). */
static bool is_reserved(const char *name)
{
    static const char *const npm[] = {"npm_config_userconfig", "npm_config_globalconfig", "npm_config_cache"};
    size_t size_bytes = strlen(name);

    for (size_t i = 0; i < sizeof npm / sizeof npm[0]; i++)
        if (strcasecmp(name, npm[i]) == 0)
            return true;
    return strcmp(name, "HOME") == 0 || strcmp(name, "TMPDIR") == 0 || strcmp(name, "XDG_RUNTIME_DIR") == 0 ||
           (strncmp(name, "XDG_", 4) == 0 && size_bytes > 9 && strcmp(name + size_bytes - 5, "_HOME") == 0);
}

static bool is_variable_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    return strspn(name, letters) == strlen(name) && strspn(name, letters + sizeof letters - 11) == 0 && name[0] != '\0';
}

/* {secret: NAME}: the value is the caller's, and is looked up by who gives it. */
static int secret_read(const struct yaml_node *node, const struct yaml_node *named, struct plan_variable *out,
                       struct err *err)
{
    const char *text;

    if (node->count != 1)
        return yaml_fault(node, err, "`secret` stands alone; write {secret: NAME}");
    if (yaml_text(named, &text, err) < 0)
        return err->code;
    if (!is_variable_name(text))
        return yaml_fault(named, err, "`%.64s` is not a variable's name; write the one that has the secret", text);
    out->value = strdup("");
    return out->value == NULL ? err_set_errno(err, "memory for a variable") : yaml_text_copy(named, &out->secret, err);
}

static int variable_read(const struct plan_reader *reader, const struct yaml_node *node, struct plan_variable *out,
                         struct err *err)
{
    const char *name = node->key;
    const struct yaml_node *secret = yaml_get(node, "secret");

    if (!is_variable_name(name))
        return yaml_fault(node, err, "`%.64s` is not a variable's name; write letters, digits and _, no digit first",
                          name);
    if (is_reserved(name))
        return yaml_fault(node, err, "the recorder sets %s itself, in each run's own folders; remove it", name);
    out->name = strdup(name);
    if (out->name == NULL)
        return err_set_errno(err, "memory for a variable");
    if (secret != NULL)
        return secret_read(node, secret, out, err);
    if (word_read(node, &out->value, err) < 0)
        return err->code;
    return plan_placeholders_check(reader, node, out->value, err);
}

int plan_environment_read(const struct plan_reader *reader, const struct yaml_node *node, struct plan_variable **out,
                          size_t *out_count, struct err *err)
{
    if (node->kind != YAML_MAP)
        return yaml_fault(node, err, "`environment` is not a map; write {NAME: VALUE, ...}");
    if (node->count > LIMIT_ARGV_COUNT)
        return yaml_fault(node, err, "`environment` has %zu variables; write at most %d", node->count,
                          LIMIT_ARGV_COUNT);
    *out = calloc(node->count + 1, sizeof **out);
    if (*out == NULL)
        return err_set_errno(err, "memory for variables");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (variable_read(reader, item, &(*out)[(*out_count)++], err) < 0)
            return err->code;
    return 0;
}

void plan_environment_free(struct plan_variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(variables[i].name);
        free(variables[i].value);
        free(variables[i].secret);
    }
    free(variables);
}
