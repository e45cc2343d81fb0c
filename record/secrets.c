#include "record/secrets.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <assert.h>
#include <nettle/hmac.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 32
#define PLACE_BYTES 160

struct secret {
    const char *variable; /* the plan's, the first that has it; borrowed */
    const char *name;     /* the caller's; borrowed */
    char *value;
    size_t value_bytes;
};

struct secrets {
    uint8_t key[KEY_BYTES];
    struct secret *items;
    size_t count;
    struct needles *needles;
    char place[PLACE_BYTES];
};

static struct secret *find(const struct secrets *secrets, const char *name)
{
    for (size_t i = 0; secrets != NULL && i < secrets->count; i++)
        if (strcmp(secrets->items[i].name, name) == 0)
            return &secrets->items[i];
    return NULL;
}

/* Takes the value of one variable of the plan, unless another took it already. */
static int take(struct secrets *secrets, const struct plan *plan, const struct plan_variable *variable, struct err *err)
{
    const char *value = getenv(variable->secret);
    size_t size_bytes = value == NULL ? 0 : strlen(value);
    struct secret *grown;

    if (find(secrets, variable->secret) != NULL)
        return 0;
    if (value == NULL)
        return err_set(err, ERR_USAGE, "%s: the secret %s of the variable %s is not in your environment; set %s there",
                       plan->file, variable->secret, variable->name, variable->secret);
    if (size_bytes < LIMIT_SECRET_LEAST_BYTES || size_bytes > LIMIT_SECRET_BYTES)
        return err_set(err, ERR_USAGE,
                       "%s: the secret %s of the variable %s has %zu bytes in your environment; it needs %d to %u, so "
                       "that it can be looked for",
                       plan->file, variable->secret, variable->name, size_bytes, LIMIT_SECRET_LEAST_BYTES,
                       LIMIT_SECRET_BYTES);
    grown = reallocarray(secrets->items, secrets->count + 1, sizeof *grown);
    if (grown == NULL)
        return err_set_errno(err, "memory for secrets");
    secrets->items = grown;
    grown += secrets->count;
    *grown = (struct secret){variable->name, variable->secret, strdup(value), size_bytes};
    if (grown->value == NULL)
        return err_set_errno(err, "memory for secrets");
    return needles_add(secrets->needles, value, size_bytes, (unsigned)secrets->count++, err);
}

static int take_all(struct secrets *secrets, const struct plan *plan, const struct plan_variable *variables,
                    size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (variables[i].secret != NULL && take(secrets, plan, &variables[i], err) < 0)
            return err->code;
    return 0;
}

int secrets_new(const struct plan *plan, struct secrets **out, struct err *err)
{
    struct secrets *secrets;
    int code;

    *out = NULL;
    if (!plan_has_secret(plan))
        return 0;
    secrets = calloc(1, sizeof *secrets);
    if (secrets == NULL || (secrets->needles = needles_new()) == NULL) {
        free(secrets);
        return err_set_errno(err, "memory for secrets");
    }
    code = file_random(secrets->key, sizeof secrets->key, err);
    if (code == 0)
        code = take_all(secrets, plan, plan->environment, plan->environment_count, err);
    for (size_t i = 0; code == 0 && i < plan->case_count; i++)
        code = take_all(secrets, plan, plan->cases[i].environment, plan->cases[i].environment_count, err);
    if (code < 0)
        secrets_free(secrets);
    else
        *out = secrets;
    return code;
}

const char *secrets_value(const struct secrets *secrets, const char *name)
{
    const struct secret *secret = find(secrets, name);

    return secret == NULL ? NULL : secret->value;
}

struct digest secrets_hmac(const struct secrets *secrets, const char *name)
{
    const struct secret *secret = find(secrets, name);
    struct hmac_sha256_ctx hmac;
    struct digest digest;

    assert(secret != NULL);
    hmac_sha256_set_key(&hmac, KEY_BYTES, secrets->key);
    hmac_sha256_update(&hmac, secret->value_bytes, (const uint8_t *)secret->value);
    hmac_sha256_digest(&hmac, DIGEST_BYTES, digest.bytes);
    explicit_bzero(&hmac, sizeof hmac);
    return digest;
}

const struct plan_variable *secrets_variable(const struct plan *plan, const struct plan_variable *more,
                                             size_t more_count, const char *name, size_t name_bytes)
{
    for (size_t i = 0; i < more_count + plan->environment_count; i++) {
        const struct plan_variable *variable = i < more_count ? &more[i] : &plan->environment[i - more_count];

        if (strlen(variable->name) == name_bytes && memcmp(variable->name, name, name_bytes) == 0)
            return variable;
    }
    return NULL;
}

void secrets_place(struct secrets *secrets, const char *fmt, ...)
{
    va_list args;

    if (secrets == NULL)
        return;
    va_start(args, fmt);
    (void)vsnprintf(secrets->place, sizeof secrets->place, fmt, args);
    va_end(args);
}

/* Tells a find that ends the recording. */
static int found(const struct secrets *secrets, const struct needle_find *find, const char *what, struct err *err)
{
    const struct secret *secret = &secrets->items[find->owner];

    return err_set(err, ERR_MISMATCH,
                   "%s%s%s has the value of the secret %s (the variable %s), %s; all was ended and nothing is kept: "
                   "let the command keep it to itself, or give it a plain value that may be seen",
                   secrets->place, secrets->place[0] == 0 ? "" : ": ", what, secret->name, secret->variable,
                   needle_form_text(find->form));
}

int secrets_look(const struct secrets *secrets, const void *from, size_t size_bytes, const char *what, struct err *err)
{
    struct needle_find find;

    if (secrets == NULL || !needles_find(secrets->needles, from, size_bytes, &find))
        return 0;
    return found(secrets, &find, what, err);
}

/* Looks at what comes next of a flow. Returns 1 with the find, 0 where there is none, or a negative err_code. */
static int flow_find(const struct secrets *secrets, struct needle_flow *flow, const void *from, size_t size_bytes,
                     struct needle_find *out, struct err *err)
{
    bool is_there = false;

    if (secrets == NULL)
        return 0;
    if (needle_flow_look(flow, secrets->needles, from, size_bytes, &is_there, out, err) < 0)
        return err->code;
    return is_there;
}

int secrets_look_flow(const struct secrets *secrets, struct needle_flow *flow, const void *from, size_t size_bytes,
                      const char *what, struct err *err)
{
    struct needle_find find;
    int code = flow_find(secrets, flow, from, size_bytes, &find, err);

    return code > 0 ? found(secrets, &find, what, err) : code;
}

int secrets_look_input(const struct secrets *secrets, struct needle_flow *flow, const void *from, size_t size_bytes,
                       struct err *err)
{
    struct needle_find find;
    int code = flow_find(secrets, flow, from, size_bytes, &find, err);

    if (code <= 0)
        return code;
    return err_set(err, ERR_USAGE,
                   "it has the value of the secret %s (the variable %s), %s, and would be kept: take it out, or do not "
                   "retain this input",
                   secrets->items[find.owner].name, secrets->items[find.owner].variable, needle_form_text(find.form));
}

static int look_given(const struct secrets *secrets, const struct plan *plan, const struct bytes *bytes,
                      const char *what, struct err *err)
{
    struct needle_find find;

    if (bytes == NULL || !needles_find(secrets->needles, bytes->data, bytes->size_bytes, &find))
        return 0;
    return err_set(err, ERR_USAGE, "%s: %s has the value of the secret %s, %s; it would be kept: remove it", plan->file,
                   what, secrets->items[find.owner].name, needle_form_text(find.form));
}

int secrets_look_given(const struct secrets *secrets, const struct plan *plan, const struct oracle *oracle,
                       const struct bytes *policy, struct err *err)
{
    if (secrets == NULL)
        return 0;
    if (look_given(secrets, plan, &plan->source, "the plan", err) < 0 ||
        look_given(secrets, plan, &oracle->source, "the oracle", err) < 0 ||
        look_given(secrets, plan, policy, "the policy", err) < 0)
        return err->code;
    for (size_t i = 0; i < plan->candidate.argv.count; i++) {
        char *word = plan->candidate.argv.items[i];

        if (look_given(secrets, plan, &(struct bytes){.data = (uint8_t *)word, .size_bytes = strlen(word)},
                       "the launcher", err) < 0)
            return err->code;
    }
    for (size_t i = 0; i < plan->case_count; i++) {
        char what[LIMIT_NAME_BYTES + 32];

        (void)snprintf(what, sizeof what, "the stdin of the case %s", plan->cases[i].name);
        if (look_given(secrets, plan, &plan->cases[i].stdin_bytes, what, err) < 0)
            return err->code;
    }
    return 0;
}

void secrets_hide(const struct secrets *secrets, char *text)
{
    struct needle_find find;

    /* A star is in no form of a value of 8 bytes but as one of its own characters: what is left gets shorter or equal.
     */
    while (secrets != NULL && needles_find(secrets->needles, text, strlen(text), &find)) {
        memmove(text + find.at_bytes + 1, text + find.at_bytes + find.size_bytes,
                strlen(text) - find.at_bytes - find.size_bytes + 1);
        text[find.at_bytes] = '*';
    }
}

void secrets_free(struct secrets *secrets)
{
    if (secrets == NULL)
        return;
    for (size_t i = 0; i < secrets->count; i++) {
        explicit_bzero(secrets->items[i].value, secrets->items[i].value_bytes);
        free(secrets->items[i].value);
    }
    free(secrets->items);
    needles_free(secrets->needles);
    explicit_bzero(secrets->key, sizeof secrets->key);
    free(secrets);
}
