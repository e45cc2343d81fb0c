/*
 * The comparable form of a claim, and text that is safe on a terminal.
 */
#include "formats/claim.h"

#include "base/cleanup.h"
#include "formats/limits.h"
#include "formats/message.h"

#include <stdint.h>
#include <stdlib.h>

int claim_pack_comparable(const Exhibit__Claim *claim, struct bytes *out, struct err *err)
{
    AUTO_FREE Exhibit__RuleResult *rules = calloc(claim->n_rules + 1, sizeof *rules);
    AUTO_FREE Exhibit__RuleResult **pointers = calloc(claim->n_rules + 1, sizeof(Exhibit__RuleResult *));
    Exhibit__Claim bare = *claim;

    if (rules == NULL || pointers == NULL)
        return err_set_errno(err, "memory for %zu rules", claim->n_rules);
    for (size_t i = 0; i < claim->n_rules; i++) {
        rules[i] = *claim->rules[i];
        rules[i].detail = (char *)protobuf_c_empty_string;
        rules[i].n_evidence = 0;
        pointers[i] = &rules[i];
    }
    bare.rules = pointers;
    return message_pack(&bare.base, LIMIT_CLAIM_BYTES, out, err);
}

void text_print_escaped(FILE *out, const void *from, size_t size_bytes)
{
    const uint8_t *at = from;

    for (size_t i = 0; i < size_bytes; i++) {
        if (at[i] == '\\')
            (void)fputs("\\\\", out);
        else if (at[i] >= ' ' && at[i] <= '~')
            (void)fputc(at[i], out);
        else
            (void)fprintf(out, "\\x%02x", at[i]);
    }
}
