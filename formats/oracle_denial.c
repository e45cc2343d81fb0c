/*
 * What counts as a denial: the shipped defaults, what a file changes in them, and how an oracle is told to people.
 */
#include "formats/oracle_parts.h"
#include "formats/plan_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERRNO_MAX = 4095 };

/* In the order of effect_names. The lists end at a 0. A time-out or a signal is no denial by default. */
static const struct {
    int errnos[6];
    bool diverted;
} shipped[EFFECT_COUNT] = {
    {{EACCES, EPERM, ENOENT}, false},
    {{EACCES, EPERM, ENOENT}, false},
    {{EACCES, EPERM, ENOENT, EROFS}, true},
    {{EACCES, EPERM, ECONNREFUSED, ENETUNREACH}, false},
    {{EACCES, EPERM, ECONNREFUSED, ENETUNREACH}, true},
};

static int denial_default(size_t index, struct oracle_denial *out, struct err *err)
{
    out->effect = strdup(effect_names[index]);
    out->errnos = malloc(sizeof shipped[index].errnos);
    if (out->effect == NULL || out->errnos == NULL)
        return err_set_errno(err, "memory for denials");
    memcpy(out->errnos, shipped[index].errnos, sizeof shipped[index].errnos);
    while (out->errnos[out->errno_count] != 0)
        out->errno_count++;
    out->diverted_allowed = shipped[index].diverted;
    return 0;
}

/* The number of an errno's name on this machine, or 0. */
static int errno_named(const char *name)
{
    for (int number = 1; number <= ERRNO_MAX; number++) {
        const char *known = strerrorname_np(number);

        if (known != NULL && strcmp(known, name) == 0)
            return number;
    }
    return 0;
}

static int errnos_read(const struct yaml_node *node, struct oracle_denial *out, struct err *err)
{
    if (yaml_check_list(node, 0, ERRNO_MAX, err) < 0)
        return err->code;
    free(out->errnos);
    out->errno_count = 0;
    out->errnos = calloc(node->count + 1, sizeof *out->errnos);
    if (out->errnos == NULL)
        return err_set_errno(err, "memory for denials");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        const char *text;
        int number;

        if (yaml_text(item, &text, err) < 0)
            return err->code;
        number = errno_named(text);
        if (number == 0)
            return yaml_fault(item, err, "there is no errno `%.64s`; write its name, as EACCES", text);
        for (size_t i = 0; i < out->errno_count; i++)
            if (out->errnos[i] == number)
                return yaml_fault(item, err, "the errno `%s` stands twice; keep one", text);
        out->errnos[out->errno_count++] = number;
    }
    return 0;
}

static int denial_read(const struct yaml_node *node, struct oracle_denial *out, struct err *err)
{
    static const char *const known[] = {"errnos", "timeout", "signal", "diverted", NULL};
    const struct yaml_node *errnos, *timeout, *signal, *diverted;

    if (yaml_check_map(node, "a denial", known, err) < 0)
        return err->code;
    errnos = yaml_get(node, "errnos");
    timeout = yaml_get(node, "timeout");
    signal = yaml_get(node, "signal");
    diverted = yaml_get(node, "diverted");
    if ((errnos != NULL && errnos_read(errnos, out, err) < 0) ||
        (timeout != NULL && yaml_bool(timeout, &out->timeout, err) < 0) ||
        (signal != NULL && yaml_bool(signal, &out->signal, err) < 0) ||
        (diverted != NULL && yaml_bool(diverted, &out->diverted_allowed, err) < 0))
        return err->code;
    return 0;
}

int oracle_denials_read(const struct yaml_node *node, struct oracle *out, struct err *err)
{
    out->denials = calloc(EFFECT_COUNT, sizeof *out->denials);
    if (out->denials == NULL)
        return err_set_errno(err, "memory for denials");
    if (node != NULL && yaml_check_map(node, "a map of denials", effect_names, err) < 0)
        return err->code;
    for (size_t i = 0; i < EFFECT_COUNT; i++) {
        struct oracle_denial *denial = &out->denials[out->denial_count++];
        const struct yaml_node *given = node == NULL ? NULL : yaml_get(node, effect_names[i]);

        if (denial_default(i, denial, err) < 0 || (given != NULL && denial_read(given, denial, err) < 0))
            return err->code;
    }
    return 0;
}

const struct oracle_denial *oracle_denial_of(const struct oracle *oracle, const char *effect)
{
    for (size_t i = 0; i < oracle->denial_count; i++)
        if (strcmp(oracle->denials[i].effect, effect) == 0)
            return &oracle->denials[i];
    return NULL;
}

static bool is_shipped(size_t index, int number)
{
    for (const int *at = shipped[index].errnos; *at != 0; at++)
        if (*at == number)
            return true;
    return false;
}

/* "read denied by: EACCES, EPERM, timeout" */
static bool denial_text(const struct oracle_denial *denial, size_t index, char *text, size_t size_bytes)
{
    bool wider = denial->timeout || denial->signal;
    size_t used = (size_t)snprintf(text, size_bytes, "%s denied by:", denial->effect);

    for (size_t i = 0; i < denial->errno_count && used < size_bytes; i++) {
        used += (size_t)snprintf(text + used, size_bytes - used, " %s", strerrorname_np(denial->errnos[i]));
        wider = wider || !is_shipped(index, denial->errnos[i]);
    }
    if (used < size_bytes)
        (void)snprintf(text + used, size_bytes - used, "%s%s%s", denial->timeout ? " timeout" : "",
                       denial->signal ? " signal" : "",
                       denial->errno_count > 0 || denial->timeout || denial->signal ? "" : " nothing");
    return wider;
}

/* "archive out.tar of case pack compared without: mtime, members x*" */
static void exceptions_text(const struct oracle_case *one, const struct oracle_archive *archive, char *text,
                            size_t size_bytes)
{
    size_t used =
        (size_t)snprintf(text, size_bytes, "archive %.200s of case %s compared without:%s%s", archive->path, one->name,
                         archive->except_mtime ? " mtime" : "", archive->except_owner ? " owner" : "");

    for (size_t i = 0; i < archive->except_count && used < size_bytes; i++)
        used += (size_t)snprintf(text + used, size_bytes - used, " %.200s", archive->except_paths[i]);
    for (char *at = text; *at != '\0'; at++) /* paths may hold anything */
        if (*at < ' ' || *at > '~')
            *at = '?';
}

/* Adds a word to a list; false where it is not wanted. */
static bool add_word(char *text, size_t size_bytes, const char *word, bool wanted)
{
    size_t used = strlen(text);

    if (wanted)
        (void)snprintf(text + used, size_bytes - used, " %s", word);
    return wanted;
}

static bool effect_is_required(const struct oracle *oracle, const char *effect)
{
    for (size_t i = 0; i < oracle->trial_count; i++)
        for (size_t j = 0; j < oracle->trials[i].effect_count; j++)
            if (strcmp(oracle->trials[i].effects[j], effect) == 0)
                return true;
    return false;
}

static bool role_is_required(const struct oracle *oracle, size_t role)
{
    for (size_t i = 0; i < oracle->trial_count; i++)
        if (oracle->trials[i].roles[role])
            return true;
    return false;
}

/* "effects that must have been tried: read tcp": the default wants every effect, and every role. */
static void describe_required(const struct oracle *oracle, void (*line)(void *context, const char *text, bool wider),
                              void *context)
{
    static const char *const roles[] = {NULL, "parent", "child", "grandchild"};
    char text[256] = "effects that must have been tried:";
    bool all = true;

    for (size_t i = 0; effect_names[i] != NULL; i++)
        all &= add_word(text, sizeof text, effect_names[i], effect_is_required(oracle, effect_names[i]));
    line(context, text, !all);
    (void)snprintf(text, sizeof text, "roles that must have been there:");
    all = true;
    for (size_t i = 1; i < sizeof roles / sizeof *roles; i++)
        all &= add_word(text, sizeof text, roles[i], role_is_required(oracle, i));
    line(context, text, !all);
}

void oracle_describe(const struct oracle *oracle, void (*line)(void *context, const char *text, bool wider),
                     void *context)
{
    char text[4096]; /* room for every errno that has a name */

    for (size_t i = 0; i < oracle->denial_count; i++) {
        bool wider = denial_text(&oracle->denials[i], i, text, sizeof text);

        line(context, text, wider);
    }
    for (size_t i = 0; i < oracle->denial_count; i++) {
        const struct oracle_denial *denial = &oracle->denials[i];

        (void)snprintf(text, sizeof text, "%s diverted: %s", denial->effect,
                       denial->diverted_allowed ? "allowed" : "not allowed");
        line(context, text, denial->diverted_allowed && !shipped[i].diverted);
    }
    (void)snprintf(text, sizeof text, "every role ended within %" PRIu32 " ms of the last step", oracle->ended_ms);
    line(context, text, oracle->ended_ms > ORACLE_ENDED_MS);
    (void)snprintf(text, sizeof text, "quiet %" PRIu32 " ms after the last step", oracle->grace_ms);
    line(context, text, oracle->grace_ms > ORACLE_GRACE_MS);
    (void)snprintf(text, sizeof text, "host identities of roles: %s",
                   oracle->identities_required ? "required" : "optional");
    line(context, text, !oracle->identities_required);
    describe_required(oracle, line, context);
    for (size_t i = 0; i < oracle->case_count; i++)
        for (size_t j = 0; j < oracle->cases[i].archive_count; j++) {
            const struct oracle_archive *archive = &oracle->cases[i].archives[j];

            if (!archive->except_mtime && !archive->except_owner && archive->except_count == 0)
                continue;
            exceptions_text(&oracle->cases[i], archive, text, sizeof text);
            line(context, text, true);
        }
}
