/* Who is ours by its line of parents, however soon numbers come round. */
#include "record/lineage.h"
#include "record/proc.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t start_of(pid_t pid)
{
    struct proc_stat stat;

    return proc_stat_read(pid, &stat) ? stat.start_time : 0;
}

/* Runs `body` in a grandchild of this process and gives what it returned. `members` is empty. */
static int in_grandchild(int (*body)(struct members *members, pid_t parent, pid_t above))
{
    pid_t above = getpid(), parent = fork(), body_pid;
    int status = 0;

    if (parent == 0) {
        struct members members;
        struct err err;

        parent = getpid();
        body_pid = fork();
        if (body_pid == 0)
            _exit(members_init(&members, &err) < 0 ? 99 : body(&members, parent, above));
        (void)waitpid(body_pid, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    assert_int_equal(waitpid(parent, &status, 0), parent);
    return WEXITSTATUS(status);
}

static int strangers_body(struct members *members, pid_t parent, pid_t above)
{
    return lineage_start_time(members, parent) == 0 && lineage_start_time(members, above) == 0 &&
                   lineage_start_time(members, 1) == 0 && lineage_start_time(members, getpid()) == 0
               ? 0
               : 1;
}

static void a_process_that_does_not_descend_from_us_is_none_of_ours(void **state)
{
    (void)state;
    assert_int_equal(in_grandchild(strangers_body), 0);
}

/* Seen from the grandchild, its own parent is a stranger: it stands for one whose parent's number was a member's. */
static int numbers_body(struct members *members, pid_t parent, pid_t above)
{
    struct member member = {.pid = above, .start_time = start_of(above) + 1};
    struct err err;

    if (members_add(members, &member, &err) < 0 || lineage_start_time(members, parent) != 0)
        return 1; /* the member's number came round */
    member.start_time--;
    if (members_add(members, &member, &err) < 0 || lineage_start_time(members, parent) != start_of(parent))
        return 2; /* the member itself */
    return 0;
}

static void a_child_of_a_members_number_is_ours_only_while_it_is_the_member(void **state)
{
    (void)state;
    assert_int_equal(in_grandchild(numbers_body), 0);
}

/* The grandchild's parent is looked at as the one who is gone: what was read of him tells whose child he was. */
static int gone_body(struct members *members, pid_t parent, pid_t above)
{
    struct member member = {.pid = above, .start_time = start_of(above)};
    const struct proc_stat seen = {.parent_pid = (uint32_t)above, .start_time = 5};
    pid_t gone = fork();
    struct err err;

    (void)parent;
    if (gone == 0)
        _exit(0);
    (void)waitpid(gone, NULL, 0);
    if (lineage_start_time_of(members, gone, &seen) != 0)
        return 1; /* his parent is no member */
    if (members_add(members, &member, &err) < 0 || lineage_start_time_of(members, gone, &seen) != 5)
        return 2;
    member.start_time++;
    return members_add(members, &member, &err) == 0 && lineage_start_time_of(members, gone, &seen) == 0 ? 0 : 3;
}

static void a_members_child_that_was_read_stays_ours_when_it_is_gone(void **state)
{
    (void)state;
    assert_int_equal(in_grandchild(gone_body), 0);
}

static void children_and_grandchildren_and_adopted_orphans_are_ours(void **state)
{
    struct members members;
    struct err err;
    pid_t child, grandchild;
    int told[2];

    (void)state;
    assert_int_equal(members_init(&members, &err), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(pipe(told), 0);
    child = fork();
    if (child == 0) {
        grandchild = fork();
        (void)alarm(10);
        if (grandchild == 0)
            (void)pause();
        (void)!write(told[1], &grandchild, sizeof grandchild);
        (void)pause();
    }
    assert_int_equal(read(told[0], &grandchild, sizeof grandchild), sizeof grandchild);
    assert_int_not_equal(start_of(child), 0);
    assert_int_equal(lineage_start_time(&members, child), start_of(child));
    assert_int_equal(lineage_start_time(&members, grandchild), start_of(grandchild));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(lineage_start_time(&members, child), 0);
    assert_int_equal(lineage_start_time(&members, grandchild), start_of(grandchild));
    assert_int_equal(kill(grandchild, SIGKILL), 0);
    assert_int_equal(waitpid(grandchild, NULL, 0), grandchild);
    assert_int_equal(lineage_start_time(&members, grandchild), 0);
    members_done(&members);
    (void)close(told[0]);
    (void)close(told[1]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_does_not_descend_from_us_is_none_of_ours),
        cmocka_unit_test(a_child_of_a_members_number_is_ours_only_while_it_is_the_member),
        cmocka_unit_test(a_members_child_that_was_read_stays_ours_when_it_is_gone),
        cmocka_unit_test(children_and_grandchildren_and_adopted_orphans_are_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
