/*
 * Bindings: what the records say of one another and of the bytes that they name fits together, so that no part can be
 * exchanged between runs or recordings. Knows the plan as recorded; no rule of the decision.
 */
#pragma once

#include "formats/oracle.h"
#include "formats/plan.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/ledger.h"

/* What is checked, all borrowed. `plan` and `oracle` are NULL where the recorded one cannot be read (a finding
 * already). */
struct binding {
    const struct evidence *evidence;
    const Exhibit__Receipt *receipt;
    const struct plan *plan;
    const struct oracle *oracle;
    struct findings *findings;
    struct ledger ledger;    /* read by the caller, and released by it */
    uint64_t unpacked_bytes; /* of archives so far */
};

/*
 * Checks every binding. Faults become findings. ERR_SYSTEM: this machine could not.
 */
int binding_check(struct binding *binding, struct err *err);

/* ---- the parts of it ---- */

/* Plan against RecordingStart and runs. */
void binding_check_plan(struct binding *binding);

/* What the plan calls secret, in every run, and the receipt's version. ERR_SYSTEM: out of memory. */
int binding_check_secrets(struct binding *binding, struct err *err);

/* Whether an executed word may come from a plan's word, each placeholder standing for any text. */
bool binding_word_fits(const char *template, const uint8_t *word, size_t word_bytes);

/* Chunks, stream ends, connections and messages. Errors as the evidence's reading. */
int binding_check_flow(struct binding *binding, struct err *err);

/* Where the reading of a log stands among its phases; all zero before the first event. */
struct binding_phases {
    unsigned now;      /* Exhibit__PhaseName */
    bool launched;     /* the launcher by itself was told already */
    const char *trial; /* borrowed from the ledger, or static; NULL as long as nothing was read */
};

/* Takes the next event of the log, each in its turn: phases in their order, and events in their phases. */
void binding_take_phases(struct binding *binding, struct binding_phases *phases, const Exhibit__Event *event);

/* Digests of whole streams, archive members, sizes of artifacts and targets. Errors as the evidence's reading. */
int binding_check_content(struct binding *binding, struct err *err);
