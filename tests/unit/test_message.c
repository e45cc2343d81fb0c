/*
 * Messages as such: plain, bounded, UTF-8.
 */
#include "formats/message.h"
#include "proto/exhibit.pb-c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

/* Two bytes of input each ask for a message of their own: that must not become a multiple of the input in memory. */
static void unpacking_is_bounded_by_the_size_of_the_input(void **state)
{
    enum { SEGMENTS = 1 << 20 };
    AUTO_BYTES struct bytes packed = {0};
    ProtobufCMessage *message = NULL;
    struct err err = {0};

    (void)state;
    for (int i = 0; i < SEGMENTS; i++)
        assert_int_equal(bytes_add(&packed, "\x0a\x00", 2, SIZE_MAX, &err), 0);
    assert_int_equal(message_unpack(&exhibit__stream__descriptor, packed.data, packed.size_bytes, &message, &err),
                     ERR_LIMIT);
    assert_string_equal(err.text, "Stream of 2097152 bytes takes more memory than its size explains");
    assert_null(message);
}

/* A message of so many segments, packed. */
static void packed_segments(size_t count, struct bytes *out)
{
    static const char segment[] = "\x0a\x24\x0a\x20ssssssssssssssssssssssssssssssss\x10\x07";
    static const char rest[] = "\x1a\x20ssssssssssssssssssssssssssssssss";
    struct err err = {0};

    out->size_bytes = 0;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(bytes_add(out, segment, sizeof segment - 1, SIZE_MAX, &err), 0);
    assert_int_equal(bytes_add(out, rest, sizeof rest - 1, SIZE_MAX, &err), 0);
}

/* What does not fit in the arena's block is there as well, and what comes later is none the worse for it. */
static void messages_of_any_size_come_out_of_one_arena(void **state)
{
    static const size_t counts[] = {1, 3, 5000, 2, 40000, 0, 1};
    AUTO_BYTES struct bytes packed = {0}, again = {0};
    struct arena arena = {0};
    ProtobufCMessage *message = NULL;
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
        packed_segments(counts[i / 2], &packed);
        arena_empty(&arena);
        if (message_unpack_in(&arena, i % 2 == 1, &exhibit__stream__descriptor, packed.data, packed.size_bytes,
                              &message, &err) < 0)
            fail_msg("%zu segments: %s", counts[i / 2], err.text);
        assert_int_equal(((Exhibit__Stream *)message)->n_segments, counts[i / 2]);
        assert_int_equal(message_pack(message, SIZE_MAX / 2, &again, &err), 0);
        assert_int_equal(again.size_bytes, packed.size_bytes);
        assert_memory_equal(again.data, packed.data, packed.size_bytes);
    }
    arena_done(&arena);
}

static void an_arena_refuses_as_much_and_only_known_bytes_are_not_looked_at(void **state)
{
    static const uint8_t long_form[] = {0x08, 0x00}; /* a zero spelled out */
    struct arena arena = {0};
    ProtobufCMessage *message = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(message_unpack_in(&arena, false, &exhibit__accept__descriptor, long_form, 2, &message, &err),
                     ERR_FORMAT);
    assert_non_null(strstr(err.text, "not in its shortest form"));
    assert_int_equal(message_unpack_in(&arena, false, &exhibit__accept__descriptor, "\xff", 1, &message, &err),
                     ERR_FORMAT);
    assert_null(message);
    assert_int_equal(message_unpack_in(&arena, true, &exhibit__accept__descriptor, long_form, 2, &message, &err), 0);
    assert_non_null(message);
    arena_done(&arena);
}

static void an_enum_that_may_stay_unset_may(void **state)
{
    Exhibit__StepPlan plan = EXHIBIT__STEP_PLAN__INIT;
    struct err err = {0};

    (void)state;
    plan.target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    assert_int_equal(message_check(&plan.base, &err), 0);
    plan.after_role = (Exhibit__Role)4;
    assert_int_equal(message_check(&plan.base, &err), ERR_FORMAT);
    assert_string_equal(err.text, "FORMAT 6.3: StepPlan.after_role is 4, which this version does not know");
    plan.after_role = EXHIBIT__ROLE__ROLE_PARENT;
    plan.target = EXHIBIT__STEP_TARGET__STEP_TARGET_NONE;
    assert_int_equal(message_check(&plan.base, &err), ERR_FORMAT);
    assert_string_equal(err.text, "FORMAT 6.3: StepPlan.target is not set");
}

static void utf8_is_told_from_all_else(void **state)
{
    static const char *const good[] = {
        "", "a", "\xc3\xbc", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc3",
                                      "\xc3\x41",
                                      "\xe0\x9f\xbf",
                                      "\xe2\x82",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(text_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(text_is_utf8(bad[i], strlen(bad[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacking_is_bounded_by_the_size_of_the_input),
        cmocka_unit_test(messages_of_any_size_come_out_of_one_arena),
        cmocka_unit_test(an_arena_refuses_as_much_and_only_known_bytes_are_not_looked_at),
        cmocka_unit_test(an_enum_that_may_stay_unset_may),
        cmocka_unit_test(utf8_is_told_from_all_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
