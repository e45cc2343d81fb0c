/* docs/PLAN.md and the parser of plans: every example is a plan, and every key that is read is on the page. */
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/plan.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What an example leaves out. */
#define NAME "version: 1\nname: frame\n"
#define CANDIDATE "candidate: {name: c, argv: [/c, '{command}']}\n"
#define CASE "cases: [{name: c, command: [/c]}]\n"

enum { KEYS_AT_LEAST = 50 }; /* counted in formats/plan*.c, some in several maps */

/* The text of a file, with a zero after it. */
static void text_read(const char *path, struct bytes *out)
{
    struct err err = {0};

    if (file_read_path(AT_FDCWD, path, 0, LIMIT_YAML_BYTES, out, &err) < 0 ||
        bytes_add(out, "", 1, LIMIT_YAML_BYTES + 1, &err) < 0)
        fail_msg("%s", err.text);
}

/* Takes the next text between `and` or between ```yaml and ```. Returns what follows it, or NULL. */
static const char *code_take(const char *from, bool *out_block, const char **out, size_t *out_bytes)
{
    const char *begin = strchr(from, '`'), *end;

    if (begin == NULL)
        return NULL;
    *out_block = strncmp(begin, "```yaml\n", 8) == 0;
    *out = begin + (*out_block ? 8 : 1);
    end = strstr(*out, *out_block ? "```\n" : "`");
    assert_non_null(end);
    *out_bytes = (size_t)(end - *out);
    return end + (*out_block ? 4 : 1);
}

/* Whether some line of the example begins with this key. */
static bool has_key(const char *example, const char *key)
{
    const char *at = strstr(example, key);

    return at != NULL && (at == example || at[-1] == '\n' || has_key(at + 1, key));
}

static void check_example(const char *block, size_t size_bytes)
{
    AUTO_FREE char *example = strndup(block, size_bytes), *text = NULL;
    struct plan plan;
    struct err err = {0};

    assert_non_null(example);
    assert_true(asprintf(&text, "%s%s%s%s", has_key(example, "version:") ? "" : NAME, example,
                         has_key(example, "candidate:") ? "" : CANDIDATE,
                         has_key(example, "cases:") || has_key(example, "trials:") ? "" : CASE) > 0);
    if (plan_parse_recorded(text, strlen(text), &plan, &err) < 0)
        fail_msg("%s\n%s", err.text, text);
    plan_done(&plan);
}

static void every_example_of_the_page_is_a_plan(void **state)
{
    AUTO_BYTES struct bytes page = {0};
    const char *at, *code;
    size_t size_bytes, count = 0;
    bool block;

    (void)state;
    text_read(DOCUMENTS "/PLAN.md", &page);
    for (at = (const char *)page.data; (at = code_take(at, &block, &code, &size_bytes)) != NULL;)
        if (block) {
            check_example(code, size_bytes);
            count++;
        }
    assert_true(count >= 6);
}

/* Whether the key stands in the code of a page as a word that a value, another key or nothing follows. */
static bool is_named(const char *code, const char *key, size_t size_bytes)
{
    static const char of_words[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

    for (const char *at = code; (at = strstr(at, key)) != NULL; at++)
        if (at > code && strchr(of_words, at[-1]) == NULL && at[size_bytes] != '\0' &&
            strchr(":,}\n", at[size_bytes]) != NULL)
            return true;
    return false;
}

/* Looks for every key of the lists `known...[] = {"KEY", ..., NULL};` of a source. Returns how many there are. */
static size_t check_keys(const char *source, const char *code)
{
    size_t count = 0;

    for (const char *list = source; (list = strstr(list, "char *const known")) != NULL;) {
        const char *end = strchr(list, '}');

        assert_non_null(end);
        for (list = strchr(list, '"'); list != NULL && list < end; list = strchr(list, '"')) {
            AUTO_FREE char *key = strndup(list + 1, strcspn(list + 1, "\""));

            assert_non_null(key);
            if (!is_named(code, key, strlen(key)))
                fail_msg("docs/PLAN.md does not name the key %s", key);
            list += strlen(key) + 2;
            count++;
        }
        list = end;
    }
    return count;
}

static void every_key_that_is_read_is_named_on_the_page(void **state)
{
    AUTO_BYTES struct bytes page = {0}, code = {0};
    const char *at, *part;
    size_t size_bytes, count = 0;
    bool block;
    glob_t sources;
    struct err err = {0};

    (void)state;
    text_read(DOCUMENTS "/PLAN.md", &page);
    for (at = (const char *)page.data; (at = code_take(at, &block, &part, &size_bytes)) != NULL;)
        if (bytes_add(&code, "\n", 1, LIMIT_YAML_BYTES, &err) < 0 ||
            bytes_add(&code, part, size_bytes, LIMIT_YAML_BYTES, &err) < 0)
            fail_msg("%s", err.text);
    assert_int_equal(bytes_add(&code, "\n", 2, LIMIT_YAML_BYTES, &err), 0); /* and the zero */

    assert_int_equal(glob(FORMATS "/plan*.c", 0, NULL, &sources), 0);
    for (size_t i = 0; i < sources.gl_pathc; i++) {
        AUTO_BYTES struct bytes source = {0};

        text_read(sources.gl_pathv[i], &source);
        count += check_keys((const char *)source.data, (const char *)code.data);
    }
    globfree(&sources);
    assert_true(count >= KEYS_AT_LEAST);
    assert_true(is_named((const char *)code.data, "secret", strlen("secret"))); /* the one that is in no list */
    assert_false(is_named((const char *)code.data, "retained", strlen("retained")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_of_the_page_is_a_plan),
        cmocka_unit_test(every_key_that_is_read_is_named_on_the_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
