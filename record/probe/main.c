/*
 * exhibit-probe: tries effects inside a confinement and tells what came of them (docs/DECISION.md 2 and 3.1).
 * This file owns the life of a role: its rounds, their times, and its end.
 */
#include "record/probe/clock.h"
#include "record/probe/tree.h"
#include "record/probe/worker.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define BACKSTOP_MS 500

static const char usage[] =
    "usage: exhibit-probe nothing\n"
    "       exhibit-probe surroundings [NAME...]\n"
    "       exhibit-probe run parent|child|grandchild NONCE KEY=VALUE...\n"
    "       exhibit-probe --help\n"
    "\n"
    "`nothing` ends at once with 0. `surroundings` prints a line, then the current folder and each variable,\n"
    "each ended by a NUL: what the launcher made of what it was given; of a NAME without its value. `run` plays a\n"
    "role: it tries the effects, tells on stdout and in SCRATCH/exhibit-probe-ROLE.lines what came of them, and\n"
    "stays until its lifetime is over. NONCE is 32 lower-case hexadecimal digits. All keys but the last two are\n"
    "needed, in any order; paths are absolute, of at most 4095 bytes:\n"
    "  tree=0|1            1: the parent starts a child, and the child a detached grandchild\n"
    "  read=PATH           a file to be read\n"
    "  read-link=PATH      a symbolic link to a file to be read\n"
    "  write=PATH          a file to be appended to\n"
    "  tcp=PORT udp=PORT   ports of 127.0.0.1 to send to, 1 to 65535\n"
    "  effects=LIST        of read,read-link,write,tcp,udp: what is tried, in that order, each at most once\n"
    "  rounds=N            1 to 1000: rounds of the grandchild; the other roles make one\n"
    "  interval_ms=N       1 to 10000: from one round to the next\n"
    "  lifetime_ms=N       1 to 120000: each role ends itself so long after its start\n"
    "  scratch=DIR         a folder that may be written to\n"
    "  parent_ms=N         1 to 120000: the parent ends itself so long after its start instead\n"
    "  ignore_term=0|1     1: every role ignores SIGTERM\n"
    "exit: 0 whatever came of the effects, 1 cannot print, 2 wrong usage\n";

/* Whether the value of a variable is not to be told. */
static bool is_hidden(const char *variable, char *const *names)
{
    size_t name_bytes = strcspn(variable, "=");

    for (; *names != NULL; names++)
        if (strlen(*names) == name_bytes && strncmp(variable, *names, name_bytes) == 0)
            return true;
    return false;
}

/* Tells the current folder (empty where there is none) and the environment, of some variables (NULL last) the name. */
static int tell_surroundings(char *const *hidden)
{
    char folder[PATH_MAX];

    (void)fputs("EXHIBIT1 surroundings\n", stdout);
    (void)fputs(getcwd(folder, sizeof folder) == NULL ? "" : folder, stdout);
    (void)putchar(0);
    for (char **variable = environ; *variable != NULL; variable++) {
        bool whole = !is_hidden(*variable, hidden);

        (void)fwrite(*variable, 1, whole ? strlen(*variable) : strcspn(*variable, "="), stdout);
        (void)fputs(whole ? "" : "=", stdout);
        (void)putchar(0);
    }
    return fflush(stdout) != 0;
}

/* What a launcher left behind (blocked, ignored) must not change how a role ends. */
static void reset_signals(bool ignores_term)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, number == SIGTERM && ignores_term ? SIG_IGN : SIG_DFL); /* no moment in between */
    (void)signal(SIGPIPE, SIG_IGN); /* a closed stdout must end neither attempts nor rows */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Ends the role even where a write hangs, some time after it should have ended by itself. */
static void set_backstop(uint32_t lifetime_ms)
{
    uint32_t after_ms = lifetime_ms + BACKSTOP_MS;
    struct itimerval timer = {.it_value = {.tv_sec = after_ms / 1000, .tv_usec = (after_ms % 1000) * 1000}};

    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* One round. A round of which not every attempt is known leaves no row; nor does one that the end comes upon. */
static void make_round(const struct lines *lines, char *verb, uint32_t round, uint64_t end_ns)
{
    const struct assignment *assignment = lines->assignment;
    struct told told[EFFECT_COUNT];
    struct worker worker = {.pid = 0};
    bool whole = true;

    for (size_t i = 0; whole && i < assignment->effect_count; i++)
        whole =
            clock_now_ns() < end_ns && worker_attempt(&worker, lines, verb, assignment->effects[i], round, &told[i]);
    worker_stop(&worker);
    if (whole)
        lines_row(lines, round, told);
}

static _Noreturn void play(const struct assignment *assignment, char **argv, uint64_t start_ns)
{
    struct lines lines;
    bool ends_first = assignment->role == ROLE_IS_PARENT && assignment->parent_ms > 0;
    uint32_t lifetime_ms = ends_first ? assignment->parent_ms : assignment->lifetime_ms;
    uint64_t end_ns = start_ns + lifetime_ms * NS_PER_MS;
    uint32_t round_count = assignment->role == ROLE_IS_GRANDCHILD ? assignment->rounds : 1;

    set_backstop(lifetime_ms);
    lines = lines_open(assignment);
    tree_start_next(assignment, argv);
    for (uint32_t round = 1; round <= round_count; round++) {
        uint64_t due_ns = start_ns + (round - 1) * (assignment->interval_ms * NS_PER_MS);

        if (due_ns >= end_ns)
            break;
        clock_sleep_until(due_ns);
        make_round(&lines, argv[ARG_VERB], round, end_ns);
    }
    clock_sleep_until(end_ns);
    _exit(0);
}

int main(int argc, char **argv)
{
    uint64_t start_ns = clock_now_ns();
    struct assignment assignment;
    struct err err = {0};

    if (argc == 2 && strcmp(argv[1], "nothing") == 0)
        return 0;
    if (argc >= 2 && strcmp(argv[1], "surroundings") == 0)
        return tell_surroundings(argv + 2);
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(usage, stdout) < 0 || fflush(stdout) != 0;
    if (assignment_parse(argc, argv, &assignment, &err) < 0) {
        (void)fprintf(stderr, "exhibit-probe: %s (see --help)\n", err.text);
        return 2;
    }
    reset_signals(assignment.ignores_term);
    play(&assignment, argv, start_ns);
}
