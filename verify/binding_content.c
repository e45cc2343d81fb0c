/*
 * Records against the bytes that they describe: whole streams, archives by member, sizes.
 */
#include "verify/binding.h"

#include "base/cleanup.h"
#include "formats/archive.h"

#include <inttypes.h>
#include <string.h>

static int binding_ignore_piece(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    (void)piece;
    (void)err;
    *(uint64_t *)context += size_bytes;
    return 0;
}

/* Reads a stream to its end: that checks the length and the digest of the whole. */
static int binding_check_stream(struct binding *binding, uint64_t seq, const Exhibit__Stream *stream, struct err *err)
{
    uint64_t size_bytes = 0;
    int code = binding->evidence->stream(binding->evidence->source, stream, binding_ignore_piece, &size_bytes, err);

    if (code == 0 || code == ERR_SYSTEM)
        return code;
    (void)err_wrap(err, "event %" PRIu64, seq);
    return finding_of_error(binding->findings, "a stream", err);
}

/* FORMAT 7.4: one that is recorded without an owner is of an older recording. */
static bool binding_owner_same(const Exhibit__MemberOwner *recorded, const Exhibit__MemberOwner *derived)
{
    if (recorded == NULL || derived == NULL)
        return recorded == NULL;
    return recorded->uid == derived->uid && recorded->gid == derived->gid &&
           evidence_same(&recorded->uname, &derived->uname) && evidence_same(&recorded->gname, &derived->gname);
}

static bool binding_member_same(const Exhibit__ArchiveMember *recorded, const Exhibit__ArchiveMember *derived)
{
    return recorded->type == derived->type && recorded->mode == derived->mode &&
           recorded->size_bytes == derived->size_bytes && recorded->mtime_s == derived->mtime_s &&
           evidence_same(&recorded->path, &derived->path) && evidence_same(&recorded->sha256, &derived->sha256) &&
           evidence_same(&recorded->link, &derived->link) && binding_owner_same(recorded->owner, derived->owner);
}

static void binding_compare_members(struct binding *binding, const Exhibit__Event *event,
                                    const struct archive_list *derived)
{
    const Exhibit__Artifact *artifact = event->artifact;

    if (artifact->n_members != derived->count) {
        finding_add(binding->findings, "event %" PRIu64 ": the archive has %zu members, %zu are recorded", event->seq,
                    derived->count, artifact->n_members);
        return;
    }
    for (size_t i = 0; i < derived->count; i++) {
        if (binding_member_same(artifact->members[i], derived->members[i]))
            continue;
        finding_add(binding->findings, "event %" PRIu64 ": member %zu of the archive is not what is recorded",
                    event->seq, i + 1);
        return;
    }
}

/* What is recorded of a kept artifact is derived once more from the bytes that are kept. */
static int binding_check_artifact(struct binding *binding, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__Artifact *artifact = event->artifact;
    bool named = archive_name_is_known((const char *)artifact->path.data, artifact->path.len);
    AUTO_BYTES struct bytes content = {0};
    struct archive_list derived = {0};
    uint64_t size_bytes = 0;
    struct digest digest;
    int code;

    if (!artifact->kept) {
        if (artifact->is_archive || artifact->n_members > 0)
            finding_add(binding->findings, "event %" PRIu64 ": an artifact that is not kept has members", event->seq);
        return 0;
    }
    if (!digest_from(artifact->sha256.data, artifact->sha256.len, &digest))
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": a kept artifact has no digest", event->seq);
    /* Only what is listed by member is taken into memory whole. */
    if (named || artifact->is_archive)
        code = binding->evidence->object(binding->evidence->source, &digest, LIMIT_ARTIFACT_BYTES, &content, err);
    else
        code = binding->evidence->pieces(binding->evidence->source, &digest, binding_ignore_piece, &size_bytes, err);
    if (code < 0)
        return err_wrap(err, "event %" PRIu64 ", artifact", event->seq);
    size_bytes += content.size_bytes;
    if (size_bytes != artifact->size_bytes)
        finding_add(binding->findings,
                    "event %" PRIu64 ": the artifact has %" PRIu64 " bytes, %" PRIu64 " are recorded", event->seq,
                    size_bytes, artifact->size_bytes);
    if (!named && !artifact->is_archive)
        return 0;
    if (binding->unpacked_bytes > LIMIT_UNPACKED_BYTES) {
        if (artifact->is_archive)
            finding_add(binding->findings,
                        "event %" PRIu64 ": listed, though the archives before it unpack to more than %llu bytes",
                        event->seq, LIMIT_UNPACKED_BYTES);
        return 0;
    }
    code = archive_list_read(content.data, content.size_bytes, &derived, err);
    binding->unpacked_bytes += derived.unpacked_bytes;
    if (code == ERR_SYSTEM)
        return code;
    if ((code == 0) != (artifact->is_archive != 0))
        finding_add(binding->findings, "event %" PRIu64 ": the artifact is recorded as %s, and is %s", event->seq,
                    artifact->is_archive ? "an archive" : "none", code == 0 ? "one" : err->text);
    else if (code == 0)
        binding_compare_members(binding, event, &derived);
    archive_list_done(&derived);
    return 0;
}

/* A target's kept content has the target's size, or is its beginning. */
static int binding_check_target(struct binding *binding, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__TargetState *state = event->target_state;
    uint64_t size_bytes = 0;
    struct digest digest;
    int code;

    if (!state->exists || state->target == EXHIBIT__TARGET_NAME__TARGET_FOLDER ||
        !digest_from(state->content_sha256.data, state->content_sha256.len, &digest))
        return 0;
    code = binding->evidence->pieces(binding->evidence->source, &digest, binding_ignore_piece, &size_bytes, err);
    if (code < 0)
        return err_wrap(err, "event %" PRIu64 ", a target's content", event->seq);
    if (state->content_truncated ? size_bytes > state->size_bytes : size_bytes != state->size_bytes)
        finding_add(binding->findings, "event %" PRIu64 ": the target has %" PRIu64 " bytes, %" PRIu64 " are kept",
                    event->seq, state->size_bytes, size_bytes);
    return 0;
}

/* What was delivered on stdin to its end is what was offered. */
static int binding_check_end(struct binding *binding, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__StreamEnd *end = event->stream_end;
    const struct ledger_run *run = ledger_run_numbered(&binding->ledger, event->run);
    const Exhibit__Stream *offered = run == NULL ? NULL : ledger_told(run)->stdin_stream;
    uint64_t size_bytes = end->content == NULL ? 0 : end->content->size_bytes;
    uint64_t offered_bytes = offered == NULL ? 0 : offered->size_bytes;

    if (end->stream == EXHIBIT__STREAM_NAME__STREAM_STDIN &&
        (size_bytes > offered_bytes || (end->how == EXHIBIT__STREAM_END__HOW__HOW_EOF && size_bytes != offered_bytes) ||
         (size_bytes == offered_bytes && size_bytes > 0 && !evidence_same(&end->content->sha256, &offered->sha256))))
        finding_add(binding->findings, "event %" PRIu64 ": what was delivered on stdin is not what was offered",
                    event->seq);
    return binding_check_stream(binding, event->seq, end->content, err);
}

int binding_check_content(struct binding *binding, struct err *err)
{
    const struct ledger_list *all = &binding->ledger.all;
    int code = 0;

    for (size_t i = 0; code == 0 && i < all->count; i++) {
        const Exhibit__Event *event = all->items[i];

        if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START)
            code = binding_check_stream(binding, event->seq, event->run_start->stdin_stream, err);
        if (event->what_case == EXHIBIT__EVENT__WHAT_STREAM_END)
            code = binding_check_end(binding, event, err);
        if (event->what_case == EXHIBIT__EVENT__WHAT_ARTIFACT)
            code = binding_check_artifact(binding, event, err);
        if (event->what_case == EXHIBIT__EVENT__WHAT_TARGET_STATE)
            code = binding_check_target(binding, event, err);
    }
    return code;
}
