#include "record/bindings.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "record/expand.h"
#include "record/host.h"
#include "record/version_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int binary_add(struct bindings *bindings, const char *name, const char *path, struct err *err)
{
    size_t *count = &bindings->message.n_binaries;
    Exhibit__Binary **grown = reallocarray(bindings->binaries, *count + 1, sizeof *grown);

    if (grown == NULL)
        return err_set_errno(err, "memory for the binaries");
    bindings->binaries = grown;
    if (host_binary_read(name, path, &bindings->binaries[*count], err) < 0)
        return err->code;
    (*count)++;
    return 0;
}

static int binaries_gather(struct session *session, const char *program_dir, struct bindings *out, struct err *err)
{
    static const char *const own[] = {"exhibit-record", "exhibit-probe", "exhibit-confine"};
    const struct plan *plan = session->plan;
    AUTO_TEXT_LIST struct text_list argv = {0};
    char path[PATH_MAX + 32];

    for (size_t i = 0; i < 3; i++) {
        /* The probe that runs is the copy among the tools; its digest is what roles are known by (DECISION 4.1). */
        (void)snprintf(path, sizeof path, "%s/%s", i == 0 ? program_dir : session->tools, own[i]);
        if (binary_add(out, own[i], path, err) < 0)
            return err->code;
    }
    (void)digest_from(out->binaries[1]->sha256.data, out->binaries[1]->sha256.len, &session->probe);
    if (expand_argv(session, &plan->candidate.argv, &(struct text_list){0}, &argv, err) < 0)
        return err->code;
    if (argv.count > 0 && argv.items[0][0] != '/')
        return err_set(err, ERR_USAGE, "%s: the launcher \"%s\" needs an absolute path (or {tools}/...)", plan->file,
                       argv.items[0]);
    if (argv.count > 0 && binary_add(out, "launcher", argv.items[0], err) < 0)
        return err_wrap(err, "the candidate's launcher");
    for (size_t i = 0; i < plan->candidate.program_count; i++)
        if (binary_add(out, plan->candidate.programs[i].name, plan->candidate.programs[i].path, err) < 0)
            return err->code;
    for (size_t i = 0; i < plan->binary_count; i++)
        if (binary_add(out, plan->binaries[i].name, plan->binaries[i].path, err) < 0)
            return err->code;
    return 0;
}

static int pins_gather(const struct plan *plan, struct bindings *out, struct err *err)
{
    out->pins = calloc(plan->pin_count + 1, sizeof *out->pins);
    if (out->pins == NULL)
        return err_set_errno(err, "memory for the pins");
    for (size_t i = 0; i < plan->pin_count; i++) {
        if (host_pin_check(plan->pins[i].path, &plan->pins[i].expected, &out->pins[i], err) < 0)
            return err->code;
        out->message.n_pins++;
    }
    return 0;
}

/* The texts that are stored as they were read. */
static int texts_put(struct session *session, const struct bytes *policy, struct bindings *out, struct err *err)
{
    struct pack_writer *pack = journal_pack(session->journal);
    const struct bytes *plan = &session->plan->source, *oracle = &session->oracle->source;

    if (pack_put(pack, PACK_OBSERVATION, plan->data, plan->size_bytes, &out->plan, err) < 0 ||
        pack_put(pack, PACK_OBSERVATION, oracle->data, oracle->size_bytes, &out->oracle, err) < 0 ||
        (policy != NULL && pack_put(pack, PACK_OBSERVATION, policy->data, policy->size_bytes, &out->policy, err) < 0))
        return err->code;
    out->message.plan_sha256 = JOURNAL_DIGEST(out->plan);
    out->message.oracle_sha256 = JOURNAL_DIGEST(out->oracle);
    if (policy != NULL)
        out->message.policy_sha256 = JOURNAL_DIGEST(out->policy);
    return 0;
}

static int launcher_fill(const struct plan *plan, struct bindings *out, struct err *err)
{
    out->launcher = calloc(plan->candidate.argv.count + 1, sizeof *out->launcher);
    if (out->launcher == NULL)
        return err_set_errno(err, "memory for the launcher's words");
    for (size_t i = 0; i < plan->candidate.argv.count; i++)
        out->launcher[i] =
            (ProtobufCBinaryData){strlen(plan->candidate.argv.items[i]), (uint8_t *)plan->candidate.argv.items[i]};
    out->message.launcher = out->launcher;
    out->message.n_launcher = plan->candidate.argv.count;
    return 0;
}

int bindings_gather(struct session *session, const char *program_dir, const struct bytes *policy, struct bindings *out,
                    struct err *err)
{
    *out = (struct bindings){0};
    exhibit__recording_start__init(&out->message);
    if (file_random(out->run_id, sizeof out->run_id, err) < 0 || host_read(&out->message.host, err) < 0 ||
        binaries_gather(session, program_dir, out, err) < 0 || pins_gather(session->plan, out, err) < 0 ||
        texts_put(session, policy, out, err) < 0 || launcher_fill(session->plan, out, err) < 0 ||
        version_ask(session, &out->version, err) < 0)
        return err->code;
    out->message.realtime_ns = clock_wall_ns();
    out->message.run_id = (ProtobufCBinaryData){RUN_ID_BYTES, out->run_id};
    out->message.toolkit_version = (char *)EXHIBIT_VERSION;
    out->message.experiment = session->plan->name;
    out->message.candidate = session->plan->candidate.name;
    out->message.candidate_version = out->version;
    out->message.binaries = out->binaries;
    out->message.pins = out->pins;
    out->message.process_observer = observer_source(session->observer);
    out->message.process_observer_note = (char *)observer_note(session->observer);
    out->message.control_group = session->control_groups;
    out->message.work_dir = (ProtobufCBinaryData){strlen(session->work), (uint8_t *)session->work};
    return 0;
}

int bindings_put(struct session *session, struct bindings *bindings, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, 0);

    JOURNAL_WHAT(event, recording_start, RECORDING_START, &bindings->message);
    return journal_put(session->journal, &event, NULL, 0, err);
}

void bindings_done(struct bindings *bindings)
{
    if (bindings->message.host != NULL)
        exhibit__host__free_unpacked(bindings->message.host, NULL);
    for (size_t i = 0; i < bindings->message.n_binaries; i++)
        exhibit__binary__free_unpacked(bindings->binaries[i], NULL);
    for (size_t i = 0; i < bindings->message.n_pins; i++)
        exhibit__pin__free_unpacked(bindings->pins[i], NULL);
    free(bindings->binaries);
    free(bindings->pins);
    free(bindings->launcher);
    free(bindings->version);
    *bindings = (struct bindings){0};
}
