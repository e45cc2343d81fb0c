#include "record/observer_put.h"

#include <sys/wait.h>

static Exhibit__Event event_of(const struct observer_log *log, Exhibit__Source source)
{
    return journal_event(source, EXHIBIT__VANTAGE__VANTAGE_HOST, log->run);
}

int observer_put_fork(const struct observer_log *log, pid_t parent, pid_t pid, struct err *err)
{
    Exhibit__Event event = event_of(log, EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS);
    Exhibit__ProcessFork fork_seen = EXHIBIT__PROCESS_FORK__INIT;

    fork_seen.parent_pid = (uint32_t)parent;
    fork_seen.pid = (uint32_t)pid;
    JOURNAL_WHAT(event, process_fork, PROCESS_FORK, &fork_seen);
    return journal_put(log->journal, &event, NULL, 0, err);
}

int observer_put_exec(const struct observer_log *log, pid_t pid, struct err *err)
{
    Exhibit__Event event = event_of(log, EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS);
    Exhibit__ProcessExec exec_seen = EXHIBIT__PROCESS_EXEC__INIT;

    exec_seen.pid = (uint32_t)pid;
    JOURNAL_WHAT(event, process_exec, PROCESS_EXEC, &exec_seen);
    return journal_put(log->journal, &event, NULL, 0, err);
}

int observer_put_exit(const struct observer_log *log, const struct member *member, int wait_status, struct err *err)
{
    Exhibit__Event event = event_of(log, EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS);
    Exhibit__ProcessExit exit_seen = EXHIBIT__PROCESS_EXIT__INIT;

    exit_seen.pid = (uint32_t)member->pid;
    exit_seen.start_time = member->start_time;
    if (WIFSIGNALED(wait_status)) {
        exit_seen.how_case = EXHIBIT__PROCESS_EXIT__HOW_TERM_SIGNAL;
        exit_seen.term_signal = (uint32_t)WTERMSIG(wait_status);
    } else {
        exit_seen.how_case = EXHIBIT__PROCESS_EXIT__HOW_EXIT_STATUS;
        exit_seen.exit_status = (uint32_t)WEXITSTATUS(wait_status);
    }
    JOURNAL_WHAT(event, process_exit, PROCESS_EXIT, &exit_seen);
    return journal_put(log->journal, &event, NULL, 0, err);
}

int observer_put_gone(const struct observer_log *log, const struct member *member, struct err *err)
{
    Exhibit__Event event = event_of(log, EXHIBIT__SOURCE__SOURCE_SNAPSHOT);
    Exhibit__ProcessGone gone = EXHIBIT__PROCESS_GONE__INIT;

    gone.pid = (uint32_t)member->pid;
    gone.start_time = member->start_time;
    JOURNAL_WHAT(event, process_gone, PROCESS_GONE, &gone);
    return journal_put(log->journal, &event, NULL, 0, err);
}

int observer_put_lost(const struct observer_log *log, uint64_t count, struct err *err)
{
    Exhibit__Event event = event_of(log, EXHIBIT__SOURCE__SOURCE_RECORDER);
    Exhibit__Lost lost = EXHIBIT__LOST__INIT;

    lost.observer = EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS;
    lost.count = count;
    JOURNAL_WHAT(event, lost, LOST, &lost);
    return journal_put(log->journal, &event, NULL, 0, err);
}
