/* docs/DECISION.md sections 3 and 4: each branch of an outcome, identities, and how a role ended. */
#include "judge_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t strict_tree(const struct scene *scene)
{
    return scene_run_of(scene, "tree", MODE(STRICT), 1);
}

/* Judges the scene and wants this outcome of an attempt of the strict tree; releases the scene. */
static void want_outcome(struct scene *scene, const char *role_round, const char *effect, const char *outcome)
{
    Exhibit__Claim *claim = scene_judge(scene);
    const char *said = scene_attempt(claim, "tree", "strict", role_round, effect)->outcome;

    if (strcmp(said, outcome) != 0)
        fail_msg("%s %s is %s, not %s", role_round, effect, said, outcome);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

/* A scene in which the child told this of an effect; with a network of its own where `private`. */
static struct scene *told(const char *oracle, const char *effect, const char *text, bool private)
{
    struct scene *scene = scene_good_under(oracle);
    Exhibit__ProcessIdentity *identity =
        scene_event(scene, strict_tree(scene), SCENE(PROCESS_IDENTITY), 1)->process_identity;

    scene_tell(scene, strict_tree(scene), ROLE(CHILD), 1, effect, text);
    identity->network_namespace += private;
    identity->routes_beyond_loopback = !private;
    return scene;
}

#define TREE "version: 1\ntrials: [{name: tree, roles: [parent, child, grandchild]}]\n"
#define LISTS TREE "denials: {%s: {errnos: [EACCES, ECONNREFUSED], timeout: %s, signal: %s}}\n"

static void an_errno_is_a_denial_where_the_oracle_lists_it(void **state)
{
    (void)state;
    want_outcome(told(TREE, "read", "errno:2", false), "child/1", "read", "denied");
    want_outcome(told(TREE, "read", "errno:30", false), "child/1", "read", "undetermined");
    want_outcome(told(TREE, "write", "errno:30", false), "child/1", "write", "denied");
    want_outcome(told(TREE, "read-link", "errno:111", true), "child/1", "read-link", "undetermined");
}

static void an_errno_of_a_network_counts_only_where_the_network_is_private(void **state)
{
    static const char all[] =
        TREE "denials: {tcp: {errnos: [EPERM, ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL]}}\n";
    static const int errnos[] = {111, 101, 113, 100, 99};
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof errnos / sizeof errnos[0]; i++) {
        (void)snprintf(text, sizeof text, "errno:%d", errnos[i]);
        want_outcome(told(all, "tcp", text, true), "child/1", "tcp", "denied");
        want_outcome(told(all, "tcp", text, false), "child/1", "tcp", "undetermined");
    }
    want_outcome(told(all, "tcp", "errno:1", false), "child/1", "tcp", "denied");
}

/* What one change to the child's identity or to the recorder's makes of ECONNREFUSED. */
static void a_network_is_private_only_where_it_is_known_to_be(void **state)
{
    static const char *const outcomes[] = {"denied",       "undetermined", "undetermined",
                                           "undetermined", "undetermined", "undetermined",
                                           "undetermined", "undetermined", "denied"};

    (void)state;
    for (int change = 0; change < 9; change++) {
        struct scene *scene = told(TREE, "udp", "errno:111", true);
        size_t place = scene_place(scene, strict_tree(scene), SCENE(PROCESS_IDENTITY), 1);
        Exhibit__ProcessIdentity *identity = scene->events[place].event->process_identity;

        if (change == 1)
            identity->network_namespace = 0;
        if (change == 2)
            identity->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES__NOT_SET;
        if (change == 3)
            identity->routes_beyond_loopback = 2;
        if (change == 4)
            scene->events[0].event->recording_start->host->network_namespace = identity->network_namespace;
        if (change == 5) { /* the first event of the identity counts */
            scene_insert(scene, place + 1, strict_tree(scene), SCENE(PROCESS_IDENTITY), identity);
            identity->network_namespace = 0;
        }
        if (change > 5) { /* and a later one may show no more */
            Exhibit__ProcessIdentity later = *identity;

            if (change == 6)
                later.routes_beyond_loopback = 1;
            if (change == 7)
                later.network_namespace += 5;
            if (change == 8)
                later.routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES__NOT_SET;
            scene_insert(scene, place + 1, strict_tree(scene), SCENE(PROCESS_IDENTITY), &later);
        }
        want_outcome(scene, "child/1", "udp", outcomes[change]);
    }
}

static void a_success_that_nobody_saw_is_diverted_where_that_can_be_known(void **state)
{
    static const char proof[] = "ok:0000000000000000000000000000000000000000000000000000000000000000";

    (void)state;
    want_outcome(told(TREE, "write", "ok", false), "child/1", "write", "diverted");
    want_outcome(told(TREE, "read", proof, false), "child/1", "read", "diverted");
    want_outcome(told(TREE, "tcp", "ok", true), "child/1", "tcp", "diverted");
    want_outcome(told(TREE, "tcp", "ok", false), "child/1", "tcp", "undetermined");
}

/* Without a canary nothing can be proved: a digest over nothing is no proof, only a success that nobody saw. */
static void a_proof_needs_a_canary_that_was_set(void **state)
{
    struct scene *scene = scene_good_under(TREE);
    uint32_t run = strict_tree(scene);
    char row[1024], proof[68];

    (void)state;
    memset(scene->runs[run].canaries, 0, sizeof scene->runs[run].canaries);
    scene_row(scene, run, ROLE(CHILD), 1, "ok", row);
    (void)snprintf(proof, sizeof proof, "%.67s", strstr(row, "ok:"));
    scene_drop(scene, 0, SCENE(TARGETS));
    scene_tell(scene, run, ROLE(CHILD), 1, "read", proof);
    want_outcome(scene, "child/1", "read", "diverted");
}

static void a_timeout_or_a_signal_is_a_denial_where_the_oracle_says_so(void **state)
{
    char yes[256], no[256];

    (void)state;
    (void)snprintf(yes, sizeof yes, LISTS, "udp", "true", "true");
    (void)snprintf(no, sizeof no, LISTS, "udp", "false", "false");
    want_outcome(told(yes, "udp", "timeout", true), "child/1", "udp", "denied");
    want_outcome(told(yes, "udp", "timeout", false), "child/1", "udp", "undetermined");
    want_outcome(told(no, "udp", "timeout", true), "child/1", "udp", "undetermined");
    want_outcome(told(yes, "udp", "signal:31", false), "child/1", "udp", "denied");
    want_outcome(told(no, "udp", "signal:31", false), "child/1", "udp", "undetermined");
    (void)snprintf(yes, sizeof yes, LISTS, "read", "true", "false");
    want_outcome(told(yes, "read", "timeout", false), "child/1", "read", "denied");
}

/* A trace that no attempt explains makes every attempt of the effect reached. */
static void an_unexplained_trace_is_reached_by_all(void **state)
{
    static const struct {
        Exhibit__Event__WhatCase what;
        Exhibit__TargetName target;
        Exhibit__Protocol protocol;
        const char *effect;
    } traces[] = {{SCENE(ACCEPT), 0, 0, "tcp"},
                  {SCENE(MESSAGE), 0, EXHIBIT__PROTOCOL__PROTOCOL_TCP, "tcp"},
                  {SCENE(MESSAGE), 0, EXHIBIT__PROTOCOL__PROTOCOL_UDP, "udp"},
                  {SCENE(FILE_EVENT), EXHIBIT__TARGET_NAME__TARGET_CANARY_READ, 0, "read"},
                  {SCENE(FILE_EVENT), EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK, 0, "read-link"},
                  {SCENE(FILE_EVENT), EXHIBIT__TARGET_NAME__TARGET_WRITE, 0, "write"}};

    (void)state;
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
        Exhibit__Accept accept = EXHIBIT__ACCEPT__INIT;
        Exhibit__Message message = EXHIBIT__MESSAGE__INIT;
        Exhibit__FileEvent touched = EXHIBIT__FILE_EVENT__INIT;
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        Exhibit__Claim *claim;

        message.protocol = traces[i].protocol;
        touched.target = traces[i].target;
        scene_insert(scene, scene_place(scene, run, SCENE(STEP), 0), run, traces[i].what,
                     traces[i].what == SCENE(ACCEPT)    ? (void *)&accept
                     : traces[i].what == SCENE(MESSAGE) ? (void *)&message
                                                        : (void *)&touched);
        claim = scene_judge(scene);
        for (size_t j = 0; j < claim->n_attempts; j++)
            if (strcmp(claim->attempts[j]->trial, "tree") == 0 && strcmp(claim->attempts[j]->mode, "strict") == 0)
                assert_string_equal(claim->attempts[j]->outcome,
                                    strcmp(claim->attempts[j]->effect, traces[i].effect) == 0 ? "reached" : "denied");
        exhibit__claim__free_unpacked(claim, NULL);
        scene_free(scene);
    }
}

static void an_explained_trace_is_reached_by_the_one_that_did_it(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    Exhibit__Message message = EXHIBIT__MESSAGE__INIT;
    Exhibit__Claim *claim;
    char text[128];
    int size = snprintf(text, sizeof text, "EXHIBIT1 udp %s grandchild 2\n", scene->runs[run].nonces[3]);

    (void)state;
    message.protocol = EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    message.payload = (ProtobufCBinaryData){(size_t)size, (uint8_t *)text};
    scene_insert(scene, scene_place(scene, run, SCENE(STEP), 0), run, SCENE(MESSAGE), &message);
    claim = scene_judge(scene);
    assert_string_equal(scene_attempt(claim, "tree", "strict", "grandchild/2", "udp")->outcome, "reached");
    assert_string_equal(scene_attempt(claim, "tree", "strict", "grandchild/1", "udp")->outcome, "denied");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

/* Evidence of another protocol, a cut one, or one with a byte more is none. */
static void only_the_exact_message_is_own_evidence(void **state)
{
    (void)state;
    for (int change = 0; change < 4; change++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        Exhibit__Message message = EXHIBIT__MESSAGE__INIT;
        char text[128];
        int size = snprintf(text, sizeof text, "EXHIBIT1 udp %s child 1\n%s", scene->runs[run].nonces[2],
                            change == 3 ? "\n" : "");

        message.protocol = change == 1 ? EXHIBIT__PROTOCOL__PROTOCOL_TCP : EXHIBIT__PROTOCOL__PROTOCOL_UDP;
        message.truncated = change == 2;
        message.payload = (ProtobufCBinaryData){(size_t)size, (uint8_t *)text};
        scene_insert(scene, 3, 0, SCENE(MESSAGE), &message); /* long before the run, and of none */
        want_outcome(scene, "child/1", "udp", change == 0 ? "reached" : "denied");
    }
}

static void a_written_line_is_own_evidence_in_the_first_state_after_the_exit_alone(void **state)
{
    (void)state;
    for (int change = 0; change < 3; change++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        size_t place = scene_place(scene, run, SCENE(DROPS), 1);
        struct err err;
        char text[128];
        int size = snprintf(text, sizeof text, "EXHIBIT1 write %s child 1%s", scene->runs[run].nonces[2],
                            change == 1 ? "" : "\n");

        for (int nth = change == 2 ? 2 : 1; nth > 0; nth--) { /* the second one is that after the next run */
            place++;
            while (scene->events[place].event->what_case != SCENE(TARGET_STATE) ||
                   scene->events[place].event->target_state->target != EXHIBIT__TARGET_NAME__TARGET_WRITE)
                place++;
        }
        assert_int_equal(bytes_add(&scene->events[place].payload, text, (size_t)size, 4096, &err), 0);
        want_outcome(scene, "child/1", "write", change == 0 ? "reached" : "denied");
    }
}

static void a_contested_row_is_undetermined_but_reached_stays_reached(void **state)
{
    (void)state;
    for (int reached = 0; reached < 2; reached++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        Exhibit__FileEvent touched = EXHIBIT__FILE_EVENT__INIT;
        Exhibit__Claim *claim;
        char row[1024];

        scene_row(scene, run, ROLE(CHILD), 1, "errno:1", row);
        scene_insert_text(scene, scene_place(scene, run, SCENE(STEP), 0), run, STREAM(SCRATCH_CHILD), row);
        touched.target = EXHIBIT__TARGET_NAME__TARGET_CANARY_READ;
        if (reached)
            scene_insert(scene, scene_place(scene, run, SCENE(STEP), 0), run, SCENE(FILE_EVENT), &touched);
        claim = scene_judge(scene);
        assert_string_equal(scene_attempt(claim, "tree", "strict", "child/1", "read")->outcome,
                            reached ? "reached" : "undetermined");
        assert_string_equal(scene_attempt(claim, "tree", "strict", "child/1", "write")->outcome, "undetermined");
        assert_int_equal(scene_attempt(claim, "tree", "strict", "child/1", "write")->errno_value, 13); /* the first */
        assert_string_equal(scene_attempt(claim, "tree", "strict", "parent/1", "write")->outcome, "denied");
        exhibit__claim__free_unpacked(claim, NULL);
        scene_free(scene);
    }
}

/* ---- section 4 ---- */

/* A second process that looks like the child, with one difference. */
static void what_is_no_identity_makes_none_ambiguous(void **state)
{
    (void)state;
    for (int change = 0; change < 6; change++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        size_t place = scene_place(scene, run, SCENE(PROCESS_IDENTITY), 1);
        Exhibit__ProcessIdentity *child = scene->events[place].event->process_identity, *other;
        Exhibit__Claim *claim;

        scene_insert(scene, place + 1, run, SCENE(PROCESS_IDENTITY), child);
        other = scene->events[place + 1].event->process_identity;
        other->pid = 4711;
        if (change == 1) /* a launcher that carries the nonce in its argv */
            other->executable_sha256.data[0] ^= 1;
        if (change == 2) /* another word */
            other->argv[4].data[0] ^= 1;
        if (change == 3) /* a word more or less */
            free(other->argv[--other->n_argv].data);
        if (change == 4) /* a short-lived fork of the child */
            other->parent_pid = child->pid;
        if (change == 5) { /* the same process once more */
            other->pid = child->pid;
            other->parent_pid = 1;
        }
        claim = scene_judge(scene);
        assert_int_equal(scene_member(claim, "tree", "strict", "child")->pid, change == 0 ? 0 : child->pid);
        assert_string_equal(scene_member(claim, "tree", "strict", "child")->ended_by, change == 0 ? "none" : "step");
        exhibit__claim__free_unpacked(claim, NULL);
        scene_free(scene);
    }
}

/* The parent's own argv is the command as it is; the words of the others are derived. */
static void the_own_argv_is_compared_byte_by_byte(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    Exhibit__RunStart *start = scene_event(scene, run, SCENE(RUN_START), 0)->run_start;

    (void)state;
    start->command[2].data[0] = 'P';
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree strict: the parent has no host identity"},
           {"cancel.ended", "tree strict: the parent was not seen to end"});

    scene = scene_good();
    start = scene_event(scene, run, SCENE(RUN_START), 0)->run_start;
    start->command[4].data[4] = 0; /* what follows a NUL counts too */
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree strict: the child has no host identity"},
           {"cancel.ended", "tree strict: the child was not seen to end"});
}

/* An identity rests on the nonce alone, not on what the probe was told to do. */
static void a_role_that_was_not_assigned_may_have_an_identity(void **state)
{
    struct scene *scene = scene_good();
    Exhibit__ProbeAssignment *probe = scene_event(scene, strict_tree(scene), SCENE(RUN_START), 0)->run_start->probe;

    (void)state;
    exhibit__role_rounds__free_unpacked(probe->roles[--probe->n_roles], NULL);
    EXPECT(scene, "INCOMPLETE", {"complete.recording", "tree strict has no role grandchild"},
           {"complete.spoke", "tree strict: the grandchild left no row"});
}

static void how_a_role_ended_is_told_by_the_first_clause_that_applies(void **state)
{
    static const char *const ends[] = {"step", "none", "cleanup", "self-expiry", "early", "step"};

    (void)state;
    for (int change = 0; change < 6; change++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        size_t place = scene_place(scene, run, SCENE(PROCESS_EXIT), 0), step = scene_place(scene, run, SCENE(STEP), 0);
        Exhibit__Cleanup cleanup = EXHIBIT__CLEANUP__INIT;
        const Exhibit__TreeMember *parent;
        Exhibit__Claim *claim;

        cleanup.reason = EXHIBIT__CLEANUP__REASON__REASON_INTERRUPT;
        if (change == 1)
            scene_remove(scene, place);
        if (change == 2 || change == 5)
            scene_insert(scene, change == 2 ? place : place + 1, run, SCENE(CLEANUP), &cleanup);
        if (change == 3)
            scene_delay(scene, place, 7500);
        if (change == 4)
            scene_insert(scene, step, run, SCENE(PROCESS_EXIT), scene->events[place].event->process_exit);
        claim = scene_judge(scene);
        parent = scene_member(claim, "tree", "strict", "parent");
        assert_string_equal(parent->ended_by, ends[change]);
        assert_int_equal(parent->survived_ms, change == 1 || change == 4 ? 0 : change == 3 ? 7510 : 10);
        exhibit__claim__free_unpacked(claim, NULL);
        scene_free(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_errno_is_a_denial_where_the_oracle_lists_it),
        cmocka_unit_test(an_errno_of_a_network_counts_only_where_the_network_is_private),
        cmocka_unit_test(a_network_is_private_only_where_it_is_known_to_be),
        cmocka_unit_test(a_success_that_nobody_saw_is_diverted_where_that_can_be_known),
        cmocka_unit_test(a_proof_needs_a_canary_that_was_set),
        cmocka_unit_test(a_timeout_or_a_signal_is_a_denial_where_the_oracle_says_so),
        cmocka_unit_test(an_unexplained_trace_is_reached_by_all),
        cmocka_unit_test(an_explained_trace_is_reached_by_the_one_that_did_it),
        cmocka_unit_test(only_the_exact_message_is_own_evidence),
        cmocka_unit_test(a_written_line_is_own_evidence_in_the_first_state_after_the_exit_alone),
        cmocka_unit_test(a_contested_row_is_undetermined_but_reached_stays_reached),
        cmocka_unit_test(what_is_no_identity_makes_none_ambiguous),
        cmocka_unit_test(the_own_argv_is_compared_byte_by_byte),
        cmocka_unit_test(a_role_that_was_not_assigned_may_have_an_identity),
        cmocka_unit_test(how_a_role_ended_is_told_by_the_first_clause_that_applies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
