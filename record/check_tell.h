/*
 * What a check says, as lines for people. Knows what may have been seen, and runs nothing.
 */
#pragma once

#include "record/session.h"
#include "record/trace.h"
#include "record/tryout.h"

#include <stdio.h>

/* Says how the run ended, in a few words (room_bytes of them). */
void tell_end(const struct tryout *tryout, char *out, size_t room_bytes);

/* Quotes the last lines of what it wrote, stderr first; nothing that could steer a terminal. */
void tell_output(FILE *out, const struct tryout *tryout);

/* Says what the probe's row tells: its words EFFECT=TOLD (docs/DECISION.md 2.2). */
void tell_row(FILE *out, const char *words, size_t size_bytes);

/* Says what the sandbox refused, and which grant would mend it. */
void tell_blame(FILE *out, const struct session *session, const struct trace_call *call);
