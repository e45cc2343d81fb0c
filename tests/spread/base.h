/*
 * A recorded bundle taken apart, so that many others can be made of it quickly: its events and objects as bytes, and
 * the places in them where something stands that is to be another in each.
 */
#pragma once

#include "base/bytes.h"
#include "formats/digest.h"
#include "formats/stream.h"

/* Bytes that are to be replaced by as many others, wherever they stand. */
struct pair {
    uint8_t old[64], new[64];
    size_t size_bytes;
    size_t digest_of; /* of this object the digest, where it is one; else SIZE_MAX */
};

struct place {
    size_t at;
    size_t pair;
};

/* Bytes with places in them. */
struct patched {
    struct bytes bytes;
    struct place *places;
    size_t place_count;
};

struct base_object {
    struct digest digest; /* as recorded */
    struct patched content;
};

struct base_event {
    struct patched rest; /* the packed event without its number and time */
    uint64_t at_ns;
    size_t object;                   /* what the event stands for (see judge.h); SIZE_MAX: nothing */
    size_t offset_bytes, size_bytes; /* in it */
};

/* What a nonce of a trial run belongs to: the proofs of its reads are made anew with it. */
struct base_proof {
    size_t nonce_pair, proof_pair;
    struct bytes canary;
    unsigned round;
};

/* What is changed in the meaning, beside names, nonces and times. */
enum variant {
    VARIANT_AS_RECORDED,
    VARIANT_EXIT,    /* the strict case ended otherwise */
    VARIANT_DROPS,   /* a listener dropped something in a strict trial */
    VARIANT_TOLD,    /* the probe was told another errno of reading */
    VARIANT_TOUCHED, /* the target was written at another time than before */
    VARIANT_LEFT,    /* a process of the strict case is left */
    VARIANT_COUNT,
};

struct base {
    struct base_object *objects; /* observations, but receipt, claim and log */
    size_t object_count;
    struct base_object *inputs;
    size_t input_count;
    struct base_event *events;
    size_t event_count;
    struct pair *pairs;
    size_t pair_count;
    struct base_proof *proofs;
    size_t proof_count;
    size_t nonce_pairs[64][2]; /* raw and as digits, of each trial run */
    size_t nonce_count;
    size_t run_id, boot_id, name; /* pairs */
    struct bytes oracle;
};

/* Reads a bundle and makes the variant of it. Ends the program where that cannot be. */
void base_read(const char *path, enum variant variant, struct base *out);

/* Ends the program with a complaint. */
_Noreturn void base_fail(const char *what, const char *why);

/* The proof of a read: 64 digits to `out`. */
void proof_make(const struct bytes *canary, const char *nonce, unsigned round, char *out);
