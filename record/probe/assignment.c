/*
 * The probe's command line. Knows the keys and their bounds, and nothing of what is done with them.
 */
#include "record/probe/assignment.h"

#include "base/bytes.h"

#include <assert.h>
#include <string.h>

static const char *const role_names[] = {"parent", "child", "grandchild"};
static const char *const effect_names[] = {"read", "read-link", "write", "tcp", "udp"};

_Static_assert(sizeof role_names / sizeof role_names[0] == ROLE_COUNT, "a name for each role");
_Static_assert(sizeof effect_names / sizeof effect_names[0] == EFFECT_COUNT, "a name for each effect");

const char *role_name(enum role role)
{
    assert(role < ROLE_COUNT);
    return role_names[role];
}

const char *effect_name(enum effect effect)
{
    assert(effect < EFFECT_COUNT);
    return effect_names[effect];
}

/* A decimal number without sign or leading zero, from min to max. */
static int take_number(const char *key, const char *text, uint32_t min, uint32_t max, uint32_t *out, struct err *err)
{
    uint64_t value = 0;
    size_t digit_count = strspn(text, "0123456789");
    bool plain =
        digit_count > 0 && digit_count < 10 && text[digit_count] == '\0' && (text[0] != '0' || text[1] == '\0');

    for (size_t i = 0; plain && i < digit_count; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    if (!plain || value < min || value > max)
        return err_set(err, ERR_USAGE, "%s= takes a number from %u to %u, not '%s'", key, min, max, text);
    *out = (uint32_t)value;
    return 0;
}

static int take_port(const char *key, const char *text, uint16_t *out, struct err *err)
{
    uint32_t port;
    int code = take_number(key, text, 1, UINT16_MAX, &port, err);

    if (code == 0)
        *out = (uint16_t)port;
    return code;
}

static int take_path(const char *key, const char *text, const char **out, struct err *err)
{
    if (text[0] != '/' || strlen(text) >= LIMIT_PATH_BYTES)
        return err_set(err, ERR_USAGE, "%s= takes an absolute path, not '%s'", key, text);
    *out = text;
    return 0;
}

/* Finds the name of length size_bytes. EFFECT_COUNT: there is none. */
static enum effect effect_called(const char *text, size_t size_bytes)
{
    for (enum effect effect = 0; effect < EFFECT_COUNT; effect++) {
        if (strlen(effect_names[effect]) == size_bytes && memcmp(effect_names[effect], text, size_bytes) == 0)
            return effect;
    }
    return EFFECT_COUNT;
}

static int take_effects(const char *text, struct assignment *out, struct err *err)
{
    bool seen[EFFECT_COUNT] = {false};

    out->effect_count = 0;
    for (const char *at = text;; at++) {
        size_t size_bytes = strcspn(at, ",");
        enum effect effect = effect_called(at, size_bytes);

        if (effect == EFFECT_COUNT || seen[effect])
            return err_set(err, ERR_USAGE, "effects= takes read,read-link,write,tcp,udp, each at most once, not '%s'",
                           text);
        seen[effect] = true;
        out->effects[out->effect_count++] = effect;
        at += size_bytes;
        if (*at == '\0')
            return 0;
    }
}

enum key {
    KEY_TREE,
    KEY_READ,
    KEY_READ_LINK,
    KEY_WRITE,
    KEY_TCP,
    KEY_UDP,
    KEY_EFFECTS,
    KEY_ROUNDS,
    KEY_INTERVAL_MS,
    KEY_LIFETIME_MS,
    KEY_SCRATCH,
    KEY_PARENT_MS, /* this and the next may be missing */
    KEY_IGNORE_TERM,
    KEY_COUNT,
};

static const char *const key_names[] = {"tree",    "read",      "read-link",  "write",       "tcp",
                                        "udp",     "effects",   "rounds",     "interval_ms", "lifetime_ms",
                                        "scratch", "parent_ms", "ignore_term"};

_Static_assert(sizeof key_names / sizeof key_names[0] == KEY_COUNT, "a name for each key");

static int take_value(enum key key, const char *value, struct assignment *out, struct err *err)
{
    const char *name = key_names[key];
    uint32_t flag = 0;
    int code;

    switch (key) {
    case KEY_TREE:
        code = take_number(name, value, 0, 1, &flag, err);
        out->tree = flag == 1;
        return code;
    case KEY_IGNORE_TERM:
        code = take_number(name, value, 0, 1, &flag, err);
        out->ignores_term = flag == 1;
        return code;
    case KEY_PARENT_MS:
        return take_number(name, value, 1, LIMIT_LIFETIME_MS, &out->parent_ms, err);
    case KEY_READ:
        return take_path(name, value, &out->read_path, err);
    case KEY_READ_LINK:
        return take_path(name, value, &out->read_link_path, err);
    case KEY_WRITE:
        return take_path(name, value, &out->write_path, err);
    case KEY_TCP:
        return take_port(name, value, &out->tcp_port, err);
    case KEY_UDP:
        return take_port(name, value, &out->udp_port, err);
    case KEY_EFFECTS:
        return take_effects(value, out, err);
    case KEY_ROUNDS:
        return take_number(name, value, 1, LIMIT_ROUNDS, &out->rounds, err);
    case KEY_INTERVAL_MS:
        return take_number(name, value, 1, LIMIT_INTERVAL_MS, &out->interval_ms, err);
    case KEY_LIFETIME_MS:
        return take_number(name, value, 1, LIMIT_LIFETIME_MS, &out->lifetime_ms, err);
    case KEY_SCRATCH:
        return take_path(name, value, &out->scratch, err);
    case KEY_COUNT:
        break;
    }
    assert(key < KEY_COUNT);
    return err_set(err, ERR_USAGE, "unknown key");
}

static int take_keys(int argc, char *const *argv, struct assignment *out, struct err *err)
{
    bool seen[KEY_COUNT] = {false};

    for (int i = ARG_KEYS; i < argc; i++) {
        size_t name_bytes = strcspn(argv[i], "=");
        enum key key = 0;
        int code;

        while (key < KEY_COUNT &&
               (strlen(key_names[key]) != name_bytes || memcmp(key_names[key], argv[i], name_bytes) != 0))
            key++;
        if (key == KEY_COUNT || argv[i][name_bytes] != '=')
            return err_set(err, ERR_USAGE, "unknown argument '%s'", argv[i]);
        if (seen[key])
            return err_set(err, ERR_USAGE, "%s= is given twice", key_names[key]);
        seen[key] = true;
        code = take_value(key, argv[i] + name_bytes + 1, out, err);
        if (code < 0)
            return code;
    }
    for (enum key key = 0; key < KEY_PARENT_MS; key++) {
        if (!seen[key])
            return err_set(err, ERR_USAGE, "%s= is missing", key_names[key]);
    }
    return 0;
}

int assignment_parse(int argc, char *const *argv, struct assignment *out, struct err *err)
{
    struct assignment made = {0};
    uint8_t nonce[NONCE_BYTES];
    int code;

    if (argc < ARG_KEYS || strcmp(argv[ARG_VERB], "run") != 0)
        return err_set(err, ERR_USAGE, "expected: run ROLE NONCE KEY=VALUE...");
    while (made.role < ROLE_COUNT && strcmp(role_names[made.role], argv[ARG_ROLE]) != 0)
        made.role++;
    if (made.role == ROLE_COUNT)
        return err_set(err, ERR_USAGE, "ROLE is parent, child or grandchild, not '%s'", argv[ARG_ROLE]);
    if (!hex_decode(argv[ARG_NONCE], nonce, sizeof nonce))
        return err_set(err, ERR_USAGE, "NONCE is %d lower-case hexadecimal digits, not '%s'", NONCE_DIGITS,
                       argv[ARG_NONCE]);
    made.nonce = argv[ARG_NONCE];
    code = take_keys(argc, argv, &made, err);
    if (code == 0)
        *out = made;
    return code;
}
