/*
 * Bindings: a good scene fits its plan, and each thing that does not fit is refuted by name.
 */
#include "verify/binding.h"
#include "verify_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TEXT(text) ((char *)(uintptr_t)(text))

/* The plan that the scene was recorded from. */
struct plan_by_hand {
    struct plan plan;
    char *words[2];
    struct plan_variable variables[1];
    struct plan_case cases[1];
    struct plan_trial trials[1];
};

static void plan_fill(struct plan_by_hand *out)
{
    *out = (struct plan_by_hand){.words = {TEXT("/bin/tool"), TEXT("pack")}, .variables = {{TEXT("LANG"), TEXT("C")}}};
    out->cases[0] = (struct plan_case){.name = TEXT("build"), .command = {out->words, 2}, .watchdog_ms = 30000};
    out->trials[0] = (struct plan_trial){.name = TEXT("tree"),
                                         .tree = true,
                                         .effects = (char **)(uintptr_t)scene_effects,
                                         .effect_count = SCENE_EFFECTS,
                                         .rounds = SCENE_ROUNDS,
                                         .interval_ms = 2000,
                                         .lifetime_ms = 8000,
                                         .steps = {{15, EXHIBIT__STEP_TARGET__STEP_GROUP, 2, 0}},
                                         .step_count = 1};
    out->plan = (struct plan){.name = TEXT("demo"),
                              .candidate = {.name = TEXT("box")},
                              .environment = out->variables,
                              .environment_count = 1,
                              .cases = out->cases,
                              .case_count = 1,
                              .trials = out->trials,
                              .trial_count = 1};
}

struct stage {
    struct scene *scene;
    struct plan_by_hand plan;
    uint32_t version; /* of the receipt */
};

typedef void change(struct stage *stage);

static uint64_t unpacked_before; /* of archives, when the check begins */

/* Builds the good scene, changes one thing, and collects what is found. `late` changes what sealing would put right. */
static void check(change *make, change *late, struct findings *findings)
{
    struct stage stage = {.scene = scene_good("plan", "oracle"), .version = 1};
    Exhibit__Receipt receipt = {PROTOBUF_C_MESSAGE_INIT(&exhibit__receipt__descriptor), .version = 1};
    struct binding binding = {
        .receipt = &receipt, .plan = &stage.plan.plan, .findings = findings, .unpacked_bytes = unpacked_before};
    struct evidence evidence;
    struct err err = {0};

    plan_fill(&stage.plan);
    if (make != NULL)
        make(&stage);
    receipt.version = stage.version;
    scene_seal(stage.scene);
    if (late != NULL)
        late(&stage);
    evidence = scene_evidence(stage.scene);
    receipt.run_id = (ProtobufCBinaryData){RUN_ID_BYTES, (uint8_t *)TEXT("0123456789abcdef")};
    binding.evidence = &evidence;
    if (ledger_read(&evidence, &binding.ledger, &err) < 0 || binding_check(&binding, &err) < 0)
        fail_msg("%s", err.text);
    ledger_done(&binding.ledger);
    scene_free(stage.scene);
}

static void a_good_scene_fits(void **state)
{
    struct findings findings = {0};

    (void)state;
    check(NULL, NULL, &findings);
    if (findings.count > 0)
        fail_msg("%s", findings.texts[0]);
}

static void secret_good(struct stage *s);

static void a_good_scene_with_a_secret_fits(void **state)
{
    struct findings findings = {0};

    (void)state;
    check(secret_good, NULL, &findings);
    if (findings.count > 0)
        fail_msg("%s", findings.texts[0]);
}

static void other_experiment(struct stage *s)
{
    s->plan.plan.name = TEXT("another");
}

static void other_candidate(struct stage *s)
{
    s->plan.plan.candidate.name = TEXT("jail");
}

static void other_command(struct stage *s)
{
    s->plan.words[1] = TEXT("publish");
}

static void other_environment(struct stage *s)
{
    s->plan.variables[0].value = TEXT("de_DE");
}

static void other_watchdog(struct stage *s)
{
    s->plan.cases[0].watchdog_ms = 1;
}

static void other_stdin(struct stage *s)
{
    static uint8_t bytes[] = "in";

    s->plan.cases[0].stdin_bytes = (struct bytes){.data = bytes, .size_bytes = 2};
}

static void other_rounds(struct stage *s)
{
    s->plan.trials[0].rounds = 9;
}

static void other_effects(struct stage *s)
{
    s->plan.trials[0].effect_count = 4;
}

static void other_ending(struct stage *s)
{
    s->plan.trials[0].steps[0].signal = 9;
}

static void other_lifetime(struct stage *s)
{
    s->plan.trials[0].lifetime_ms = 9000;
}

static void unplanned_case(struct stage *s)
{
    s->plan.cases[0].name = TEXT("test");
}

static void unplanned_pin(struct stage *s)
{
    static struct plan_pin pins[1];

    pins[0].path = TEXT("/bin/node");
    s->plan.plan.pins = pins;
    s->plan.plan.pin_count = 1;
}

static void unseen_binary(struct stage *s)
{
    static struct plan_binary binaries[1];

    binaries[0] = (struct plan_binary){.name = TEXT("node"), .path = TEXT("/bin/node")};
    s->plan.plan.binaries = binaries;
    s->plan.plan.binary_count = 1;
}

static void strict_argv(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_STRICT, RUN_START, 0)->run_start->argv[0].data[1] = 'B';
}

static void bare_strict(struct stage *s)
{
    Exhibit__RunStart *start = SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_START, 0)->run_start;

    free(start->argv[--start->n_argv].data);
}

static void mode_folder(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_START, 0)->run_start->cwd.data[1] = 'X';
}

static void mode_environment(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_START, 0)->run_start->environment[0].data[8] = 'X';
}

/* All runs get LANG as a secret, as they should. */
static void secret_good(struct stage *s)
{
    s->version = 2;
    s->plan.variables[0].value = TEXT("");
    s->plan.variables[0].secret = TEXT("CALLERS");
    for (uint32_t run = SCENE_CASE_BASELINE; run <= SCENE_CONTROL_AFTER; run++) {
        Exhibit__RunStart *start = SCENE_FIND(s->scene, run, RUN_START, 0)->run_start;

        start->environment[1].len = strlen("LANG=");
        start->n_secrets = 1;
        start->secrets = scene_zero(sizeof *start->secrets);
        start->secrets[0] = scene_zero(sizeof *start->secrets[0]);
        exhibit__secret_variable__init(start->secrets[0]);
        start->secrets[0]->name = scene_text("LANG");
        start->secrets[0]->hmac_sha256 = scene_text("0123456789abcdef0123456789abcdef");
    }
}

static void secret_differs(struct stage *s)
{
    secret_good(s);
    SCENE_FIND(s->scene, SCENE_STRICT, RUN_START, 0)->run_start->secrets[0]->hmac_sha256.data[31] = 'X';
}

static void secret_differs_in_the_launcher(struct stage *s)
{
    secret_good(s);
    SCENE_FIND(s->scene, SCENE_LAUNCHER, RUN_START, 0)->run_start->secrets[0]->hmac_sha256.data[0] = 'X';
}

static void secret_told(struct stage *s)
{
    secret_good(s);
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_START, 0)->run_start->environment[1].len = strlen("LANG=C");
}

static void secret_of_another_name(struct stage *s)
{
    secret_good(s);
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_START, 0)->run_start->secrets[0]->name.data[0] = 'X';
}

static void secret_unplanned(struct stage *s)
{
    secret_good(s);
    s->plan.variables[0].secret = NULL;
}

static void secret_untold(struct stage *s)
{
    Exhibit__RunStart *start = SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_START, 0)->run_start;

    secret_good(s);
    exhibit__secret_variable__free_unpacked(start->secrets[0], NULL);
    start->n_secrets = 0;
}

static void secret_of_version_1(struct stage *s)
{
    secret_good(s);
    s->version = 1;
}

static void version_2_without_reason(struct stage *s)
{
    s->version = 2;
}

static void local_of_version_1(struct stage *s)
{
    s->plan.plan.workspace_local = true;
}

static void command_nonce(struct stage *s)
{
    Exhibit__RunStart *start = SCENE_FIND(s->scene, SCENE_CONTROL_AFTER, RUN_START, 0)->run_start;

    start->command[3].data[0] = '0';
    start->argv[3].data[0] = '0';
}

static void same_nonce(struct stage *s)
{
    Exhibit__RunStart *start = SCENE_FIND(s->scene, SCENE_CONTROL_AFTER, RUN_START, 0)->run_start;

    memset(start->probe->nonce.data, SCENE_STRICT + 16, NONCE_BYTES);
}

static void control_order(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CONTROL_BEFORE, RUN_START, 0)->run_start->repeat = 2;
    SCENE_FIND(s->scene, SCENE_CONTROL_AFTER, RUN_START, 0)->run_start->repeat = 1;
}

static void two_exits(struct stage *s)
{
    (void)SCENE_ADD(s->scene, SCENE_STRICT, RUN_EXIT);
    scene_move_last(s->scene, s->scene->count - 3);
}

static void no_spawn(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_LAUNCHER, SPAWNED, 0);
}

static void reset_elsewhere(struct stage *s)
{
    SCENE_FIND(s->scene, 0, TARGETS, 2)->targets->canary_read.data[0] = 'T';
}

static void no_state(struct stage *s)
{
    size_t at = scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_RUN_START, 0) - 1; /* of the phase */

    for (size_t i = 0; i < 4; i++)
        scene_drop(s->scene, --at);
}

static void foreign_connection(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CONTROL_AFTER, MESSAGE, 0)->message->connection = 77;
}

static void foreign_peer(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CONTROL_AFTER, MESSAGE, 0)->message->peer.data[0] = '9';
}

static void datagram_connection(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CONTROL_AFTER, MESSAGE, 1)->message->connection = 1;
}

static void skipped_connection(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CONTROL_AFTER, ACCEPT, 0)->accept->connection++;
}

static void member_differs(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact->members[1]->mode = 0600;
}

static void member_missing(struct stage *s)
{
    Exhibit__Artifact *artifact = SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact;

    exhibit__archive_member__free_unpacked(artifact->members[--artifact->n_members], NULL);
}

static void no_archive(struct stage *s)
{
    Exhibit__Artifact *artifact = SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact;

    artifact->is_archive = false;
}

static void artifact_size(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact->size_bytes++;
}

static void state_size(struct stage *s)
{
    SCENE_FIND(s->scene, 0, TARGET_STATE, 1)->target_state->size_bytes++;
}

static void vantage(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_STRICT, CHUNK, 0)->vantage = EXHIBIT__VANTAGE__VANTAGE_HOST;
}

static void chunk_gap(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_STRICT, CHUNK, 2)->chunk->offset_bytes++;
}

static void chunk_short(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, CHUNK, 0)->chunk->size_bytes--;
}

static void no_stream_end(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_CASE_STRICT, STREAM_END, 1);
}

static void stdin_delivered(struct stage *s)
{
    scene_say(s->scene, SCENE_CASE_STRICT, EXHIBIT__STREAM_NAME__STREAM_STDIN, "never offered");
    s->scene->events[s->scene->count - 1].event->vantage = EXHIBIT__VANTAGE__VANTAGE_HOST;
    scene_move_last(s->scene, scene_at(s->scene, SCENE_CASE_STRICT, EXHIBIT__EVENT__WHAT_RUN_EXIT, 0));
}

static void mode_stdin(struct stage *s)
{
    Exhibit__RunStart *start = SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_START, 0)->run_start;

    s->plan.cases[0].stdin_from_file = true;
    exhibit__stream__free_unpacked(start->stdin_stream, NULL);
    start->stdin_stream = scene_stream(s->scene, "other");
}

static const struct fault {
    change *make, *late;
    const char *text;
} faults[] = {
    {other_experiment, NULL, "the experiment is not called as in the plan"},
    {other_candidate, NULL, "the candidate is not called as in the plan"},
    {other_command, NULL, "the command of run build/baseline 1 is not what the plan says"},
    {other_environment, NULL, "the environment of run build/baseline 1 is not what the plan says"},
    {other_watchdog, NULL, "the watchdog of run build/baseline 1"},
    {other_stdin, NULL, "the stdin of run build/baseline 1"},
    {other_rounds, NULL, "the list of roles and rounds of run tree/baseline 1"},
    {other_effects, NULL, "the list of effects of run tree/baseline 1"},
    {other_ending, NULL, "the ending of run tree/baseline 1"},
    {other_lifetime, NULL, "interval or lifetime of run tree/baseline 1"},
    {unplanned_case, NULL, "the name of run build/baseline 1 is not what the plan says"},
    {unplanned_case, NULL, "the plan has test/strict 1, the receipt has no such run"},
    {unplanned_pin, NULL, "the pins are not those of the plan"},
    {unseen_binary, NULL, "the plan's binary node is not identified"},
    {strict_argv, NULL, "the executed argv of run tree/strict 1"},
    {bare_strict, NULL, "the executed argv of run build/strict 1"},
    {mode_folder, NULL, "run build/strict 1 has another command, environment, folder or stdin than baseline"},
    {mode_environment, NULL, "run build/strict 1 has another command, environment, folder or stdin than baseline"},
    {mode_stdin, NULL, "run build/strict 1 has another command, environment, folder or stdin than baseline"},
    {secret_differs, NULL, "FORMAT 7.10: the secret CALLERS is not the same in run 7 as in run 1"},
    {secret_differs_in_the_launcher, NULL, "FORMAT 7.10: the secret CALLERS is not the same in run 4 as in run 1"},
    {secret_told, NULL, "the environment of run build/strict 1 is not what the plan says"},
    {secret_of_another_name, NULL, "FORMAT 7.10: the secrets of run 5 are not those of the plan"},
    {secret_unplanned, NULL, "FORMAT 7.10: the secrets of run 1 are not those of the plan"},
    {secret_untold, NULL, "FORMAT 7.10: the secrets of run 5 are not those of the plan"},
    {secret_of_version_1, NULL, "FORMAT 8.1: of version 1, and its plan asks for 2"},
    {version_2_without_reason, NULL, "FORMAT 8.1: of version 2, and its plan asks for 1"},
    {local_of_version_1, NULL, "FORMAT 8.1: of version 1, and its plan asks for 2"},
    {command_nonce, NULL, "the probe's command (role and nonce) of run tree/control 2"},
    {same_nonce, NULL, "runs 7 and 8 have the same nonce"},
    {control_order, NULL, "control 1 of tree is on the wrong side of strict"},
    {two_exits, NULL, "run 7 has 2 events RunExit"},
    {no_spawn, NULL, "run 4 ended and was never started"},
    {reset_elsewhere, NULL, "target 1 does not show what the reset made it"},
    {no_state, NULL, "run 7: target 1 was not set and looked at before"},
    {foreign_connection, NULL, "of a connection that was never accepted"},
    {foreign_peer, NULL, "of another peer than its connection"},
    {datagram_connection, NULL, "a datagram has a connection"},
    {skipped_connection, NULL, "is not the next"},
    {member_differs, NULL, "member 2 of the archive is not what is recorded"},
    {member_missing, NULL, "the archive has 2 members, 1 are recorded"},
    {no_archive, NULL, "the artifact is recorded as none, and is one"},
    {artifact_size, NULL, "the artifact has 3072 bytes, 3073 are recorded"},
    {state_size, NULL, "the target has"},
    {vantage, NULL, "its vantage is not that of its kind"},
    {NULL, chunk_gap, "the chunk does not continue a stream"},
    {NULL, chunk_short, "the stream has 9 bytes, its chunks have 8"},
    {NULL, no_stream_end, "run 5: stream 2 has no end"},
    {stdin_delivered, NULL, "what was delivered on stdin is not what was offered"},
};

static void each_thing_that_does_not_fit_is_refuted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct findings findings = {0};
        bool said = false;

        check(faults[i].make, faults[i].late, &findings);
        for (size_t f = 0; f < findings.kept; f++)
            said = said || strstr(findings.texts[f], faults[i].text) != NULL;
        if (!said)
            fail_msg("fault %zu: \"%s\" is not said, but \"%s\"", i, faults[i].text,
                     findings.kept > 0 ? findings.texts[0] : "nothing");
        finding_done(&findings);
    }
}

/* What a recording may unpack is over: an archive that is listed then was not listed by a recorder. */
static void an_archive_listed_beyond_the_bound_is_refuted(void **state)
{
    struct findings findings = {0};

    (void)state;
    unpacked_before = LIMIT_UNPACKED_BYTES;
    check(NULL, NULL, &findings);
    unpacked_before = LIMIT_UNPACKED_BYTES + 1;
    assert_int_equal(findings.count, 2); /* the archives after the one that went beyond it */
    finding_done(&findings);
    check(NULL, NULL, &findings);
    unpacked_before = 0;
    assert_int_equal(findings.count, 3);
    assert_non_null(strstr(findings.texts[0], "listed, though the archives before it unpack to more than 17179869184"));
    finding_done(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_scene_fits),
        cmocka_unit_test(a_good_scene_with_a_secret_fits),
        cmocka_unit_test(each_thing_that_does_not_fit_is_refuted),
        cmocka_unit_test(an_archive_listed_beyond_the_bound_is_refuted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
