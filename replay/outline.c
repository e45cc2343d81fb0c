/*
 * One bundle from its path to its outline. Holds nothing open afterwards.
 */
#include "replay/outline.h"

#include "base/cleanup.h"
#include "replay/bundle.h"
#include "replay/differ.h"
#include "replay/rules.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const char *const decision_words[DECISION_ROOM] = {"no claim", "GO", "NO-GO", "INCOMPLETE", "unknown"};

const char *decision_word(enum decision decision)
{
    assert(decision < DECISION_ROOM);
    return decision_words[decision];
}

static enum decision decision_of(const Exhibit__Claim *claim)
{
    if (claim == NULL)
        return DECISION_NONE;
    for (enum decision i = DECISION_GO; i < DECISION_OTHER; i++)
        if (strcmp(decision_words[i], claim->decision) == 0)
            return i;
    return DECISION_OTHER;
}

int bundle_open(const char *path, int *out_fd, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat state;

    if (fd < 0 || fstat(fd, &state) < 0)
        return err_set_errno(err, "cannot be opened");
    if (!S_ISREG(state.st_mode))
        return err_set(err, ERR_SYSTEM, "not a regular file");
    *out_fd = take_fd(&fd);
    return 0;
}

/* Whether the recorded claim says of a rule what was derived. Without a claim nothing changed. */
static bool rule_is_as_recorded(const Exhibit__Claim *recorded, const Exhibit__RuleResult *rule)
{
    for (size_t i = 0; recorded != NULL && i < recorded->n_rules; i++)
        if (strcmp(recorded->rules[i]->rule, rule->rule) == 0)
            return recorded->rules[i]->holds == rule->holds;
    return recorded == NULL;
}

static int fill(const struct bundle *bundle, struct outline *out, struct err *err)
{
    const Exhibit__Claim *claim = bundle->claim;

    assert(claim->n_rules == RULE_COUNT);
    out->receipt = pack_receipt(bundle->pack);
    if (!digest_from(claim->oracle_sha256.data, claim->oracle_sha256.len, &out->oracle))
        assert(!"a derived claim names its oracle");
    out->prospective = claim->prospective;
    out->old = decision_of(bundle->recorded);
    out->derived = decision_of(claim);
    for (size_t i = 0; i < RULE_COUNT; i++) {
        out->holds |= (uint32_t)claim->rules[i]->holds << i;
        out->changed |= (uint32_t)!rule_is_as_recorded(bundle->recorded, claim->rules[i]) << i;
    }
    if (bundle->recorded == NULL || claim->prospective)
        return 0;
    return claims_differ(bundle->recorded, claim, NULL, NULL, &out->differing, err);
}

void outline_make(const char *path, const struct oracle *oracle, bool with_recording, struct outline *out)
{
    AUTO_FD int fd = -1;
    struct bundle *bundle = NULL;
    struct err err = {0};
    int code;

    *out = (struct outline){.path = path};
    code = bundle_open(path, &fd, &err);
    if (code == 0)
        code = bundle_replay(fd, oracle, &bundle, &err);
    if (code == 0)
        code = fill(bundle, out, &err);
    if (code == 0 && with_recording)
        code = recording_take(&bundle->facts, bundle->claim, &out->recording, &err);
    bundle_free(bundle);
    if (code < 0) {
        outline_done(out);
        *out = (struct outline){.path = path, .err = err};
    }
}

void outline_done(struct outline *outline)
{
    recording_done(&outline->recording);
}
