/*
 * The runs of a scene, each as it should be.
 */
#pragma once

#include "verify_scene_core.h"

/* ---- the parts of a run ---- */

static inline void scene_freeze(struct scene *scene, uint32_t run, Exhibit__FreezeMoment moment, const char *content)
{
    Exhibit__Event *event = SCENE_ADD(scene, run, FREEZE);
    Exhibit__FreezeEntry root = EXHIBIT__FREEZE_ENTRY__INIT, file = EXHIBIT__FREEZE_ENTRY__INIT;
    Exhibit__FreezeEntry *entries[] = {&root, &file};
    Exhibit__FreezeList list = EXHIBIT__FREEZE_LIST__INIT;
    struct digest digest = digest_of(content, strlen(content));
    uint8_t packed[512];

    root.mode = S_IFDIR | 0755;
    file.path = (ProtobufCBinaryData){8, (uint8_t *)(char[]){"work.txt"}};
    file.mode = S_IFREG | 0644;
    file.size_bytes = strlen(content);
    file.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest.bytes};
    list.entries = entries;
    list.n_entries = 2;
    event->freeze->moment = moment;
    event->freeze->input = strdup("workspace");
    event->freeze->root = scene_text("/work/source");
    event->freeze->list_sha256 = scene_digest(scene_put(scene, packed, exhibit__freeze_list__pack(&list, packed)));
}

static inline void scene_targets(struct scene *scene)
{
    Exhibit__Event *event = SCENE_ADD(scene, 0, TARGETS);

    event->targets->canary_read = scene_text(scene_canary);
    event->targets->canary_link = scene_text(scene_canary_link);
    event->targets->write = scene_text("unwritten\n");
}

static inline void scene_states(struct scene *scene, const char *written, int64_t changed_ns)
{
    const char *const contents[] = {"", scene_canary, scene_canary_link, written, "a folder's list"};

    for (int target = 1; target < 5; target++) {
        Exhibit__Event *event = SCENE_ADD(scene, 0, TARGET_STATE);
        bool touched = target == EXHIBIT__TARGET_NAME__TARGET_WRITE;

        event->target_state->target = (Exhibit__TargetName)target;
        event->target_state->exists = true;
        event->target_state->mode = target == 4 ? S_IFDIR | 0755 : S_IFREG | 0644;
        event->target_state->size_bytes = strlen(contents[target]);
        event->target_state->inode = 100 + (uint64_t)target;
        event->target_state->mtime_ns = 5000 + (touched ? changed_ns : 0);
        event->target_state->ctime_ns = event->target_state->mtime_ns;
        event->target_state->content_sha256 =
            scene_digest(scene_put(scene, contents[target], strlen(contents[target])));
    }
}

static inline ProtobufCBinaryData *scene_list(const char *const *items, size_t count)
{
    ProtobufCBinaryData *list = scene_zero(count * sizeof *list + 1);

    for (size_t i = 0; i < count; i++)
        list[i] = scene_text(items[i]);
    return list;
}

static inline Exhibit__Stream *scene_stream(struct scene *scene, const char *text)
{
    Exhibit__Stream *stream = scene_zero(sizeof *stream);
    struct digest digest = digest_of(text, strlen(text));

    exhibit__stream__init(stream);
    stream->size_bytes = strlen(text);
    stream->sha256 = scene_digest(digest);
    if (text[0] == '\0')
        return stream;
    (void)scene_put(scene, text, strlen(text));
    stream->segments = scene_zero(sizeof *stream->segments);
    stream->segments[0] = scene_zero(sizeof **stream->segments);
    exhibit__segment__init(stream->segments[0]);
    stream->segments[0]->sha256 = scene_digest(digest);
    stream->segments[0]->size_bytes = strlen(text);
    stream->n_segments = 1;
    return stream;
}

static inline Exhibit__RunStart *scene_start(struct scene *scene, uint32_t run, Exhibit__RunKind kind, const char *name,
                                             Exhibit__Mode mode, uint32_t repeat)
{
    static const char *const variables[] = {"HOME=/work/home", "LANG=C"};
    Exhibit__RunStart *start = SCENE_ADD(scene, run, RUN_START)->run_start;

    start->kind = kind;
    start->name = strdup(name);
    start->mode = mode;
    start->repeat = repeat;
    start->environment = scene_list(variables, 2);
    start->n_environment = 2;
    start->cwd = scene_text("/work/copy");
    start->stdin_stream = scene_stream(scene, "");
    return start;
}

/* Sets command and argv: strict runs go through "/bin/box". */
static inline void scene_command(Exhibit__RunStart *start, const char *const *items, size_t count)
{
    bool strict = start->mode == EXHIBIT__MODE__MODE_STRICT;
    size_t at = 0;

    start->command = scene_list(items, count);
    start->n_command = count;
    start->n_argv = count + (strict ? 1 : 0);
    start->argv = scene_zero(start->n_argv * sizeof *start->argv);
    if (strict)
        start->argv[at++] = scene_text("/bin/box");
    for (size_t i = 0; i < count; i++)
        start->argv[at++] = scene_text(items[i]);
}

static inline void scene_spawn(struct scene *scene, uint32_t run)
{
    Exhibit__Event *event = SCENE_ADD(scene, run, SPAWNED);

    event->spawned->pid = run * 100;
    event->spawned->start_time = run * 1000;
    event->spawned->group = run * 100;
}

/* Exit, end of all streams, all gone, and the copy of the workspace as it was. */
static inline void scene_close(struct scene *scene, uint32_t run, unsigned streams)
{
    Exhibit__Event *event = SCENE_ADD(scene, run, RUN_EXIT);

    event->run_exit->how_case = EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS;
    event->run_exit->exit_status = 0;
    for (unsigned name = EXHIBIT__STREAM_NAME__STREAM_STDIN; name <= streams; name++) {
        event = SCENE_ADD(scene, run, STREAM_END);
        event->stream_end->stream = (Exhibit__StreamName)name;
        event->stream_end->how = EXHIBIT__STREAM_END__HOW__HOW_EOF;
    }
    (void)SCENE_ADD(scene, run, ALL_GONE);
    scene_freeze(scene, run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER, "copy");
}

static inline Exhibit__ArchiveMember *scene_member(const char *path, const char *content)
{
    Exhibit__ArchiveMember *member = scene_zero(sizeof *member);

    exhibit__archive_member__init(member);
    member->path = scene_text(path);
    member->type = S_IFREG;
    member->mode = 0644;
    member->size_bytes = strlen(content);
    member->sha256 = scene_digest(digest_of(content, strlen(content)));
    member->mtime_s = 1000;
    return member;
}

enum { SCENE_TAR_BYTES = 6 * 512 };

/* Gives a header its type and its checksum. */
static inline void scene_tar_retype(char *block, char type)
{
    unsigned sum = 0;

    block[156] = type;
    memset(block + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)block[i];
    (void)snprintf(block + 148, 8, "%06o", sum);
}

static inline void scene_tar_file(char *block, const char *name, const char *content)
{
    (void)snprintf(block, 100, "%s", name);
    (void)snprintf(block + 100, 8, "%07o", 0644u);
    (void)snprintf(block + 108, 8, "%07o", 0u);
    (void)snprintf(block + 116, 8, "%07o", 0u);
    (void)snprintf(block + 124, 12, "%011o", (unsigned)strlen(content));
    (void)snprintf(block + 136, 12, "%011o", 1000u);
    memcpy(block + 257, "ustar\00000", 8);
    scene_tar_retype(block, '0');
    memcpy(block + 512, content, strlen(content));
}

/* An archive of two files, as scene_member() tells of them. */
static inline void scene_tar(char out[SCENE_TAR_BYTES])
{
    memset(out, 0, SCENE_TAR_BYTES);
    scene_tar_file(out, "a", "alpha");
    scene_tar_file(out + 1024, "b", "beta");
}

static inline void scene_case(struct scene *scene, uint32_t run, Exhibit__Mode mode, uint32_t repeat)
{
    static const char *const command[] = {"/bin/tool", "pack"};
    Exhibit__RunStart *start = scene_start(scene, run, EXHIBIT__RUN_KIND__RUN_CASE, "build", mode, repeat);
    char tar[SCENE_TAR_BYTES];
    Exhibit__Event *event;

    scene_tar(tar);
    scene_command(start, command, 2);
    start->watchdog_ms = 30000;
    scene_freeze(scene, run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE, "copy");
    scene_spawn(scene, run);
    scene_say(scene, run, EXHIBIT__STREAM_NAME__STREAM_STDOUT, "all done\n");
    scene_close(scene, run, EXHIBIT__STREAM_NAME__STREAM_STDERR);
    event = SCENE_ADD(scene, run, ARTIFACT);
    event->artifact->path = scene_text("out.tgz");
    event->artifact->mode = S_IFREG | 0644;
    event->artifact->kept = true;
    event->artifact->is_archive = true;
    event->artifact->size_bytes = sizeof tar;
    event->artifact->sha256 = scene_digest(scene_put(scene, tar, sizeof tar));
    event->artifact->members = scene_zero(2 * sizeof *event->artifact->members);
    event->artifact->n_members = 2;
    event->artifact->members[0] = scene_member("a", "alpha");
    event->artifact->members[1] = scene_member("b", "beta");
}

static inline void scene_launcher(struct scene *scene)
{
    static const char *const command[] = {"/tools/exhibit-probe", "nothing"};

    scene_command(
        scene_start(scene, SCENE_LAUNCHER, EXHIBIT__RUN_KIND__RUN_LAUNCHER, "launcher", EXHIBIT__MODE__MODE_STRICT, 1),
        command, 2);
    scene_freeze(scene, SCENE_LAUNCHER, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE, "copy");
    scene_spawn(scene, SCENE_LAUNCHER);
    scene_close(scene, SCENE_LAUNCHER, EXHIBIT__STREAM_NAME__STREAM_STDERR);
}

/* ---- trials ---- */

static inline void scene_assign(Exhibit__RunStart *start, uint32_t run, size_t roles)
{
    Exhibit__ProbeAssignment *probe = scene_zero(sizeof *probe);
    bool control = start->mode == EXHIBIT__MODE__MODE_CONTROL;
    uint8_t nonce[NONCE_BYTES];

    exhibit__probe_assignment__init(probe);
    start->probe = probe;
    memset(nonce, (int)(run + 16), sizeof nonce);
    probe->nonce = scene_bytes(nonce, sizeof nonce);
    probe->roles = scene_zero(roles * sizeof *probe->roles);
    for (size_t i = 0; i < roles; i++) {
        probe->roles[i] = scene_zero(sizeof **probe->roles);
        exhibit__role_rounds__init(probe->roles[i]);
        probe->roles[i]->role = (Exhibit__Role)(i + 1);
        probe->roles[i]->rounds = i == 2 && !control ? SCENE_ROUNDS : 1;
    }
    probe->n_roles = roles;
    probe->effects = scene_zero(SCENE_EFFECTS * sizeof *probe->effects);
    for (size_t i = 0; i < SCENE_EFFECTS; i++)
        probe->effects[probe->n_effects++] = strdup(scene_effects[i]);
    probe->interval_ms = 200;
    probe->lifetime_ms = control ? 1000 : 8000;
    probe->tcp_port = 4000;
    probe->udp_port = 4001;
    if (control)
        return;
    probe->ending = scene_zero(sizeof *probe->ending);
    probe->ending[0] = scene_zero(sizeof **probe->ending);
    exhibit__step_plan__init(probe->ending[0]);
    probe->ending[0]->signal = 15;
    probe->ending[0]->target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    probe->ending[0]->after_rounds = 2;
    probe->ending[0]->after_role = EXHIBIT__ROLE__ROLE_GRANDCHILD;
    probe->n_ending = 1;
}

static inline uint32_t scene_pid(uint32_t run, int role)
{
    return run * 100 + (uint32_t)role;
}

static inline Exhibit__ProcessIdentity *scene_identify(struct scene *scene, uint32_t run, int role)
{
    Exhibit__ProcessIdentity *process = SCENE_ADD(scene, run, PROCESS_IDENTITY)->process_identity;
    char nonce[33];
    const char *argv[] = {"/tools/exhibit-probe", "run", scene_roles[role], nonce, "effects=all"};

    scene_nonce(run, role, nonce);
    process->pid = scene_pid(run, role);
    process->start_time = run * 1000u + (uint32_t)role;
    process->parent_pid = role == 1 ? run * 100 : scene_pid(run, role - 1);
    process->executable_sha256 = scene_digest(digest_of("probe", 5));
    process->argv = scene_list(argv, 5);
    process->n_argv = 5;
    process->network_namespace = 7;
    process->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK;
    process->routes_beyond_loopback = 1;
    return process;
}

static inline void scene_message_of(struct scene *scene, uint32_t run, int role, uint32_t round, bool udp)
{
    char text[128], nonce[33];
    Exhibit__Event *event;

    scene_nonce(run, role, nonce);
    (void)snprintf(text, sizeof text, "EXHIBIT1 %s %s %s %" PRIu32 "\n", udp ? "udp" : "tcp", nonce, scene_roles[role],
                   round);
    if (!udp) {
        event = SCENE_ADD(scene, run, ACCEPT);
        event->accept->connection = ++scene->connections;
        event->accept->peer = scene_text("127.0.0.1:40000");
    }
    event = SCENE_ADD(scene, run, MESSAGE);
    event->message->protocol = udp ? EXHIBIT__PROTOCOL__PROTOCOL_UDP : EXHIBIT__PROTOCOL__PROTOCOL_TCP;
    event->message->connection = udp ? 0 : scene->connections;
    event->message->peer = scene_text("127.0.0.1:40000");
    event->message->payload = scene_text(text);
}

static inline void scene_touch(struct scene *scene, uint32_t run, Exhibit__TargetName target)
{
    Exhibit__Event *event = SCENE_ADD(scene, run, FILE_EVENT);

    event->file_event->target = target;
    event->file_event->mask = 1;
}

/* The rows of a run; unconfined ones with what the host saw of them. Appends to `written` what went to the target. */
static inline void scene_speak(struct scene *scene, const Exhibit__RunStart *start, uint32_t run, char *written,
                               size_t written_bytes)
{
    bool strict = start->mode == EXHIBIT__MODE__MODE_STRICT;

    for (size_t i = 0; i < start->probe->n_roles; i++) {
        int role = (int)start->probe->roles[i]->role;

        for (uint32_t round = 1; round <= start->probe->roles[i]->rounds; round++) {
            char nonce[33];
            size_t used = strlen(written);

            scene_nonce(run, role, nonce);
            scene_row(scene, run, role, round, strict ? "errno:13" : NULL);
            if (strict)
                continue;
            scene_message_of(scene, run, role, round, false);
            scene_message_of(scene, run, role, round, true);
            for (int target = 1; target < 4; target++)
                scene_touch(scene, run, (Exhibit__TargetName)target);
            (void)snprintf(written + used, written_bytes - used, "EXHIBIT1 write %s %s %" PRIu32 "\n", nonce,
                           scene_roles[role], round);
        }
    }
}

static inline void scene_step(struct scene *scene, uint32_t run)
{
    Exhibit__Step *step = SCENE_ADD(scene, run, STEP)->step;

    step->index = 1;
    step->signal = 15;
    step->target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    step->target_pid = run * 100;
    step->trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_ROUNDS;
    step->alive = scene_zero(3 * sizeof *step->alive);
    for (int role = 1; role < 4; role++) {
        step->alive[step->n_alive] = scene_zero(sizeof **step->alive);
        exhibit__alive_process__init(step->alive[step->n_alive]);
        step->alive[step->n_alive]->pid = scene_pid(run, role);
        step->alive[step->n_alive++]->start_time = run * 1000u + (uint32_t)role;
    }
}

static inline void scene_trial(struct scene *scene, uint32_t run, Exhibit__Mode mode, uint32_t repeat)
{
    size_t roles = mode == EXHIBIT__MODE__MODE_CONTROL && repeat == 2 ? 1 : 3;
    char nonce[33], written[2048] = "unwritten\n";
    const char *command[] = {"/tools/exhibit-probe", "run", "parent", nonce, "effects=all"};
    Exhibit__RunStart *start;

    scene_nonce(run, 1, nonce);
    scene_targets(scene);
    scene_states(scene, written, 0);
    start = scene_start(scene, run, EXHIBIT__RUN_KIND__RUN_TRIAL, "tree", mode, repeat);
    scene_assign(start, run, roles);
    scene_command(start, command, 5);
    scene_freeze(scene, run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE, "copy");
    scene_spawn(scene, run);
    for (size_t role = 1; role <= roles; role++)
        (void)scene_identify(scene, run, (int)role);
    scene_speak(scene, start, run, written, sizeof written);
    if (mode != EXHIBIT__MODE__MODE_CONTROL) {
        scene->now_ns += 1000 * SCENE_MS;
        scene_step(scene, run);
    }
    for (size_t role = 1; role <= roles; role++) {
        Exhibit__Event *event = SCENE_ADD(scene, run, PROCESS_EXIT);

        event->process_exit->pid = scene_pid(run, (int)role);
        event->process_exit->start_time = run * 1000u + (uint32_t)role;
        event->process_exit->how_case = EXHIBIT__PROCESS_EXIT__HOW_TERM_SIGNAL;
        event->process_exit->term_signal = 15;
    }
    SCENE_ADD(scene, run, DROPS)->drops->protocol = EXHIBIT__PROTOCOL__PROTOCOL_TCP;
    SCENE_ADD(scene, run, DROPS)->drops->protocol = EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    scene_close(scene, run, EXHIBIT__STREAM_NAME__STREAM_SCRATCH_GRANDCHILD);
    scene_states(scene, written, mode == EXHIBIT__MODE__MODE_STRICT ? 0 : 77);
}
