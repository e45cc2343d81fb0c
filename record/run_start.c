#include "record/run_start.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A protobuf list over a text list, which it borrows. Owned by the caller (free). NULL: out of memory. */
static ProtobufCBinaryData *list_borrow(const struct text_list *list)
{
    ProtobufCBinaryData *items = calloc(list->count + 1, sizeof *items);

    for (size_t i = 0; items != NULL && i < list->count; i++)
        items[i] = (ProtobufCBinaryData){strlen(list->items[i]), (uint8_t *)list->items[i]};
    return items;
}

/* What stands for the secrets of a run. Release with told_done. */
struct told {
    Exhibit__SecretVariable *items;
    Exhibit__SecretVariable **pointers;
    struct digest *hmacs;
    size_t count;
};

static void told_done(struct told *told)
{
    free(told->items);
    free(told->pointers);
    free(told->hmacs);
}

/* Takes the values of secrets out of an environment that is to be told (which borrows its items), FORMAT 7.10. */
static int secrets_tell(const struct session *session, const struct run_request *request,
                        ProtobufCBinaryData *environment, struct told *out, struct err *err)
{
    size_t count = request->environment->count;

    if (session->secrets == NULL)
        return 0;
    out->items = calloc(count + 1, sizeof *out->items);
    out->pointers = calloc(count + 1, sizeof *out->pointers);
    out->hmacs = calloc(count + 1, sizeof *out->hmacs);
    if (out->items == NULL || out->pointers == NULL || out->hmacs == NULL)
        return err_set_errno(err, "memory for a run's description");
    for (size_t i = 0; i < count; i++) {
        const char *item = request->environment->items[i];
        size_t name_bytes = strcspn(item, "=");
        const struct plan_variable *variable =
            secrets_variable(session->plan, request->variables, request->variable_count, item, name_bytes);
        Exhibit__SecretVariable *told = &out->items[out->count];

        if (variable == NULL || variable->secret == NULL)
            continue;
        out->hmacs[out->count] = secrets_hmac(session->secrets, variable->secret);
        environment[i].len = name_bytes + 1;
        exhibit__secret_variable__init(told);
        told->name = (ProtobufCBinaryData){name_bytes, (uint8_t *)item};
        told->hmac_sha256 = JOURNAL_DIGEST(out->hmacs[out->count]);
        out->pointers[out->count++] = told;
    }
    return 0;
}

int run_start_put(struct session *session, const struct run_request *request, uint32_t run, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, run);
    Exhibit__RunStart start = EXHIBIT__RUN_START__INIT;
    AUTO_FREE ProtobufCBinaryData *argv = list_borrow(request->argv);
    AUTO_FREE ProtobufCBinaryData *command = list_borrow(request->command);
    AUTO_FREE ProtobufCBinaryData *environment = list_borrow(request->environment);
    struct stream_writer *input = stream_writer_new(journal_pack(session->journal));
    const Exhibit__Stream *content;
    struct told told = {0};
    int code;

    if (argv == NULL || command == NULL || environment == NULL || input == NULL) {
        stream_writer_free(input);
        return err_set_errno(err, "memory for a run's description");
    }
    start.kind = request->kind;
    start.name = (char *)request->name;
    start.mode = request->mode;
    start.repeat = request->repeat;
    start.argv = argv;
    start.n_argv = request->argv->count;
    start.command = command;
    start.n_command = request->command->count;
    start.environment = environment;
    start.n_environment = request->environment->count;
    start.cwd = (ProtobufCBinaryData){strlen(session->workspace), (uint8_t *)session->workspace};
    start.watchdog_ms = request->watchdog_ms;
    start.probe = (Exhibit__ProbeAssignment *)request->probe; /* packed only */
    code = secrets_tell(session, request, environment, &told, err);
    start.secrets = told.pointers;
    start.n_secrets = told.count;
    if (code == 0)
        code = stream_writer_add(input, request->stdin_bytes, request->stdin_size_bytes, err);
    if (code == 0)
        code = stream_writer_finish(input, &content, err);
    if (code == 0) {
        start.stdin_stream = (Exhibit__Stream *)content;
        JOURNAL_WHAT(event, run_start, RUN_START, &start);
        code = journal_put(session->journal, &event, NULL, 0, err);
    }
    stream_writer_free(input);
    told_done(&told);
    return code;
}

int run_spawned_put(struct session *session, uint32_t run, const struct spawned *spawned, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, run);
    Exhibit__Spawned started = EXHIBIT__SPAWNED__INIT;
    Exhibit__SpawnFailed failed = EXHIBIT__SPAWN_FAILED__INIT;

    if (spawned->failed_stage != NULL) {
        failed.stage = (char *)spawned->failed_stage;
        failed.errno_value = (uint32_t)spawned->failed_errno;
        JOURNAL_WHAT(event, spawn_failed, SPAWN_FAILED, &failed);
    } else {
        started.pid = (uint32_t)spawned->pid;
        started.start_time = spawned->start_time;
        started.parent_pid = (uint32_t)getpid();
        started.group = (uint32_t)spawned->pid;
        JOURNAL_WHAT(event, spawned, SPAWNED, &started);
    }
    return journal_put(session->journal, &event, NULL, 0, err);
}
