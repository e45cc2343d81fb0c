/* record/trace: what strace's lines say, and what of two runs is blamed on the confinement. */
#include "record/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct trace parse(const char *text)
{
    struct trace trace = {0};
    struct err err = {0};

    if (trace_add(&trace, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
    return trace;
}

static void each_line_gives_what_was_asked_for_and_how_it_went(void **state)
{
    static const struct {
        const char *line;
        enum trace_access access;
        const char *what, *errno_name;
    } lines[] = {
        {"openat(AT_FDCWD</w>, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = -1 EACCES (Permission denied)", TRACE_READ,
         "/etc/passwd", "EACCES"},
        {"openat(AT_FDCWD</w>, \"/a\", O_RDONLY) = 3</a>", TRACE_READ, "/a", ""},
        {"openat(AT_FDCWD</w/x>, \"out.txt\", O_WRONLY|O_CREAT, 0644) = -1 EROFS (Read-only file system)", TRACE_WRITE,
         "/w/x/out.txt", "EROFS"},
        {"newfstatat(3</w/f>, \"\", {st_mode=S_IFREG|0644}, AT_EMPTY_PATH) = 0", TRACE_READ, "/w/f", ""},
        {"access(\"/bin/x\", X_OK)           = -1 EACCES (Permission denied)", TRACE_EXECUTE, "/bin/x", "EACCES"},
        {"access(\"/etc\", W_OK)             = 0", TRACE_WRITE, "/etc", ""},
        {"execve(\"/usr/bin/node\", [\"node\", \"a) = 1\"], 0x1 /* 9 vars */) = -1 EACCES (Permission denied)",
         TRACE_EXECUTE, "/usr/bin/node", "EACCES"},
        {"rename(\"/a\", \"/b\")             = -1 EXDEV (Invalid cross-device link)", TRACE_WRITE, "/b", "EXDEV"},
        {"mkdir(\"/a \\\"b\\\" = c\", 0777)  = 0", TRACE_WRITE, "/a \\\"b\\\" = c", ""},
        {"connect(3<TCP:[1]>, {sa_family=AF_INET, sin_port=htons(80)}, 16) = -1 EACCES (Permission denied)",
         TRACE_NETWORK, "{sa_family=AF_INET, sin_port=htons(80)}", "EACCES"},
        {"socket(AF_UNIX, SOCK_STREAM, 0)   = -1 EPERM (Operation not permitted)", TRACE_NETWORK,
         "AF_UNIX, SOCK_STREAM, 0", "EPERM"},
        {"unshare(CLONE_NEWUSER)            = -1 EPERM (Operation not permitted)", TRACE_CALL, "unshare", "EPERM"},
        {"getpid()                          = 7", TRACE_CALL, "getpid", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct trace trace = parse(lines[i].line);

        if (trace.count != 1)
            fail_msg("%s: %zu calls", lines[i].line, trace.count);
        assert_string_equal(trace.items[0].what, lines[i].what);
        assert_int_equal(trace.items[0].access, lines[i].access);
        assert_string_equal(trace.items[0].errno_name, lines[i].errno_name);
        trace_done(&trace);
    }
}

/* Ends of processes, signals, calls that never returned, and what a subject might have put there. */
static void other_lines_are_passed_over(void **state)
{
    struct trace trace =
        parse("+++ exited with 1 +++\n--- SIGCHLD {si_signo=SIGCHLD} ---\nexit_group(1) = ?\n"
              "\n(\"/a\") = 0\nopen(\"/a\nOPEN(\"/a\") = 0\nopen = 3\nopen(\"/a\" = 3\n = 3\nopen() =");

    (void)state;
    assert_int_equal(trace.count, 0);
    trace_done(&trace);
}

static void note(void *context, const struct trace_call *call)
{
    char *told = context;

    (void)snprintf(told + strlen(told), 512 - strlen(told), "%s:%s ", call->what, call->errno_name);
}

#define OPENED(path) "openat(AT_FDCWD</w>, \"" path "\", O_RDONLY) = 3<" path ">\n"
#define FAILED(path, why) "openat(AT_FDCWD</w>, \"" path "\", O_RDONLY) = -1 " why " (so)\n"

/* Only what failed here and succeeded there, or was forbidden and never tried there; once; the last one first. */
static void what_the_confinement_refused_is_blamed_and_nothing_else(void **state)
{
    struct trace strict = parse(FAILED("/hidden", "ENOENT") FAILED("/nowhere", "ENOENT") FAILED("/closed", "EACCES")
                                    FAILED("/passwd", "EACCES") FAILED("/fallback", "EACCES") FAILED("/other", "ENOENT")
                                        FAILED("/passwd", "EACCES") FAILED("/maps", "EACCES") OPENED("/fine"));
    struct trace baseline = parse(OPENED("/passwd") FAILED("/nowhere", "ENOENT") OPENED("/maps")
                                      FAILED("/closed", "EACCES") OPENED("/hidden") OPENED("/fine"));
    struct trace harmless = parse(FAILED("/maps", "EACCES") OPENED("/passwd"));
    struct err err = {0};
    char told[512] = "";

    (void)state;
    assert_int_equal(trace_blame(&strict, &baseline, &harmless, note, told, &err), 0);
    assert_string_equal(told, "/passwd:EACCES /fallback:EACCES /hidden:ENOENT ");
    trace_done(&strict);
    trace_done(&baseline);
    trace_done(&harmless);
}

/* A parent that could start no child waits for none: that is no refusal of waiting. */
static void a_wait_for_no_child_is_not_blamed(void **state)
{
    struct trace strict =
        parse("wait4(-1, 0x7ffe, 0, NULL) = -1 ECHILD (No child processes)\n" FAILED("/bin/cat", "EACCES"));
    struct trace baseline =
        parse("wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 7\n" OPENED("/bin/cat"));
    struct trace empty = {0};
    struct err err = {0};
    char told[512] = "";

    (void)state;
    assert_int_equal(trace_blame(&strict, &baseline, &empty, note, told, &err), 0);
    assert_string_equal(told, "/bin/cat:EACCES ");
    trace_done(&strict);
    trace_done(&baseline);
}

/* To read a file is not to write it: the one may succeed where the other fails. */
static void kinds_of_access_are_told_apart(void **state)
{
    struct trace strict = parse("openat(AT_FDCWD</w>, \"/a\", O_WRONLY) = -1 EACCES (so)\n" OPENED("/a"));
    struct trace baseline = parse(OPENED("/a") "openat(AT_FDCWD</w>, \"/a\", O_WRONLY) = -1 EACCES (so)\n");
    struct trace empty = {0};
    struct err err = {0};
    char told[512] = "";

    (void)state;
    assert_int_equal(trace_blame(&strict, &baseline, &empty, note, told, &err), 0);
    assert_string_equal(told, "");
    trace_done(&baseline);
    baseline = parse("openat(AT_FDCWD</w>, \"/a\", O_WRONLY) = 3</a>\n");
    assert_int_equal(trace_blame(&strict, &baseline, &empty, note, told, &err), 0);
    assert_string_equal(told, "/a:EACCES ");
    trace_done(&strict);
    trace_done(&baseline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_gives_what_was_asked_for_and_how_it_went),
        cmocka_unit_test(other_lines_are_passed_over),
        cmocka_unit_test(what_the_confinement_refused_is_blamed_and_nothing_else),
        cmocka_unit_test(a_wait_for_no_child_is_not_blamed),
        cmocka_unit_test(kinds_of_access_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
