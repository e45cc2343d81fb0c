/*
 * The parts of a plan that are parsed in files of their own. Each fills its part of reader->plan, which plan_done
 * releases whatever happened. ERR_USAGE: file:line: what is wrong; what to do. ERR_SYSTEM: out of memory.
 */
#pragma once

#include "formats/plan.h"
#include "formats/yaml.h"

struct plan_reader {
    struct plan *plan;
    const char *candidates_dir; /* NULL: the plan was recorded, nothing outside of it is opened */
    bool has_policy;            /* {policy} stands for something; set by plan_candidate_read */
    bool has_folder;            /* and {candidate} */
};

/* ---- top-level keys: `node` is NULL where the key is absent ---- */

/* The candidate, from the plan itself or from its folder. */
int plan_candidate_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err);

int plan_inputs_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err);

/* Marks the inputs that `local` names; after plan_inputs_read. */
int plan_local_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err);

int plan_pins_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err);
int plan_binaries_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err);
/*
 * The programs that a candidate names: a list of {name, path, get}. `out` (NULL and 0 before) is owned by the caller,
 * as far as it was filled after a failure too: free with plan_programs_free.
 */
int plan_programs_read(const struct yaml_node *node, struct plan_binary **out, size_t *out_count, struct err *err);

/* Releases programs, or binaries. NULL is harmless. */
void plan_programs_free(struct plan_binary *programs, size_t count);

int plan_cases_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err);

/* The trials; bootstrap and tree with all their defaults where there is no such key. */
int plan_trials_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err);

/* ---- what several of them need ---- */

/*
 * Variables: valid names, none of those that the recorder sets. `out` (NULL and 0 before) is owned by the caller, as
 * far as it was filled after a failure too: free with plan_environment_free.
 */
int plan_environment_read(const struct plan_reader *reader, const struct yaml_node *node, struct plan_variable **out,
                          size_t *out_count, struct err *err);

/* Releases them. NULL is harmless. */
void plan_environment_free(struct plan_variable *variables, size_t count);

/* What may stand in the words of a command. */
enum plan_words {
    PLAN_WORDS_COMMAND = 1, /* placeholders, and no {command} */
    PLAN_WORDS_LAUNCHER,    /* placeholders, and {command} exactly once, as a word of its own */
};

/*
 * A command: at least one word, the first absolute or with a placeholder first. `out` (all zero before) is owned by the
 * caller, as far as it was filled after a failure too: free with plan_texts_free.
 */
int plan_words_read(const struct plan_reader *reader, const struct yaml_node *node, enum plan_words form,
                    struct text_list *out, struct err *err);

/* Checks the placeholders of one text that stands at a node; {command} is not one of them. */
int plan_placeholders_check(const struct plan_reader *reader, const struct yaml_node *node, const char *text,
                            struct err *err);

/*
 * The file or folder that a node names relative to `folder` (absolute, resolved): absolute and resolved, within the
 * folder. Owned by the caller. Where `folder` is NULL (a recorded plan) only the text is checked, *out stays NULL.
 */
int plan_path_read(const struct yaml_node *node, const char *folder, char **out, struct err *err);

/* The same, but symbolic links may lead anywhere within `root` (absolute, resolved; it holds `folder`). */
int plan_path_within(const struct yaml_node *node, const char *folder, const char *root, char **out, struct err *err);

/* A node's text as an absolute path; nothing is opened. A copy, owned by the caller. */
int plan_path_absolute(const struct yaml_node *node, char **out, struct err *err);

/* Reads a whole regular file that belongs to the plan. Too large or not regular: ERR_USAGE at the node. */
int plan_file_read(const struct yaml_node *node, const char *file, size_t max_bytes, struct bytes *out,
                   struct err *err);
