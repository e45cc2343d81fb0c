/*
 * The recorder's own loopback listeners, TCP and UDP: every accept and every message is written down as it comes.
 * Knows nothing of nonces.
 */
#pragma once

#include "record/journal.h"
#include "record/loop.h"

/* Owned by the caller, free with listeners_free. */
struct listeners;

/* Binds both to free ports of 127.0.0.1. Borrows all. ERR_SYSTEM. */
int listeners_new(struct loop *loop, struct journal *journal, struct listeners **out, struct err *err);

/* The ports. */
uint16_t listeners_tcp_port(const struct listeners *listeners);
uint16_t listeners_udp_port(const struct listeners *listeners);

/* What comes from now on belongs to this run (0: none). */
void listeners_set_run(struct listeners *listeners, uint32_t run);

/*
 * Takes everything that has arrived, ends connections that are still open, and writes down the drop counters. Call when
 * the run's processes are gone and the loop has been turned once.
 */
int listeners_drain(struct listeners *listeners, struct err *err);

/* Closes and releases; NULL is harmless. */
void listeners_free(struct listeners *listeners);
