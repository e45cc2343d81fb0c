#include "tests/unit/test_plan_fixture.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

const char plans_good[] =
    "version: 1\n"
    "name: trip\n"
    "oracle: o.yaml\n"
    "candidate: {name: box, argv: [/bin/box, \"--policy={policy}\", \"{command}\"], policy: sub/p.yaml,\n"
    "            version_command: [\"{tools}/box\", -V]}\n"
    "workspace: w\n"
    "environment: {PATH: /bin, B: {base64: /2E=}, LIB: \"{workspace}/lib\"}\n"
    "inputs: [{name: one, path: w}, {name: two, path: /etc/passwd, retain: false}]\n"
    "pins: [{path: /bin/sh, sha256: " PLANS_SHA256 "}]\n"
    "binaries: [{name: sh, path: /bin/sh}]\n"
    "cases:\n"
    "  - name: hello\n"
    "    command: [/bin/sh, -c, \"{{x} {scratch}\", {base64: /w==}]\n"
    "    stdin: {base64: AAE=}\n"
    "    watchdog_ms: 5\n"
    "    environment: {PATH: /sbin}\n"
    "  - {name: from-file, command: [\"{workspace}/run\"], stdin: {file: in.txt}}\n"
    "trials:\n"
    "  - {name: boot, kind: bootstrap, effects: [tcp], lifetime_ms: 1000}\n"
    "  - name: fell\n"
    "    kind: tree\n"
    "    rounds: 20\n"
    "    interval_ms: 100\n"
    "    lifetime_ms: 4900\n"
    "    ending:\n"
    "      steps:\n"
    "        - {after: {role: grandchild, rounds: 10}, signal: TERM, to: launcher}\n"
    "        - {after_ms: 1000, signal: KILL, to: group}\n";

const char plans_used[] = "version: 1\n"
                          "name: trip\n"
                          "candidate: {use: box}\n"
                          "cases:\n"
                          "  - {name: hello, command: [/bin/true, \"{policy}\"]}\n";

static const char box[] = "version: 1\n"
                          "name: box\n"
                          "argv: [\"{tools}/box\", \"{policy}\", --, \"{command}\"]\n"
                          "policy: p.yaml\n"
                          "version_command: [\"{tools}/box\", -V]\n"
                          "programs: [{name: mount, path: /bin/mount, get: apt-get install mount}]\n";

char plans_top[] = "/tmp/test-plan-XXXXXX";

void plans_put(const char *path, const char *text)
{
    struct err err = {0};

    (void)unlink(path);
    if (file_create(AT_FDCWD, path, 0600, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
}

int plans_set_up(void **state)
{
    static const char *const folders[] = {"p",      "p/w",     "p/sub",     "c",          "c/box",
                                          "c/bare", "c/other", "c/nothing", "c/escaping", "p-near"};

    (void)state;
    if (mkdtemp(plans_top) == NULL || chdir(plans_top) < 0)
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (mkdir(folders[i], 0700) < 0)
            return -1;
    plans_put("p/o.yaml", "version: 1\n");
    plans_put("p/sub/p.yaml", "");
    plans_put("p/in.txt", "text\n");
    plans_put("c/box/candidate.yaml", box);
    plans_put("c/box/p.yaml", "");
    plans_put("c/box/q.yaml", "");
    plans_put("c/bare/candidate.yaml", "version: 1\nname: bare\nargv: [/bin/env, \"{command}\"]\n");
    plans_put("c/bare/r.yaml", "");
    plans_put("c/other/candidate.yaml", "version: 1\nname: another\nargv: [/bin/env, \"{command}\"]\n");
    plans_put("c/escaping/candidate.yaml",
              "version: 1\nname: escaping\npolicy: ../box/p.yaml\nargv: [/bin/env, \"{command}\"]\n");
    return symlink("/etc", "p/out") < 0 || symlink("../p", "p/self") < 0 || symlink("../p-near", "p/near") < 0 ||
                   symlink("../bare/r.yaml", "c/box/r.yaml") < 0 || symlink("../../p/o.yaml", "c/box/s.yaml") < 0 ||
                   mkfifo("p/fifo", 0600) < 0
               ? -1
               : 0;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *walk)
{
    (void)stat;
    (void)kind;
    (void)walk;
    return remove(path);
}

int plans_tear_down(void **state)
{
    (void)state;
    return nftw(plans_top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *plans_changed(const char *base, const char *old, const char *new)
{
    const char *at = strstr(base, old);
    char *text = NULL;

    if (at == NULL)
        fail_msg("the plan has no %s", old);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - base), base, new, at + strlen(old)) > 0);
    return text;
}

void plans_refuse(const char *base, const char *old, const char *new, const char *expected)
{
    AUTO_FREE char *text = plans_changed(base, old, new);
    struct plan plan;
    struct err err = {0};

    plans_put("p/plan.yaml", text);
    assert_int_equal(plan_read("p/plan.yaml", "c", &plan, &err), ERR_USAGE);
    plan_done(&plan);
    /* The only part of a message that differs from run to run. */
    for (char *at = err.text; (at = strstr(at, plans_top)) != NULL;) {
        char *rest = at + strlen(plans_top);

        memcpy(at, "TOP", 3);
        memmove(at + 3, rest, strlen(rest) + 1);
    }
    assert_string_equal(err.text + (memcmp(err.text, "p/plan.yaml:", 12) == 0 ? 12 : 0), expected);
}

struct plan plans_read(const char *text)
{
    struct plan plan;
    struct err err = {0};

    plans_put("p/plan.yaml", text);
    if (plan_read("p/plan.yaml", "c", &plan, &err) < 0)
        fail_msg("%s", err.text);
    return plan;
}
