/*
 * A folder with a bundle in it, and the program run there.
 */
#pragma once

#include "base/file.h"
#include "verify/proof.h"
#include "verify_pack.h"

#include <limits.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

static const char plan_text[] = "version: 1\n"
                                "name: demo\n"
                                "candidate:\n"
                                "  name: box\n"
                                "  argv: [/bin/box, \"{command}\"]\n"
                                "environment: {LANG: C}\n"
                                "cases:\n"
                                "  - name: build\n"
                                "    command: [/bin/tool, pack]\n"
                                "trials:\n"
                                "  - name: tree\n"
                                "    kind: tree\n"
                                "    rounds: 3\n"
                                "    interval_ms: 2000\n"
                                "    ending:\n"
                                "      steps:\n"
                                "        - {after: {role: grandchild, rounds: 2}, signal: TERM, to: group}\n";

static const char oracle_text[] = "version: 1\n"
                                  "trials:\n"
                                  "  - name: tree\n"
                                  "    roles: [parent, child, grandchild]\n"
                                  "cases:\n"
                                  "  - name: build\n"
                                  "    exit: 0\n"
                                  "    stdout: {contains: done}\n"
                                  "    archives:\n"
                                  "      - path: \"*.tgz\"\n";

/* Differs in nothing but its bytes. */
static const char other_oracle_text[] = "version: 1\n"
                                        "bounds: {ended_ms: 2000}\n"
                                        "trials:\n"
                                        "  - name: tree\n"
                                        "    roles: [parent, child, grandchild]\n"
                                        "cases:\n"
                                        "  - name: build\n"
                                        "    exit: 0\n";

struct place {
    char path[32];
    int dir_fd;
    struct bytes out; /* of the last run */
    struct bytes said;
    int status;
};

extern char **environ;

static inline void write_file(const struct place *place, const char *name, const char *text)
{
    struct err err = {0};

    scene_must(file_create(place->dir_fd, name, 0644, text, strlen(text), &err), &err);
}

static inline Exhibit__Claim *derive(struct scene *scene)
{
    struct evidence evidence = scene_evidence(scene);
    struct oracle oracle;
    Exhibit__Claim *claim = NULL;
    struct err err = {0};

    scene_must(oracle_parse("oracle", oracle_text, strlen(oracle_text), &oracle, &err), &err);
    scene_must(proof_derive(&evidence, &oracle, &claim, &err), &err);
    oracle_done(&oracle);
    return claim;
}

/* Writes a.exhibit from the good scene after one change (NULL: none); `lie` changes its claim. */
static inline void make(struct place *place, void (*change)(struct scene *), void (*lie)(Exhibit__Claim *),
                        const struct scene_packing *how)
{
    struct scene *scene = scene_good(plan_text, oracle_text);
    struct scene_packing packing = how == NULL ? (struct scene_packing){0} : *how;
    Exhibit__Claim *claim;

    *place = (struct place){.dir_fd = -1};
    place->dir_fd = scene_folder(place->path);
    if (change != NULL)
        change(scene);
    scene_seal(scene);
    claim = derive(scene);
    if (lie != NULL)
        lie(claim);
    if (packing.input == NULL || strcmp(packing.input, "no claim") != 0)
        packing.claim = claim;
    else
        packing.input = NULL;
    (void)scene_write(scene, &packing, place->dir_fd, "a.exhibit");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
    write_file(place, "same.yaml", oracle_text);
    write_file(place, "other.yaml", other_oracle_text);
}

static inline void done(struct place *place)
{
    char command[64];

    bytes_done(&place->out);
    bytes_done(&place->said);
    (void)close(place->dir_fd);
    (void)snprintf(command, sizeof command, "rm -rf %s", place->path);
    assert_int_equal(system(command), 0);
}

/* Runs the program, which lies beside this test, in the place; up to six arguments. */
static inline void run(struct place *place, const char *const arguments[])
{
    char program[PATH_MAX] = "", *argv[10] = {program};
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 32);
    posix_spawn_file_actions_t actions;
    struct err err = {0};
    int status;
    pid_t pid;

    assert_true(size > 0);
    (void)strcpy(strrchr(program, '/'), "/exhibit-verify");
    for (size_t i = 0; i < 8 && arguments[i] != NULL; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addchdir_np(&actions, place->path);
    (void)posix_spawn_file_actions_addopen(&actions, 1, "out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)posix_spawn_file_actions_addopen(&actions, 2, "said", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(posix_spawn(&pid, program, &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    place->status = WEXITSTATUS(status);
    scene_must(file_read_path(place->dir_fd, "out", 1, 1 << 20, &place->out, &err), &err);
    scene_must(file_read_path(place->dir_fd, "said", 1, 1 << 20, &place->said, &err), &err);
}

#define RUN(place, ...) run(place, (const char *const[]){__VA_ARGS__, NULL})

/* The exit code, and a text on stdout or stderr. */
static inline void want(const struct place *place, int status, const char *text)
{
    const char *out = place->out.data == NULL ? "" : (const char *)place->out.data;
    const char *said = place->said.data == NULL ? "" : (const char *)place->said.data;

    if (place->status != status || (strstr(out, text) == NULL && strstr(said, text) == NULL))
        fail_msg("exit %d, not %d; or \"%s\" is not in:\n%s\n%s", place->status, status, text, out, said);
}
