/*
 * Lies about what the probe says: foreign rows, other rows, other copies, rows of a decoy.
 */
#include "tests/subjects/liar.h"

#include "record/probe/proof.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void say_noise(const struct task *task)
{
    const char *nonce = task->probe[ARG_NONCE];
    char child[NONCE_DIGITS + 1];
    static char garbage[4096], flood[1 << 20];

    nonce_derive(ROLE_IS_CHILD, nonce, child);
    say_row(1, "00112233445566778899aabbccddeeff", "parent", 1, EACCES); /* a foreign nonce */
    say_row(1, child, "child", 1, EACCES);                               /* a role that this trial has not */
    say_row(1, nonce, "child", 1, EACCES);                               /* the parent's nonce, another's name */
    say_row(1, nonce, "parent", 2, EACCES);                              /* a round that is not planned */
    say(1, "EXHIBIT1 row %s parent 01 read=errno:13 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        nonce);
    say(1, "EXHIBIT1 row %s parent 1 read=errno:13 read-link=errno:13 write=errno:13 tcp=errno:13\n", nonce);
    say(1, "EXHIBIT1 row %s parent 1 read=errno:0 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        nonce);
    say(1, "EXHIBIT1 row %s parent 1 read=ok read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n", nonce);
    say(1, " EXHIBIT1 row %s parent 1 read=errno:13 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13\n",
        nonce);
    say(1, "EXHIBIT1 row %s parent 1 read=errno:13  read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13 \r\n",
        nonce);
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)(i * 7 + i / 256);
    put(1, garbage, sizeof garbage);
    memset(flood, 'x', sizeof flood); /* without a newline: what follows on the same line is lost */
    put(1, flood, sizeof flood);
}

int noise_instead(const struct task *task)
{
    say_noise(task);
    return 0;
}

int noise_beside(const struct task *task)
{
    say_noise(task);
    become(task->rest);
}

int words_instead(const struct task *task)
{
    (void)task;
    say(2, "exhibit-probe: read: Permission denied\nexhibit-probe: connect: Operation not permitted\n");
    return 1;
}

int contested(const struct task *task)
{
    say_row(1, task->probe[ARG_NONCE], "parent", 1, EPERM);
    become(task->rest);
}

/* The same from a process that is left when the probe has ended itself. */
int late(const struct task *task)
{
    if (aside()) {
        pause_ms(number(task, "lifetime_ms") + 300);
        say_row(1, task->probe[ARG_NONCE], "parent", 1, EPERM);
        _exit(0);
    }
    become(task->rest);
}

/* The real parent, whose children cannot be executed, and rows in their names. */
int children(const struct task *task)
{
    char away[4096], child[NONCE_DIGITS + 1], grandchild[NONCE_DIGITS + 1];
    int fd = open(task->probe[0], O_RDONLY | O_CLOEXEC);
    pid_t pid;

    (void)snprintf(away, sizeof away, "%s.away", task->probe[0]);
    nonce_derive(ROLE_IS_CHILD, task->probe[ARG_NONCE], child);
    nonce_derive(ROLE_IS_GRANDCHILD, child, grandchild);
    (void)signal(SIGTERM, SIG_IGN); /* the probe must be back before the next control */
    if (fd < 0 || rename(task->probe[0], away) < 0)
        broken("rename");
    pid = fork();
    if (pid == 0) {
        (void)fexecve(fd, task->probe, environ);
        broken("fexecve");
    }
    say_row(1, child, "child", 1, EACCES);
    pause_ms(300);
    for (int round = 1; round <= number(task, "rounds"); round++)
        say_row(1, grandchild, "grandchild", round, EACCES);
    (void)await(pid);
    if (rename(away, task->probe[0]) < 0)
        broken("rename");
    return 0;
}

/* ---- the copies ---- */

/* A FIFO takes the place of the probe's copy; when the probe has written there, another copy stands in its place. */
int edit(const struct task *task)
{
    char replacement[4200], line[2048] = "";
    const char *path = copy_path(task);
    FILE *from;

    if (mkfifo(path, 0666) < 0)
        broken("mkfifo");
    if (!aside())
        become(task->rest);
    from = fopen(path, "r+e"); /* for writing too, so that it neither waits nor ends */
    while (strstr(line, " row ") == NULL)
        if (from == NULL || fgets(line, sizeof line, from) == NULL)
            broken("read the probe's copy");
    (void)snprintf(replacement, sizeof replacement, "%s.new", path);
    from = fopen(replacement, "we");
    if (from == NULL)
        broken(replacement);
    say_row(fileno(from), task->probe[ARG_NONCE], "parent", 1, EPERM);
    if (rename(replacement, path) < 0)
        broken("rename");
    _exit(0);
}

int delete (const struct task *task)
{
    if (!aside())
        become(task->rest);
    for (long left_ms = number(task, "lifetime_ms"); left_ms > 0; left_ms--) {
        (void)unlink(copy_path(task));
        pause_ms(1);
    }
    _exit(0);
}

int swallow(const struct task *task)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || dup2(fd, 1) < 0)
        broken("/dev/null");
    become(task->rest);
}

/* ---- a decoy ---- */

int decoy(const struct task *task)
{
    (void)execv("/proc/self/exe", task->probe);
    broken("exec");
}

_Noreturn void play_decoy(const struct task *task)
{
    int fd = open(copy_path(task), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    if (fd < 0)
        broken("open");
    say_row(1, task->probe[ARG_NONCE], "parent", 1, EACCES);
    say_row(fd, task->probe[ARG_NONCE], "parent", 1, EACCES);
    pause_ms(number(task, "lifetime_ms"));
    _exit(0);
}
