/*
 * Many files, read and digested on all cores, and put into a pack in the order in which they were given: digests and
 * pack are the same as one after the other. Knows descriptors; not what the files are.
 */
#pragma once

#include "base/err.h"
#include "formats/pack.h"

#define INTAKE_SALT_BYTES 32u

/* Owned by the caller, free with intake_free. */
struct intake;

struct intake_request {
    struct pack_writer *keep; /* NULL: digests only. Borrowed until intake_free, and not to be used until then */
    enum pack_part part;
    const uint8_t *salt; /* INTAKE_SALT_BYTES that stand before each content, in digest and pack; NULL: nothing does */
    /*
     * Called in the order of intake_give for each file given, from within intake_give and intake_finish. digest NULL:
     * it could not be read or kept, and err says why; whatever is returned, the intake has failed. Else returns 0 or a
     * negative err_code with err filled, which ends the intake. size_bytes is without the salt.
     */
    int (*done)(void *context, const struct digest *digest, uint64_t size_bytes, struct err *err);
    void *context;
};

/* ERR_SYSTEM: no memory. */
int intake_new(const struct intake_request *request, struct intake **out, struct err *err);

/*
 * Gives the file fd (handed over, also after a failure), which seems to have size_bytes; what counts is what is read
 * from its start to its end. Errors: those of done, also for earlier files, and ERR_SYSTEM.
 */
int intake_give(struct intake *intake, int fd, uint64_t size_bytes, struct err *err);

/* Waits for all that was given; more may be given after it. Errors as intake_give. */
int intake_finish(struct intake *intake, struct err *err);

/* Closes and releases everything, whether or not it was finished; NULL is harmless. */
void intake_free(struct intake *intake);
