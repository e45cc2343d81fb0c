/*
 * Variables whose values are not told (FORMAT 7.10): each run names those that the plan calls secret, and all runs got
 * the same values.
 */
#include "verify/binding.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the first run that has a secret says of it. */
struct binding_first {
    const char *secret;
    const ProtobufCBinaryData *hmac; /* NULL: none had it so far */
    const struct ledger_run *run;
};

struct binding_firsts {
    struct binding_first *items;
    size_t count;
};

static void binding_firsts_add(struct binding_firsts *firsts, const struct plan_variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool known = variables[i].secret == NULL;

        for (size_t j = 0; j < firsts->count && !known; j++)
            known = strcmp(firsts->items[j].secret, variables[i].secret) == 0;
        if (!known)
            firsts->items[firsts->count++] = (struct binding_first){.secret = variables[i].secret};
    }
}

static size_t binding_variable_count(const struct plan *plan)
{
    size_t count = plan->environment_count;

    for (size_t i = 0; i < plan->case_count; i++)
        count += plan->cases[i].environment_count;
    return count;
}

/* The case of a run, or NULL where it has no variables of its own. */
static const struct plan_case *binding_case_of(const struct plan *plan, const Exhibit__RunStart *told)
{
    for (size_t i = 0; i < plan->case_count && told->kind == EXHIBIT__RUN_KIND__RUN_CASE; i++)
        if (strcmp(plan->cases[i].name, told->name) == 0)
            return &plan->cases[i];
    return NULL;
}

static const struct plan_variable *binding_named(const struct plan_variable *variables, size_t count, const char *name,
                                                 size_t name_bytes)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(variables[i].name) == name_bytes && memcmp(variables[i].name, name, name_bytes) == 0)
            return &variables[i];
    return NULL;
}

/* The plan's secret that an item of an environment is; NULL: it is none. */
static const char *binding_secret_of(const struct plan *plan, const struct plan_case *one,
                                     const ProtobufCBinaryData *item)
{
    const char *name = (const char *)item->data;
    const char *end = item->len == 0 ? NULL : memchr(name, '=', item->len);
    const struct plan_variable *variable = NULL;

    if (end == NULL)
        return NULL;
    if (one != NULL)
        variable = binding_named(one->environment, one->environment_count, name, (size_t)(end - name));
    if (variable == NULL)
        variable = binding_named(plan->environment, plan->environment_count, name, (size_t)(end - name));
    return variable == NULL ? NULL : variable->secret;
}

/* All runs of a recording got one value of a secret: its HMAC is everywhere the same. */
static void binding_compare_first(struct binding *binding, struct binding_firsts *firsts, const char *secret,
                                  const struct ledger_run *run, const ProtobufCBinaryData *hmac)
{
    struct binding_first *first = firsts->items;

    while (strcmp(first->secret, secret) != 0)
        first++;
    if (first->hmac == NULL) {
        first->hmac = hmac;
        first->run = run;
    } else if (!evidence_same(first->hmac, hmac)) {
        finding_add(binding->findings,
                    "event %" PRIu64 ": FORMAT 7.10: the secret %s is not the same in run %" PRIu32
                    " as in run %" PRIu32,
                    run->start->seq, secret, run->number, first->run->number);
    }
}

static void binding_check_run_secrets(struct binding *binding, struct binding_firsts *firsts,
                                      const struct ledger_run *run)
{
    const Exhibit__RunStart *told = ledger_told(run);
    const struct plan_case *one = binding_case_of(binding->plan, told);
    size_t at = 0;

    for (size_t i = 0; i < told->n_environment && at <= told->n_secrets; i++) {
        const ProtobufCBinaryData *item = &told->environment[i];
        const char *secret = binding_secret_of(binding->plan, one, item);

        if (secret == NULL)
            continue;
        if (at == told->n_secrets || told->secrets[at]->name.len + 1 != item->len ||
            memcmp(told->secrets[at]->name.data, item->data, item->len - 1) != 0) {
            at = told->n_secrets + 1;
            break;
        }
        binding_compare_first(binding, firsts, secret, run, &told->secrets[at++]->hmac_sha256);
    }
    if (at != told->n_secrets)
        finding_add(binding->findings,
                    "event %" PRIu64 ": FORMAT 7.10: the secrets of run %" PRIu32 " are not those of the plan",
                    run->start->seq, run->number);
}

int binding_check_secrets(struct binding *binding, struct err *err)
{
    const struct plan *plan = binding->plan;
    AUTO_FREE struct binding_first *items = calloc(binding_variable_count(plan) + 1, sizeof *items);
    struct binding_firsts firsts = {.items = items};
    uint32_t version = plan_has_secret(plan) || plan_has_local(plan) ? 2 : 1;

    if (items == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    if (binding->receipt->version != version)
        finding_add(binding->findings,
                    "the receipt: FORMAT 8.1: of version %" PRIu32 ", and its plan asks for %" PRIu32,
                    binding->receipt->version, version);
    binding_firsts_add(&firsts, plan->environment, plan->environment_count);
    for (size_t i = 0; i < plan->case_count; i++)
        binding_firsts_add(&firsts, plan->cases[i].environment, plan->cases[i].environment_count);
    for (size_t i = 0; i < binding->ledger.run_count; i++)
        binding_check_run_secrets(binding, &firsts, binding->ledger.runs[i]);
    return 0;
}
