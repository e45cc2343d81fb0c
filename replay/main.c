/*
 * exhibit-replay: a bundle's claim derived anew from its raw facts. The process confines itself, then opens the bundle,
 * gives up opening, and only then hostile bytes are read.
 */
#include "base/cleanup.h"
#include "base/heap.h"
#include "formats/claim.h"
#include "replay/args.h"
#include "replay/bundle.h"
#include "replay/confine_self.h"
#include "replay/differ.h"
#include "replay/exits.h"
#include "replay/explain.h"
#include "replay/many.h"
#include "replay/outline.h"
#include "replay/own_oracle.h"
#include "replay/say.h"

#include <stdio.h>
#include <string.h>

static int replay_exit_code(enum err_code code)
{
    if (code == ERR_USAGE)
        return EXIT_USAGE;
    return code == ERR_SYSTEM ? EXIT_COULD_NOT : EXIT_FALSE;
}

/* Opens the one bundle, confined before and more so after, and says what the kernel does not offer. */
static int open_confined(char *const *path, int *out_fd, struct err *err)
{
    struct confinement done;

    confine_files(path, 1, &done);
    confine_calls(&done);
    if (bundle_open(*path, out_fd, err) < 0)
        return err->code;
    confine_opening(&done);
    if (!EXHIBIT_SANITIZED && !(done.landlock && done.seccomp))
        replay_say(*path, done.seccomp
                              ? "warning: this kernel has no Landlock; the system call filter alone confines the replay"
                              : "warning: the system call filter could not be set; the replay is not fully confined");
    return 0;
}

struct differences {
    const char *file;
    size_t told;
};

/* Tells one; the first few are enough to find the cause. */
static void tell_difference(void *context, const char *text)
{
    enum { MOST = 20 };
    struct differences *differences = context;

    if (differences->told++ < MOST)
        replay_say(differences->file, text);
    else if (differences->told == MOST + 1)
        replay_say(differences->file, "more statements differ");
}

/* Compares with the recorded claim where that is what was asked: 0, 1 where they differ, or a negative err_code. */
static int compare_recorded(const char *file, const struct bundle *bundle, struct err *err)
{
    struct differences differences = {file, 0};
    size_t count = 0;

    if (bundle->claim->prospective)
        return 0;
    if (bundle->recorded == NULL) {
        replay_say(file, "note: it has no recorded claim to compare with");
        return 0;
    }
    if (claims_differ(bundle->recorded, bundle->claim, tell_difference, &differences, &count, err) < 0)
        return err->code;
    if (count > 0)
        replay_say(file, "the claim differs from the recorded one");
    return count > 0;
}

/* Prints the claim, or the explanation where there is one. False: not all of it could be written. */
static bool print_derived(const struct args *args, const Exhibit__Claim *claim, json_t *explanation)
{
    bool done = true;

    if (args->json) {
        json_t *json = explanation == NULL ? claim_to_json(claim) : json_incref(explanation);

        done = json != NULL && json_dumpf(json, stdout, JSON_INDENT(2)) == 0 && fputc('\n', stdout) != EOF;
        json_decref(json);
    } else if (explanation != NULL) {
        explain_print(explanation, args->paths[0], stdout);
    } else {
        claim_print(claim, stdout);
    }
    return fflush(stdout) == 0 && done && !ferror(stdout);
}

static int replay_report(const struct args *args, const struct bundle *bundle, json_t *explanation, struct err *err)
{
    int differs = compare_recorded(args->paths[0], bundle, err);

    if (!print_derived(args, bundle->claim, explanation)) {
        replay_say(NULL, "the claim could not be written to standard output");
        return EXIT_COULD_NOT;
    }
    if (differs < 0) {
        replay_say(args->paths[0], err->text);
        return replay_exit_code(err->code);
    }
    if (differs > 0)
        return EXIT_FALSE;
    if (args->require_go && (bundle->claim->prospective || strcmp(bundle->claim->decision, "GO") != 0))
        return EXIT_REQUIRED;
    return strcmp(bundle->claim->decision, "INCOMPLETE") == 0 ? EXIT_INCOMPLETE : EXIT_DERIVED;
}

static int replay(const struct args *args, struct err *err)
{
    const struct oracle *oracle = NULL;
    struct oracle room = {0};
    AUTO_BYTES struct bytes text = {0};
    AUTO_FD int fd = -1;
    struct bundle *bundle = NULL;
    json_t *explanation = NULL;
    int code = own_oracle_read(args->oracle, &text);

    if (code != 0)
        return code;
    if (open_confined(args->paths, &fd, err) < 0) {
        replay_say(args->paths[0], err->text);
        return EXIT_COULD_NOT;
    }
    code = own_oracle_parse(args->oracle, &text, &room, &oracle);
    if (code != 0)
        return code;
    code = bundle_replay(fd, oracle, &bundle, err);
    if (code == 0 && args->explain != NULL)
        code = explain(bundle, args->explain, &explanation, err);
    if (code < 0) {
        replay_say(code == ERR_USAGE ? NULL : args->paths[0], err->text);
        if (bundle != NULL && code == ERR_USAGE)
            explain_list(bundle, stderr);
        code = replay_exit_code(err->code);
    } else {
        code = replay_report(args, bundle, explanation, err);
    }
    json_decref(explanation);
    bundle_free(bundle);
    oracle_done(&room);
    return code;
}

int main(int argc, char **argv)
{
    struct args args;
    struct err err = {0};

    heap_begin();
    if (replay_args_parse(argc, argv, &args, &err) < 0) {
        replay_say(NULL, err.text);
        return EXIT_USAGE;
    }
    if (args.help)
        return fputs(replay_args_help(), stdout) == EOF || fflush(stdout) != 0 ? EXIT_COULD_NOT : EXIT_DERIVED;
    if (args.version)
        return puts("exhibit-replay " EXHIBIT_VERSION) == EOF || fflush(stdout) != 0 ? EXIT_COULD_NOT : EXIT_DERIVED;
    if (!many_are_asked(&args))
        return replay(&args, &err);
    if (args.explain == NULL)
        return many_replay(&args);
    replay_say(args.paths[0], "--explain takes one bundle, and this is a folder; name a file in it");
    return EXIT_USAGE;
}
