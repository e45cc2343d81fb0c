/*
 * Everything that comes from the bundle is escaped: it must not steer a terminal.
 */
#include "verify/report.h"

#include "base/bytes.h"
#include "formats/claim.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

/* What a verdict is worth. */
static const char *const report_limits[] = {
    "Verification proves that no byte changed since its digest was made, that every binding fits, and that the "
    "decision follows from the recorded facts under the named oracle.",
    "It cannot prove that the recorder told the truth, nor that a launcher does not treat the probe in a special way.",
    "It says nothing about effects that were not measured, nor about another machine, version or policy.",
};

#define REPORT_LIMITS (sizeof report_limits / sizeof report_limits[0])

static void report_text(FILE *out, const char *label, const char *text)
{
    (void)fprintf(out, "%-12s ", label);
    text_print_escaped(out, text, strlen(text));
    (void)fputc('\n', out);
}

static void report_digest(FILE *out, const char *label, const ProtobufCBinaryData *digest)
{
    char hex[2 * DIGEST_BYTES + 1] = "none";

    if (digest->len == DIGEST_BYTES)
        hex_encode(digest->data, DIGEST_BYTES, hex);
    (void)fprintf(out, "%-12s %s\n", label, hex);
}

static void report_time(FILE *out, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm utc;
    char text[64] = "unknown";

    if (gmtime_r(&seconds, &utc) != NULL)
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
    (void)fprintf(out, "%-12s %s\n", "when", text);
}

/* The names of the runs of a kind, each once, in the order of the recording. */
static void report_names(FILE *out, const struct verdict *verdict, const char *label, Exhibit__RunKind kind)
{
    const struct ledger *ledger = &verdict->ledger;
    bool any = false;

    (void)fprintf(out, "%-12s", label);
    for (size_t i = 0; i < ledger->run_count; i++) {
        const Exhibit__RunStart *told = ledger_told(ledger->runs[i]);
        bool before = told->kind != kind;

        for (size_t j = 0; j < i && !before; j++)
            before = ledger_told(ledger->runs[j])->kind == kind &&
                     strcmp(ledger_told(ledger->runs[j])->name, told->name) == 0;
        if (before)
            continue;
        (void)fputs(any ? ", " : " ", out);
        text_print_escaped(out, told->name, strlen(told->name));
        any = true;
    }
    (void)fputs(any ? "\n" : " none\n", out);
}

static void report_effects(FILE *out, const struct verdict *verdict)
{
    const struct ledger *ledger = &verdict->ledger;
    bool any = false;

    (void)fprintf(out, "%-12s", "effects");
    for (int e = 0; effect_names[e] != NULL; e++) {
        bool tried = false;

        for (size_t i = 0; i < ledger->run_count; i++)
            for (size_t at = 0; ledger_is_trial(ledger->runs[i]) && at < ledger_told(ledger->runs[i])->probe->n_effects;
                 at++)
                tried = tried || strcmp(ledger_told(ledger->runs[i])->probe->effects[at], effect_names[e]) == 0;
        if (!tried)
            continue;
        (void)fprintf(out, "%s%s", any ? ", " : " ", effect_names[e]);
        any = true;
    }
    (void)fputs(any ? "\n" : " none\n", out);
    (void)fprintf(out, "%-12s", "not measured");
    for (size_t i = 0; verdict->claim != NULL && i < verdict->claim->n_not_measured; i++)
        (void)fprintf(out, "%s%s", i > 0 ? ", " : " ", verdict->claim->not_measured[i]);
    (void)fputs(verdict->claim == NULL                ? " unknown\n"
                : verdict->claim->n_not_measured == 0 ? " none of those known\n"
                                                      : "\n",
                out);
}

static void report_host(FILE *out, const Exhibit__RecordingStart *start)
{
    const Exhibit__Host *host = start->host;

    if (host == NULL)
        return;
    (void)fprintf(out, "%-12s uid %" PRIu32 ", gid %" PRIu32 ", capabilities %016" PRIx64 "\n", "as", host->uid,
                  host->gid, host->capabilities_effective);
    (void)fprintf(out, "%-12s ", "kernel");
    text_print_escaped(out, host->kernel_release, strlen(host->kernel_release));
    (void)fputc(' ', out);
    text_print_escaped(out, host->machine, strlen(host->machine));
    (void)fprintf(out, ", Landlock ABI %" PRIu32 "\n", host->landlock_abi);
}

static void report_measured(FILE *out, const struct verdict *verdict)
{
    const Exhibit__RecordingStart *start = verdict->ledger.recording_start->recording_start;

    report_text(out, "experiment", start->experiment);
    report_text(out, "candidate", start->candidate);
    report_text(out, "version", start->candidate_version[0] == '\0' ? "not asked" : start->candidate_version);
    report_digest(out, "policy", &start->policy_sha256);
    report_names(out, verdict, "cases", EXHIBIT__RUN_KIND__RUN_CASE);
    report_names(out, verdict, "trials", EXHIBIT__RUN_KIND__RUN_TRIAL);
    report_effects(out, verdict);
    report_time(out, start->realtime_ns);
    report_host(out, start);
    report_text(out, "recorder", start->toolkit_version);
    report_text(out, "observer",
                start->process_observer == EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS ? "kernel process events"
                                                                                  : "snapshots of /proc");
    if (start->process_observer_note[0] != '\0')
        report_text(out, "", start->process_observer_note);
    (void)fprintf(out, "control group: %s\n",
                  start->control_group ? "one for each run"
                                       : "none; that no process was left is known as far as the observer saw them, and "
                                         "an ending of a whole control group cannot be measured");
    report_launcher(out, &verdict->surroundings);
    report_apart(out, verdict);
}

static void report_oracle_line(void *context, const char *text, bool wider)
{
    FILE *out = context;

    (void)fputs(wider ? "  wider  " : "         ", out);
    text_print_escaped(out, text, strlen(text));
    (void)fputc('\n', out);
}

static void report_oracle(FILE *out, const struct oracle *oracle, bool own)
{
    char hex[2 * DIGEST_BYTES + 1];

    hex_encode(oracle->digest.bytes, DIGEST_BYTES, hex);
    (void)fprintf(out, "\noracle %s (%s); \"wider\" marks what allows more than the shipped default\n", hex,
                  own ? "yours" : "as recorded");
    oracle_describe(oracle, report_oracle_line, out);
}

void report_print(const struct verdict *verdict, const struct oracle *named, FILE *out)
{
    const struct findings *findings = &verdict->findings;

    if (verdict->ledger.recording_start != NULL)
        report_measured(out, verdict);
    if (named != NULL || verdict->has_oracle)
        report_oracle(out, named != NULL ? named : &verdict->oracle, named != NULL);
    if (verdict->claim != NULL) {
        (void)fputc('\n', out);
        claim_print(verdict->claim, out);
    }
    if (verdict->ledger.recording_start != NULL)
        (void)fputc('\n', out);
    if (verdict->ledger.recording_start != NULL && !verdict->has_claim)
        (void)fputs("note: the bundle holds no claim; the decision is this program's own\n", out);
    if (verdict->claim != NULL && verdict->claim->prospective)
        (void)fputs(
            "note: prospective: under this oracle the receipt was not recorded, so it does not own the decision\n",
            out);
    for (size_t i = 0; i < REPORT_LIMITS && verdict->ledger.recording_start != NULL; i++)
        (void)fprintf(out, "%s\n", report_limits[i]);
    if (verdict->ledger.recording_start != NULL)
        (void)fputc('\n', out);
    for (size_t i = 0; i < findings->kept; i++)
        (void)fprintf(out, "refuted: %s\n", findings->texts[i]);
    if (findings->count > findings->kept)
        (void)fprintf(out, "refuted: and %zu more findings\n", findings->count - findings->kept);
    if (findings->count == 0)
        (void)fputs("verified\n", out);
    if (verdict->claim != NULL)
        (void)fprintf(out, "decision: %s%s%s\n", verdict->claim->decision,
                      verdict->claim->prospective ? " (prospective)" : "",
                      findings->count > 0 ? " (of a refuted bundle: worth nothing)" : "");
}

/* Memory that ran out leaves no list. */
static void report_oracle_item(void *context, const char *text, bool wider)
{
    json_t **lines = context;
    json_t *item = json_pack("{s:s, s:b}", "text", text, "wider", wider);

    if (*lines == NULL || json_array_append_new(*lines, item) < 0) {
        json_decref(*lines);
        *lines = NULL;
    }
}

/* A new reference; null where no oracle could be read. NULL: out of memory. */
static json_t *report_oracle_json(const struct oracle *oracle)
{
    json_t *lines = oracle == NULL ? json_null() : json_array();

    if (oracle != NULL)
        oracle_describe(oracle, report_oracle_item, &lines);
    return lines;
}

int report_print_json(const struct verdict *verdict, const struct oracle *named, FILE *out, struct err *err)
{
    const struct oracle *oracle = named != NULL ? named : verdict->has_oracle ? &verdict->oracle : NULL;
    json_t *findings = json_array(), *limits = json_array(), *whole = NULL;
    json_t *lines = report_oracle_json(oracle);
    json_t *claim = verdict->claim == NULL ? json_null() : claim_to_json(verdict->claim);
    json_t *launcher = report_launcher_json(&verdict->surroundings);
    json_t *secrets = report_secrets_json(verdict), *withheld = report_withheld_json(verdict);
    int failed = findings == NULL || limits == NULL || claim == NULL || launcher == NULL || lines == NULL ||
                 secrets == NULL || withheld == NULL;

    for (size_t i = 0; !failed && i < verdict->findings.kept; i++)
        failed = json_array_append_new(findings, json_string(verdict->findings.texts[i]));
    if (!failed && verdict->findings.count > verdict->findings.kept)
        failed = json_array_append_new(findings, json_string("and more findings"));
    for (size_t i = 0; !failed && i < REPORT_LIMITS; i++)
        failed = json_array_append_new(limits, json_string(report_limits[i]));
    if (!failed)
        whole = json_pack("{s:s, s:s, s:O, s:O, s:b, s:O, s:O, s:O, s:O, s:O}", "schema", "exhibit.verdict/1",
                          "verdict", verdict->findings.count == 0 ? "verified" : "refuted", "findings", findings,
                          "claim", claim, "claim_recorded", verdict->has_claim, "limits", limits, "launcher", launcher,
                          "oracle", lines, "secrets", secrets, "withheld", withheld);
    json_decref(lines);
    json_decref(launcher);
    json_decref(secrets);
    json_decref(withheld);
    json_decref(findings);
    json_decref(limits);
    json_decref(claim);
    failed = whole == NULL || json_dumpf(whole, out, JSON_INDENT(2)) < 0 || fputc('\n', out) == EOF;
    json_decref(whole);
    return failed ? err_set(err, ERR_SYSTEM, "could not write the verdict as JSON") : 0;
}
