/*
 * Parsing the command line of exhibit-confine.
 */
#include "candidates/confine/args.h"

#include <string.h>

static int take_setting(const char *text, struct args *args, struct err *err)
{
    size_t name_bytes = strcspn(text, "=");

    if (text[name_bytes] != '=' || name_bytes == 0 || strcspn(text, "{}") < name_bytes)
        return err_set(err, ERR_USAGE, "--set takes NAME=VALUE, not '%s'", text);
    for (size_t i = 0; i < args->setting_count; i++) {
        const struct setting *old = &args->settings[i];

        if (old->name_bytes == name_bytes && memcmp(old->name, text, name_bytes) == 0)
            return err_set(err, ERR_USAGE, "--set %.*s is given twice", (int)name_bytes, text);
    }
    if (args->setting_count == SETTINGS_MAX)
        return err_set(err, ERR_USAGE, "more than %d times --set", SETTINGS_MAX);
    args->settings[args->setting_count++] =
        (struct setting){.name = text, .name_bytes = name_bytes, .value = text + name_bytes + 1};
    return 0;
}

/* Takes the value of the option at *at. NULL: there is none. */
static const char *option_value(char **argv, int *at)
{
    return argv[*at + 1] == NULL ? NULL : argv[++*at];
}

static int take_option(char **argv, int *at, struct args *args, struct err *err)
{
    const char *option = argv[*at], *value;

    if (strcmp(option, "--pid-namespace") == 0) {
        args->pid_namespace = true;
        return 0;
    }
    if (strcmp(option, "--grants") == 0 || strcmp(option, "--mounts") == 0) {
        *(option[2] == 'g' ? &args->grants : &args->mounts) = true;
        return 0;
    }
    if (strcmp(option, "--policy") != 0 && strcmp(option, "--set") != 0)
        return err_set(err, ERR_USAGE, "unknown option '%s'", option);
    value = option_value(argv, at);
    if (value == NULL)
        return err_set(err, ERR_USAGE, "%s takes a value", option);
    if (strcmp(option, "--set") == 0)
        return take_setting(value, args, err);
    if (args->policy_file != NULL)
        return err_set(err, ERR_USAGE, "--policy is given twice");
    args->policy_file = value;
    return 0;
}

int args_parse(int argc, char **argv, struct args *out, struct err *err)
{
    struct args args = {0};
    int at = 1;

    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        int code;

        args.help = strcmp(argv[at], "--help") == 0;
        args.version = strcmp(argv[at], "--version") == 0;
        if (args.help || args.version) {
            *out = args;
            return 0;
        }
        code = take_option(argv, &at, &args, err);
        if (code < 0)
            return code;
    }
    if (args.policy_file == NULL)
        return err_set(err, ERR_USAGE, "--policy FILE is missing");
    if ((args.grants || args.mounts) && at < argc)
        return err_set(err, ERR_USAGE, "--grants and --mounts run no command");
    if (!args.grants && !args.mounts && at + 1 >= argc)
        return err_set(err, ERR_USAGE, "expected `-- COMMAND ARG...` at the end");
    args.command = at + 1 >= argc ? NULL : argv + at + 1;
    *out = args;
    return 0;
}
