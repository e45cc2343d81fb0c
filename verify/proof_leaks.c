/*
 * The search for canary content, and for proofs, in what strict runs put out (DECISION 5.2). Reads streams and
 * artifacts piece by piece; a content that lies across two pieces is found, since the end of each piece is kept as the
 * beginning of the next.
 */
#include "verify/proof.h"
#include "verify/proof_digits.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* What is looked for: the distinct contents that canaries had (borrowed from the ledger), and proofs. */
struct proof_secrets {
    const ProtobufCBinaryData **items;
    size_t count;
    size_t longest_bytes;
    const struct digits *digits;
};

struct proof_search {
    const struct proof_secrets *secrets;
    uint64_t run_seq;    /* of the RunStart of who put it out */
    struct bytes window; /* the end of what went before, then the piece */
    bool found;
    bool proven; /* a proof was found */
};

static void proof_add_secret(struct proof_secrets *secrets, const ProtobufCBinaryData *content)
{
    if (content->len == 0) /* no content, so nothing that could be found again */
        return;
    for (size_t i = 0; i < secrets->count; i++)
        if (evidence_same(secrets->items[i], content))
            return;
    secrets->items[secrets->count++] = content;
    if (content->len > secrets->longest_bytes)
        secrets->longest_bytes = content->len;
}

/* What canaries were set to before the end of a run. */
static bool proof_secrets_of(struct proof *proof, const struct proof_run *run, struct proof_secrets *out)
{
    const struct ledger_list *resets = &proof->ledger.by_kind[EXHIBIT__EVENT__WHAT_TARGETS];
    const Exhibit__Event *end = run->run->exit != NULL ? run->run->exit : run->run->spawn_failed;

    *out = (struct proof_secrets){0};
    out->items = calloc(resets->count * 2 + 1, sizeof *out->items);
    if (out->items == NULL) {
        proof_no_memory(proof);
        return false;
    }
    for (size_t i = 0; i < resets->count && (end == NULL || resets->items[i]->seq < end->seq); i++) {
        proof_add_secret(out, &resets->items[i]->targets->canary_read);
        proof_add_secret(out, &resets->items[i]->targets->canary_link);
    }
    return true;
}

static int proof_search_piece(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct proof_search *search = context;
    struct bytes *window = &search->window;
    size_t longest = search->secrets->longest_bytes, keep = (longest > DIGITS_OF_PROOF ? longest : DIGITS_OF_PROOF) - 1;

    if (search->found && search->proven)
        return 0;
    if (bytes_add(window, piece, size_bytes, SIZE_MAX, err) < 0)
        return err->code;
    for (size_t i = 0; i < search->secrets->count && !search->found; i++)
        search->found = memmem(window->data, window->size_bytes, search->secrets->items[i]->data,
                               search->secrets->items[i]->len) != NULL;
    search->proven =
        search->proven || digits_are_in(search->secrets->digits, search->run_seq, window->data, window->size_bytes);
    if (window->size_bytes > keep) {
        memmove(window->data, window->data + window->size_bytes - keep, keep);
        window->size_bytes = keep;
    }
    return 0;
}

static void proof_search_streams(struct proof *proof, const struct proof_run *run, const struct proof_secrets *secrets)
{
    static const char *const stream_names[] = {
        "", "stdin", "stdout", "stderr", "scratch-parent", "scratch-child", "scratch-grandchild"};

    for (unsigned name = EXHIBIT__STREAM_NAME__STREAM_STDOUT; name < LEDGER_STREAMS && !proof->failed; name++) {
        struct proof_search search = {.secrets = secrets, .run_seq = run->run->start->seq};

        if (run->run->ends[name] == NULL)
            continue;
        if (proof->evidence->stream(proof->evidence->source, run->run->ends[name]->content, proof_search_piece, &search,
                                    proof->err) < 0)
            proof_give_up(proof);
        if (search.found)
            proof_refute(proof, proof_run_text(run).text, "a canary's content is in %s of run %s", stream_names[name],
                         proof_run_text(run).text);
        if (search.proven)
            proof_refute(proof, proof_run_text(run).text, "a proof of a strict read is in %s of run %s",
                         stream_names[name], proof_run_text(run).text);
        bytes_done(&search.window);
    }
}

static void proof_search_artifacts(struct proof *proof, const struct proof_run *run,
                                   const struct proof_secrets *secrets)
{
    const Exhibit__Event *event;
    size_t position = 0;

    while ((event = ledger_next(run->run, EXHIBIT__EVENT__WHAT_ARTIFACT, &position)) != NULL && !proof->failed) {
        struct proof_search search = {.secrets = secrets, .run_seq = run->run->start->seq};
        struct digest digest;

        if (!event->artifact->kept || !digest_from(event->artifact->sha256.data, event->artifact->sha256.len, &digest))
            continue;
        if (proof->evidence->pieces(proof->evidence->source, &digest, proof_search_piece, &search, proof->err) < 0) {
            (void)err_wrap(proof->err, "%s, artifact", proof_event_text(event).text);
            proof_give_up(proof);
        }
        if (search.found)
            proof_refute(proof, proof_event_text(event).text, "a canary's content is in an artifact of run %s",
                         proof_run_text(run).text);
        if (search.proven)
            proof_refute(proof, proof_event_text(event).text, "a proof of a strict read is in an artifact of run %s",
                         proof_run_text(run).text);
        bytes_done(&search.window);
    }
}

void proof_refute_leaks(struct proof *proof)
{
    struct digits digits;

    if (digits_collect(&proof->ledger, &digits, proof->err) < 0)
        proof_give_up(proof);
    for (size_t i = 0; i < proof->ledger.run_count && !proof->failed; i++) {
        struct proof_secrets secrets;

        if (!proof_is_strict(&proof->runs[i]) || !proof_secrets_of(proof, &proof->runs[i], &secrets))
            continue;
        secrets.digits = &digits;
        if (secrets.count > 0) { /* a proof is one over a canary, so that without those there is none */
            proof_search_streams(proof, &proof->runs[i], &secrets);
            proof_search_artifacts(proof, &proof->runs[i], &secrets);
        }
        free(secrets.items);
    }
    digits_done(&digits);
}
