/*
 * The table of options.
 */
#include "replay/args.h"

#include "base/cleanup.h"

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

static int take_jobs(struct args *out, const char *value, struct err *err)
{
    char *end;
    unsigned long jobs = strtoul(value, &end, 10);

    if (*value < '0' || *value > '9' || *end != 0 || jobs < 1 || jobs > ARGS_JOBS_MAX)
        return err_set(err, ERR_USAGE, "-j takes a number from 1 to %d", ARGS_JOBS_MAX);
    out->jobs = (unsigned)jobs;
    return 0;
}

static int take_table(struct args *out, const char *value, struct err *err)
{
    static const char *const forms[] = {
        [ARGS_TABLE_TEXT] = "text", [ARGS_TABLE_MARKDOWN] = "markdown", [ARGS_TABLE_JSON] = "json"};

    if (value == NULL)
        value = "text";
    for (size_t i = ARGS_TABLE_TEXT; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i], value) == 0) {
            out->table = (enum args_table)i;
            return 0;
        }
    return err_set(err, ERR_USAGE, "--table is text, markdown or json");
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

static int take_version(struct args *out, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    out->version = true;
    return 0;
}

enum value {
    VALUE_NONE,
    VALUE_NEXT,     /* --name VALUE or --name=VALUE */
    VALUE_ATTACHED, /* --name or --name=VALUE */
};

static const struct {
    const char *name;
    enum value value;
    int (*take)(struct args *out, const char *value, struct err *err); /* value is NULL where there is none */
} options[] = {
    {"--oracle", VALUE_NEXT, take_oracle}, {"--explain", VALUE_NEXT, take_explain},
    {"--json", VALUE_NONE, take_json},     {"--table", VALUE_ATTACHED, take_table},
    {"-j", VALUE_NEXT, take_jobs},         {"--require", VALUE_NEXT, take_require},
    {"--help", VALUE_NONE, take_help},     {"--version", VALUE_NONE, take_version},
};

const char *replay_args_help(void)
{
    return "usage: exhibit-replay BUNDLE [--oracle FILE] [--explain NAME] [--json] [--require go]\n"
           "       exhibit-replay DIR|BUNDLE... [--oracle FILE] [-j N] [--table[=FORM]] [--json] [--require go]\n"
           "\n"
           "Derives the claim of a bundle anew from its raw facts, and compares it with the recorded claim.\n"
           "Reads the observations of a bundle, never its inputs. Runs nothing from it and writes no file.\n"
           "\n"
           "Of several bundles, or of every *.exhibit or *.pack beneath a folder (a store is one; links in it are\n"
           "not followed), it prints a line each, sorted by path: the recorded decision, the derived one, the rules\n"
           "that changed; then a summary.\n"
           "One that cannot be read, or is malformed or false, is named and passed over.\n"
           "\n"
           "  --oracle FILE   judge under this oracle; the claim is prospective if it is not the recorded one,\n"
           "                  and is not compared then\n"
           "  --explain NAME  print, instead of the claim, the chain from NAME to bytes in the file: a rule\n"
           "                  (cancel.quiet), an attempt (TRIAL/ROLE/ROUND/EFFECT, or TRIAL/MODE/ROLE/ROUND/EFFECT), "
           "or a\n"
           "                  case and how it ended (CASE/MODE), or what comes and goes in scratch by the launcher\n"
           "                  itself (launcher); any other NAME lists what there is\n"
           "  --json          print it as JSON; of several bundles, one JSON text in each line\n"
           "  --table[=FORM]  print the candidates in a table of effects, endings, cases and decisions, as text,\n"
           "                  markdown or json; recordings of one candidate are one row that says what varies\n"
           "  -j N            use N threads, 1 to 64; as many as there are cores, but at most 16, by default\n"
           "  --require go    exit with 4 unless the decision is GO and not prospective\n"
           "  --help          print this\n"
           "  --version       print the version\n"
           "\n"
           "Exit codes, the first that applies: 2 wrong usage or oracle; 5 could not read; 1 the bundle is malformed\n"
           "or false, or the claim differs from the recorded one; 4 as above; 3 INCOMPLETE; 0 claim derived. Of\n"
           "several bundles it is the first one that applies to any of them.\n";
}

/* Takes one option; *at is where it stands, and is moved to the last argument that was used. */
static int take_option(int argc, char *const *argv, int *at, struct args *out, struct err *err)
{
    const char *name = argv[*at], *attached = strchr(name, '=');
    size_t name_bytes = attached == NULL ? strlen(name) : (size_t)(attached++ - name);

    if (name[1] != '-' && name[2] != 0) { /* -j4 */
        attached = name + 2;
        name_bytes = 2;
    }

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strlen(options[i].name) != name_bytes || memcmp(options[i].name, name, name_bytes) != 0)
            continue;
        if (options[i].value == VALUE_NONE && attached != NULL)
            return err_set(err, ERR_USAGE, "%s takes no value; see --help", options[i].name);
        if (options[i].value == VALUE_NEXT && attached == NULL) {
            if (++*at == argc)
                return err_set(err, ERR_USAGE, "%s needs a value; see --help", name);
            attached = argv[*at];
        }
        return options[i].take(out, attached, err);
    }
    return err_set(err, ERR_USAGE, "unknown option %.100s; see --help", name);
}

int replay_args_parse(int argc, char **argv, struct args *out, struct err *err)
{
    bool options_over = false;

    *out = (struct args){.paths = argv};
    for (int at = 1; at < argc; at++) {
        int code = 0;

        if (!options_over && strcmp(argv[at], "--") == 0)
            options_over = true;
        else if (!options_over && argv[at][0] == '-' && argv[at][1] != 0)
            code = take_option(argc, argv, &at, out, err);
        else
            argv[out->path_count++] = argv[at]; /* never beyond where we are: argv[0] is free */
        if (code < 0)
            return code;
    }
    if (out->path_count == 0 && !out->help && !out->version)
        return err_set(err, ERR_USAGE, "no bundle is named; see --help");
    if (out->explain != NULL && (out->path_count > 1 || out->table != ARGS_TABLE_NONE))
        return err_set(err, ERR_USAGE, "--explain takes one bundle, and no --table; see --help");
    if (out->table != ARGS_TABLE_NONE && out->json)
        out->table = ARGS_TABLE_JSON;
    return 0;
}
