/*
 * How this program complains.
 */
#pragma once

/* Writes "exhibit-replay: FILE: TEXT" to stderr, without FILE where it is NULL. Nothing of it may steer a terminal. */
void replay_say(const char *file, const char *text);
