/*
 * What a probe of one run is told to do, as a record and as a command line (docs/FORMAT.md 7.6).
 */
#pragma once

#include "record/session.h"

/* Holds the message and all that it points to: stays where it is. */
struct probe_assignment {
    Exhibit__ProbeAssignment message;
    uint8_t nonce[NONCE_BYTES];
    Exhibit__RoleRounds roles[3];
    Exhibit__RoleRounds *role_list[3];
    Exhibit__StepPlan steps[LIMIT_STEPS];
    Exhibit__StepPlan *step_list[LIMIT_STEPS];
};

/*
 * Assigns a probe for a run of the trial, with a fresh nonce: in baseline and strict as the plan says; the first
 * control makes one round of each role, the second one of the parent, and neither has an ending. Fills `command` (empty
 * before; owned by the caller). The effects are borrowed from the trial. ERR_SYSTEM.
 */
int probe_assign(const struct session *session, const struct plan_trial *trial, Exhibit__Mode mode, uint32_t repeat,
                 struct probe_assignment *out, struct text_list *command, struct err *err);
