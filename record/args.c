#include "record/args.h"

#include <getopt.h>
#include <string.h>

const char args_help[] =
    "usage: exhibit-record run PLAN -o BUNDLE [--oracle FILE] [--work DIR] [--require go] [--snapshots]\n"
    "       exhibit-record run PLAN --store DIR [the same]\n"
    "       exhibit-record check PLAN [--oracle FILE] [--work DIR]\n"
    "       exhibit-record salvage FILE -o BUNDLE [--store DIR]\n"
    "       exhibit-record list --store DIR [--json]\n"
    "       exhibit-record check --store DIR\n"
    "       exhibit-record export RECEIPT --store DIR -o BUNDLE [--with-local]\n"
    "       exhibit-record prune RECEIPT... --store DIR\n"
    "\n"
    "run      runs the plan's commands and a hostile probe, each without and with the sandbox that the plan names,\n"
    "         writes everything that is observed into BUNDLE, or a pack of the store DIR, and judges it.\n"
    "check    tries launcher, probe and cases once each and records nothing. Of what breaks it says what it printed,\n"
    "         and (by strace) which paths and calls the sandbox refused, and the grant that would mend it.\n"
    "salvage  makes a BUNDLE of what a recording has left that was killed (.NAME.partial-...). It is INCOMPLETE.\n"
    "         With --store it finds there what the recording had not to keep again.\n"
    "list     tells what is in a store: a line for each receipt.\n"
    "check --store  reads every byte of a store: what is damaged, and which receipts it concerns.\n"
    "export   makes a BUNDLE of a receipt in a store, named by its digest or the first 8 or more digits of it.\n"
    "prune    drops receipts from a store, and never what one that is kept needs. It waits for recordings.\n"
    "\n"
    "  -o, --output BUNDLE  where the evidence goes; must not exist yet (usually NAME.exhibit)\n"
    "      --store DIR      a folder of recordings that share the files they were made from; it is made where it is\n"
    "                       missing or empty. A second recording adds only what changed (docs/STORE.md)\n"
    "      --oracle FILE    what must be shown, instead of the plan's own oracle\n"
    "      --work DIR       where the copies live while it runs (default: /var/tmp); removed afterwards\n"
    "      --require go     exit 4 unless the decision is GO\n"
    "      --snapshots      watch processes by looking into /proc, not by kernel process events\n"
    "      --json           print a JSON text in each line\n"
    "      --with-local     export the contents of the plan's local inputs, too; without, an export is refused where\n"
    "                       what was observed would tell them (docs/PLAN.md 5.2)\n"
    "      --help           this text\n"
    "      --version        the version\n"
    "\n"
    "exit: 0 measured to the end (GO or NO-GO), or done, 1 check: something breaks, or is damaged; list: a pack\n"
    "      cannot be read; export, prune, salvage: what they read is damaged, false or too large, 2 wrong usage, plan\n"
    "      or oracle (nothing was started), 3 INCOMPLETE, 4 --require go and another decision, 5 could not (a system\n"
    "      error)\n"
    "Plans are described in docs/PLAN.md, oracles in docs/ORACLE.md, the decision in docs/DECISION.md.\n";

enum {
    OPTION_ORACLE = 256,
    OPTION_WORK,
    OPTION_REQUIRE,
    OPTION_SNAPSHOTS,
    OPTION_STORE,
    OPTION_JSON,
    OPTION_WITH_LOCAL,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"oracle", required_argument, NULL, OPTION_ORACLE},
    {"work", required_argument, NULL, OPTION_WORK},
    {"require", required_argument, NULL, OPTION_REQUIRE},
    {"snapshots", no_argument, NULL, OPTION_SNAPSHOTS},
    {"store", required_argument, NULL, OPTION_STORE},
    {"with-local", no_argument, NULL, OPTION_WITH_LOCAL},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

/* What options there can be; a command says which of them it has a use for, and which it needs. */
enum {
    HAS_OUTPUT = 1,
    HAS_ORACLE = 2,
    HAS_WORK = 4,
    HAS_REQUIRE = 8,
    HAS_SNAPSHOTS = 16,
    HAS_STORE = 32,
    HAS_JSON = 64,
    HAS_WITH_LOCAL = 128
};

static const struct {
    const char *name;
    enum args_command command;
    bool of_store;       /* of two commands of one name: the one for --store */
    const char *operand; /* what it takes exactly one of; NULL: nothing */
    bool takes_several;  /* one or more of them */
    unsigned uses, needs;
    const char *refusal; /* of what it has no use for */
} commands[] = {
    {"run", ARGS_RUN, false, "PLAN", false,
     HAS_OUTPUT | HAS_STORE | HAS_ORACLE | HAS_WORK | HAS_REQUIRE | HAS_SNAPSHOTS, 0,
     "run prints its claim as text: leave out --json"},
    {"check", ARGS_CHECK_STORE, true, NULL, false, HAS_STORE, HAS_STORE,
     "check --store takes no other option; see --help"},
    {"check", ARGS_CHECK, false, "PLAN", false, HAS_ORACLE | HAS_WORK, 0,
     "check records nothing: leave out -o, --require and --snapshots"},
    {"salvage", ARGS_SALVAGE, false, "FILE", false, HAS_OUTPUT | HAS_STORE, HAS_OUTPUT,
     "salvage starts nothing: it takes no option but -o and --store"},
    {"list", ARGS_LIST, false, NULL, false, HAS_STORE | HAS_JSON, HAS_STORE,
     "list takes --store and --json; see --help"},
    {"export", ARGS_EXPORT, false, "RECEIPT", false, HAS_STORE | HAS_OUTPUT | HAS_WITH_LOCAL, HAS_STORE | HAS_OUTPUT,
     "export takes --store, -o and --with-local; see --help"},
    {"prune", ARGS_PRUNE, false, "RECEIPT", true, HAS_STORE, HAS_STORE, "prune takes --store alone; see --help"},
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
    case OPTION_STORE:
        args->store = optarg;
        return 0;
    case OPTION_JSON:
        args->json = true;
        return 0;
    case OPTION_WITH_LOCAL:
        args->with_local = true;
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

/* The options that were given. */
static unsigned given_of(const struct args *args)
{
    return (args->output != NULL ? HAS_OUTPUT : 0u) | (args->oracle != NULL ? HAS_ORACLE : 0u) |
           (args->work != NULL ? HAS_WORK : 0u) | (args->require_go ? HAS_REQUIRE : 0u) |
           (args->snapshots ? HAS_SNAPSHOTS : 0u) | (args->store != NULL ? HAS_STORE : 0u) |
           (args->json ? HAS_JSON : 0u) | (args->with_local ? HAS_WITH_LOCAL : 0u);
}

/* Takes the command and what it is about, and refuses options that it has no use for. */
static int command_take(int count, char **words, struct args *args, struct err *err)
{
    size_t number = 0, command_count = sizeof commands / sizeof *commands;
    unsigned given = given_of(args);

    while (number < command_count &&
           (strcmp(words[0], commands[number].name) != 0 || (commands[number].of_store && args->store == NULL)))
        number++;
    if (number == command_count)
        return err_set(err, ERR_USAGE,
                       "unknown command %s: the commands are run, check, salvage, list, export and prune; see --help",
                       words[0]);
    if (commands[number].takes_several && count < 2)
        return err_set(err, ERR_USAGE, "%s takes one %s or more; see --help", words[0], commands[number].operand);
    if (commands[number].operand != NULL && count != 2 && !commands[number].takes_several)
        return err_set(err, ERR_USAGE, "%s takes exactly one %s; see --help", words[0], commands[number].operand);
    if (commands[number].operand == NULL && count != 1)
        return err_set(err, ERR_USAGE, "%s%s takes nothing but options; see --help", words[0],
                       commands[number].of_store ? " --store" : "");
    if ((given & ~commands[number].uses) != 0)
        return err_set(err, ERR_USAGE, "%s", commands[number].refusal);
    if ((commands[number].needs & ~given & HAS_STORE) != 0)
        return err_set(err, ERR_USAGE, "of which store? Add --store DIR; see --help");
    if ((commands[number].needs & ~given & HAS_OUTPUT) != 0)
        return err_set(err, ERR_USAGE, "where should the evidence go? Add -o BUNDLE");
    args->command = commands[number].command;
    args->operand = count == 2 ? words[1] : NULL;
    args->operands = words + 1;
    args->operand_count = (size_t)count - 1;
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
        if (args.command == ARGS_RUN && (args.output == NULL) == (args.store == NULL))
            return err_set(err, ERR_USAGE, "%s? Add -o BUNDLE or --store DIR, %s",
                           args.output == NULL ? "where should the evidence go" : "to both a bundle and a store",
                           args.output == NULL ? "see --help" : "not both; see --help");
    }
    *out = args;
    return 0;
}
