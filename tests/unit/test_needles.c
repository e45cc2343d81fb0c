/* record/needles: a value is found in every form, whatever stands around it and however it is cut. */
#include "record/needles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/evp.h>

static const uint8_t value[] = "tok\xfb\xef\xbe\xff-9\n\\z";
enum { VALUE_BYTES = sizeof value - 1, ROOM_BYTES = 512 };

static struct needles *of(const void *bytes, size_t size_bytes)
{
    struct needles *needles = needles_new();
    struct err err = {0};

    assert_non_null(needles);
    assert_int_equal(needles_add(needles, bytes, size_bytes, 3, &err), 0);
    return needles;
}

static void assert_found(const struct needles *needles, const void *from, size_t size_bytes, enum needle_form form)
{
    struct needle_find find = {0};

    assert_true(needles_find(needles, from, size_bytes, &find));
    assert_int_equal(find.owner, 3);
    assert_int_equal(find.form, form);
}

static void each_form_is_found(void **state)
{
    struct needles *needles = of(value, VALUE_BYTES);
    char text[ROOM_BYTES] = "xx";

    (void)state;
    memcpy(text + 2, value, VALUE_BYTES);
    assert_found(needles, text, ROOM_BYTES, NEEDLE_PLAIN);
    hex_encode(value, VALUE_BYTES, text + 2);
    assert_found(needles, text, strlen(text), NEEDLE_HEX);
    for (char *at = text; *at != 0; at++)
        if (*at >= 'a' && *at <= 'f')
            *at = (char)(*at - 32);
    assert_found(needles, text, strlen(text), NEEDLE_HEX);
    (void)snprintf(text, sizeof text, "%s", "tok\\xfb\\xef\\xbe\\xff-9\\x0a\\\\z");
    assert_found(needles, text, strlen(text), NEEDLE_ESCAPED);
    needles_free(needles);
}

static void base64_is_found_wherever_the_value_begins_in_what_is_encoded(void **state)
{
    struct needles *needles = of(value, VALUE_BYTES);

    (void)state;
    for (size_t before = 0; before < 7; before++) {
        for (size_t after = 0; after < 4; after++) {
            uint8_t raw[64] = "\x5a\xa5\xff";
            char text[ROOM_BYTES];

            memcpy(raw + before, value, VALUE_BYTES);
            memset(raw + before + VALUE_BYTES, 0x99, after);
            (void)EVP_EncodeBlock((unsigned char *)text, raw, (int)(before + VALUE_BYTES + after));
            assert_found(needles, text, strlen(text), NEEDLE_BASE64);
            for (char *at = text; *at != 0; at++)
                *at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
            assert_found(needles, text, strlen(text), NEEDLE_BASE64);
        }
    }
    needles_free(needles);
}

static void another_value_is_not_found(void **state)
{
    struct needles *needles = of(value, VALUE_BYTES);
    uint8_t other[VALUE_BYTES];
    struct needle_find find;

    (void)state;
    memcpy(other, value, VALUE_BYTES);
    other[VALUE_BYTES - 1] ^= 1;
    assert_false(needles_find(needles, other, VALUE_BYTES, &find));
    assert_false(needles_find(needles, value, VALUE_BYTES - 1, &find));
    assert_false(needles_find(needles, "", 0, &find));
    needles_free(needles);
}

/* Feeds bytes in pieces of one size; whether it was found. */
static bool flows(const struct needles *needles, const void *from, size_t size_bytes, size_t piece_bytes)
{
    struct needle_flow flow = {0};
    struct needle_find find = {0};
    struct err err = {0};
    bool found = false;

    for (size_t at = 0; at < size_bytes && !found; at += piece_bytes) {
        size_t piece = size_bytes - at < piece_bytes ? size_bytes - at : piece_bytes;

        assert_int_equal(needle_flow_look(&flow, needles, (const uint8_t *)from + at, piece, &found, &find, &err), 0);
    }
    needle_flow_done(&flow);
    return found;
}

static void it_is_found_over_the_borders_of_pieces_of_any_size(void **state)
{
    struct needles *needles = of(value, VALUE_BYTES);
    char text[ROOM_BYTES];

    (void)state;
    for (size_t begin = 0; begin < 100; begin++) {
        for (size_t piece = 1; piece < 80; piece++) {
            memset(text, '.', sizeof text);
            memcpy(text + begin, value, VALUE_BYTES);
            assert_true(flows(needles, text, 200, piece));
            text[begin + 2] ^= 1;
            assert_false(flows(needles, text, 200, piece));
            memset(text, '.', sizeof text);
            hex_encode(value, VALUE_BYTES, text + begin);
            text[begin + 2 * (size_t)VALUE_BYTES] = '.';
            assert_true(flows(needles, text, 200, piece));
        }
    }
    needles_free(needles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_is_found),
        cmocka_unit_test(base64_is_found_wherever_the_value_begins_in_what_is_encoded),
        cmocka_unit_test(another_value_is_not_found),
        cmocka_unit_test(it_is_found_over_the_borders_of_pieces_of_any_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
