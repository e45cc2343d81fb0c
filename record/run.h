/*
 * One run from its start to the moment when nothing of it is left: spawn, capture, observe, end, clean up.
 */
#pragma once

#include "record/session.h"

struct run_request {
    Exhibit__RunKind kind;
    const char *name;
    Exhibit__Mode mode;
    uint32_t repeat;
    const struct text_list *argv;          /* as executed */
    const struct text_list *command;       /* the measured part */
    const struct text_list *environment;   /* NAME=value */
    const struct plan_variable *variables; /* the case's own of the plan, to know its secrets by; NULL: none */
    size_t variable_count;
    const uint8_t *stdin_bytes;
    size_t stdin_size_bytes;
    uint32_t watchdog_ms;                  /* cases and the launcher */
    const Exhibit__ProbeAssignment *probe; /* trials, else NULL */
};

/*
 * Executes it in the session's workspace as run `number`, whose RunStart is written already, and writes everything else
 * down. What the command does is never an error; ERR_SYSTEM and the like mean that the recorder could not: then
 * everything that was started is ended all the same. An interruption ends the run and returns 0: look at
 * session->interrupted.
 */
int run_execute(struct session *session, const struct run_request *request, uint32_t number, struct err *err);
