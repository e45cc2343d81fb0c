#include "fake_pack.h"

#include "formats/pack.h"

int (*fake_pack_object)(const struct digest *digest, size_t max_bytes, struct bytes *out, struct err *err);

static const uint8_t *object;
static size_t object_bytes;

static int one_object(const struct digest *digest, size_t max_bytes, struct bytes *out, struct err *err)
{
    (void)digest;
    out->size_bytes = 0;
    return bytes_add(out, object, object_bytes, max_bytes, err);
}

void fake_pack_of(const uint8_t *data, size_t size_bytes)
{
    object = data;
    object_bytes = size_bytes;
    fake_pack_object = one_object;
}

/* The linker's names for what stands in. */
int __wrap_pack_read(struct pack *pack, enum pack_part part, const struct digest *digest, size_t max_bytes,
                     struct bytes *out, struct err *err);
struct digest __wrap_pack_receipt(const struct pack *pack);
bool __wrap_pack_claim(const struct pack *pack, struct digest *out);

int __wrap_pack_read(struct pack *pack, enum pack_part part, const struct digest *digest, size_t max_bytes,
                     struct bytes *out, struct err *err)
{
    (void)pack;
    (void)part;
    return fake_pack_object(digest, max_bytes, out, err);
}

struct digest __wrap_pack_receipt(const struct pack *pack)
{
    (void)pack;
    return (struct digest){0};
}

bool __wrap_pack_claim(const struct pack *pack, struct digest *out)
{
    (void)pack;
    *out = (struct digest){0};
    return true;
}
