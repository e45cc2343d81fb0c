/*
 * From a plan's words to what is executed: placeholders and environments. Knows no process.
 */
#pragma once

#include "record/session.h"

/* Appends a copy of `text` (size_bytes of it) to a list. ERR_SYSTEM: out of memory. Release lists with text_list_done.
 */
int text_list_add(struct text_list *list, const char *text, size_t size_bytes, struct err *err);

/* The size of all items, with what each costs in an event: what LIMIT_WORDS_BYTES bounds. */
size_t text_list_size(const struct text_list *list);

/* Releases what is owned; NULL-terminated until then once an item was added. */
void text_list_done(struct text_list *list);

#define AUTO_TEXT_LIST __attribute__((cleanup(text_list_done)))

/*
 * Expands {workspace} {scratch} {home} {tools} {policy} {candidate} in each item and puts `command` (NULL: none) in
 * place of an item "{command}"; "{{" is a brace. ERR_USAGE: an unknown placeholder; ERR_LIMIT: more than
 * LIMIT_WORDS_BYTES (plans are checked for both before anything is started). `out` is empty before.
 */
int expand_argv(const struct session *session, const struct text_list *template, const struct text_list *command,
                struct text_list *out, struct err *err);

/*
 * The environment of a command: HOME, TMPDIR, XDG folders and npm's configuration in the scratch, then what the plan
 * names, then what the case names (count of them; a later one of a name replaces an earlier one). ERR_LIMIT: more than
 * LIMIT_WORDS_BYTES. `out` is empty before.
 */
int expand_environment(const struct session *session, const struct plan_variable *more, size_t more_count,
                       struct text_list *out, struct err *err);
