/*
 * Landlock without a rule but for what is named, then a filter that answers EPERM to every system call that is not
 * listed. An answer instead of a kill: a library that asks for more than it needs goes on without.
 *
 * A rule is for the file that a path led to, not for the path: what that leads to later, Landlock refuses if it is
 * another. Where the kernel has no Landlock, every file can still be opened after the filter, for reading alone. Where
 * one bundle is meant, a second filter ends that, too, before the first byte of it is read.
 */
#include "replay/confine_self.h"

#include "base/cleanup.h"
#include "base/spill.h"
#include "formats/archive.h"
#include "formats/digest.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct as of ABI 6: headers are often older than the kernel. */
struct ruleset {
    uint64_t files;
    uint64_t ports;
    uint64_t scopes;
};

/* The kernel's struct, which is packed. */
struct beneath {
    uint64_t files;
    int32_t fd;
} __attribute__((packed));

enum { RIGHT_READ_FILE = 1 << 2, RIGHT_READ_DIR = 1 << 3 };

/*
 * Lets what is at a path, and beneath it, be read. It is looked up only: what cannot be opened, or is no file, is told
 * when it is opened for reading.
 */
static void allow_path(int ruleset_fd, const char *path)
{
    enum { RULE_PATH_BENEATH = 1 };
    AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);
    struct beneath beneath = {.files = RIGHT_READ_FILE, .fd = fd};
    struct stat state;

    if (fd < 0 || fstat(fd, &state) < 0)
        return;
    if (S_ISDIR(state.st_mode))
        beneath.files |= RIGHT_READ_DIR;
    (void)syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &beneath, 0);
}

/* Every right that the kernel's ABI knows is taken away, but for reading what is named. */
static bool apply_landlock(char *const *paths, size_t path_count)
{
    enum { CREATE_VERSION = 1, ALL_PORTS = 3, ALL_SCOPES = 3 };
    static const uint64_t files[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    struct ruleset ruleset = {.ports = ALL_PORTS, .scopes = ALL_SCOPES};
    size_t size_bytes = abi < 4 ? 8 : abi < 6 ? 16 : 24;
    AUTO_FD int fd = -1;

    if (abi < 1)
        return false;
    ruleset.files = files[abi > 6 ? 6 : abi];
    fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size_bytes, 0);
    if (fd < 0)
        return false;
    for (size_t i = 0; i < path_count; i++)
        allow_path(fd, paths[i]);
    return syscall(SYS_landlock_restrict_self, fd, 0) == 0;
}

/* Calls that are allowed whatever their arguments are. */
static const int plain_calls[] = {
    SCMP_SYS(read),           SCMP_SYS(pread64),     SCMP_SYS(lseek),        SCMP_SYS(close),
    SCMP_SYS(fstat),          SCMP_SYS(brk),         SCMP_SYS(munmap),       SCMP_SYS(mremap),
    SCMP_SYS(madvise),        SCMP_SYS(futex),       SCMP_SYS(exit),         SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(getpid),      SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
    SCMP_SYS(gettid),         SCMP_SYS(getrandom),   SCMP_SYS(sysinfo),      SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),   SCMP_SYS(sched_yield),
};

/* Adds the rules: 0, or a negative number. */
static int add_rules(scmp_filter_ctx filter)
{
    int code = 0;

    for (size_t i = 0; i < sizeof plain_calls / sizeof *plain_calls && code == 0; i++)
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, plain_calls[i], 0);
    for (unsigned fd = STDOUT_FILENO; fd <= STDERR_FILENO && code == 0; fd++) {
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, fd));
        if (code == 0)
            code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(writev), 1, SCMP_A0(SCMP_CMP_EQ, fd));
    }
    if (code == 0 && spill_descriptor() >= 0) /* room for large tables, in a file that has no name */
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fallocate), 2,
                                SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)spill_descriptor()), SCMP_A1(SCMP_CMP_EQ, 0));
    if (code == 0) /* fstat() of newer C libraries */
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1, SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
    if (code == 0) /* memory, never code */
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (code == 0)
        code =
            seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (code == 0) /* abort() of a failed assertion */
        code =
            seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    if (code == 0) /* one more filter, which can only take away */
        code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(seccomp), 1,
                                SCMP_A0(SCMP_CMP_EQ, SECCOMP_SET_MODE_FILTER));
    return code;
}

/* Opening, where nothing can be made, changed or written by it. */
static int add_reading(scmp_filter_ctx filter)
{
    enum { WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY) };

    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, WRITING, 0));
}

/* Puts a filter in force. False: it could not be. Releases it in any case. */
static bool load_filter(scmp_filter_ctx filter, bool complete)
{
    bool done = complete && seccomp_load(filter) == 0;

    seccomp_release(filter);
    return done;
}

static bool allow_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(1 /* EPERM */));

    return filter != NULL && load_filter(filter, add_rules(filter) == 0 && add_reading(filter) == 0 &&
                                                     seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0);
}

/* Without prctl, which is denied by now; what it would do was done. */
static bool deny_opening(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    return filter != NULL &&
           load_filter(filter, seccomp_rule_add(filter, SCMP_ACT_ERRNO(1 /* EPERM */), SCMP_SYS(openat), 0) == 0 &&
                                   seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0) == 0);
}

/*
 * What cannot be opened later is opened now. Libraries read files at their first use: libcrypto its configuration, libc
 * the character set in which names of archives are read, and the time zone: the one in which archives are read, so that
 * no thread changes it later. The character set stays loaded for good.
 */
static void warm_libraries(void)
{
    static locale_t volatile kept __attribute__((unused)); /* only held */

    (void)digest_of("", 0);
    spill_prepare();
    kept = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    archive_zone_set();
}

void confine_files(char *const *paths, size_t path_count, struct confinement *out)
{
    *out = (struct confinement){0};
    warm_libraries();
    if (!EXHIBIT_SANITIZED && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        out->landlock = apply_landlock(paths, path_count);
}

void confine_calls(struct confinement *out)
{
    if (!EXHIBIT_SANITIZED)
        out->seccomp = allow_calls();
}

void confine_opening(struct confinement *out)
{
    if (!EXHIBIT_SANITIZED)
        out->seccomp = out->seccomp && deny_opening();
}
