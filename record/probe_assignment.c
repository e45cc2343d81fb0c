#include "record/probe_assignment.h"

#include "base/file.h"
#include "record/expand.h"
#include "record/layout.h"
#include "record/roles.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONTROL_LIFETIME_MS 1000

/* Appends a formatted word. */
static int word_add(struct text_list *list, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int word_add(struct text_list *list, struct err *err, const char *fmt, ...)
{
    char text[PATH_MAX + 64];
    va_list args;
    int size;

    va_start(args, fmt);
    size = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (size < 0 || (size_t)size >= sizeof text)
        return err_set(err, ERR_LIMIT, "a word of the probe's command is too long");
    return text_list_add(list, text, (size_t)size, err);
}

/* The effects, separated by commas. */
static int effects_add(const struct plan_trial *trial, struct text_list *command, struct err *err)
{
    char text[LIMIT_EFFECTS * (LIMIT_NAME_BYTES + 1)] = "";
    size_t used = 0;

    for (size_t i = 0; i < trial->effect_count; i++) {
        int size = snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "," : "", trial->effects[i]);

        assert(size >= 0 && (size_t)size < sizeof text - used); /* the plan's reader bounds number and names */
        used += (size_t)size;
    }
    return word_add(command, err, "effects=%s", text);
}

/* The command line: the third and fourth word are what another role has otherwise (docs/DECISION.md 1.4). */
static int command_fill(const struct session *session, const struct plan_trial *trial,
                        const struct probe_assignment *assignment, struct text_list *command, struct err *err)
{
    const Exhibit__ProbeAssignment *message = &assignment->message;
    const struct targets *targets = session->targets;
    char nonce[2 * NONCE_BYTES + 1];

    role_nonce(assignment->nonce, EXHIBIT__ROLE__ROLE_PARENT, nonce);
    if (word_add(command, err, "%s/exhibit-probe", session->tools) < 0 || word_add(command, err, "run") < 0 ||
        word_add(command, err, "%s", role_name(EXHIBIT__ROLE__ROLE_PARENT)) < 0 ||
        word_add(command, err, "%s", nonce) < 0 || word_add(command, err, "tree=%d", message->n_roles > 1) < 0 ||
        word_add(command, err, "read=%s", targets_path(targets, EXHIBIT__TARGET_NAME__TARGET_CANARY_READ)) < 0 ||
        word_add(command, err, "read-link=%s/%s", session->workspace, LAYOUT_LINK_NAME) < 0 ||
        word_add(command, err, "write=%s", targets_path(targets, EXHIBIT__TARGET_NAME__TARGET_WRITE)) < 0 ||
        word_add(command, err, "tcp=%u", message->tcp_port) < 0 ||
        word_add(command, err, "udp=%u", message->udp_port) < 0 || effects_add(trial, command, err) < 0 ||
        word_add(command, err, "rounds=%u", assignment->roles[message->n_roles - 1].rounds) < 0 ||
        word_add(command, err, "interval_ms=%u", message->interval_ms) < 0 ||
        word_add(command, err, "lifetime_ms=%u", message->lifetime_ms) < 0 ||
        word_add(command, err, "scratch=%s", session->scratch) < 0 ||
        (message->parent_ms > 0 && word_add(command, err, "parent_ms=%u", message->parent_ms) < 0) ||
        (message->ignores_term && word_add(command, err, "ignore_term=1") < 0))
        return err->code;
    return 0;
}

static void steps_fill(const struct plan_trial *trial, struct probe_assignment *out)
{
    for (size_t i = 0; i < trial->step_count; i++) {
        Exhibit__StepPlan *step = &out->steps[i];

        exhibit__step_plan__init(step);
        step->signal = trial->steps[i].signal;
        step->target = trial->steps[i].target;
        step->after_rounds = i == 0 ? trial->steps[i].after_rounds : 0;
        step->after_role = i == 0 ? EXHIBIT__ROLE__ROLE_GRANDCHILD : EXHIBIT__ROLE__ROLE_NONE;
        step->after_ms = i == 0 ? 0 : trial->steps[i].after_ms;
        out->step_list[i] = step;
    }
    out->message.ending = out->step_list;
    out->message.n_ending = trial->step_count;
}

int probe_assign(const struct session *session, const struct plan_trial *trial, Exhibit__Mode mode, uint32_t repeat,
                 struct probe_assignment *out, struct text_list *command, struct err *err)
{
    bool control = mode == EXHIBIT__MODE__MODE_CONTROL;
    size_t role_count = trial->tree && !(control && repeat == 2) ? 3 : 1;

    exhibit__probe_assignment__init(&out->message);
    if (file_random(out->nonce, sizeof out->nonce, err) < 0)
        return err->code;
    out->message.nonce = (ProtobufCBinaryData){NONCE_BYTES, out->nonce};
    for (size_t i = 0; i < role_count; i++) {
        exhibit__role_rounds__init(&out->roles[i]);
        out->roles[i].role = (Exhibit__Role)(i + 1);
        out->roles[i].rounds = i == 2 && !control ? trial->rounds : 1;
        out->role_list[i] = &out->roles[i];
    }
    out->message.roles = out->role_list;
    out->message.n_roles = role_count;
    out->message.effects = trial->effects;
    out->message.n_effects = trial->effect_count;
    out->message.interval_ms = trial->interval_ms;
    out->message.lifetime_ms = control ? CONTROL_LIFETIME_MS : trial->lifetime_ms;
    out->message.ignores_term = trial->ignores_term;
    if (!control) {
        out->message.parent_ms = trial->parent_ms;
        steps_fill(trial, out);
    }
    out->message.tcp_port = listeners_tcp_port(session->listeners);
    out->message.udp_port = listeners_udp_port(session->listeners);
    return command_fill(session, trial, out, command, err);
}
