#!/usr/bin/python3
"""A prune or a recording into a store that is killed, or whose disk fails, at each step; usage:
store_crash.py BUILD SOURCE [all]

Without "all" some of the faults are tried, spread over the steps.

Whatever happens to a prune, every receipt that is kept becomes a bundle that verifies, and another prune comes to the
end. Whatever happens to a recording, the store can be listed, checked and recorded into, and what it left is named and
becomes an INCOMPLETE bundle. The same with contents that stay in the store, beside the packs.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import unittest

import hostile
from crash import DONE_WITHOUT, ERRORS, HARMLESS, KILLS, MADE, whole_groups
from hostile import BUILD, run
from records import Bundle
from stores import INPUTS, Content, Store, judged, wanted

ALL = sys.argv[3:] == ["all"]
FAULT = str(BUILD / "lib" / "libfault.so")
COMMON = {**{f"file-{i}": bytes(f"file {i}\n", "ascii") for i in range(9)}, "one": b"one\n", "two": b"two\n", "empty": b""}
FIRST = {**COMMON, "first": b"the first alone\n"}
SECOND = {**COMMON, "second": b"the second alone\n", "one": b"another one\n"}
THIRD = {"two": b"two\n", "one": b"one\n", "third": b"the third alone\n"}
WORKERS = 3


def plain(name):
    """The name of a file without what is another one each time."""
    return re.sub(r"[0-9a-f]{16,}", "HEX", name)


class Worker:
    """Tries faults in copies of one store, one after the other; keeps what went otherwise."""

    def __init__(self, name, store, receipts):
        self.name, self.source, self.receipts = name, store, receipts
        self.wrong, self.at = [], ""
        self.expected = {}  # by what is counted: call and file of each step, as they were without a fault
        self.count = {"faults": 0, "kills": 0, "exported": 0, "salvaged": 0, "local": 0, "apart": 0, "finished": 0,
                      "forgotten": 0}

    def want(self, right, text):
        if not right:
            self.wrong.append(f"{self.at}: {text}")

    def copy(self, number):
        """The packs are never changed in place: links are copies."""
        store = Store(f"{self.name}-{number}")
        shutil.copytree(self.source.path, store.path, copy_function=os.link)
        for name in ("lock", "exhibit-store"):
            (store.path / name).unlink()
            shutil.copy(self.source.path / name, store.path / name)
        return store

    def end(self, store):
        shutil.rmtree(store.folder)

    def env(self, store, step, kind, of):
        log = store.folder / "steps"
        log.unlink(missing_ok=True)
        self.of = of
        return {"PATH": os.environ["PATH"], "LD_PRELOAD": FAULT, "FAULT": f"{step}:{kind}", "FAULT_OF": of,
                "FAULT_LOG": str(log), "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def landed(self, store, step, kind):
        """Wants the fault to have come where it was meant to; gives the call."""
        log = store.folder / "steps"
        lines = log.read_text().splitlines() if log.exists() else []
        hit = [line for line in lines if line.split()[3:] == [kind]]
        self.want(len(hit) == 1 and hit[0].startswith(f"{step} "), f"the fault did not land: {lines[-2:]}")
        self.steps = [line.split()[1:] for line in lines]
        for _, call, name, _ in map(str.split, hit):
            meant = self.expected[self.of][step - 1]
            self.want((call, plain(name)) == meant, f"it landed in {call} of {name}, not in {meant}")
            if kind in HARMLESS and call == "write":  # the rest of it follows, or it comes again
                self.want(self.steps[step] == [call, name], f"after it came {self.steps[step]}")
        self.want(kind not in KILLS or lines[-1:] == hit, "it went on after the kill")
        self.count["faults"] += 1
        self.count["kills"] += kind in KILLS
        return hit[0].split()[1] if hit else ""

    def expect_exports(self, store, kept):
        for receipt, files in kept.items():
            done, out = store.export(receipt)
            self.want(done.returncode == 0, f"export exits {done.returncode}: {done.stderr}")
            if done.returncode == 0:
                code, verdict = hostile.verified(out)
                self.want(code == 3, f"verify exits {code}: {verdict}")
                self.want(set(Content(out).objects[INPUTS]) == wanted(files), "the bundle has other inputs")
                self.count["exported"] += 1

    # ---- prune

    def prune_fault(self, number, step, kind, of):
        self.at = f"prune, {kind} at step {step} of {of}"
        first, second, third = self.receipts
        store = self.copy(number)
        done = store.prune(first, env=self.env(store, step, kind, of))
        call = self.landed(store, step, kind)
        if kind in KILLS:
            self.want(done.returncode == -9, f"exit {done.returncode}")
        elif kind == "short" or (kind == "EINTR" and call == "write"):
            self.want(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
        else:
            self.want(done.returncode == 5 and done.stderr.count("\n") >= 1, f"exit {done.returncode}: {done.stderr}")
            self.want(not list(store.path.glob(".*.partial-*")), "it left a partial file")
        self.want({second, third} <= set(store.receipts()), "a kept pack is gone")
        self.expect_exports(store, {second: SECOND, third: THIRD})
        if first in store.receipts():
            self.expect_exports(store, {first: FIRST})
            again = store.prune(first)
            self.want(again.returncode == 0, f"prune again exits {again.returncode}: {again.stderr}")
            self.expect_exports(store, {second: SECOND, third: THIRD})
        names = sorted(["exhibit-store", "lock", f"{second}.pack", f"{third}.pack"])
        self.want(store.names() == names, f"in the store are {store.names()}")
        self.end(store)

    # ---- record

    def partial_expect(self, store, partial):
        """What a killed recording left is named, and salvaged with what the store had."""
        content = partial.read_bytes()
        told = run("exhibit-record", "check", "--store", store.path)
        self.want(partial.name in told.stdout + told.stderr, f"check does not name {partial.name}: {told}")
        out = store.folder / "salvaged.exhibit"
        made = run("exhibit-record", "salvage", partial, "--store", store.path, "-o", out)
        if content.endswith(b"EXHIBEND"):
            name = made.stderr.rstrip("\n").rpartition("rename it to ")[2]
            self.want(made.returncode == 2 and name.startswith(f"{store.path}/"), f"salvage: {made}")
            os.link(partial, name)
            self.expect_exports(store, {os.path.basename(name)[:-5]: SECOND})
            os.unlink(name)
            return
        if made.returncode == 1:
            self.want("before the recording had begun" in made.stderr or "not a pack" in made.stderr, made.stderr)
            self.want(whole_groups(content)[0] <= 24, "something could have been salvaged")
            return
        self.want(made.returncode == 3, f"salvage exits {made.returncode}: {made.stderr}")
        self.want("; 0 that it names are nowhere" in made.stdout, made.stdout)
        try:
            judged(out)
        except AssertionError as error:
            self.want(False, f"the salvaged bundle: {error}")
        bundle = Bundle(out)
        have, frozen = set(Content(out).objects[INPUTS]), any(True for _ in bundle.of("freeze"))
        bundle.pack.close()
        # Before that they are what was in the file by then.
        self.want(have == wanted(SECOND) if frozen else have < wanted(SECOND), "the salvaged bundle has other inputs")
        self.count["salvaged"] += have == wanted(SECOND)

    def record_fault(self, number, step, kind, of):
        self.at = f"record, {kind} at step {step} of {of}"
        first = self.receipts[0]
        store = self.copy(number) if self.source.path.exists() else Store(f"{self.name}-{number}")
        place = store.place(SECOND)
        before = set(store.receipts())
        done = place.record(store.words(place), env=self.env(store, step, kind, of))
        call = self.landed(store, step, kind)
        partials = list(store.path.glob(".recording.partial-*"))
        fresh = set(store.receipts()) - before
        if kind in KILLS:
            self.want(done.code == -9, f"exit {done.code}")
            self.want(len(partials) + len(fresh) <= 1, f"it left {partials} and {fresh}")
        elif kind == "short" or (kind == "EINTR" and call == "write") or call == "open-kept":
            # a pack of the store that cannot be opened is passed over
            self.want(done.code == 3 and len(fresh) == 1, f"exit {done.code}: {done.err}")
        elif call in DONE_WITHOUT and done.code == 3:
            self.want(len(fresh) == 1 and not partials, f"exit {done.code}: {done.err}, {store.names()}")
        else:
            self.want(done.code == 5 and not fresh and not partials, f"exit {done.code}: {done.err}, {store.names()}")
        for partial in partials:
            self.partial_expect(store, partial)
        if (store.path / "exhibit-store").exists():
            for verb in ("list", "check"):
                told = run("exhibit-record", verb, "--store", store.path)
                self.want(told.returncode == 0, f"{verb} exits {told.returncode}: {told.stdout}{told.stderr}")
        again = store.place(SECOND)
        done = again.record([*store.words(again)[:-1], place.folder / "work"])  # which is cleaned
        self.want(done.code == 3, f"another recording exits {done.code}: {done.err}")
        for partial in partials:
            self.want(partial.name in done.err, f"the next recording does not name {partial.name}: {done.err}")
        last = set(store.receipts()) - before - fresh
        self.want(len(last) == 1, f"another recording made {last}")
        self.expect_exports(store, {receipt: SECOND for receipt in fresh | last})
        if first in before:
            self.expect_exports(store, {first: FIRST})
        self.end(store)

    # ---- export and salvage

    def output_fault(self, number, step, kind, of, make, good):
        """make(store, out, env): leaves `out` whole, or nothing, or after a kill what says partial; and the store alone."""
        store = self.copy(number)
        out, before = store.folder / "out" / "made.exhibit", store.names()
        out.parent.mkdir()
        done = make(store, out, self.env(store, step, kind, of))
        call = self.landed(store, step, kind)
        partials = list(out.parent.glob(".made.exhibit.partial-*"))
        if kind in KILLS:
            self.want(done.returncode == -9, f"exit {done.returncode}")
            self.want(len(partials) + out.exists() <= 1, f"it left {partials} and {out.exists()}")
        elif kind == "short" or (kind == "EINTR" and call == "write"):
            self.want(done.returncode == good and not partials, f"exit {done.returncode}: {done.stderr}")
        elif call == "open-kept" and good == 3:  # salvage takes what it can have
            self.want(done.returncode == 3 and "a pack is passed over: " in done.stderr and not partials,
                      f"exit {done.returncode}: {done.stderr}")
        else:
            self.want(done.returncode == 5 and done.stderr.count("\n") == 1, f"exit {done.returncode}: {done.stderr}")
            self.want(not out.exists() and not partials, "it left a file")
        self.want(store.names() == before, f"in the store are {store.names()}")
        if not out.exists():
            again = make(store, out, None)
            self.want(again.returncode == good, f"again it exits {again.returncode}: {again.stderr}")
            for partial in partials:
                self.want(partial.name in again.stdout + again.stderr, f"{partial.name} is not named: {again}")
        code, verdict = hostile.verified(out)
        self.want(code == 3, f"verify exits {code}: {verdict}")
        self.count["exported"] += 1
        self.end(store)

    def export(self, store, out, env):
        return run("exhibit-record", "export", self.receipts[0], "--store", store.path, "-o", out, env=env)

    def export_fault(self, number, step, kind, of):
        self.at = f"export, {kind} at step {step} of {of}"
        self.output_fault(number, step, kind, of, self.export, 0)

    def salvage(self, store, out, env):
        (partial,) = store.path.glob(".recording.partial-*")
        return run("exhibit-record", "salvage", partial, "--store", store.path, "-o", out, env=env)

    def salvage_fault(self, number, step, kind, of):
        self.at = f"salvage, {kind} at step {step} of {of}"
        self.output_fault(number, step, kind, of, self.salvage, 3)

    # ---- local contents

    def expect_local(self, store, receipt, secret):
        """Without its local contents and with them a receipt becomes a bundle that verifies."""
        for more in ((), ("--with-local",)):
            out = store.folder / "local.exhibit"
            out.unlink(missing_ok=True)
            done = run("exhibit-record", "export", receipt, "--store", store.path, "-o", out, *more)
            self.want(done.returncode == 0, f"export {more} exits {done.returncode}: {done.stderr}")
            if done.returncode == 0:
                code, verdict = hostile.verified(out)
                self.want(code == 3, f"verify exits {code}: {verdict}")
                self.want((secret in hostile.plain(out)) == bool(more), f"export {more}: its local contents")
                self.count["exported"] += 1

    def salvage_apart(self, store, partial, alone):
        """Of a recording whose local contents have their name already: the finished pack gets its own, or is salvaged."""
        out = store.folder / "salvaged.exhibit"
        made = run("exhibit-record", "salvage", partial, "--store", store.path, "-o", out)
        if partial.read_bytes().endswith(b"EXHIBEND"):
            name = made.stderr.rstrip("\n").rpartition("rename it to ")[2]
            self.want(made.returncode == 2 and name == str(alone.with_suffix(".pack")), f"salvage: {made}")
            partial.rename(name)
            self.expect_local(store, alone.stem, b"the second alone\n")
            self.count["finished"] += 1
            return
        self.want(made.returncode == 3, f"salvage exits {made.returncode}: {made.stderr}")
        try:
            judged(out)
        except AssertionError as error:
            self.want(False, f"the salvaged bundle: {error}")
        self.want(b"the second alone\n" not in hostile.plain(out), "the salvaged bundle has local contents")
        self.count["salvaged"] += 1
        partial.unlink()
        alone.unlink()

    def local_fault(self, number, step, kind, of):
        """A recording with local contents is killed: all that it left is named, and the store stays one."""
        self.at = f"record with local contents, {kind} at step {step} of {of}"
        store = self.copy(number)
        place = store.place(SECOND, local=["workspace"])
        done = place.record(store.words(place), env=self.env(store, step, kind, of))
        self.landed(store, step, kind)
        self.want(done.code == -9, f"exit {done.code}")
        partials, local = list(store.path.glob(".recording.partial-*")), list(store.path.glob(".local.partial-*"))
        alone = [path for path in store.path.glob("*.local") if path.stem not in store.receipts()]
        self.want(len(partials) <= 1 and len(local) + len(alone) <= 1, f"it left {store.names()}")
        told = run("exhibit-record", "check", "--store", store.path)
        again = store.place(SECOND, local=["workspace"])
        done = again.record([*store.words(again)[:-1], place.folder / "work"])
        self.want((told.returncode, done.code) == (0, 3), f"check and another recording: {told} {done}")
        for path in partials:
            text = "left by a recording that was killed; exhibit-record salvage"
            self.want(f"left      {path.name}: {text}, with this store, makes a bundle of it, or remove it\n" in told.stdout,
                      f"check says {told.stdout}")
            self.want(f"{path.name}: {text} {path} --store {store.path} -o BUNDLE makes a bundle of it, or remove it\n"
                      in done.err, f"the next recording says {done.err}")
        for path in local:
            text = f"{path.name}: local contents of a recording that was killed; remove it\n"
            self.want(f"left      {text}" in told.stdout, f"check says {told.stdout}")
            self.want(text in done.err, f"the next recording says {done.err}")
            path.unlink()
        for path in alone:
            self.want(f"stray     {path.name}: local contents without their recording;" in told.stdout, told.stdout)
            self.salvage_apart(store, partials.pop(), path)
        for path in partials:
            path.unlink()
        self.count["local"] += len(local)
        self.count["apart"] += len(alone)
        told = run("exhibit-record", "check", "--store", store.path)
        self.want((told.returncode, told.stdout.count("\n")) == (0, 1), f"check after all says {told}")
        self.expect_exports(store, {self.receipts[0]: FIRST})
        for receipt in set(store.receipts()) - {self.receipts[0]}:
            self.expect_local(store, receipt, b"the second alone\n")
        self.end(store)

    def local_error(self, number, step, kind, of):
        """A recording with local contents of which a call fails leaves nothing of itself, or is whole."""
        self.at = f"record with local contents, {kind} at step {step} of {of}"
        store = self.copy(number)
        place, before = store.place(SECOND, local=["workspace"]), store.names()
        done = place.record(store.words(place), env=self.env(store, step, kind, of))
        call = self.landed(store, step, kind)
        whole = kind == "short" or (kind == "EINTR" and call == "write")
        if whole:
            self.want(done.code == 3, f"exit {done.code}: {done.err}")
        else:
            self.want((done.code, store.names()) == (5, before), f"exit {done.code}: {done.err}, {store.names()}")
            # From there on the local contents have their name.
            self.count["forgotten"] += "fsync-folder" in [call for call, *_ in self.steps[:step - 1]]
        again = store.place(SECOND, local=["workspace"])
        done = again.record([*store.words(again)[:-1], place.folder / "work"])
        told = run("exhibit-record", "check", "--store", store.path)
        self.want((done.code, told.returncode, told.stdout.count("\n")) == (3, 0, 1), f"afterwards: {done} {told}")
        self.expect_exports(store, {self.receipts[0]: FIRST})
        fresh = set(store.receipts()) - {self.receipts[0]}
        self.want(len(fresh) == 1 + whole, f"in the store are {store.names()}")
        for receipt in fresh:
            self.expect_local(store, receipt, b"the second alone\n")
        self.end(store)


class StoreCrash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = Store("base")
        cls.receipts = [cls.store.record(files) for files in (FIRST, SECOND, THIRD)]
        cls.one = Store("one")
        cls.ones = [cls.one.record(FIRST)]
        cls.none = Store("none")

    def setUp(self):
        self.expected = {}

    def steps(self, of, calls, act):
        """How many steps there are without a fault; `act` makes them in a store with an environment."""
        return len(self.calls(of, calls, act))

    def calls(self, of, calls, act):
        """What the steps are, in order; all of `calls` are among them and nothing else."""
        return [call for call, _ in self.named(of, calls, act)]

    def named(self, of, calls, act):
        """The same, each with the name of its file."""
        worker = Worker(f"count-{of}-{self.id()[-12:].replace('_', '-')}", self.store, self.receipts)
        store = Store(worker.name)
        act(worker, store, worker.env(store, 0, "none", of))
        log = [tuple(line.split()[1:3]) for line in (store.folder / "steps").read_text().splitlines()]
        shutil.rmtree(store.folder)
        self.assertEqual({call for call, _ in log}, calls)
        self.expected[of] = [(call, plain(name)) for call, name in log]
        return log

    def openings(self, calls):
        """A missing descriptor at each opening of a file, or with all where any descriptor is made."""
        return [(step, "EMFILE", "descriptor") for step, call in enumerate(calls, 1) if ALL or call.startswith("open-")]

    def tried(self, faults, share, work, source, receipts):
        """Tries one of each `share` faults, or all, and tells how many there were."""
        chosen = faults if ALL else faults[share // 2::share]

        def some(number):
            worker = Worker(f"{self.id().rpartition('_')[2]}-{chosen[0][2]}-{number}", source, receipts)
            worker.expected = self.expected
            for i, fault in enumerate(chosen[number::WORKERS]):
                work(worker, i, *fault)
            return worker
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            workers = list(pool.map(some, range(WORKERS)))
        wrong = [text for worker in workers for text in worker.wrong]
        self.assertEqual(wrong, [], "\n".join(wrong[:20]))
        told = {name: sum(worker.count[name] for worker in workers) for name in workers[0].count}
        print(f"{len(faults)} faults are possible: {told}", file=sys.stderr)
        self.assertEqual(told["faults"], len(chosen))
        self.assertEqual(hostile.leftovers(), [])
        return told

    def test_a_fault_in_a_prune_loses_nothing_that_is_kept(self):
        def act(worker, store, env):
            shutil.copytree(self.store.path, store.path)
            done = store.prune(self.receipts[0], env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
        count = self.steps("pack", {"write", "fsync", "rename", "fsync-folder", "unlink"}, act)
        opened = self.steps("descriptor", {"open-pack", "open-store", "open-kept"}, act)
        faults = [(step, kind, "pack") for step in range(1, count + 1) for kind in KILLS + ERRORS + HARMLESS]
        faults += [(step, "EMFILE", "descriptor") for step in range(1, opened + 1)]
        told = self.tried(faults, 23, Worker.prune_fault, self.store, self.receipts)
        self.assertGreaterEqual(told["faults"], 200 if ALL else 10)

    def test_a_fault_in_a_recording_leaves_a_store_that_can_be_used(self):
        def act(worker, store, env):
            shutil.copytree(self.one.path, store.path)
            place = store.place(SECOND)
            self.assertEqual(place.record(store.words(place), env=env).code, 3, place.done.err)
        count = self.steps("pack", {"write", "fsync", "rename", "fsync-folder"}, act)
        faults = [(step, kind, "pack") for step in range(1, count + 1) for kind in KILLS + ERRORS + HARMLESS]
        told = self.tried(faults, 17, Worker.record_fault, self.one, self.ones)
        self.assertGreaterEqual(told["salvaged"], 20 if ALL else 1)
        calls = self.calls("descriptor", {"open-store", "open-kept", "open-pack", "openat2", *MADE}, act)
        self.tried(self.openings(calls), 1, Worker.record_fault, self.one, self.ones)

    def outputs(self, source, work, name, opened):
        """Faults in what is made of a store, and the store is the same afterwards."""
        def act(worker, store, env):
            worker.receipts = self.ones
            (store.folder / "out").mkdir()
            shutil.copytree(source.path, store.path)
            done = getattr(worker, name)(store, store.folder / "out" / "made.exhibit", env)
            self.assertIn(done.returncode, (0, 3), done.stderr)
        count = self.steps("pack", {"write", "fsync", "rename", "fsync-folder"}, act)
        faults = [(step, kind, "pack") for step in range(1, count + 1) for kind in KILLS + ERRORS + HARMLESS]
        told = self.tried(faults, 11, work, source, self.ones)
        self.assertGreater(told["kills"], 2)
        count = self.steps("descriptor", opened, act)
        self.tried([(step, "EMFILE", "descriptor") for step in range(1, count + 1)], 1, work, source, self.ones)

    def test_a_fault_in_an_export_leaves_no_bundle_or_a_whole_one(self):
        self.outputs(self.one, Worker.export_fault, "export", {"open-store", "open-kept", "open-pack"})

    def test_a_fault_in_a_salvage_leaves_no_bundle_or_a_whole_one(self):
        def act(worker, store, env):
            shutil.copytree(self.one.path, store.path)
            place = store.place(SECOND)
            return place, place.record(store.words(place), env=env)
        count = self.steps("pack", {"write", "fsync", "rename", "fsync-folder"}, act)
        store, worker = Store("killed"), Worker("killed", self.one, self.ones)
        place, done = act(worker, store, worker.env(store, count - 6, "kill-before", "pack"))  # within its indexes
        self.assertEqual(done.code, -9, done.err)
        other = Store("after-killed")
        again = other.place(SECOND)
        again.record([*other.words(again)[:-1], place.folder / "work"])  # which is cleaned
        self.outputs(store, Worker.salvage_fault, "salvage", {"open-store", "open-kept", "open-pack"})

    def test_a_fault_while_a_store_is_made_leaves_one_or_none(self):
        def act(worker, store, env):
            place = store.place(SECOND)
            self.assertEqual(place.record(store.words(place), env=env).code, 3, place.done.err)
        first = self.named("pack", {"write", "fsync", "rename", "fsync-folder"}, act)[:4]
        marker = ".exhibit-store.partial"
        self.assertEqual(first, [("write", marker), ("fsync", marker), ("rename", marker), ("fsync-folder", "store")])
        faults = [(step, kind, "pack") for step in range(1, 5) for kind in KILLS + ERRORS + HARMLESS]
        told = self.tried(faults, 3, Worker.record_fault, self.none, self.ones)  # of seven kinds each
        self.assertGreater(told["kills"], 2)
        calls = self.calls("descriptor", {"open-store", "open-pack", "openat2", *MADE}, act)
        opened = [call for call in calls if call.startswith("open-")]
        self.assertEqual(opened[:2], ["open-pack", "open-store"])  # the marker, the lock
        self.tried(self.openings(calls), 1, Worker.record_fault, self.none, self.ones)

    def act_with_local(self, worker, store, env):
        shutil.copytree(self.one.path, store.path)
        place = store.place(SECOND, local=["workspace"])
        self.assertEqual(place.record(store.words(place), env=env).code, 3, place.done.err)

    def test_a_recording_with_local_contents_that_is_killed_is_named_in_both_its_parts(self):
        calls = self.calls("pack", {"write", "fsync", "rename", "fsync-folder"}, self.act_with_local)
        named = [step for step, call in enumerate(calls, 1) if call == "rename"]
        self.assertEqual(len(named), 2)  # of the local contents, then of the pack
        steps = range(1, len(calls) + 1) if ALL else (2, named[0] - 3, named[0], named[0] + 1, named[1] - 4, named[1])
        told = self.tried([(step, kind, "pack") for step in steps for kind in (KILLS if ALL else KILLS[:1])], 1,
                          Worker.local_fault, self.one, self.ones)
        for name in ("local", "apart", "finished", "salvaged"):
            self.assertGreater(told[name], 0, name)

    def test_a_fault_while_local_contents_are_written_or_after_leaves_none_or_all_of_the_recording(self):
        calls = self.named("pack", {"write", "fsync", "rename", "fsync-folder"}, self.act_with_local)
        sealed = calls.index(("fsync-folder", "store"))  # of the local contents; then comes the rest of the pack
        steps = [step for step, (_, name) in enumerate(calls, 1) if step > sealed or name.startswith(".local.partial-")]
        writes = [step for step in steps if calls[step - 1][0] == "write"]
        rest = [step for step in steps if step not in writes]
        self.assertEqual([calls[step - 1][0] for step in rest], 2 * ["fsync", "rename", "fsync-folder"])
        faults = [(step, kind, "pack")
                  for tried, kinds in ((writes if ALL else writes[::2], ERRORS + HARMLESS), (rest, (*ERRORS, "EINTR")))
                  for i, step in enumerate(tried) for j, kind in enumerate(kinds) if ALL or j == i % len(kinds)]
        opened = self.named("descriptor", {"open-store", "open-kept", "open-pack", "openat2", *MADE}, self.act_with_local)
        faults += [(step, "EMFILE", "descriptor") for step, (_, name) in enumerate(opened, 1)
                   if name.startswith(".local.partial-")]
        self.assertEqual(faults[-1][1], "EMFILE")
        told = self.tried(faults, 1, Worker.local_error, self.one, self.ones)
        self.assertGreater(told["forgotten"], 1)

    def test_a_prune_that_is_killed_between_local_contents_and_their_pack_is_ended_by_the_next(self):
        base = Store("local-dropped")
        first, second = base.record(FIRST, local=["workspace"]), base.record(SECOND)
        worker = Worker("between", base, [first, second])
        store = worker.copy("count")
        self.assertEqual(store.prune(first, env=worker.env(store, 0, "none", "pack")).returncode, 0)
        log = [line.split()[1:3] for line in (store.folder / "steps").read_text().splitlines()]
        worker.expected["pack"] = [(call, plain(name)) for call, name in log]
        calls = [call for call, _ in log]
        removed = [step for step, call in enumerate(calls, 1) if call == "unlink"]
        self.assertEqual(len(removed), 2)
        for step, kind in ((removed[0], "kill-after"), (removed[1], "kill-before")):
            with self.subTest(kind):
                store = worker.copy(kind)
                self.assertEqual(store.prune(first, env=worker.env(store, step, kind, "pack")).returncode, -9)
                worker.landed(store, step, kind)
                left = sorted(["exhibit-store", "lock", f"{first}.pack", f"{second}.pack"])
                self.assertEqual(store.names(), left)
                told = run("exhibit-record", "check", "--store", store.path)
                self.assertEqual((told.returncode, told.stdout.count("\n")), (1, 2), told)
                self.assertIn(f"concerns  {first}: its local contents are gone", told.stdout)
                worker.expect_exports(store, {second: SECOND})
                again = store.prune(first)
                self.assertEqual((again.returncode, store.names()), (0, [n for n in left if not n.startswith(first)]))
                worker.expect_exports(store, {second: SECOND})
        self.assertEqual(worker.wrong, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
