/*
 * The recorder's own judge: docs/DECISION.md, online. It is fed each event once, as it happens, together with the bytes
 * that the event stands for, and keeps only the state that its rules need. It reads no file and starts nothing.
 */
#pragma once

#include "base/err.h"
#include "formats/digest.h"
#include "formats/oracle.h"
#include "proto/exhibit.pb-c.h"

/* Owned by the caller, free with judge_free. */
struct judge;

/* Starts a judge under an oracle (borrowed until judge_free). NULL: out of memory. */
struct judge *judge_new(const struct oracle *oracle);

/*
 * Takes the next event (borrowed during the call). `payload` are the bytes it stands for, borrowed too: of a Chunk its
 * bytes (NULL and 0 where they come by judge_take_late); of a TargetState and of a kept Artifact the content; else NULL
 * and 0.
 * ERR_SYSTEM: out of memory. ERR_LIMIT: more runs, rows or processes than formats/limits.h allows.
 */
int judge_take(struct judge *judge, const Exhibit__Event *event, const void *payload, size_t payload_bytes,
               struct err *err);

/*
 * Takes bytes of a stream whose Chunk events were taken without a payload: in the stream's order, before its StreamEnd.
 * `event` is a Chunk of that stream, with the number that a finding names. Errors as judge_take.
 */
int judge_take_late(struct judge *judge, const Exhibit__Event *event, const void *bytes, size_t size_bytes,
                    struct err *err);

/*
 * States the claim on what was taken, bound to the receipt's digest. Owned by the caller: free with
 * exhibit__claim__free_unpacked. Once only, after the last event. ERR_SYSTEM: out of memory.
 */
int judge_finish(struct judge *judge, const struct digest *receipt, Exhibit__Claim **out, struct err *err);

/* Releases it; NULL is harmless. */
void judge_free(struct judge *judge);
