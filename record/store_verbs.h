/*
 * The commands that take something out of a store, or make something of what is left of a recording, as the command
 * line has them. They print what was done on stdout.
 */
#pragma once

#include "base/err.h"
#include "record/args.h"

/* Each does its command. Notes go to `note`, a line each. Errors as export_make, prune_make and salvage_make. */
int store_verb_export(const struct args *args, void (*note)(void *context, const char *text), struct err *err);
int store_verb_prune(const struct args *args, void (*note)(void *context, const char *text), struct err *err);
int store_verb_salvage(const struct args *args, void (*note)(void *context, const char *text), struct err *err);
