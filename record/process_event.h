/*
 * One process event, as the kernel's half (process_events.bpf.c) writes it and the recorder reads it. Includes nothing:
 * the kernel's half is compiled without libc.
 */
#pragma once

enum process_event_kind {
    PROCESS_EVENT_FORK = 1,
    PROCESS_EVENT_EXEC,
    PROCESS_EVENT_EXIT,   /* of the process's first thread; others may live on */
    PROCESS_EVENT_THREAD, /* the process has one more thread than its first */
};

struct process_event {
    enum process_event_kind kind;
    int pid;
    int parent_pid;  /* FORK */
    int wait_status; /* EXIT: as waitpid gives it */
};
