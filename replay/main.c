/*
 * exhibit-replay: a bundle's claim derived anew from its raw facts. All that needs a path is opened first; then the
 * process confines itself, and only then hostile bytes are read.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/claim.h"
#include "replay/args.h"
#include "replay/bundle.h"
#include "replay/confine_self.h"
#include "replay/differ.h"
#include "replay/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    EXIT_DERIVED = 0,
    EXIT_FALSE = 1,
    EXIT_USAGE = 2,
    EXIT_INCOMPLETE = 3,
    EXIT_REQUIRED = 4,
    EXIT_COULD_NOT = 5,
};

/* One line on stderr. Texts may hold names from a bundle: nothing of them may steer a terminal. */
static void replay_say(const char *file, const char *text)
{
    (void)fputs("exhibit-replay: ", stderr);
    if (file != NULL) {
        text_print_escaped(stderr, file, strlen(file));
        (void)fputs(": ", stderr);
    }
    text_print_escaped(stderr, text, strlen(text));
    (void)fputc('\n', stderr);
}

static int replay_exit_code(enum err_code code)
{
    if (code == ERR_USAGE)
        return EXIT_USAGE;
    return code == ERR_SYSTEM ? EXIT_COULD_NOT : EXIT_FALSE;
}

/* Opens the bundle; a FIFO or device must not make us wait. ERR_SYSTEM: cannot be opened, or is no regular file. */
static int open_for_replay(const char *path, int *out_fd, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat state;

    if (fd < 0 || fstat(fd, &state) < 0)
        return err_set_errno(err, "cannot be opened");
    if (!S_ISREG(state.st_mode))
        return err_set(err, ERR_SYSTEM, "not a regular file");
    *out_fd = take_fd(&fd);
    return 0;
}

/* Confines the process, and says what the kernel does not offer. */
static void confine_replay(const char *file)
{
    struct confinement done;

    confine_self(&done);
    if (EXHIBIT_SANITIZED || (done.landlock && done.seccomp))
        return;
    replay_say(file, done.seccomp
                         ? "warning: this kernel has no Landlock; the system call filter alone confines the replay"
                         : "warning: the system call filter could not be set; the replay is not fully confined");
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
        explain_print(explanation, args->bundle, stdout);
    } else {
        claim_print(claim, stdout);
    }
    return fflush(stdout) == 0 && done && !ferror(stdout);
}

static int replay_report(const struct args *args, const struct bundle *bundle, json_t *explanation, struct err *err)
{
    int differs = compare_recorded(args->bundle, bundle, err);

    if (!print_derived(args, bundle->claim, explanation)) {
        replay_say(NULL, "the claim could not be written to standard output");
        return EXIT_COULD_NOT;
    }
    if (differs < 0) {
        replay_say(args->bundle, err->text);
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
    AUTO_BYTES struct bytes oracle = {0};
    AUTO_FD int fd = -1;
    struct bundle *bundle = NULL;
    json_t *explanation = NULL;
    int code = 0;

    if (args->oracle != NULL)
        code = file_read_path(AT_FDCWD, args->oracle, 0, LIMIT_YAML_BYTES, &oracle, err);
    if (code < 0) {
        replay_say(args->oracle, err->text);
        /* A wrong name is the caller's to mend; a file that does not come off the disk is not. */
        return code == ERR_SYSTEM && err->sys_errno == EIO ? EXIT_COULD_NOT : EXIT_USAGE;
    }
    code = open_for_replay(args->bundle, &fd, err);
    if (code == 0) {
        confine_replay(args->bundle);
        code = bundle_replay(fd, args->oracle == NULL ? NULL : &oracle, args->oracle, &bundle, err);
    }
    if (code == 0 && args->explain != NULL)
        code = explain(bundle, args->explain, &explanation, err);
    if (code < 0) {
        replay_say(code == ERR_USAGE ? NULL : args->bundle, err->text);
        if (bundle != NULL && code == ERR_USAGE)
            explain_list(bundle, stderr);
        code = replay_exit_code(err->code);
    } else {
        code = replay_report(args, bundle, explanation, err);
    }
    json_decref(explanation);
    bundle_free(bundle);
    return code;
}

int main(int argc, char **argv)
{
    struct args args;
    struct err err = {0};

    if (replay_args_parse(argc, argv, &args, &err) < 0) {
        replay_say(NULL, err.text);
        return EXIT_USAGE;
    }
    if (args.help)
        return fputs(replay_args_help(), stdout) == EOF || fflush(stdout) != 0 ? EXIT_COULD_NOT : EXIT_DERIVED;
    return replay(&args, &err);
}
