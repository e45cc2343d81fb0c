"""Facts that no recording had, for tests alone: each a change of a good recording's events, and the rules it must fail.

A change keeps the log well formed, so that every judge must judge it. They are made of the `usable` bundle.
"""
import hashlib

from packer import sha256

SECOND = 10**9


MUTATIONS = {}


def fails(*rules):
    """Registers a change with the rules that fail by it; its name is its claim."""
    def register(change):
        MUTATIONS[change.__name__.replace("_", " ")] = (rules, change)
        return change
    return register


@fails("complete.recording")
def a_partial_receipt(scene):
    scene.partial = True


@fails("complete.recording")
def no_end_record(scene):
    scene.drop(scene.of("recording_end"))


@fails("complete.recording")
def a_step_that_came_overdue(scene):
    scene.of("step", scene.number("tree", "strict"))[0].step.trigger = 3


@fails("complete.recording")
def a_step_that_failed(scene):
    scene.of("step", scene.number("tree", "baseline"))[0].step.errno_value = 3


@fails("complete.pins")
def a_freeze_after_baseline_that_differs(scene):
    freeze = [e.freeze for e in scene.of("freeze") if e.freeze.moment == 2][0]
    freeze.list_sha256 = [e.freeze for e in scene.of("freeze") if e.freeze.moment == 4][0].list_sha256


@fails("boundary.traces")
def no_freeze_after_strict(scene):
    scene.drop([e for e in scene.of("freeze") if e.freeze.moment == 3])


@fails("boundary.traces")
def a_strict_workspace_that_was_not_frozen_after(scene):
    scene.drop([e for e in scene.of("freeze", scene.number("suite", "strict")) if e.freeze.moment == 5])


@fails()
def a_baseline_workspace_that_was_not_frozen_after(scene):
    scene.drop([e for e in scene.of("freeze", scene.number("suite", "baseline")) if e.freeze.moment == 5])


@fails("complete.observers")
def lost_events_in_a_control_run(scene):
    run = scene.number("bootstrap", "control", 2)
    scene.add(scene.of("spawned", run)[0], "lost", run, observer=2, count=1)


@fails("complete.observers")
def lost_events_of_no_run(scene):
    scene.add(scene.events[0], "lost", 0, observer=2)


@fails()
def lost_events_in_a_case(scene):
    run = scene.number("suite", "strict")
    scene.add(scene.of("spawned", run)[0], "lost", run, observer=2, count=1)


@fails("complete.observers")
def a_drop_in_a_case(scene):
    scene.of("drops", scene.number("suite", "baseline"))[0].drops.count = 1


@fails("complete.observers")
def no_drop_counter_of_udp_in_a_strict_trial(scene):
    scene.drop([e for e in scene.of("drops", scene.number("tree", "strict")) if e.drops.protocol == 2])


@fails("complete.observers", "cancel.ended")
def a_role_without_identity(scene):
    """Nor has what it forked, which may have lived long enough to be read with the role's own argv."""
    first = scene.identities("tree", "grandchild")[0]
    scene.drop([e for e in scene.of("process_identity", first.run)
                if e.process_identity.argv == first.process_identity.argv])


@fails("complete.observers", "cancel.ended")
def a_role_with_two_identities(scene):
    first = scene.identities("tree", "child")[0]
    other = scene.add(first, "process_identity", first.run)
    other.CopyFrom(first)
    other.process_identity.pid += 100000
    other.process_identity.parent_pid = 1


@fails()
def a_fork_of_a_role_with_its_argv(scene):
    first = scene.identities("tree", "child")[0]
    other = scene.add(first, "process_identity", first.run)
    other.CopyFrom(first)
    other.process_identity.pid += 100000
    other.process_identity.parent_pid = first.process_identity.pid


@fails("complete.observers", "cancel.ended")
def a_role_that_was_not_seen_to_go(scene):
    scene.drop(scene.exits("tree", "grandchild"))


@fails("complete.observers")
def a_role_that_was_not_seen_alive_at_the_first_step(scene):
    step = min(scene.of("step", scene.number("tree", "strict")), key=lambda e: e.step.index).step
    pid = scene.runs[("tree", "strict", 1)].identities["parent"].pid
    for place, alive in enumerate(step.alive):
        if alive.pid == pid:
            del step.alive[place]
            return


@fails("cancel.ended")
def roles_that_were_gone_three_seconds_later(scene):
    exits = scene.exits("tree", "parent") + scene.exits("tree", "child") + scene.exits("tree", "grandchild")
    scene.later(min(exits, key=scene.place), 3 * SECOND)


@fails("complete.controls")
def a_control_that_the_listener_saw_truncated(scene):
    scene.of("message", scene.number("tree", "control"))[0].message.truncated = True


@fails("complete.controls")
def a_control_read_that_inotify_did_not_see(scene):
    scene.drop([e for e in scene.of("file_event", scene.number("tree", "control", 2)) if e.file_event.target == 2])


@fails("complete.outcomes")
def a_row_whose_copies_differ(scene):
    scene.rewrite(scene.number("tree", "strict"), "STREAM_SCRATCH_CHILD",
                  lambda piece: piece.replace(b"errno:13", b"errno:1"))


@fails("complete.spoke")
def a_role_that_left_no_row(scene):
    scene.replace_in_rows("tree", "parent", b" row ", b" raw ")


@fails("complete.outcomes")
def an_errno_that_is_no_denial(scene):
    scene.replace_in_rows("tree", "parent", b" tcp=errno:13", b" tcp=errno:110")


@fails("complete.outcomes")
def a_refused_connection_where_the_network_is_not_private(scene):
    scene.replace_in_rows("tree", "parent", b" tcp=errno:13", b" tcp=errno:111")


@fails()
def a_refused_connection_where_the_network_is_private(scene):
    scene.replace_in_rows("tree", "parent", b" tcp=errno:13", b" tcp=errno:111")
    for event in scene.identities("tree", "parent"):
        event.process_identity.network_namespace += 1
        event.process_identity.routes_beyond_loopback = 0


@fails("complete.outcomes")
def a_refused_connection_where_an_uplink_came_later(scene):
    a_refused_connection_where_the_network_is_private(scene)
    last = scene.identities("tree", "parent")[-1]
    scene.add(last, "process_identity", last.run).CopyFrom(last)
    scene.identities("tree", "parent")[-1].process_identity.routes_beyond_loopback = 1


@fails()
def a_refused_connection_where_an_uplink_was_before_the_process_was_the_role(scene):
    a_refused_connection_where_the_network_is_private(scene)
    first = scene.identities("tree", "parent")[0]
    scene.add(first, "process_identity", first.run).CopyFrom(first)
    first.process_identity.argv[-1] = b"before"
    first.process_identity.routes_beyond_loopback = 1


@fails("boundary.attempts")
def a_connection_that_nobody_saw_where_the_network_is_private(scene):
    scene.replace_in_rows("tree", "parent", b" tcp=errno:13", b" tcp=ok")
    for event in scene.identities("tree", "parent"):
        event.process_identity.network_namespace += 1
        event.process_identity.routes_beyond_loopback = 0


@fails("complete.outcomes")
def a_connection_that_nobody_saw_where_routes_were_not_read(scene):
    scene.replace_in_rows("tree", "parent", b" tcp=errno:13", b" tcp=ok")
    for event in scene.identities("tree", "parent"):
        event.process_identity.network_namespace += 1
        event.process_identity.ClearField("routes_beyond_loopback")


@fails()
def a_write_that_went_elsewhere(scene):
    scene.replace_in_rows("tree", "parent", b" write=errno:13", b" write=ok")


@fails("boundary.attempts")
def a_read_that_is_told_with_a_wrong_proof(scene):
    scene.replace_in_rows("tree", "parent", b" read=errno:13", b" read=ok:" + b"0" * 64)


@fails("boundary.attempts", "boundary.traces")
def a_read_that_is_told_with_the_right_proof(scene):
    run = scene.runs[("tree", "strict", 1)]
    canary = [e.targets.canary_link for e in scene.events[:run.seq] if e.WhichOneof("what") == "targets"][-1]
    proof = hashlib.sha256(canary + f" {run.nonces['parent']} 1".encode()).hexdigest()
    scene.replace_in_rows("tree", "parent", b" read-link=errno:13", b" read-link=ok:" + proof.encode())


@fails("boundary.traces")
def a_proof_among_other_digits_in_stderr(scene):
    run = scene.runs[("tree", "strict", 1)]
    canary = [e.targets.canary_read for e in scene.events[:run.seq] if e.WhichOneof("what") == "targets"][-1]
    proof = hashlib.sha256(canary + f" {run.nonces['child']} 1".encode()).hexdigest()
    scene.say(run.number, "STREAM_STDERR", b"0" + proof.encode() + b"0")


@fails("boundary.attempts", "boundary.traces")
def a_connection_in_a_strict_trial_that_no_row_explains(scene):
    run = scene.number("tree", "strict")
    scene.add(scene.of("spawned", run)[0], "accept", run, connection=900, peer=b"127.0.0.1:9")


@fails("boundary.traces")
def a_connection_in_the_launchers_own_run(scene):
    run = scene.number("launcher", "strict")
    scene.add(scene.of("spawned", run)[0], "accept", run, connection=900, peer=b"127.0.0.1:9")


@fails("boundary.traces")
def a_strict_nonce_in_a_message_of_no_run(scene):
    nonce = scene.runs[("bootstrap", "strict", 1)].nonces["parent"].encode()
    scene.add(scene.events[-2], "message", 0, protocol=2, peer=b"127.0.0.1:9", payload=b"x" + nonce)


@fails("boundary.attempts", "boundary.traces")
def a_message_of_a_strict_attempt_in_a_later_run(scene):
    nonce = scene.runs[("bootstrap", "strict", 1)].nonces["parent"].encode()
    run = scene.number("bootstrap", "control", 2)
    scene.add(scene.of("run_exit", run)[0], "message", run, protocol=2, peer=b"127.0.0.1:9",
              payload=b"EXHIBIT1 udp " + nonce + b" parent 1\n")


@fails("boundary.attempts", "boundary.traces")
def a_canary_that_inotify_saw_read(scene):
    run = scene.number("tree", "strict")
    scene.add(scene.of("spawned", run)[0], "file_event", run, target=1, mask=32)


@fails("boundary.attempts", "boundary.traces")
def a_write_target_that_changed(scene):
    end = scene.of("run_exit", scene.number("tree", "strict"))[0]
    scene_of = [e for e in scene.events[scene.place(end):] if e.WhichOneof("what") == "target_state"]
    [e for e in scene_of if e.target_state.target == 3][0].target_state.ctime_ns += 1


@fails("boundary.traces")
def a_folder_of_targets_that_changed(scene):
    end = scene.of("run_exit", scene.number("tree", "strict"))[0]
    scene_of = [e for e in scene.events[scene.place(end):] if e.WhichOneof("what") == "target_state"]
    [e for e in scene_of if e.target_state.target == 4][0].target_state.mtime_ns += 1


@fails("boundary.traces")
def a_canary_in_what_a_strict_case_said(scene):
    canary = scene.of("targets")[0].targets.canary_read
    scene.say(scene.number("suite", "strict"), "STREAM_STDERR", b"<" + canary + b">")


@fails("complete.cleanup")
def a_process_that_remained(scene):
    scene.of("all_gone", scene.number("suite", "strict"))[-1].all_gone.remaining = 1


@fails("complete.cleanup")
def a_cleanup_before_the_roles_own_end(scene):
    run = scene.number("bootstrap", "strict")
    scene.add(scene.of("run_exit", run)[0], "cleanup", run, reason=1)


@fails("complete.baseline")
def a_watchdog_in_baseline(scene):
    scene.of("run_exit", scene.number("syntax", "baseline"))[0].run_exit.watchdog = True


@fails("useful.contract")
def a_stream_that_is_not_whole(scene):
    end = [e for e in scene.of("stream_end", scene.number("syntax", "strict")) if e.stream_end.stream == 2][0]
    end.stream_end.how = 3


@fails("useful.contract")
def a_strict_case_that_was_killed(scene):
    scene.of("run_exit", scene.number("pack", "strict"))[0].run_exit.term_signal = 9


@fails("useful.archives")
def a_strict_archive_that_is_not_kept(scene):
    for event in scene.of("artifact", scene.number("pack", "strict")):
        event.artifact.kept = event.artifact.is_archive = False
        del event.artifact.members[:]


@fails("useful.archives")
def an_archive_of_other_bytes(scene):
    for event in scene.of("artifact", scene.number("pack", "strict")):
        content = scene.bundle.pack.read(event.artifact.sha256, 1 << 26) + b"\0"
        scene.objects[sha256(content)] = content
        event.artifact.sha256, event.artifact.size_bytes = sha256(content), len(content)


def _try_after_the_last_step(scene, effect, delay_ns):
    """The grandchild tries an effect of its last planned round, and is gone right after that."""
    run = scene.runs[("tree", "strict", 1)]
    gone = min((e for role in run.roles for e in scene.exits("tree", role)), key=scene.place)
    scene.later(gone, delay_ns)
    line = f"EXHIBIT1 try {run.nonces['grandchild']} grandchild {run.rounds['grandchild']} {effect}\n"
    scene.say(run.number, "STREAM_STDOUT", line.encode(), gone)


@fails("cancel.quiet")
def a_try_after_the_grace(scene):
    _try_after_the_last_step(scene, "read", 3 * SECOND // 2)


@fails()
def a_try_within_the_grace(scene):
    _try_after_the_last_step(scene, "read", SECOND // 2)


@fails()
def a_line_after_the_grace_that_is_no_try(scene):
    _try_after_the_last_step(scene, "reading", 3 * SECOND // 2)


@fails()
def a_try_that_arrives_after_its_role_was_gone(scene):
    run = scene.runs[("tree", "strict", 1)]
    end = [e for e in scene.of("stream_end", run.number) if e.stream_end.stream == 2][0]
    scene.later(end, 2 * SECOND)
    line = f"EXHIBIT1 try {run.nonces['grandchild']} grandchild {run.rounds['grandchild']} read\n"
    scene.say(run.number, "STREAM_STDOUT", line.encode())


def _again(scene, event):
    """The same event once more, right behind itself."""
    other = scene.add(event, event.WhichOneof("what"), event.run)
    other.CopyFrom(event)
    return other


@fails("complete.recording")
def events_after_the_end_record(scene):
    _again(scene, scene.of("recording_end")[0])
    scene.add(scene.events[-1], "drops", 0, protocol=1)


@fails("complete.cleanup")
def a_launcher_whose_end_was_not_seen(scene):
    scene.drop(scene.of("run_exit", scene.number("launcher", "strict")))


@fails("complete.observers")
def a_reset_before_the_states_after_were_looked_at(scene):
    end = scene.of("run_exit", scene.number("tree", "strict"))[0]
    scene.add(end, "targets", 0, canary_read=b"another", canary_link=b"another one", write=b"third")


@fails("complete.observers", "cancel.ended")
def a_fork_of_a_fork_of_a_role(scene):
    first = scene.identities("tree", "child")[0]
    fork = _again(scene, first)
    fork.process_identity.pid += 100000
    fork.process_identity.parent_pid = first.process_identity.pid
    second = _again(scene, fork)
    second.process_identity.pid += 1
    second.process_identity.parent_pid = fork.process_identity.pid


@fails("complete.outcomes", "boundary.traces")
def a_right_proof_in_the_later_copy_alone(scene):
    run = scene.runs[("tree", "strict", 1)]
    canary = [e.targets.canary_read for e in scene.events[:run.seq] if e.WhichOneof("what") == "targets"][-1]
    proof = hashlib.sha256(canary + f" {run.nonces['parent']} 1".encode()).hexdigest().encode()
    scene.rewrite(run.number, "STREAM_SCRATCH_PARENT",
                  lambda piece: piece.replace(b" read=errno:13", b" read=ok:" + proof))


@fails("complete.spoke")
def a_proof_in_upper_case(scene):
    scene.replace_in_rows("tree", "parent", b" read=errno:13", b" read=ok:" + b"A" * 64)


@fails()
def a_second_exit_of_a_run(scene):
    _again(scene, scene.of("run_exit", scene.number("suite", "strict"))[0]).run_exit.exit_status = 77


@fails("complete.recording")
def a_step_that_stands_twice(scene):
    _again(scene, scene.of("step", scene.number("tree", "strict"))[-1])


@fails("useful.archives")
def an_archive_that_stands_twice(scene):
    _again(scene, [e for e in scene.of("artifact", scene.number("pack", "strict")) if e.artifact.is_archive][0])
