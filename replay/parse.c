/*
 * The forms, taken word by word from the front of a line.
 */
#include "replay/parse.h"

#include "base/bytes.h"
#include "replay/words.h"

#include <string.h>

enum { ERRNO_MAX = 4095, SIGNAL_MAX = 64 };

bool text_take(struct text *text, const char *literal)
{
    size_t size_bytes = strlen(literal);

    if (text->size_bytes < size_bytes || memcmp(text->at, literal, size_bytes) != 0)
        return false;
    text->at += size_bytes;
    text->size_bytes -= size_bytes;
    return true;
}

/* Takes what comes before the next space or the end; may be empty. */
static struct text take_word(struct text *text)
{
    const char *space = text->size_bytes == 0 ? NULL : memchr(text->at, ' ', text->size_bytes);
    struct text word = {text->at, space == NULL ? text->size_bytes : (size_t)(space - text->at)};

    text->at += word.size_bytes;
    text->size_bytes -= word.size_bytes;
    return word;
}

/* A decimal number from 1 to max, without a leading zero. */
static bool text_number(struct text text, uint32_t max, uint32_t *out)
{
    enum { MOST_DIGITS = 9 };
    uint32_t value = 0;

    for (size_t i = 0; i < text.size_bytes && i <= MOST_DIGITS; i++) {
        uint32_t digit = (uint32_t)(unsigned char)text.at[i] - '0';

        if (digit > 9 || (value == 0 && digit == 0))
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return value != 0 && value <= max && text.size_bytes <= MOST_DIGITS;
}

bool text_take_mark(struct text *text, struct mark *out)
{
    struct text nonce = take_word(text), role, round;

    if (nonce.size_bytes != NONCE_DIGITS || !text_take(text, " "))
        return false;
    role = take_word(text);
    if (!text_take(text, " "))
        return false;
    round = take_word(text);
    out->nonce = nonce.at;
    out->role = role_of_word(role.at, role.size_bytes);
    return out->role > 0 && text_number(round, LIMIT_ROUNDS, &out->round);
}

bool mark_is_of_run(const struct mark *mark, const struct run *run)
{
    return run->listed[mark->role] && mark->round <= run->rounds[mark->role] &&
           memcmp(mark->nonce, run->nonces[mark->role], NONCE_DIGITS) == 0;
}

/* Reads `ok:HEX64`, which `text` holds without its first three bytes. */
static bool text_proof(struct text text, uint8_t *proof)
{
    char digits[2 * DIGEST_BYTES + 1] = {0};

    if (text.size_bytes != 2 * DIGEST_BYTES)
        return false;
    memcpy(digits, text.at, text.size_bytes);
    return hex_decode(digits, proof, DIGEST_BYTES);
}

/* Reads what a row tells for one effect. */
static bool text_told(struct text text, enum effect effect, struct line *out)
{
    struct told *told = &out->told[effect];
    bool proves = effect == EFFECT_READ || effect == EFFECT_READ_LINK;
    uint32_t number = 0;

    if (text_take(&text, "errno:")) {
        told->kind = TOLD_ERRNO;
        if (!text_number(text, ERRNO_MAX, &number))
            return false;
    } else if (text_take(&text, "signal:")) {
        told->kind = TOLD_SIGNAL;
        if (!text_number(text, SIGNAL_MAX, &number))
            return false;
    } else if (text_take(&text, "timeout")) {
        told->kind = TOLD_TIMEOUT;
        return text.size_bytes == 0;
    } else if (proves) {
        told->kind = TOLD_OK;
        return text_take(&text, "ok:") && text_proof(text, out->proofs[effect]);
    } else {
        told->kind = TOLD_OK;
        return text_take(&text, "ok") && text.size_bytes == 0;
    }
    told->number = (uint16_t)number;
    return true;
}

static bool text_row(const struct run *run, struct text text, struct line *out)
{
    for (size_t i = 0; i < run->effect_count; i++) {
        if (!text_take(&text, " ") || !text_take(&text, word_of_effect((int)run->effects[i])) ||
            !text_take(&text, "=") || !text_told(take_word(&text), run->effects[i], out))
            return false;
    }
    return text.size_bytes == 0;
}

static bool text_try(const struct run *run, struct text text, struct line *out)
{
    int effect;

    if (!text_take(&text, " "))
        return false;
    effect = effect_of_word(text.at, text.size_bytes);
    for (size_t i = 0; i < run->effect_count; i++)
        if ((int)run->effects[i] == effect) {
            out->effect = (uint8_t)effect;
            return true;
        }
    return false;
}

bool line_read(const struct run *run, struct text text, struct line *out)
{
    bool is_row = text_take(&text, "EXHIBIT1 row ");
    struct mark mark;

    if ((!is_row && !text_take(&text, "EXHIBIT1 try ")) || !text_take_mark(&text, &mark) || !mark_is_of_run(&mark, run))
        return false;
    memset(out, 0, sizeof *out);
    out->kind = is_row ? LINE_ROW : LINE_TRY;
    out->role = (uint8_t)mark.role;
    out->round = mark.round;
    return is_row ? text_row(run, text, out) : text_try(run, text, out);
}
