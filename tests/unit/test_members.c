/* The table of a run's processes. */
#include "record/members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void members_are_found_after_any_removal(void **state)
{
    struct members members;
    struct err err;

    (void)state;
    assert_int_equal(members_init(&members, &err), 0);
    for (pid_t pid = 1; pid <= 1000; pid++)
        assert_int_equal(members_add(&members, &(struct member){.pid = pid, .start_time = (uint64_t)pid * 3}, &err), 0);
    for (pid_t pid = 1; pid <= 1000; pid += 2)
        members_remove(&members, (size_t)(members_find(&members, pid) - members.items));
    assert_int_equal(members.count, 500);
    for (pid_t pid = 1; pid <= 1000; pid++) {
        const struct member *member = members_find(&members, pid);

        assert_int_equal(member != NULL, pid % 2 == 0);
        if (member != NULL)
            assert_int_equal(member->start_time, pid * 3);
    }
    members_clear(&members);
    assert_null(members_find(&members, 2));
    members_done(&members);
}

static void a_number_that_comes_round_names_the_new_process(void **state)
{
    struct members members;
    struct err err;

    (void)state;
    assert_int_equal(members_init(&members, &err), 0);
    assert_int_equal(members_add(&members, &(struct member){.pid = 77, .start_time = 1}, &err), 0);
    assert_int_equal(members_add(&members, &(struct member){.pid = 77, .start_time = 2}, &err), 0);
    assert_int_equal(members.count, 1);
    assert_int_equal(members_find(&members, 77)->start_time, 2);
    members_done(&members);
}

static void a_number_outside_of_the_machine_is_refused(void **state)
{
    struct members members;
    struct err err;

    (void)state;
    assert_int_equal(members_init(&members, &err), 0);
    assert_int_equal(members_add(&members, &(struct member){.pid = (pid_t)members.pid_count}, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "one too many"));
    assert_null(members_find(&members, (pid_t)members.pid_count));
    assert_null(members_find(&members, -1));
    members_done(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_after_any_removal),
        cmocka_unit_test(a_number_that_comes_round_names_the_new_process),
        cmocka_unit_test(a_number_outside_of_the_machine_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
