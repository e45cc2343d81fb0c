#include "record/store_list.h"

#include "base/cleanup.h"
#include "formats/claim.h"
#include "formats/store_inputs.h"
#include "formats/stream.h"
#include "record/needs.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SHORT_DIGITS = 12, WHEN_BYTES = 32 };

/* So many objects, of so many bytes. */
struct amount {
    uint64_t count, size_bytes;
};

/* What is told of a pack. */
struct entry {
    struct digest receipt;
    int64_t realtime_ns;
    char experiment[LIMIT_NAME_BYTES + 1], candidate[LIMIT_NAME_BYTES + 1], decision[LIMIT_NAME_BYTES + 1];
    bool is_partial, has_local, lacks_local;
    uint64_t file_bytes;
    struct amount own, shared; /* inputs: in this pack, and needed of others */
    uint64_t missing_count;    /* inputs that no pack lists */
    char *unread;              /* owned: why it could not be read; NULL: it could */
};

struct listing {
    const struct store *store;
    struct store_inputs *inputs;
    struct entry *entries;
};

/* ---- reading ---- */

static void text_copy(char out[LIMIT_NAME_BYTES + 1], const char *from)
{
    (void)snprintf(out, LIMIT_NAME_BYTES + 1, "%s", from);
}

/* Only the first event is wanted: any code that is not 0 ends the reading. */
static int start_take(void *context, const Exhibit__Event *event, struct err *err)
{
    struct entry *entry = context;

    if (event->what_case != EXHIBIT__EVENT__WHAT_RECORDING_START)
        return err_set(err, ERR_FORMAT, "FORMAT 7.4: the first event is not recording_start");
    entry->realtime_ns = event->recording_start->realtime_ns;
    text_copy(entry->experiment, event->recording_start->experiment);
    text_copy(entry->candidate, event->recording_start->candidate);
    return err_set(err, ERR_USAGE, "enough was read");
}

static int facts_read(struct pack *pack, struct entry *entry, struct err *err)
{
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    const Exhibit__Claim *claim = NULL;
    int code = receipt_read(pack, &arena, &receipt, err);

    if (code == 0) {
        entry->is_partial = receipt->partial;
        code = events_read(pack, receipt->events, start_take, entry, err);
    }
    if (code < 0 && code != ERR_USAGE)
        return code;
    code = claim_read(pack, &arena, &claim, err);
    if (claim != NULL)
        text_copy(entry->decision, claim->decision);
    return code;
}

/* Counts what the receipt needs that this pack does not have. */
static int needs_count_shared(const struct listing *listing, struct pack *pack, struct entry *entry, struct err *err)
{
    struct needs needs = {0};
    int code = needs_read(pack, &needs, err);

    for (size_t i = 0; code == 0 && i < needs_count(&needs); i++) {
        const struct digest digest = needs_at(&needs, i);
        uint32_t where;
        uint64_t size_bytes;

        if (pack_find(pack, PACK_INPUT, &digest, NULL))
            continue;
        if (store_inputs_listed(listing->inputs, &digest, &where, &size_bytes)) {
            entry->shared.count++;
            entry->shared.size_bytes += size_bytes;
        } else if (needs.promises) {
            entry->missing_count++;
        }
    }
    entry->lacks_local = needs.wants_local && !entry->has_local;
    needs_done(&needs);
    return code;
}

static int entry_read(const struct listing *listing, uint32_t number, struct entry *entry, struct err *err)
{
    struct store_pack open = {.fd = -1};
    struct stat stat;
    int code = store_pack_open(listing->store, number, true, &open, err);

    if (code < 0)
        return code;
    if (fstat(open.fd, &stat) == 0)
        entry->file_bytes = (uint64_t)stat.st_size;
    entry->own.count = pack_object_count(open.pack, PACK_INPUT);
    for (uint32_t i = 0; i < entry->own.count; i++)
        entry->own.size_bytes += pack_object_at(open.pack, PACK_INPUT, i).size_bytes;
    code = facts_read(open.pack, entry, err);
    if (code == 0)
        code = needs_count_shared(listing, open.pack, entry, err);
    store_pack_close(&open);
    return code;
}

/* ---- telling ---- */

static void when_write(int64_t realtime_ns, char out[WHEN_BYTES])
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm when;

    if (gmtime_r(&seconds, &when) == NULL || strftime(out, WHEN_BYTES, "%Y-%m-%dT%H:%M:%SZ", &when) == 0)
        (void)strcpy(out, "?");
}

/* Writes bytes as people read them. */
static void size_write(uint64_t size_bytes, char out[WHEN_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)size_bytes;
    size_t unit = 0;

    for (; value >= 1024; unit++)
        value /= 1024;
    (void)snprintf(out, WHEN_BYTES, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

static void amount_print(const struct amount *amount, int width, FILE *out)
{
    char size[WHEN_BYTES], text[2 * WHEN_BYTES];

    size_write(amount->size_bytes, size);
    (void)snprintf(text, sizeof text, "%" PRIu64 " (%s)", amount->count, size);
    (void)fprintf(out, "  %-*s", width, text);
}

/* Writes a name in a column, whatever bytes a pack has in its place. */
static void name_print(const char *name, int width, FILE *out)
{
    text_print_escaped(out, name, strlen(name));
    (void)fprintf(out, "%*s  ", strlen(name) < (size_t)width ? width - (int)strlen(name) : 0, "");
}

static void entry_print(const struct entry *entry, FILE *out)
{
    char digits[2 * DIGEST_BYTES + 1], when[WHEN_BYTES], size[WHEN_BYTES];

    hex_encode(entry->receipt.bytes, DIGEST_BYTES, digits);
    (void)fprintf(out, "%.*s  ", SHORT_DIGITS, digits);
    if (entry->unread != NULL) {
        (void)fputs("cannot be read: ", out);
        text_print_escaped(out, entry->unread, strlen(entry->unread));
        (void)fputc('\n', out);
        return;
    }
    when_write(entry->realtime_ns, when);
    size_write(entry->file_bytes, size);
    (void)fprintf(out, "%-20s  ", when);
    name_print(entry->experiment, 16, out);
    name_print(entry->candidate, 16, out);
    name_print(entry->decision[0] == 0 ? "no claim" : entry->decision, 10, out);
    (void)fprintf(out, "%10s", size);
    amount_print(&entry->own, 20, out);
    amount_print(&entry->shared, 0, out);
    if (entry->is_partial)
        (void)fputs("  partial", out);
    if (entry->has_local)
        (void)fputs("  local", out);
    if (entry->lacks_local)
        (void)fputs("  local contents are missing", out);
    if (entry->missing_count > 0)
        (void)fprintf(out, "  %" PRIu64 " inputs are missing", entry->missing_count);
    (void)fputc('\n', out);
}

static bool entry_print_json(const struct entry *entry, FILE *out)
{
    char digits[2 * DIGEST_BYTES + 1], when[WHEN_BYTES];
    json_t *root;
    bool done;

    hex_encode(entry->receipt.bytes, DIGEST_BYTES, digits);
    when_write(entry->realtime_ns, when);
    if (entry->unread != NULL)
        root = json_pack("{s:s, s:s, s:s}", "schema", "exhibit.store/1", "receipt", digits, "unread", entry->unread);
    else
        root =
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s*, s:b, s:b, s:b, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:I}", "schema",
                      "exhibit.store/1", "receipt", digits, "recorded_at", when, "experiment", entry->experiment,
                      "candidate", entry->candidate, "decision", entry->decision[0] == 0 ? NULL : entry->decision,
                      "partial", entry->is_partial, "local", entry->has_local, "local_missing", entry->lacks_local,
                      "file_bytes", (json_int_t)entry->file_bytes, "own", "objects", (json_int_t)entry->own.count,
                      "bytes", (json_int_t)entry->own.size_bytes, "shared", "objects", (json_int_t)entry->shared.count,
                      "bytes", (json_int_t)entry->shared.size_bytes, "missing", (json_int_t)entry->missing_count);
    done = root != NULL && json_dumpf(root, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF;
    json_decref(root);
    return done;
}

static int entry_order(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    if (left->realtime_ns != right->realtime_ns)
        return left->realtime_ns < right->realtime_ns ? -1 : 1;
    return memcmp(left->receipt.bytes, right->receipt.bytes, DIGEST_BYTES);
}

static int entries_print(const struct listing *listing, bool json, FILE *out, struct err *err)
{
    uint32_t count = store_pack_count(listing->store);

    if (!json)
        (void)fprintf(out, "%-12s  %-20s  %-16s  %-16s  %-10s  %10s  %-20s  %s\n", "receipt", "recorded at",
                      "experiment", "candidate", "decision", "file", "inputs of its own", "inputs shared");
    for (uint32_t i = 0; i < count; i++) {
        if (!json)
            entry_print(&listing->entries[i], out);
        else if (!entry_print_json(&listing->entries[i], out))
            return err_set(err, ERR_SYSTEM, "not all could be written to standard output");
    }
    return 0;
}

int store_list(const struct store *store, bool json, FILE *out, uint32_t *out_unread, struct err *err)
{
    struct listing listing = {.store = store};
    uint32_t count = store_pack_count(store);
    AUTO_FREE struct entry *entries = calloc((size_t)count + 1, sizeof *entries);
    int code = entries == NULL ? err_set_errno(err, "memory for a list") : 0;

    *out_unread = 0;
    listing.entries = entries;
    if (code == 0)
        code = store_inputs_new(store, LIMIT_STORE_OBJECTS, true, &listing.inputs, err);
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        struct err why;

        entries[i].receipt = store_receipt(store, i);
        entries[i].has_local = store_has_local(store, i);
        if (entry_read(&listing, i, &entries[i], &why) == 0)
            continue;
        ++*out_unread;
        entries[i].realtime_ns = 0;
        entries[i].unread = strdup(why.text);
        if (entries[i].unread == NULL)
            code = err_set_errno(err, "memory for a list");
    }
    if (code == 0) {
        qsort(entries, count, sizeof *entries, entry_order);
        code = entries_print(&listing, json, out, err);
    }
    for (uint32_t i = 0; entries != NULL && i < count; i++)
        free(entries[i].unread);
    store_inputs_free(listing.inputs);
    return code;
}
