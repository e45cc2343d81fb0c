#!/usr/bin/env python3
"""Awkward machines: namespaces, an ordinary user, no control groups, full disks, small limits, and the end of the
recorder itself.

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
from hostile import (AS_USER, FOR_TREE, GROUP, NO_GROUPS, ROOT, TREE, USER, Place, claim_of, facts_of, failing, for_user,
                     inside, met, shell)

LANDLOCK = {"use": "landlock"}
NO_GO = ["cancel.ended", "cancel.quiet"]  # what landlock alone does not hold, on any machine
FINE = {"fine": ({"command": ["{tools}/exhibit-probe", "nothing"]}, {"exit": 0})}
# An older kernel, or a container's filter: a process is not born in its control group, but moves itself there; a path is
# opened name by name.
NO_CLONE3 = ["strace", "-qq", "-o", ROOT / "trace", "-e", "trace=clone3,openat2", "-e",
             "inject=clone3,openat2:error=ENOSYS"]
NOISE = {"noise": (shell("head -c 8000000 /dev/urandom"), {"exit": 0})}


def tree(name, **more):
    return Place(name, FINE, TREE, FOR_TREE, LANDLOCK, **more)


def lo_up():
    """Words of Python that bring the loopback up, where there may be no program for it."""
    return ("import fcntl,os,socket,struct,sys;s=socket.socket();"
            "fcntl.ioctl(s,0x8914,struct.pack('16sH14x',b'lo',1|64));s.close();os.execvp(sys.argv[1],sys.argv[1:])")


NO_NETWORK = ["unshare", "--net", "/usr/bin/python3", "-c", lo_up()]


def few_processes():
    """A control group in which there is room for four processes; None where the machine gives none."""
    group = pathlib.Path("/sys/fs/cgroup/pids") / ROOT.name
    try:
        group.mkdir()
        (group / "pids.max").write_text("4")
    except OSError:
        return None
    return group


def listening(pid):
    """The protocols and addresses at which a process listens, as /proc/net has them."""
    links = [os.readlink(path) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    found = set()
    for protocol, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        rows = [line.split() for line in pathlib.Path(f"/proc/{pid}/net/{protocol}").read_text().splitlines()[1:]]
        found |= {(protocol, row[1].partition(":")[0]) for row in rows if row[9] in inodes and row[3] == state}
    return found


def setUpModule():
    global PLACES, PIDS
    PIDS = few_processes()
    PLACES = {name: tree(name) for name in ("plain", "pid-namespace", "net-namespace", "net-namespace-no-bpf", "user",
                                           "no-control-group", "few-processes")}
    PLACES["no-clone3"] = tree("no-clone3", workspace="w")
    deep = PLACES["no-clone3"].folder / "w" / "folder" / "another"
    deep.mkdir(parents=True)
    (deep / "file").write_text("far below\n")
    hostile.record_all([
        PLACES["plain"],
        (PLACES["pid-namespace"], {"before": ["unshare", "--pid", "--fork", "--mount-proc"]}),
        (PLACES["net-namespace"], {"before": NO_NETWORK}),
        (PLACES["net-namespace-no-bpf"], {"before": NO_NETWORK, "env": hostile.odd(ODD_NO_BPF="1")}),
        (PLACES["user"], {"before": AS_USER, "words": for_user(PLACES["user"])}),
        (PLACES["no-control-group"], {"before": NO_GROUPS}),
        (PLACES["no-clone3"], {"before": NO_CLONE3, "env": {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}}),
        (PLACES["few-processes"], {"before": inside(f"echo $$ >{PIDS}/cgroup.procs" if PIDS else ":")}),
    ])


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

    def test_in_a_network_namespace_of_our_own_programs_in_the_kernel_tell_the_events(self):
        start = self.decides("net-namespace")
        if not hostile.kernel_takes_programs():
            self.skipTest("the kernel takes no programs from us")
        self.assertEqual((self.source(start), start.process_observer_note), ("SOURCE_PROCESS_EVENTS", ""))

    def test_in_a_network_namespace_of_our_own_there_are_no_events_otherwise_and_snapshots_are_used(self):
        start = self.decides("net-namespace-no-bpf")
        self.assertEqual(self.source(start), "SOURCE_SNAPSHOT")
        self.assertRegex(start.process_observer_note, "^the kernel refuses process events: Connection refused$")

    def test_as_an_ordinary_user(self):
        start = self.decides("user")
        self.assertEqual((start.host.uid, start.host.capabilities_effective, start.control_group), (USER, 0, False))
        if self.source(start) == "SOURCE_SNAPSHOT":
            self.assertRegex(start.process_observer_note, "^the kernel refuses process events: ")

    def test_where_no_process_can_be_born_in_a_control_group(self):
        self.assertEqual(self.decides("no-clone3").control_group, GROUP is not None)
        refused = re.findall(r"(?m)^(\w+)\(.*INJECTED", (ROOT / "trace").read_text())
        self.assertLessEqual({"clone3", "openat2"}, set(refused))
        facts = facts_of(PLACES["no-clone3"].bundle)
        self.assertEqual({what.remaining for _, what in facts.all("all_gone")}, {0})
        self.assertIn(b"far below\n", hostile.plain(PLACES["no-clone3"].bundle))

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
        for name in ("pid-namespace", "net-namespace-no-bpf"):
            self.assertIn("snapshots", hostile.run("exhibit-verify", PLACES[name].bundle).stdout)


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

    def test_nobody_beyond_this_machine_can_reach_the_listeners_meanwhile(self):
        process = self.begun(Place("listeners", {}, TREE, FOR_TREE), "exhibit-probe run grandchild")
        found = listening(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(found, {("tcp", "0100007F"), ("udp", "0100007F")})  # 127.0.0.1, and of IPv6 none

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
