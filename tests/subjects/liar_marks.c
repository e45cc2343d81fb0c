/*
 * Lies that leave a mark: what the probe calls denied is reached, a secret leaks, a tree is changed.
 */
#include "tests/subjects/liar.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- reaching what the rows will call denied ---- */

static struct sockaddr_in loopback(const struct task *task, const char *key)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)number(task, key)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A bare connection: no byte is sent. */
int reach_tcp(const struct task *task)
{
    struct sockaddr_in to = loopback(task, "tcp");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        broken("connect");
    (void)close(fd);
    become(task->rest);
}

int reach_udp(const struct task *task)
{
    struct sockaddr_in to = loopback(task, "udp");
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to) != 1)
        broken("sendto");
    (void)close(fd);
    become(task->rest);
}

static int read_and_become(const struct task *task, const char *key)
{
    char content[4096];
    int fd = open(value(task, key), O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, content, sizeof content) <= 0)
        broken("read");
    (void)close(fd);
    become(task->rest);
}

int reach_read(const struct task *task)
{
    return read_and_become(task, "read");
}

int reach_link(const struct task *task)
{
    return read_and_become(task, "read-link");
}

int reach_write(const struct task *task)
{
    int fd = open(value(task, "write"), O_WRONLY | O_APPEND | O_CLOEXEC);

    if (fd < 0)
        broken("open");
    put(fd, "x", 1);
    (void)close(fd);
    become(task->rest);
}

/* ---- leaks and traces ---- */

/* The content of a canary, kept by a case in an unconfined run, so that nothing is read now. */
static size_t stash_read(char *out, size_t room_bytes)
{
    const char *path = getenv("STASH");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, out, room_bytes);

    if (got <= 0)
        broken("the stash");
    (void)close(fd);
    return (size_t)got;
}

int leak_stdout(const struct task *task)
{
    char content[4096];
    size_t size_bytes = stash_read(content, sizeof content);

    put(1, content, size_bytes / 2);
    pause_ms(200); /* two pieces for the recorder, too */
    put(1, content + size_bytes / 2, size_bytes - size_bytes / 2);
    put(1, "\n", 1);
    become(task->rest);
}

int leak_stderr(const struct task *task)
{
    char content[4096];

    put(2, content, stash_read(content, sizeof content));
    become(task->rest);
}

static void create(const char *path, const void *content, size_t size_bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0)
        broken(path);
    put(fd, content, size_bytes);
    (void)close(fd);
}

int leak_scratch(const struct task *task)
{
    char content[4096], path[4096];

    (void)snprintf(path, sizeof path, "%s/notes", value(task, "scratch"));
    create(path, content, stash_read(content, sizeof content));
    become(task->rest);
}

int workspace(const struct task *task)
{
    create("planted", "x", 1);
    become(task->rest);
}

int folder(const struct task *task)
{
    char write_path[4096], path[4200];

    (void)snprintf(write_path, sizeof write_path, "%s", value(task, "write"));
    (void)snprintf(path, sizeof path, "%s/planted", dirname(write_path));
    create(path, "x", 1);
    become(task->rest);
}
