/*
 * A scene under an oracle whose one case asks for what a test says, on line 4: judged, and what is told of it.
 */
#pragma once

#include "verify_stage.h"

#define ASKED_CASES "version: 1\ntrials: []\ncases:\n  - {name: build, %s}\n"

/* Parses the oracle; release with oracle_done. */
static inline void asked_oracle(const char *wanted, struct oracle *out)
{
    char *text = NULL;
    struct err err = {0};

    if (asprintf(&text, ASKED_CASES, wanted) < 0)
        abort();
    if (oracle_parse("oracle", text, strlen(text), out, &err) != 0)
        fail_msg("%s", err.text);
    free(text);
}

/* The claim of the good scene with a change (NULL: none). Owned. */
static inline Exhibit__Claim *asked_claim(change *make, const char *wanted)
{
    struct stage stage = set_up(make);
    struct evidence evidence = scene_evidence(stage.scene);
    struct oracle oracle;
    Exhibit__Claim *claim = NULL;
    struct err err = {0};

    asked_oracle(wanted, &oracle);
    scene_seal(stage.scene);
    if (proof_derive(&evidence, &oracle, &claim, &err) != 0)
        fail_msg("%s", err.text);
    oracle_done(&oracle);
    scene_free(stage.scene);
    return claim;
}

/* What the claim's rule must tell, or "": it must hold. */
static inline void asked_check(change *make, const char *wanted, const char *name, const char *told)
{
    Exhibit__Claim *claim = asked_claim(make, wanted);
    const Exhibit__RuleResult *rule = rule_of(claim, name);

    if (rule->holds != (told[0] == '\0') || strstr(rule->detail, told) == NULL)
        fail_msg("%s: \"%s\", not \"%s\"", wanted, rule->detail, told);
    exhibit__claim__free_unpacked(claim, NULL);
}
