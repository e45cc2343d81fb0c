/*
 * The facts of this machine. Knows Host, Binary and Pin; judges nothing.
 */
#include "record/host.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/message.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#define FACT_BYTES 65536 /* of one text about the machine */
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* Copies a text for a message's string field. NULL: out of memory. Bytes that are not UTF-8 become '?'. */
static char *own_text(const char *text)
{
    char *own = strdup(text);

    if (own != NULL && !text_is_utf8(own, strlen(own)))
        for (char *at = own; *at != 0; at++)
            if ((unsigned char)*at >= 128)
                *at = '?';
    return own;
}

static bool own_bytes(ProtobufCBinaryData *out, const void *from, size_t size_bytes)
{
    if (size_bytes == 0)
        return true;
    out->data = malloc(size_bytes);
    if (out->data == NULL)
        return false;
    memcpy(out->data, from, size_bytes);
    out->len = size_bytes;
    return true;
}

/* Reads a text of the kernel or system, without the newlines at its end. Empty after a failure. */
static int read_fact(const char *path, struct bytes *out, struct err *err)
{
    int code = file_read_path(AT_FDCWD, path, 0, FACT_BYTES, out, err);

    while (out->size_bytes > 0 && (code < 0 || out->data[out->size_bytes - 1] == '\n'))
        out->data[--out->size_bytes] = 0;
    return code;
}

/* Reads a fact into a bytes field; none where it cannot be read. False: out of memory. */
static bool bytes_fact(const char *path, ProtobufCBinaryData *out)
{
    AUTO_BYTES struct bytes fact = {0};
    struct err ignored;

    (void)read_fact(path, &fact, &ignored);
    return own_bytes(out, fact.data, fact.size_bytes);
}

bool host_capabilities_parse(const char *status, uint64_t *out)
{
    const char *at = strstr(status, "\nCapEff:\t");
    char *end;
    uint64_t value;

    if (at == NULL)
        return false;
    at += strlen("\nCapEff:\t");
    if (strspn(at, "0123456789abcdef") != 16)
        return false;
    value = strtoull(at, &end, 16);
    if (*end != '\n')
        return false;
    *out = value;
    return true;
}

static uint64_t read_capabilities(void)
{
    AUTO_BYTES struct bytes status = {0};
    struct err ignored;
    uint64_t value = 0;

    if (read_fact("/proc/self/status", &status, &ignored) == 0 && status.data != NULL)
        (void)host_capabilities_parse((const char *)status.data, &value);
    return value;
}

static uint32_t read_landlock_abi(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    return version > 0 ? (uint32_t)version : 0;
}

uint64_t host_network_namespace(void)
{
    struct stat seen;

    return stat("/proc/self/ns/net", &seen) < 0 ? 0 : (uint64_t)seen.st_ino;
}

/* Replaces a string field. False: out of memory. */
static bool set_text(char **field, const char *text)
{
    *field = own_text(text);
    if (*field != NULL)
        return true;
    *field = (char *)protobuf_c_empty_string;
    return false;
}

/* Fills what can be empty. False: out of memory. */
static bool fill_facts(Exhibit__Host *host)
{
    struct utsname names = {0};
    long ticks = sysconf(_SC_CLK_TCK);
    char libc[64];

    (void)uname(&names);
    (void)snprintf(libc, sizeof libc, "glibc %s", gnu_get_libc_version());
    host->landlock_abi = read_landlock_abi();
    host->uid = geteuid();
    host->gid = getegid();
    host->capabilities_effective = read_capabilities();
    host->network_namespace = host_network_namespace();
    host->clock_ticks_per_second = ticks > 0 ? (uint64_t)ticks : 0;
    return set_text(&host->kernel_release, names.release) && set_text(&host->kernel_version, names.version) &&
           set_text(&host->machine, names.machine) && set_text(&host->libc, libc) &&
           bytes_fact("/proc/sys/kernel/seccomp/actions_avail", &host->seccomp_actions) &&
           bytes_fact("/proc/sys/user/max_user_namespaces", &host->user_namespace_limit) &&
           bytes_fact("/etc/os-release", &host->os_release);
}

int host_read(Exhibit__Host **out, struct err *err)
{
    AUTO_BYTES struct bytes boot_id = {0};
    Exhibit__Host *host;

    if (read_fact(BOOT_ID, &boot_id, err) < 0)
        return err_wrap(err, "the boot id");
    if (boot_id.size_bytes == 0)
        return err_set(err, ERR_SYSTEM, "this machine tells no boot id in " BOOT_ID);
    host = malloc(sizeof *host);
    if (host == NULL)
        return err_set_errno(err, "memory for the host's facts");
    exhibit__host__init(host);
    if (!set_text(&host->boot_id, (const char *)boot_id.data) || !fill_facts(host)) {
        exhibit__host__free_unpacked(host, NULL);
        return err_set(err, ERR_SYSTEM, "out of memory for the host's facts");
    }
    *out = host;
    return 0;
}

/* Opens a regular file, following links, and tells its state. ERR_USAGE: missing or of another type. */
static int open_regular(const char *path, int *out_fd, struct stat *out_stat, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return err_set(err, ERR_USAGE, "%s is missing: %s", path, strerror(errno));
    if (fd < 0 || fstat(fd, out_stat) < 0)
        return err_set_errno(err, "open %s", path);
    if (!S_ISREG(out_stat->st_mode))
        return err_set(err, ERR_USAGE, "%s is not a regular file", path);
    *out_fd = take_fd(&fd);
    return 0;
}

int host_binary_read(const char *name, const char *path, Exhibit__Binary **out, struct err *err)
{
    AUTO_FREE char *resolved = realpath(path, NULL);
    AUTO_FD int fd = -1;
    Exhibit__Binary *binary;
    struct digest digest;
    uint64_t size_bytes;
    struct stat seen;
    int code = open_regular(resolved != NULL ? resolved : path, &fd, &seen, err);

    if (code < 0 || (code = digest_of_fd(fd, &digest, &size_bytes, err)) < 0)
        return err_wrap(err, "binary %s", name);
    binary = malloc(sizeof *binary);
    if (binary == NULL)
        return err_set_errno(err, "memory for a binary");
    exhibit__binary__init(binary);
    binary->size_bytes = size_bytes;
    binary->device = seen.st_dev;
    binary->inode = seen.st_ino;
    if (resolved == NULL || !set_text(&binary->name, name) || !own_bytes(&binary->path, resolved, strlen(resolved)) ||
        !own_bytes(&binary->sha256, digest.bytes, DIGEST_BYTES)) {
        exhibit__binary__free_unpacked(binary, NULL);
        return err_set(err, ERR_SYSTEM, "binary %s: %s cannot be resolved", name, path);
    }
    *out = binary;
    return 0;
}

int host_pin_check(const char *path, const struct digest *expected, Exhibit__Pin **out, struct err *err)
{
    AUTO_FD int fd = -1;
    Exhibit__Pin *pin;
    struct digest digest;
    uint64_t size_bytes;
    struct stat seen;
    int code = open_regular(path, &fd, &seen, err);

    if (code < 0 || (code = digest_of_fd(fd, &digest, &size_bytes, err)) < 0)
        return err_wrap(err, "pin");
    if (!digest_equal(&digest, expected)) {
        char wanted_text[2 * DIGEST_BYTES + 1], seen_text[2 * DIGEST_BYTES + 1];

        hex_encode(expected->bytes, DIGEST_BYTES, wanted_text);
        hex_encode(digest.bytes, DIGEST_BYTES, seen_text);
        return err_set(err, ERR_USAGE, "pin: %s has the SHA-256 %s, pinned is %s", path, seen_text, wanted_text);
    }
    pin = malloc(sizeof *pin);
    if (pin == NULL)
        return err_set_errno(err, "memory for a pin");
    exhibit__pin__init(pin);
    if (!own_bytes(&pin->path, path, strlen(path)) ||
        !own_bytes(&pin->expected_sha256, expected->bytes, DIGEST_BYTES) ||
        !own_bytes(&pin->seen_sha256, digest.bytes, DIGEST_BYTES)) {
        exhibit__pin__free_unpacked(pin, NULL);
        return err_set(err, ERR_SYSTEM, "out of memory for a pin");
    }
    *out = pin;
    return 0;
}
