/*
 * What was found out of an object stays known: two bits for each in the table.
 */
#include "formats/store_inputs.h"

#include "formats/store_blocks.h"

#include <stdlib.h>
#include <string.h>

/* A pack with so many objects that could not be read is not worth the time that the next one would take. */
#define FAULTS_MAX 65536u

enum { SEEN_RIGHT = 1, SEEN_WRONG = 2 };

struct store_inputs {
    const struct store *store;
    struct store_table table;
    struct store_blocks blocks;
    bool search_rest;
    uint8_t *seen; /* two bits for each object in the table */
};

void store_inputs_free(struct store_inputs *inputs)
{
    if (inputs == NULL)
        return;
    store_blocks_done(&inputs->blocks);
    store_table_done(&inputs->table);
    free(inputs->seen);
    free(inputs);
}

int store_inputs_new(const struct store *store, uint32_t object_max, bool search_rest, struct store_inputs **out,
                     struct err *err)
{
    struct store_inputs *inputs = calloc(1, sizeof *inputs);

    if (inputs == NULL)
        return err_set_errno(err, "memory for a table of inputs");
    inputs->store = store;
    inputs->search_rest = search_rest;
    inputs->blocks.table = &inputs->table;
    if (store_table_fill(&inputs->table, store, object_max, err) == 0) {
        inputs->seen = calloc(1, inputs->table.entry_count / 4 + 1);
        if (inputs->seen != NULL) {
            *out = inputs;
            return 0;
        }
        (void)err_set_errno(err, "memory for a table of inputs");
    }
    store_inputs_free(inputs);
    return err->code;
}

void store_inputs_trust(struct store_inputs *inputs, uint32_t pack)
{
    inputs->table.sources[pack].is_trusted = true;
}

bool store_inputs_may_hold(const struct store_inputs *inputs, uint64_t size_bytes)
{
    return inputs->search_rest || store_table_size_may_be(&inputs->table, size_bytes);
}

/* Packs as they are found. */
struct finding_packs {
    uint32_t *out;
    size_t count, most;
};

static bool pack_found(void *context, const struct store_listed *listed)
{
    struct finding_packs *finding = context;

    if (finding->count < finding->most)
        finding->out[finding->count++] = listed->pack;
    return finding->count == finding->most;
}

size_t store_inputs_find(struct store_inputs *inputs, const struct digest *digest, uint32_t *out, size_t most)
{
    struct finding_packs finding = {.out = out, .most = most};

    if (most > 0)
        (void)store_table_visit(&inputs->table, digest, inputs->search_rest, pack_found, &finding);
    return finding.count;
}

static bool first_found(void *context, const struct store_listed *listed)
{
    *(struct store_listed *)context = *listed;
    return true;
}

bool store_inputs_listed(struct store_inputs *inputs, const struct digest *digest, uint32_t *out_pack,
                         uint64_t *out_size_bytes)
{
    struct store_listed listed;

    if (!store_table_visit(&inputs->table, digest, inputs->search_rest, first_found, &listed))
        return false;
    *out_pack = listed.pack;
    *out_size_bytes = listed.object.size_bytes;
    return true;
}

/* An object that is looked for. */
struct holding {
    struct store_inputs *inputs;
    uint64_t size_bytes;
};

static unsigned seen_get(const struct store_inputs *inputs, uint32_t number)
{
    return number == UINT32_MAX ? 0 : (unsigned)inputs->seen[number / 4] >> number % 4 * 2 & 3;
}

static void seen_set(struct store_inputs *inputs, uint32_t number, unsigned what)
{
    if (number != UINT32_MAX)
        inputs->seen[number / 4] |= (uint8_t)(what << number % 4 * 2);
}

/* Notes the first fault of a pack; what is false was made so, and nothing of that pack is believed any more. */
static void fault_note(struct store_inputs *inputs, const struct store_listed *listed, const struct err *fault)
{
    struct store_source *source = &inputs->table.sources[listed->pack];
    const struct digest receipt = store_receipt(inputs->store, listed->pack);
    char name[STORE_NAME_BYTES];

    store_pack_name(&receipt, name);
    if (source->fault_count++ == 0)
        store_note(inputs->store,
                   "%s: %.700s; what cannot be read there is kept anew; see exhibit-record check --store", name,
                   fault->text);
    if (fault->code == ERR_MISMATCH || source->fault_count == FAULTS_MAX)
        source->is_distrusted = true;
}

static bool listed_holds(void *context, const struct store_listed *listed)
{
    struct holding *holding = context;
    struct store_inputs *inputs = holding->inputs;
    const struct store_source *source = &inputs->table.sources[listed->pack];
    unsigned seen = seen_get(inputs, listed->number);
    struct err fault;

    if ((holding->size_bytes != STORE_ANY_SIZE && listed->object.size_bytes != holding->size_bytes) ||
        seen == SEEN_WRONG)
        return false;
    if (source->is_trusted || seen == SEEN_RIGHT)
        return true;
    if (source->is_distrusted)
        return false;
    if (store_blocks_check(&inputs->blocks, listed, &fault) == 0) {
        seen_set(inputs, listed->number, SEEN_RIGHT);
        return true;
    }
    seen_set(inputs, listed->number, SEEN_WRONG);
    fault_note(inputs, listed, &fault);
    return false;
}

bool store_inputs_holds(struct store_inputs *inputs, const struct digest *digest, uint64_t size_bytes)
{
    struct holding holding = {.inputs = inputs, .size_bytes = size_bytes};

    return store_table_visit(&inputs->table, digest, inputs->search_rest, listed_holds, &holding);
}
