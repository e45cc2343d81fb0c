/*
 * exhibit-verify: checks a bundle offline and says what its decision is worth. Gives up all but reading what it was
 * told to, and only then opens that, and reads what others wrote.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/heap.h"
#include "formats/claim.h"
#include "formats/oracle.h"
#include "verify/args.h"
#include "verify/confine_self.h"
#include "verify/report.h"
#include "verify/verdict.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum {
    EXIT_VERIFIED = 0,
    EXIT_REFUTED = 1,
    EXIT_USAGE = 2,
    EXIT_INCOMPLETE = 3,
    EXIT_NOT_GO = 4,
    EXIT_COULD_NOT = 5,
};

#define LARGE_BYTES (256ll << 20) /* a bundle that takes long enough for a word meanwhile */

/* One line on stderr, whatever a file is called (NULL: none) and the text quotes. */
static void verify_say(const char *file, const char *before, const char *text)
{
    (void)fputs("exhibit-verify: ", stderr);
    if (file != NULL) {
        text_print_escaped(stderr, file, strlen(file));
        (void)fputs(": ", stderr);
    }
    (void)fputs(before, stderr);
    for (const char *at = text; *at != '\0'; at++)
        (void)fputc((unsigned char)*at < ' ' || *at == 127 ? '?' : *at, stderr);
    (void)fputc('\n', stderr);
}

static int verify_complain(const char *file, const struct err *err, int status)
{
    verify_say(file, "", err->text);
    return status;
}

static int verify_open_bundle(const char *path, int *out_fd, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat stat;

    if (fd < 0)
        return err_set_errno(err, "could not open");
    if (fstat(fd, &stat) < 0)
        return err_set_errno(err, "could not look at it");
    if (!S_ISREG(stat.st_mode))
        return err_set(err, ERR_SYSTEM, "not a regular file");
    if (stat.st_size >= LARGE_BYTES && isatty(STDERR_FILENO))
        (void)fprintf(stderr, "exhibit-verify: checking %" PRId64 " MiB\n", (int64_t)(stat.st_size >> 20));
    *out_fd = take_fd(&fd);
    return 0;
}

static int verify_read_oracle(const char *path, struct oracle *out, struct err *err)
{
    AUTO_BYTES struct bytes text = {0};

    if (file_read_path(AT_FDCWD, path, 0, LIMIT_YAML_BYTES, &text, err) < 0)
        return err->code;
    return oracle_parse(path, text.data, text.size_bytes, out, err);
}

/* What the verdict means for the caller, the first that applies. */
static int verify_status_of(const struct verify_args *args, const struct verdict *verdict)
{
    const Exhibit__Claim *claim = verdict->claim;

    if (verdict->findings.count > 0 || claim == NULL)
        return EXIT_REFUTED;
    if (verdict->source == VERDICT_SOURCE_IN_PART) /* what was asked for was not done */
        return EXIT_COULD_NOT;
    if (args->require_go && (claim->prospective || strcmp(claim->decision, "GO") != 0))
        return EXIT_NOT_GO;
    return strcmp(claim->decision, "INCOMPLETE") == 0 ? EXIT_INCOMPLETE : EXIT_VERIFIED;
}

/*
 * Confines the process, then opens what was named: the bundle and, where there is one, the source; says what the kernel
 * does not give. Returns EXIT_VERIFIED, or the status to end with.
 */
static int verify_open_confined(const struct verify_args *args, int *out_bundle_fd, int *out_source_fd)
{
    const char *const named[] = {args->bundle, args->source};
    char warning[256];
    struct err err = {0};

    verify_confine_self(named, args->source == NULL ? 1 : 2, warning, sizeof warning);
    if (verify_open_bundle(args->bundle, out_bundle_fd, &err) < 0)
        return verify_complain(args->bundle, &err, EXIT_COULD_NOT);
    if (args->source != NULL) {
        *out_source_fd = open(args->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (*out_source_fd < 0) {
            (void)err_set_errno(&err, "could not open the folder");
            return verify_complain(args->source, &err, EXIT_COULD_NOT);
        }
    }
    if (warning[0] != '\0')
        verify_say(NULL, "warning: ", warning);
    return EXIT_VERIFIED;
}

static int verify_bundle(const struct verify_args *args, const struct oracle *oracle)
{
    AUTO_FD int bundle_fd = -1;
    AUTO_FD int source_fd = -1;
    struct verdict_request request = {.oracle = oracle};
    struct verdict verdict = {0};
    struct err err = {0};
    int status = verify_open_confined(args, &bundle_fd, &source_fd);

    if (status != EXIT_VERIFIED)
        return status;
    request.bundle_fd = bundle_fd;
    request.source_fd = source_fd;
    request.sha256 = args->has_sha256 ? &args->sha256 : NULL;
    request.policy = args->has_policy ? &args->policy : NULL;
    if (verdict_reach(&request, &verdict, &err) < 0) {
        verdict_done(&verdict);
        return verify_complain(args->bundle, &err, EXIT_COULD_NOT);
    }
    status = verify_status_of(args, &verdict);
    if (args->json && report_print_json(&verdict, oracle, stdout, &err) < 0)
        status = verify_complain(args->bundle, &err, EXIT_COULD_NOT);
    if (!args->json)
        report_print(&verdict, oracle, stdout);
    (void)fflush(stdout); /* in this order, also where both go to one place; main looks for a failure */
    if (status == EXIT_REFUTED)
        verify_say(args->bundle,
                   "refuted: ", verdict.findings.kept > 0 ? verdict.findings.texts[0] : "no claim can be made");
    if (status == EXIT_COULD_NOT && verdict.source == VERDICT_SOURCE_IN_PART)
        verify_say(args->bundle, "",
                   "--source was not compared by content: the workspace is local and this bundle has not its salt; ask "
                   "for a bundle that was exported --with-local");
    verdict_done(&verdict);
    return status;
}

int main(int argc, char *argv[])
{
    struct oracle oracle = {0};
    struct verify_args args;
    struct err err = {0};
    int status;

    heap_begin();
    if (verify_args_parse(argc, argv, &args, &err) < 0)
        return verify_complain(NULL, &err, EXIT_USAGE);
    if (args.help)
        return fputs(verify_args_help(), stdout) == EOF ? EXIT_COULD_NOT : EXIT_VERIFIED;
    if (args.version)
        return puts("exhibit-verify " EXHIBIT_VERSION) == EOF ? EXIT_COULD_NOT : EXIT_VERIFIED;
    if (args.oracle != NULL && verify_read_oracle(args.oracle, &oracle, &err) < 0) {
        oracle_done(&oracle);
        return verify_complain(NULL, &err, EXIT_USAGE); /* it names the file */
    }
    status = verify_bundle(&args, args.oracle == NULL ? NULL : &oracle);
    oracle_done(&oracle);
    if (fflush(stdout) == EOF || ferror(stdout)) {
        (void)err_set_errno(&err, "could not write the verdict");
        return verify_complain(args.bundle, &err, EXIT_COULD_NOT);
    }
    return status;
}
