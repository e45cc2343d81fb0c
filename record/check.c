#include "record/check.h"

#include "base/cleanup.h"
#include "formats/plan_names.h"
#include "record/check_subject.h"
#include "record/check_tell.h"
#include "record/probe_assignment.h"

#include <stdlib.h>
#include <string.h>

#define LAUNCHER_WATCHDOG_MS 30000
#define PROBE_WATCHDOG_MS 10000
#define PROBE_LIFETIME_MS 1000
#define HARMLESS_NS 10000000000ull /* for the tracing of what goes well */

/* ---- why ---- */

/* Traces one run of it. `why` as look gives it. True in `overran`: it was ended before it was done. */
static int traced(struct check *check, const struct subject *subject, bool strict, struct trace *trace, char *why,
                  size_t room_bytes, bool *overran, struct err *err)
{
    AUTO_TRYOUT struct tryout tryout = {0};

    if (check_trace_clear(check, err) < 0 || subject_run(check, subject, strict, "run", &tryout, err) < 0 ||
        subject_look(check, subject, &tryout, why, room_bytes, err) < 0)
        return err->code;
    if (*check_interrupted())
        return err_set(err, ERR_SYSTEM, "interrupted");
    *overran = tryout.overran;
    return trace_read(trace, check->traces, "run", err);
}

struct telling {
    struct check *check;
    size_t count;
};

static void blame_take(void *context, const struct trace_call *call)
{
    struct telling *telling = context;

    if (telling->count++ < CHECK_TOLD_CALLS)
        tell_blame(telling->check->out, &telling->check->session, call);
}

/* Traces it without and with the sandbox, and tells what only the second was refused. */
static int subject_explain(struct check *check, const struct subject *subject, struct err *err)
{
    AUTO_TRACE struct trace baseline = {0}, strict = {0};
    struct telling telling = {.check = check};
    char without[400], with[400];
    bool overran = false;

    (void)fprintf(check->out, "%s: what the sandbox refused it, the last one first\n", subject->name);
    if (check->strace == NULL) {
        (void)fputs("    not known: there is no strace to trace it with (apt-get install strace)\n", check->out);
        return 0;
    }
    if (traced(check, subject, false, &baseline, without, sizeof without, &overran, err) < 0 ||
        traced(check, subject, true, &strict, with, sizeof with, &overran, err) < 0)
        return err->code;
    if (*without != 0)
        (void)fprintf(check->out, "    it breaks without the sandbox, too: it %s\n", without);
    if (overran)
        (void)fputs("    while it is traced it overran and was ended, so that its end is not known:\n", check->out);
    if (*with == 0)
        (void)fputs("    while it is traced it passes, so that this may not be the cause:\n", check->out);
    if (trace_blame(&strict, &baseline, &check->harmless, blame_take, &telling, err) < 0)
        return err->code;
    if (telling.count > CHECK_TOLD_CALLS)
        (void)fprintf(check->out, "    and %zu more\n", telling.count - CHECK_TOLD_CALLS);
    if (telling.count == 0)
        (void)fprintf(check->out, "    no call of it failed that succeeds without%s\n", overran ? ", until then" : "");
    return 0;
}

/* What fails in a run that goes well all the same is nobody's reason. */
static int harmless_add(struct check *check, const struct subject *subject, struct err *err)
{
    char why[400];
    bool overran;

    return check->strace == NULL ? 0 : traced(check, subject, true, &check->harmless, why, sizeof why, &overran, err);
}

/* ---- the three parts ---- */

/* Tries it with the sandbox and says whether it is well. */
static int try_it(struct check *check, const struct subject *subject, struct tryout *tryout, bool *out_well,
                  struct err *err)
{
    char why[400];

    if (subject_run(check, subject, true, NULL, tryout, err) < 0 ||
        subject_look(check, subject, tryout, why, sizeof why, err) < 0)
        return err->code;
    if (*check_interrupted())
        return err_set(err, ERR_SYSTEM, "interrupted");
    *out_well = *why == 0;
    (void)fprintf(check->out, *why == 0 ? "  ok  %s" : "  no  %s: it %s", subject->name, why);
    return 0;
}

static int launcher_try(struct check *check, bool *out_well, struct err *err)
{
    AUTO_SUBJECT struct subject subject = {.name = "launcher", .watchdog_ms = LAUNCHER_WATCHDOG_MS};
    AUTO_TRYOUT struct tryout tryout = {0};
    char probe[PATH_MAX + 32];

    (void)snprintf(probe, sizeof probe, "%s/exhibit-probe", check->session.tools);
    if (text_list_add(&subject.command, probe, strlen(probe), err) < 0 ||
        text_list_add(&subject.command, "nothing", 7, err) < 0 ||
        expand_environment(&check->session, NULL, 0, &subject.environment, err) < 0 ||
        try_it(check, &subject, &tryout, out_well, err) < 0)
        return err->code;
    (void)fputs(*out_well ? ", around a command that does nothing\n" : " around a command that does nothing\n",
                check->out);
    if (*out_well)
        return harmless_add(check, &subject, err);
    tell_output(check->out, &tryout);
    return tryout.failed_stage != NULL ? 0 : subject_explain(check, &subject, err);
}

static int probe_try(struct check *check, bool *out_well, struct err *err)
{
    static char name[] = "probe";
    struct plan_trial trial = {.name = name,
                               .rounds = 1,
                               .interval_ms = 200,
                               .lifetime_ms = PROBE_LIFETIME_MS,
                               .effects = (char **)effect_names,
                               .effect_count = EFFECT_COUNT}; /* only read */
    AUTO_SUBJECT struct subject subject = {.name = name, .watchdog_ms = PROBE_WATCHDOG_MS, .speaks = true};
    AUTO_TRYOUT struct tryout tryout = {0};
    struct probe_assignment assignment;

    if (probe_assign(&check->session, &trial, EXHIBIT__MODE__MODE_STRICT, 1, &assignment, &subject.command, err) < 0 ||
        expand_environment(&check->session, NULL, 0, &subject.environment, err) < 0 ||
        try_it(check, &subject, &tryout, out_well, err) < 0)
        return err->code;
    if (*out_well) {
        (void)subject_spoke(check, &tryout, check->out);
        return 0;
    }
    (void)fputc('\n', check->out);
    tell_output(check->out, &tryout);
    return subject_explain(check, &subject, err);
}

static const struct oracle_case *expected_of(const struct oracle *oracle, const char *name)
{
    for (size_t i = 0; i < oracle->case_count; i++)
        if (strcmp(oracle->cases[i].name, name) == 0)
            return &oracle->cases[i];
    return NULL;
}

static int case_fill(struct check *check, const struct plan_case *one, struct subject *out, struct err *err)
{
    out->name = one->name;
    out->stdin_bytes = one->stdin_bytes.data;
    out->stdin_size_bytes = one->stdin_bytes.size_bytes;
    out->watchdog_ms = one->watchdog_ms;
    out->expected = expected_of(check->oracle, one->name);
    if (expand_argv(&check->session, &one->command, NULL, &out->command, err) < 0)
        return err->code;
    return expand_environment(&check->session, one->environment, one->environment_count, &out->environment, err);
}

static int case_try(struct check *check, const struct plan_case *one, bool *out_well, struct err *err)
{
    AUTO_SUBJECT struct subject subject = {0};
    AUTO_TRYOUT struct tryout tryout = {0};

    if (case_fill(check, one, &subject, err) < 0 || try_it(check, &subject, &tryout, out_well, err) < 0)
        return err->code;
    (void)fputc('\n', check->out);
    if (!*out_well)
        tell_output(check->out, &tryout);
    return 0;
}

/* Traces a case: to explain it, or (`harmless`) to know what a good one is refused. */
static int case_trace(struct check *check, const struct plan_case *one, bool harmless, struct err *err)
{
    AUTO_SUBJECT struct subject subject = {0};

    if (case_fill(check, one, &subject, err) < 0)
        return err->code;
    return harmless ? harmless_add(check, &subject, err) : subject_explain(check, &subject, err);
}

/* Traces the good cases, as far as there is time for it, and then those that break. */
static int cases_explain(struct check *check, const bool *well, struct err *err)
{
    const struct plan *plan = check->session.plan;
    uint64_t until_ns = clock_now_ns() + HARMLESS_NS;

    for (size_t i = 0; i < plan->case_count && clock_now_ns() < until_ns; i++)
        if (well[i] && case_trace(check, &plan->cases[i], true, err) < 0)
            return err->code;
    for (size_t i = 0; i < plan->case_count; i++)
        if (!well[i] && case_trace(check, &plan->cases[i], false, err) < 0)
            return err->code;
    return 0;
}

static int cases_try(struct check *check, size_t *out_broken, struct err *err)
{
    const struct plan *plan = check->session.plan;
    bool well[LIMIT_CASES] = {false};
    size_t broken = 0;

    for (size_t i = 0; i < plan->case_count; i++) {
        if (case_try(check, &plan->cases[i], &well[i], err) < 0)
            return err->code;
        broken += !well[i];
    }
    *out_broken += broken;
    return broken == 0 ? 0 : cases_explain(check, well, err);
}

static int all_try(struct check *check, size_t *out_broken, struct err *err)
{
    bool launcher = false, probe = false;

    if (launcher_try(check, &launcher, err) < 0)
        return err->code;
    *out_broken = !launcher;
    if (!launcher) /* nothing else can go better */
        return 0;
    if (probe_try(check, &probe, err) < 0)
        return err->code;
    *out_broken += !probe;
    return cases_try(check, out_broken, err);
}

int check_make(const struct check_request *request, size_t *out_broken, struct err *err)
{
    struct check *check = calloc(1, sizeof *check);
    size_t broken = 0;
    int code;

    if (check == NULL)
        return err_set_errno(err, "memory for a check");
    code = check_open(check, request, err);
    if (code == 0)
        code = all_try(check, &broken, err);
    if (code == 0 && broken == 0)
        (void)fputs("all is well: what has to pass does; whether the rest is held back, a recording tells\n",
                    check->out);
    else if (code == 0)
        (void)fprintf(check->out, "%zu of %zu %s\n", broken, request->plan->case_count + 2,
                      broken == 1 ? "breaks" : "break");
    code = check_close(check, err, code);
    free(check);
    *out_broken = broken;
    return code;
}
