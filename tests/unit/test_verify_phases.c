/*
 * Phases: each that is left out, moved, doubled or of another trial is refuted by name; a recording that was cut off is
 * not asked for those that never came.
 */
#include "verify/binding.h"

#include "verify_stage.h"

static size_t phase_at(struct stage *s, Exhibit__PhaseName name)
{
    for (size_t nth = 0;; nth++) {
        size_t at = scene_at(s->scene, 0, EXHIBIT__EVENT__WHAT_PHASE, nth);

        if (s->scene->events[at].event->phase->phase == name)
            return at;
    }
}

static void no_drain(struct stage *s)
{
    scene_drop(s->scene, phase_at(s, EXHIBIT__PHASE_NAME__PHASE_DRAIN));
}

static void no_done(struct stage *s)
{
    scene_drop(s->scene, phase_at(s, EXHIBIT__PHASE_NAME__PHASE_DONE));
}

static void two_resets(struct stage *s)
{
    scene_phase(s->scene, "tree", EXHIBIT__PHASE_NAME__PHASE_RESET);
    scene_move_last(s->scene, phase_at(s, EXHIBIT__PHASE_NAME__PHASE_STATE_BEFORE));
}

static void phase_of_another(struct stage *s)
{
    Exhibit__Phase *phase = s->scene->events[phase_at(s, EXHIBIT__PHASE_NAME__PHASE_STRICT)].event->phase;

    free(phase->trial);
    phase->trial = strdup("other");
}

static void drain_late(struct stage *s)
{
    no_drain(s);
    scene_phase(s->scene, "tree", EXHIBIT__PHASE_NAME__PHASE_DRAIN);
    scene_move_last(s->scene, phase_at(s, EXHIBIT__PHASE_NAME__PHASE_STATE_AFTER));
}

static const struct {
    change *make;
    const char *text;
} faults[] = {
    {no_drain, "phase 9 of \"tree\" cannot follow phase 7 of \"tree\" there"},
    {no_done, "does not belong into phase 11 of \"tree\""},
    {two_resets, "phase 5 of \"tree\" cannot follow phase 5 of \"tree\" there"},
    {phase_of_another, "phase 7 of \"other\" cannot follow phase 6 of \"tree\" there"},
    {drain_late, "does not belong into phase 7 of \"tree\""},
};

static void check(change *make, bool partial, struct findings *findings)
{
    struct stage stage = set_up(make);
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    struct binding binding = {.receipt = &receipt, .findings = findings};
    struct evidence evidence;
    struct err err = {0};

    stage.scene->partial = partial;
    scene_seal(stage.scene);
    evidence = scene_evidence(stage.scene);
    receipt.run_id = (ProtobufCBinaryData){RUN_ID_BYTES, (uint8_t *)(uintptr_t) "0123456789abcdef"};
    binding.evidence = &evidence;
    if (ledger_read(&evidence, &binding.ledger, &err) < 0 || binding_check(&binding, &err) < 0)
        fail_msg("%s", err.text);
    ledger_done(&binding.ledger);
    scene_free(stage.scene);
}

static void each_phase_out_of_its_place_is_refuted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct findings findings = {0};
        bool said = false;

        check(faults[i].make, false, &findings);
        for (size_t f = 0; f < findings.kept; f++)
            said = said || strstr(findings.texts[f], faults[i].text) != NULL;
        if (!said)
            fail_msg("fault %zu: \"%s\" is not said, but \"%s\"", i, faults[i].text,
                     findings.kept > 0 ? findings.texts[0] : "nothing");
        finding_done(&findings);
    }
}

static void phases_of_a_recording_that_was_cut_off_are_not_missed(void **state)
{
    struct findings findings = {0};

    (void)state;
    check(no_done, true, &findings);
    if (findings.count > 0)
        fail_msg("%s", findings.texts[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_out_of_its_place_is_refuted),
        cmocka_unit_test(phases_of_a_recording_that_was_cut_off_are_not_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
