#include "record/needles.h"

#include "base/cleanup.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No bound: a value is bounded by who gives it. */
#define ANY_BYTES SIZE_MAX

struct needle {
    struct bytes text;
    unsigned owner;
    enum needle_form form;
};

struct needles {
    struct needle *items;
    size_t count;
    size_t longest_bytes;
};

struct needles *needles_new(void)
{
    return calloc(1, sizeof(struct needles));
}

static void text_wipe(struct bytes *text)
{
    if (text->data != NULL)
        explicit_bzero(text->data, text->room_bytes);
    bytes_done(text);
}

static bool is_there(const struct needles *needles, const void *text, size_t size_bytes)
{
    for (size_t i = 0; i < needles->count; i++)
        if (needles->items[i].text.size_bytes == size_bytes &&
            memcmp(needles->items[i].text.data, text, size_bytes) == 0)
            return true;
    return false;
}

/* Adds one form, once. */
static int form_add(struct needles *needles, const void *text, size_t size_bytes, unsigned owner, enum needle_form form,
                    struct err *err)
{
    struct needle *grown;

    if (is_there(needles, text, size_bytes))
        return 0;
    grown = reallocarray(needles->items, needles->count + 1, sizeof *grown);
    if (grown == NULL)
        return err_set_errno(err, "memory for what is looked for");
    needles->items = grown;
    grown[needles->count] = (struct needle){.text = {.never_spilled = true}, .owner = owner, .form = form};
    if (bytes_add(&grown[needles->count].text, text, size_bytes, ANY_BYTES, err) < 0)
        return err->code;
    needles->count++;
    if (size_bytes > needles->longest_bytes)
        needles->longest_bytes = size_bytes;
    return 0;
}

static int hex_add(struct needles *needles, const uint8_t *value, size_t size_bytes, unsigned owner, struct err *err)
{
    struct bytes text = {.never_spilled = true};
    int code = bytes_reserve(&text, 2 * size_bytes, ANY_BYTES, err);

    if (code == 0) {
        hex_encode(value, size_bytes, (char *)text.data);
        code = form_add(needles, text.data, 2 * size_bytes, owner, NEEDLE_HEX, err);
    }
    for (size_t i = 0; code == 0 && i < 2 * size_bytes; i++)
        if (text.data[i] >= 'a')
            text.data[i] = (uint8_t)(text.data[i] - 'a' + 'A');
    if (code == 0)
        code = form_add(needles, text.data, 2 * size_bytes, owner, NEEDLE_HEX, err);
    text_wipe(&text);
    return code;
}

/* Adds the characters of base64 that the value alone makes where `before` bytes of a group of three come before it. */
static int base64_add(struct needles *needles, const uint8_t *value, size_t size_bytes, size_t before, unsigned owner,
                      struct err *err)
{
    size_t whole_bytes = before + size_bytes, first = (8 * before + 5) / 6, end = 8 * whole_bytes / 6;
    struct bytes raw = {.never_spilled = true}, text = {.never_spilled = true};
    int code = bytes_add(&raw, "\0\0", before, ANY_BYTES, err);

    if (code == 0)
        code = bytes_add(&raw, value, size_bytes, ANY_BYTES, err);
    if (code == 0)
        code = bytes_reserve(&text, whole_bytes / 3 * 4 + 4, ANY_BYTES, err);
    if (code == 0) {
        (void)EVP_EncodeBlock(text.data, raw.data, (int)whole_bytes);
        code = form_add(needles, text.data + first, end - first, owner, NEEDLE_BASE64, err);
    }
    for (size_t i = first; code == 0 && i < end; i++)
        text.data[i] = text.data[i] == '+' ? '-' : text.data[i] == '/' ? '_' : text.data[i];
    if (code == 0)
        code = form_add(needles, text.data + first, end - first, owner, NEEDLE_BASE64, err);
    text_wipe(&raw);
    text_wipe(&text);
    return code;
}

static int escaped_add(struct needles *needles, const uint8_t *value, size_t size_bytes, unsigned owner,
                       struct err *err)
{
    struct bytes text = {.never_spilled = true};
    int code = 0;

    for (size_t i = 0; code == 0 && i < size_bytes; i++) {
        bool plain = value[i] >= ' ' && value[i] <= '~' && value[i] != '\\';
        char escape[5];

        (void)snprintf(escape, sizeof escape, plain ? "%c" : value[i] == '\\' ? "\\\\" : "\\x%02x", value[i]);
        code = bytes_add(&text, escape, strlen(escape), ANY_BYTES, err);
    }
    if (code == 0)
        code = form_add(needles, text.data, text.size_bytes, owner, NEEDLE_ESCAPED, err);
    text_wipe(&text);
    return code;
}

int needles_add(struct needles *needles, const void *value, size_t size_bytes, unsigned owner, struct err *err)
{
    int code = form_add(needles, value, size_bytes, owner, NEEDLE_PLAIN, err);

    if (code == 0)
        code = hex_add(needles, value, size_bytes, owner, err);
    for (size_t before = 0; code == 0 && before < 3; before++)
        code = base64_add(needles, value, size_bytes, before, owner, err);
    return code < 0 ? code : escaped_add(needles, value, size_bytes, owner, err);
}

bool needles_find(const struct needles *needles, const void *from, size_t size_bytes, struct needle_find *out)
{
    for (size_t i = 0; i < needles->count; i++) {
        const struct needle *needle = &needles->items[i];
        const uint8_t *found = size_bytes < needle->text.size_bytes
                                   ? NULL
                                   : memmem(from, size_bytes, needle->text.data, needle->text.size_bytes);

        if (found == NULL)
            continue;
        *out = (struct needle_find){needle->owner, needle->form, (size_t)(found - (const uint8_t *)from),
                                    needle->text.size_bytes};
        return true;
    }
    return false;
}

void needles_free(struct needles *needles)
{
    for (size_t i = 0; needles != NULL && i < needles->count; i++)
        text_wipe(&needles->items[i].text);
    if (needles != NULL)
        free(needles->items);
    free(needles);
}

int needle_flow_look(struct needle_flow *flow, const struct needles *needles, const void *from, size_t size_bytes,
                     bool *out_found, struct needle_find *out, struct err *err)
{
    size_t kept = needles->longest_bytes == 0 ? 0 : needles->longest_bytes - 1, over;
    struct bytes *tail = &flow->tail;

    *out_found = needles_find(needles, from, size_bytes, out);
    if (*out_found || kept == 0)
        return 0;
    over = size_bytes < kept ? size_bytes : kept;
    tail->never_spilled = true; /* it may be the beginning of a value */
    if (bytes_add(tail, from, over, ANY_BYTES, err) < 0)
        return err->code;
    *out_found = needles_find(needles, tail->data, tail->size_bytes, out);
    if (size_bytes > over) {
        tail->size_bytes = 0; /* what is kept is the end of this piece alone */
        if (bytes_add(tail, (const uint8_t *)from + size_bytes - kept, kept, ANY_BYTES, err) < 0)
            return err->code;
    } else if (tail->size_bytes > kept) {
        memmove(tail->data, tail->data + tail->size_bytes - kept, kept);
        tail->size_bytes = kept;
    }
    return 0;
}

void needle_flow_done(struct needle_flow *flow)
{
    text_wipe(&flow->tail);
}

const char *needle_form_text(enum needle_form form)
{
    static const char *const texts[] = {"", "as it is", "in hexadecimal", "in base64", "escaped"};

    return texts[form];
}
