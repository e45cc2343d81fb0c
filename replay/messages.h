/*
 * What the listeners were told in the probe's form (DECISION 3.1).
 */
#pragma once

#include "replay/derive.h"

/* Fills in the table of messages. ERR_SYSTEM: out of memory. */
int messages_derive(struct facts *facts, struct err *err);

/* The first message of one attempt. NULL: none. */
const struct message *messages_of_round(const struct facts *facts, Exhibit__Protocol protocol, const struct run *run,
                                        int role, uint32_t round);
