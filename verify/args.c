/*
 * Options as a table.
 */
#include "verify/args.h"

#include "base/bytes.h"

#include <getopt.h>
#include <string.h>

const char *verify_args_help(void)
{
    return "usage: exhibit-verify BUNDLE [options]\n"
           "\n"
           "Checks a bundle offline: every byte, every binding, and that each statement of its claim follows from\n"
           "the recorded facts, and the other way round. Runs nothing from it.\n"
           "\n"
           "  --oracle FILE         judge under this oracle, yours; the recorded claim is checked all the same\n"
           "  --sha256 HEX          the whole file must have this SHA-256\n"
           "  --expect-policy HEX   the measured policy must have this SHA-256\n"
           "  --source DIR          DIR must be, now, the workspace that was measured (5 where its contents are local\n"
           "                        and withheld: all else of it is compared)\n"
           "  --require go          fail unless the decision is GO; needs --oracle, with the recorded oracle's bytes\n"
           "  --json                write the verdict as JSON\n"
           "  --help                write this\n"
           "  --version             write the version\n"
           "\n"
           "exit status: 0 verified, 1 refuted, 2 wrong usage or oracle, 3 intact but INCOMPLETE,\n"
           "4 not the required decision, 5 could not read (says nothing about the bundle)\n";
}

static int verify_args_take_digest(const char *option, const char *text, struct digest *out, bool *out_set,
                                   struct err *err)
{
    if (!hex_decode(text, out->bytes, DIGEST_BYTES))
        return err_set(err, ERR_USAGE, "--%s needs 64 lower-case hexadecimal digits", option);
    *out_set = true;
    return 0;
}

static int verify_args_take(int option, const char *word, struct verify_args *out, struct err *err)
{
    switch (option) {
    case 'o':
        out->oracle = optarg;
        return 0;
    case 's':
        return verify_args_take_digest("sha256", optarg, &out->sha256, &out->has_sha256, err);
    case 'p':
        return verify_args_take_digest("expect-policy", optarg, &out->policy, &out->has_policy, err);
    case 'd':
        out->source = optarg;
        return 0;
    case 'r':
        if (strcmp(optarg, "go") != 0)
            return err_set(err, ERR_USAGE, "--require knows only \"go\"");
        out->require_go = true;
        return 0;
    case 'j':
        out->json = true;
        return 0;
    case 'h':
        out->help = true;
        return 0;
    case 'v':
        out->version = true;
        return 0;
    case ':':
        return err_set(err, ERR_USAGE, "%s lacks its value; see --help", word);
    default:
        if (strchr("jhv", optopt) != NULL && optopt != 0)
            return err_set(err, ERR_USAGE, "%s: this option takes no value; see --help", word);
        if (optopt != 0) /* there are none of one letter; getopt may not have come to the end of the word */
            return err_set(err, ERR_USAGE, "unknown option -%c; see --help", optopt);
        return err_set(err, ERR_USAGE, "unknown option %s; see --help", word);
    }
}

int verify_args_parse(int argc, char *const argv[], struct verify_args *out, struct err *err)
{
    static const struct option options[] = {{"oracle", required_argument, NULL, 'o'},
                                            {"sha256", required_argument, NULL, 's'},
                                            {"expect-policy", required_argument, NULL, 'p'},
                                            {"source", required_argument, NULL, 'd'},
                                            {"require", required_argument, NULL, 'r'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {NULL, 0, NULL, 0}};
    int option;

    *out = (struct verify_args){0};
    optind = 0; /* so that the function may be called again */
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1)
        if (verify_args_take(option, argv[optind - 1], out, err) < 0)
            return err->code;
    if (out->help || out->version)
        return 0;
    if (argc - optind != 1)
        return err_set(err, ERR_USAGE, "name exactly one bundle; see --help");
    out->bundle = argv[optind];
    if (out->require_go && out->oracle == NULL)
        return err_set(err, ERR_USAGE, "--require go needs --oracle: the decision is to be yours");
    return 0;
}
