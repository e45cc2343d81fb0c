/*
 * exhibit-confine: runs a command under a policy of Landlock grants and a system call filter, or does not run it.
 * This file owns the order of the steps.
 */
#include "candidates/confine/args.h"
#include "candidates/confine/filter.h"
#include "candidates/confine/landlock.h"
#include "candidates/confine/namespace.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define EXIT_CANNOT_CONFINE 125
#define EXIT_CANNOT_EXECUTE 126
#define EXIT_NOT_FOUND 127

static const char usage[] =
    "usage: exhibit-confine --policy FILE [--set NAME=VALUE]... [--pid-namespace] -- COMMAND ARG...\n"
    "       exhibit-confine --policy FILE [--set NAME=VALUE]... {--grants | --mounts}\n"
    "       exhibit-confine {--help | --version}\n"
    "\n"
    "Runs COMMAND so that it reaches only the files that the policy names and no network: Landlock, a filter\n"
    "of system calls, no capabilities, no inherited descriptors but 0 to 2. Where that cannot be had, COMMAND\n"
    "is not started.\n"
    "  --policy FILE      what is granted (YAML: version, read, execute, write, network, pid_namespace)\n"
    "  --set NAME=VALUE   what {NAME} in the policy's paths stands for\n"
    "  --pid-namespace    in a pid namespace that ends with COMMAND and with this launcher\n"
    "  --grants           runs nothing; prints the grants of what is there, `read PATH`, `execute PATH` or\n"
    "                     `write PATH`, one a line, each before those below it\n"
    "  --mounts           the same for a tool that mounts: `link PATH` for a symbolic link, `read PATH` for\n"
    "                     `execute PATH`, and nothing that lies in another one's folder already\n"
    "  --help             prints this\n"
    "  --version          prints the version\n"
    "Exit status: that of COMMAND; 2 wrong usage or policy, 125 cannot confine, 126 cannot execute COMMAND,\n"
    "127 COMMAND not found.\n";

struct payload {
    const struct policy *policy;
    char **command;
};

static void say(const char *text)
{
    (void)fprintf(stderr, "exhibit-confine: %s\n", text);
}

/* Gives up every capability; with no_new_privs set, an exec as root does not give them back. */
static int drop_capabilities(struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (syscall(SYS_capset, &header, none) < 0)
        return err_set_errno(err, "drop the capabilities");
    return 0;
}

static int confine(const struct policy *policy, struct err *err)
{
    int code;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, "set no_new_privs");
    code = landlock_enter(policy, err);
    if (code == 0)
        code = drop_capabilities(err);
    if (code == 0)
        code = filter_enter(err);
    return code;
}

/* Confines this process and becomes the command; ends it where either fails. */
static void run_payload(const void *context)
{
    const struct payload *payload = context;
    struct err err = {0};

    if (confine(payload->policy, &err) < 0) {
        (void)err_wrap(&err, "cannot confine, so %s is not started", payload->command[0]);
        say(err.text);
        _exit(EXIT_CANNOT_CONFINE);
    }
    (void)execvp(payload->command[0], payload->command);
    (void)err_set_errno(&err, "cannot execute %s", payload->command[0]);
    say(err.text);
    _exit(err.sys_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

/* Prints the grants for the launchers of other sandboxes, which know no YAML. */
static int print_grants(struct policy *policy, bool mounts)
{
    struct err err = {0};

    if (policy_sort(policy, &err) < 0) {
        say(err.text);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < policy->grant_count; i++) {
        const char *kind = mounts ? policy_mount_kind(policy, i) : grant_kind_name(policy->grants[i].kind);

        if (kind != NULL)
            (void)printf("%s %s\n", kind, policy->grants[i].path);
    }
    return fflush(stdout) != 0 ? EXIT_CANNOT_CONFINE : 0;
}

static int run(const struct args *args, const struct policy *policy)
{
    struct payload payload = {.policy = policy, .command = args->command};
    struct err err = {0};
    int status;

    if (!args->pid_namespace && !policy->pid_namespace)
        run_payload(&payload);
    status = namespace_run(run_payload, &payload, &err);
    if (status >= 0)
        _exit(status); /* its streams are closed: whatever runs at exit() could only fail to write to them */
    (void)err_wrap(&err, "cannot confine, so %s is not started", args->command[0]);
    say(err.text);
    return EXIT_CANNOT_CONFINE;
}

int main(int argc, char **argv)
{
    struct args args = {0};
    struct policy policy = {0};
    struct err err = {0};
    int status;

    if (args_parse(argc, argv, &args, &err) < 0) {
        (void)fprintf(stderr, "exhibit-confine: %s (see --help)\n", err.text);
        return EXIT_USAGE;
    }
    if (args.help || args.version)
        return fputs(args.help ? usage : "exhibit-confine " EXHIBIT_VERSION "\n", stdout) < 0 || fflush(stdout) != 0;
    if (args.command != NULL && close_range(STDERR_FILENO + 1, UINT_MAX, 0) < 0) {
        (void)err_set_errno(&err, "cannot confine, so %s is not started: close inherited descriptors", args.command[0]);
        say(err.text);
        return EXIT_CANNOT_CONFINE;
    }
    if (policy_read(args.policy_file, args.settings, args.setting_count, &policy, &err) < 0) {
        say(err.text);
        status = err.code == ERR_USAGE ? EXIT_USAGE : EXIT_CANNOT_CONFINE;
    } else {
        status = args.command == NULL ? print_grants(&policy, args.mounts) : run(&args, &policy);
    }
    policy_done(&policy);
    return status;
}
