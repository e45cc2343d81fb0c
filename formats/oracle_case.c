/*
 * What a case must show and leave.
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

/* A path in the scratch folder: no empty, "." or ".." part; at most one '*', in the last part. */
static bool pattern_is_fit(const char *path)
{
    const char *star = strchr(path, '*');

    if (star != NULL && strpbrk(star + 1, "*/") != NULL)
        return false;
    for (const char *part = path;; part++) {
        size_t size_bytes = strcspn(part, "/");

        if (size_bytes == 0 || (size_bytes <= 2 && strspn(part, ".") >= size_bytes))
            return false;
        part += size_bytes;
        if (*part == '\0')
            return true;
    }
}

static int archive_read(const struct yaml_node *node, struct oracle_archive *out, struct err *err)
{
    static const char *const known[] = {"path", "bytes", NULL};
    const struct yaml_node *path, *bytes;

    if (yaml_check_map(node, "an archive", known, err) < 0 || yaml_need(node, "an archive", "path", &path, err) < 0 ||
        yaml_text_copy(path, &out->path, err) < 0)
        return err->code;
    if (strlen(out->path) >= LIMIT_PATH_BYTES || !pattern_is_fit(out->path))
        return yaml_fault(path, err,
                          "`path` is not one of a file in the scratch folder; write it relative, without "
                          ". and .., with at most one *, in its last part");
    bytes = yaml_get(node, "bytes");
    return bytes == NULL ? 0 : yaml_bool(bytes, &out->bytes, err);
}

static int archives_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    if (yaml_check_list(node, 0, LIMIT_MATCHERS, err) < 0)
        return err->code;
    out->archives = calloc(node->count + 1, sizeof *out->archives);
    if (out->archives == NULL)
        return err_set_errno(err, "memory for archives");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (archive_read(item, &out->archives[out->archive_count++], err) < 0)
            return err->code;
    return 0;
}

int oracle_case_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    static const char *const known[] = {"name", "exit", "signal", "stdout", "stderr", "archives", NULL};
    const struct yaml_node *name, *exit, *signal, *on_stdout, *on_stderr, *archives;

    if (yaml_check_map(node, "a case", known, err) < 0 || yaml_need(node, "a case", "name", &name, err) < 0 ||
        plan_name_read(name, &out->name, err) < 0 || plan_name_check_fresh(node, "case", err) < 0)
        return err->code;
    out->line = node->line;
    exit = yaml_get(node, "exit");
    signal = yaml_get(node, "signal");
    on_stdout = yaml_get(node, "stdout");
    on_stderr = yaml_get(node, "stderr");
    archives = yaml_get(node, "archives");
    if (exit != NULL && signal != NULL)
        return yaml_fault(signal, err, "a case that ends by `exit` and by `signal`; keep one");
    if ((exit != NULL && exit_read(exit, out, err) < 0) || (signal != NULL && signal_read(signal, out, err) < 0) ||
        (on_stdout != NULL && oracle_stream_read(on_stdout, false, out, err) < 0) ||
        (on_stderr != NULL && oracle_stream_read(on_stderr, true, out, err) < 0) ||
        (archives != NULL && archives_read(archives, out, err) < 0))
        return err->code;
    if (out->matcher_count == 0 && out->archive_count == 0)
        return yaml_fault(node, err, "the case `%s` need show nothing; write at least how it ends, as `exit: 0`",
                          out->name);
    return 0;
}
