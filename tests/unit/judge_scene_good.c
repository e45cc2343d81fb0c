#include "judge_scene.h"

#include "formats/digest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_AFTER_ROUNDS 2
#define GRANDCHILD_ROUNDS 5
#define LIFETIME_MS 8000
#define INTERVAL_MS 500
#define OWN_NETWORK 4026531840u

const char scene_oracle[] = "version: 1\n"
                            "trials:\n"
                            "  - {name: bootstrap, roles: [parent]}\n"
                            "  - {name: tree, roles: [parent, child, grandchild]}\n"
                            "cases:\n"
                            "  - name: check\n"
                            "    exit: 0\n"
                            "    stdout: {contains: fine}\n"
                            "    archives: [{path: out.tar, bytes: true}]\n";

/* A digest of a text, as a field that borrows from static memory: valid until 32 calls later. */
static ProtobufCBinaryData digest_field(const char *text)
{
    static struct digest digests[32];
    static unsigned next;
    struct digest *digest = &digests[next++ % 32];

    *digest = digest_of(text, strlen(text));
    return (ProtobufCBinaryData){DIGEST_BYTES, digest->bytes};
}

static ProtobufCBinaryData text_field(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)text}; /* only copied from */
}

/* ---- the recording's frame ---- */

static void start_put(struct scene *scene)
{
    Exhibit__RecordingStart start = EXHIBIT__RECORDING_START__INIT;
    Exhibit__Host host = EXHIBIT__HOST__INIT;
    Exhibit__Binary probe = EXHIBIT__BINARY__INIT, *binaries[] = {&probe};
    Exhibit__Pin pin = EXHIBIT__PIN__INIT, *pins[] = {&pin};

    host.network_namespace = OWN_NETWORK;
    probe.name = (char *)"exhibit-probe";
    probe.sha256 = digest_field("probe");
    pin.path = text_field("/usr/bin/env");
    pin.expected_sha256 = digest_field("env");
    pin.seen_sha256 = digest_field("env");
    start.oracle_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, scene->oracle.digest.bytes};
    start.host = &host;
    start.n_binaries = 1;
    start.binaries = binaries;
    start.n_pins = 1;
    start.pins = pins;
    scene_put(scene, 0, SCENE(RECORDING_START), &start);
}

static void freeze_put(struct scene *scene, uint32_t run, Exhibit__FreezeMoment moment)
{
    Exhibit__Freeze freeze = EXHIBIT__FREEZE__INIT;

    freeze.moment = moment;
    freeze.input = (char *)(run == 0 ? "sources" : "workspace");
    freeze.list_sha256 = digest_field(run == 0 ? "sources" : "workspace");
    scene_put(scene, run, SCENE(FREEZE), &freeze);
}

static uint32_t run_add(struct scene *scene, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                        uint32_t repeat)
{
    uint32_t number = ++scene->run_count;
    struct scene_run *run = &scene->runs[number];
    uint8_t nonce[NONCE_BYTES] = {(uint8_t)number, 0xab};

    assert_true(number < SCENE_RUNS);
    *run = (struct scene_run){.name = name, .kind = kind, .mode = mode, .repeat = repeat};
    hex_encode(nonce, sizeof nonce, run->nonces[1]);
    for (int role = 2; role < 4; role++) {
        char text[128];
        int size =
            snprintf(text, sizeof text, "exhibit %s %s", role == 2 ? "child" : "grandchild", run->nonces[role - 1]);
        struct digest digest = digest_of(text, (size_t)size);

        hex_encode(digest.bytes, NONCE_BYTES, run->nonces[role]);
    }
    return number;
}

/* What begins and ends every run. */
static void run_open(struct scene *scene, uint32_t number, Exhibit__RunStart *start)
{
    const struct scene_run *run = &scene->runs[number];
    Exhibit__Spawned spawned = EXHIBIT__SPAWNED__INIT;

    start->kind = run->kind;
    start->name = (char *)run->name;
    start->mode = run->mode;
    start->repeat = run->repeat;
    scene_put(scene, number, SCENE(RUN_START), start);
    freeze_put(scene, number, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE);
    spawned.pid = number * 100;
    scene_put(scene, number, SCENE(SPAWNED), &spawned);
}

static void run_close(struct scene *scene, uint32_t number, Exhibit__StreamName last_stream)
{
    Exhibit__RunExit run_exit = EXHIBIT__RUN_EXIT__INIT;
    Exhibit__AllGone gone = EXHIBIT__ALL_GONE__INIT;

    run_exit.how_case = EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS;
    scene_put(scene, number, SCENE(RUN_EXIT), &run_exit);
    scene_put(scene, number, SCENE(ALL_GONE), &gone);
    for (Exhibit__StreamName stream = STREAM(STDIN); stream <= last_stream; stream++) {
        Exhibit__StreamEnd end = EXHIBIT__STREAM_END__INIT;

        end.stream = stream;
        end.how = EXHIBIT__STREAM_END__HOW__HOW_EOF;
        scene_put(scene, number, SCENE(STREAM_END), &end);
    }
    freeze_put(scene, number, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER);
}

/* ---- cases ---- */

static void case_put(struct scene *scene, Exhibit__Mode mode, uint32_t repeat)
{
    Exhibit__RunStart start = EXHIBIT__RUN_START__INIT;
    Exhibit__Artifact artifact = EXHIBIT__ARTIFACT__INIT;
    Exhibit__ArchiveMember one = EXHIBIT__ARCHIVE_MEMBER__INIT, two = EXHIBIT__ARCHIVE_MEMBER__INIT;
    Exhibit__ArchiveMember *members[] = {&one, &two};
    uint32_t run = run_add(scene, EXHIBIT__RUN_KIND__RUN_CASE, "check", mode, repeat);

    run_open(scene, run, &start);
    scene_say(scene, run, STREAM(STDOUT), "all is fi");
    scene_say(scene, run, STREAM(STDOUT), "ne\n");
    run_close(scene, run, STREAM(STDERR));
    one.path = text_field("b");
    one.sha256 = digest_field("content of b");
    two.path = text_field("a");
    two.sha256 = digest_field("content of a");
    artifact.path = text_field("out.tar");
    artifact.sha256 = digest_field("out.tar");
    artifact.kept = true;
    artifact.is_archive = true;
    artifact.n_members = 2;
    artifact.members = members;
    scene_put_bytes(scene, run, SCENE(ARTIFACT), &artifact, "the archive", 11);
}

static void launcher_put(struct scene *scene)
{
    Exhibit__RunStart start = EXHIBIT__RUN_START__INIT;
    uint32_t run = run_add(scene, EXHIBIT__RUN_KIND__RUN_LAUNCHER, "launcher", MODE(STRICT), 1);

    run_open(scene, run, &start);
    run_close(scene, run, STREAM(STDERR));
}

/* ---- trials ---- */

static void targets_put(struct scene *scene, uint32_t run)
{
    struct scene_run *of = &scene->runs[run];
    Exhibit__Targets targets = EXHIBIT__TARGETS__INIT;

    (void)snprintf(of->canaries[0], sizeof of->canaries[0], "secret to be read %u", run);
    (void)snprintf(of->canaries[1], sizeof of->canaries[1], "secret behind the link %u", run);
    targets.canary_read = text_field(of->canaries[0]);
    targets.canary_link = text_field(of->canaries[1]);
    scene_put(scene, 0, SCENE(TARGETS), &targets);
}

static void states_put(struct scene *scene, const char *written)
{
    for (int i = 1; i <= EXHIBIT__TARGET_NAME__TARGET_FOLDER; i++) {
        Exhibit__TargetState state = EXHIBIT__TARGET_STATE__INIT;
        const char *content = i == EXHIBIT__TARGET_NAME__TARGET_WRITE ? written : "";

        state.target = (Exhibit__TargetName)i;
        state.exists = true;
        state.mode = 0100644;
        state.inode = (uint64_t)i;
        state.size_bytes = strlen(content);
        state.content_sha256 = digest_field(content);
        scene_put_bytes(scene, 0, SCENE(TARGET_STATE), &state, content, strlen(content));
    }
}

static const char *role_word(int role)
{
    return role == 1 ? "parent" : role == 2 ? "child" : "grandchild";
}

static void trial_open(struct scene *scene, uint32_t run, bool tree)
{
    Exhibit__RunStart start = EXHIBIT__RUN_START__INIT;
    Exhibit__ProbeAssignment probe = EXHIBIT__PROBE_ASSIGNMENT__INIT;
    Exhibit__RoleRounds rounds[3], *rounds_list[] = {&rounds[0], &rounds[1], &rounds[2]};
    Exhibit__StepPlan step = EXHIBIT__STEP_PLAN__INIT, *steps[] = {&step};
    ProtobufCBinaryData command[] = {text_field("/tools/exhibit-probe"), text_field("run"), text_field("parent"),
                                     text_field(scene->runs[run].nonces[1]), text_field("tree=1")};
    uint8_t nonce[NONCE_BYTES];

    for (int i = 0; i < 3; i++) {
        exhibit__role_rounds__init(&rounds[i]);
        rounds[i].role = (Exhibit__Role)(i + 1);
        rounds[i].rounds = i == 2 ? GRANDCHILD_ROUNDS : 1;
    }
    step.signal = SIGTERM;
    step.target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    step.after_rounds = STEP_AFTER_ROUNDS;
    step.after_role = ROLE(GRANDCHILD);
    assert_true(hex_decode(scene->runs[run].nonces[1], nonce, sizeof nonce));
    probe.nonce = (ProtobufCBinaryData){sizeof nonce, nonce};
    probe.n_roles = tree ? 3 : 1;
    probe.roles = rounds_list;
    probe.n_effects = 5;
    probe.effects = (char **)effect_names; /* only copied from */
    probe.lifetime_ms = LIFETIME_MS;
    probe.interval_ms = INTERVAL_MS;
    probe.n_ending = tree ? 1 : 0;
    probe.ending = steps;
    start.probe = &probe;
    start.n_command = 5;
    start.command = command;
    run_open(scene, run, &start);
}

static void identity_put(struct scene *scene, uint32_t run, int role)
{
    Exhibit__ProcessIdentity identity = EXHIBIT__PROCESS_IDENTITY__INIT;
    ProtobufCBinaryData argv[] = {text_field("/tools/exhibit-probe"), text_field("run"), text_field(role_word(role)),
                                  text_field(scene->runs[run].nonces[role]), text_field("tree=1")};

    identity.pid = run * 100 + (uint32_t)role;
    identity.start_time = identity.pid + 7u;
    identity.parent_pid = identity.pid - 1;
    identity.executable_sha256 = digest_field("probe");
    identity.n_argv = 5;
    identity.argv = argv;
    identity.network_namespace = OWN_NETWORK;
    identity.routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK;
    identity.routes_beyond_loopback = 1;
    scene_put(scene, run, SCENE(PROCESS_IDENTITY), &identity);
}

/* What the host sees of a round that reaches everything. */
static void reach_put(struct scene *scene, uint32_t run, int role, unsigned round)
{
    Exhibit__Accept accept = EXHIBIT__ACCEPT__INIT;

    for (int target = EXHIBIT__TARGET_NAME__TARGET_CANARY_READ; target <= EXHIBIT__TARGET_NAME__TARGET_WRITE;
         target++) {
        Exhibit__FileEvent file_event = EXHIBIT__FILE_EVENT__INIT;

        file_event.target = (Exhibit__TargetName)target;
        scene_put(scene, run, SCENE(FILE_EVENT), &file_event);
    }
    scene_put(scene, run, SCENE(ACCEPT), &accept);
    for (int protocol = EXHIBIT__PROTOCOL__PROTOCOL_TCP; protocol <= EXHIBIT__PROTOCOL__PROTOCOL_UDP; protocol++) {
        Exhibit__Message message = EXHIBIT__MESSAGE__INIT;
        char text[128];

        (void)snprintf(text, sizeof text, "EXHIBIT1 %s %s %s %u\n",
                       protocol == EXHIBIT__PROTOCOL__PROTOCOL_TCP ? "tcp" : "udp", scene->runs[run].nonces[role],
                       role_word(role), round);
        message.protocol = (Exhibit__Protocol)protocol;
        message.payload = text_field(text);
        scene_put(scene, run, SCENE(MESSAGE), &message);
    }
}

static void round_put(struct scene *scene, uint32_t run, int role, unsigned round, bool reach)
{
    char row[1024], try[128];

    (void)snprintf(try, sizeof try, "EXHIBIT1 try %s %s %u read\n", scene->runs[run].nonces[role], role_word(role),
                   round);
    scene_say(scene, run, STREAM(STDOUT), try);
    if (reach)
        reach_put(scene, run, role, round);
    scene_row(scene, run, (Exhibit__Role)role, round, reach ? "ok" : "errno:13", row);
    scene_say(scene, run, STREAM(STDOUT), row);
    scene_say(scene, run, (Exhibit__StreamName)(STREAM(SCRATCH_PARENT) + role - 1), row);
}

static void step_put(struct scene *scene, uint32_t run)
{
    Exhibit__Step step = EXHIBIT__STEP__INIT;
    Exhibit__AliveProcess alive[3], *alive_list[] = {&alive[0], &alive[1], &alive[2]};

    for (uint32_t i = 0; i < 3; i++) {
        exhibit__alive_process__init(&alive[i]);
        alive[i].pid = run * 100 + i + 1;
        alive[i].start_time = alive[i].pid + 7u;
    }
    step.index = 1;
    step.signal = SIGTERM;
    step.target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    step.trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_ROUNDS;
    step.n_alive = 3;
    step.alive = alive_list;
    scene_put(scene, run, SCENE(STEP), &step);
}

/* Puts a trial run whose attempts are denied in strict mode and reach everything in the others. */
static void trial_put(struct scene *scene, const char *name, Exhibit__Mode mode, uint32_t repeat)
{
    bool reach = mode != MODE(STRICT), tree = strcmp(name, "tree") == 0 && !(mode == MODE(CONTROL) && repeat == 2);
    uint32_t run = run_add(scene, EXHIBIT__RUN_KIND__RUN_TRIAL, name, mode, repeat);
    char written[1024] = "";

    targets_put(scene, run);
    states_put(scene, "");
    trial_open(scene, run, tree);
    for (int role = 1; role <= (tree ? 3 : 1); role++) {
        identity_put(scene, run, role);
        for (unsigned round = 1; round <= (role == 3 ? STEP_AFTER_ROUNDS : 1); round++) {
            round_put(scene, run, role, round, reach);
            if (reach)
                (void)snprintf(written + strlen(written), sizeof written - strlen(written), "EXHIBIT1 write %s %s %u\n",
                               scene->runs[run].nonces[role], role_word(role), round);
        }
    }
    if (tree)
        step_put(scene, run);
    for (int role = 1; role <= (tree ? 3 : 1); role++) {
        Exhibit__ProcessExit process_exit = EXHIBIT__PROCESS_EXIT__INIT;

        process_exit.pid = run * 100 + (uint32_t)role;
        process_exit.start_time = process_exit.pid + 7u;
        scene_put(scene, run, SCENE(PROCESS_EXIT), &process_exit);
    }
    run_close(scene, run, STREAM(SCRATCH_GRANDCHILD));
    for (int protocol = 1; protocol <= 2; protocol++) {
        Exhibit__Drops drops = EXHIBIT__DROPS__INIT;

        drops.protocol = (Exhibit__Protocol)protocol;
        scene_put(scene, run, SCENE(DROPS), &drops);
    }
    states_put(scene, written);
}

struct scene *scene_good_under(const char *oracle_yaml)
{
    struct scene *scene = calloc(1, sizeof *scene);
    Exhibit__RecordingEnd end = EXHIBIT__RECORDING_END__INIT;
    static const char *const trials[] = {"bootstrap", "tree"};
    struct err err = {0};

    assert_non_null(scene);
    if (oracle_parse("oracle", oracle_yaml, strlen(oracle_yaml), &scene->oracle, &err) < 0)
        fail_msg("%s", err.text);
    start_put(scene);
    freeze_put(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE);
    case_put(scene, MODE(BASELINE), 1);
    case_put(scene, MODE(BASELINE), 2);
    for (int i = 0; i < 2; i++)
        trial_put(scene, trials[i], MODE(BASELINE), 1);
    freeze_put(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE);
    launcher_put(scene);
    case_put(scene, MODE(STRICT), 1);
    for (int i = 0; i < 2; i++) {
        trial_put(scene, trials[i], MODE(CONTROL), 1);
        trial_put(scene, trials[i], MODE(STRICT), 1);
        trial_put(scene, trials[i], MODE(CONTROL), 2);
    }
    freeze_put(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT);
    scene_put(scene, 0, SCENE(RECORDING_END), &end);
    return scene;
}

struct scene *scene_good(void)
{
    return scene_good_under(scene_oracle);
}
