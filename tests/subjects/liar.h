/*
 * The parts of the liar, a launcher for tests (liar.c). A lie is a function that does what its name says and then
 * becomes what is to be run, or returns an exit status; where the lie itself cannot be told it ends with LIAR_BROKEN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LIAR_BROKEN 70 /* no test may take this for an effect of the lie */

/* What is to be run: `rest` with the sandbox in front, `probe` the probe's own argv within it (NULL: something else).
 */
struct task {
    char **rest;
    char **probe;
};

/* ---- liar_parts.c ---- */

/* Says what could not be done, with errno, and ends with LIAR_BROKEN. */
_Noreturn void broken(const char *what);

void pause_ms(long ms);

/* Writes all of it, or is broken. */
void put(int fd, const void *bytes, size_t size_bytes);

/* The same for a text of less than 4096 bytes. */
void say(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A whole row in which every one of the five attempts failed with one errno. */
void say_row(int fd, const char *nonce, const char *role, int round, int denial);

/* The value of a key of the probe's command line; borrowed. */
const char *value(const struct task *task, const char *key);
long number(const struct task *task, const char *key);

/* The path of the parent's copy in the scratch folder; static. */
const char *copy_path(const struct task *task);

/* Executes argv, or is broken. */
_Noreturn void become(char **argv);

/* The same in a child. */
pid_t start(char **argv);

/* Waits for a child's end; its exit status, or 128 and its signal. */
int await(pid_t pid);

/* Forks into a session of its own. True: in the new process. */
bool aside(void);

/* ---- liar_marks.c ---- */

int reach_tcp(const struct task *task);
int reach_udp(const struct task *task);
int reach_read(const struct task *task);
int reach_link(const struct task *task);
int reach_write(const struct task *task);

/* These leak what the file $STASH holds, so that no canary is read for it now. */
int leak_stdout(const struct task *task);
int leak_stderr(const struct task *task);
int leak_scratch(const struct task *task);

/* A new file in the workspace; in the folder of the targets. */
int workspace(const struct task *task);
int folder(const struct task *task);

/* ---- liar_rows.c ---- */

int noise_instead(const struct task *task);
int noise_beside(const struct task *task);
int words_instead(const struct task *task);
int contested(const struct task *task);
int late(const struct task *task);
int children(const struct task *task);
int edit(const struct task *task);
int delete (const struct task *task);
int swallow(const struct task *task);
int decoy(const struct task *task);

/* Plays the decoy: task->probe is the own argv. */
_Noreturn void play_decoy(const struct task *task);
