/*
 * What is written down about a run before it starts, and about its start.
 */
#pragma once

#include "record/run.h"
#include "record/spawn.h"

/* Writes RunStart down: what will be executed, in which environment, with which bytes on stdin. */
int run_start_put(struct session *session, const struct run_request *request, uint32_t run, struct err *err);

/* Writes Spawned or SpawnFailed down. */
int run_spawned_put(struct session *session, uint32_t run, const struct spawned *spawned, struct err *err);
