/*
 * What a case must show: how it ends, after how long, and what its parts say.
 */
#include "formats/oracle_parts.h"
#include "formats/plan_names.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

int oracle_matcher_add(struct oracle_case *one, enum oracle_matcher_kind kind, const struct yaml_node *at,
                       struct oracle_matcher **out, struct err *err)
{
    struct oracle_matcher *grown;

    if (one->matcher_count == LIMIT_MATCHERS)
        return yaml_fault(at, err, "a case that must show more than %d things; ask for less", LIMIT_MATCHERS);
    grown = reallocarray(one->matchers, one->matcher_count + 1, sizeof *grown);
    if (grown == NULL)
        return err_set_errno(err, "memory for what a case must show");
    one->matchers = grown;
    *out = &grown[one->matcher_count++];
    **out = (struct oracle_matcher){.kind = kind, .line = at->line};
    return 0;
}

static int exit_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    struct oracle_matcher *matcher;
    uint32_t status;

    if (yaml_uint(node, 0, 255, &status, err) < 0 || oracle_matcher_add(out, ORACLE_EXIT, node, &matcher, err) < 0)
        return err->code;
    matcher->number = status;
    return 0;
}

static int signal_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    struct oracle_matcher *matcher;
    const char *text;

    if (yaml_text(node, &text, err) < 0)
        return err->code;
    for (int number = 1; number < NSIG; number++) {
        const char *known = sigabbrev_np(number);

        if (known == NULL || strcmp(known, text) != 0)
            continue;
        if (oracle_matcher_add(out, ORACLE_SIGNAL, node, &matcher, err) < 0)
            return err->code;
        matcher->number = number;
        return 0;
    }
    return yaml_fault(node, err, "there is no signal `%.64s`; write its name without SIG, as TERM", text);
}

int oracle_range_read(const struct yaml_node *node, uint32_t most, struct oracle_matcher *out, struct err *err)
{
    static const char *const known[] = {"at_least", "at_most", NULL};
    const struct yaml_node *at_least, *at_most;
    uint32_t number = 0;

    if (yaml_check_map(node, "a map of bounds", known, err) < 0)
        return err->code;
    if (node->count == 0)
        return yaml_fault(node, err, "bounds that allow everything; write at_least, at_most or both");
    at_least = yaml_get(node, "at_least");
    at_most = yaml_get(node, "at_most");
    out->at_most = UINT64_MAX;
    if (at_least != NULL && yaml_uint(at_least, 0, most, &number, err) < 0)
        return err->code;
    out->at_least = number;
    if (at_most == NULL)
        return 0;
    if (yaml_uint(at_most, 0, most, &number, err) < 0)
        return err->code;
    out->at_most = number;
    if (out->at_most < out->at_least)
        return yaml_fault(at_most, err, "`at_most` is below `at_least`, which nothing meets; exchange them");
    return 0;
}

int oracle_digest_read(const struct yaml_node *node, struct digest *out, struct err *err)
{
    const char *text;

    if (yaml_text(node, &text, err) < 0)
        return err->code;
    if (!hex_decode(text, out->bytes, DIGEST_BYTES))
        return yaml_fault(node, err, "`sha256` is not one; write 64 lower-case hexadecimal digits");
    return 0;
}

static int duration_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    struct oracle_matcher *matcher;

    if (oracle_matcher_add(out, ORACLE_DURATION, node, &matcher, err) < 0)
        return err->code;
    return oracle_range_read(node, LIMIT_WATCHDOG_MS, matcher, err);
}

int oracle_case_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    static const char *const known[] = {"name",   "exit",  "signal",   "duration_ms", "stdout",
                                        "stderr", "files", "archives", NULL};
    const struct yaml_node *name, *exit, *signal, *duration, *on_stdout, *on_stderr, *files, *archives;

    if (yaml_check_map(node, "a case", known, err) < 0 || yaml_need(node, "a case", "name", &name, err) < 0 ||
        plan_name_read(name, &out->name, err) < 0 || plan_name_check_fresh(node, "case", err) < 0)
        return err->code;
    out->line = node->line;
    exit = yaml_get(node, "exit");
    signal = yaml_get(node, "signal");
    duration = yaml_get(node, "duration_ms");
    on_stdout = yaml_get(node, "stdout");
    on_stderr = yaml_get(node, "stderr");
    files = yaml_get(node, "files");
    archives = yaml_get(node, "archives");
    if (exit != NULL && signal != NULL)
        return yaml_fault(signal, err, "a case that ends by `exit` and by `signal`; keep one");
    if ((exit != NULL && exit_read(exit, out, err) < 0) || (signal != NULL && signal_read(signal, out, err) < 0) ||
        (duration != NULL && duration_read(duration, out, err) < 0) ||
        (on_stdout != NULL && oracle_stream_read(on_stdout, false, out, err) < 0) ||
        (on_stderr != NULL && oracle_stream_read(on_stderr, true, out, err) < 0) ||
        (files != NULL && oracle_files_read(files, out, err) < 0) ||
        (archives != NULL && oracle_archives_read(archives, out, err) < 0))
        return err->code;
    if (out->matcher_count == 0 && out->archive_count == 0)
        return yaml_fault(node, err, "the case `%s` need show nothing; write at least how it ends, as `exit: 0`",
                          out->name);
    return 0;
}
