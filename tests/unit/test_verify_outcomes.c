/*
 * What came of each attempt, and the exceptions that the rules make.
 */
#include "verify_stage.h"

static void unseen(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_STRICT, PROCESS_IDENTITY, 1);
}

static void connection(struct stage *s)
{
    size_t at = scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_STEP, 0);

    scene_message_of(s->scene, SCENE_STRICT, 1, 1, false);
    scene_move_last(s->scene, at); /* the message, then the connection before it */
    scene_move_last(s->scene, at);
}

static void member_differs(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact->members[1]->mode = 0600;
}

/* ---- outcomes ---- */

static const Exhibit__AttemptResult *attempt_of(const Exhibit__Claim *claim, const char *role, uint32_t round,
                                                const char *effect)
{
    for (size_t i = 0; i < claim->n_attempts; i++)
        if (strcmp(claim->attempts[i]->mode, "strict") == 0 && strcmp(claim->attempts[i]->role, role) == 0 &&
            claim->attempts[i]->round == round && strcmp(claim->attempts[i]->effect, effect) == 0)
            return claim->attempts[i];
    fail_msg("no attempt %s/%" PRIu32 "/%s", role, round, effect);
    return NULL;
}

static void private_network(struct stage *s)
{
    for (size_t i = 0; i < 3; i++) {
        Exhibit__ProcessIdentity *process = SCENE_FIND(s->scene, SCENE_STRICT, PROCESS_IDENTITY, i)->process_identity;

        process->network_namespace = 8;
        process->routes_beyond_loopback = 0;
    }
}

/* A private network; the child is seen again later, as `change` says. */
static void seen_again(struct stage *s, int how)
{
    Exhibit__ProcessIdentity *again;

    private_network(s);
    again = scene_identify(s->scene, SCENE_STRICT, EXHIBIT__ROLE__ROLE_CHILD);
    again->network_namespace = how == 1 ? 9 : 8;
    again->routes_beyond_loopback = how == 0 ? 1 : 0;
    if (how == 2)
        again->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES__NOT_SET;
    scene_move_last(s->scene, scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_STEP, 0));
}

static void gains_an_uplink(struct stage *s)
{
    seen_again(s, 0);
}

static void changes_its_namespace(struct stage *s)
{
    seen_again(s, 1);
}

static void is_seen_again(struct stage *s)
{
    seen_again(s, 2);
}

static const struct outcome {
    const char *effect;
    const char *told;
    bool private_network;
    const char *outcome;
    uint32_t errno_value;
} outcomes[] = {
    {"read", "errno:13", false, "denied", 13},
    {"read", "errno:2", false, "undetermined", 2},
    {"read", "timeout", false, "undetermined", 0},
    {"read", "signal:9", false, "denied", 0},
    {"read-link", "signal:9", false, "undetermined", 0},
    {"write", "ok", false, "diverted", 0},
    {"udp", "ok", false, "undetermined", 0},
    {"udp", "ok", true, "diverted", 0},
    {"tcp", "errno:111", false, "undetermined", 111},
    {"tcp", "errno:111", true, "denied", 111},
    {"tcp", "errno:13", false, "denied", 13},
    {"tcp", "timeout", false, "undetermined", 0},
    {"tcp", "timeout", true, "denied", 0},
};

static void each_outcome_follows_from_what_was_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
        struct stage stage = set_up(outcomes[i].private_network ? private_network : NULL);
        char from[64], to[64];
        Exhibit__Claim *claim;

        (void)snprintf(from, sizeof from, " %s=errno:13", outcomes[i].effect);
        (void)snprintf(to, sizeof to, " %s=%s", outcomes[i].effect, outcomes[i].told);
        assert_true(scene_replace(stage.scene, SCENE_STRICT, from, to, 0));
        claim = derive(&stage);
        assert_string_equal(attempt_of(claim, "child", 1, outcomes[i].effect)->outcome, outcomes[i].outcome);
        assert_int_equal(attempt_of(claim, "child", 1, outcomes[i].effect)->errno_value, outcomes[i].errno_value);
        exhibit__claim__free_unpacked(claim, NULL);
        scene_free(stage.scene);
    }
}

static void an_uplink_that_comes_later_is_one(void **state)
{
    static const struct {
        void (*network)(struct stage *s);
        const char *outcome;
    } cases[] = {{gains_an_uplink, "undetermined"}, {changes_its_namespace, "undetermined"}, {is_seen_again, "denied"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage stage = set_up(cases[i].network);
        Exhibit__Claim *claim;

        assert_true(scene_replace(stage.scene, SCENE_STRICT, " tcp=errno:13", " tcp=errno:111", 0));
        claim = derive(&stage);
        assert_string_equal(attempt_of(claim, "child", 1, "tcp")->outcome, cases[i].outcome);
        exhibit__claim__free_unpacked(claim, NULL);
        scene_free(stage.scene);
    }
}

/* What no attempt explains makes all attempts of the effect reached; an explained one only its own. */
static void a_trace_that_nothing_explains_reaches_every_attempt(void **state)
{
    struct stage stage = set_up(NULL);
    Exhibit__Claim *claim;

    (void)state;
    scene_touch(stage.scene, SCENE_STRICT, EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK);
    scene_move_last(stage.scene, scene_at(stage.scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_STEP, 0));
    claim = derive(&stage);
    assert_string_equal(attempt_of(claim, "grandchild", 3, "read-link")->outcome, "reached");
    assert_string_equal(attempt_of(claim, "grandchild", 3, "read")->outcome, "denied");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(stage.scene);

    stage = set_up(connection);
    claim = derive(&stage);
    assert_string_equal(attempt_of(claim, "parent", 1, "tcp")->outcome, "reached");
    assert_string_equal(attempt_of(claim, "child", 1, "tcp")->outcome, "denied");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(stage.scene);
}

static void a_fork_of_a_role_is_no_second_identity(void **state)
{
    struct stage stage = set_up(NULL);
    Exhibit__ProcessIdentity *process = scene_identify(stage.scene, SCENE_STRICT, 2);
    Exhibit__Claim *claim;

    (void)state;
    process->pid = 999;
    process->parent_pid = scene_pid(SCENE_STRICT, 2);
    scene_move_last(stage.scene, scene_at(stage.scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_STEP, 0));
    claim = derive(&stage);
    assert_string_equal(claim->decision, "GO");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(stage.scene);
}

static void optional_identities_accept_an_unseen_role_that_spoke(void **state)
{
    struct stage stage = set_up(unseen);
    Exhibit__Claim *claim;

    (void)state;
    stage.oracle.oracle.identities_required = false;
    claim = derive(&stage);
    assert_string_equal(claim->decision, "GO");
    assert_string_equal(claim->tree[4]->ended_by, "none");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(stage.scene);
}

static void late_bytes_of_a_dead_role_are_not_life(void **state)
{
    struct stage stage = set_up(NULL);
    char line[128], nonce[33];
    Exhibit__Claim *claim;

    (void)state;
    scene_nonce(SCENE_STRICT, 3, nonce);
    (void)snprintf(line, sizeof line, "EXHIBIT1 try %s grandchild 3 udp\n", nonce);
    scene_say(stage.scene, SCENE_STRICT, EXHIBIT__STREAM_NAME__STREAM_STDOUT, line);
    scene_move_last(stage.scene, scene_at(stage.scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_RUN_EXIT, 0));
    SCENE_FIND(stage.scene, SCENE_STRICT, RUN_EXIT, 0)->at_ns += 900 * SCENE_MS;
    for (size_t at = scene_at(stage.scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_RUN_EXIT, 0) - 1; at < stage.scene->count;
         at++)
        stage.scene->events[at].event->at_ns += 900 * SCENE_MS;
    claim = derive(&stage);
    assert_true(rule_of(claim, "cancel.quiet")->holds);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(stage.scene);
}

/* What two baselines do not agree in is excused; what they agree in is not. */
static void a_difference_between_baselines_is_excused(void **state)
{
    struct stage stage = set_up(member_differs);
    Exhibit__Claim *claim;

    (void)state;
    SCENE_FIND(stage.scene, SCENE_CASE_AGAIN, ARTIFACT, 0)->artifact->members[1]->mtime_s++;
    claim = derive(&stage);
    assert_true(rule_of(claim, "useful.archives")->holds);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(stage.scene);
}

static void another_oracle_makes_the_claim_prospective(void **state)
{
    struct stage stage = set_up(NULL);
    Exhibit__Claim *claim;

    (void)state;
    stage.oracle.oracle.digest.bytes[0] ^= 1;
    stage.oracle.trials[0].effect_count = 3;
    claim = derive(&stage);
    assert_true(claim->prospective);
    assert_int_equal(claim->n_not_measured, 2);
    assert_string_equal(claim->not_measured[0], "tcp");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(stage.scene);
}

static void second_start(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_AGAIN, RUN_START, 0)->run_start->repeat = 1;
}

static void no_start(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_LAUNCHER, RUN_START, 0);
}

static void late_beginning(struct stage *s)
{
    SCENE_ADD(s->scene, 0, RECORDING_START)->recording_start->host = NULL;
}

static void cut_chunk(struct stage *s)
{
    s->scene->miscounted = true; /* the chunk is made longer after sealing */
}

static void a_log_that_does_not_hang_together_is_malformed(void **state)
{
    static const struct {
        change *make;
        const char *text;
    } cases[] = {{second_start, "starts build/baseline 1 a second time"},
                 {no_start, "belongs to run 4, which has not started"},
                 {late_beginning, "the RecordingStart is the first event and no other"},
                 {cut_chunk, "a chunk lies beyond the end of its stream"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage stage = set_up(cases[i].make);
        struct evidence evidence = scene_evidence(stage.scene);
        Exhibit__Claim *claim = NULL;
        struct err err = {0};

        scene_seal(stage.scene);
        if (cases[i].make == cut_chunk)
            SCENE_FIND(stage.scene, SCENE_STRICT, CHUNK, 9)->chunk->size_bytes++;
        assert_int_equal(proof_derive(&evidence, scene_link_oracle(&stage.oracle), &claim, &err), ERR_FORMAT);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", cases[i].text, err.text);
        scene_free(stage.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_outcome_follows_from_what_was_told),
        cmocka_unit_test(an_uplink_that_comes_later_is_one),
        cmocka_unit_test(a_trace_that_nothing_explains_reaches_every_attempt),
        cmocka_unit_test(a_fork_of_a_role_is_no_second_identity),
        cmocka_unit_test(optional_identities_accept_an_unseen_role_that_spoke),
        cmocka_unit_test(late_bytes_of_a_dead_role_are_not_life),
        cmocka_unit_test(a_difference_between_baselines_is_excused),
        cmocka_unit_test(another_oracle_makes_the_claim_prospective),
        cmocka_unit_test(a_log_that_does_not_hang_together_is_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
