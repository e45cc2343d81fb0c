/*
 * A scene and its oracle on stage: built good, changed in one thing, judged.
 */
#pragma once

#include "verify/proof.h"
#include "verify_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct stage {
    struct scene *scene;
    struct scene_oracle oracle;
};

static inline const Exhibit__RuleResult *rule_of(const Exhibit__Claim *claim, const char *name)
{
    for (size_t i = 0; i < claim->n_rules; i++)
        if (strcmp(claim->rules[i]->rule, name) == 0)
            return claim->rules[i];
    fail_msg("no rule %s", name);
    return NULL;
}

static inline Exhibit__Claim *derive(struct stage *stage)
{
    struct evidence evidence = scene_evidence(stage->scene);
    Exhibit__Claim *claim = NULL;
    struct err err = {0};

    scene_seal(stage->scene);
    if (proof_derive(&evidence, scene_link_oracle(&stage->oracle), &claim, &err) != 0)
        fail_msg("%s", err.text);
    return claim;
}

/* Changes one fact of the good scene; all else stays. */
typedef void change(struct stage *stage);

static inline struct stage set_up(change *make)
{
    struct stage stage = {.scene = scene_good("plan", "oracle")};

    scene_fill_oracle(&stage.oracle, stage.scene);
    if (make != NULL)
        make(&stage);
    return stage;
}
