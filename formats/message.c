/*
 * The checks run over descriptors, so that a field added to the schema is checked without a line here. Knows by name
 * only which fields may be absent.
 */
#include "formats/message.h"

#include "formats/limits.h"
#include "proto/exhibit.pb-c.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Fields that may be empty, or an enum's zero, where all others of their sort must be set. */
static const struct {
    const ProtobufCMessageDescriptor *message;
    const char *field;
} optional_fields[] = {
    {&exhibit__recording_start__descriptor, "policy_sha256"},
    {&exhibit__process_identity__descriptor, "executable_sha256"},
    {&exhibit__freeze_entry__descriptor, "sha256"},
    {&exhibit__archive_member__descriptor, "sha256"},
    {&exhibit__artifact__descriptor, "sha256"},
    {&exhibit__archive_result__descriptor, "sha256"},
    {&exhibit__target_state__descriptor, "content_sha256"},
    {&exhibit__step_plan__descriptor, "after_role"},
};

static bool field_is_optional(const ProtobufCMessageDescriptor *message, const ProtobufCFieldDescriptor *field)
{
    for (size_t i = 0; i < sizeof optional_fields / sizeof *optional_fields; i++)
        if (optional_fields[i].message->name == message->name && strcmp(optional_fields[i].field, field->name) == 0)
            return true;
    return false;
}

/* The length that a bytes field of this name has, or 0 where any length will do. */
static size_t fixed_length(const char *name)
{
    size_t name_bytes = strlen(name);

    if (name_bytes >= 6 && strcmp(name + name_bytes - 6, "sha256") == 0)
        return DIGEST_BYTES;
    if (strcmp(name, "nonce") == 0)
        return NONCE_BYTES;
    return strcmp(name, "run_id") == 0 ? RUN_ID_BYTES : 0;
}

bool text_is_utf8(const void *from, size_t size_bytes)
{
    const uint8_t *at = from, *end = at + size_bytes;

    while (at < end) {
        uint8_t lead = *at++;
        size_t more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        /* The second byte's range alone rules out long forms, surrogates and what lies beyond U+10FFFF. */
        uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;

        if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || (size_t)(end - at) < more)
            return false;
        for (size_t i = 0; i < more; i++, low = 0x80, high = 0xbf) {
            if (*at < low || *at > high)
                return false;
            at++;
        }
    }
    return true;
}

static int check_enum(const ProtobufCMessageDescriptor *message, const ProtobufCFieldDescriptor *field, int value,
                      struct err *err)
{
    if (protobuf_c_enum_descriptor_get_value(field->descriptor, value) == NULL)
        return err_set(err, ERR_FORMAT, "FORMAT 6.3: %s.%s is %d, which this version does not know",
                       message->short_name, field->name, value);
    if (value == 0 && !field_is_optional(message, field))
        return err_set(err, ERR_FORMAT, "FORMAT 6.3: %s.%s is not set", message->short_name, field->name);
    return 0;
}

static int check_bytes(const ProtobufCMessageDescriptor *message, const ProtobufCFieldDescriptor *field, size_t length,
                       struct err *err)
{
    size_t wanted = fixed_length(field->name);

    if (wanted == 0 || length == wanted || (length == 0 && field_is_optional(message, field)))
        return 0;
    return err_set(err, ERR_FORMAT, "FORMAT 6.3: %s.%s has %zu bytes, not %zu", message->short_name, field->name,
                   length, wanted);
}

/* Checks item `index` of a field whose items begin at `items`. */
static int check_item(const ProtobufCMessageDescriptor *message, const ProtobufCFieldDescriptor *field,
                      const void *items, size_t index, struct err *err)
{
    const char *text;
    const ProtobufCMessage *inner;

    switch (field->type) {
    case PROTOBUF_C_TYPE_ENUM:
        return check_enum(message, field, ((const int *)items)[index], err);
    case PROTOBUF_C_TYPE_BYTES:
        return check_bytes(message, field, ((const ProtobufCBinaryData *)items)[index].len, err);
    case PROTOBUF_C_TYPE_STRING:
        text = ((const char *const *)items)[index];
        if (text != NULL && !text_is_utf8(text, strlen(text)))
            return err_set(err, ERR_FORMAT, "FORMAT 6.3: %s.%s is not UTF-8", message->short_name, field->name);
        return 0;
    case PROTOBUF_C_TYPE_MESSAGE:
        inner = ((const ProtobufCMessage *const *)items)[index];
        return inner == NULL ? 0 : message_check(inner, err); /* no message of ours holds its own kind */
    default:
        return 0;
    }
}

static int check_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, struct err *err)
{
    const char *base = (const char *)message;
    const void *items = base + field->offset;
    size_t count = 1;

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&count, base + field->quantifier_offset, sizeof count);
        items = *(const void *const *)items;
    }
    for (size_t i = 0; i < count; i++) {
        int code = check_item(message->descriptor, field, items, i, err);

        if (code < 0)
            return code;
    }
    return 0;
}

/*
 * A message that looks as if its type had none of the fields of a union but the one that is set: an event's has most of
 * its fields, and each is looked at several times by whoever checks, measures and packs. Shares all else with it.
 */
struct brief {
    ProtobufCMessageDescriptor descriptor;
    ProtobufCFieldDescriptor fields[16];
    _Alignas(max_align_t) char message[256];
};

/* Whether the field is of a union in which another one is set. */
static bool field_is_another(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    uint32_t chosen;

    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0)
        return false;
    memcpy(&chosen, (const char *)message + field->quantifier_offset, sizeof chosen);
    return chosen != field->id;
}

/* Makes the brief form in `room`. Returns the message itself where it is as short, or too large. */
static const ProtobufCMessage *brief_of(const ProtobufCMessage *message, struct brief *room)
{
    const ProtobufCMessageDescriptor *whole = message->descriptor;
    const size_t most = sizeof room->fields / sizeof *room->fields;
    unsigned count = 0;

    if (whole->n_fields <= most || whole->sizeof_message > sizeof room->message)
        return message;
    for (unsigned i = 0; i < whole->n_fields; i++) {
        if (field_is_another(message, &whole->fields[i]))
            continue;
        if (count == most)
            return message;
        room->fields[count++] = whole->fields[i];
    }
    room->descriptor = *whole;
    room->descriptor.fields = room->fields;
    room->descriptor.n_fields = count;
    memcpy(room->message, message, whole->sizeof_message);
    ((ProtobufCMessage *)room->message)->descriptor = &room->descriptor;
    return (const ProtobufCMessage *)room->message;
}

int message_check(const ProtobufCMessage *message, struct err *err)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;

    if (message->n_unknown_fields > 0)
        return err_set(err, ERR_FORMAT, "FORMAT 6.3: %s has field %u, which this version does not know",
                       descriptor->short_name, message->unknown_fields[0].tag);
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        int code = field_is_another(message, field) ? 0 : check_field(message, field, err);

        if (code < 0)
            return code;
    }
    return 0;
}

int message_pack(const ProtobufCMessage *message, size_t max_bytes, struct bytes *out, struct err *err)
{
    struct brief room;
    struct bytes packed = *out;
    size_t size_bytes;
    int code;

    message = brief_of(message, &room);
    code = message_check(message, err);
    if (code < 0)
        return code;
    packed.size_bytes = 0;
    size_bytes = protobuf_c_message_get_packed_size(message);
    code = bytes_reserve(&packed, size_bytes, max_bytes, err);
    if (code < 0)
        return err_wrap(err, "%s", message->descriptor->short_name);
    packed.size_bytes = protobuf_c_message_pack(message, packed.data);
    assert(packed.size_bytes == size_bytes);
    packed.data[size_bytes] = 0;
    *out = packed;
    return 0;
}

/* Memory for one unpacking. Two bytes of input can ask for a whole empty message, so there is an end to it. */
struct budget {
    size_t left_bytes;
    struct arena *arena; /* NULL: each piece is malloc's */
    bool spent;
    bool refused; /* the machine gave less than there was left */
};

static void *budget_take(void *context, size_t size_bytes)
{
    enum { HEAP_COST_BYTES = 16 };
    struct budget *budget = context;
    void *memory;

    if (budget->left_bytes < HEAP_COST_BYTES || size_bytes > budget->left_bytes - HEAP_COST_BYTES) {
        budget->spent = true;
        return NULL;
    }
    budget->left_bytes -= size_bytes + HEAP_COST_BYTES;
    memory = budget->arena == NULL ? malloc(size_bytes) : arena_take_unset(budget->arena, size_bytes);
    budget->refused |= memory == NULL;
    return memory;
}

static void budget_give(void *context, void *memory)
{
    struct budget *budget = context;

    if (budget->arena == NULL)
        free(memory);
}

/* Packed again it must be the same bytes: fields in another order have the same size. */
static int check_form(const ProtobufCMessage *message, const void *from, size_t size_bytes, struct err *err)
{
    AUTO_BYTES struct bytes again = {0};

    if (protobuf_c_message_get_packed_size(message) == size_bytes) {
        if (size_bytes == 0)
            return 0;
        if (bytes_reserve(&again, size_bytes, size_bytes, err) < 0)
            return err->code;
        again.size_bytes = protobuf_c_message_pack(message, again.data);
        if (memcmp(again.data, from, size_bytes) == 0)
            return 0;
    }
    return err_set(err, ERR_FORMAT, "FORMAT 6.3: %s of %zu bytes is not in its shortest form",
                   message->descriptor->short_name, size_bytes);
}

static int check_plain(const ProtobufCMessage *message, const void *from, size_t size_bytes, struct err *err)
{
    struct brief room;

    message = brief_of(message, &room);
    return message_check(message, err) < 0 ? err->code : check_form(message, from, size_bytes, err);
}

/* Unpacks and, unless `known`, checks a message; what it takes on the way is given back but for that in an arena. */
static int unpack(struct arena *arena, bool known, const ProtobufCMessageDescriptor *descriptor, const void *from,
                  size_t size_bytes, ProtobufCMessage **out, struct err *err)
{
    /* Real records take less than 24 times their size; the constant is for short ones. */
    enum { BYTES_PER_BYTE = 24, BASE_BYTES = 4 << 20 };
    struct budget budget = {.left_bytes = BASE_BYTES, .arena = arena};
    ProtobufCAllocator allocator = {.alloc = budget_take, .free = budget_give, .allocator_data = &budget};
    ProtobufCMessage *message;
    size_t more_bytes;

    if (__builtin_mul_overflow(size_bytes, (size_t)BYTES_PER_BYTE, &more_bytes) ||
        __builtin_add_overflow(budget.left_bytes, more_bytes, &budget.left_bytes))
        return err_set(err, ERR_LIMIT, "%s of %zu bytes", descriptor->short_name, size_bytes);
    message = protobuf_c_message_unpack(descriptor, &allocator, size_bytes, from);
    if (message == NULL && budget.refused)
        return err_set(err, ERR_SYSTEM, "memory for a %s of %zu bytes", descriptor->short_name, size_bytes);
    if (message == NULL && budget.spent)
        return err_set(err, ERR_LIMIT, "%s of %zu bytes takes more memory than its size explains",
                       descriptor->short_name, size_bytes);
    if (message == NULL)
        return err_set(err, ERR_FORMAT, "%zu bytes are no %s", size_bytes, descriptor->short_name);
    if (!known && check_plain(message, from, size_bytes, err) < 0) {
        protobuf_c_message_free_unpacked(message, &allocator);
        return err->code;
    }
    *out = message;
    return 0;
}

int message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *from, size_t size_bytes,
                   ProtobufCMessage **out, struct err *err)
{
    return unpack(NULL, false, descriptor, from, size_bytes, out, err);
}

int message_unpack_in(struct arena *arena, bool known, const ProtobufCMessageDescriptor *descriptor, const void *from,
                      size_t size_bytes, ProtobufCMessage **out, struct err *err)
{
    return unpack(arena, known, descriptor, from, size_bytes, out, err);
}

int message_copy(struct arena *arena, const ProtobufCMessage *message, ProtobufCMessage **out, struct err *err)
{
    AUTO_BYTES struct bytes packed = {0};
    size_t size_bytes = protobuf_c_message_get_packed_size(message);

    if (bytes_reserve(&packed, size_bytes, SIZE_MAX, err) < 0)
        return err->code;
    (void)protobuf_c_message_pack(message, packed.data);
    return unpack(arena, true, message->descriptor, packed.data, size_bytes, out, err);
}
