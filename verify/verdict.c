/*
 * One check after the other; what a fault makes impossible is left out, all else goes on.
 */
#include "verify/verdict.h"

#include "base/cleanup.h"
#include "formats/freeze.h"
#include "formats/stream.h"
#include "verify/binding.h"
#include "verify/evidence.h"
#include "verify/integrity.h"
#include "verify/proof.h"
#include "verify/retained.h"
#include "verify/statement.h"

#include <string.h>

struct verdict_work {
    const struct verdict_request *request;
    struct verdict *out;
    struct pack *pack;
    struct arena arena; /* receipt and recorded claim */
    const Exhibit__Receipt *receipt;
    struct evidence_pack source;
    struct evidence evidence;
};

static int verdict_check_file(const struct verdict_request *request, struct findings *findings, struct err *err)
{
    struct digest digest;
    uint64_t size_bytes;
    char seen[2 * DIGEST_BYTES + 1];

    if (request->sha256 == NULL)
        return 0;
    if (digest_of_fd(request->bundle_fd, &digest, &size_bytes, err) < 0)
        return err->code;
    hex_encode(digest.bytes, DIGEST_BYTES, seen);
    if (!digest_equal(&digest, request->sha256))
        finding_add(findings, "the file has the SHA-256 %s, not the one that was asked for", seen);
    return 0;
}

/* An observation object of at most a text's size; `out` stays empty where that is the bundle's fault. */
static int verdict_read_text(struct verdict_work *work, const ProtobufCBinaryData *named, const char *what,
                             struct bytes *out, struct err *err)
{
    struct digest digest;

    if (!digest_from(named->data, named->len, &digest)) {
        finding_add(&work->out->findings, "event 1: the digest of %s is not of %d bytes", what, DIGEST_BYTES);
        return ERR_FORMAT;
    }
    if (pack_read(work->pack, PACK_OBSERVATION, &digest, LIMIT_YAML_BYTES, out, err) < 0) {
        int code = err->code;

        return finding_of_error(&work->out->findings, what, err) < 0 ? ERR_SYSTEM : code;
    }
    return 0;
}

/* Reads plan and oracle as recorded. Gives whether each could be. */
static int verdict_read_texts(struct verdict_work *work, bool *has_plan, struct err *err)
{
    const Exhibit__RecordingStart *start = work->out->ledger.recording_start->recording_start;
    AUTO_BYTES struct bytes plan = {0};
    AUTO_BYTES struct bytes oracle = {0};
    int code = verdict_read_text(work, &start->plan_sha256, "the plan", &plan, err);

    if (code == 0) {
        code = plan_parse_recorded(plan.data, plan.size_bytes, &work->out->plan, err);
        *has_plan = code == 0;
        if (code < 0)
            code = finding_of_error(&work->out->findings, "the recorded plan", err);
    }
    if (code == ERR_SYSTEM)
        return code;
    code = verdict_read_text(work, &start->oracle_sha256, "the oracle", &oracle, err);
    if (code == 0) {
        code = oracle_parse("recorded oracle", oracle.data, oracle.size_bytes, &work->out->oracle, err);
        work->out->has_oracle = code == 0;
        if (code < 0)
            code = finding_of_error(&work->out->findings, "the recorded oracle", err);
    }
    return code == ERR_SYSTEM ? code : 0;
}

/* Makes an own claim under an oracle; *out stays NULL where the bundle is to blame. */
static int verdict_derive(struct verdict_work *work, const struct oracle *oracle, Exhibit__Claim **out, struct err *err)
{
    uint64_t before = pack_blocks_read(work->pack, PACK_INPUT);
    int code = proof_derive(&work->evidence, oracle, out, err);

    work->out->proof_input_blocks = pack_blocks_read(work->pack, PACK_INPUT) - before;
    if (code == 0)
        return 0;
    *out = NULL;
    return finding_of_error(&work->out->findings, "the receipt", err);
}

static int verdict_prove(struct verdict_work *work, struct err *err)
{
    struct verdict *out = work->out;
    const Exhibit__Claim *recorded = NULL;
    int code = claim_read(work->pack, &work->arena, &recorded, err);

    if (code < 0 && finding_of_error(&out->findings, "the recorded claim", err) < 0)
        return ERR_SYSTEM;
    out->has_claim = code < 0 || recorded != NULL;
    code = out->has_oracle ? verdict_derive(work, &out->oracle, &out->claim, err) : 0;
    if (code == 0 && recorded != NULL && out->claim != NULL &&
        statement_compare(recorded, out->claim, &out->findings, err) < 0)
        code = finding_of_error(&out->findings, "the recorded claim", err);
    if (code < 0 || work->request->oracle == NULL ||
        (out->has_oracle && digest_equal(&out->oracle.digest, &work->request->oracle->digest)))
        return code;
    if (out->claim != NULL)
        exhibit__claim__free_unpacked(out->claim, NULL);
    out->claim = NULL;
    return verdict_derive(work, work->request->oracle, &out->claim, err);
}

static void verdict_check_policy(struct verdict_work *work)
{
    const Exhibit__RecordingStart *start = work->out->ledger.recording_start->recording_start;

    if (work->request->policy != NULL && !evidence_digest_is(&start->policy_sha256, work->request->policy))
        finding_add(&work->out->findings, "event 1: the measured policy is another than the expected one");
}

static int verdict_check_source(struct verdict_work *work, struct err *err)
{
    const struct ledger_list *freezes = &work->out->ledger.by_kind[EXHIBIT__EVENT__WHAT_FREEZE];
    const struct withheld *withheld = &work->out->withheld;
    struct retained_list list = {0};
    struct retained_by by;
    struct digest digest;
    bool local;
    int code;
    size_t i;

    for (i = 0; i < freezes->count; i++)
        if (freezes->items[i]->freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE &&
            strcmp(freezes->items[i]->freeze->input, "workspace") == 0)
            break;
    if (i == freezes->count || !digest_from(freezes->items[i]->freeze->list_sha256.data,
                                            freezes->items[i]->freeze->list_sha256.len, &digest)) {
        finding_add(&work->out->findings, "the receipt has no freeze of the workspace to compare the source with");
        return 0;
    }
    code = freeze_read(work->pack, &digest, false, retained_list_add, &list, err);
    if (code < 0)
        retained_list_done(&list);
    if (code < 0)
        return finding_of_error(&work->out->findings, "the freeze of the workspace", err);
    local = plan_input_is_local(&work->out->plan, "workspace");
    work->out->source = local && !withheld->has_salt ? VERDICT_SOURCE_IN_PART : VERDICT_SOURCE_WHOLE;
    by = (struct retained_by){.salt = local && withheld->has_salt ? withheld->salt : NULL,
                              .salt_bytes = WITHHELD_SALT_BYTES,
                              .no_contents = local && !withheld->has_salt};
    code = retained_compare(&list, work->request->source_fd, &by, &work->out->findings, err);
    retained_list_done(&list);
    if (code < 0) {
        (void)err_wrap(err, "--source");
        err->code = ERR_SYSTEM; /* a fault of that folder, never of the bundle */
    }
    return code < 0 ? ERR_SYSTEM : 0;
}

static int verdict_check_facts(struct verdict_work *work, struct err *err)
{
    struct verdict *out = work->out;
    struct binding binding = {.evidence = &work->evidence, .receipt = work->receipt, .findings = &out->findings};
    bool has_plan = false;
    int code;

    if (ledger_read(&work->evidence, &out->ledger, err) < 0)
        return finding_of_error(&out->findings, "the receipt", err);
    /* What cannot be read is found by the checks below. */
    if (surroundings_gather(&work->evidence, &out->ledger, &out->surroundings, err) == ERR_SYSTEM)
        return ERR_SYSTEM;
    if (verdict_read_texts(work, &has_plan, err) < 0)
        return err->code;
    binding.plan = has_plan ? &out->plan : NULL;
    binding.oracle = out->has_oracle ? &out->oracle : NULL;
    code = integrity_of_objects(work->pack, work->receipt, binding.plan, &out->withheld, &out->findings, err);
    if (code < 0)
        return code;
    binding.ledger = out->ledger;
    code = binding_check(&binding, err);
    out->ledger = binding.ledger; /* the search hint moves */
    if (code < 0 || verdict_prove(work, err) < 0)
        return err->code;
    verdict_check_policy(work);
    return work->request->source_fd < 0 ? 0 : verdict_check_source(work, err);
}

static int verdict_check_pack(struct verdict_work *work, struct err *err)
{
    struct verdict *out = work->out;

    if (pack_open(work->request->bundle_fd, &work->pack, err) < 0)
        return finding_of_error(&out->findings, "the container", err);
    if (pack_check(work->pack, err) < 0)
        return finding_of_error(&out->findings, "the container", err);
    if (receipt_read(work->pack, &work->arena, &work->receipt, err) < 0)
        return finding_of_error(&out->findings, "the receipt", err);
    work->source = (struct evidence_pack){work->pack, work->receipt};
    evidence_from_pack(&work->source, &work->evidence);
    return verdict_check_facts(work, err);
}

int verdict_reach(const struct verdict_request *request, struct verdict *out, struct err *err)
{
    struct verdict_work work = {.request = request, .out = out};
    int code;

    *out = (struct verdict){0};
    code = verdict_check_file(request, &out->findings, err);
    if (code == 0)
        code = verdict_check_pack(&work, err);
    arena_done(&work.arena);
    pack_close(work.pack);
    return code;
}

void verdict_done(struct verdict *verdict)
{
    finding_done(&verdict->findings);
    ledger_done(&verdict->ledger);
    surroundings_done(&verdict->surroundings);
    withheld_done(&verdict->withheld);
    plan_done(&verdict->plan);
    oracle_done(&verdict->oracle);
    if (verdict->claim != NULL)
        exhibit__claim__free_unpacked(verdict->claim, NULL);
    *verdict = (struct verdict){0};
}
