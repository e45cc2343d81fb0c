#include "record/args.h"

#include <getopt.h>
#include <string.h>

const char args_help[] =
    "usage: exhibit-record run PLAN -o BUNDLE [--oracle FILE] [--work DIR] [--require go] [--snapshots]\n"
    "       exhibit-record check PLAN [--oracle FILE] [--work DIR]\n"
    "       exhibit-record salvage FILE -o BUNDLE\n"
    "\n"
    "run      runs the plan's commands and a hostile probe, each without and with the sandbox that the plan names,\n"
    "         writes everything that is observed into BUNDLE, and judges it.\n"
    "check    tries launcher, probe and cases once each and records nothing. Of what breaks it says what it printed,\n"
    "         and (by strace) which paths and calls the sandbox refused, and the grant that would mend it.\n"
    "salvage  makes a BUNDLE of what a recording has left that was killed (.NAME.partial-...). It is INCOMPLETE.\n"
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

/* Takes the command and its one argument, and refuses options that it has no use for. */
static int command_take(int count, char **words, struct args *args, struct err *err)
{
    static const char *const names[] = {[ARGS_RUN] = "run", [ARGS_CHECK] = "check", [ARGS_SALVAGE] = "salvage"};
    unsigned command = ARGS_RUN;

    while (command <= ARGS_SALVAGE && strcmp(words[0], names[command]) != 0)
        command++;
    if (command > ARGS_SALVAGE)
        return err_set(err, ERR_USAGE, "unknown command %s: the commands are run, check and salvage; see --help",
                       words[0]);
    if (count != 2)
        return err_set(err, ERR_USAGE, "%s takes exactly one %s; see --help", words[0],
                       command == ARGS_SALVAGE ? "FILE" : "PLAN");
    args->command = (enum args_command)command;
    args->operand = words[1];
    if (command == ARGS_CHECK && (args->output != NULL || args->require_go || args->snapshots))
        return err_set(err, ERR_USAGE, "check records nothing: leave out -o, --require and --snapshots");
    if (command == ARGS_SALVAGE && (args->oracle != NULL || args->work != NULL || args->require_go || args->snapshots))
        return err_set(err, ERR_USAGE, "salvage starts nothing: it takes no option but -o");
    return 0;
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
        if (command_take(argc - optind, argv + optind, &args, err) < 0)
            return err->code;
        if (args.command != ARGS_CHECK && args.output == NULL)
            return err_set(err, ERR_USAGE, "where should the evidence go? Add -o BUNDLE");
    }
    *out = args;
    return 0;
}
