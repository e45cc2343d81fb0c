/*
 * The exit codes of exhibit-replay.
 */
#pragma once

enum {
    EXIT_DERIVED = 0,
    EXIT_FALSE = 1,
    EXIT_USAGE = 2,
    EXIT_INCOMPLETE = 3,
    EXIT_REQUIRED = 4,
    EXIT_COULD_NOT = 5,
};
