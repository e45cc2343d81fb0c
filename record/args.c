#include "record/args.h"

#include <getopt.h>
#include <string.h>

const char args_help[] =
    "usage: exhibit-record run PLAN -o BUNDLE [--oracle FILE] [--work DIR] [--require go] [--snapshots]\n"
    "       exhibit-record check PLAN [--oracle FILE] [--work DIR]\n"
    "\n"
    "run: runs the plan's commands and a hostile probe, each without and with the sandbox that the plan names, writes\n"
    "everything that is observed into BUNDLE, and judges it.\n"
    "check: tries launcher, probe and cases once each and records nothing. Of what breaks it says what it printed, "
    "and\n"
    "(by strace) which paths and calls the sandbox refused, and the grant that would mend it.\n"
    "\n"
    "  -o, --output BUNDLE  where the evidence goes; must not exist yet (usually NAME.exhibit)\n"
    "      --oracle FILE    what must be shown, instead of the plan's own oracle\n"
    "      --work DIR       where the copies live while it runs (default: /var/tmp); removed afterwards\n"
    "      --require go     exit 4 unless the decision is GO\n"
    "      --snapshots      watch processes by looking into /proc, not by kernel process events\n"
    "      --help           this text\n"
    "      --version        the version\n"
    "\n"
    "exit: 0 measured to the end (GO or NO-GO), 1 check: something breaks, 2 wrong usage, plan or oracle (nothing was "
    "started), 3 INCOMPLETE,\n"
    "      4 --require go and another decision, 5 could not (a system error)\n"
    "Plans are described in docs/PLAN.md, oracles in docs/ORACLE.md, the decision in docs/DECISION.md.\n";

enum { OPTION_ORACLE = 256, OPTION_WORK, OPTION_REQUIRE, OPTION_SNAPSHOTS, OPTION_HELP, OPTION_VERSION };

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},           {"oracle", required_argument, NULL, OPTION_ORACLE},
    {"work", required_argument, NULL, OPTION_WORK},     {"require", required_argument, NULL, OPTION_REQUIRE},
    {"snapshots", no_argument, NULL, OPTION_SNAPSHOTS}, {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},     {NULL, 0, NULL, 0},
};

/* Takes one option in. */
static int option_take(int option, const char *word, struct args *args, struct err *err)
{
    switch (option) {
    case 'o':
        args->output = optarg;
        return 0;
    case OPTION_ORACLE:
        args->oracle = optarg;
        return 0;
    case OPTION_WORK:
        args->work = optarg;
        return 0;
    case OPTION_REQUIRE:
        if (strcmp(optarg, "go") != 0)
            return err_set(err, ERR_USAGE, "--require %s: the only thing that can be required is go", optarg);
        args->require_go = true;
        return 0;
    case OPTION_SNAPSHOTS:
        args->snapshots = true;
        return 0;
    case OPTION_HELP:
        args->help = true;
        return 0;
    case OPTION_VERSION:
        args->version = true;
        return 0;
    case ':':
        return err_set(err, ERR_USAGE, "%s needs a value; see --help", word);
    default:
        return err_set(err, ERR_USAGE, "unknown option %s; see --help", word);
    }
}

int args_parse(int argc, char **argv, struct args *out, struct err *err)
{
    struct args args = {0};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":o:", options, NULL)) != -1)
        if (option_take(option, argv[optind - 1], &args, err) < 0)
            return err->code;
    if (!args.help && !args.version) {
        if (optind == argc)
            return err_set(err, ERR_USAGE, "nothing to do; see --help");
        args.check = strcmp(argv[optind], "check") == 0;
        if (!args.check && strcmp(argv[optind], "run") != 0)
            return err_set(err, ERR_USAGE, "unknown command %s: the commands are run and check; see --help",
                           argv[optind]);
        if (optind + 2 != argc)
            return err_set(err, ERR_USAGE, "%s takes exactly one PLAN; see --help", argv[optind]);
        args.plan = argv[optind + 1];
        if (args.check && (args.output != NULL || args.require_go || args.snapshots))
            return err_set(err, ERR_USAGE, "check records nothing: leave out -o, --require and --snapshots");
        if (!args.check && args.output == NULL)
            return err_set(err, ERR_USAGE, "where should the evidence go? Add -o BUNDLE");
    }
    *out = args;
    return 0;
}
