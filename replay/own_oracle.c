/*
 * Two steps, so that no YAML is parsed by a process that can still open files.
 */
#include "replay/own_oracle.h"

#include "base/file.h"
#include "replay/exits.h"
#include "replay/say.h"

#include <errno.h>
#include <fcntl.h>

int own_oracle_read(const char *file, struct bytes *out)
{
    struct err err = {0};

    if (file == NULL || file_read_path(AT_FDCWD, file, 0, LIMIT_YAML_BYTES, out, &err) == 0)
        return 0;
    replay_say(NULL, err.text); /* it names the file */
    /* A wrong name is the caller's to mend; a file that does not come off the disk is not. */
    return err.code == ERR_SYSTEM && err.sys_errno == EIO ? EXIT_COULD_NOT : EXIT_USAGE;
}

int own_oracle_parse(const char *file, const struct bytes *text, struct oracle *room, const struct oracle **out)
{
    struct err err = {0};

    *out = NULL;
    if (file == NULL)
        return 0;
    if (oracle_parse(file, text->data == NULL ? "" : (const char *)text->data, text->size_bytes, room, &err) == 0) {
        *out = room;
        return 0;
    }
    oracle_done(room);
    replay_say(NULL, err.text);
    return err.code == ERR_SYSTEM ? EXIT_COULD_NOT : EXIT_USAGE;
}
