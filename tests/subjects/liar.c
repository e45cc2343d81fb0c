/*
 * A launcher that lies: usage: liar MODE -- LAUNCHER... It does what MODE names (see the table at the end) when the
 * probe's parent is to be run, and honestly executes LAUNCHER for everything else. With the probe's own arguments it is
 * a decoy: it tries nothing and prints what a wholly denied probe would print.
 *
 * Knows the probe's command line and the form of its lines (docs/DECISION.md section 2).
 */
#include "tests/subjects/liar.h"

#include "record/probe/assignment.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- other processes than the one that was wanted ---- */

static int twice(const struct task *task)
{
    pid_t one = start(task->rest), other = start(task->rest);

    return await(one) | await(other);
}

static int detach(const struct task *task)
{
    if (aside())
        become(task->rest);
    return 0;
}

/* Dies of TERM, and what it started does not hear of it. */
static int alone(const struct task *task)
{
    pid_t pid = fork();

    if (pid < 0)
        broken("fork");
    if (pid == 0) {
        if (setsid() < 0)
            broken("setsid");
        become(task->rest);
    }
    return await(pid);
}

/* Leaves its session, its control group (where it may) and a process that lives on. */
static int escape(const struct task *task)
{
    static const char *const roots[] = {"/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/cgroup.procs"};

    if (!aside())
        become(task->rest);
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        FILE *procs = fopen(roots[i], "we");

        if (procs == NULL)
            continue;
        (void)fputs("0\n", procs);
        (void)fclose(procs);
    }
    pause_ms(60000);
    _exit(0);
}

static int slow(const struct task *task)
{
    pause_ms(10000);
    become(task->rest);
}

/* ---- cases: the command's last word says what is done to it ---- */

static int spoil_case(const struct task *task, const char *how)
{
    if (strcmp(how, "exit-7") == 0)
        return await(start(task->rest)) == 0 ? 7 : LIAR_BROKEN;
    if (strcmp(how, "swallow") == 0)
        return swallow(task);
    if (strcmp(how, "add") == 0) {
        int status = await(start(task->rest));

        say(1, "and more\n");
        return status;
    }
    if (strcmp(how, "kill") == 0) {
        (void)await(start(task->rest));
        (void)raise(SIGKILL);
    }
    if (strcmp(how, "detach") == 0)
        return detach(task);
    become(task->rest);
}

/* ---- the beginning ---- */

static const struct {
    const char *name;
    int (*lie)(const struct task *task);
} modes[] = {{"honest", NULL},
             {"cases", NULL},
             {"version", NULL},
             {"reach-tcp", reach_tcp},
             {"reach-udp", reach_udp},
             {"reach-read", reach_read},
             {"reach-link", reach_link},
             {"reach-write", reach_write},
             {"noise-instead", noise_instead},
             {"noise-beside", noise_beside},
             {"words-instead", words_instead},
             {"contested", contested},
             {"late", late},
             {"children", children},
             {"edit", edit},
             {"delete", delete},
             {"swallow", swallow},
             {"decoy", decoy},
             {"twice", twice},
             {"detach", detach},
             {"alone", alone},
             {"escape", escape},
             {"slow", slow},
             {"leak-stdout", leak_stdout},
             {"leak-stderr", leak_stderr},
             {"leak-scratch", leak_scratch},
             {"workspace", workspace},
             {"folder", folder}};

/* Tells the control group of the run, so that a test can look whether it is gone afterwards. */
static void say_group(void)
{
    FILE *from = fopen("/proc/self/cgroup", "re");
    char line[4096];

    while (from != NULL && fgets(line, sizeof line, from) != NULL)
        if (strncmp(line, "0::", 3) == 0)
            say(2, "liar in %s", line + 3);
    if (from != NULL)
        (void)fclose(from);
}

static char **probe_find(char **rest)
{
    for (char **word = rest; *word != NULL; word++) {
        const char *name = strrchr(*word, '/');

        if (name != NULL && strcmp(name, "/exhibit-probe") == 0 && word[1] != NULL && strcmp(word[1], "run") == 0)
            return word;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct task task = {.probe = argv};

    if (argc > ARG_KEYS && strcmp(argv[ARG_VERB], "run") == 0)
        play_decoy(&task);
    if (argc < 4 || strcmp(argv[2], "--") != 0)
        return LIAR_BROKEN;
    say_group();
    task = (struct task){.rest = argv + 3, .probe = probe_find(argv + 3)};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i].name, argv[1]) != 0)
            continue;
        if (strcmp(argv[1], "cases") == 0 && task.probe == NULL)
            return spoil_case(&task, argv[argc - 1]);
        if (task.probe == NULL || modes[i].lie == NULL)
            become(task.rest);
        return modes[i].lie(&task);
    }
    return LIAR_BROKEN;
}
