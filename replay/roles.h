/*
 * Which process was which role (DECISION 4).
 */
#pragma once

#include "replay/derive.h"

/* Fills in the identities of all three roles of a trial run. */
void roles_derive(const struct tables *tables, struct run *run);

/* Whether a role with an identity was alive at the first step, which there is. */
bool role_was_alive(const struct run *run, int role);

/* Whether the role's own end is the first step of the ending. */
bool role_ends_itself(const struct run *run, int role);

/* DECISION 4.3: "none", "cleanup", "self-expiry", "step", "exit" or "early". Static. */
const char *role_ended_by(const struct tables *tables, const struct run *run, int role);

/* DECISION 4.4. */
uint64_t role_survived_ms(const struct run *run, int role);

/* Whether `later` is at least `ns` nanoseconds (which may be negative) after `earlier`, without overflow. */
bool time_is_after(uint64_t later, uint64_t earlier, int64_t ns);

/* Whether the role was gone only when it could have ended by itself (DECISION 4.3). Only for a role that is gone. */
bool role_may_have_expired(const struct run *run, int role);
