/*
 * Landlock without a single rule, then a filter that answers EPERM to every system call that is not listed. An answer
 * instead of a kill: a library that asks for more than it needs goes on without.
 */
#include "replay/confine_self.h"

#include "formats/digest.h"

#include <fcntl.h>
#include <locale.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's struct as of ABI 6: headers are often older than the kernel. */
struct ruleset {
    uint64_t files;
    uint64_t ports;
    uint64_t scopes;
};

/* Every right that the kernel's ABI knows is taken away. */
static bool apply_landlock(void)
{
    enum { CREATE_VERSION = 1, ALL_PORTS = 3, ALL_SCOPES = 3 };
    static const uint64_t files[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    struct ruleset ruleset = {.ports = ALL_PORTS, .scopes = ALL_SCOPES};
    size_t size_bytes = abi < 4 ? 8 : abi < 6 ? 16 : 24;
    bool done;
    int fd;

    if (abi < 1)
        return false;
    ruleset.files = files[abi > 6 ? 6 : abi];
    fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size_bytes, 0);
    if (fd < 0)
        return false;
    done = syscall(SYS_landlock_restrict_self, fd, 0) == 0;
    (void)close(fd);
    return done;
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
    return code;
}

static bool apply_seccomp(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(1 /* EPERM */));
    bool done;

    if (filter == NULL)
        return false;
    done = add_rules(filter) == 0 && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return done;
}

/*
 * Libraries read files at their first use: libcrypto its configuration, libc the character set in which names of
 * archives are read, and the time zone. The character set stays loaded for good.
 */
static void warm_libraries(void)
{
    (void)digest_of("", 0);
    (void)newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    tzset();
}

void confine_self(struct confinement *out)
{
    *out = (struct confinement){0};
    if (EXHIBIT_SANITIZED)
        return;
    warm_libraries();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return;
    out->landlock = apply_landlock();
    out->seccomp = apply_seccomp();
}
