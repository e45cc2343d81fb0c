/*
 * The table of options.
 */
#include "replay/args.h"

#include <stddef.h>
#include <string.h>

static int take_oracle(struct args *out, const char *value, struct err *err)
{
    (void)err;
    out->oracle = value;
    return 0;
}

static int take_explain(struct args *out, const char *value, struct err *err)
{
    (void)err;
    out->explain = value;
    return 0;
}

static int take_json(struct args *out, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    out->json = true;
    return 0;
}

static int take_require(struct args *out, const char *value, struct err *err)
{
    if (strcmp(value, "go") != 0)
        return err_set(err, ERR_USAGE, "--require takes the word go");
    out->require_go = true;
    return 0;
}

static int take_help(struct args *out, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    out->help = true;
    return 0;
}

static const struct {
    const char *name;
    bool has_value;
    int (*take)(struct args *out, const char *value, struct err *err);
} options[] = {
    {"--oracle", true, take_oracle},   {"--explain", true, take_explain}, {"--json", false, take_json},
    {"--require", true, take_require}, {"--help", false, take_help},
};

const char *replay_args_help(void)
{
    return "usage: exhibit-replay BUNDLE [--oracle FILE] [--explain NAME] [--json] [--require go]\n"
           "\n"
           "Derives the claim of a bundle anew from its raw facts, and compares it with the recorded claim.\n"
           "Runs nothing from the bundle and writes no file.\n"
           "\n"
           "  --oracle FILE   judge under this oracle; the claim is prospective if it is not the recorded one,\n"
           "                  and is not compared then\n"
           "  --explain NAME  print, instead of the claim, the chain from NAME to bytes in the file: a rule\n"
           "                  (cancel.quiet), an attempt (TRIAL/ROLE/ROUND/EFFECT, or TRIAL/MODE/ROLE/ROUND/EFFECT), "
           "or a\n"
           "                  case and how it ended (CASE/MODE); any other NAME lists what there is\n"
           "  --json          print it as JSON\n"
           "  --require go    exit with 4 unless the decision is GO and not prospective\n"
           "\n"
           "Exit codes, the first that applies: 2 wrong usage or oracle; 5 could not read; 1 the bundle is malformed\n"
           "or false, or the claim differs from the recorded one; 4 as above; 3 INCOMPLETE; 0 claim derived.\n";
}

/* Takes one option; *at is where it stands, and is moved to the last argument that was used. */
static int take_option(int argc, char *const *argv, int *at, struct args *out, struct err *err)
{
    const char *name = argv[*at];

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strcmp(options[i].name, name) != 0)
            continue;
        if (options[i].has_value && ++*at == argc)
            return err_set(err, ERR_USAGE, "%s needs a value", name);
        return options[i].take(out, argv[*at], err);
    }
    return err_set(err, ERR_USAGE, "unknown option %.100s", name);
}

int replay_args_parse(int argc, char *const *argv, struct args *out, struct err *err)
{
    bool options_over = false;

    *out = (struct args){0};
    for (int at = 1; at < argc; at++) {
        int code = 0;

        if (!options_over && strcmp(argv[at], "--") == 0)
            options_over = true;
        else if (!options_over && argv[at][0] == '-' && argv[at][1] != 0)
            code = take_option(argc, argv, &at, out, err);
        else if (out->bundle != NULL)
            code = err_set(err, ERR_USAGE, "one bundle only");
        else
            out->bundle = argv[at];
        if (code < 0)
            return code;
    }
    if (out->bundle == NULL && !out->help)
        return err_set(err, ERR_USAGE, "no bundle is named; see --help");
    return 0;
}
