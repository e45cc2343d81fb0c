#!/usr/bin/python3
"""What leaves a store and what is dropped from it: export, prune and salvage --store; usage: store_export.py BUILD SOURCE"""
import functools
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import hostile
import terminal
from hostile import BUILD, run, shell
from stores import COMMON, INPUTS, OBSERVATIONS, Content, Store, judged, wanted, whole

FAULT = str(BUILD / "lib" / "libfault.so")
FIRST = {**COMMON, "first": b"the first alone\n", "apart": os.urandom(4_300_000)}
SECOND = {**COMMON, "second": b"the second alone\n", "one": b"another one\n"}
THIRD = {"third": b"the third alone\n", "two": b"two\n"}


NUMBERS = itertools.count(1)
LEFT = ("left by a call that was killed; if it was a recording, exhibit-record salvage makes a bundle of it; an export or "
        "a salvage can be made again: then remove it")


def killed_at(step):
    """The environment of a program that is killed before a step of writing a pack."""
    return {**os.environ, "LD_PRELOAD": FAULT, "FAULT": f"{step}:kill-before", "ASAN_OPTIONS": "verify_asan_link_order=0"}


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x10]))


@functools.lru_cache(maxsize=None)
def recorded():
    """One store serves all; a test that changes it makes a copy."""
    store = Store("store")
    return store, [store.record(files) for files in (FIRST, SECOND, THIRD)]


class Stores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store, (cls.first, cls.second, cls.third) = recorded()

    def copy(self):
        return self.store.copy(f"copy-{next(NUMBERS)}")

    def expect(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for text in texts:
            self.assertRegex(done.stdout if code == 0 else done.stderr, text)
        if code:
            self.assertEqual(done.stdout, "")

    def sleeps(self, recorder, argv):
        """Waits until the recording has come to the case that sleeps."""
        deadline = time.monotonic() + 30
        while not any(argv in words for words in hostile.processes().values()):
            if recorder.poll() is not None:
                self.fail(f"the recording ended: {recorder.communicate()}")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def exported(self, store, receipt, files):
        """Exports and looks at everything; gives the content."""
        done, out = store.export(receipt)
        self.expect(done, 0, f"has receipt {receipt}: ")
        self.assertTrue(whole(out))
        verdict, claim = judged(out)
        self.assertEqual(claim["receipt"], receipt)
        content = Content(out)
        self.assertEqual(set(content.objects[INPUTS]), wanted(files))
        self.assertEqual(set(os.listdir(store.folder)) & {f".{out.name}"}, set())
        return content, verdict, claim


class Export(Stores):
    def test_every_receipt_becomes_a_bundle_that_says_what_its_pack_says(self):
        for receipt, files in ((self.first, FIRST), (self.second, SECOND), (self.third, THIRD)):
            content, _, claim = self.exported(self.store, receipt, files)
            told = run("exhibit-replay", self.store.pack(receipt), "--json")
            self.assertEqual(told.stdout, run("exhibit-replay", content.path, "--json").stdout)
            own = Content(self.store.pack(receipt))
            self.assertEqual(own.objects[OBSERVATIONS].keys(), content.objects[OBSERVATIONS].keys())

    def test_it_says_what_a_bundle_that_was_recorded_directly_says(self):
        place = self.store.place(SECOND)
        self.assertEqual(place.record().code, 3)
        _, direct = judged(place.bundle)
        content, _, claim = self.exported(self.store, self.second, SECOND)

        def steady(claim):
            return [(rule["rule"], rule["holds"]) for rule in claim["rules"]], claim["cases"], claim["decision"]
        self.assertEqual(steady(direct), steady(claim))
        self.assertEqual(set(Content(place.bundle).objects[INPUTS]), set(content.objects[INPUTS]))

    def test_the_store_keeps_common_content_once(self):
        held = [set(Content(self.store.pack(receipt)).objects[INPUTS]) for receipt in (self.first, self.second,
                                                                                       self.third)]
        self.assertEqual(held[0], wanted(FIRST))
        self.assertEqual(held[1], wanted(SECOND) - wanted(FIRST))
        self.assertEqual(held[2], wanted(THIRD) - wanted(FIRST) - wanted(SECOND))

    def test_blocks_are_taken_as_they_are_where_all_in_them_is_wanted(self):
        packs = {receipt: Content(self.store.pack(receipt)) for receipt in (self.first, self.second)}
        first, _, _ = self.exported(self.store, self.first, FIRST)
        own = packs[self.first]
        for part in (OBSERVATIONS, INPUTS):
            self.assertEqual(first.frames[part], own.frames[part])
        second, _, _ = self.exported(self.store, self.second, SECOND)
        self.assertEqual(second.frames[OBSERVATIONS], packs[self.second].frames[OBSERVATIONS])
        self.assertEqual(second.frames[INPUTS][:1], packs[self.second].frames[INPUTS])
        taken = 0
        for frame, objects in zip(own.frames[INPUTS], own.in_blocks[INPUTS]):
            if objects <= wanted(SECOND):
                self.assertIn(frame, second.frames[INPUTS])
                taken += 1
        self.assertGreater(taken, 0, "no block of the first is wanted whole: the test is none")
        self.assertLess(taken, len(own.frames[INPUTS]))

    def test_a_receipt_is_named_by_a_beginning_that_is_its_own(self):
        done, _ = self.store.export(self.first[:8])
        self.expect(done, 0, f"has receipt {self.first}: ")
        out = self.store.folder / "none.exhibit"
        other = self.copy()
        twin = self.first[:20] + ("0" if self.first[20] != "0" else "1") + self.first[21:]
        shutil.copy(other.pack(self.first), other.pack(twin))
        cases = [(self.store, self.first[:7], r"or its first 8 or more hexadecimal digits"),
                 (self.store, "f" * 64 if self.first != "f" * 64 else "0" * 64, "has no receipt"),
                 (self.store, "not digits", "or its first 8 or more"),
                 (other, self.first[:20], "has more than one receipt")]
        for store, text, said in cases:
            done, out = store.export(text)
            self.expect(done, 2, said)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertFalse(out.exists())
        self.expect(other.export(twin)[0], 1, "the pack of another receipt")

    def test_wrong_usage_is_told(self):
        out = self.store.folder / "there.exhibit"
        out.write_text("mine")
        store = ["--store", self.store.path]
        for words, text in (([self.first, *store, "-o", out], "there.exhibit: exists already"),
                            ([self.first, *store], "Add -o BUNDLE"),
                            ([self.first, "-o", self.store.folder / "new"], "Add --store DIR"),
                            ([*store, "-o", self.store.folder / "new"], "export takes exactly one RECEIPT"),
                            ([self.first, "--store", self.store.folder, "-o", self.store.folder / "new"], "is no store"),
                            ([self.first, *store, "-o", self.store.folder / "no" / "new"], "make it first"),
                            ([self.first, *store, "-o", self.store.folder / "new", "--work", "/tmp"], "export takes")):
            done = run("exhibit-record", "export", *words)
            self.expect(done, 2, text)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(out.read_text(), "mine")
        self.assertFalse((self.store.folder / "new").exists())

    def test_damaged_content_is_refused_with_its_place_and_nothing_is_left(self):
        for part in (OBSERVATIONS, INPUTS):
            store = self.store.copy(f"damaged-{part}")
            at, size = Content(store.pack(self.first)).places[part][0]
            flip(store.pack(self.first), at + size // 2)
            before = sorted(os.listdir(store.folder))
            done, out = store.export(self.first)
            self.expect(done, 1, rf"{self.first}\.pack: .*(observation|input) block 0, first object \w{{64}}: FORMAT 3\.6: .* "
                                 rf"\(bytes {at} to {at + size - 1}\)")
            self.assertEqual(sorted(os.listdir(store.folder)), before)
            if part == OBSERVATIONS:  # of another's facts nothing is said
                self.exported(store, self.second, SECOND)

    def test_content_that_is_damaged_in_one_pack_is_taken_from_another(self):
        store = self.copy()
        pack = Content(store.pack(self.first))
        at, size = pack.places[INPUTS][0]
        flip(store.pack(self.first), at + size // 2)
        again = store.record(FIRST)  # it finds the damage, and keeps anew what was in that block
        self.assertLessEqual(pack.in_blocks[INPUTS][0], set(Content(store.pack(again)).objects[INPUTS]))
        done, out = store.export(self.first)
        self.expect(done, 0)
        self.assertRegex(done.stderr, rf"{self.first}\.pack: input block \d, .*; looking for the same content elsewhere")
        self.assertEqual(set(Content(out).objects[INPUTS]), wanted(FIRST))
        judged(out)

    def test_what_is_nowhere_is_told(self):
        store = self.copy()
        store.pack(self.first).unlink()
        done, out = store.export(self.second)
        self.expect(done, 1, r"no pack has the input \w{64} \(\d+ are missing\); exhibit-record check --store")
        self.assertFalse(out.exists())

    def test_an_interrupted_recording_is_exported_as_what_it_is(self):
        store = self.copy()
        place = store.place(SECOND, {"sleeper": (shell("sleep 100"), {"exit": 0})})
        before = set(store.receipts())
        process = place.start(store.words(place))
        self.sleeps(process, "sleep 100")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        (receipt,) = set(store.receipts()) - before
        done, out = store.export(receipt)
        self.expect(done, 0)
        judged(out)
        self.assertEqual(set(Content(out).objects[INPUTS]), wanted(SECOND))


class Prune(Stores):
    def test_what_a_kept_receipt_needs_stays(self):
        store = self.copy()
        sizes = {receipt: store.pack(receipt).stat().st_size for receipt in store.receipts()}
        before = Content(store.pack(self.first))
        done = store.prune(self.first)
        moved = (wanted(SECOND) | wanted(THIRD)) & wanted(FIRST)
        self.expect(done, 0, f"moved {len(moved)} objects into ", "dropped 1 packs: ")
        self.assertEqual(store.receipts(), sorted([self.second, self.third]))
        self.assertEqual(store.names(), sorted(["exhibit-store", "lock", f"{self.second}.pack", f"{self.third}.pack"]))
        self.exported(store, self.second, SECOND)
        self.exported(store, self.third, THIRD)
        held = [Content(store.pack(receipt)) for receipt in (self.second, self.third)]
        self.assertEqual(set(held[0].objects[INPUTS]) & set(held[1].objects[INPUTS]), set())
        self.assertNotIn(next(iter(wanted({"": b"the first alone\n"}))),
                         set(held[0].objects[INPUTS]) | set(held[1].objects[INPUTS]))
        for frame, objects in zip(before.frames[INPUTS], before.in_blocks[INPUTS]):
            if objects <= moved:
                self.assertIn(frame, held[0].frames[INPUTS] + held[1].frames[INPUTS])
        grown = sum(store.pack(receipt).stat().st_size - sizes[receipt] for receipt in store.receipts())
        self.assertIn(f"dropped 1 packs: {sizes[self.first]} bytes, {max(sizes[self.first] - grown, 0)} freed\n",
                      done.stdout)
        self.assertEqual(done.stderr, "")

    def test_what_nobody_needs_goes_without_a_move(self):
        store = self.copy()
        done = store.prune(self.second[:12], self.third, self.third)
        self.assertEqual(done.stdout.count("moved"), 0)
        self.expect(done, 0, "^dropped 2 packs: ")
        self.assertEqual(store.receipts(), [self.first])
        self.exported(store, self.first, FIRST)

    def test_one_after_the_other_leaves_an_empty_store(self):
        store = self.copy()
        (store.path / f"{self.first}.local").write_text("salted")
        self.expect(store.prune(self.first), 0)
        self.expect(store.prune(self.second), 0)
        self.exported(store, self.third, THIRD)
        self.expect(store.prune(self.third), 0)
        self.assertEqual(store.names(), ["exhibit-store", "lock"])
        again = store.record(THIRD)
        self.exported(store, again, THIRD)

    def test_all_at_once_leaves_an_empty_store(self):
        store = self.copy()
        self.expect(store.prune(self.first, self.second, self.third), 0, "^dropped 3 packs: ")
        self.assertEqual(store.names(), ["exhibit-store", "lock"])

    def test_what_is_not_known_to_be_superfluous_stays(self):
        """Where a kept pack cannot be read, or what is to be moved is damaged, nothing changes."""
        for what, text in (("log", "it is not known what this receipt needs"),
                           ("block", r"nothing is dropped, for a receipt that is kept needs this: .*\.pack: input block \d.* \(bytes \d+ to \d+\)"),
                           ("index", "a receipt that is kept may need what is in this pack")):
            store = self.store.copy(f"unknown-{what}")
            victim = store.pack(self.second if what == "log" else self.first)
            content = Content(victim)
            at, size = content.places[OBSERVATIONS][0]
            if what == "block":
                needed = [objects & wanted(SECOND) != set() for objects in content.in_blocks[INPUTS]]
                at, size = content.places[INPUTS][needed.index(True)]
            flip(victim, at + size // 2 if what != "index" else victim.stat().st_size - 208 - 50)
            before = {name: (store.path / name).read_bytes() for name in store.names()}
            done = store.prune(self.first)
            self.expect(done, 1, text)
            self.assertEqual({name: (store.path / name).read_bytes() for name in store.names()}, before)

    def test_a_damaged_pack_that_nobody_needs_can_be_dropped(self):
        store = self.copy()
        victim = store.pack(self.second)
        flip(victim, victim.stat().st_size - 208 - 50)
        self.expect(store.prune(self.second), 0, "^dropped 1 packs")
        self.exported(store, self.first, FIRST)
        self.exported(store, self.third, THIRD)

    def test_a_twin_that_is_damaged_is_not_relied_on(self):
        """Two packs hold the same, and what the kept one holds is damaged: then the other one's is moved."""
        store = Store("twins")
        place, other = store.place(THIRD), store.place(THIRD)
        processes = [one.start(store.words(one)) for one in (place, other)]
        for process in processes:
            process.communicate(timeout=60)
        kept, dropped = store.receipts()
        if not set(Content(store.pack(kept)).objects[INPUTS]) == set(Content(store.pack(dropped)).objects[INPUTS]):
            self.skipTest("one of two recordings came after the other")
        self.expect(store.copy("twins-whole").prune(dropped), 0, "^dropped 1 packs")
        at, size = Content(store.pack(kept)).places[INPUTS][0]
        flip(store.pack(kept), at + size // 2)
        done = store.prune(dropped)
        self.expect(done, 1, "nothing is dropped: ")
        self.assertEqual(store.receipts(), sorted([kept, dropped]))

    def test_wrong_usage_changes_nothing(self):
        store = self.copy()
        before = store.names()
        for words, text in (([], "prune takes one RECEIPT or more"), (["f" * 64], "has no receipt"),
                            ([self.first, "short"], "or its first 8 or more")):
            done = store.prune(*words)
            self.expect(done, 2, text)
            self.assertEqual(store.names(), before)
        self.expect(run("exhibit-record", "prune", self.first), 2, "Add --store DIR")

    def test_it_waits_for_a_recording_and_takes_nothing_from_it(self):
        store = self.copy()
        place = store.place(FIRST, {"sleeper": (shell("sleep 1.5"), {"exit": 0})})
        before = set(store.receipts())
        recorder = place.start(store.words(place))
        self.sleeps(recorder, "sleep 1.5")
        pruner = subprocess.Popen([BUILD / "bin" / "exhibit-record", "prune", "--store", store.path, self.first],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        waits = pruner.stderr.readline()
        self.assertIsNone(recorder.poll(), "the recording was over before prune could wait")
        self.assertIn(self.first, store.receipts())
        self.assertRegex(waits, "wait")
        self.assertEqual(recorder.wait(timeout=60), 3, recorder.communicate()[1])
        out, err = pruner.communicate(timeout=60)
        self.assertEqual(pruner.returncode, 0, err)
        (recorded,) = set(store.receipts()) - before
        self.assertNotIn(self.first, store.receipts())
        for receipt, files in ((recorded, FIRST), (self.second, SECOND), (self.third, THIRD)):
            self.exported(store, receipt, files)
        recorder.stdout.close()
        recorder.stderr.close()

    def test_a_recording_waits_for_it_and_relies_on_nothing_that_is_gone(self):
        store = self.copy()
        pruner = subprocess.Popen([BUILD / "bin" / "exhibit-record", "prune", "--store", store.path, self.first],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "LD_PRELOAD": FAULT, "FAULT": "1:pause",
                                       "FAULT_LOG": str(store.folder / "steps"),
                                       "ASAN_OPTIONS": "verify_asan_link_order=0"})
        while not (store.folder / "steps").exists():
            self.assertIsNone(pruner.poll())
            time.sleep(0.01)
        receipt = store.record(FIRST)
        out, err = pruner.communicate(timeout=60)
        self.assertEqual(pruner.returncode, 0, err)
        self.assertRegex(store.last.done.err, "wait")
        self.exported(store, receipt, FIRST)
        self.exported(store, self.second, SECOND)


class Limited(Stores):
    def test_a_limit_of_file_sizes_is_an_error_that_leaves_nothing(self):
        store = self.copy()
        cut = store.folder / "cut"
        cut.write_bytes(store.pack(self.first).read_bytes()[:-208])
        place = store.place(THIRD)
        names, beside, out = store.names(), sorted(os.listdir(store.folder)), store.folder / "new.exhibit"
        for words in (["export", self.first, "--store", store.path, "-o", out],
                      ["salvage", cut, "--store", store.path, "-o", out],
                      ["prune", self.first, "--store", store.path],
                      ["run", place.folder / "plan.yaml", "-o", out],
                      ["run", place.folder / "plan.yaml", "--store", store.path]):
            done = subprocess.run(["/bin/sh", "-c", 'ulimit -f 1; exec "$@"', "sh", BUILD / "bin" / "exhibit-record", *words],
                                  capture_output=True, text=True, check=False)
            self.expect(done, 5, "File too large")
            self.assertEqual((store.names(), sorted(os.listdir(store.folder))), (names, beside))
        self.exported(store, self.first, FIRST)


class Killed(Stores):
    def test_what_an_export_left_that_was_killed_is_named_by_the_next_one(self):
        store = self.copy()
        done, out = store.export(self.second, env=killed_at(2))
        self.assertEqual((done.returncode, out.exists()), (-9, False), done.stderr)
        (left,) = store.folder.glob(".out.exhibit.partial-*")
        done, _ = store.export(self.second)
        self.assertEqual((done.returncode, done.stderr), (0, f"exhibit-record: {left}: {LEFT}\n"))
        left.unlink()
        done, out = store.export(self.second)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(whole(out))


class Progress(Stores):
    """On a terminal what is done now stands in a line of its own, which is gone at the end; nowhere else."""

    def test_of_export_and_prune(self):
        store = self.copy()
        for words, each, last in (
                (["export", self.first, "--store", store.path, "-o", store.folder / "progress.exhibit"],
                 r"export: observations of pack [123] of 3", "has receipt"),
                (["prune", self.third, "--store", store.path], r"prune: pack [123] of 3", "dropped 1 packs")):
            code, shown = terminal.shown([BUILD / "bin" / "exhibit-record", *words])
            self.assertEqual(code, 0, shown)
            shown = shown.decode()
            self.assertRegex(shown, rf"\r\x1b\[K{each}\r")
            after = shown.rpartition("\r\x1b[K")[2]
            self.assertIn(last, after)
            self.assertNotRegex(after, each)

    def test_none_elsewhere(self):
        done, _ = self.store.export(self.second)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Salvage(Stores):
    def test_what_a_killed_recording_left_finds_its_inputs_in_the_store(self):
        store = self.copy()
        files = {**SECOND, "new": b"new in this one\n"}
        place = store.place(files, {"quick": (shell("echo said"), {"exit": 0}),
                                    "sleeper": (shell("exec sleep 77"), {"exit": 0})})
        recorder = place.start(store.words(place))
        self.sleeps(recorder, "sleep 77")
        recorder.kill()
        recorder.communicate()
        (partial,) = store.path.glob(".*.partial-*")
        with_store, without = store.folder / "with.exhibit", store.folder / "without.exhibit"
        done = run("exhibit-record", "salvage", partial, "-o", with_store, "--store", store.path)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(f"{len(wanted(SECOND) - wanted({'': b''}))} inputs from {store.path}; 0 that it names are "
                      "nowhere\n", done.stdout)  # the empty one is in no block
        judged(with_store)
        self.assertEqual(set(Content(with_store).objects[INPUTS]), wanted(files))
        done = run("exhibit-record", "salvage", partial, "-o", without)
        self.assertEqual(done.returncode, 3, done.stderr)
        judged(without)
        self.assertEqual(set(Content(without).objects[INPUTS]), wanted({"new": files["new"], "empty": b""}))
        done = store.prune(self.third)
        self.expect(done, 0)
        self.assertRegex(done.stderr, rf"{re.escape(partial.name)}: left by a recording that was killed; exhibit-record "
                                      rf"salvage \S+ --store {store.path} -o BUNDLE")
        self.assertTrue(partial.exists())
        for pid in hostile.processes():
            os.kill(pid, signal.SIGKILL)

    def test_what_a_killed_salvage_left_is_named_by_the_next_one_and_what_it_is_made_of_is_not(self):
        store = self.copy()
        place = store.place(THIRD, {"sleeper": (shell("exec sleep 79"), {"exit": 0})})
        recorder = place.start()
        self.sleeps(recorder, "sleep 79")
        recorder.kill()
        recorder.communicate()
        for pid in hostile.processes():
            os.kill(pid, signal.SIGKILL)
        (partial,) = place.folder.glob(".*.partial-*")
        words = ["exhibit-record", "salvage", partial, "-o", place.bundle]
        self.assertEqual(run(*words, env=killed_at(2)).returncode, -9)
        (left,) = set(place.folder.glob(".*.partial-*")) - {partial}
        done = run(*words)
        self.assertEqual((done.returncode, done.stderr), (3, f"exhibit-record: {left}: {LEFT}\n"))

    def test_what_is_not_retained_stays_out_though_the_store_has_it(self):
        store = self.copy()
        apart = store.folder / "apart"
        apart.mkdir()
        (apart / "two").write_bytes(b"two\n")
        (apart / "secret").write_bytes(FIRST["first"])
        place = store.place(THIRD, {"sleeper": (shell("exec sleep 78"), {"exit": 0})},
                            inputs=[{"name": "passed", "path": str(apart), "retain": False}])
        recorder = place.start(store.words(place))
        self.sleeps(recorder, "sleep 78")
        recorder.kill()
        recorder.communicate()
        (partial,) = store.path.glob(".*.partial-*")
        out = store.folder / "out.exhibit"
        done = run("exhibit-record", "salvage", partial, "-o", out, "--store", store.path)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(set(Content(out).objects[INPUTS]), wanted(THIRD))
        judged(out)
        for pid in hostile.processes():
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
