/*
 * Bytes as they arrive: lines of the probe (docs/DECISION.md section 2), contents of canaries. Knows no outcome.
 */
#include "record/judge_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reader over the words of one line: separated by exactly one space. */
struct words {
    const char *at;
    const char *end;
};

/* Takes the next word. False: none is left, or it is empty. */
static bool word_next(struct words *words, const char **out, size_t *out_bytes)
{
    const char *space;

    if (words->at == NULL || words->at == words->end)
        return false;
    space = memchr(words->at, ' ', (size_t)(words->end - words->at));
    *out = words->at;
    *out_bytes = (size_t)((space == NULL ? words->end : space) - words->at);
    /* A space at the very end leaves an empty word behind, which the next call refuses. */
    words->at = space == NULL ? NULL : space + 1;
    return *out_bytes > 0;
}

/* Whether all of the line was taken. */
static bool words_are_over(const struct words *words)
{
    return words->at == NULL;
}

/* A decimal number from 1 to max without leading zero. */
static bool number_parse(const char *text, size_t size_bytes, uint32_t max, uint32_t *out)
{
    uint32_t value = 0;

    if (size_bytes == 0 || size_bytes > 9 || text[0] == '0')
        return false;
    for (size_t i = 0; i < size_bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    *out = value;
    return value <= max;
}

static bool text_is(const char *text, size_t size_bytes, const char *wanted)
{
    return strlen(wanted) == size_bytes && memcmp(text, wanted, size_bytes) == 0;
}

/* Takes "EXHIBIT1 WORD NONCE ROLE ROUND" off the front. */
static bool mark_take(const struct judge_run *run, const char *word, struct words *words, Exhibit__Role *out_role,
                      uint32_t *out_round)
{
    const char *text, *nonce;
    size_t size_bytes, nonce_bytes;
    Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT;

    if (!word_next(words, &text, &size_bytes) || !text_is(text, size_bytes, "EXHIBIT1") ||
        !word_next(words, &text, &size_bytes) || !text_is(text, size_bytes, word) ||
        !word_next(words, &nonce, &nonce_bytes) || !word_next(words, &text, &size_bytes))
        return false;
    while (role < JUDGE_ROLES && !text_is(text, size_bytes, judge_role_text(role)))
        role++;
    if (role == JUDGE_ROLES || !run->roles[role].listed || !text_is(nonce, nonce_bytes, run->roles[role].nonce) ||
        !word_next(words, &text, &size_bytes) || !number_parse(text, size_bytes, run->roles[role].rounds, out_round))
        return false;
    *out_role = role;
    return true;
}

bool judge_mark_parse(const struct judge_run *run, const char *word, const char *text, size_t size_bytes,
                      Exhibit__Role *out_role, uint32_t *out_round)
{
    struct words words = {text, text + size_bytes};

    return mark_take(run, word, &words, out_role, out_round) && words_are_over(&words);
}

static bool effect_is_read(const char *effect)
{
    return strcmp(effect, "read") == 0 || strcmp(effect, "read-link") == 0;
}

/* Whether the 64 digits are the digest over the canary, the nonce and the round. */
static bool proof_is_right(const struct judge_run *run, const char *effect, const struct judge_row *row,
                           const char *digits)
{
    const struct bytes *canary = strcmp(effect, "read") == 0 ? &run->canary_read : &run->canary_link;
    struct digest digest;
    char text[64], expected[2 * DIGEST_BYTES + 1];
    int size = snprintf(text, sizeof text, " %s %u", run->roles[row->role].nonce, row->round);

    digest_run_reset(run->hash);
    digest_run_add(run->hash, canary->data, canary->size_bytes);
    digest_run_add(run->hash, text, (size_t)size);
    digest = digest_run_now(run->hash);
    hex_encode(digest.bytes, DIGEST_BYTES, expected);
    return run->targets_set && memcmp(expected, digits, 2 * DIGEST_BYTES) == 0;
}

static bool is_hex(const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
    return true;
}

/* Parses what one effect told. */
static bool told_parse(const struct judge_run *run, const char *effect, const struct judge_row *row, const char *text,
                       size_t size_bytes, struct judge_attempt *out)
{
    bool read = effect_is_read(effect);

    *out = (struct judge_attempt){0};
    if (!read && text_is(text, size_bytes, "ok")) {
        out->told = JUDGE_TOLD_OK;
        return true;
    }
    if (read && size_bytes == 3 + 2 * DIGEST_BYTES && memcmp(text, "ok:", 3) == 0 &&
        is_hex(text + 3, 2 * DIGEST_BYTES)) {
        out->told = JUDGE_TOLD_OK;
        out->proof_right = proof_is_right(run, effect, row, text + 3);
        return true;
    }
    if (text_is(text, size_bytes, "timeout")) {
        out->told = JUDGE_TOLD_TIMEOUT;
        return true;
    }
    if (size_bytes > 6 && memcmp(text, "errno:", 6) == 0) {
        out->told = JUDGE_TOLD_ERRNO;
        return number_parse(text + 6, size_bytes - 6, 4095, &out->number);
    }
    if (size_bytes > 7 && memcmp(text, "signal:", 7) == 0) {
        out->told = JUDGE_TOLD_SIGNAL;
        return number_parse(text + 7, size_bytes - 7, 64, &out->number);
    }
    return false;
}

/* Parses "EFFECT=TOLD" for each effect, in order, to the end of the line. */
static bool attempts_parse(const struct judge_run *run, struct words *words, const struct judge_row *row,
                           struct judge_attempt *out)
{
    for (size_t i = 0; i < run->effect_count; i++) {
        const char *text;
        size_t size_bytes, name_bytes = strlen(run->effects[i]);

        if (!word_next(words, &text, &size_bytes) || size_bytes <= name_bytes || text[name_bytes] != '=' ||
            memcmp(text, run->effects[i], name_bytes) != 0 ||
            !told_parse(run, run->effects[i], row, text + name_bytes + 1, size_bytes - name_bytes - 1, &out[i]))
            return false;
    }
    return words_are_over(words);
}

static struct judge_row *row_find(const struct judge_run *run, Exhibit__Role role, uint32_t round)
{
    for (size_t i = run->row_count; i > 0; i--)
        if (run->rows[i - 1].role == role && run->rows[i - 1].round == round)
            return &run->rows[i - 1];
    return NULL;
}

static int line_order(const void *a, const void *b)
{
    const struct judge_line *left = a, *right = b;
    int order = memcmp(left->digest.bytes, right->digest.bytes, DIGEST_BYTES);

    return order != 0 ? order : (left->at_ns > right->at_ns) - (left->at_ns < right->at_ns);
}

void judge_lines_unite(struct judge_run *run)
{
    size_t kept = 0;

    if (run->line_count > 0)
        qsort(run->lines, run->line_count, sizeof *run->lines, line_order);
    for (size_t i = 0; i < run->line_count; i++)
        if (kept == 0 || !digest_equal(&run->lines[kept - 1].digest, &run->lines[i].digest))
            run->lines[kept++] = run->lines[i];
    run->line_count = kept;
}

/* Notes a line. A subject that repeats one without end costs no memory. */
static int line_put(struct judge_run *run, struct judge_line line, struct err *err)
{
    if (run->line_count == run->line_room) {
        judge_lines_unite(run);
        /* Half of it is to be free then, or the next sorting would come too soon. */
        if (run->line_count >= run->line_room / 2 &&
            judge_grow(&run->lines, &run->line_room, run->line_room, sizeof *run->lines, err) < 0)
            return err->code;
    }
    run->lines[run->line_count++] = line;
    return 0;
}

/* Adds a row, or compares a copy with the first one. Takes attempts over. */
static int row_put(struct judge_run *run, struct judge_row *row, struct err *err)
{
    struct judge_row *known = row_find(run, row->role, row->round);

    if (known == NULL && judge_grow(&run->rows, &run->row_room, run->row_count, sizeof *run->rows, err) == 0) {
        run->rows[run->row_count++] = *row;
        return 0;
    }
    free(row->attempts);
    if (known == NULL)
        return err->code;
    known->contested = known->contested || !digest_equal(&known->line, &row->line);
    return 0;
}

/* Whether one word is left, and it is an effect of the run. */
static bool effect_is_last(const struct judge_run *run, struct words *words)
{
    const char *text;
    size_t size_bytes;

    if (!word_next(words, &text, &size_bytes) || !words_are_over(words))
        return false;
    for (size_t i = 0; i < run->effect_count; i++)
        if (text_is(text, size_bytes, run->effects[i]))
            return true;
    return false;
}

int judge_line_take(struct judge_run *run, const char *line, size_t size_bytes, uint64_t at_ns, struct err *err)
{
    struct words row_words = {line, line + size_bytes}, try_words = row_words;
    struct judge_row row = {.at_ns = at_ns};
    struct judge_line taken = {.at_ns = at_ns};
    uint32_t round;

    if (mark_take(run, "row", &row_words, &row.role, &row.round)) {
        row.attempts = calloc(run->effect_count + 1, sizeof *row.attempts);
        if (row.attempts == NULL)
            return err_set_errno(err, "memory for the judge");
        if (!attempts_parse(run, &row_words, &row, row.attempts)) {
            free(row.attempts);
            return 0;
        }
        row.line = taken.digest = digest_of(line, size_bytes);
        taken.role = row.role;
        if (row_put(run, &row, err) < 0)
            return err->code;
        return line_put(run, taken, err);
    }
    if (!mark_take(run, "try", &try_words, &taken.role, &round) || !effect_is_last(run, &try_words))
        return 0;
    taken.digest = digest_of(line, size_bytes);
    return line_put(run, taken, err);
}

/* Cuts a stream of the probe into lines. */
static int lines_take(struct judge_run *run, int stream, const uint8_t *bytes, size_t size_bytes, uint64_t at_ns,
                      struct err *err)
{
    struct bytes *part = &run->parts[stream];

    while (size_bytes > 0) {
        const uint8_t *newline = memchr(bytes, '\n', size_bytes);
        size_t piece_bytes = newline == NULL ? size_bytes : (size_t)(newline - bytes);

        if (part->size_bytes + piece_bytes >= LIMIT_LINE_BYTES)
            run->overlong[stream] = true; /* with its newline it is longer than a line may be */
        else if (bytes_add(part, bytes, piece_bytes, LIMIT_LINE_BYTES, err) < 0)
            return err->code;
        if (newline == NULL)
            return 0;
        if (!run->overlong[stream] && part->size_bytes > 0 &&
            judge_line_take(run, (const char *)part->data, part->size_bytes, at_ns, err) < 0)
            return err->code;
        part->size_bytes = 0;
        run->overlong[stream] = false;
        bytes += piece_bytes + 1;
        size_bytes -= piece_bytes + 1;
    }
    return 0;
}

/* The contents that count for a run: those that were set before its exit. */
static size_t canaries_of(const struct judge *judge, const struct judge_run *run)
{
    return run->exited ? run->canary_count : judge->canary_count;
}

void judge_bytes_release(struct judge_run *run)
{
    if (run->kind != EXHIBIT__RUN_KIND__RUN_CASE && run->canary_count == run->canary_start)
        for (int stream = 0; stream < JUDGE_STREAMS; stream++)
            bytes_done(&run->kept[stream]);
}

void judge_leaks_settle(const struct judge *judge, struct judge_run *run)
{
    if (run->mode != EXHIBIT__MODE__MODE_STRICT || run->leaked)
        return;
    for (size_t i = run->canary_start; i < canaries_of(judge, run); i++)
        for (int stream = EXHIBIT__STREAM_NAME__STREAM_STDOUT; stream < JUDGE_STREAMS; stream++)
            if (run->kept[stream].size_bytes > 0 &&
                memmem(run->kept[stream].data, run->kept[stream].size_bytes, judge->canaries[i].data,
                       judge->canaries[i].size_bytes) != NULL) {
                run->leaked = true;
                run->leaked_seq = run->start_seq;
            }
}

/* Whether a run's bytes are kept: for matchers, or as long as another canary may be set that counts for the run. */
static bool is_kept(const struct judge_run *run)
{
    return run->kind == EXHIBIT__RUN_KIND__RUN_CASE ||
           (run->mode == EXHIBIT__MODE__MODE_STRICT && (!run->exited || run->canary_count > run->canary_start));
}

/* Looks for the contents of canaries, also across the border to what came before. */
static int leak_search(struct judge *judge, struct judge_run *run, const Exhibit__Event *event, const uint8_t *bytes,
                       size_t size_bytes, struct err *err)
{
    struct bytes *tail = &run->tails[event->chunk->stream];
    AUTO_BYTES struct bytes both = {0};
    size_t keep_bytes, canary_count = canaries_of(judge, run);

    if (run->leaked || canary_count == 0)
        return 0;
    if (bytes_add(&both, tail->data, tail->size_bytes, SIZE_MAX / 2, err) < 0 ||
        bytes_add(&both, bytes, size_bytes, SIZE_MAX / 2, err) < 0)
        return err->code;
    for (size_t i = 0; i < canary_count; i++)
        if (memmem(both.data, both.size_bytes, judge->canaries[i].data, judge->canaries[i].size_bytes) != NULL) {
            run->leaked = true;
            run->leaked_seq = event->seq;
            return 0;
        }
    keep_bytes = judge->canary_max_bytes - 1 < both.size_bytes ? judge->canary_max_bytes - 1 : both.size_bytes;
    tail->size_bytes = 0;
    return bytes_add(tail, both.data + both.size_bytes - keep_bytes, keep_bytes, SIZE_MAX / 2, err);
}

int judge_bytes_take(struct judge *judge, struct judge_run *run, const Exhibit__Event *event, const uint8_t *bytes,
                     size_t size_bytes, struct err *err)
{
    int stream = (int)event->chunk->stream;

    if (stream <= EXHIBIT__STREAM_NAME__STREAM_STDIN || stream >= JUDGE_STREAMS || size_bytes == 0)
        return 0;
    run->size_bytes[stream] += size_bytes;
    if (run->size_bytes[stream] > JUDGE_KEPT_BYTES && run->kind == EXHIBIT__RUN_KIND__RUN_CASE)
        bytes_done(&run->kept[stream]); /* too long to be looked at: no matcher holds, whatever it is */
    if (is_kept(run) && run->size_bytes[stream] <= JUDGE_KEPT_BYTES &&
        bytes_add(&run->kept[stream], bytes, size_bytes, JUDGE_KEPT_BYTES, err) < 0)
        return err->code;
    if (run->kind == EXHIBIT__RUN_KIND__RUN_TRIAL && stream != EXHIBIT__STREAM_NAME__STREAM_STDERR &&
        lines_take(run, stream, bytes, size_bytes, event->at_ns, err) < 0)
        return err->code;
    if (run->mode != EXHIBIT__MODE__MODE_STRICT)
        return 0;
    judge_proofs_search(judge, run, &run->digits[stream], bytes, size_bytes, event->seq);
    return leak_search(judge, run, event, bytes, size_bytes, err);
}
