/*
 * Statements and facts, as they are added. Where each event lies is filled in later (explain_resolve).
 */
#include "replay/explain_build.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void explain_no_memory(struct explaining *explaining)
{
    if (explaining->code == 0)
        explaining->code = err_set(explaining->err, ERR_SYSTEM, "memory for an explanation");
}

void explain_set(struct explaining *explaining, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        explain_no_memory(explaining);
}

void explain_say(struct explaining *explaining, const char *fmt, ...)
{
    char text[1024];
    json_t *statement;
    va_list args;

    explaining->facts = explaining->last = NULL;
    if (explaining->code < 0)
        return;
    if (json_array_size(explaining->statements) >= explaining->room) {
        explaining->left_out++;
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    statement = json_pack("{s:o, s:[]}", "says", explain_escaped(text, strlen(text)), "facts");
    if (json_array_append_new(explaining->statements, statement) < 0) {
        explain_no_memory(explaining);
        return;
    }
    explaining->last = statement;
    explaining->facts = json_object_get(statement, "facts");
}

/* A new fact of the last statement, borrowed. NULL: there is no place for it. */
static json_t *fact_add(struct explaining *explaining, const char *what)
{
    json_t *fact, *left;

    if (explaining->facts == NULL || explaining->code < 0)
        return NULL;
    if (json_array_size(explaining->facts) >= EXPLAIN_FACTS) {
        left = json_object_get(explaining->last, "facts_left_out");
        explain_set(explaining, explaining->last, "facts_left_out", json_integer(json_integer_value(left) + 1));
        return NULL;
    }
    fact = json_pack("{s:o}", "what", explain_escaped(what, strlen(what)));
    if (json_array_append_new(explaining->facts, fact) < 0) {
        explain_no_memory(explaining);
        return NULL;
    }
    return fact;
}

/* An object under `key` that explain_resolve fills in as `want` says. */
static void event_want(struct explaining *explaining, json_t *fact, const char *key, struct explain_want want)
{
    want.into = json_object();
    explain_set(explaining, fact, key, want.into);
    if (explaining->code == 0)
        explaining->code = table_add(&explaining->wants, &explaining->want_count, &want, sizeof want, explaining->err);
}

void explain_event(struct explaining *explaining, const char *what, uint64_t seq)
{
    json_t *fact = seq == 0 ? NULL : fact_add(explaining, what);

    if (fact != NULL)
        event_want(explaining, fact, "event", (struct explain_want){.seq = seq});
}

const char *explain_stream_word(Exhibit__StreamName stream)
{
    static const char *const words[STREAM_ROOM] = {
        [EXHIBIT__STREAM_NAME__STREAM_STDIN] = "stdin",
        [EXHIBIT__STREAM_NAME__STREAM_STDOUT] = "stdout",
        [EXHIBIT__STREAM_NAME__STREAM_STDERR] = "stderr",
        [EXHIBIT__STREAM_NAME__STREAM_SCRATCH_PARENT] = "scratch-parent",
        [EXHIBIT__STREAM_NAME__STREAM_SCRATCH_CHILD] = "scratch-child",
        [EXHIBIT__STREAM_NAME__STREAM_SCRATCH_GRANDCHILD] = "scratch-grandchild",
    };

    return (int)stream < STREAM_ROOM && words[stream] != NULL ? words[stream] : "";
}

/* The StreamEnd event of a stream. 0: there is none. */
static uint64_t end_seq(const struct explaining *explaining, const struct run *run, Exhibit__StreamName stream)
{
    struct span ends = tables_of_run(&explaining->judged->facts->tables, EXHIBIT__EVENT__WHAT_STREAM_END, run->number);

    for (size_t i = 0; i < ends.count; i++)
        if (ends.events[i]->stream_end->stream == stream)
            return ends.events[i]->seq;
    return 0;
}

/* Sets the bytes of a fact, as many as are shown. */
static void set_text(struct explaining *explaining, json_t *bytes, const struct bytes *from, uint64_t size_bytes)
{
    explain_set(explaining, bytes, "text", explain_escaped(from->data, from->size_bytes));
    if (from->size_bytes < size_bytes)
        explain_set(explaining, bytes, "shown", explain_number(from->size_bytes));
}

void explain_bytes(struct explaining *explaining, const char *what, const struct run *run, Exhibit__StreamName stream,
                   uint64_t offset_bytes, uint64_t size_bytes)
{
    const Exhibit__Stream *content = run->ends[stream]->content;
    size_t shown_bytes = size_bytes < EXPLAIN_TEXT_BYTES ? (size_t)size_bytes : EXPLAIN_TEXT_BYTES;
    AUTO_BYTES struct bytes text = {0};
    json_t *fact, *bytes;

    if (content == NULL || size_bytes == 0 || (fact = fact_add(explaining, what)) == NULL)
        return;
    bytes = json_object();
    explain_set(explaining, fact, "bytes", bytes);
    if (explaining->code == 0)
        explaining->code =
            explain_read_stream(explaining->pack, content, offset_bytes, shown_bytes, &text, explaining->err);
    if (explaining->code < 0)
        return;
    explain_set(explaining, bytes, "run", json_integer((json_int_t)run->number));
    explain_set(explaining, bytes, "stream", json_string(explain_stream_word(stream)));
    set_text(explaining, bytes, &text, size_bytes);
    explain_set(explaining, bytes, "place", explain_stream_range(explaining->pack, content, offset_bytes, size_bytes));
    event_want(
        explaining, fact, "arrived",
        (struct explain_want){.run = run->number, .stream = stream, .offset_bytes = offset_bytes + size_bytes - 1});
    event_want(explaining, fact, "listed", (struct explain_want){.seq = end_seq(explaining, run, stream)});
}

void explain_content(struct explaining *explaining, const char *what, const struct digest *digest,
                     uint64_t offset_bytes, uint64_t size_bytes)
{
    size_t shown_bytes = size_bytes < EXPLAIN_TEXT_BYTES ? (size_t)size_bytes : EXPLAIN_TEXT_BYTES;
    AUTO_BYTES struct bytes whole = {0};
    struct bytes shown;
    json_t *fact = size_bytes == 0 ? NULL : fact_add(explaining, what), *content;

    if (fact == NULL)
        return;
    content = json_object();
    explain_set(explaining, fact, "content", content);
    if (explaining->code == 0)
        explaining->code =
            pack_read(explaining->pack, PACK_OBSERVATION, digest, LIMIT_ARTIFACT_BYTES, &whole, explaining->err);
    if (explaining->code < 0 || offset_bytes + shown_bytes > whole.size_bytes)
        return;
    shown = (struct bytes){.data = whole.data + offset_bytes, .size_bytes = shown_bytes};
    set_text(explaining, content, &shown, size_bytes);
    explain_set(explaining, content, "place", explain_object_range(explaining->pack, digest, offset_bytes, size_bytes));
}

void explain_line(struct explaining *explaining, const struct run *run, const struct line *line)
{
    Exhibit__StreamName stream = (Exhibit__StreamName)line->stream;
    uint64_t first = line->offset_bytes >= LIMIT_LINE_BYTES ? line->offset_bytes - LIMIT_LINE_BYTES : 0;
    AUTO_BYTES struct bytes before = {0};
    char what[80];
    const uint8_t *newline;

    if (explaining->code < 0)
        return;
    explaining->code = explain_read_stream(explaining->pack, run->ends[stream]->content, first,
                                           (size_t)(line->offset_bytes - first), &before, explaining->err);
    if (explaining->code < 0)
        return;
    newline = before.size_bytes == 0 ? NULL : memrchr(before.data, '\n', before.size_bytes);
    if (newline != NULL)
        first += (uint64_t)(newline - before.data) + 1;
    (void)snprintf(what, sizeof what, "the %s, in %s", line->kind == LINE_ROW ? "row" : "try",
                   explain_stream_word(stream));
    explain_bytes(explaining, what, run, stream, first, line->offset_bytes + 1 - first);
}

void explain_role(struct explaining *explaining, const struct run *run, int role)
{
    const struct identity *identity = &run->derived->roles[role];

    explain_event(explaining, identity->contested ? "a second identity of the role" : "the process of the role",
                  identity->first_seq);
    explain_event(explaining, "the end of that process", identity->gone_seq);
}
