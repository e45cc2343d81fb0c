/*
 * The facts of the machine, binaries and pins. Facts are compared with what another way of asking tells.
 */
#include "base/cleanup.h"
#include "formats/message.h"
#include "record/host.h"

#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

static char folder[] = "/tmp/test_host.XXXXXX";
static char file[64], other[64];

static int setup(void **state)
{
    FILE *out;

    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(file, sizeof file, "%s/file", folder);
    (void)snprintf(other, sizeof other, "%s/other", folder);
    out = fopen(file, "w");
    if (out == NULL || fputs("content", out) < 0 || fclose(out) != 0)
        return -1;
    return symlink("file", other);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(file) | unlink(other) | rmdir(folder);
}

static void the_host_tells_what_the_machine_does(void **state)
{
    AUTO_BYTES struct bytes packed = {0};
    Exhibit__Host *host = NULL;
    struct utsname names;
    struct stat net;
    struct err err = {0};

    (void)state;
    assert_int_equal(uname(&names), 0);
    assert_int_equal(host_read(&host, &err), 0);
    assert_string_equal(host->kernel_release, names.release);
    assert_string_equal(host->machine, names.machine);
    assert_int_equal(strlen(host->boot_id), 36);
    assert_int_equal(host->uid, geteuid());
    assert_int_equal(host->clock_ticks_per_second, sysconf(_SC_CLK_TCK));
    assert_non_null(strstr(host->libc, gnu_get_libc_version()));
    assert_int_equal(stat("/proc/self/ns/net", &net), 0);
    assert_true(host->network_namespace == net.st_ino);
    assert_true(host_network_namespace() == net.st_ino);
    assert_int_equal(message_pack(&host->base, 1 << 20, &packed, &err), 0);
    exhibit__host__free_unpacked(host, NULL);
}

static void capabilities_are_read_from_their_line_alone(void **state)
{
    static const char *const bad[] = {"",
                                      "CapEff:\t000001ffffffffff\n",
                                      "\nCapEff:\t\n",
                                      "\nCapEff:\t000001fffffffff\n",
                                      "\nCapEff:\t000001ffffffffff0\n",
                                      "\nCapEff: 000001ffffffffff\n",
                                      "\nCapEff:\t000001ffffffffff",
                                      "\nCapEff:\t-00001ffffffffff\n"};
    uint64_t value = 7;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(host_capabilities_parse(bad[i], &value));
    assert_true(value == 7);
    assert_true(
        host_capabilities_parse("Name:\tx\nCapPrm:\t0000000000000001\nCapEff:\t000001fffffffff2\nCapBnd:\t", &value));
    assert_true(value == 0x1fffffffff2);
}

static void a_binary_is_what_its_links_lead_to(void **state)
{
    struct digest content = digest_of("content", 7);
    Exhibit__Binary *binary = NULL;
    struct err err = {0};
    struct stat seen;

    (void)state;
    assert_int_equal(host_binary_read("tool", other, &binary, &err), 0);
    assert_int_equal(stat(file, &seen), 0);
    assert_string_equal(binary->name, "tool");
    assert_int_equal(binary->path.len, strlen(file));
    assert_memory_equal(binary->path.data, file, binary->path.len);
    assert_int_equal(binary->size_bytes, 7);
    assert_true(binary->inode == seen.st_ino && binary->device == seen.st_dev);
    assert_memory_equal(binary->sha256.data, content.bytes, DIGEST_BYTES);
    exhibit__binary__free_unpacked(binary, NULL);
}

static void a_binary_that_is_missing_or_no_file_is_the_callers_fault(void **state)
{
    Exhibit__Binary *binary = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(host_binary_read("tool", "/nowhere/tool", &binary, &err), ERR_USAGE);
    assert_string_equal(err.text, "binary tool: /nowhere/tool is missing: No such file or directory");
    assert_int_equal(host_binary_read("tool", folder, &binary, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "is not a regular file"));
    assert_null(binary);
}

static void a_pin_holds_for_the_expected_digest_alone(void **state)
{
    struct digest content = digest_of("content", 7), wrong = digest_of("Content", 7);
    char seen_text[65], wrong_text[65];
    Exhibit__Pin *pin = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(host_pin_check(file, &wrong, &pin, &err), ERR_USAGE);
    hex_encode(content.bytes, DIGEST_BYTES, seen_text);
    hex_encode(wrong.bytes, DIGEST_BYTES, wrong_text);
    assert_non_null(strstr(err.text, file));
    assert_non_null(strstr(err.text, seen_text));
    assert_non_null(strstr(err.text, wrong_text));
    assert_int_equal(host_pin_check("/nowhere", &content, &pin, &err), ERR_USAGE);
    assert_string_equal(err.text, "pin: /nowhere is missing: No such file or directory");
    assert_null(pin);
    assert_int_equal(host_pin_check(file, &content, &pin, &err), 0);
    assert_memory_equal(pin->seen_sha256.data, content.bytes, DIGEST_BYTES);
    assert_memory_equal(pin->expected_sha256.data, content.bytes, DIGEST_BYTES);
    exhibit__pin__free_unpacked(pin, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_tells_what_the_machine_does),
        cmocka_unit_test(capabilities_are_read_from_their_line_alone),
        cmocka_unit_test(a_binary_is_what_its_links_lead_to),
        cmocka_unit_test(a_binary_that_is_missing_or_no_file_is_the_callers_fault),
        cmocka_unit_test(a_pin_holds_for_the_expected_digest_alone),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
