/*
 * The messages sorted by who sent them, so that those of a role or of one round stand together.
 */
#include "replay/messages.h"

#include "base/sort.h"
#include "replay/parse.h"

#include <string.h>

static int compare_messages(const void *left, const void *right)
{
    const struct message *a = left, *b = right;
    int order = memcmp(a->nonce, b->nonce, NONCE_DIGITS);

    if (a->protocol != b->protocol)
        return a->protocol < b->protocol ? -1 : 1;
    if (order != 0)
        return order;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

static bool message_read(const Exhibit__Event *event, struct message *out)
{
    const Exhibit__Message *message = event->message;
    bool is_tcp = message->protocol == EXHIBIT__PROTOCOL__PROTOCOL_TCP;
    struct text text = {(const char *)message->payload.data, message->payload.len};
    struct mark mark;

    if (message->truncated || text.size_bytes == 0 || text.at[text.size_bytes - 1] != '\n')
        return false;
    text.size_bytes--;
    if (!text_take(&text, is_tcp ? "EXHIBIT1 tcp " : "EXHIBIT1 udp ") || !text_take_mark(&text, &mark) ||
        text.size_bytes != 0)
        return false;
    *out = (struct message){.protocol = message->protocol,
                            .role = mark.role,
                            .round = mark.round,
                            .seq = event->seq,
                            .at_ns = event->at_ns};
    memcpy(out->nonce, mark.nonce, NONCE_DIGITS);
    return true;
}

int messages_derive(struct facts *facts, struct err *err)
{
    struct span span = tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_MESSAGE);
    struct message message;

    for (size_t i = 0; i < span.count; i++) {
        int code = 0;

        if (message_read(span.events[i], &message))
            code = table_add(&facts->messages, &facts->message_count, &message, sizeof message, err);
        if (code < 0)
            return code;
    }
    if (facts->message_count > 0)
        sort_rows(facts->messages, facts->message_count, sizeof *facts->messages, compare_messages);
    return 0;
}

/* How many messages come before (protocol, nonce of the role, role, round). */
static size_t count_before(const struct facts *facts, Exhibit__Protocol protocol, const struct run *run, int role,
                           uint32_t round)
{
    struct message key = {.protocol = protocol, .role = role, .round = round};
    size_t low = 0, high = facts->message_count;

    memcpy(key.nonce, run->nonces[role], NONCE_DIGITS);
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_messages(&facts->messages[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct message *facts_messages(const struct facts *facts, Exhibit__Protocol protocol, const struct run *run,
                                     int role, size_t *out_count)
{
    size_t first = count_before(facts, protocol, run, role, 1);

    *out_count = count_before(facts, protocol, run, role, run->rounds[role] + 1) - first;
    return facts->messages + first;
}

const struct message *messages_of_round(const struct facts *facts, Exhibit__Protocol protocol, const struct run *run,
                                        int role, uint32_t round)
{
    size_t first = count_before(facts, protocol, run, role, round);
    size_t end = count_before(facts, protocol, run, role, round + 1);

    return first < end ? &facts->messages[first] : NULL;
}
