#include "record/output.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORE_STEM "recording" /* of the temporary name; the receipt is not known yet */

static int file_check(struct output *output, struct err *err)
{
    const char *file = output->request.file;
    AUTO_FREE char *copy_dir = strdup(file);
    AUTO_FREE char *copy_base = strdup(file);
    const char *base;

    if (copy_dir == NULL || copy_base == NULL)
        return err_set_errno(err, "memory for the output's name");
    base = basename(copy_base);
    if (*file == 0 || file[strlen(file) - 1] == '/' || strlen(base) > NAME_MAX - 32)
        return err_set(err, ERR_USAGE, "-o %s: not a file name that can be used; name the file itself", file);
    output->dir_fd = open(dirname(copy_dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->dir_fd < 0)
        return err_set(err, ERR_USAGE, "-o %s: its folder cannot be opened (%s); make it first", file, strerror(errno));
    (void)snprintf(output->name, sizeof output->name, "%s", base);
    if (faccessat(output->dir_fd, base, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return err_set(err, ERR_USAGE, "-o %s: exists already; choose another name or remove it", file);
    return 0;
}

int output_check(struct output *output, const struct output_request *request, struct err *err)
{
    output->request = *request;
    return request->store != NULL ? store_may_be(request->store, err) : file_check(output, err);
}

static void store_noted(void *context, const char *text)
{
    const struct output *output = context;

    if (output->request.note != NULL)
        output->request.note(text);
}

static int stray_tell(void *context, const struct store_stray *stray, struct err *err)
{
    const struct output *output = context;

    (void)err;
    if (stray->is_left)
        store_stray_note(output->store, stray);
    return 0;
}

int output_open(struct output *output, struct err *err)
{
    const struct store_request request = {
        .path = output->request.store, .make = true, .lock = STORE_SHARED, .note = store_noted, .context = output};

    if (output->request.store == NULL)
        return 0;
    if (store_open(&request, &output->store, err) < 0)
        return err->code;
    if (store_strays(output->store, stray_tell, output, err) < 0)
        return err->code;
    return store_inputs_new(output->store, LIMIT_STORE_OBJECTS, false, &output->inputs, err);
}

static bool inputs_hold(void *context, const struct digest *digest, uint64_t size_bytes)
{
    return store_inputs_holds(context, digest, size_bytes);
}

static bool inputs_may_hold(void *context, uint64_t size_bytes)
{
    return store_inputs_may_hold(context, size_bytes);
}

int output_start(struct output *output, struct pack_writer **out, struct err *err)
{
    const struct pack_elsewhere elsewhere = {
        .holds = inputs_hold, .may_hold = inputs_may_hold, .context = output->inputs};

    if (output->store == NULL)
        return pack_writer_new(output->dir_fd, output->name, out, err);
    if (pack_writer_new_unnamed(store_folder(output->store), STORE_STEM, out, err) < 0)
        return err_wrap(err, "%s", output->request.store);
    pack_writer_elsewhere(*out, &elsewhere);
    return 0;
}

int output_name(struct output *output, struct pack_writer *pack, const struct digest *receipt, struct err *err)
{
    char name[STORE_NAME_BYTES];

    if (output->store == NULL)
        return 0;
    store_pack_name(receipt, name);
    return pack_writer_name(pack, name, PACK_NAME_FRESH, err);
}

int output_start_local(struct output *output, struct pack_writer **out, struct err *err)
{
    if (pack_writer_new_unnamed(store_folder(output->store), STORE_LOCAL_STEM, out, err) < 0)
        return err_wrap(err, "%s", output->request.store);
    return 0;
}

int output_name_local(struct pack_writer *local, const struct digest *receipt, struct err *err)
{
    char name[STORE_NAME_BYTES];

    store_local_name(receipt, name);
    return pack_writer_name(local, name, PACK_NAME_FRESH, err);
}

void output_forget_local(struct output *output, const struct digest *receipt)
{
    char name[STORE_NAME_BYTES];

    store_local_name(receipt, name);
    (void)unlinkat(store_folder(output->store), name, 0);
}

void output_done(struct output *output)
{
    store_inputs_free(output->inputs);
    store_close(output->store);
    if (output->dir_fd >= 0)
        (void)close(output->dir_fd);
    *output = (struct output){.dir_fd = -1};
}
