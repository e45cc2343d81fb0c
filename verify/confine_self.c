/*
 * Landlock for files and TCP, seccomp for what has no path, and for writing. What is to be read is opened after both:
 * the filter lets every opening for reading through, Landlock that of what was named alone. Where there is no Landlock,
 * other files could be read, but there is still no way to write, to send or to start anything.
 */
#include "verify/confine_self.h"

#include "base/cleanup.h"
#include "base/spill.h"
#include "formats/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <locale.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As later kernels have it: the header at hand may be older. The size that is passed says which fields count. */
struct verify_confine_ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

static long verify_confine_landlock_abi(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static struct verify_confine_ruleset verify_confine_all_rights(long abi, size_t *size_bytes)
{
    /* Each version added the next bits: 13 of the first, then refer, truncate and, with the fifth, devices' ioctl. */
    struct verify_confine_ruleset rules = {.handled_access_fs = (1ull << 13) - 1};

    *size_bytes = sizeof rules.handled_access_fs;
    if (abi >= 2)
        rules.handled_access_fs |= 1ull << 13;
    if (abi >= 3)
        rules.handled_access_fs |= 1ull << 14;
    if (abi >= 5)
        rules.handled_access_fs |= 1ull << 15;
    if (abi >= 4) {
        rules.handled_access_net = 3; /* bind and connect */
        *size_bytes = 2 * sizeof(uint64_t);
    }
    if (abi >= 6) {
        rules.scoped = 3; /* abstract sockets and signals */
        *size_bytes = 3 * sizeof(uint64_t);
    }
    return rules;
}

/*
 * Grants reading of what the path leads to now. It is opened without any right to read it; the rule is for the file
 * itself, so that another one, put in its place before it is opened for reading, is refused. Failing is refusing.
 */
static void verify_confine_grant(int ruleset_fd, const char *path)
{
    AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = fd};
    struct stat stat;

    if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISDIR(stat.st_mode))
        rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR; /* the kernel knows it for folders only */
    if (fd >= 0)
        (void)syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static bool verify_confine_files(const char *const *paths, size_t path_count)
{
    long abi = verify_confine_landlock_abi();
    size_t size_bytes;
    struct verify_confine_ruleset rules = verify_confine_all_rights(abi, &size_bytes);
    AUTO_FD int ruleset_fd = -1;

    if (abi < 1)
        return false;
    ruleset_fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size_bytes, 0);
    if (ruleset_fd < 0)
        return false;
    for (size_t i = 0; i < path_count; i++)
        verify_confine_grant(ruleset_fd, paths[i]);
    return syscall(SYS_landlock_restrict_self, ruleset_fd, 0) == 0;
}

static int verify_confine_deny_writing(scmp_filter_ctx filter, int call, unsigned argument)
{
    static const struct {
        unsigned mask, value;
    } forms[] = {{O_ACCMODE, O_WRONLY}, {O_ACCMODE, O_RDWR}, {O_ACCMODE, O_ACCMODE},
                 {O_CREAT, O_CREAT},    {O_TRUNC, O_TRUNC},  {O_APPEND, O_APPEND}};

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct scmp_arg_cmp flags = SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, forms[i].mask, forms[i].value);

        if (seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &flags) < 0)
            return -1;
    }
    return 0;
}

/*
 * Threads are let through, for they are confined as whoever starts them; processes are not. The flags of clone3 are out
 * of a filter's sight: where there seems to be no such call, libc takes clone.
 */
static int verify_confine_deny_processes(scmp_filter_ctx filter)
{
    struct scmp_arg_cmp no_thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);

    if (seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL) < 0)
        return -1;
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &no_thread);
}

/* What this program never needs, and what comes out of hostile bytes must not have. */
static const int verify_denied_calls[] = {
    /* clang-format off */
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
    SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept),
    SCMP_SYS(accept4), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(sendmmsg), SCMP_SYS(openat2), SCMP_SYS(creat),
    SCMP_SYS(truncate), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rename), SCMP_SYS(renameat),
    SCMP_SYS(renameat2), SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(symlink), SCMP_SYS(symlinkat), SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat), SCMP_SYS(rmdir), SCMP_SYS(mknod), SCMP_SYS(mknodat), SCMP_SYS(chmod), SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(fchown), SCMP_SYS(fchownat), SCMP_SYS(lchown), SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr), SCMP_SYS(utimensat), SCMP_SYS(mount), SCMP_SYS(umount2),
    SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(io_uring_setup), SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(memfd_create), SCMP_SYS(keyctl), SCMP_SYS(add_key),
    SCMP_SYS(request_key), SCMP_SYS(pidfd_getfd), SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(open_by_handle_at),
    /* clang-format on */
};

static bool verify_confine_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    bool done = filter != NULL;

    for (size_t i = 0; done && i < sizeof verify_denied_calls / sizeof verify_denied_calls[0]; i++)
        done = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), verify_denied_calls[i], 0, NULL) == 0;
    done = done && verify_confine_deny_processes(filter) == 0 &&
           verify_confine_deny_writing(filter, SCMP_SYS(open), 1) == 0 &&
           verify_confine_deny_writing(filter, SCMP_SYS(openat), 2) == 0 && seccomp_load(filter) == 0;
    if (filter != NULL)
        seccomp_release(filter);
    return done;
}

void verify_confine_self(const char *const *paths, size_t path_count, char *warning, size_t warning_bytes)
{
    bool files = true, calls = true;

    /* Archives are listed in this locale, whose file cannot be opened later: in use, it stays loaded. */
    (void)uselocale(newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0));
    /* For the same reason: libcrypto reads its configuration at the first use. */
    (void)digest_of("", 0);
    spill_prepare();
    warning[0] = '\0';
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        (void)snprintf(warning, warning_bytes, "could not give up privileges (%s); going on without confinement",
                       strerror(errno));
        return;
    }
    if (!EXHIBIT_SANITIZED) {
        files = verify_confine_files(paths, path_count);
        calls = verify_confine_calls();
    }
    if (!files || !calls)
        (void)snprintf(warning, warning_bytes, "this kernel gives no %s%s%s; going on without", files ? "" : "Landlock",
                       files || calls ? "" : " and no ", calls ? "" : "seccomp filter");
}
