/*
 * The table of runs, which is filled while the log is loaded.
 */
#pragma once

#include "replay/tables.h"

/* The run of this number. NULL: none was started so far. */
struct run *runs_find(const struct tables *tables, uint32_t number);

/* Adds the run that `event` (a kept RunStart of a number that is new) starts. Errors as tables_take. */
int runs_add(struct tables *tables, const Exhibit__Event *event, struct err *err);

/* DECISION 1.1: no two runs of the same kind, name, mode and repeat. ERR_FORMAT names them. */
int runs_check_names(const struct tables *tables, struct err *err);
