/*
 * The filter allows by default, since a list of what every runtime may need would never be whole; what it refuses
 * (EPERM) is what leads round Landlock: other sockets than TCP, submission queues, other processes, new namespaces and
 * mounts, and changes to metadata, which Landlock does not restrict.
 */
#include "candidates/confine/filter.h"

#include <assert.h>
#include <errno.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define DENY SCMP_ACT_ERRNO(EPERM)

/* Newer than libseccomp 2.5.4: their numbers are the same on every architecture that this is built for. */
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "the numbers below were checked for x86_64 and aarch64 alone"
#endif
#define NR_FCHMODAT2 452
#define NR_SETXATTRAT 463
#define NR_REMOVEXATTRAT 466
#define NR_OPEN_TREE_ATTR 467
#define NR_FILE_SETATTR 469

static const int denied_calls[] = {
    /* A TCP server; Landlock denies bind() alone, and listen() picks a port by itself. */
    SCMP_SYS(listen),
    /* What is submitted through a ring is seen by no filter. */
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
    /* Other processes, and what they hold. */
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp),
    SCMP_SYS(perf_event_open), SCMP_SYS(bpf), SCMP_SYS(userfaultfd),
    /* Keys, queues and memory that are shared with whoever asks. */
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl), SCMP_SYS(mq_open), SCMP_SYS(mq_unlink),
    SCMP_SYS(msgget), SCMP_SYS(semget), SCMP_SYS(shmget),
    /* Programs without a name, which no grant of execution could name. */
    SCMP_SYS(memfd_create),
    /* Mounts, namespaces, files by handle. */
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(fsopen), SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(mount_setattr),
    NR_OPEN_TREE_ATTR, SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
    /* The kernel itself. */
    SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(init_module), SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    /* Metadata of whatever can be named, readable or not. */
    SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), NR_FCHMODAT2, SCMP_SYS(chown), SCMP_SYS(fchown),
    SCMP_SYS(lchown), SCMP_SYS(fchownat), SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(futimesat), SCMP_SYS(utimensat),
    SCMP_SYS(setxattr), SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr), NR_SETXATTRAT, SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr), NR_REMOVEXATTRAT, NR_FILE_SETATTR};

/* A rule on one argument. The kernel reads 32 bits of these: what is above is refused, or passed over as it does. */
struct argument_rule {
    int call;
    struct scmp_arg_cmp when;
};

/* The library's own macros for these make no constants. */
#define WHEN(index, compare, datum)                                                                                    \
    {                                                                                                                  \
        .arg = index, .op = compare, .datum_a = datum                                                                  \
    }
#define MASKED(index, mask, datum)                                                                                     \
    {                                                                                                                  \
        .arg = index, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = datum                                      \
    }
#define HAS(index, bits) MASKED(index, bits, bits)
#define HAS_NOT(index, bits) MASKED(index, bits, 0)
#define LOW32 0xffffffffu

static const struct argument_rule denied_arguments[] = {
    /* socket(): AF_INET, SOCK_STREAM (1, of the low four bits) and protocol 0 or TCP (6), and nothing else. */
    {SCMP_SYS(socket), WHEN(0, SCMP_CMP_NE, AF_INET)},
    {SCMP_SYS(socket), HAS_NOT(1, 1)},
    {SCMP_SYS(socket), HAS(1, 2)},
    {SCMP_SYS(socket), HAS(1, 4)},
    {SCMP_SYS(socket), HAS(1, 8)},
    {SCMP_SYS(socket), WHEN(2, SCMP_CMP_EQ, 1)},
    {SCMP_SYS(socket), WHEN(2, SCMP_CMP_EQ, 2)},
    {SCMP_SYS(socket), WHEN(2, SCMP_CMP_EQ, 3)},
    {SCMP_SYS(socket), WHEN(2, SCMP_CMP_EQ, 4)},
    {SCMP_SYS(socket), WHEN(2, SCMP_CMP_EQ, 5)},
    {SCMP_SYS(socket), WHEN(2, SCMP_CMP_GT, IPPROTO_TCP)},
    /* A send that connects passes no check of connect(). */
    {SCMP_SYS(sendto), HAS(3, MSG_FASTOPEN)},
    {SCMP_SYS(sendmsg), HAS(2, MSG_FASTOPEN)},
    {SCMP_SYS(sendmmsg), HAS(3, MSG_FASTOPEN)},
    {SCMP_SYS(clone), HAS(0, CLONE_NEWNS)},
    {SCMP_SYS(clone), HAS(0, CLONE_NEWCGROUP)},
    {SCMP_SYS(clone), HAS(0, CLONE_NEWUTS)},
    {SCMP_SYS(clone), HAS(0, CLONE_NEWIPC)},
    {SCMP_SYS(clone), HAS(0, CLONE_NEWUSER)},
    {SCMP_SYS(clone), HAS(0, CLONE_NEWPID)},
    {SCMP_SYS(clone), HAS(0, CLONE_NEWNET)},
    /* Limits of another process; a terminal that others type on. */
    {SCMP_SYS(prlimit64), WHEN(0, SCMP_CMP_NE, 0)},
    {SCMP_SYS(ioctl), MASKED(1, LOW32, TIOCSTI)},
    {SCMP_SYS(ioctl), MASKED(1, LOW32, TIOCLINUX)},
};

static int add_rules(scmp_filter_ctx filter)
{
    int failed = 0;

    for (size_t i = 0; failed == 0 && i < sizeof denied_calls / sizeof denied_calls[0]; i++)
        failed = seccomp_rule_add_array(filter, DENY, denied_calls[i], 0, NULL);
    for (size_t i = 0; failed == 0 && i < sizeof denied_arguments / sizeof denied_arguments[0]; i++)
        failed = seccomp_rule_add_array(filter, DENY, denied_arguments[i].call, 1, &denied_arguments[i].when);
    /* Its flags lie in memory, where no filter sees them; libc goes back to clone() when it is not there. */
    if (failed == 0)
        failed = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL);
    return failed;
}

int filter_enter(struct err *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int failed = filter == NULL ? -ENOMEM : 0;

    if (failed == 0)
        failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (failed == 0)
        failed = add_rules(filter);
    if (failed == 0)
        failed = seccomp_load(filter);
    if (filter != NULL)
        seccomp_release(filter);
    if (failed < 0)
        return err_set(err, ERR_SYSTEM, "filter system calls: %s", strerror(-failed));
    return 0;
}
