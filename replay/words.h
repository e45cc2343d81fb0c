/*
 * The words of claims and of the probe for roles, modes and effects (DECISION 1.2, 8).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* "parent", "child", "grandchild"; "" for another number. Static. */
const char *word_of_role(int role);

/* "baseline", "strict", "control"; "" for another number. Static. */
const char *word_of_mode(int mode);

/* The name of an effect, which must be known. Static. */
const char *word_of_effect(int effect);

/* The number of the effect of this name, or -1. */
int effect_of_word(const char *word, size_t size_bytes);

/* The number of the role of this name, or -1. */
int role_of_word(const char *word, size_t size_bytes);
