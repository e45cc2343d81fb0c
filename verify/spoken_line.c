/*
 * The grammar of the probe's lines, word by word.
 */
#include "verify/spoken_line.h"

#include "formats/oracle.h"

#include <string.h>

int spoken_effect_index(const char *effect)
{
    for (int i = 0; effect_names[i] != NULL; i++)
        if (strcmp(effect_names[i], effect) == 0)
            return i;
    return -1;
}

/* Takes the bytes up to the next space, and the space. `more` tells whether there was one. */
static struct cursor spoken_word(struct cursor *rest, bool *more)
{
    const uint8_t *space = rest->left_bytes == 0 ? NULL : memchr(rest->at, ' ', rest->left_bytes);
    struct cursor word = {rest->at, space == NULL ? rest->left_bytes : (size_t)(space - rest->at)};
    struct cursor skipped;

    *more = space != NULL;
    (void)cursor_take_bytes(rest, word.left_bytes + (*more ? 1 : 0), &skipped);
    return word;
}

static bool spoken_word_is(struct cursor word, const char *text)
{
    size_t size = strlen(text);

    return word.left_bytes == size && memcmp(word.at, text, size) == 0;
}

static bool spoken_starts(struct cursor *word, const char *text)
{
    size_t size = strlen(text);
    struct cursor skipped;

    if (word->left_bytes < size || memcmp(word->at, text, size) != 0)
        return false;
    return cursor_take_bytes(word, size, &skipped);
}

/* A decimal number from 1 to max without a leading zero. */
static bool spoken_number(struct cursor word, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;

    if (word.left_bytes == 0 || word.left_bytes > 9 || word.at[0] == '0')
        return false;
    for (size_t i = 0; i < word.left_bytes; i++) {
        if (word.at[i] < '0' || word.at[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(word.at[i] - '0');
    }
    *out = (uint32_t)value;
    return value <= max;
}

static bool spoken_hex(struct cursor word, uint8_t *out, size_t size_bytes)
{
    char text[2 * DIGEST_BYTES + 1];

    if (word.left_bytes != 2 * size_bytes || word.left_bytes >= sizeof text)
        return false;
    memcpy(text, word.at, word.left_bytes);
    text[word.left_bytes] = '\0';
    return hex_decode(text, out, size_bytes);
}

static bool spoken_told_parse(const char *effect, struct cursor word, struct spoken_told *out)
{
    int index = spoken_effect_index(effect);
    bool proves = index == SPOKEN_READ || index == SPOKEN_READ_LINK;

    *out = (struct spoken_told){0};
    if (!spoken_starts(&word, effect) || !spoken_starts(&word, "="))
        return false;
    if (spoken_word_is(word, "ok")) {
        out->kind = SPOKEN_OK;
        return !proves;
    }
    if (spoken_word_is(word, "timeout")) {
        out->kind = SPOKEN_TIMEOUT;
        return true;
    }
    if (spoken_starts(&word, "ok:")) {
        out->kind = SPOKEN_PROOF;
        return proves && spoken_hex(word, out->proof, DIGEST_BYTES);
    }
    if (spoken_starts(&word, "errno:")) {
        out->kind = SPOKEN_ERRNO;
        return spoken_number(word, 4095, &out->number);
    }
    out->kind = SPOKEN_SIGNAL;
    return spoken_starts(&word, "signal:") && spoken_number(word, 64, &out->number);
}

static Exhibit__Role spoken_role(struct cursor word)
{
    for (int role = EXHIBIT__ROLE__ROLE_PARENT; role <= EXHIBIT__ROLE__ROLE_GRANDCHILD; role++)
        if (spoken_word_is(word, ledger_role_text((Exhibit__Role)role)))
            return (Exhibit__Role)role;
    return EXHIBIT__ROLE__ROLE_NONE;
}

/* `EXHIBIT1 VERB NONCE ROLE ROUND`, and whether a space and more follow. */
static bool spoken_head(struct cursor *rest, const char *verb, struct spoken_mark *out, bool *more)
{
    struct cursor word;
    uint8_t nonce[NONCE_BYTES];

    if (!spoken_word_is(spoken_word(rest, more), "EXHIBIT1") || !*more ||
        !spoken_word_is(spoken_word(rest, more), verb) || !*more)
        return false;
    word = spoken_word(rest, more);
    if (!*more || !spoken_hex(word, nonce, NONCE_BYTES))
        return false;
    hex_encode(nonce, NONCE_BYTES, out->nonce);
    out->role = spoken_role(spoken_word(rest, more));
    if (out->role == EXHIBIT__ROLE__ROLE_NONE || !*more)
        return false;
    return spoken_number(spoken_word(rest, more), LIMIT_ROUNDS, &out->round);
}

bool spoken_mark_parse(const char *verb, struct cursor text, struct spoken_mark *out)
{
    bool more;

    return spoken_head(&text, verb, out, &more) && !more;
}

bool spoken_line_parse(const struct ledger_run *run, struct cursor line, struct spoken_line *out)
{
    const Exhibit__ProbeAssignment *probe = ledger_told(run)->probe;
    struct cursor rest = line;
    struct spoken_mark mark;
    bool more;

    out->kind = SPOKEN_ROW;
    if (!spoken_head(&rest, "row", &mark, &more)) {
        rest = line;
        out->kind = SPOKEN_TRY;
        if (!spoken_head(&rest, "try", &mark, &more))
            return false;
    }
    out->role = mark.role;
    out->round = mark.round;
    if (mark.round > ledger_rounds(run, mark.role) || strcmp(mark.nonce, run->nonces[mark.role]) != 0)
        return false;
    if (out->kind == SPOKEN_TRY) {
        struct cursor word = spoken_word(&rest, &more);

        for (out->effect = 0; out->effect < probe->n_effects; out->effect++)
            if (spoken_word_is(word, probe->effects[out->effect]))
                return !more && rest.left_bytes == 0;
        return false;
    }
    for (size_t i = 0; i < probe->n_effects; i++)
        if (!more || !spoken_told_parse(probe->effects[i], spoken_word(&rest, &more), &out->told[i]))
            return false;
    return !more;
}
