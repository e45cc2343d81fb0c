#include "record/check_tell.h"

#include "base/cleanup.h"
#include "formats/claim.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUOTED_LINES 4
#define QUOTED_BYTES 400

void tell_end(const struct tryout *tryout, char *out, size_t room_bytes)
{
    if (tryout->failed_stage != NULL)
        (void)snprintf(out, room_bytes, "could not be executed (%s: %s)", tryout->failed_stage,
                       strerror(tryout->failed_errno));
    else if (tryout->overran)
        (void)snprintf(out, room_bytes, "overran and was ended");
    else
        (void)snprintf(out, room_bytes, "ended with %s %u", tryout->by_signal ? "signal" : "exit status",
                       tryout->number);
}

static void output_tell(FILE *out, const char *name, const struct bytes *bytes)
{
    size_t begin = bytes->size_bytes, end = bytes->size_bytes, lines = 0;
    const char *text = (const char *)bytes->data;

    while (end > 0 && text[end - 1] == '\n')
        end--;
    for (begin = end; begin > 0 && end - begin < QUOTED_BYTES; begin--)
        if (text[begin - 1] == '\n' && ++lines == QUOTED_LINES)
            break;
    for (size_t at = begin; at < end;) {
        const char *newline = memchr(text + at, '\n', end - at);
        size_t line_bytes = newline == NULL ? end - at : (size_t)(newline - text) - at;

        (void)fprintf(out, "    %s: ", name);
        text_print_escaped(out, text + at, line_bytes);
        (void)fputc('\n', out);
        at += line_bytes + 1;
    }
}

void tell_output(FILE *out, const struct tryout *tryout)
{
    output_tell(out, "stderr", &tryout->err);
    output_tell(out, "stdout", &tryout->out);
}

void tell_row(FILE *out, const char *words, size_t size_bytes)
{
    AUTO_FREE char *row = strndup(words, size_bytes);
    char *rest = row, *word;

    (void)fputs(", which says", out);
    while (row != NULL && (word = strsep(&rest, " ")) != NULL) {
        char *told = strchr(word, '=');
        const char *name = told != NULL && strncmp(told, "=errno:", 7) == 0 ? strerrorname_np(atoi(told + 7)) : NULL;

        (void)fputc(' ', out);
        text_print_escaped(out, word, strcspn(word, "="));
        (void)fputc(' ', out);
        if (name != NULL)
            (void)fputs(name, out);
        else if (told != NULL)
            text_print_escaped(out, told + 1, strncmp(told, "=ok:", 4) == 0 ? 2 : strlen(told + 1));
        (void)fputs(rest == NULL ? "\n" : ",", out);
    }
}

/* A path as a plan or policy would write it: the folders of the run stand for themselves. */
static void path_tell(FILE *out, const struct session *session, const char *path)
{
    const struct {
        const char *prefix, *name;
    } folders[] = {{session->workspace, "{workspace}"},
                   {session->home, "{home}"},
                   {session->scratch, "{scratch}"},
                   {session->tools, "{tools}"}};

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        size_t prefix_bytes = strlen(folders[i].prefix);

        if (strncmp(path, folders[i].prefix, prefix_bytes) != 0 ||
            (path[prefix_bytes] != '/' && path[prefix_bytes] != 0))
            continue;
        (void)fputs(folders[i].name, out);
        path += prefix_bytes;
        break;
    }
    text_print_escaped(out, path, strlen(path));
}

/* Whether the candidate is the toolkit's own, of which the policy's keys are known (docs/CONFINE.md). */
static bool is_own(const struct plan *plan)
{
    const char *slash = strrchr(plan->candidate.argv.items[0], '/');

    return slash != NULL && strcmp(slash + 1, "exhibit-confine") == 0 && plan->candidate.policy_file != NULL;
}

/* Whether Landlock asks for the right on the folder: what is made or removed there is no file that could be named. */
static bool needs_folder(const struct trace_call *call)
{
    return call->access == TRACE_WRITE && (strncmp(call->name, "open", 4) != 0 || access(call->what, F_OK) < 0) &&
           strcmp(call->name, "truncate") != 0;
}

void tell_blame(FILE *out, const struct session *session, const struct trace_call *call)
{
    static const char *const verbs[] = {[TRACE_READ] = "read", [TRACE_WRITE] = "write", [TRACE_EXECUTE] = "execute"};
    bool is_path = call->access <= TRACE_EXECUTE;

    (void)fprintf(out, "    %s ", is_path ? verbs[call->access] : call->access == TRACE_NETWORK ? "network" : "call");
    if (is_path)
        path_tell(out, session, call->what);
    else
        text_print_escaped(out, call->what, strlen(call->what));
    (void)fprintf(out, ": %s failed with %s\n", call->name, call->errno_name);
    if (is_own(session->plan) && (!is_path || strcmp(call->errno_name, "EPERM") == 0)) {
        (void)fputs("      grant: none; exhibit-confine never lets this pass\n", out);
    } else if (is_own(session->plan)) {
        AUTO_FREE char *path = strdup(call->what);

        if (path != NULL && needs_folder(call))
            path = dirname(path);
        (void)fputs("      grant: add `- \"", out);
        path_tell(out, session, path == NULL ? call->what : path);
        (void)fprintf(out, "\"` to `%s:` in %s\n", verbs[call->access], session->plan->candidate.policy_file);
    } else if (is_path) {
        (void)fprintf(out, "      grant: let %s %s it\n", session->plan->candidate.name, verbs[call->access]);
    } else {
        (void)fprintf(out, "      grant: let %s make this call\n", session->plan->candidate.name);
    }
}
