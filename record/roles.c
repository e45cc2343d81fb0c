#include "record/roles.h"

#include "base/bytes.h"
#include "formats/digest.h"

#include <stdio.h>
#include <string.h>

const char *role_name(Exhibit__Role role)
{
    static const char *const names[] = {"", "parent", "child", "grandchild"};

    return role >= 1 && role <= 3 ? names[role] : "";
}

void role_nonce(const uint8_t *parent_nonce, Exhibit__Role role, char out[2 * NONCE_BYTES + 1])
{
    hex_encode(parent_nonce, NONCE_BYTES, out);
    for (int step = EXHIBIT__ROLE__ROLE_CHILD; step <= (int)role; step++) {
        char text[128];
        int size = snprintf(text, sizeof text, "exhibit %s %s", role_name((Exhibit__Role)step), out);
        struct digest digest = digest_of(text, (size_t)size);

        hex_encode(digest.bytes, NONCE_BYTES, out);
    }
}
