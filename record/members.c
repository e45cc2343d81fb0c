#include "record/members.h"

#include "base/cleanup.h"
#include "formats/limits.h"

#include <assert.h>
#include <stdio.h>

/* One more than the largest pid that the kernel gives. */
static size_t pid_limit(void)
{
    AUTO_FILE FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
    unsigned long limit = 0;

    if (file == NULL || fscanf(file, "%lu", &limit) != 1 || limit < 301 || limit > (4ul << 20))
        limit = 4ul << 20; /* the kernel's own upper bound on 64-bit machines */
    return limit + 1;
}

int members_init(struct members *members, struct err *err)
{
    size_t pid_count = pid_limit();
    uint32_t *place_of = calloc(pid_count, sizeof *place_of);

    if (place_of == NULL)
        return err_set_errno(err, "memory for the table of processes");
    *members = (struct members){.place_of = place_of, .pid_count = pid_count};
    return 0;
}

struct member *members_find(const struct members *members, pid_t pid)
{
    if (pid <= 0 || (size_t)pid >= members->pid_count || members->place_of[pid] == 0)
        return NULL;
    return &members->items[members->place_of[pid] - 1];
}

int members_add(struct members *members, const struct member *member, struct err *err)
{
    struct member *known = members_find(members, member->pid);

    if (known != NULL) {
        *known = *member;
        return 0;
    }
    if (member->pid <= 0 || (size_t)member->pid >= members->pid_count || members->count >= LIMIT_PROCESSES)
        return err_set(err, ERR_LIMIT, "process %d is one too many", (int)member->pid);
    if (members->count == members->room) {
        size_t room = members->room == 0 ? 64 : members->room * 2;
        struct member *grown = reallocarray(members->items, room, sizeof *grown);

        if (grown == NULL)
            return err_set_errno(err, "memory for %zu processes", room);
        members->items = grown;
        members->room = room;
    }
    members->items[members->count++] = *member;
    members->place_of[member->pid] = (uint32_t)members->count;
    return 0;
}

void members_remove(struct members *members, size_t place)
{
    assert(place < members->count);
    members->place_of[members->items[place].pid] = 0;
    members->count--;
    if (place < members->count) {
        members->items[place] = members->items[members->count];
        members->place_of[members->items[place].pid] = (uint32_t)place + 1;
    }
}

void members_clear(struct members *members)
{
    while (members->count > 0)
        members_remove(members, members->count - 1);
}

void members_done(struct members *members)
{
    free(members->items);
    free(members->place_of);
    *members = (struct members){0};
}
