#!/usr/bin/python3
"""A recorder that is killed, or whose disk fails, at each step of writing, or that gets no descriptor where it makes one:
usage: crash.py BUILD SOURCE [all]

Without "all" some of the faults are tried: each kind of kill at one in four steps, the others at one in seven, and
each kind at least once in each call.

After each fault there is no bundle, a whole one, or a file that says partial, of which salvage makes an INCOMPLETE one
with all that had been written; and the next recording removes what a killed one left.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

import zstandard

import fourth
import hostile
from hostile import BUILD, Place, shell
from records import Bundle

ALL = sys.argv[3:] == ["all"]
FAULT = str(BUILD / "lib" / "libfault.so")
KILLS = ("kill-before", "kill-half", "kill-after")
ERRORS = ("ENOSPC", "EIO")
HARMLESS = ("EINTR", "short")
WRITTEN = KILLS + ERRORS + HARMLESS
WHOLE = ("kill-before", "kill-after", *ERRORS, "EINTR")  # of what cannot be done by half
SPOOLED = (*WRITTEN, "EINVAL")  # what splice(2) says where it cannot: then bytes are copied
# The kinds of faults that each call can have, and the file in which it is then.
PARTIAL = r"\.it\.exhibit\.partial-\w+"
MADE = ("pipe", "pidfd", "socket", "epoll", "inotify", "signalfd")  # descriptors of no file
# Without one of these a recording may do with less: with snapshots, with what it could see of a folder.
DONE_WITHOUT = ("socket", "inotify", "openat2")
HEAP_LEFT = "tmp"  # where large tables are spilled: without that they stay in the heap
CALLS = {"pack": {"write": (WRITTEN, PARTIAL), "fsync": (WHOLE, PARTIAL), "rename": (WHOLE, PARTIAL),
                  "fsync-folder": (WHOLE, r"worker-\d")},
         "spool": {"splice": (SPOOLED, r"#\d+|spool-\w+")}, "move": {"move": (SPOOLED, r"pipe:\[\d+\]")},
         "descriptor": {"open-pack": (("EMFILE",), PARTIAL), "open-spool": (("EMFILE",), rf"exhibit-\w+|{HEAP_LEFT}"),
                        "openat2": (("EMFILE",), r".+"), **{call: (("EMFILE",), "-") for call in MADE}}}
CASES = {f"case-{i}": (shell(f"echo {i}; echo kept > {{scratch}}/left-{i}"), {"exit": 0}) for i in range(3)}
# Its blocks are written while it runs: the more of them, the more steps. What it says in one mode is enough.
CASES["large"] = (shell(f'[ -z "$STRICT" ] || head -c {64000000 if ALL else 13000000} /dev/urandom'), {"exit": 0})
INPUTS = {"large": 9000000, "one": 3000000, "two": 3000000}
PIECE = 65536  # of a file that is read without our programs
PROGRAM = {name: BUILD / "bin" / f"exhibit-{name}" for name in ("record", "verify", "replay")}


def whole_groups(content):
    """Where the whole groups of a file end, and the digests that their journals list by part; without our programs."""
    at = end = 24
    listed = {1: set(), 2: set()}
    while content[at:at + 4] == struct.pack("<I", 0x184D2A51) and len(content) >= at + 16:
        part, count = struct.unpack_from("<II", content, at + 8)
        digests = {content[at + 16 + 40 * i:][:32] for i in range(count)}
        at += 16 + 40 * count
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            while not frame.eof and at < len(content):
                frame.decompress(content[at:at + PIECE])
                at += PIECE
        except zstandard.ZstdError:
            break
        if not frame.eof:
            break
        at = end = min(at, len(content)) - len(frame.unused_data)
        listed[part] |= digests
    return end, listed


def inputs():
    """A folder that is retained in several groups of its own, and with a file that is larger than a block."""
    folder = hostile.ROOT / "noise"
    if not folder.exists():
        folder.mkdir()
        for name, size in INPUTS.items():
            (folder / name).write_bytes(random.Random(name).randbytes(size))
    return folder


class Worker:
    """Makes recordings in a folder of its own, one after the other, each with a fault; keeps what went otherwise."""

    def __init__(self, name):
        self.place = Place(name, CASES, candidate=hostile.STRICT, inputs=[{"name": "noise", "path": str(inputs())}])
        self.wrong, self.left_work, self.landed = [], False, set()
        self.count = {"faults": 0, "kills": 0, "salvaged": 0, "objects": 0}

    def want(self, right, text):
        if not right:
            self.wrong.append(f"{self.at}: {text}")

    def run(self, step, kind, of):
        log = self.place.folder / "steps"
        log.unlink(missing_ok=True)
        fault = {"FAULT": f"{step}:{kind}", "FAULT_OF": of, "FAULT_LOG": str(log), "LD_PRELOAD": FAULT,
                 "ASAN_OPTIONS": "verify_asan_link_order=0"}
        done = self.place.record(env={"PATH": os.environ["PATH"], **fault})
        return done, log.read_text().splitlines() if log.exists() else []

    def partials(self):
        return list(self.place.folder.glob(".it.exhibit.partial-*"))

    def tell(self, program, *words):
        return subprocess.run([PROGRAM[program], *words], capture_output=True, text=True, timeout=60)

    def salvage(self, partial):
        out = self.place.folder / "salvaged.exhibit"
        content = partial.read_bytes()
        end, listed = whole_groups(content)
        finished = content.endswith(b"EXHIBEND")
        told = self.tell("verify", partial)
        if finished:
            self.want(told.returncode == 3, f"verify of the finished file exits {told.returncode}: {told.stderr}")
            return
        self.want(told.returncode == 1 and ("salvage" in told.stdout + told.stderr or len(content) < 24),
                  f"verify of the partial file exits {told.returncode}: {told.stdout}{told.stderr}")
        made = self.tell("record", "salvage", partial, "-o", out)
        if made.returncode == 1:
            self.want("before the recording had begun" in made.stderr or "not a pack" in made.stderr, made.stderr)
            self.want(end <= 24, "something could have been salvaged")
            return
        self.want(made.returncode == 3, f"salvage exits {made.returncode}: {made.stderr}")
        self.want(f"from {end} of {len(content)} bytes" in made.stdout, f"salvage says {made.stdout}")
        for program in ("verify", "replay"):
            told = self.tell(program, out)
            self.want(told.returncode == 3 and "decision: INCOMPLETE" in told.stdout,
                      f"{program} of the salvaged file exits {told.returncode}: {told.stdout[-500:]}{told.stderr}")
        claim = json.loads(self.tell("replay", out, "--json").stdout)
        wrong = fourth.differences(out, claim)
        self.want(not wrong, f"the fourth judge of the salvaged file: {wrong[:3]}")
        pack = Bundle(out).pack
        for part, digests in listed.items():
            lost = digests - set(pack.parts[part].objects)
            self.want(not lost, f"salvage lost {len(lost)} of {len(digests)} objects of part {part}")
            self.count["objects"] += len(digests)
        pack.close()
        out.unlink(missing_ok=True)
        self.count["salvaged"] += 1

    def ends(self, kind, call, name):
        """Whether a fault of this kind in this call on this file ends the recording."""
        if name == HEAP_LEFT:
            return False
        if kind in HARMLESS:
            return kind == "EINTR" and call not in ("write", "splice", "move")
        return kind != "EINVAL" or call == "move"

    def try_fault(self, step, kind, of):
        self.at, bundle = f"{kind} at step {step} of {of}", self.place.bundle
        done, log = self.run(step, kind, of)
        self.count["faults"] += 1
        self.count["kills"] += kind in KILLS
        landed = [line for line in log if line.split()[3:] == [kind]]
        self.want(len(landed) == 1 and landed[0].startswith(f"{step} "), f"the fault did not land: {log[-2:]}")
        for _, call, name, _ in map(str.split, landed):
            self.want(re.fullmatch(CALLS[of][call][1], name), f"it landed in {name}")
            self.landed.add((of, call, kind))
            later = [line.split()[1:] for line in log[step:]]
            if kind in HARMLESS and call == "write":  # the rest of it follows, or it comes again
                self.want(later[:1] == [[call, name]], f"after it came {later[:1]}")
            if call in ("splice", "move") and kind in HARMLESS:  # somewhere after it: there are two threads
                self.want(any(line[0] == call for line in later), f"after it came {later[:9]}")
            if kind == "EINVAL" and call == "splice" and step == 1:  # of others the pipe may be empty
                self.want(["write", name] in later, f"after it came {later[:9]}")
        if self.left_work:
            self.want("that was killed had left" in done.err, f"nothing was cleaned: {done.err}")
        self.left_work = kind in KILLS
        if kind in KILLS:
            self.want(done.code == -9, f"exit {done.code}")
            self.want(log[-1:] == landed or of == "spool", "it went on after the kill")  # of two threads
        elif landed and (done.code == 5 if landed[0].split()[1] in DONE_WITHOUT
                         else self.ends(kind, *landed[0].split()[1:3])):
            lines = [line for line in done.err.splitlines() if "had left" not in line]
            self.want(done.code == 5 and len(lines) == 1, f"exit {done.code}: {done.err}")
            self.want(not bundle.exists() and not self.partials(), "it left a file")
        else:
            self.want(done.code == 3 and bundle.exists(), f"exit {done.code}: {done.err}")
        self.want(not (bundle.exists() and self.partials()), "there is a bundle and a partial file")
        for partial in self.partials():
            self.salvage(partial)
            partial.unlink()
        if bundle.exists():
            told = self.tell("verify", bundle)
            self.want(told.returncode == 3, f"verify of the bundle exits {told.returncode}: {told.stderr}")
            wrong = fourth.differs_from_recorded(bundle)
            self.want(not wrong, f"the fourth judge of the bundle: {wrong[:3]}")
            bundle.unlink()

    def end(self):
        """One more recording leaves nothing."""
        done = self.place.record()
        self.at = "at last"
        self.want(done.code == 3, f"exit {done.code}: {done.err}")
        self.want(not list((self.place.folder / "work").iterdir()), "a work folder stays")
        return self


class Crash(unittest.TestCase):
    def steps(self, of):
        """Which steps each call is, without a fault."""
        worker = Worker(f"count-{of}")
        done, log = worker.run(0, "", of)
        self.assertEqual(done.code, 3, done.err)
        self.assertEqual({line.split()[1] for line in log}, set(CALLS[of]))
        return {call: [step for step, line in enumerate(log, 1) if line.split()[1] == call] for call in CALLS[of]}

    def faults(self, of, steps):
        """All faults at these steps of each call, or a share of each kind: the next one's at other steps."""
        for call, (kinds, _) in CALLS[of].items():
            for number, kind in enumerate(kinds):
                # No multiple of 3: the writes are of a head, of entries, of a frame, over and over.
                share = 4 if kind in KILLS else 7
                chosen = steps[call] if ALL else steps[call][number % share::share] or steps[call][:1]
                yield from ((step, kind, of) for step in chosen)

    def test_a_fault_at_each_step_leaves_a_whole_bundle_a_partial_one_or_none(self):
        steps = {of: self.steps(of) for of in CALLS}
        self.assertGreater(sum(map(len, steps["spool"].values())), 6)
        faults = [*self.faults("pack", steps["pack"]), *self.faults("descriptor", steps["descriptor"])]
        # By two threads, as it comes: how many there are is another number each time.
        faults += [(step, kind, of) for of in ("spool", "move") for step in ((1, 2, 3) if ALL else (1, 2))
                   for kind in SPOOLED]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            def work(number):
                worker = Worker(f"worker-{number}")
                for fault in faults[number::3]:
                    worker.try_fault(*fault)
                return worker.end()
            workers = list(pool.map(work, range(3)))
        wrong = [text for worker in workers for text in worker.wrong]
        self.assertEqual(wrong, [], "\n".join(wrong[:20]))
        told = {name: sum(worker.count[name] for worker in workers) for name in workers[0].count}
        print(f"{len(faults)} faults: {told}", file=sys.stderr)
        self.assertEqual(set().union(*(worker.landed for worker in workers)),
                         {(of, call, kind) for of in CALLS for call in CALLS[of] for kind in CALLS[of][call][0]})
        self.assertGreaterEqual(told["faults"], 400 if ALL else 70)
        self.assertGreaterEqual(told["kills"], 200 if ALL else 30)
        self.assertGreater(told["salvaged"], 40 if ALL else 10)
        self.assertGreater(told["objects"], 10 * told["salvaged"])
        self.assertEqual(hostile.leftovers(), [])

    def test_the_next_recording_ends_what_a_killed_one_had_started(self):
        place = Place("orphan", {"sleeper": (shell("sleep 300"), {"exit": 0})})
        first = place.start()
        deadline = 100
        while not any("sleep 300" in argv for argv in hostile.processes().values()) and deadline:
            deadline -= 1
            time.sleep(0.05)
        first.kill()
        first.communicate()
        self.assertTrue(any("sleep 300" in argv for argv in hostile.processes().values()))
        if hostile.GROUP:
            self.assertTrue([path for path in hostile.GROUP.iterdir() if path.is_dir()])
        other = Place("orphan-next", {"quick": (shell("true"), {"exit": 0})})
        done = other.record([*other.words()[:5], "--work", place.folder / "work"])
        self.assertEqual(done.code, 3, done.err)
        self.assertRegex(done.err, r"removed .*/exhibit-\w+, which a recording or check that was killed had left")
        if hostile.GROUP:
            self.assertRegex(done.err, r"ended the processes that a recording that was killed had left in the control group "
                                       r"exhibit-[0-9a-f]{16}-\d+\n")
        self.assertFalse(any("sleep 300" in argv for argv in hostile.processes().values()))
        self.assertNotIn("still runs", done.err)
        if hostile.GROUP:
            self.assertEqual([path.name for path in hostile.GROUP.iterdir() if path.is_dir()], [])
        again = other.record([*other.words()[:3], "-o", place.bundle, "--work", place.folder / "work"])
        self.assertEqual(again.code, 3, again.err)
        self.assertRegex(again.err, r"\.it\.exhibit\.partial-\w+: left by a call that was killed; if it was a recording")

    def test_the_next_recording_removes_the_folder_of_one_that_was_killed_while_it_made_it(self):
        worker = Worker("early")
        for step, tools in ((1, []), (2, ["exhibit-probe"])):
            done, log = worker.run(step, "kill-before", "tools")
            self.assertEqual((done.code, len(log)), (-9, step), done.err)
            (work,) = (worker.place.folder / "work").iterdir()
            self.assertEqual([path.name for path in (work / "box" / "tools").iterdir()], tools)
            other = Place(f"early-next-{step}", {"quick": (shell("true"), {"exit": 0})})
            done = other.record([*other.words()[:5], "--work", work.parent])
            self.assertEqual((done.code, done.err), (3, f"exhibit-record: removed {work}, which a recording or check "
                                                        "that was killed had left\n"))
            self.assertEqual(list(work.parent.iterdir()), [])

    def test_the_next_recording_removes_a_folder_that_was_not_marked_yet_once_it_is_old(self):
        place = Place("unmarked", {"quick": (shell("true"), {"exit": 0})})
        work, gone, kept = place.folder / "work", [], []
        for name, files, seconds, mode in (("exhibit-aaaaaa", ["owner.new"], 200, 0o700), ("exhibit-bbbbbb", [], 200, 0o700),
                                           ("exhibit-cccccc", ["owner.new"], 0, 0o700),
                                           ("exhibit-dddddd", ["owner.new", "mine"], 200, 0o700),
                                           ("exhibit-eeeeee", [], 200, 0o755), ("exhibit-of-mine", [], 200, 0o700)):
            (work / name).mkdir(mode=mode)
            for file in files:
                (work / name / file).write_text("exhibit-")
            os.utime(work / name, (time.time() - seconds,) * 2)
            (gone if name[-1] in "ab" else kept).append(name)
        done = place.record()
        self.assertEqual(done.code, 3, done.err)
        self.assertEqual(sorted(path.name for path in work.iterdir()), kept)
        self.assertEqual(sorted(done.err.splitlines()), [f"exhibit-record: removed {work / name}, which a recording or check "
                                                         "that was killed had left" for name in gone])
        self.assertEqual({path.name for path in (work / "exhibit-dddddd").iterdir()}, {"owner.new", "mine"})
        shutil.rmtree(work)
        work.mkdir()

    def test_the_next_recording_names_the_processes_that_no_control_group_had_and_leaves_them_alone(self):
        lines = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        points = [words[4] for words in lines if words[words.index("-") + 1] == "cgroup2"]
        hide = " && ".join(f"umount -l {point}" for point in points) or "true"
        place = Place("alone", {"sleeper": (shell("sleep 302"), {"exit": 0})})
        first = place.start(before=["unshare", "-m", "sh", "-c", f'{hide}; exec "$@"', "--"])
        deadline, left = time.monotonic() + 10, []
        while not any(argv.startswith("sleep 302") for argv in hostile.processes().values()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        first.kill()
        first.communicate()
        left = [pid for pid, argv in hostile.processes().items() if "sleep 302" in argv]
        stranger = subprocess.Popen(["sleep", "303"], cwd=place.folder)
        try:
            other = Place("alone-next", {"quick": (shell("true"), {"exit": 0})})
            done = other.record([*other.words()[:5], "--work", place.folder / "work"])
            self.assertEqual(done.code, 3, done.err)
            told = re.findall(r"process (\d+), which a recording or check that was killed had left in "
                              r"\S+/exhibit-\w{6}, still ", done.err)
            self.assertEqual(sorted(map(int, told)), sorted(left))
            self.assertGreater(len(left), 0)
            self.assertEqual([pid for pid, argv in hostile.processes().items() if "sleep 302" in argv], left)
            self.assertEqual(list((place.folder / "work").iterdir()), [])
        finally:
            stranger.kill()
            stranger.wait()
            for pid in left:
                os.kill(pid, signal.SIGKILL)

    def test_a_recording_at_work_is_not_taken_for_one_that_was_killed(self):
        place = Place("at-work", {"sleeper": (shell("sleep 2"), {"exit": 0})})
        first = place.start()
        other = Place("beside", {"quick": (shell("true"), {"exit": 0})})
        while not list((place.folder / "work").glob("exhibit-*/owner")):
            time.sleep(0.02)
        done = other.record([*other.words()[:5], "--work", place.folder / "work"])
        self.assertEqual((done.code, done.err), (3, ""))
        _, err = first.communicate(timeout=60)
        self.assertEqual((first.returncode, err), (3, b""))

    def kept_runs(self, place):
        """How many runs have ended as the file says that the recorder is writing now."""
        copy, out = place.folder / "copy", place.folder / "salvaged.exhibit"
        out.unlink(missing_ok=True)
        for partial in place.folder.glob(".it.exhibit.partial-*"):
            copy.write_bytes(partial.read_bytes())
        if subprocess.run([PROGRAM["record"], "salvage", copy, "-o", out], capture_output=True).returncode != 3:
            return 0
        salvaged = Bundle(out)
        salvaged.pack.close()
        return sum(1 for _ in salvaged.of("run_exit"))

    def test_what_came_before_a_long_case_is_kept_while_it_goes_on(self):
        """The first case ends too soon after a flush for one at its own end."""
        place = Place("long", {"quick": (shell("true"), {"exit": 0}),
                               "sleeper": (shell("exec sleep 304", watchdog_ms=300000), {"exit": 0})})
        process = place.start()
        deadline = time.monotonic() + 60
        try:
            while not list(place.folder.glob(".it.exhibit.partial-*")) or self.kept_runs(place) < 1:
                self.assertLess(time.monotonic(), deadline, "the first case's end is not in the file")
                time.sleep(0.5)
            self.assertTrue(any("sleep 304" in argv for argv in hostile.processes().values()))
        finally:
            process.kill()
            process.communicate()
            other = Place("long-next", {"quick": (shell("true"), {"exit": 0})})
            done = other.record([*other.words()[:5], "--work", place.folder / "work"])
        self.assertEqual(done.code, 3, done.err)

    def test_what_a_subject_prints_is_not_taken_for_the_log(self):
        """A case prints the very log of another recording, which becomes an object of its own."""
        other = Place("source", {"quick": (shell("true"), {"exit": 0})})
        other.record()
        theirs = Bundle(other.bundle)
        segments = [theirs.pack.read(segment.sha256, 1 << 20) for segment in theirs.receipt.events.segments]
        forge = []
        for number, segment in enumerate(segments):
            path = other.folder / f"segment-{number}"
            path.write_bytes(segment)
            forge.append((f"forge-{number}", (shell(f"cat {path}"), {"exit": 0})))
        place = Place("forger", dict([*forge, ("push", (shell("head -c 9000000 /dev/urandom"), {"exit": 0})),
                                      ("wait", (shell("exec sleep 301"), {"exit": 0}))]))
        process = place.start()
        while not any("sleep 301" in argv for argv in hostile.processes().values()):
            time.sleep(0.05)
        process.kill()
        process.communicate()
        (partial,) = place.folder.glob(".it.exhibit.partial-*")
        out = place.folder / "salvaged.exhibit"
        made = subprocess.run([PROGRAM["record"], "salvage", partial, "-o", out], capture_output=True, text=True)
        self.assertEqual(made.returncode, 3, made.stderr)
        ours = Bundle(out)
        self.assertLessEqual({hashlib.sha256(segment).digest() for segment in segments},
                             set(ours.pack.parts[1].objects), "the forged objects were not yet written")
        self.assertNotEqual(ours.start.run_id, theirs.start.run_id)
        self.assertTrue(ours.start.plan_sha256 == hashlib.sha256((place.folder / "plan.yaml").read_bytes()).digest())
        told = subprocess.run([PROGRAM["verify"], out], capture_output=True, text=True)
        self.assertEqual(told.returncode, 3, told.stdout + told.stderr)

    def test_salvage_refuses_what_it_cannot_use(self):
        place = Place("refusals", {"quick": (shell("true"), {"exit": 0})})
        place.record()
        (place.folder / "text").write_text("no pack at all, but long enough to have a header\n")
        out = place.folder / "out.exhibit"
        cut = bytearray(place.bundle.read_bytes()[:-1])
        cut[30] ^= 1
        (place.folder / "cut").write_bytes(cut)
        for words, code, text in (([place.bundle, "-o", out], 2, "a finished bundle: there is nothing to salvage"),
                                  ([place.folder / "text", "-o", out], 1, "no header of a pack"),
                                  ([place.folder / "cut", "-o", out], 1, "its first 24 bytes: it ended before the recording "
                                                                         "had begun, or is damaged behind them"),
                                  ([place.folder / "missing", "-o", out], 2, "No such file"),
                                  ([place.folder / "text", "-o", place.bundle], 2, "exists"),
                                  ([place.folder / "text"], 2, "where should the evidence go?"),
                                  ([place.folder / "text", "-o", out, "--work", "/tmp"], 2, "takes no option but -o")):
            done = subprocess.run([PROGRAM["record"], "salvage", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn(text, done.stderr)
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
