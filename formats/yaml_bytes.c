/*
 * Bytes in YAML, and base64 through libcrypto. A file of its own, so that programs without such values link without it.
 */
#include "formats/yaml.h"

#include "base/cleanup.h"
#include "formats/limits.h"

#include <openssl/evp.h>
#include <string.h>

/* Decodes canonical base64. False: it is not. ERR_SYSTEM is left to the caller: `out` has room for 3 bytes of each 4.
 */
static bool base64_decode(const char *text, size_t size_bytes, uint8_t *out, char *again, size_t *out_bytes)
{
    size_t padding = 0;
    int decoded;

    if (size_bytes % 4 != 0)
        return false;
    while (padding < 2 && padding < size_bytes && text[size_bytes - 1 - padding] == '=')
        padding++;
    decoded = EVP_DecodeBlock(out, (const unsigned char *)text, (int)size_bytes);
    if (decoded < 0)
        return false;
    *out_bytes = (size_t)decoded - padding;
    /* libcrypto overlooks spaces and stray bits; only what it would write itself is canonical. */
    (void)EVP_EncodeBlock((unsigned char *)again, out, (int)*out_bytes);
    return strcmp(again, text) == 0;
}

int yaml_bytes(const struct yaml_node *node, struct bytes *out, struct err *err)
{
    static const char *const known[] = {"base64", NULL};
    AUTO_BYTES struct bytes decoded = {0};
    AUTO_FREE char *again = NULL;
    const struct yaml_node *value = node;
    const char *text;
    size_t text_bytes;

    if (node->kind == YAML_MAP && (yaml_check_map(node, "a map of bytes", known, err) < 0 ||
                                   yaml_need(node, "a map of bytes", "base64", &value, err) < 0))
        return err->code;
    if (yaml_text(value, &text, err) < 0)
        return err->code;
    text_bytes = strlen(text);
    if (value == node) {
        if (bytes_add(&decoded, text, text_bytes, LIMIT_YAML_BYTES, err) < 0)
            return err->code;
    } else {
        again = malloc(text_bytes + 1);
        if (again == NULL || bytes_reserve(&decoded, text_bytes + 1, 2 * LIMIT_YAML_BYTES, err) < 0)
            return err_set(err, ERR_SYSTEM, "memory for a text");
        if (!base64_decode(text, text_bytes, decoded.data, again, &decoded.size_bytes))
            return yaml_fault(value, err,
                              "`base64` is not base64 (RFC 4648 section 4); write it with padding and "
                              "without spaces");
        decoded.data[decoded.size_bytes] = 0;
    }
    bytes_done(out);
    *out = decoded;
    decoded = (struct bytes){0};
    return 0;
}
