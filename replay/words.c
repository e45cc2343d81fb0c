/*
 * The words in the order of their numbers.
 */
#include "replay/words.h"

#include "formats/oracle.h"
#include "replay/tables.h"

#include <assert.h>
#include <string.h>

static const char *const roles[ROLE_ROOM] = {"", "parent", "child", "grandchild"};
static const char *const modes[] = {"", "baseline", "strict", "control"};

const char *word_of_role(int role)
{
    return role > 0 && role < ROLE_ROOM ? roles[role] : "";
}

const char *word_of_mode(int mode)
{
    return mode > 0 && mode < (int)(sizeof modes / sizeof *modes) ? modes[mode] : "";
}

const char *word_of_effect(int effect)
{
    assert(effect >= 0 && effect < EFFECT_COUNT);
    return effect_names[effect];
}

static bool is_word(const char *known, const char *word, size_t size_bytes)
{
    return strlen(known) == size_bytes && memcmp(known, word, size_bytes) == 0;
}

int effect_of_word(const char *word, size_t size_bytes)
{
    for (int i = 0; i < EFFECT_COUNT; i++)
        if (is_word(effect_names[i], word, size_bytes))
            return i;
    return -1;
}

int role_of_word(const char *word, size_t size_bytes)
{
    for (int i = 1; i < ROLE_ROOM; i++)
        if (is_word(roles[i], word, size_bytes))
            return i;
    return -1;
}
