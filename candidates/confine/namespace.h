/*
 * A pid namespace that ends with the launcher and with the payload, whichever is first. Knows no policy.
 */
#pragma once

#include "base/err.h"

/*
 * Runs `payload` (which never returns) as the second process of a new pid namespace, under an init of its own, so that
 * every process that it leaves behind ends with it, and with the caller too. With a user namespace where the caller
 * may not make a pid namespace alone. The caller's descriptors 0 to 2 are closed once the payload has them.
 * Returns the payload's exit status; a payload that a signal ended ends the caller by the same one. ERR_SYSTEM: could
 * not; the payload was not run, or nothing is known of its end.
 */
int namespace_run(void (*payload)(const void *context), const void *context, struct err *err);
