/*
 * What each rule was asked about.
 */
#pragma once

#include "replay/explain_build.h"

/* Tells the facts that a rule (of `rules`, by its name) looks at, whether they speak for it or against it. */
void explain_holds(struct explaining *explaining, const char *rule);
