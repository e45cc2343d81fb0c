/*
 * Which inputs belong to a recording that was cut short, though they are not in its own file: a store had them already.
 */
#pragma once

#include "formats/pack_salvage.h"
#include "formats/plan.h"
#include "formats/stream.h"
#include "record/needs.h"

/* All zero is the beginning. */
struct salvage_inputs {
    struct digest plan_digest;
    struct plan plan;
    bool has_plan;
    struct bytes lists; /* of struct salvage_list: the first freezes' */
    struct needs needs;
};

/* A list that the log names. */
struct salvage_list {
    struct digest digest;
    char input[LIMIT_NAME_BYTES + 1];
};

/* Releases what is owned. */
void salvage_inputs_done(struct salvage_inputs *inputs);

/* Notes what events of the log say. ERR_SYSTEM, ERR_LIMIT. */
void salvage_inputs_start(struct salvage_inputs *inputs, const Exhibit__RecordingStart *start);
int salvage_inputs_freeze(struct salvage_inputs *inputs, const Exhibit__Freeze *freeze, struct err *err);

/* Looks at the objects of the file, on a way through it after all events: is it the plan? A malformed one is none. */
int salvage_inputs_plan(struct salvage_inputs *inputs, const struct pack_found *found, struct err *err);

/* On a way through it after that: is it a list of an input that the plan retains? Then its files are needed. */
int salvage_inputs_list(struct salvage_inputs *inputs, const struct pack_found *found, struct err *err);
