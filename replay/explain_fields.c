/*
 * Messages as JSON by their descriptors, so that a field added to the schema is told without a line here. Bounded: long
 * values are cut and say so.
 */
#include "replay/explain_build.h"

#include "base/cleanup.h"
#include "formats/claim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *explain_escaped(const void *from, size_t size_bytes)
{
    AUTO_FREE char *text = NULL;
    size_t text_bytes = 0;
    FILE *stream = open_memstream(&text, &text_bytes);
    bool whole;

    if (stream == NULL)
        return NULL;
    text_print_escaped(stream, from, size_bytes);
    whole = !ferror(stream);
    return fclose(stream) == 0 && whole ? json_stringn(text, text_bytes) : NULL;
}

json_t *explain_number(uint64_t number)
{
    char digits[24];

    if (number <= INT64_MAX)
        return json_integer((json_int_t)number);
    (void)snprintf(digits, sizeof digits, "%" PRIu64, number);
    return json_string(digits);
}

const char *explain_enum_name(const ProtobufCEnumDescriptor *descriptor, int value)
{
    const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(descriptor, value);

    return found == NULL ? "" : found->name;
}

/* Digests and nonces are told in hexadecimal, all other bytes as they are. */
static bool is_digest(const ProtobufCFieldDescriptor *field)
{
    size_t name_bytes = strlen(field->name);

    return (name_bytes >= 6 && strcmp(field->name + name_bytes - 6, "sha256") == 0) ||
           strcmp(field->name, "nonce") == 0 || strcmp(field->name, "run_id") == 0;
}

static json_t *data_json(const ProtobufCFieldDescriptor *field, const void *from, size_t size_bytes)
{
    char digits[2 * DIGEST_BYTES + 1];

    if (is_digest(field) && size_bytes <= DIGEST_BYTES) {
        hex_encode(from, size_bytes, digits);
        return json_string(digits);
    }
    if (size_bytes <= EXPLAIN_FIELD_BYTES)
        return explain_escaped(from, size_bytes);
    return json_pack("{s:I, s:o}", "size", (json_int_t)size_bytes, "begins",
                     explain_escaped(from, EXPLAIN_FIELD_BYTES));
}

/* Whether a value is the one that proto3 does not spell out. */
static bool is_default(const ProtobufCFieldDescriptor *field, const void *item)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return *(const char *const *)item == NULL || **(const char *const *)item == 0;
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)item)->len == 0;
    case PROTOBUF_C_TYPE_MESSAGE:
        return *(const ProtobufCMessage *const *)item == NULL;
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)item == 0;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_INT64:
        return *(const uint64_t *)item == 0;
    default:
        return *(const uint32_t *)item == 0;
    }
}

/* Item `index` of a field whose items begin at `items`. */
static json_t *item_json(const ProtobufCFieldDescriptor *field, const void *items, size_t index)
{
    const ProtobufCBinaryData *data;
    const char *text;

    switch (field->type) {
    case PROTOBUF_C_TYPE_ENUM:
        return json_string(explain_enum_name(field->descriptor, ((const int *)items)[index]));
    case PROTOBUF_C_TYPE_BYTES:
        data = &((const ProtobufCBinaryData *)items)[index];
        return data_json(field, data->data, data->len);
    case PROTOBUF_C_TYPE_STRING:
        text = ((const char *const *)items)[index];
        return data_json(field, text, strlen(text));
    case PROTOBUF_C_TYPE_MESSAGE:
        return explain_fields(((const ProtobufCMessage *const *)items)[index]);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(((const protobuf_c_boolean *)items)[index]);
    case PROTOBUF_C_TYPE_UINT64:
        return explain_number(((const uint64_t *)items)[index]);
    case PROTOBUF_C_TYPE_INT64:
        return json_integer((json_int_t)((const int64_t *)items)[index]);
    default:
        return json_integer((json_int_t)((const uint32_t *)items)[index]);
    }
}

static json_t *items_json(const ProtobufCFieldDescriptor *field, const void *items, size_t count)
{
    json_t *all = json_array();

    for (size_t i = 0; i < count && i < EXPLAIN_ITEMS && all != NULL; i++)
        if (json_array_append_new(all, item_json(field, items, i)) < 0) {
            json_decref(all);
            all = NULL;
        }
    if (all != NULL && count > EXPLAIN_ITEMS &&
        json_array_append_new(all, json_pack("{s:I}", "left_out", (json_int_t)(count - EXPLAIN_ITEMS))) < 0) {
        json_decref(all);
        all = NULL;
    }
    return all;
}

/* The value of a field; *out_told is false where it is its default. */
static json_t *field_json(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, bool *out_told)
{
    const char *base = (const char *)message;
    const void *items = base + field->offset;

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t count;

        memcpy(&count, base + field->quantifier_offset, sizeof count);
        *out_told = count > 0;
        return count == 0 ? NULL : items_json(field, *(const void *const *)items, count);
    }
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        uint32_t chosen;

        memcpy(&chosen, base + field->quantifier_offset, sizeof chosen);
        *out_told = chosen == field->id;
    } else {
        *out_told = !is_default(field, items);
    }
    return *out_told ? item_json(field, items, 0) : NULL;
}

json_t *explain_fields(const ProtobufCMessage *message)
{
    json_t *all = json_object();

    for (unsigned i = 0; i < message->descriptor->n_fields && all != NULL; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        bool told;
        json_t *value = field_json(message, field, &told);

        if (told && json_object_set_new(all, field->name, value) < 0) {
            json_decref(all);
            all = NULL;
        }
    }
    return all;
}
