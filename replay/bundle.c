/*
 * The order of a replay: receipt, tables, derivation, oracle, judgement. Inputs are never read.
 */
#include "replay/bundle.h"

#include "replay/judge.h"

#include <stdlib.h>
#include <string.h>

/* Reads the receipt and its log into derived tables. */
static int read_facts(struct bundle *bundle, bool *out_partial, struct err *err)
{
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    int code = receipt_read(bundle->pack, &arena, &receipt, err);

    if (code < 0)
        return code;
    *out_partial = receipt->partial;
    code = events_read(bundle->pack, receipt->events, tables_take, &bundle->facts.tables, err);
    if (code == 0)
        code = tables_finish(&bundle->facts.tables, err);
    return code < 0 ? code : facts_derive(&bundle->facts, err);
}

/* Parses the oracle that was recorded. One that is no oracle is a fault of the bundle, not of the caller. */
static int read_recorded_oracle(struct bundle *bundle, const struct digest *digest, struct err *err)
{
    AUTO_BYTES struct bytes text = {0};
    int code = source_object(&bundle->source, digest, LIMIT_YAML_BYTES, &text, err);

    if (code == 0)
        code = oracle_parse("the recorded oracle", text.data == NULL ? "" : (const char *)text.data, text.size_bytes,
                            &bundle->recorded_oracle, err);
    if (code == ERR_USAGE)
        err->code = ERR_FORMAT;
    return code < 0 ? err->code : 0;
}

static int replay(struct bundle *bundle, int fd, const struct oracle *oracle, struct err *err)
{
    struct judge_request request = {.oracle = bundle->oracle = oracle == NULL ? &bundle->recorded_oracle : oracle};
    const ProtobufCBinaryData *recorded;
    int code = pack_open_observations(fd, &bundle->pack, err);

    if (code < 0)
        return code;
    bundle->source = source_of_pack(bundle->pack);
    bundle->facts.source = &bundle->source;
    request.receipt = pack_receipt(bundle->pack);
    code = read_facts(bundle, &request.partial, err);
    if (code < 0)
        return code;
    recorded = &bundle->facts.tables.recording->oracle_sha256;
    if (!digest_from(recorded->data, recorded->len, &request.recorded_oracle))
        return err_set(err, ERR_FORMAT, "event 1: it names no oracle");
    if (oracle == NULL)
        code = read_recorded_oracle(bundle, &request.recorded_oracle, err);
    if (code == 0)
        code = judge_facts(&bundle->facts, &request, &bundle->claim, err);
    return code < 0 ? code : claim_read(bundle->pack, &bundle->facts.tables.arena, &bundle->recorded, err);
}

int bundle_replay(int fd, const struct oracle *oracle, struct bundle **out, struct err *err)
{
    struct bundle *bundle = calloc(1, sizeof *bundle);
    int code;

    *out = NULL;
    if (bundle == NULL)
        return err_set_errno(err, "memory for a bundle");
    code = replay(bundle, fd, oracle, err);
    if (code < 0)
        bundle_free(bundle);
    else
        *out = bundle;
    return code;
}

void bundle_free(struct bundle *bundle)
{
    if (bundle == NULL)
        return;
    facts_done(&bundle->facts);
    oracle_done(&bundle->recorded_oracle);
    pack_close(bundle->pack);
    free(bundle);
}
