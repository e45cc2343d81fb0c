#include "record/salvage_inputs.h"

#include <string.h>

#define LISTS_MAX_BYTES ((LIMIT_INPUTS + 1) * sizeof(struct salvage_list))

void salvage_inputs_done(struct salvage_inputs *inputs)
{
    plan_done(&inputs->plan);
    bytes_done(&inputs->lists);
    needs_done(&inputs->needs);
}

void salvage_inputs_start(struct salvage_inputs *inputs, const Exhibit__RecordingStart *start)
{
    (void)digest_from(start->plan_sha256.data, start->plan_sha256.len, &inputs->plan_digest);
}

int salvage_inputs_freeze(struct salvage_inputs *inputs, const Exhibit__Freeze *freeze, struct err *err)
{
    struct salvage_list list = {0};

    if (freeze->moment != EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE || strlen(freeze->input) > LIMIT_NAME_BYTES ||
        !digest_from(freeze->list_sha256.data, freeze->list_sha256.len, &list.digest))
        return 0;
    (void)strcpy(list.input, freeze->input);
    return bytes_add(&inputs->lists, &list, sizeof list, LISTS_MAX_BYTES, err);
}

int salvage_inputs_plan(struct salvage_inputs *inputs, const struct pack_found *found, struct err *err)
{
    struct err other;

    if (inputs->has_plan || found->part != PACK_OBSERVATION || found->size_bytes > LIMIT_YAML_BYTES ||
        !digest_equal(&found->digest, &inputs->plan_digest))
        return 0;
    inputs->has_plan = plan_parse_recorded(found->content, (size_t)found->size_bytes, &inputs->plan, &other) == 0;
    if (inputs->has_plan)
        return 0;
    plan_done(&inputs->plan);
    if (other.code != ERR_SYSTEM)
        return 0;
    *err = other;
    return err->code;
}

int salvage_inputs_list(struct salvage_inputs *inputs, const struct pack_found *found, struct err *err)
{
    const struct salvage_list *lists = (const struct salvage_list *)inputs->lists.data;
    AUTO_BYTES struct bytes list = {0};

    if (found->part != PACK_OBSERVATION)
        return 0;
    for (size_t i = 0; i < inputs->lists.size_bytes / sizeof *lists; i++) {
        if (!digest_equal(&found->digest, &lists[i].digest) ||
            !needs_plan_keeps(inputs->has_plan ? &inputs->plan : NULL, lists[i].input))
            continue;
        if (pack_found_read(found, LIMIT_FREEZE_BYTES, &list, err) < 0)
            return err->code;
        return needs_add_list(&inputs->needs, list.data, list.size_bytes, err);
    }
    return 0;
}
