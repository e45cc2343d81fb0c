#!/usr/bin/env python3
"""Commands that behave badly: they hang, flood, leave descendants, close their pipes, die, or cannot be executed.

usage: commands.py BUILD SOURCE
"""
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import hostile
from memory import Memory
from hostile import (BOOTSTRAP, FOR_BOOTSTRAP, PIECE, STRICT, Place, b64, claim_of, facts_of, failing, met, shell,
                     subject)

MIB = 1 << 20
MODES = ("baseline", "strict")
ODD = bytes(range(1, 256))
CORES = ("QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "SEGV", "XCPU", "XFSZ", "SYS")
# Each signal by which a process ends, with whether it leaves a core where it may; of the real-time ones first and last.
SIGNALS = {item.name[3:].replace("IO", "POLL"): item.name[3:] in CORES for item in signal.Signals
           if item not in (signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN,
                           signal.SIGTTOU, signal.SIGURG, signal.SIGWINCH)}
FLOOD = subject("flood")
TIMES = 1000   # that bytes are written just before an exit
PYTHON = "/usr/bin/python3"  # an executable of several MiB
LARGE = 2048   # pieces of output: 128 MiB, twice the memory that a recorder may have


def no_signal_ignored():
    """Whoever started this test may ignore some (nohup does); of what the recorder starts they are as the kernel has them."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)


COUNTED = subprocess.run([subject("count_children")], capture_output=True, stdin=subprocess.DEVNULL,
                         preexec_fn=no_signal_ignored, check=True).stdout


def flood_digest(count):
    digest = hashlib.sha256()
    for number in range(count):
        digest.update(number.to_bytes(8, "little") * (PIECE // 8))
    return digest.digest()


def places():
    dies = {f"dies-of-{name.lower()}": (shell(f"ulimit -c unlimited; cd {{scratch}}; kill -{int(number)} $$"),
                                        {"signal": name} if number < signal.SIGRTMIN else {"stdout": {"equals": ""}})
            for name, number in ((name, getattr(signal, "SIG" + name)) for name in SIGNALS)}
    braced = ODD.replace(b"{", b"{{")
    odd = {"command": [subject("echo_bytes"), b64(braced), b64(b"\xff{{\xfe")], "environment": {"ODD": b64(braced)},
           "stdin": b64(bytes(range(256)) * 4)}
    cases = {
        "successor": ({"command": [subject("successor"), "/bin/sh", "-c", "sleep 0.2; (exit 4); exit 3"]}, {"exit": 3}),
        "successors": (shell(f"for i in 1 2 3 4 5 6 7 8 9; do {subject('successor')} /bin/sh -c 'exit 3'; done; exit 0"),
                       {"exit": 0}),
        "endless": (shell('trap "" TERM INT HUP; [ -z "$STRICT" ] && exit 0; while :; do sleep 1; done',
                          watchdog_ms=1000), {"exit": 0}),
        "descendant": (shell("(sleep 300 &); echo $$; exit 0"), {"exit": 0}),
        "last-words": (shell(f'[ "$STRICT" ] && exec {FLOOD} 100 fork; exec {FLOOD} {TIMES} fork', watchdog_ms=120000),
                       {"exit": 0}),
        "both": (shell(f"{FLOOD} 1000 & {FLOOD} 1001 >&2; wait"), {"exit": 0}),
        "deaf": (shell("sleep 0.3", stdin={"file": "big"}), {"exit": 0}),
        "eager": ({"command": ["/bin/cat"], "stdin": {"file": "big"}}, {"exit": 0}),
        "no-stdin": (shell('test -p /dev/stdin && ! read -r x && test -z "$x" && echo end'),
                     {"exit": 0, "stdout": {"equals": "end\n"}}),
        "closed": (shell("exec 0<&- 1>&- 2>&-; sleep 0.3; exit 7"), {"exit": 7}),
        "exit-126": (shell("exit 126"), {"exit": 126}), "exit-127": (shell("exit 127"), {"exit": 127}),
        "odd": (odd, {"exit": 0, "stdout": {"equals": b64(ODD + b"\0\xff{\xfe\0" + ODD + b"\0" +
                                                           bytes(range(256)) * 4)}}),
        "children": ({"command": [subject("count_children")]}, {"exit": 0, "stdout": {"equals": b64(COUNTED)}}),
        "interpreter": (shell(f'[ "$STRICT" ] || exec {PYTHON} -c "import time; time.sleep(0.3)"'), {"exit": 0}),
        # An executable of 200 MB that was not there before; it takes longer to digest than all that comes after it.
        "fresh": (shell(f'[ "$STRICT" ] && exit 0; cd {{scratch}}; cp {PYTHON} fresh; truncate -s 200M fresh; '
                        './fresh -c 0; sleep 0.031; sleep 0.032; sleep 0.033; rm fresh'), {"exit": 0}),
        "no-core": (shell("ulimit -c 0; cd {scratch}; kill -SEGV $$"), {"signal": "SEGV"}),
        **dies,
    }
    spoiled = {name: ({"command": [f"{hostile.ROOT}/{name}"]}, {"exit": code})
               for name, code in (("missing", 127), ("not-executable", 126), ("bad-interpreter", 126),
                                  ("no-format", 126))}
    made = (Place("commands", cases, BOOTSTRAP, FOR_BOOTSTRAP, STRICT),
            Place("memory", {"large": (shell(f'[ ! "$STRICT" ] || exec {FLOOD} {LARGE}'), {"exit": 0})},
                  candidate=STRICT),
            Place("spoiled", {**spoiled, "fine": (shell("exit 0"), {"exit": 0})}, BOOTSTRAP, FOR_BOOTSTRAP))
    made += (Place("python", trials=BOOTSTRAP, oracle_trials=FOR_BOOTSTRAP, candidate={
        "name": "python", "argv": ["/bin/sh", "-c", 'case "$*" in *exhibit-probe*) exec "$0" -c "import subprocess, sys; '
                                   'sys.exit(subprocess.call(sys.argv[1:]))" "$@";; esac; exec "$@"', PYTHON, "{command}"]}),)
    (made[0].folder / "big").write_bytes(os.urandom(4 * MIB))
    for name, content, mode in (("not-executable", "#!/bin/sh\n", 0o644), ("no-format", "exit 0\n", 0o755),
                                ("bad-interpreter", "#!/nonexistent/interpreter\n", 0o755)):
        (hostile.ROOT / name).write_text(content)
        (hostile.ROOT / name).chmod(mode)
    return made


def setUpModule():
    global COMMANDS, LARGE_OUTPUT, SPOILED, RELAYED, CLAIM, FACTS, MEMORY
    COMMANDS, LARGE_OUTPUT, SPOILED, RELAYED = places()
    MEMORY = Memory()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for made in [pool.submit(large_record), pool.submit(COMMANDS.record), pool.submit(SPOILED.record),
                     pool.submit(RELAYED.record)]:
            made.result()
    assert COMMANDS.done.code == 0, COMMANDS.done
    CLAIM, FACTS = claim_of(COMMANDS.bundle), facts_of(COMMANDS.bundle)


def large_record():
    """Records it, looks at the recorder's memory meanwhile, and reads its bundle while others are still recorded."""
    process = LARGE_OUTPUT.start()
    MEMORY.pid = process.pid
    MEMORY.start()
    process.communicate(timeout=100)
    MEMORY.over.set()
    assert process.returncode == 3, process.returncode  # it has no trial
    facts_of(LARGE_OUTPUT.bundle)


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


class Commands(unittest.TestCase):
    def test_the_decision_is_right_and_the_other_judges_say_the_same(self):
        self.assertEqual(COMMANDS.done.out.splitlines()[-1], "decision: NO-GO")
        self.assertEqual(failing(CLAIM), ["boundary.attempts", "boundary.traces", "useful.contract"])
        self.assertEqual(hostile.verified(COMMANDS.bundle)[0], 0)

    def test_every_case_but_the_endless_one_is_met_in_both_modes(self):
        for mode in MODES:
            wanted = {name: mode == "baseline" or name != "endless" for name in met(CLAIM, mode)}
            self.assertEqual(met(CLAIM, mode), wanted)

    def test_a_command_that_never_ends_is_ended_by_its_watchdog_in_time(self):
        run = ("endless", "strict")
        ended, how = FACTS.one("run_exit", run)
        self.assertTrue(how.watchdog)
        self.assertEqual(how.term_signal, signal.SIGKILL)
        self.assertGreaterEqual(ended.at_ns - FACTS.one("run_start", run)[0].at_ns, 1e9)
        self.assertLess(ended.at_ns - FACTS.one("spawned", run)[0].at_ns, 5e9)
        self.assertEqual(FACTS.one("all_gone", run)[1].remaining, 0)
        self.assertFalse(FACTS.one("run_exit", ("endless", "baseline"))[1].watchdog)

    def test_a_descendant_that_keeps_the_pipes_open_holds_the_recorder_up_for_about_a_second_and_is_ended(self):
        for mode in MODES:
            run = ("descendant", mode)
            ended, how = FACTS.one("run_exit", run)
            self.assertEqual((how.WhichOneof("how"), how.exit_status, how.watchdog), ("exit_status", 0, False))
            gone, all_gone = FACTS.one("all_gone", run)
            self.assertLess(gone.at_ns - ended.at_ns, 5e9)
            self.assertEqual(all_gone.remaining, 0)
            self.assertEqual(hostile.name_of(FACTS.one("cleanup", run)[1], "reason"), "REASON_LEFTOVER")
            sleeper = [what for _, what in FACTS.all("process_identity", run) if list(what.argv) == [b"sleep", b"300"]]
            ends = [what.pid for _, what in FACTS.all("process_exit", run)]
            self.assertEqual(len(sleeper), 1)
            self.assertIn(sleeper[0].pid, ends)
            self.assertEqual(FACTS.stream(run, "stdout")[1], "EOF")

    def test_a_large_executable_is_digested_when_the_run_is_over_and_told_with_who_was_seen_first_to_execute_it(self):
        run = ("interpreter", "baseline")
        over, told = FACTS.one("all_gone", run)[0].seq, collections.defaultdict(list)
        for event, what in FACTS.all("process_identity", run):
            if list(what.argv)[:1] == [PYTHON.encode()]:
                told[event.seq > over].append(what)
        self.assertGreaterEqual(len(told[False]), 1)
        self.assertEqual([what.executable_sha256 for what in told[False]], [b""] * len(told[False]))
        (late,) = told[True]
        self.assertEqual(late.executable_sha256, hashlib.sha256(pathlib.Path(PYTHON).read_bytes()).digest())
        late.executable_sha256 = b""
        self.assertEqual(late, told[False][0])

    def test_who_executes_a_large_file_of_his_own_does_not_hide_those_that_come_after_it(self):
        if hostile.name_of(FACTS.start, "process_observer") != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events")
        seen = {tuple(what.argv) for _, what in FACTS.all("process_identity", ("fresh", "baseline"))}
        self.assertLessEqual({(b"sleep", b"0.031"), (b"sleep", b"0.032"), (b"sleep", b"0.033")}, seen)

    def test_a_process_whose_thread_executes_a_program_goes_on_and_has_one_end(self):
        if hostile.name_of(FACTS.start, "process_observer") != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events")
        for mode in MODES:
            root = FACTS.one("spawned", ("successor", mode))[1].pid
            seen = [(kind, event.seq) for kind in ("process_exec", "process_exit")
                    for event, what in FACTS.all(kind, ("successor", mode)) if what.pid == root]
            self.assertEqual([kind for kind, _ in sorted(seen, key=lambda item: item[1])],
                             ["process_exec"] * (len(seen) - 1) + ["process_exit"])
            self.assertGreaterEqual(len(seen), 3)
            (end,) = [what for _, what in FACTS.all("process_exit", ("successor", mode)) if what.pid == root]
            self.assertEqual(end.exit_status, 3)
            children = {what.pid for _, what in FACTS.all("process_fork", ("successor", mode)) if what.parent_pid == root}
            self.assertEqual(len(children), 2)
            shell_pid = FACTS.one("spawned", ("successors", mode))[1].pid
            forked = {what.pid for _, what in FACTS.all("process_fork", ("successors", mode))} - {shell_pid}
            ended = [what.exit_status for _, what in FACTS.all("process_exit", ("successors", mode)) if what.pid in forked]
            self.assertEqual(ended, [3] * 9)

    def test_of_a_trial_no_digest_waits(self):
        self.assertNotEqual(RELAYED.done.code, 5, RELAYED.done)
        found = [what for _, what in facts_of(RELAYED.bundle).all("process_identity", ("bootstrap", "strict"))
                 if list(what.argv)[:1] == [PYTHON.encode()]]
        self.assertGreaterEqual(len(found), 1)
        digest = hashlib.sha256(pathlib.Path(PYTHON).read_bytes()).digest()
        self.assertEqual([what.executable_sha256 for what in found], [digest] * len(found))

    def test_bytes_written_just_before_exit_are_all_there_a_thousand_times(self):
        for mode, count in (("baseline", TIMES), ("strict", 100)):
            content, how = FACTS.stream(("last-words", mode), "stdout")
            self.assertEqual((content.size_bytes, content.sha256, how), (count * PIECE, flood_digest(count), "EOF"))

    def test_a_large_output_is_all_there(self):
        self.assertEqual(failing(claim_of(LARGE_OUTPUT.bundle)), ["complete.recording"])
        content, how = facts_of(LARGE_OUTPUT.bundle).stream(("large", "strict"), "stdout")
        self.assertEqual((content.size_bytes, content.sha256, how), (LARGE * PIECE, flood_digest(LARGE), "EOF"))

    def test_the_memory_of_the_recorder_does_not_grow_with_the_output(self):
        self.assertGreater(MEMORY.looks, 20)
        # The sanitizers keep what was freed for a while, and a shadow of it all: then only growth with it counts.
        self.assertLess(MEMORY.most, (512 if hostile.SANITIZED else 64) * MIB)

    def test_two_pipes_that_are_flooded_at_once_are_both_whole(self):
        for mode in MODES:
            for stream, count in (("stdout", 1000), ("stderr", 1001)):
                content, how = FACTS.stream(("both", mode), stream)
                self.assertEqual((content.size_bytes, content.sha256, how),
                                 (count * PIECE, flood_digest(count), "EOF"))
            chunks = [hostile.name_of(what, "stream") for _, what in FACTS.all("chunk", ("both", mode))]
            turns = sum(a != b for a, b in zip(chunks, chunks[1:]))
            self.assertGreater(turns, 10, "neither pipe waits for the end of the other")

    def test_a_command_that_reads_no_stdin_ends_and_what_was_not_delivered_is_not_claimed(self):
        for mode in MODES:
            content, how = FACTS.stream(("deaf", mode), "stdin")
            self.assertEqual(how, "CLOSED")
            self.assertLessEqual(content.size_bytes, MIB)
            offered = FACTS.one("run_start", ("deaf", mode))[1].stdin_stream
            self.assertEqual(offered.size_bytes, 4 * MIB)

    def test_a_command_that_reads_all_of_stdin_gets_all_of_it(self):
        big = (COMMANDS.folder / "big").read_bytes()
        for mode in MODES:
            for stream in ("stdin", "stdout"):
                content, how = FACTS.stream(("eager", mode), stream)
                self.assertEqual((content.sha256, how), (hashlib.sha256(big).digest(), "EOF"))

    def test_a_case_without_stdin_gets_an_empty_pipe_that_is_closed_at_once(self):
        for mode in MODES:
            content, how = FACTS.stream(("no-stdin", mode), "stdin")
            self.assertEqual((content.size_bytes, how), (0, "EOF"))
            self.assertEqual(FACTS.bytes(("no-stdin", mode), "stdout"), b"end\n")

    def test_a_command_that_closes_its_pipes_and_goes_on_is_followed_to_its_end(self):
        for mode in MODES:
            run = ("closed", mode)
            ended, how = FACTS.one("run_exit", run)
            self.assertEqual(how.exit_status, 7)
            ends = [e.at_ns for e, what in FACTS.all("stream_end", run)]
            self.assertGreater(ended.at_ns - FACTS.one("run_start", run)[0].at_ns, 0.3e9)
            self.assertEqual(len(ends), 3)
            self.assertEqual([FACTS.stream(run, s)[1] for s in ("stdout", "stderr")], ["EOF", "EOF"])

    def test_death_by_a_signal_is_told_with_its_number_and_with_whether_it_left_a_core(self):
        for mode in MODES:
            for name, dumps in SIGNALS.items():
                how = FACTS.one("run_exit", (f"dies-of-{name.lower()}", mode))[1]
                self.assertEqual((how.WhichOneof("how"), how.term_signal, how.core_dumped, how.watchdog),
                                 ("term_signal", getattr(signal, "SIG" + name), dumps, False))

    def test_where_no_core_may_be_left_none_is_told(self):
        to_a_program = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().startswith("|")  # which has no limit
        for mode in MODES:
            how = FACTS.one("run_exit", ("no-core", mode))[1]
            self.assertEqual((how.term_signal, how.core_dumped), (signal.SIGSEGV, to_a_program))

    def test_bytes_that_are_no_text_are_the_same_in_argv_environment_stdin_and_output(self):
        for mode in MODES:
            run = ("odd", mode)
            start = FACTS.one("run_start", run)[1]
            self.assertEqual(list(start.command)[1:], [ODD, b"\xff{\xfe"])
            self.assertIn(b"ODD=" + ODD, list(start.environment))
            self.assertEqual(FACTS.bytes(run, "stdin"), bytes(range(256)) * 4)
            self.assertEqual(FACTS.bytes(run, "stdout"), ODD + b"\0\xff{\xfe\0" + ODD + b"\0" + bytes(range(256)) * 4)

    def test_a_parent_sees_the_same_of_its_children_as_without_the_recorder(self):
        self.assertIn(b"signals 200, further children 0\n", COUNTED)
        self.assertEqual((COUNTED.count(b"1 9\n"), COUNTED.count(b"\n")), (20, 201))
        for mode in MODES:
            self.assertEqual(FACTS.bytes(("children", mode), "stdout"), COUNTED)


class Spoiled(unittest.TestCase):
    """What cannot be executed is no command that ended, and is never taken for one."""

    STAGES = {"missing": ("exec", 2), "not-executable": ("exec", 13), "bad-interpreter": ("exec", 2),
              "no-format": ("exec", 8)}
    LAUNCHER_EXITS = {"missing": 127, "not-executable": 126, "bad-interpreter": 127, "no-format": 0}

    def test_the_decision_is_incomplete_by_the_recording_alone_and_by_the_baseline(self):
        self.assertEqual(SPOILED.done.code, 3, SPOILED.done)
        claim = claim_of(SPOILED.bundle)
        self.assertEqual([rule for rule in failing(claim) if rule.startswith("complete.")],
                         ["complete.recording", "complete.baseline"])
        self.assertEqual(hostile.verified(SPOILED.bundle)[0], 3)

    def test_each_is_told_by_stage_and_errno_and_has_no_exit(self):
        # In strict mode it is the launcher that executes: what it does without its command is its own exit.
        facts = facts_of(SPOILED.bundle)
        for name, told in self.STAGES.items():
            with self.subTest(name):
                failed = facts.one("spawn_failed", (name, "baseline"))[1]
                self.assertEqual((failed.stage, failed.errno_value), told)
                self.assertEqual(facts.all("run_exit", (name, "baseline")), [])
                self.assertEqual(facts.all("spawned", (name, "baseline")), [])
                self.assertEqual(facts.one("run_exit", (name, "strict"))[1].exit_status, self.LAUNCHER_EXITS[name])
        self.assertEqual(facts.one("run_exit", ("fine", "baseline"))[1].exit_status, 0)


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
