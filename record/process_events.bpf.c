/*
 * The kernel's half of process_events_ring.c: a record in a ring for each fork, exec and exit of the machine. Compiled
 * for the kernel's own machine (bpf(2)), and told at load where this kernel keeps the fields that are read (CO-RE).
 * Only an exec wakes the reader.
 */
#include "record/process_event.h"

#include <linux/bpf.h>
/* after the above, whose types it uses */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>
#include <stddef.h>

#define TASK_DEAD 0x80 /* include/linux/sched.h: has done all that an exit does, and is never run again */

/* include/linux/sched.h, what is read of it. */
struct task_struct {
    unsigned __state;
    int exit_code;
    int pid;  /* of the thread */
    int tgid; /* of its process */
    struct task_struct *real_parent;
} __attribute__((preserve_access_index));

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4 << 20); /* the recorder sets another size in tests */
} ring SEC(".maps");

unsigned long long lost; /* events for which the ring had no room */

/* To read the kernel's structures a program has to be under the GPL; it may be under another licence, too. */
char licence[] SEC("license") = "Dual MIT/GPL";

static __always_inline int tell(const struct process_event *told, unsigned long long wakeup)
{
    struct process_event *event = bpf_ringbuf_reserve(&ring, sizeof *event, 0);

    if (event == NULL) {
        (void)__sync_fetch_and_add(&lost, 1);
        return 0;
    }
    *event = *told;
    bpf_ringbuf_submit(event, wakeup);
    return 0;
}

/* Before the child runs. (At sched_process_fork no thread is told that the kernel makes for a process.) */
SEC("tp_btf/task_newtask")
int BPF_PROG(tell_fork, struct task_struct *child)
{
    struct process_event event = {.kind = PROCESS_EVENT_THREAD, .pid = child->tgid};

    if (child->pid == child->tgid) {
        event.kind = PROCESS_EVENT_FORK;
        event.parent_pid = child->real_parent->tgid; /* with CLONE_PARENT not the forker */
    }
    return tell(&event, BPF_RB_NO_WAKEUP);
}

/* Before the first instruction of the new program. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(tell_exec, struct task_struct *task)
{
    const struct process_event event = {.kind = PROCESS_EVENT_EXEC, .pid = task->tgid};

    return tell(&event, BPF_RB_FORCE_WAKEUP);
}

/*
 * When a thread that is over leaves its processor for the last time: all that it had open is closed by then, which is
 * not so at sched_process_exit.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(tell_exit, bool preempted, struct task_struct *previous)
{
    struct process_event event = {.kind = PROCESS_EVENT_EXIT};

    if ((previous->__state & TASK_DEAD) == 0 || previous->pid != previous->tgid)
        return 0;
    event.pid = previous->tgid;
    event.wait_status = previous->exit_code;
    return tell(&event, BPF_RB_NO_WAKEUP);
}
