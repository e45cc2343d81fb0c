#include "record/check_session.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "record/expand.h"
#include "record/layout.h"
#include "record/orphans.h"
#include "record/preflight.h"
#include "record/spawn.h"
#include "record/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than a line of what is told: a command quotes at most a few hundred bytes. */
#define HIDING_BYTES (1u << 20)

static volatile bool interrupted;

const volatile bool *check_interrupted(void)
{
    return &interrupted;
}

static void interrupt(int number)
{
    (void)number;
    interrupted = true;
}

/* Signals end what is under way, and orphans of what is tried come to us. */
static int signals_take(struct err *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = interrupt};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* were it ignored, children would give their numbers up before we wait for them */
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? err_set_errno(err, "prepare for orphans") : 0;
}

/* Finds a program on the PATH. Owned by the caller; NULL: it is not there. */
static char *program_find(const char *name)
{
    const char *path = getenv("PATH");
    AUTO_FREE char *folders = strdup(path == NULL ? "/usr/bin:/bin" : path);
    char *rest = folders, *folder;

    while (folders != NULL && (folder = strsep(&rest, ":")) != NULL) {
        AUTO_FREE char *file = NULL;

        if (*folder != '/')
            continue;
        if (asprintf(&file, "%s/%s", folder, name) < 0)
            file = NULL;
        if (file != NULL && access(file, X_OK) == 0)
            return take_ptr(&file);
    }
    return NULL;
}

/* Writes lines on with the secrets hidden. */
static ssize_t hiding_write(void *context, const char *text, size_t size_bytes)
{
    struct check *check = context;
    AUTO_FREE char *copy = strndup(text, size_bytes); /* of text that is escaped: there is no NUL in it */

    if (copy == NULL)
        return 0;
    secrets_hide(check->session.secrets, copy);
    return fputs(copy, check->behind) == EOF ? 0 : (ssize_t)size_bytes;
}

static int hiding_open(struct check *check, struct err *err)
{
    if (check->session.secrets == NULL)
        return 0;
    check->behind = check->out;
    check->hiding = fopencookie(check, "w", (cookie_io_functions_t){.write = hiding_write});
    if (check->hiding == NULL)
        return err_set_errno(err, "memory for what is told");
    (void)setvbuf(check->hiding, NULL, _IOFBF, HIDING_BYTES); /* whole pieces: a value must not be cut in two */
    check->out = check->hiding;
    return 0;
}

/* What targets and listeners need to write to, though nobody reads it. */
static int journal_open(struct check *check, struct err *err)
{
    struct session *session = &check->session;

    check->work_fd = open(session->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (check->work_fd < 0)
        return err_set_errno(err, "open %s", session->work);
    session->loop = loop_new();
    check->judge = judge_new(check->oracle);
    if (session->loop == NULL || check->judge == NULL)
        return err_set_errno(err, "start");
    if (pack_writer_new(check->work_fd, "unused", &check->pack, err) < 0)
        return err->code;
    session->journal = journal_new(check->pack, check->judge);
    return session->journal == NULL ? err_set_errno(err, "start") : 0;
}

int check_open(struct check *check, const struct check_request *request, struct err *err)
{
    struct session *session = &check->session;
    const char *policy_file = request->plan->candidate.policy_file;
    AUTO_BYTES struct bytes policy = {0};
    char targets[PATH_MAX + 16];

    check->work_fd = -1;
    check->oracle = session->oracle = request->oracle;
    check->out = request->out;
    session->plan = request->plan;
    if (orphans_refuse(err) < 0 || secrets_new(request->plan, &session->secrets, err) < 0 ||
        hiding_open(check, err) < 0 ||
        preflight_check(request->plan, request->program_dir, request->work_parent, session->secrets, err) < 0)
        return err->code;
    if (policy_file != NULL && file_read_path(AT_FDCWD, policy_file, 0, LIMIT_YAML_BYTES, &policy, err) < 0)
        return err_wrap(err, "the policy");
    if (secrets_look_given(session->secrets, request->plan, request->oracle, policy_file == NULL ? NULL : &policy,
                           err) < 0)
        return err->code;
    if (signals_take(err) < 0 || spawn_limits_raise(err) < 0 ||
        layout_make(session, request->work_parent, request->program_dir, policy_file == NULL ? NULL : &policy, err) <
            0 ||
        journal_open(check, err) < 0)
        return err->code;
    (void)snprintf(targets, sizeof targets, "%s/targets", session->work);
    if (snprintf(check->traces, sizeof check->traces, "%s/traces", session->work) >= PATH_MAX)
        return err_set(err, ERR_LIMIT, "%s: the path is too long; choose a shorter --work", session->work);
    check->strace = program_find("strace");
    if (listeners_new(session->loop, session->journal, &session->listeners, err) < 0 ||
        targets_new(session->loop, session->journal, targets, &session->targets, err) < 0)
        return err->code;
    return targets_reset(session->targets, err);
}

int check_close(struct check *check, struct err *err, int code)
{
    struct session *session = &check->session;
    struct err removal;

    targets_free(session->targets);
    listeners_free(session->listeners);
    journal_free(session->journal);
    pack_writer_abandon(check->pack);
    judge_free(check->judge);
    loop_free(session->loop);
    trace_done(&check->harmless);
    free(check->strace);
    if (check->work_fd >= 0)
        (void)close(check->work_fd);
    if (layout_remove(session, &removal) < 0)
        code = code < 0 ? err_wrap(err, "%s stays (%.300s)", session->work, removal.text)
                        : err_set(err, ERR_SYSTEM, "%s stays: %.600s", session->work, removal.text);
    if (check->hiding != NULL)
        (void)fclose(check->hiding);
    if (code < 0)
        secrets_hide(session->secrets, err->text);
    secrets_free(session->secrets);
    return code;
}

int check_trace_clear(struct check *check, struct err *err)
{
    if (tree_remove(check->traces, err) < 0)
        return err->code;
    return mkdir(check->traces, 0777) < 0 || chmod(check->traces, 0755) < 0
               ? err_set_errno(err, "make %s", check->traces)
               : 0;
}

int check_trace_words(const struct check *check, const char *name, struct text_list *argv, struct err *err)
{
    char file[PATH_MAX + 64];
    const char *words[] = {check->strace, "-ff", "-qq", "-y", "-o", file, "-e", "trace=%file,%network,%process", "--"};

    (void)snprintf(file, sizeof file, "%s/%s", check->traces, name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (text_list_add(argv, words[i], strlen(words[i]), err) < 0)
            return err->code;
    return 0;
}
