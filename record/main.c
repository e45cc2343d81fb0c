#include "base/cleanup.h"
#include "base/file.h"
#include "base/heap.h"
#include "formats/claim.h"
#include "record/args.h"
#include "record/check.h"
#include "record/recording.h"
#include "record/stale.h"
#include "record/store_check.h"
#include "record/store_list.h"
#include "record/store_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STATUS_DONE = 0,
    STATUS_BREAKS = 1,
    STATUS_USAGE = 2,
    STATUS_INCOMPLETE = 3,
    STATUS_OTHER_DECISION = 4,
    STATUS_SYSTEM = 5
};

/* The folder of the running program. */
static int program_dir_find(char out[PATH_MAX], struct err *err)
{
    ssize_t size_bytes = readlink("/proc/self/exe", out, PATH_MAX - 1);
    char *slash;

    if (size_bytes < 0)
        return err_set_errno(err, "find the program's own folder");
    out[size_bytes] = 0;
    slash = strrchr(out, '/');
    if (slash != NULL)
        *slash = 0;
    return 0;
}

/*
 * Makes sure that 0, 1 and 2 are taken: a file of ours that got such a number would get what is printed. They can only
 * be read, so that printing fails where nobody listens.
 */
static void standard_descriptors_take(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        (void)close(fd);
}

static bool progress_stands; /* in the last line of the terminal */

static void progress_end(void)
{
    if (progress_stands)
        (void)fputs("\r\033[K", stderr);
    progress_stands = false;
}

static void progress_print(void *context, const char *text)
{
    (void)context;
    (void)fprintf(stderr, "\r\033[K%s", text);
    progress_stands = text[0] != 0;
}

/* Notes go to stderr, a line each. */
static void note(const char *text)
{
    progress_end();
    (void)fprintf(stderr, "exhibit-record: %s\n", text);
}

/* Prints a failure as one line, whatever names of files it quotes. */
static void complain(struct err *err)
{
    for (char *at = err->text; *at != 0; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
    (void)fprintf(stderr, "exhibit-record: %s\n", err->text);
}

/* A file of the caller's that cannot be read: nothing was started, and the caller can fix it. */
static int unreadable(struct err *err, const char *what)
{
    struct err why = *err;

    return err_set(err, ERR_USAGE, "the %s: %.900s; name a file that can be read", what, why.text);
}

/* Reads and parses the oracle: the one named on the command line, else the plan's, else the shipped one. */
static int oracle_load(const struct args *args, const struct plan *plan, const char *program_dir, struct oracle *out,
                       struct err *err)
{
    AUTO_BYTES struct bytes source = {0};
    char shipped[PATH_MAX + 64];
    const char *file = args->oracle != NULL ? args->oracle : plan->oracle_file;

    if (file == NULL) {
        (void)snprintf(shipped, sizeof shipped, "%s/../share/exhibit/oracle-default.yaml", program_dir);
        file = shipped;
    }
    if (file_read_path(AT_FDCWD, file, 0, LIMIT_YAML_BYTES, &source, err) < 0)
        return unreadable(err, "oracle");
    if (oracle_parse(file, source.data, source.size_bytes, out, err) < 0)
        return err->code;
    if (oracle_fits_plan(file, out, plan, err) < 0)
        return err->code;
    if (oracle_names_cases(file, out, plan, err) < 0)
        return err->code;
    return oracle_hears_silence(out, plan, err);
}

/* What a command is about. Release with task_done, also after a failure. */
struct task {
    char program_dir[PATH_MAX];
    struct plan plan;
    struct oracle oracle;
};

static int task_read(const struct args *args, struct task *out, struct err *err)
{
    char candidates_dir[PATH_MAX + 64];

    if (program_dir_find(out->program_dir, err) < 0)
        return err->code;
    (void)snprintf(candidates_dir, sizeof candidates_dir, "%s/../share/exhibit/candidates", out->program_dir);
    if (plan_read(args->operand, candidates_dir, &out->plan, err) < 0)
        return err->code == ERR_SYSTEM ? unreadable(err, "plan") : err->code;
    return oracle_load(args, &out->plan, out->program_dir, &out->oracle, err);
}

static void task_done(struct task *task)
{
    oracle_done(&task->oracle);
    plan_done(&task->plan);
}

/* Tries everything once. Returns the exit status. */
static int check(const struct args *args, struct err *err)
{
    struct task task = {.program_dir = ""};
    size_t broken = 0;
    int code = task_read(args, &task, err);

    if (code == 0)
        stale_clean(args->work, note);
    if (code == 0)
        code = check_make(&(struct check_request){.plan = &task.plan,
                                                  .oracle = &task.oracle,
                                                  .work_parent = args->work,
                                                  .program_dir = task.program_dir,
                                                  .out = stdout},
                          &broken, err);
    task_done(&task);
    if (code == 0 && fflush(stdout) != 0)
        code = err_set_errno(err, "standard output");
    if (code == 0)
        return broken == 0 ? STATUS_DONE : STATUS_BREAKS;
    (void)fflush(stdout);
    complain(err);
    return code == ERR_USAGE ? STATUS_USAGE : STATUS_SYSTEM;
}

/* Reads plan and oracle and makes the recording. */
static int record(const struct args *args, Exhibit__Claim **out, bool *out_interrupted, struct err *err)
{
    struct task task = {.program_dir = ""};
    bool terminal = isatty(STDERR_FILENO) == 1;
    int code = task_read(args, &task, err);

    if (code == 0)
        stale_clean(args->work, note);
    if (code == 0 && args->output != NULL)
        stale_partials_tell(args->output, NULL, note); /* of a store: output_open */
    if (code == 0)
        code = recording_make(&(struct recording_request){.plan = &task.plan,
                                                          .oracle = &task.oracle,
                                                          .output = args->output,
                                                          .store = args->store,
                                                          .work_parent = args->work,
                                                          .program_dir = task.program_dir,
                                                          .snapshots_only = args->snapshots,
                                                          .progress = terminal ? progress_print : NULL,
                                                          .note = note},
                              out, out_interrupted, err);
    progress_end();
    task_done(&task);
    return code;
}

static int status_of(const struct args *args, const Exhibit__Claim *claim)
{
    if (args->require_go && strcmp(claim->decision, "GO") != 0)
        return STATUS_OTHER_DECISION;
    return strcmp(claim->decision, "INCOMPLETE") == 0 ? STATUS_INCOMPLETE : STATUS_DONE;
}

static void store_noted(void *context, const char *text)
{
    (void)context;
    note(text);
}

/* The commands that make or drop something without recording it. Returns the exit status. */
static int verb(const struct args *args)
{
    const struct store_listener listener = {.note = store_noted,
                                            .progress = isatty(STDERR_FILENO) == 1 ? progress_print : NULL};
    struct err err = {0};
    int code;

    if (args->output != NULL)
        stale_partials_tell(args->output, args->command == ARGS_SALVAGE ? args->operands[0] : NULL, note);
    code = args->command == ARGS_EXPORT  ? store_verb_export(args, &listener, &err)
           : args->command == ARGS_PRUNE ? store_verb_prune(args, &listener, &err)
                                         : store_verb_salvage(args, &listener, &err);
    progress_end();
    if (code == 0) /* salvage: as any judge of the bundle says */
        return args->command == ARGS_SALVAGE ? STATUS_INCOMPLETE : STATUS_DONE;
    (void)fflush(stdout);
    complain(&err);
    return code == ERR_USAGE ? STATUS_USAGE : (code == ERR_SYSTEM ? STATUS_SYSTEM : STATUS_BREAKS);
}

/* The body of store_command. Gives the exit status where the code is 0. */
static int store_tell(const struct args *args, const struct store *store, int *out_status, struct err *err)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    struct store_check_report report;
    uint32_t unread;
    int code;

    if (args->command == ARGS_LIST) {
        code = store_list(store, args->json, stdout, &unread, err);
        *out_status = code == 0 && unread > 0 ? STATUS_BREAKS : STATUS_DONE;
        return code;
    }
    code = store_check(store, terminal ? progress_print : NULL, stdout, &report, err);
    progress_end();
    if (code < 0)
        return code;
    (void)printf("%" PRIu32 " pack%s, %" PRIu64 " bytes checked: ", report.pack_count,
                 report.pack_count == 1 ? "" : "s", report.checked_bytes);
    if (report.damaged_count + report.unread_count + report.concerned_count == 0)
        (void)printf("whole\n");
    else
        (void)printf("%" PRIu32 " damaged, %" PRIu32 " could not be read, %" PRIu32 " receipt%s concerned\n",
                     report.damaged_count, report.unread_count, report.concerned_count,
                     report.concerned_count == 1 ? "" : "s");
    *out_status = report.unread_count > 0                             ? STATUS_SYSTEM
                  : report.damaged_count + report.concerned_count > 0 ? STATUS_BREAKS
                                                                      : STATUS_DONE;
    return 0;
}

/* The commands that look into a store. Returns the exit status. */
static int store_command(const struct args *args)
{
    struct store *store = NULL;
    struct err err = {0};
    int status = STATUS_SYSTEM;
    int code = store_open(&(struct store_request){.path = args->store, .lock = STORE_SHARED, .note = store_noted},
                          &store, &err);

    if (code == 0) {
        store_quiet(store);
        code = store_tell(args, store, &status, &err);
    }
    store_close(store);
    if (code == 0 && fflush(stdout) != 0)
        code = err_set_errno(&err, "standard output");
    if (code == 0)
        return status;
    complain(&err);
    return code == ERR_USAGE ? STATUS_USAGE : STATUS_SYSTEM;
}

/* A claim, and where its receipt is kept. */
static void claim_tell(const struct args *args, const Exhibit__Claim *claim, bool interrupted)
{
    char receipt[2 * DIGEST_BYTES + 1] = "";

    if (claim->receipt_sha256.len == DIGEST_BYTES)
        hex_encode(claim->receipt_sha256.data, DIGEST_BYTES, receipt);
    if (interrupted && args->store == NULL)
        (void)fprintf(stderr, "exhibit-record: interrupted; %s says partial\n", args->output);
    else if (interrupted)
        (void)fprintf(stderr, "exhibit-record: interrupted; receipt %s in %s says partial\n", receipt, args->store);
    if (args->store != NULL)
        (void)printf("receipt %s in the store %s\n\n", receipt, args->store);
    claim_print(claim, stdout);
}

int main(int argc, char **argv)
{
    struct args args;
    struct err err = {0};
    Exhibit__Claim *claim = NULL;
    bool interrupted = false;
    int status;

    heap_begin();
    standard_descriptors_take();
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error of the write, and leaves nothing behind */
    if (args_parse(argc, argv, &args, &err) < 0) {
        complain(&err);
        return STATUS_USAGE;
    }
    if (args.help || args.version) {
        (void)fputs(args.help ? args_help : "exhibit-record " EXHIBIT_VERSION "\n", stdout);
        return fflush(stdout) == 0 ? STATUS_DONE : STATUS_SYSTEM;
    }
    if (args.command == ARGS_CHECK)
        return check(&args, &err);
    if (args.command == ARGS_SALVAGE || args.command == ARGS_EXPORT || args.command == ARGS_PRUNE)
        return verb(&args);
    if (args.command == ARGS_LIST || args.command == ARGS_CHECK_STORE)
        return store_command(&args);
    if (record(&args, &claim, &interrupted, &err) < 0) {
        complain(&err);
        return err.code == ERR_USAGE ? STATUS_USAGE : STATUS_SYSTEM;
    }
    claim_tell(&args, claim, interrupted);
    status = status_of(&args, claim);
    exhibit__claim__free_unpacked(claim, NULL);
    if (fflush(stdout) != 0) {
        (void)fprintf(stderr, "exhibit-record: standard output: %s\n", strerror(errno));
        return STATUS_SYSTEM;
    }
    return status;
}
