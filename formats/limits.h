/*
 * Every bound on what is read or written, in one place. Readers compare with these before memory is taken; writers
 * assert them. docs/FORMAT.md, PLAN.md, ORACLE.md and DECISION.md repeat the numbers; e2e.documents compares.
 */
#pragma once

#include <stdint.h>

#define DIGEST_BYTES 32
#define RUN_ID_BYTES 16
#define NONCE_BYTES 16

#define LIMIT_BLOCK_BYTES (4u << 20)      /* content of one block */
#define LIMIT_SEGMENT_BYTES (1u << 20)    /* one segment of a stream */
#define LIMIT_EVENT_BYTES 1048448u        /* one Event, packed: fits in a segment, with its length and a LogLink */
#define LIMIT_RECEIPT_BYTES (16u << 20)   /* the Receipt message */
#define LIMIT_CLAIM_BYTES (64u << 20)     /* the Claim message */
#define LIMIT_FREEZE_BYTES (64u << 20)    /* one FreezeList message */
#define LIMIT_OBJECT_BYTES (1ull << 40)   /* any object */
#define LIMIT_OBJECTS (4u << 20)          /* objects of a pack */
#define LIMIT_CONTENT_BYTES (32ull << 30) /* of a pack, and LIMIT_CONTENT_RATIO for each byte of the file */
#define LIMIT_CONTENT_RATIO 256
#define LIMIT_READ_BYTES (256ull << 30) /* of a pack's objects, and LIMIT_READ_RATIO times the content */
#define LIMIT_READ_RATIO 64
#define LIMIT_BLOCKS (4u << 20)           /* blocks of a pack */
#define LIMIT_JOURNAL_BYTES (16u << 20)   /* one journal frame */
#define LIMIT_STREAM_BYTES (16ull << 30)  /* one stream */
#define LIMIT_STREAMS_BYTES (64ull << 30) /* all streams of runs together */
#define LIMIT_EVENTS (16u << 20)          /* events of a recording */
#define LIMIT_STORE_PACKS (256u << 10)    /* packs of a store */
#define LIMIT_STORE_OBJECTS 2000000u      /* inputs of a store that a writer looks for */

#define LIMIT_YAML_BYTES (1u << 20) /* a plan, an oracle, a policy */
#define LIMIT_YAML_DEPTH 16
#define LIMIT_YAML_NODES 65536
#define LIMIT_PATH_BYTES 4096
#define LIMIT_NAME_BYTES 64 /* a case's, trial's, experiment's, candidate's, input's name */
#define LIMIT_ARGV_COUNT 4096
#define LIMIT_ARGV_BYTES (256u << 10)  /* kept of the argv of a process that was seen */
#define LIMIT_WORDS_BYTES (896u << 10) /* argv, command and environment of a run, expanded, 8 more for each item */
#define LIMIT_SECRET_BYTES (64u << 10) /* the value of a secret, */
#define LIMIT_SECRET_LEAST_BYTES 8     /* and the least: a shorter one is anywhere */
#define LIMIT_CASES 256
#define LIMIT_TRIALS 64
#define LIMIT_EFFECTS 32
#define LIMIT_STEPS 16
#define LIMIT_PINS 1024
#define LIMIT_INPUTS 64
#define LIMIT_ROUNDS 1000
#define LIMIT_INTERVAL_MS 10000
#define LIMIT_LIFETIME_MS 120000
#define LIMIT_STDIN_BYTES (16u << 20) /* what a case gets on stdin */
#define LIMIT_WATCHDOG_MS 3600000
#define LIMIT_BOUND_MS 60000 /* a bound of an oracle */
#define LIMIT_MATCHERS 256   /* of one case */
#define LIMIT_LINES 16777216 /* that a matcher asks for */
#define LIMIT_EXCEPT_PATHS 64
#define LIMIT_REGEX_BYTES 512                  /* one expression, as written */
#define LIMIT_REGEX_DEPTH 16                   /* of parentheses */
#define LIMIT_REGEX_PLACES 256                 /* for a byte, in one expression */
#define LIMIT_REGEX_PLACES_ALL 4096            /* in all expressions of an oracle */
#define LIMIT_REGEX_STREAM_BYTES (1u << 20)    /* a longer stream is matched by none */
#define LIMIT_MATCHED_STREAM_BYTES (16u << 20) /* a longer one only by its length and digest */

#define LIMIT_LINE_BYTES 2048            /* one line of the probe, with its newline */
#define LIMIT_MESSAGE_BYTES 1024         /* kept of one connection or datagram */
#define LIMIT_TARGET_BYTES (1u << 20)    /* kept of a target's content */
#define LIMIT_TOOL_BYTES (256u << 20)    /* a tool of ours, or a file of the candidate's, that is copied */
#define LIMIT_ARTIFACT_BYTES (64u << 20) /* one artifact that is kept */
#define LIMIT_ARTIFACTS 10000            /* of one run */
#define LIMIT_ARCHIVE_MEMBERS 100000
#define LIMIT_ARCHIVE_CONTENT_BYTES (4ull << 30) /* of all members, unpacked */
#define LIMIT_XZ_MEMORY_BYTES (80u << 20)        /* to undo one: `xz -9` takes 65 MiB */
#define LIMIT_UNPACKED_BYTES (16ull << 30)       /* of all archives of a recording; those after it are not listed */
#define LIMIT_RUNS 4096
#define LIMIT_PROCESSES 1000000 /* known members of a recording */
