/*
 * The parts of a run in a scene, and the runs of cases and of the launcher, each as it should be.
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
    event->freeze->root = scene_text("/box/source");
    event->freeze->list_sha256 = scene_digest(scene_put(scene, packed, exhibit__freeze_list__pack(&list, packed)));
}

static inline void scene_phase(struct scene *scene, const char *trial, Exhibit__PhaseName name)
{
    Exhibit__Event *event = SCENE_ADD(scene, 0, PHASE);

    event->phase->trial = strdup(trial);
    event->phase->phase = name;
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
    static const char *const variables[] = {"HOME=/box/home", "LANG=C"};
    Exhibit__RunStart *start = SCENE_ADD(scene, run, RUN_START)->run_start;

    start->kind = kind;
    start->name = strdup(name);
    start->mode = mode;
    start->repeat = repeat;
    start->environment = scene_list(variables, 2);
    start->n_environment = 2;
    start->cwd = scene_text("/box/copy");
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

/* Exit, end of all streams, all gone (then the strict trial drains), and the copy of the workspace as it was. */
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
    if (run == SCENE_STRICT)
        scene_phase(scene, "tree", EXHIBIT__PHASE_NAME__PHASE_DRAIN);
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

    scene_phase(scene, "", EXHIBIT__PHASE_NAME__PHASE_LAUNCHER);
    scene_command(
        scene_start(scene, SCENE_LAUNCHER, EXHIBIT__RUN_KIND__RUN_LAUNCHER, "launcher", EXHIBIT__MODE__MODE_STRICT, 1),
        command, 2);
    scene_freeze(scene, SCENE_LAUNCHER, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE, "copy");
    scene_spawn(scene, SCENE_LAUNCHER);
    scene_close(scene, SCENE_LAUNCHER, EXHIBIT__STREAM_NAME__STREAM_STDERR);
}
