#!/usr/bin/env python3
"""Awkward numbers, clocks, parents and names: what a recorder could take for something that it is not.

usage: awkward.py BUILD SOURCE
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import hostile
from hostile import (BOOTSTRAP, FOR_BOOTSTRAP, FOR_TREE, STRICT, Place, b64, claim_of, facts_of, failing, met, shell,
                     subject)

# A short tree: its ending comes after five rounds of the grandchild. By then snapshots, too, have told who each process
# is, which they do when it is 100 ms old.
TREE = [{"name": "tree", "kind": "tree", "rounds": 16, "interval_ms": 100, "lifetime_ms": 3400, "ending": {"steps": [
    {"after": {"role": "grandchild", "rounds": 5}, "signal": "TERM", "to": "group"}]}}]
UNCONFINED = ["boundary.attempts", "boundary.traces"]
UPTIME_S = int(float(pathlib.Path("/proc/uptime").read_text().split()[0]))
FORTH = ["/usr/bin/unshare", "--time", "--boottime", "100000000", "--monotonic", "200000000", "--"]
BACK = ["/usr/bin/unshare", "--time", "--boottime", str(-UPTIME_S // 2), "--monotonic", str(-UPTIME_S // 3), "--"]
CONFINE = ["{tools}/exhibit-confine", "--policy", "{policy}", "--set", "workspace={workspace}", "--set",
           "scratch={scratch}", "--set", "tools={tools}", "--"]
TIMES = subprocess.run([*FORTH, "true"], stderr=subprocess.DEVNULL).returncode == 0
ODD = b"odd \xff\xfe\xc3\x28\n'\"name"
MARK = "stranger-" + os.urandom(12).hex()
BIG_WORD = "x" * 120000
BIG = f"exec /bin/sh -c 'sleep 0.3' {' '.join(['$W'] * 12)}"


def kernel_has_pid_max_of_its_own_for_a_namespace():
    return tuple(int(part) for part in os.uname().release.split(".")[:2] if part.isdigit()) >= (6, 14)


def where(kernel_has, what):
    """Tests of something that few kernels have are there on those alone: elsewhere they are left out, which is told."""
    def take(tests):
        if not kernel_has:
            print(f"left out, for this kernel lacks {what}: {tests.__name__}", file=sys.stderr)
        return tests if kernel_has else None
    return take


def tree(name, argv, **more):
    return Place(name, {}, TREE, FOR_TREE, {"name": "odd", "argv": [*argv, "{command}"]}, **more)


def confined(name, argv):
    place = tree(name, [*argv, *CONFINE])
    shutil.copy(hostile.SOURCE / "candidates" / "landlock" / "deny-default.yaml", place.folder)
    plan = place.folder / "plan.yaml"
    plan.write_text(plan.read_text().replace('"argv"', '"policy": "deny-default.yaml", "argv"', 1))
    return place


def odd_place():
    """Everything that has a name has an odd one: the folders, the work folder, files, the program and the launcher."""
    place = Place("names", {}, BOOTSTRAP, FOR_BOOTSTRAP)
    real = bytes(place.folder) + b"/" + ODD
    os.makedirs(real + b"/work")
    os.makedirs(real + b"/workspace/" + ODD)
    pathlib.Path(os.fsdecode(real + b"/workspace/" + ODD + b"/" + ODD)).write_bytes(ODD)
    for name, program in ((b"program", "/usr/bin/sleep"), (b"launcher", "/usr/bin/env")):
        shutil.copy2(program, os.fsdecode(real + b"/" + name + ODD))
    word = {name: b64(real + b"/" + name + ODD) for name in (b"program", b"launcher")}
    cases = {"program": ({"command": [word[b"program"], "0.4"]}, {"exit": 0}),
             "cwd": ({"command": ["/usr/bin/find", ".", "-type", "f", "-print0"]},
                     {"exit": 0, "stdout": {"equals": b64(b"./" + ODD + b"/" + ODD + b"\0")}}),
             "pwd": ({"command": ["/usr/bin/readlink", "-zn", "/proc/self/cwd"]}, {"exit": 0}),
             "leaves": (shell('cp "$1"/* "$2"'), {"exit": 0})}
    cases["leaves"][0]["command"] += ["sh", b64(b"{workspace}/" + ODD), "{scratch}"]
    made = Place("named", cases, BOOTSTRAP, FOR_BOOTSTRAP, {"name": "odd", "argv": [word[b"launcher"], "{command}"]},
                 workspace="workspace")
    for name in ("plan.yaml", "oracle.yaml"):
        shutil.copy(made.folder / name, os.fsdecode(real))
    made.odd, made.bundle = real, pathlib.Path(os.fsdecode(real + b"/it" + ODD + b".exhibit"))
    return made


def odd_words(place):
    return [bytes(hostile.BUILD) + b"/bin/exhibit-record", b"run", place.odd + b"/plan.yaml", b"-o",
            bytes(place.bundle), b"--work", place.odd + b"/work"]


def places():
    leaves = {"leaves": (shell("sleep 300 & sleep 300 & sleep 0.2"), {"exit": 0}),
              "hydra": ({"command": [subject("hydra"), "1000"]}, {"exit": 0}),
              "endless": (shell('[ "$STRICT" ] || exit 0; while :; do for i in 1 2 3 4 5 6 7 8; do sleep 0.01 & done; '
                                "wait; done", watchdog_ms=500), {"exit": 0})}
    signals = {"children": (shell("sleep 0.1 & wait; sleep 0.1 & sleep 0.2"), {"exit": 0})}
    return {
        "numbers": Place("numbers", leaves, TREE, FOR_TREE, STRICT),
        "held-up": Place("held-up", {name: leaves[name] for name in ("endless", "leaves")}, BOOTSTRAP, FOR_BOOTSTRAP,
                         STRICT),
        "clock": Place("clock", {"fine": (shell("exit 0"), {"exit": 0})}, BOOTSTRAP, FOR_BOOTSTRAP),
        "forth": confined("forth", FORTH), "back": confined("back", BACK), "within": confined("within", []),
        "never-reaps": tree("never-reaps", [subject("never_reaps")]),
        "never-reaps-in-snapshots": tree("never-reaps-in-snapshots", [subject("never_reaps")]),
        "pid-1": tree("pid-1", ["/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "--", subject("never_reaps")]),
        "children-ignored": Place("children-ignored", signals, BOOTSTRAP, FOR_BOOTSTRAP),
        "big-argv": Place("big-argv", {"big": (shell(BIG, environment={"W": BIG_WORD}), {"exit": 0})}, BOOTSTRAP,
                          FOR_BOOTSTRAP),
        "names": odd_place(),
    }


def setUpModule():
    global PLACES, PID_MAX
    PLACES, PID_MAX = places(), pathlib.Path("/proc/sys/kernel/pid_max").read_text()
    points = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
              if " - cgroup2 " in line]
    words = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
           "".join(f"umount -l {point}; " for point in points) + 'exec "$@"', "--", subject("strangers"), MARK, "6"]
    held_up = hostile.odd(ODD_PAUSE="40000")
    settings = [f"{name}={held_up[name]}" for name in ("LD_PRELOAD", "ASAN_OPTIONS", "ODD_PAUSE")]
    few = [(PLACES["numbers"], {"before": words}),
           (PLACES["held-up"], {"before": [*words, "/usr/bin/env", *settings]})]
    if not kernel_has_pid_max_of_its_own_for_a_namespace():
        few = []
    hostile.record_all([
        (PLACES["clock"], {"env": hostile.odd(ODD_CLOCK="1")}),
        *([PLACES["forth"], PLACES["back"], (PLACES["within"], {"before": FORTH})] if TIMES else []),
        PLACES["never-reaps"],
        (PLACES["never-reaps-in-snapshots"], {"words": PLACES["never-reaps-in-snapshots"].words("--snapshots")}),
        PLACES["pid-1"],
        (PLACES["children-ignored"], {"before": ["env", "--ignore-signal=CHLD"]}),
        PLACES["big-argv"],
        (PLACES["names"], {"words": odd_words(PLACES["names"])}),
        *few,
    ], 12)


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


@where(kernel_has_pid_max_of_its_own_for_a_namespace(), "a pid_max for each pid namespace")
class Numbers(unittest.TestCase):
    """In a pid namespace of a hundred numbers, which strangers use up many times over."""

    def each(self):
        """Each of the two, with what was told of the strangers."""
        for name in ("numbers", "held-up"):
            place = PLACES[name]
            told = re.search(r"strangers (\d+) rounds (\d+) signalled (\d+)\n$", place.done.out)
            self.assertTrue(told, place.done)
            yield place, [int(number) for number in told.groups()]

    def test_numbers_came_round_while_the_machine_itself_kept_its_own(self):
        for place, (_, rounds, _) in self.each():
            self.assertGreater(rounds, 3, place.name)
        self.assertEqual(pathlib.Path("/proc/sys/kernel/pid_max").read_text(), PID_MAX)

    def test_no_stranger_was_signalled(self):
        for place, (_, _, signalled) in self.each():
            self.assertEqual(signalled, 0, place.name)

    def test_no_stranger_is_in_the_bundle(self):
        for place, _ in self.each():
            self.assertFalse(MARK.encode() in hostile.plain(place.bundle), place.name)

    def test_what_was_ours_was_ended_and_the_decision_is_the_same(self):
        for place, _ in self.each():
            facts, claim = facts_of(place.bundle), claim_of(place.bundle)
            self.assertEqual(hostile.name_of(facts.start, "process_observer"), "SOURCE_SNAPSHOT")
            self.assertFalse(facts.start.control_group)
            self.assertEqual({what.remaining for _, what in facts.all("all_gone")}, {0})
            more = ["cancel.ended"] if place.name == "numbers" else []
            self.assertEqual([rule for rule in failing(claim) if rule != "cancel.quiet"],
                             [*UNCONFINED, "useful.contract", *more], place.name)
            self.assertEqual(hostile.verified(place.bundle)[0], 0)


class Clocks(unittest.TestCase):
    def order(self, facts):
        times = [event.at_ns for event in facts.bundle.events]
        self.assertEqual([event.seq for event in facts.bundle.events], list(range(1, len(times) + 1)))
        self.assertEqual(times, sorted(times))

    def test_a_wall_clock_that_jumps_back_changes_no_order_and_makes_no_duration_negative(self):
        place = PLACES["clock"]
        facts, claim = facts_of(place.bundle), claim_of(place.bundle)
        self.assertEqual(facts.start.realtime_ns, 2 * 86400 * 10**9, "the odd clock was the recorder's")
        self.assertEqual((place.done.code, failing(claim)), (0, UNCONFINED), place.done)
        self.order(facts)
        self.assertTrue(all(0 <= row["survived_ms"] < 10000 for row in claim["tree"]), claim["tree"])
        self.assertEqual(hostile.verified(place.bundle)[0], 0)
        self.assertIn("1970-01-03", hostile.run("exhibit-verify", place.bundle).stdout)

    def wall_clock_readers(self, sources):
        reads = re.compile(r"CLOCK_REALTIME|CLOCK_TAI|\bgettimeofday\(|\btime\((NULL|&)|\btimespec_get\(")
        return [name for name, text in sources if reads.search(text)]

    def test_one_function_of_the_toolkit_reads_the_wall_clock(self):
        sources = [(str(path.relative_to(hostile.SOURCE)), path.read_text())
                   for folder in ("base", "formats", "record", "replay", "verify", "candidates")
                   for path in sorted((hostile.SOURCE / folder).rglob("*.[ch]"))]
        self.assertGreater(len(sources), 100)
        self.assertEqual(self.wall_clock_readers(sources), ["record/loop.c"])
        self.assertEqual(self.wall_clock_readers([("planted", "long now = time(NULL);")]), ["planted"])

    @where(TIMES, "time namespaces")
    def test_a_time_namespace_of_the_subject_or_around_the_recorder_changes_nothing(self):
        for name in ("forth", "back", "within"):
            place = PLACES[name]
            with self.subTest(name):
                facts, claim = facts_of(place.bundle), claim_of(place.bundle)
                self.assertEqual((place.done.code, failing(claim)), (0, ["cancel.ended", "cancel.quiet"]), place.done)
                self.order(facts)
                for row in claim["tree"]:
                    self.assertEqual(row["ended_by"], "self-expiry" if row["role"] == "grandchild" else "step", row)
                    self.assertLess(row["survived_ms"], 10000)
                self.assertEqual(hostile.verified(place.bundle)[0], 0)

    @where(TIMES, "time namespaces")
    def test_the_clocks_of_those_namespaces_were_other_ones(self):
        for argv, sign in ((FORTH, 1), (BACK, -1)):
            text = subprocess.run([*argv, "cat", "/proc/uptime"], capture_output=True, check=True).stdout
            self.assertGreater(sign * (float(text.split()[0]) - UPTIME_S), UPTIME_S / 4)


class Parents(unittest.TestCase):
    def test_zombies_that_nobody_waits_for_are_gone(self):
        for name in ("never-reaps", "never-reaps-in-snapshots", "pid-1"):
            with self.subTest(name):
                place = PLACES[name]
                facts, claim = facts_of(place.bundle), claim_of(place.bundle)
                run = ("tree", "strict")
                step, told = facts.one("step", run)
                left = facts.one("run_exit", run)[0].at_ns - step.at_ns
                self.assertGreater(left, 3e9, "their parent stayed for more than the bound, and had not waited")
                self.assertEqual({what.remaining for _, what in facts.all("all_gone")}, {0})
                rows = [row for row in claim["tree"] if row["mode"] == "strict"]
                self.assertEqual([row["ended_by"] for row in rows], ["step"] * 3)
                self.assertTrue(all(row["survived_ms"] < 2000 for row in rows), rows)
                self.assertEqual((place.done.code, failing(claim)), (0, UNCONFINED), place.done)
                self.assertEqual(hostile.verified(place.bundle)[0], 0)

    def test_a_recorder_that_was_started_with_ended_children_ignored_sees_them_end(self):
        place = PLACES["children-ignored"]
        self.assertEqual((place.done.code, failing(claim_of(place.bundle))), (0, UNCONFINED), place.done)
        self.assertEqual(facts_of(place.bundle).one("run_exit", ("children", "strict"))[1].exit_status, 0)


class Words(unittest.TestCase):
    def test_of_an_argv_that_is_larger_than_an_event_the_beginning_is_kept(self):
        place = PLACES["big-argv"]
        self.assertEqual((place.done.code, failing(claim_of(place.bundle))), (0, UNCONFINED), place.done)
        facts = facts_of(place.bundle)
        for mode in ("baseline", "strict"):
            seen = [what for _, what in facts.all("process_identity", ("big", mode)) if list(what.argv)[:3] ==
                    [b"/bin/sh", b"-c", b"sleep 0.3"]]
            for what in seen:
                self.assertEqual(sum(len(word) + 1 for word in what.argv), 256 * 1024 + 1)
            if hostile.name_of(facts.start, "process_observer") == "SOURCE_PROCESS_EVENTS":
                self.assertGreater(len(seen), 0)  # a child may be seen before it executes something else


class Names(unittest.TestCase):
    """Names that are no text, with a newline and quotes: unchanged to the byte."""

    def setUp(self):
        self.place = PLACES["names"]
        self.facts = facts_of(self.place.bundle)
        self.work = self.facts.start.work_dir

    def test_the_recording_is_like_any_other(self):
        claim = claim_of(self.place.bundle)
        self.assertEqual((self.place.done.code, failing(claim)), (0, UNCONFINED), self.place.done)
        for mode in ("baseline", "strict"):
            self.assertEqual(set(met(claim, mode).values()), {True})
        self.assertEqual(hostile.verified(self.place.bundle)[0], 0)

    def test_the_work_folder_and_the_folder_that_commands_start_in(self):
        self.assertEqual(os.path.dirname(self.work), os.path.realpath(self.place.odd) + b"/work")
        for mode in ("baseline", "strict"):
            start = self.facts.one("run_start", ("pwd", mode))[1]
            self.assertEqual(start.cwd, self.work + b"/box/workspace")
            self.assertEqual(self.facts.bytes(("pwd", mode), "stdout"), start.cwd)

    def test_the_program_and_the_launcher(self):
        program = self.place.odd + b"/program" + ODD
        for mode in ("baseline", "strict"):
            self.assertEqual(list(self.facts.one("run_start", ("program", mode))[1].command), [program, b"0.4"])
        launcher = [binary.path for binary in self.facts.start.binaries if binary.name == "launcher"]
        self.assertEqual(launcher, [self.place.odd + b"/launcher" + ODD])
        self.assertEqual(list(self.facts.start.launcher), [self.place.odd + b"/launcher" + ODD, b"{command}"])

    def test_the_files_of_the_workspace_and_those_that_are_left(self):
        freezes = [what for _, what in self.facts.all("freeze") if what.input == "workspace"]
        for what in freezes:
            files = [entry.path for entry in self.facts.bundle.freeze_list(what.list_sha256)]
            self.assertIn(ODD + b"/" + ODD, files)
        for mode in ("baseline", "strict"):
            left = self.facts.artifacts(("leaves", mode))
            self.assertEqual((left[ODD].kept, left[ODD].sha256), (True, hashlib.sha256(ODD).digest()))

    def test_an_executable_is_told_by_its_path(self):
        if hostile.name_of(self.facts.start, "process_observer") != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events here")
        for mode in ("baseline", "strict"):
            seen = {what.executable for _, what in self.facts.all("process_identity", ("program", mode))}
            self.assertIn(self.place.odd + b"/program" + ODD, seen)


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
