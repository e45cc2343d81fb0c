/*
 * Runs a command of which each process is killed (SIGSYS) as it asks for a UDP socket.
 */
#include <seccomp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    if (argc < 2 || filter == NULL ||
        seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(socket), 1,
                         SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM)) < 0 ||
        seccomp_load(filter) < 0)
        return 1;
    (void)execv(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}
