/*
 * The secrets of a recording: the values that the plan takes from the caller's environment, what stands in their place
 * in the bundle, and that they are nowhere else in it. docs/PLAN.md 4.1 to 4.4, docs/FORMAT.md 7.10.
 *
 * NULL stands for a recording without any: every call is then harmless, and costs nothing.
 */
#pragma once

#include "formats/digest.h"
#include "formats/oracle.h"
#include "formats/plan.h"
#include "record/needles.h"

/* Owned by the caller, free with secrets_free. */
struct secrets;

/*
 * Takes the values from this process's environment, and a new key. *out is NULL where the plan has no secret.
 * ERR_USAGE: a variable is not there, or its value too short or too long. ERR_SYSTEM.
 */
int secrets_new(const struct plan *plan, struct secrets **out, struct err *err);

/* The value of the caller's variable, which the plan names. Borrowed. NULL: there are no secrets here. */
const char *secrets_value(const struct secrets *secrets, const char *name);

/* HMAC-SHA-256 (RFC 2104) of that value under the recording's key. `name` is one that the plan names. */
struct digest secrets_hmac(const struct secrets *secrets, const char *name);

/*
 * The plan's variable of that name among `more`, which go before, and the plan's own. NULL: neither has it. Borrowed.
 */
const struct plan_variable *secrets_variable(const struct plan *plan, const struct plan_variable *more,
                                             size_t more_count, const char *name, size_t name_bytes);

/* Looks at what was given: plan, oracle, policy (NULL: none), launcher and stdin. ERR_USAGE where a value is in it. */
int secrets_look_given(const struct secrets *secrets, const struct plan *plan, const struct oracle *oracle,
                       const struct bytes *policy, struct err *err);

/* Says what is under way from here on, for messages: "strict case hello". Cut at some length. */
void secrets_place(struct secrets *secrets, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Looks at bytes that are to be kept; `what` says what they are. ERR_MISMATCH: a value is in them; the recording cannot
 * go on. May be called by several threads at once.
 */
int secrets_look(const struct secrets *secrets, const void *from, size_t size_bytes, const char *what, struct err *err);

/* The same of the next piece of a stream. Errors as secrets_look, and ERR_SYSTEM. */
int secrets_look_flow(const struct secrets *secrets, struct needle_flow *flow, const void *from, size_t size_bytes,
                      const char *what, struct err *err);

/* The same of an input that is to be retained: ERR_USAGE, for its owner can take the value out of it. */
int secrets_look_input(const struct secrets *secrets, struct needle_flow *flow, const void *from, size_t size_bytes,
                       struct err *err);

/* Replaces every value in a text that people are to read by `*`. */
void secrets_hide(const struct secrets *secrets, char *text);

/* Wipes and releases them; NULL is harmless. */
void secrets_free(struct secrets *secrets);
