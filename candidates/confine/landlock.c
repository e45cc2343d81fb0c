/*
 * Landlock through its bare system calls: the system's headers and libc of Debian 12 are older than what is used here.
 * Each constant below is that of Linux' include/uapi/linux/landlock.h, with the ABI version that brought it.
 */
#include "candidates/confine/landlock.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h> /* ABI 1 and 2 */
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACCESS_TRUNCATE (1ULL << 14)    /* LANDLOCK_ACCESS_FS_TRUNCATE, ABI 3, Linux 6.2 */
#define ACCESS_BIND_TCP (1ULL << 0)     /* LANDLOCK_ACCESS_NET_BIND_TCP, ABI 4, Linux 6.7 */
#define ACCESS_CONNECT_TCP (1ULL << 1)  /* LANDLOCK_ACCESS_NET_CONNECT_TCP, ABI 4 */
#define ACCESS_IOCTL_DEV (1ULL << 15)   /* LANDLOCK_ACCESS_FS_IOCTL_DEV, ABI 5, Linux 6.10 */
#define SCOPE_ABSTRACT_UNIX (1ULL << 0) /* LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, ABI 6, Linux 6.12 */
#define SCOPE_SIGNAL (1ULL << 1)        /* LANDLOCK_SCOPE_SIGNAL, ABI 6 */

#define ABI_NEEDED 4
#define ABI_IOCTL_DEV 5
#define ABI_SCOPES 6

/* struct landlock_ruleset_attr as of ABI 6; an older kernel accepts it while what it does not know is zero. */
struct ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

#define ACCESS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_EXECUTE (ACCESS_READ | LANDLOCK_ACCESS_FS_EXECUTE)
#define ACCESS_WRITE                                                                                                   \
    (ACCESS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                   \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                      \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)
#define ACCESS_HANDLED                                                                                                 \
    (ACCESS_EXECUTE | ACCESS_WRITE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                    \
     LANDLOCK_ACCESS_FS_MAKE_SOCK)
/* What the kernel accepts in a rule for something that is no folder. */
#define ACCESS_OF_FILES                                                                                                \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | ACCESS_TRUNCATE)

static uint64_t access_of(enum grant_kind kind)
{
    switch (kind) {
    case GRANT_READ:
        return ACCESS_READ;
    case GRANT_EXECUTE:
        return ACCESS_EXECUTE;
    case GRANT_WRITE:
        return ACCESS_WRITE;
    }
    return 0;
}

static int check_abi(int *out_abi, struct err *err)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);

    if (abi < 0 && errno == ENOSYS)
        return err_set(err, ERR_SYSTEM, "this kernel has no Landlock");
    if (abi < 0 && errno == EOPNOTSUPP)
        return err_set(err, ERR_SYSTEM, "Landlock is switched off in this kernel (boot option lsm=)");
    if (abi < 0)
        return err_set_errno(err, "ask for the Landlock version");
    if (abi < ABI_NEEDED)
        return err_set(err, ERR_SYSTEM, "Landlock ABI %ld is too old: ABI %d (Linux 6.7) is needed to deny TCP", abi,
                       ABI_NEEDED);
    *out_abi = (int)abi;
    return 0;
}

static int add_grant(int ruleset_fd, const struct policy *policy, const struct grant *grant, struct err *err)
{
    AUTO_FD int fd = open(grant->path, O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr rule = {.allowed_access = access_of(grant->kind), .parent_fd = fd};
    struct stat seen;

    if (fd < 0 && grant->optional && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 || fstat(fd, &seen) < 0)
        return err_set_errno(err, "%s:%u: %s", policy->file, grant->line, grant->path);
    if (!S_ISDIR(seen.st_mode))
        rule.allowed_access &= ACCESS_OF_FILES;
    if (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        return err_set_errno(err, "%s:%u: Landlock rule for %s", policy->file, grant->line, grant->path);
    return 0;
}

int landlock_enter(const struct policy *policy, struct err *err)
{
    struct ruleset ruleset = {.handled_access_fs = ACCESS_HANDLED,
                              .handled_access_net = ACCESS_BIND_TCP | ACCESS_CONNECT_TCP};
    AUTO_FD int ruleset_fd = -1;
    int abi = 0, code = check_abi(&abi, err);

    if (code < 0)
        return code;
    if (abi >= ABI_IOCTL_DEV)
        ruleset.handled_access_fs |= ACCESS_IOCTL_DEV;
    if (abi >= ABI_SCOPES)
        ruleset.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
    ruleset_fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
    if (ruleset_fd < 0)
        return err_set_errno(err, "make a Landlock ruleset");
    for (size_t i = 0; i < policy->grant_count; i++) {
        code = add_grant(ruleset_fd, policy, &policy->grants[i], err);
        if (code < 0)
            return code;
    }
    if (syscall(SYS_landlock_restrict_self, ruleset_fd, 0) < 0)
        return err_set_errno(err, "enter the Landlock domain");
    return 0;
}
