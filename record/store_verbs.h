/*
 * The commands that take something out of a store, or make something of what is left of a recording, as the command
 * line has them. They print what was done on stdout.
 */
#pragma once

#include "base/err.h"
#include "record/args.h"

/* Who is told more than what is printed. Text is valid during the call. */
struct store_listener {
    void (*note)(void *context, const char *text);     /* a line */
    void (*progress)(void *context, const char *text); /* what is done now; NULL: nobody listens */
};

/* Each does its command. Errors as export_make, prune_make and salvage_make. */
int store_verb_export(const struct args *args, const struct store_listener *listener, struct err *err);
int store_verb_prune(const struct args *args, const struct store_listener *listener, struct err *err);
int store_verb_salvage(const struct args *args, const struct store_listener *listener, struct err *err);
