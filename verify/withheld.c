#include "verify/withheld.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The beginning of an object, and its size. */
struct withheld_look {
    uint8_t salt[WITHHELD_SALT_BYTES];
    uint64_t size_bytes;
};

static int withheld_take(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct withheld_look *look = context;
    size_t have = look->size_bytes < WITHHELD_SALT_BYTES ? (size_t)look->size_bytes : WITHHELD_SALT_BYTES;
    size_t more = WITHHELD_SALT_BYTES - have < size_bytes ? WITHHELD_SALT_BYTES - have : size_bytes;

    (void)err;
    if (more > 0)
        memcpy(look->salt + have, piece, more);
    look->size_bytes += size_bytes;
    return 0;
}

/* One object that is there: its digest is checked where it is read, so what it holds is what the freeze says. */
static int withheld_check(struct withheld *withheld, struct pack *pack, const struct digest *digest,
                          const Exhibit__FreezeEntry *entry, struct findings *findings, struct err *err)
{
    struct withheld_look look = {0};
    int code = pack_read_pieces(pack, PACK_INPUT, digest, withheld_take, &look, err);

    if (code < 0)
        return finding_of_error(findings, "a local input's object", err);
    if (withheld->has_salt && memcmp(withheld->salt, look.salt, WITHHELD_SALT_BYTES) != 0)
        finding_add(findings, "FORMAT 7.11: \"%.*s\" of a local input does not begin with the salt of the others",
                    (int)entry->path.len, (const char *)entry->path.data);
    if (!withheld->has_salt)
        memcpy(withheld->salt, look.salt, WITHHELD_SALT_BYTES);
    withheld->has_salt = true;
    return 0;
}

static int withheld_order(const void *a, const void *b)
{
    return memcmp(a, b, DIGEST_BYTES);
}

/* How many different digests there are. */
static uint32_t withheld_distinct(struct digest *digests, size_t count)
{
    uint32_t distinct = 0;

    if (count > 0)
        qsort(digests, count, sizeof *digests, withheld_order);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || !digest_equal(&digests[i - 1], &digests[i]);
    return distinct;
}

int withheld_follow(struct withheld *withheld, struct pack *pack, const Exhibit__FreezeList *list, const char *input,
                    struct findings *findings, struct err *err)
{
    AUTO_FREE struct digest *missing = calloc(list->n_entries + 1, sizeof *missing);
    AUTO_FREE struct digest *present = calloc(list->n_entries + 1, sizeof *present);
    size_t missing_count = 0, present_count = 0;
    struct withheld_input *told;

    if (withheld->checked == NULL)
        withheld->checked = calloc(pack_object_count(pack, PACK_INPUT) / 8 + 1, 1);
    if (missing == NULL || present == NULL || withheld->checked == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    for (size_t i = 0; i < list->n_entries; i++) {
        const Exhibit__FreezeEntry *entry = list->entries[i];
        struct digest digest;
        uint64_t object_bytes;
        uint32_t number;

        if (!S_ISREG(entry->mode) || !digest_from(entry->sha256.data, entry->sha256.len, &digest))
            continue;
        if (!pack_number(pack, PACK_INPUT, &digest, &number)) {
            missing[missing_count++] = digest;
            continue;
        }
        present[present_count++] = digest;
        object_bytes = pack_object_at(pack, PACK_INPUT, number).size_bytes;
        if (object_bytes < WITHHELD_SALT_BYTES || object_bytes - WITHHELD_SALT_BYTES != entry->size_bytes) {
            finding_add(findings, "FORMAT 7.11: the object of a local file of %" PRIu64 " bytes has %" PRIu64,
                        entry->size_bytes, object_bytes);
            continue;
        }
        if ((withheld->checked[number / 8] >> (number % 8)) & 1)
            continue;
        withheld->checked[number / 8] |= (uint8_t)(1u << (number % 8));
        if (withheld_check(withheld, pack, &digest, entry, findings, err) < 0)
            return err->code;
    }
    if (withheld->count == LIMIT_INPUTS + 1) /* more freezes than a plan can have: a finding of others */
        return 0;
    told = &withheld->inputs[withheld->count++];
    (void)snprintf(told->name, sizeof told->name, "%s", input);
    told->missing = withheld_distinct(missing, missing_count);
    told->present = withheld_distinct(present, present_count);
    return 0;
}

uint64_t withheld_missing(const struct withheld *withheld)
{
    uint64_t missing = 0;

    for (size_t i = 0; i < withheld->count; i++)
        missing += withheld->inputs[i].missing;
    return missing;
}

void withheld_done(struct withheld *withheld)
{
    free(withheld->checked);
    withheld->checked = NULL;
}
