#include "record/capture.h"

#include "base/cleanup.h"
#include "record/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 262144 /* taken of one pipe in a turn */

/* What a case writes beyond this is digested and compressed later, so that it waits for nobody. */
#define SPOOL_AFTER_BYTES (4u << 20)
#define SPOOL_MAX_BYTES (4ull << 30) /* what may wait: then the writer waits, too */
#define STREAM_COUNT 7               /* by Exhibit__StreamName */

struct flow {
    struct loop_source source; /* fd -1: not open (any more) */
    struct capture *capture;
    Exhibit__StreamName name;
    struct stream_writer *writer;
    struct needle_flow looked;
    struct spool spool;     /* what came after that, and is in no segment yet */
    uint64_t late_from_seq; /* the first chunk of which the bytes are or were in the spool; 0: none */
    Exhibit__StreamEnd__How how;
};

struct capture {
    struct loop *loop;
    struct journal *journal;
    struct capture_request request;
    size_t stdin_done_bytes;
    struct flow flows[STREAM_COUNT];
    uint8_t *piece;      /* PIECE_BYTES */
    uint8_t *late_piece; /* PIECE_BYTES */
};

const char *capture_role_file(Exhibit__Role role)
{
    switch (role) {
    case EXHIBIT__ROLE__ROLE_PARENT:
        return "exhibit-probe-parent.lines";
    case EXHIBIT__ROLE__ROLE_CHILD:
        return "exhibit-probe-child.lines";
    case EXHIBIT__ROLE__ROLE_GRANDCHILD:
        return "exhibit-probe-grandchild.lines";
    default:
        return NULL;
    }
}

static bool is_scratch(Exhibit__StreamName name)
{
    return name >= EXHIBIT__STREAM_NAME__STREAM_SCRATCH_PARENT;
}

/* How many bytes came so far. */
static uint64_t flow_size(const struct flow *flow)
{
    return stream_writer_size(flow->writer) + spool_waiting(&flow->spool);
}

/*
 * Whether what comes now waits in the spool. A trial's bytes do not: when its lines came, and what is in them, is
 * looked at while it goes on.
 */
static bool is_late(const struct flow *flow)
{
    bool output =
        flow->name == EXHIBIT__STREAM_NAME__STREAM_STDOUT || flow->name == EXHIBIT__STREAM_NAME__STREAM_STDERR;

    return output && flow->capture->request.spool_folder != NULL && flow_size(flow) >= SPOOL_AFTER_BYTES;
}

/* Keeps the next bytes of a stream, when nothing is in them that may not be kept. */
static int flow_keep(struct flow *flow, const uint8_t *bytes, size_t size_bytes, struct err *err)
{
    static const char *const names[STREAM_COUNT] = {
        "", "its stdin", "its stdout", "its stderr", "the parent's copy", "the child's copy", "the grandchild's copy"};

    if (secrets_look_flow(journal_secrets(flow->capture->journal), &flow->looked, bytes, size_bytes, names[flow->name],
                          err) < 0)
        return err->code;
    return stream_writer_add(flow->writer, bytes, size_bytes, err);
}

/* Takes up to max_bytes out of the spool and gives them to those who wait for them. */
static int spool_empty(struct flow *flow, uint64_t max_bytes, struct err *err)
{
    struct capture *capture = flow->capture;

    while (max_bytes > 0 && spool_waiting(&flow->spool) > 0) {
        size_t got = 0;

        if (spool_take(&flow->spool, capture->late_piece, PIECE_BYTES, &got, err) < 0 ||
            flow_keep(flow, capture->late_piece, got, err) < 0 ||
            journal_put_late(capture->journal, capture->request.run, flow->name, flow->late_from_seq,
                             capture->late_piece, got, err) < 0)
            return err->code;
        max_bytes -= got < max_bytes ? got : max_bytes;
    }
    return 0;
}

/* How many more bytes of the stream are kept. What comes after is read, so that the writer does not block, and dropped.
 */
static uint64_t flow_room(const struct flow *flow)
{
    uint64_t own = LIMIT_STREAM_BYTES - flow_size(flow), all = journal_stream_room(flow->capture->journal);

    if (flow->how == EXHIBIT__STREAM_END__HOW__HOW_LIMIT)
        return 0; /* nothing follows a gap */
    return own < all ? own : all;
}

/* Writes down that bytes came at this place of the stream; they are kept by others. */
static int chunk_put(struct flow *flow, uint64_t offset_bytes, const uint8_t *bytes, size_t size_bytes,
                     uint64_t *out_seq, struct err *err)
{
    bool from_subject = flow->name != EXHIBIT__STREAM_NAME__STREAM_STDIN;
    Exhibit__Event event = journal_event(
        is_scratch(flow->name) ? EXHIBIT__SOURCE__SOURCE_SCRATCH : EXHIBIT__SOURCE__SOURCE_PIPE,
        from_subject ? EXHIBIT__VANTAGE__VANTAGE_SUBJECT : EXHIBIT__VANTAGE__VANTAGE_HOST, flow->capture->request.run);
    Exhibit__Chunk chunk = EXHIBIT__CHUNK__INIT;

    chunk.stream = flow->name;
    chunk.offset_bytes = offset_bytes;
    chunk.size_bytes = size_bytes;
    JOURNAL_WHAT(event, chunk, CHUNK, &chunk);
    if (journal_put(flow->capture->journal, &event, bytes, bytes == NULL ? 0 : size_bytes, err) < 0)
        return err->code;
    *out_seq = event.seq;
    return 0;
}

/* Writes one piece of a stream down. */
static int flow_put(struct flow *flow, const uint8_t *bytes, size_t size_bytes, struct err *err)
{
    struct capture *capture = flow->capture;
    uint64_t offset_bytes = flow_size(flow), seq;

    if (size_bytes > flow_room(flow)) {
        flow->how = EXHIBIT__STREAM_END__HOW__HOW_LIMIT;
        return 0;
    }
    journal_count_stream(capture->journal, size_bytes);
    if (flow_keep(flow, bytes, size_bytes, err) < 0 || chunk_put(flow, offset_bytes, bytes, size_bytes, &seq, err) < 0)
        return err->code;
    capture->request.seen(capture->request.context, flow->name, bytes, size_bytes);
    return 0;
}

static void flow_close(struct flow *flow, Exhibit__StreamEnd__How how)
{
    if (flow->source.fd < 0)
        return;
    loop_remove(flow->capture->loop, &flow->source);
    (void)close(flow->source.fd);
    flow->source.fd = -1;
    if (flow->how == EXHIBIT__STREAM_END__HOW__HOW_NONE)
        flow->how = how;
}

/* Moves what is there, up to this much, to the spool: bytes that nobody looks at now need no copy. As flow_read. */
static int flow_move(struct flow *flow, uint64_t max_bytes, struct err *err)
{
    struct capture *capture = flow->capture;
    uint64_t offset_bytes = flow_size(flow), seq;
    ssize_t moved;

    if (spool_put_pipe(&flow->spool, capture->request.spool_folder, flow->source.fd, max_bytes, &moved, err) < 0)
        return err->code;
    if (moved == 0)
        flow_close(flow, EXHIBIT__STREAM_END__HOW__HOW_EOF);
    if (moved <= 0)
        return 0;
    journal_count_stream(capture->journal, (size_t)moved);
    if (chunk_put(flow, offset_bytes, NULL, (size_t)moved, &seq, err) < 0)
        return err->code;
    if (flow->late_from_seq == 0)
        flow->late_from_seq = seq;
    /* Twice as much as came: so what waits does not grow, and nothing else has to wait long. */
    if (spool_waiting(&flow->spool) > SPOOL_MAX_BYTES && spool_empty(flow, 2 * (uint64_t)moved, err) < 0)
        return err->code;
    return 1;
}

/* Reads once. Returns 1 when something came, 0 when nothing is there now or it ended. */
static int flow_read(struct flow *flow, struct err *err)
{
    uint64_t room_bytes = flow_room(flow);
    ssize_t got;

    if (is_late(flow) && room_bytes > 0)
        return flow_move(flow, room_bytes, err);
    got = read(flow->source.fd, flow->capture->piece, PIECE_BYTES);
    if (got < 0 && errno == EINTR)
        return 1;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (got < 0)
        return err_set_errno(err, "read an output pipe");
    if (got == 0) {
        if (!is_scratch(flow->name)) /* the end of a file is where its writer is now */
            flow_close(flow, EXHIBIT__STREAM_END__HOW__HOW_EOF);
        return 0;
    }
    return flow_put(flow, flow->capture->piece, (size_t)got, err) < 0 ? err->code : 1;
}

static int output_ready(void *context, uint32_t ready, struct err *err)
{
    int code = flow_read(context, err);

    (void)ready;
    return code < 0 ? code : 0;
}

static int input_ready(void *context, uint32_t ready, struct err *err)
{
    struct flow *flow = context;
    struct capture *capture = flow->capture;
    const uint8_t *from = capture->request.stdin_bytes + capture->stdin_done_bytes;
    size_t left_bytes = capture->request.stdin_size_bytes - capture->stdin_done_bytes;
    ssize_t put = write(flow->source.fd, from, left_bytes < PIECE_BYTES ? left_bytes : PIECE_BYTES);

    (void)ready;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    if (put < 0 && errno == EPIPE) {
        flow_close(flow, EXHIBIT__STREAM_END__HOW__HOW_CLOSED);
        return 0;
    }
    if (put < 0)
        return err_set_errno(err, "write to an input pipe");
    capture->stdin_done_bytes += (size_t)put;
    if (flow_put(flow, from, (size_t)put, err) < 0)
        return err->code;
    if (capture->stdin_done_bytes == capture->request.stdin_size_bytes)
        flow_close(flow, EXHIBIT__STREAM_END__HOW__HOW_EOF);
    return 0;
}

/*
 * Opens a role's copy once it is there. Anything but a regular file is hostile and left alone; so is one with a second
 * name, which may be that of a file outside.
 */
static void copy_open(struct capture *capture, struct flow *flow)
{
    Exhibit__Role role = (Exhibit__Role)(flow->name - EXHIBIT__STREAM_NAME__STREAM_SCRATCH_PARENT + 1);
    AUTO_FD int dir_fd = open(capture->request.scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FD int fd = -1;
    struct stat stat;

    if (dir_fd >= 0)
        fd = openat(dir_fd, capture_role_file(role), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_nlink == 1)
        flow->source.fd = take_fd(&fd);
}

int capture_sample(struct capture *capture, struct err *err)
{
    for (int name = 1; name < STREAM_COUNT; name++) {
        struct flow *flow = &capture->flows[name];
        int code = 0;

        if (!is_scratch(flow->name)) {
            code = spool_check(&flow->spool, err);
        } else if (capture->request.scratch != NULL) {
            if (flow->source.fd < 0)
                copy_open(capture, flow);
            if (flow->source.fd >= 0)
                code = flow_read(flow, err); /* one piece is far more than a probe writes in 50 ms */
        }
        if (code < 0)
            return code;
    }
    return 0;
}

bool capture_is_over(const struct capture *capture)
{
    return capture->flows[EXHIBIT__STREAM_NAME__STREAM_STDOUT].source.fd < 0 &&
           capture->flows[EXHIBIT__STREAM_NAME__STREAM_STDERR].source.fd < 0;
}

static int put_end(struct flow *flow, struct err *err)
{
    struct capture *capture = flow->capture;
    Exhibit__Event event =
        journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, capture->request.run);
    Exhibit__StreamEnd end = EXHIBIT__STREAM_END__INIT;
    const Exhibit__Stream *content;

    if (stream_writer_finish(flow->writer, &content, err) < 0)
        return err->code;
    end.stream = flow->name;
    end.content = (Exhibit__Stream *)content; /* packed only */
    end.how = flow->how;
    JOURNAL_WHAT(event, stream_end, STREAM_END, &end);
    return journal_put(capture->journal, &event, NULL, 0, err);
}

int capture_finish(struct capture *capture, struct err *err)
{
    for (int name = 1; name < STREAM_COUNT; name++) {
        struct flow *flow = &capture->flows[name];
        uint64_t deadline_ns = clock_now_ns() + 1000000000ull;
        int code = 1;

        if (is_scratch(flow->name) && capture->request.scratch == NULL)
            continue;
        if (is_scratch(flow->name) && flow->source.fd < 0)
            copy_open(capture, flow);
        /* A pipe holds at most its own room; a writer that is still there must not keep us here. */
        while (flow->name != EXHIBIT__STREAM_NAME__STREAM_STDIN && flow->source.fd >= 0 && code > 0 &&
               clock_now_ns() < deadline_ns)
            code = flow_read(flow, err);
        if (code < 0)
            return code;
        flow_close(flow,
                   is_scratch(flow->name) ? EXHIBIT__STREAM_END__HOW__HOW_EOF : EXHIBIT__STREAM_END__HOW__HOW_CLOSED);
        if (flow->how == EXHIBIT__STREAM_END__HOW__HOW_NONE) /* a copy that never was */
            flow->how = EXHIBIT__STREAM_END__HOW__HOW_EOF;
        if (spool_empty(flow, UINT64_MAX, err) < 0)
            return err->code;
        if (put_end(flow, err) < 0)
            return err->code;
    }
    return 0;
}

/* Puts a pipe into the loop. */
static int flow_start(struct flow *flow, int fd, int (*ready)(void *, uint32_t, struct err *), uint32_t events,
                      struct err *err)
{
    flow->source = (struct loop_source){.fd = fd, .ready = ready, .context = flow};
    return loop_add(flow->capture->loop, &flow->source, events, err);
}

int capture_new(struct loop *loop, struct journal *journal, const struct capture_request *request, struct capture **out,
                struct err *err)
{
    struct capture *capture = calloc(1, sizeof *capture);
    struct flow *flows;

    if (capture == NULL) {
        (void)close(request->stdin_fd);
        (void)close(request->stdout_fd);
        (void)close(request->stderr_fd);
        return err_set_errno(err, "memory for a run's streams");
    }
    flows = capture->flows;
    capture->loop = loop;
    capture->journal = journal;
    capture->request = *request;
    for (int name = 0; name < STREAM_COUNT; name++) {
        flows[name].capture = capture;
        flows[name].name = (Exhibit__StreamName)name;
        flows[name].source.fd = -1;
    }
    flows[EXHIBIT__STREAM_NAME__STREAM_STDIN].source.fd = request->stdin_fd;
    flows[EXHIBIT__STREAM_NAME__STREAM_STDOUT].source.fd = request->stdout_fd;
    flows[EXHIBIT__STREAM_NAME__STREAM_STDERR].source.fd = request->stderr_fd;
    capture->piece = malloc(PIECE_BYTES);
    capture->late_piece = malloc(PIECE_BYTES);
    for (int name = 1; name < STREAM_COUNT; name++)
        flows[name].writer = stream_writer_new(journal_pack(journal));
    for (int name = 1; name < STREAM_COUNT; name++)
        if (capture->piece == NULL || capture->late_piece == NULL || flows[name].writer == NULL) {
            err_set_errno(err, "memory for a run's streams");
            goto undo;
        }
    if (flow_start(&flows[2], request->stdout_fd, output_ready, EPOLLIN, err) < 0 ||
        flow_start(&flows[3], request->stderr_fd, output_ready, EPOLLIN, err) < 0 ||
        flow_start(&flows[1], request->stdin_fd, input_ready, EPOLLOUT, err) < 0)
        goto undo;
    if (request->stdin_size_bytes == 0)
        flow_close(&flows[1], EXHIBIT__STREAM_END__HOW__HOW_EOF);
    *out = capture;
    return 0;

undo:
    capture_free(capture);
    return err->code;
}

void capture_free(struct capture *capture)
{
    if (capture == NULL)
        return;
    for (int name = 1; name < STREAM_COUNT; name++) {
        flow_close(&capture->flows[name], EXHIBIT__STREAM_END__HOW__HOW_CLOSED);
        stream_writer_free(capture->flows[name].writer);
        needle_flow_done(&capture->flows[name].looked);
        spool_done(&capture->flows[name].spool);
    }
    free(capture->piece);
    free(capture->late_piece);
    free(capture);
}
