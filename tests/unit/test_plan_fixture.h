/*
 * What the tests of plans share: a folder of plans and one of candidates, and good plans to change one thing in.
 */
#pragma once

#include "formats/plan.h"

#define PLANS_SHA256 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

extern const char plans_good[]; /* every key; p/ is its folder */
extern const char plans_used[]; /* a candidate of a folder, and little else */
extern char plans_top[];        /* holds p/ and c/, the candidates; the current folder while the tests run */

/* For cmocka: makes and removes plans_top. */
int plans_set_up(void **state);
int plans_tear_down(void **state);

/* Writes a file below plans_top, in place of an earlier one. */
void plans_put(const char *path, const char *text);

/* `base` with the first `old` replaced. Owned by the caller. */
char *plans_changed(const char *base, const char *old, const char *new);

/* Reads a plan's text as p/plan.yaml; the test fails where it is refused. Release with plan_done. */
struct plan plans_read(const char *text);

/*
 * Asserts that the plan with one change is refused as p/plan.yaml:EXPECTED (or EXPECTED, where another file is at
 * fault), ERR_USAGE. "TOP" stands for plans_top.
 */
void plans_refuse(const char *base, const char *old, const char *new, const char *expected);
