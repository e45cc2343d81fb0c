/*
 * Leaves in the folder it is given all that a collector could stumble over: litter FOLDER OUTSIDE, where OUTSIDE is a
 * file that is none of the folder's. What needs root is left out without it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static void must(int result, const char *what)
{
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

static void file_make(const char *name, const char *content, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);

    must(fd, name);
    must(write(fd, content, strlen(content)) == (ssize_t)strlen(content) ? 0 : -1, name);
    must(fchmod(fd, mode), name);
    must(close(fd), name);
}

static void specials_make(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), sparse = open("sparse", O_WRONLY | O_CREAT | O_EXCL, 0644);

    must(bind(fd, (struct sockaddr *)&address, sizeof address), "socket");
    must(mkfifo("fifo", 0644), "fifo");
    must(ftruncate(sparse, (off_t)1 << 40), "sparse");
    must(pwrite(sparse, "end", 3, ((off_t)1 << 40) - 3) == 3 ? 0 : -1, "sparse");
    if (geteuid() == 0) {
        must(mknod("memory", S_IFCHR | 0666, makedev(1, 1)), "memory"); /* /dev/mem: to open it may do something */
        must(mknod("terminal", S_IFCHR | 0666, makedev(5, 0)), "terminal");
        must(mknod("disk", S_IFBLK | 0666, makedev(254, 0)), "disk");
    }
}

static void links_make(const char *outside)
{
    char folder[4096];

    (void)snprintf(folder, sizeof folder, "%s", outside);
    *strrchr(folder, '/') = 0;
    must(symlink(outside, "link-to-file"), "link-to-file");
    must(symlink(folder, "link-to-folder"), "link-to-folder");
    must(symlink("link-to-itself", "link-to-itself"), "link-to-itself");
    must(link(outside, "hard-link"), "hard-link");
}

/* A chain of folders, with a file in the last one. */
static void deep_make(const char *name, int levels)
{
    int home = open(".", O_RDONLY | O_DIRECTORY);

    for (int i = 0; i < levels; i++) {
        must(mkdir(name, 0755), name);
        must(chdir(name), name);
    }
    file_make("bottom", "the bottom\n", 0644);
    must(fchdir(home), "home");
    must(close(home), "home");
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    must(chdir(argv[1]), argv[1]);
    specials_make();
    links_make(argv[2]);
    deep_make("d", 200);
    deep_make("e", 400);
    file_make("unreadable", "nobody reads this\n", 0);
    file_make("new\nline", "one\n", 0644);
    file_make("not-\xff\xfe-text", "two\n", 0644);
    must(mkdir("locked", 0755), "locked");
    file_make("locked/inside", "three\n", 0444);
    must(chmod("locked", 0), "locked");
    return 0;
}
