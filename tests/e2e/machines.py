#!/usr/bin/env python3
"""Awkward machines: namespaces, an ordinary user, no control groups, storms of processes, full disks, small limits, and
the end of the recorder itself.

usage: machines.py BUILD SOURCE
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import hostile
from hostile import (BOOTSTRAP, FOR_BOOTSTRAP, FOR_TREE, GROUP, ROOT, TREE, Place, claim_of, facts_of, failing, met,
                     shell, subject)

USER = 65534
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]
LANDLOCK = {"use": "landlock"}
NO_GO = ["cancel.ended", "cancel.quiet"]  # what landlock alone does not hold, on any machine
FINE = {"fine": ({"command": ["{tools}/exhibit-probe", "nothing"]}, {"exit": 0})}
NOISE = {"noise": (shell("head -c 8000000 /dev/urandom"), {"exit": 0})}


def forks_of_a_storm():
    """10,000, or fewer where the machine takes long for each: as many as three seconds are enough for."""
    began = time.monotonic()
    subprocess.run([subject("storm"), "200"], check=True, stdout=subprocess.DEVNULL)
    return max(1000, min(10000, int(200 * 3 / (time.monotonic() - began))))


FORKS = forks_of_a_storm()
PROBE = "exhibit-probe run parent"
STORM = {"storm": ({"command": [subject("storm"), str(FORKS)]}, {"exit": 0, "stdout": {"equals": f"{FORKS}\n"}})}


def inside(script):
    """Words of a shell that prepares something and then runs the rest of the words."""
    return ["sh", "-c", script + '; exec "$@"', "--"]


def tree(name, **more):
    return Place(name, FINE, TREE, FOR_TREE, LANDLOCK, **more)


def for_user(place):
    """Gives the place to an ordinary user; the words of a recording with a toolkit that this user can reach."""
    toolkit = ROOT / "toolkit"
    if not toolkit.exists():
        (toolkit / "share" / "exhibit").mkdir(parents=True)
        (toolkit / "bin").mkdir()
        for program in ("exhibit-record", "exhibit-probe", "exhibit-confine", "storm"):
            shutil.copy2(hostile.BUILD / "bin" / program, toolkit / "bin" / program)
        shutil.copytree(hostile.SOURCE / "candidates", toolkit / "share" / "exhibit" / "candidates")
    for path in (place.folder, place.folder / "work"):
        os.chown(path, USER, USER)
    return place.words(program=toolkit / "bin" / "exhibit-record")


def cgroup2_points():
    lines = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    return [words[4] for words in lines if words[words.index("-") + 1] == "cgroup2"]


def lo_up():
    """Words of Python that bring the loopback up, where there may be no program for it."""
    return ("import fcntl,os,socket,struct,sys;s=socket.socket();"
            "fcntl.ioctl(s,0x8914,struct.pack('16sH14x',b'lo',1|64));s.close();os.execvp(sys.argv[1],sys.argv[1:])")


def few_processes():
    """A control group in which there is room for four processes; None where the machine gives none."""
    group = pathlib.Path("/sys/fs/cgroup/pids") / ROOT.name
    try:
        group.mkdir()
        (group / "pids.max").write_text("4")
    except OSError:
        return None
    return group


def setUpModule():
    global PLACES, HELD_UP, PIDS
    PIDS = few_processes()
    launcher = ROOT / "storming"
    launcher.write_text(f'#!/bin/sh\n"$1" {FORKS} >/dev/null &\nshift\nexec "$@"\n')
    launcher.chmod(0o755)
    hides = " && ".join(f"umount -l {point}" for point in cgroup2_points()) or "true"
    hydra = {"hydra": ({"command": [subject("hydra"), "1000"]}, {"exit": 0}),
             "quick-hydra": ({"command": [subject("hydra"), "0"]}, {"exit": 0})}

    def storming(name, program):
        candidate = {"name": "storming", "argv": [str(launcher), program, "{command}"]}
        return Place(name, {}, BOOTSTRAP, FOR_BOOTSTRAP, candidate)

    PLACES = {name: tree(name) for name in ("plain", "pid-namespace", "net-namespace", "user", "no-control-group",
                                           "few-processes")}
    leaderless = {"leaderless": (shell(f"{subject('leaderless')} & sleep 0.3"), {"exit": 0})}
    little = {"env": {**os.environ, "LD_PRELOAD": str(hostile.BUILD / "lib" / "libodd_libc.so"), "ODD_ROOM": "4096",
                      "ASAN_OPTIONS": "verify_asan_link_order=0"}}
    PLACES.update({"little-room-storm": Place("little-room-storm", STORM),
                   "little-room-storm-in-trial": storming("little-room-storm-in-trial", subject("storm"))})
    PLACES.update(hydra=Place("hydra", hydra), leaderless=Place("leaderless", leaderless), storm=Place("storm", STORM),
                  **{"storm-in-trial": storming("storm-in-trial", subject("storm")),
                     "storm-of-user": storming("storm-of-user", str(ROOT / "toolkit" / "bin" / "storm"))})
    hostile.record_all([
        PLACES["plain"],
        (PLACES["pid-namespace"], {"before": ["unshare", "--pid", "--fork", "--mount-proc"]}),
        (PLACES["net-namespace"], {"before": ["unshare", "--net", "/usr/bin/python3", "-c", lo_up()]}),
        (PLACES["user"], {"before": AS_USER, "words": for_user(PLACES["user"])}),
        (PLACES["no-control-group"], {"before": ["unshare", "-m", *inside(hides)]}),
        (PLACES["hydra"], {"before": ["unshare", "-m", *inside(hides)]}),
        (PLACES["leaderless"], {"before": ["unshare", "-m", *inside(hides)],
                                "words": PLACES["leaderless"].words("--snapshots")}),
        (PLACES["few-processes"], {"before": inside(f"echo $$ >{PIDS}/cgroup.procs" if PIDS else ":")}),
    ], 8)
    hostile.record_all([PLACES["storm"], PLACES["storm-in-trial"]], 1)
    held_up(PLACES["little-room-storm"], f"storm {FORKS}", **little)
    held_up(PLACES["little-room-storm-in-trial"], PROBE, **little)
    HELD_UP = held_up(PLACES["storm-of-user"], PROBE, for_user(PLACES["storm-of-user"]), AS_USER)


def held_up(place, beside, words=None, before=(), **more):
    """Makes a recording, stopped for a while when a storm rages beside another process. Returns whether it was."""
    process = place.start(words, before, **more)
    held = False
    while process.poll() is None and not held:
        found = " ".join(hostile.processes().values())
        held = f"storm {FORKS}" in found and beside in found
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.7)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    place.done = hostile.Done(process.returncode, out.decode(), err.decode(), 0, place.bundle)
    return held


def tearDownModule():
    if PIDS:
        PIDS.rmdir()
    found = hostile.leftovers()
    assert not found, found


class Decisions(unittest.TestCase):
    """The decision is the same wherever it is measured, or the receipt says what could not be."""

    def decides(self, name):
        place = PLACES[name]
        claim = claim_of(place.bundle)
        self.assertEqual(failing(claim), NO_GO, [rule["detail"] for rule in claim["rules"]])
        self.assertEqual(place.done.code, 0, place.done)
        self.assertEqual(hostile.verified(place.bundle)[0], 0)
        return facts_of(place.bundle).start

    def source(self, start):
        return hostile.name_of(start, "process_observer")

    def test_on_a_plain_machine(self):
        start = self.decides("plain")
        if os.geteuid() == 0:
            self.assertEqual((self.source(start), start.process_observer_note), ("SOURCE_PROCESS_EVENTS", ""))
        self.assertEqual(start.control_group, GROUP is not None)

    def test_in_a_pid_namespace_of_our_own_events_are_a_strangers_and_snapshots_are_used(self):
        start = self.decides("pid-namespace")
        self.assertEqual(self.source(start), "SOURCE_SNAPSHOT")
        self.assertEqual(start.process_observer_note, "process events do not show this process's own children")

    def test_in_a_network_namespace_of_our_own_there_are_no_events_and_snapshots_are_used(self):
        start = self.decides("net-namespace")
        self.assertEqual(self.source(start), "SOURCE_SNAPSHOT")
        self.assertRegex(start.process_observer_note, "^the kernel refuses process events: Connection refused$")

    def test_as_an_ordinary_user(self):
        start = self.decides("user")
        self.assertEqual((start.host.uid, start.host.capabilities_effective, start.control_group), (USER, 0, False))
        if self.source(start) == "SOURCE_SNAPSHOT":
            self.assertRegex(start.process_observer_note, "^the kernel refuses process events: ")

    def test_without_a_control_group(self):
        self.assertFalse(self.decides("no-control-group").control_group)

    def test_verify_tells_that_there_was_no_control_group_and_what_is_not_measured_then(self):
        for name in ("user", "no-control-group"):
            self.assertRegex(hostile.run("exhibit-verify", PLACES[name].bundle).stdout,
                             "(?m)^control group: none; .* an ending of a whole control group cannot be measured$")
        if GROUP:
            text = hostile.run("exhibit-verify", PLACES["plain"].bundle).stdout
            self.assertIn("\ncontrol group: one for each run\n", text)

    def test_the_receipt_shows_the_snapshots_to_whoever_verifies(self):
        for name in ("pid-namespace", "net-namespace"):
            self.assertIn("snapshots", hostile.run("exhibit-verify", PLACES[name].bundle).stdout)


class Storms(unittest.TestCase):
    def forks(self, facts, run):
        seen = {what.pid for _, what in facts.all("process_fork", run)}
        ended = [what.pid for _, what in facts.all("process_exit", run) if what.exit_status == 3]
        return len(facts.all("process_fork", run)), len(ended), set(ended) <= seen

    def test_what_is_never_there_when_one_looks_is_ended_without_a_control_group_too(self):
        facts = facts_of(PLACES["hydra"].bundle)
        self.assertFalse(facts.start.control_group)
        for name in ("hydra", "quick-hydra"):
            for mode in ("baseline", "strict"):
                self.assertEqual(facts.one("all_gone", (name, mode))[1].remaining, 0, (name, mode))
        self.assertEqual(met(claim_of(PLACES["hydra"].bundle), "strict"), {"hydra": True, "quick-hydra": True})

    def test_a_process_of_which_the_first_thread_has_ended_is_seen_and_ended_by_snapshots_alone(self):
        facts = facts_of(PLACES["leaderless"].bundle)
        self.assertFalse(facts.start.control_group)
        for mode in ("baseline", "strict"):
            run = ("leaderless", mode)
            self.assertEqual(hostile.name_of(facts.one("cleanup", run)[1], "reason"), "REASON_LEFTOVER")
            self.assertEqual(facts.one("all_gone", run)[1].remaining, 0)

    def test_of_thousands_of_forks_in_a_case_none_is_missed_or_the_loss_is_told(self):
        facts = facts_of(PLACES["storm"].bundle)
        self.assertEqual(set(met(claim_of(PLACES["storm"].bundle), "strict").values()), {True})
        if hostile.name_of(facts.start, "process_observer") != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events here")
        for mode in ("baseline", "strict"):
            self.case_told_or_whole(facts, mode)

    def case_told_or_whole(self, facts, mode):
        """Where none was told to be lost, none is missing. Returns how many were (at least)."""
        forks, ended, fit = self.forks(facts, ("storm", mode))
        told = sum(what.count for _, what in facts.all("lost", ("storm", mode)))
        if told == 0:
            self.assertEqual((forks, ended, fit), (FORKS + 1, FORKS, True))
        return told

    def test_what_a_socket_of_little_room_loses_in_a_case_is_told_and_in_a_trial_makes_the_decision_incomplete(self):
        for name in ("storm", "storm-in-trial"):
            place = PLACES[f"little-room-{name}"]
            facts, claim = facts_of(place.bundle), claim_of(place.bundle)
            if hostile.name_of(facts.start, "process_observer") != "SOURCE_PROCESS_EVENTS":
                self.skipTest("no process events here")
            if name == "storm":
                lost = [self.case_told_or_whole(facts, mode) for mode in ("baseline", "strict")]
                self.assertGreater(sum(lost), 0)  # it was held up in the first at least
                self.assertEqual(set(met(claim, "strict").values()), {True})
            else:
                self.assertTrue(facts.all("lost", ("bootstrap", "strict")))
                self.assertEqual(self.told_or_whole(place), "told")
                self.assertEqual(place.done.out.splitlines()[-1], "decision: INCOMPLETE")

    def told_or_whole(self, place):
        facts, claim = facts_of(place.bundle), claim_of(place.bundle)
        run = ("bootstrap", "strict")
        if facts.all("lost", run):
            self.assertEqual(place.done.code, 3, place.done)
            self.assertIn("complete.observers", failing(claim))
            self.assertEqual(hostile.verified(place.bundle)[0], 3)
            return "told"
        self.assertEqual(place.done.code, 0, place.done)
        forks, ended, fit = self.forks(facts, run)
        self.assertTrue(forks > FORKS and ended == FORKS and fit, (forks, ended, fit))
        return "whole"

    def test_of_thousands_of_forks_beside_a_probe_none_is_missed_or_the_decision_is_incomplete(self):
        place = PLACES["storm-in-trial"]
        if hostile.name_of(facts_of(place.bundle).start, "process_observer") != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events here")
        self.told_or_whole(place)

    def test_a_user_whose_recorder_is_held_up_misses_none_or_the_decision_is_incomplete(self):
        place = PLACES["storm-of-user"]
        if hostile.name_of(facts_of(place.bundle).start, "process_observer") != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events for users here")
        self.assertTrue(HELD_UP, "the recorder was held up while the storm was beside the probe")
        self.told_or_whole(place)  # a slow storm may be over before, or slower than the reader: then nothing was lost


class Limits(unittest.TestCase):
    """What the machine has not enough of is one clear line and exit 5; nothing is left."""

    def refused(self, place, text, before=(), words=None):
        done = place.record(before=before, words=words)
        self.assertEqual((done.code, done.err.count("\n")), (5, 1), done)
        self.assertRegex(done.err, "^exhibit-record: .*" + text)
        self.assertEqual([path.name for path in place.folder.iterdir() if "exhibit" in path.name], [])
        self.assertEqual(list((place.folder / "work").iterdir()), [])
        self.assertEqual(hostile.leftovers(), [])
        return done

    def small(self, folder, size):
        return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size={size} none {folder} || exit 99; "$@"; code=$?; '
                f'ls -A {folder}; exit $code', "--"]

    def test_a_full_disk_for_the_bundle(self):
        place = Place("full-output", NOISE)
        (place.folder / "out").mkdir()
        place.bundle = place.folder / "out" / "it.exhibit"
        done = self.refused(place, "No space left on device", self.small(place.folder / "out", "1m"))
        self.assertEqual(done.out, "", "a temporary file stays")

    def test_a_full_disk_for_the_copies(self):
        place = Place("full-work", FINE)
        done = self.refused(place, "No space left on device", self.small(place.folder / "work", "64k"))
        self.assertEqual(done.out, "", "something of the work folder stays")

    def test_a_limit_of_file_sizes(self):
        self.refused(Place("file-size", NOISE), "File too large", ["prlimit", "--fsize=2500000:2500000"])

    def test_few_descriptors(self):
        for count in (8, 16, 32, 256, 1023):
            self.refused(Place(f"files-{count}", FINE), f"at most {count} files may be open at once",
                         ["prlimit", f"--nofile={count}:{count}"])

    def test_a_small_soft_limit_of_descriptors_is_raised_for_the_recorder_and_not_for_the_commands(self):
        place = Place("soft", {"limit": (shell("ulimit -Sn; ulimit -Hn"), {"stdout": {"equals": "32\n4096\n"}})})
        done = place.record(before=["prlimit", "--nofile=32:4096"])
        self.assertEqual(done.code, 3, done)
        self.assertEqual(set(met(claim_of(place.bundle), "strict").values()), {True})

    def test_a_full_disk_for_what_a_case_writes(self):
        place = Place("full-spool", {"large": (shell("head -c 20000000 /dev/urandom; sleep 300"), {"exit": 0})})
        copies = sum((hostile.BUILD / "bin" / f"exhibit-{name}").stat().st_size for name in ("probe", "confine"))
        done = self.refused(place, "what waits to be kept: .*No space left on device",
                            self.small(place.folder / "work", str(copies + (6 << 20))))
        self.assertEqual(done.out, "", "something of the work folder stays")

    def test_no_room_for_another_process(self):
        place = Place("processes", FINE)
        self.refused(place, "start a process: Resource temporarily unavailable", [*AS_USER, "prlimit", "--nproc=1:1",
                     "env", "ASAN_OPTIONS=detect_leaks=0"], for_user(place))  # the leak check would start one

    def test_no_room_for_a_whole_tree_is_incomplete(self):
        if not PIDS:
            self.skipTest("no control group that limits processes")
        place = PLACES["few-processes"]
        self.assertEqual(place.done.code, 3, place.done)
        self.assertIn("complete.controls", failing(claim_of(place.bundle)))


class Ended(unittest.TestCase):
    """The recorder is ended while it measures."""

    def begun(self, place, sign, **more):
        """Starts a recording and waits until a process whose argv has `sign` is there."""
        process = place.start(**more)
        deadline = time.monotonic() + 20
        while not [argv for argv in hostile.processes().values() if sign in argv and str(place.folder) in argv]:
            self.assertLess(time.monotonic(), deadline, "nothing began")
            self.assertIsNone(process.poll(), "it ended by itself")
            time.sleep(0.02)
        return process

    def interrupted(self, place, number, sign):
        process = self.begun(place, sign)
        began = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(hostile.leftovers(), [])
        self.assertEqual(process.returncode, 3, err)
        self.assertEqual(err.decode(), f"exhibit-record: interrupted; {place.bundle} says partial\n")
        self.assertEqual(out.decode().splitlines()[-1], "decision: INCOMPLETE")
        code, verdict = hostile.verified(place.bundle)
        self.assertEqual((code, verdict["verdict"]), (3, "verified"))
        facts = facts_of(place.bundle)
        self.assertTrue(facts.bundle.receipt.partial)
        self.assertEqual(facts.all("recording_end"), [])
        self.assertEqual([hostile.name_of(what, "reason") for _, what in facts.all("cleanup")], ["REASON_INTERRUPT"])
        self.assertEqual(facts.all("all_gone")[-1][1].remaining, 0)
        self.assertIn("complete.recording", failing(claim_of(place.bundle)))

    def test_by_ctrl_c_in_the_middle_of_a_trial_of_which_all_is_ended(self):
        self.interrupted(Place("interrupt", {}, TREE, FOR_TREE), signal.SIGINT, "exhibit-probe run grandchild")

    def test_by_term_in_the_middle_of_a_case_with_descendants_elsewhere(self):
        script = "setsid sh -c 'trap \"\" TERM HUP; sleep 301' {scratch}/descendant & sleep 300"
        self.interrupted(Place("term", {"endless": (shell(script), {"exit": 0})}), signal.SIGTERM, "descendant")

    def test_by_hang_up_and_by_quit_as_well(self):
        for name in ("HUP", "QUIT"):
            self.interrupted(Place(f"by-{name.lower()}", {"endless": (shell("sleep 300; : {scratch}"), {"exit": 0})}),
                             getattr(signal, "SIG" + name), "sleep 300;")

    def test_by_kill_after_which_the_probes_end_themselves_and_files_stay_as_described(self):
        place = Place("killed", {}, TREE, FOR_TREE)
        process = self.begun(place, "exhibit-probe run grandchild")
        process.kill()
        process.communicate()
        self.assertTrue(hostile.processes())
        deadline = time.monotonic() + 5
        while hostile.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(hostile.processes(), {})
        self.assertFalse(place.bundle.exists())
        partial = [path for path in place.folder.iterdir()
                   if re.match(r"\.it\.exhibit\.partial-[0-9a-f]{16}$", path.name)]
        self.assertEqual(len(partial), 1)
        self.assertEqual(hostile.run("exhibit-verify", partial[0]).returncode, 1)
        work = list((place.folder / "work").iterdir())
        self.assertEqual([bool(re.match("exhibit-[A-Za-z0-9]{6}$", path.name)) for path in work], [True])
        groups = [path for path in GROUP.iterdir() if path.is_dir()] if GROUP else []
        for path in groups:
            self.assertRegex(path.name, "^exhibit-[0-9a-f]{16}-[0-9]+$")
            path.rmdir()
        shutil.rmtree(work[0])


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
