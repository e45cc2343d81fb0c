#!/usr/bin/python3
"""usage: store.py BUILD SOURCE

Recordings into a store: the second of a tree adds what was observed and no input, a change is added alone, damaged
content is kept anew, several at once leave a whole store; list and check tell what there is, and each kind of damage by
its place; whatever lies in the folder, and whatever it is called, nothing is led astray.
"""
import collections
import fcntl
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

import fourth
from hostile import BUILD, Place, run, shell
from pack import INPUTS, OBSERVATIONS, Pack
from records import Bundle

FILES, LARGE, LISTED = 40, 6_000_000, 18_000
FOOTER_BYTES = 208
HEX = "[0-9a-f]{64}"
Block = collections.namedtuple("Block", "at size")


def tree_make(folder):
    """Files that cannot be compressed: 40 small ones, two equal ones, one of more than a block, and one that is empty."""
    chance = random.Random(7)
    folder.mkdir()
    for number in range(FILES):
        (folder / f"file-{number}").write_bytes(chance.randbytes(3000 + number))
    (folder / "same").write_bytes((folder / "file-3").read_bytes())
    (folder / "large").write_bytes(chance.randbytes(LARGE))
    (folder / "empty").write_bytes(b"")


def many_make(folder):
    """So many files with long names that their list is longer than a block."""
    folder.mkdir()
    for number in range(LISTED):
        (folder / f"{number:0220d}").write_bytes(b"%d" % (number % 50))


class Recorder:
    """A plan with a workspace and one case, recorded into stores."""

    def __init__(self, name, tree=tree_make):
        self.place = Place(name, {"list": (shell("ls {workspace} > /dev/null; echo fine"), {"exit": 0})},
                           workspace="tree")
        self.tree, self.store = self.place.folder / "tree", self.place.folder / "store"
        tree(self.tree)

    def words(self, *more, store=None):
        return [BUILD / "bin" / "exhibit-record", "run", self.place.folder / "plan.yaml", "--store",
                store or self.store, "--work", self.place.folder / "work", *more]

    def record(self, **more):
        """Records once; gives the new pack and what was done."""
        before = set(self.packs())
        done = self.place.record(self.words(**more))
        new = set(self.packs()) - before
        assert done.code in (0, 3) and len(new) == 1, (done, new)
        return new.pop(), done

    def packs(self):
        return sorted(self.store.glob("*.pack"))


def inputs(path):
    """{digest: size} of the inputs that a pack holds, and the SHA-256 of its receipt."""
    pack = Pack(path)
    held = {digest: pack.size_of(digest, INPUTS) for digest in pack.parts[INPUTS].objects}
    pack.close()
    return held


def check(store):
    done = run("exhibit-record", "check", "--store", store)
    return done.returncode, done.stdout, done.stderr


def listed(store):
    done = run("exhibit-record", "list", "--store", store, "--json")
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def block_of(path, part, number=0):
    """Position and size of the frame of a block."""
    pack = Pack(path)
    block = Block(*pack.parts[part].blocks[number][:2])
    pack.close()
    return block


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def state(path):
    """The bytes of a file, which file it is, and when it was written to last."""
    stat = path.stat()
    return hashlib.sha256(path.read_bytes()).digest(), stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns


class Growing(unittest.TestCase):
    """A store as it grows: each test rests on the packs that were made before."""

    @classmethod
    def setUpClass(cls):
        cls.it = it = Recorder("growing")
        cls.first, cls.first_done = it.record()
        cls.packs = {cls.first: state(cls.first)}
        cls.second, cls.second_done = it.record()
        cls.packs[cls.second] = state(cls.second)
        (it.tree / "file-5").write_bytes(b"changed" * 500)
        cls.third, _ = it.record()

    def test_a_first_recording_makes_the_store(self):
        self.assertEqual((self.it.store / "exhibit-store").read_text(), "exhibit store 1\n")
        self.assertEqual({path.name for path in self.it.store.iterdir()},
                         {"exhibit-store", "lock", self.first.name, self.second.name, self.third.name})
        self.assertEqual(self.first_done.err, "")

    def test_no_pack_is_touched_by_what_comes_later(self):
        self.assertEqual({path: state(path) for path in self.packs}, self.packs)

    def test_a_pack_is_named_by_its_receipt_which_is_told(self):
        receipt = self.first.name.removesuffix(".pack")
        self.assertRegex(receipt, f"^{HEX}$")
        self.assertTrue(self.first_done.out.startswith(f"receipt {receipt} in the store {self.it.store}\n"))
        self.assertEqual(Pack(self.first).receipt.hex(), receipt)

    def test_the_first_holds_each_content_once(self):
        held = inputs(self.first)
        sizes = collections.Counter(held.values())
        self.assertEqual(len(held), FILES + 2)  # two are equal
        self.assertEqual((sizes[LARGE], sizes[0], sizes[3003]), (1, 1, 1))

    def test_a_second_recording_adds_what_was_observed_and_no_input(self):
        self.assertEqual(inputs(self.second), {})
        self.assertEqual(self.second_done.err, "")
        self.assertLess(self.second.stat().st_size, 100_000)
        self.assertGreater(self.first.stat().st_size, LARGE)

    def test_a_file_that_changed_is_added_alone(self):
        self.assertEqual(list(inputs(self.third).values()), [3500])

    def test_observations_are_whole_in_each_pack(self):
        done = run("exhibit-replay", self.it.store, "--json")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([os.path.basename(line["bundle"]) for line in lines if "receipt" in line],
                         [path.name for path in self.it.packs()], done)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        for path in self.it.packs():
            self.assertEqual(run("exhibit-replay", path).returncode, 3)

    def test_the_fourth_judge_says_of_each_pack_what_was_recorded_and_what_replay_says(self):
        for path in self.it.packs():
            self.assertEqual(fourth.differs_from_recorded(path), [])
            self.assertEqual(fourth.differs_from_replay(BUILD, path), [])

    def test_the_store_is_whole(self):
        code, out, err = check(self.it.store)
        size = sum(path.stat().st_size for path in self.it.packs())
        self.assertEqual((code, out, err), (0, f"3 packs, {size} bytes checked: whole\n", ""))

    def test_list_tells_what_each_holds_and_shares_in_the_order_of_recording(self):
        code, entries = listed(self.it.store)
        total = sum(inputs(self.first).values())
        self.assertEqual(code, 0)
        self.assertEqual([entry["receipt"] + ".pack" for entry in entries],
                         [self.first.name, self.second.name, self.third.name])
        self.assertEqual([entry["own"] for entry in entries],
                         [{"objects": FILES + 2, "bytes": total}, {"objects": 0, "bytes": 0},
                          {"objects": 1, "bytes": 3500}])
        self.assertEqual([entry["shared"] for entry in entries],
                         [{"objects": 0, "bytes": 0}, {"objects": FILES + 2, "bytes": total},
                          {"objects": FILES + 1, "bytes": total - 3005}])
        for entry, path in zip(entries, (self.first, self.second, self.third)):
            self.assertEqual((entry["schema"], entry["experiment"], entry["candidate"], entry["decision"],
                              entry["partial"], entry["local"], entry["missing"], entry["file_bytes"]),
                             ("exhibit.store/1", "growing", "open", "INCOMPLETE", False, False, 0,
                              path.stat().st_size))
            self.assertRegex(entry["recorded_at"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_list_as_text_has_a_line_for_each(self):
        done = run("exhibit-record", "list", "--store", self.it.store)
        lines = done.stdout.splitlines()
        self.assertEqual((done.returncode, done.stderr, len(lines)), (0, "", 4))
        self.assertTrue(lines[0].startswith("receipt       recorded at"))
        self.assertRegex(lines[1], rf"^{self.first.name[:12]}  20\S+Z  growing +open +INCOMPLETE +\d+\.\d MiB  "
                                   rf"{FILES + 2} \(5\.8 MiB\) +0 \(0 B\)$")
        self.assertRegex(lines[3], r"1 \(3\.4 KiB\) +41 \(5\.8 MiB\)$")

    def test_a_pack_without_its_store_is_refuted_in_a_line_that_says_what_to_do(self):
        done = run("exhibit-verify", self.second)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^exhibit-verify: \S+: refuted: event \d+: a retained input's file is missing: "
                                      rf"there is no object {HEX} \({FILES + 3} such files\); a pack of a store has "
                                      rf"inputs in other packs there, and exhibit-record export {self.second.name[:12]} "
                                      r"--store DIR -o BUNDLE makes a whole one\n$")
        self.assertEqual(run("exhibit-verify", self.first).returncode, 3)


class Damage(unittest.TestCase):
    """Copies of a store of two packs, the second without inputs, with something done to them."""

    @classmethod
    def setUpClass(cls):
        cls.it = Recorder("damage")
        cls.first, _ = cls.it.record()
        cls.second, _ = cls.it.record()
        cls.whole = cls.it.place.folder / "whole"
        cls.it.store.rename(cls.whole)
        cls.names = [cls.first.name, cls.second.name]
        cls.held = inputs(cls.whole / cls.names[0])

    def setUp(self):
        shutil.rmtree(self.it.store, ignore_errors=True)
        shutil.copytree(self.whole, self.it.store)

    def found(self, *lines, code=1, end):
        """What check says: each line once, in any order, and nothing else."""
        done, out, err = check(self.it.store)
        told = out.splitlines()
        self.assertEqual((done, err), (code, ""), out)
        for line in lines:
            self.assertEqual(len([one for one in told if re.search(line, one)]), 1, (line, out))
        self.assertEqual(len(told), len(lines) + 1, out)
        self.assertRegex(told[-1], rf"^\d packs?, \d+ bytes checked: {end}$")

    def test_a_byte_in_a_block_of_inputs(self):
        block = block_of(self.first, INPUTS)
        flip(self.first, block.at + 100)
        receipt = [name.removesuffix(".pack") for name in self.names]
        lost = rf"\d+ of its inputs cannot be had; the first is {HEX}: {self.names[0]} has it damaged"
        self.found(rf"^damaged   {self.names[0]}: .*FORMAT 3\.6: .* \(bytes {block.at} to {block.at + block.size - 1}\)",
                   f"^concerns  {receipt[0]}: {lost}", f"^concerns  {receipt[1]}: {lost}",
                   end="1 damaged, 0 could not be read, 2 receipts concerned")

    def test_content_that_is_damaged_is_kept_anew_and_a_note_says_so(self):
        """The small files come first, or the large one: what lies in the first block, and only that, is new."""
        flip(self.first, block_of(self.first, INPUTS).at + 100)
        third, done = self.it.record()
        anew = inputs(third)
        self.assertEqual(done.err.count("\n"), 1)
        self.assertRegex(done.err, rf"^exhibit-record: {self.names[0]}: FORMAT 3\.6: .*kept anew")
        self.assertTrue(0 < len(anew) < len(self.held) + 1, anew)
        self.assertLessEqual(set(anew), set(self.held))
        fourth, done = self.it.record()
        self.assertEqual(inputs(fourth), {})
        self.assertLessEqual(done.err.count("\n"), 1)  # none where the new pack is looked into first
        self.found(rf"^damaged   {self.names[0]}: ", f"^concerns  {self.names[0][:64]}: it is its own; all inputs that it shares can be had",
                   end="1 damaged, 0 could not be read, 1 receipt concerned")

    def test_a_byte_in_the_observations_concerns_its_own_receipt_alone(self):
        flip(self.second, block_of(self.second, OBSERVATIONS).at + 50)
        self.found(rf"^damaged   {self.names[1]}: observation block 0", rf"^concerns  {self.names[1][:64]}: ",
                   end="1 damaged, 0 could not be read, 1 receipt concerned")

    def test_a_pack_that_is_cut(self):
        os.truncate(self.first, self.first.stat().st_size - 1)
        self.found(rf"^damaged   {self.names[0]}: .*partial or cut short",
                   rf"^concerns  {self.names[0][:64]}: what it needs cannot be told",
                   rf"^concerns  {self.names[1][:64]}: {FILES + 2} of its inputs cannot be had; the first is {HEX}: no "
                   r"pack has it", end="1 damaged, 0 could not be read, 2 receipts concerned")
        entries = listed(self.it.store)
        self.assertEqual(entries[0], 1)
        self.assertEqual([("unread" in entry, entry.get("missing")) for entry in entries[1]],
                         [(True, None), (False, FILES + 2)])

    def test_a_pack_that_another_needs_is_gone(self):
        self.first.unlink()
        self.found(rf"^concerns  {self.names[1][:64]}: {FILES + 2} of its inputs cannot be had; .*: no pack has it",
                   end="0 damaged, 0 could not be read, 1 receipt concerned")
        text = run("exhibit-record", "list", "--store", self.it.store).stdout
        self.assertIn(f"{FILES + 2} inputs are missing", text)
        third, done = self.it.record()
        self.assertEqual((inputs(third), done.err), (self.held, ""))
        self.assertEqual(check(self.it.store)[0], 0)

    def test_a_pack_of_another_name(self):
        other = self.it.store / ("0" * 64 + ".pack")
        self.first.rename(other)
        self.found(rf"^damaged   {other.name}: FORMAT 11\.3: the pack of another receipt",
                   rf"^concerns  {other.name[:64]}: what it needs cannot be told", rf"^concerns  {self.names[1][:64]}: ",
                   end="1 damaged, 0 could not be read, 2 receipts concerned")

    def test_a_byte_in_local_contents_which_are_a_pack_too(self):
        local = self.it.store / self.names[0].replace(".pack", ".local")
        local.write_bytes(self.first.read_bytes())
        self.assertEqual(check(self.it.store)[0], 0)
        self.assertEqual([entry["local"] for entry in listed(self.it.store)[1]], [True, False])
        flip(local, block_of(local, INPUTS).at + 100)
        self.found(rf"^damaged   {local.name}: input block 0", rf"^concerns  {self.names[0][:64]}: it is its own",
                   end="1 damaged, 0 could not be read, 1 receipt concerned")
        alone = self.it.store / ("3" * 64 + ".local")
        local.rename(alone)
        done, out, _ = check(self.it.store)
        self.assertEqual((done, out.splitlines()[0][:len(alone.name) + 10]), (0, f"stray     {alone.name}"))

    def test_links_and_hostile_names_and_what_a_killed_recording_left(self):
        outside = self.it.place.folder / "outside"
        outside.write_bytes(self.first.read_bytes())
        os.symlink(outside, self.it.store / ("1" * 64 + ".pack"))
        os.mkfifo(self.it.store / ("2" * 64 + ".pack"))
        (self.it.store / "\x1b[2Jwipe\n.pack").write_text("")
        (self.it.store / "notes.txt").write_text("")
        (self.it.store / ".recording.partial-00").write_text("")
        copy = f".{'4' * 64}.pack.partial-00"
        (self.it.store / copy).write_text("")
        done, out, err = check(self.it.store)
        self.assertEqual(done, 1)
        self.assertTrue((out + err).replace("\n", "").isprintable())
        for text in (f"damaged   {'1' * 64}.pack: not a regular file", f"damaged   {'2' * 64}.pack: not a regular file",
                     "stray     \\x1b[2Jwipe\\x0a.pack: ", "stray     notes.txt: ", "left      .recording.partial-00: left by a recording that was killed",
                     f"left      {copy}: left by a prune that was killed; the next prune removes it"):
            self.assertIn(text, out)
        third, done = self.it.record()
        self.assertEqual(inputs(third), {})
        self.assertTrue(done.err.replace("\n", "").isprintable())
        for text in ("its name is not that of a receipt", f"{'1' * 64}.pack is passed over: ",
                     ".recording.partial-00: left by a recording that was killed; exhibit-record salvage",
                     f"{copy}: left by a prune that was killed; the next prune removes it"):
            self.assertIn(text, done.err)
        self.assertEqual(run("exhibit-replay", self.it.store).returncode, 1)  # the wiper is no bundle, and is named

    def test_a_pack_that_says_something_else_leaves_a_recorder_that_goes_on(self):
        """What an index says is never believed: the new pack has whatever is not there any more."""
        size = self.first.stat().st_size
        content = self.first.read_bytes()
        for at in (16, size - 208 - 60, size - 100, size - 8):  # header, index, footer
            with self.subTest(at=at):
                self.first.write_bytes(content[:at] + bytes([content[at] ^ 255]) + content[at + 1:])
                third, _ = self.it.record()
                needed = {digest for digest in self.held if digest not in inputs(third)}
                if needed:  # taken from the first, whose damage is elsewhere
                    self.first.write_bytes(content)
                    self.assertEqual(inputs(self.first), self.held)
                third.unlink()


class AtOnce(unittest.TestCase):
    def test_several_at_once_leave_a_whole_store(self):
        """Also at its beginning: each of them finds no store."""
        it = Recorder("at-once")
        running = [it.place.start(it.words()) for _ in range(3)]
        done = [process.communicate(timeout=100) + (process.returncode,) for process in running]
        self.assertEqual([(code, err) for _, err, code in done], [(3, b"")] * 3)
        self.assertEqual(len(it.packs()), 3)
        self.assertEqual(check(it.store)[0], 0)
        self.assertEqual([path.name for path in it.store.glob(".*")], [])
        _, entries = listed(it.store)
        self.assertEqual([entry["own"]["objects"] + entry["shared"]["objects"] for entry in entries], [FILES + 2] * 3)
        last, _ = it.record()
        self.assertEqual(inputs(last), {})


class Refused(unittest.TestCase):
    """Wrong words and folders: exit 2, one line, nothing made."""

    @classmethod
    def setUpClass(cls):
        cls.it = Recorder("refused")
        cls.folder = cls.it.place.folder

    def refused(self, text, *words):
        before = sorted(self.folder.rglob("*"))
        done = run("exhibit-record", *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done)
        self.assertRegex(done.stderr, text)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_folders_that_are_no_store(self):
        other, later = self.folder / "other", self.folder / "later"
        other.mkdir(exist_ok=True)
        (other / "mine").write_text("")
        later.mkdir(exist_ok=True)
        (later / "exhibit-store").write_text("exhibit store 2\n")
        plan = self.folder / "plan.yaml"
        for words in (["run", plan], ["list"], ["check"]):
            self.refused("is no store", *words, "--store", other)
            self.refused("a store of another version", *words, "--store", later)
        self.refused("is no store and not empty; name an empty folder", "run", plan, "--store", other)
        self.refused("cannot be opened .No such file or directory", "list", "--store", self.folder / "no")
        self.refused("the folder above it cannot be opened", "run", plan, "--store", self.folder / "no" / "no")
        self.refused("takes the name of a folder", "run", plan, "--store", "")
        self.refused("Not a directory", "run", plan, "--store", plan)
        self.refused("Not a directory", "check", "--store", plan)

    def test_words(self):
        plan, store, bundle = self.folder / "plan.yaml", self.folder / "store", self.folder / "it.exhibit"
        self.refused("Add -o BUNDLE or --store DIR", "run", plan)
        self.refused("not both", "run", plan, "-o", bundle, "--store", store)
        self.refused("Add --store DIR", "list")
        self.refused("list takes nothing but options", "list", store, "--store", store)
        self.refused("check --store takes nothing but options", "check", plan, "--store", store)
        self.refused("list takes --store and --json", "list", "--store", store, "-o", bundle)
        self.refused("check --store takes no other option", "check", "--store", store, "--json")
        self.refused("salvage starts nothing", "salvage", bundle, "-o", bundle, "--json")

    def test_a_plan_that_is_wrong_makes_no_store(self):
        store = self.folder / "store"
        self.refused("No such file", "run", self.folder / "no.yaml", "--store", store)
        self.refused("name a folder that exists", "run", self.folder / "plan.yaml", "--store", store, "--work",
                     self.folder / "no")

    def test_a_store_that_cannot_be_written(self):
        if os.geteuid() == 0 and not shutil.which("setpriv"):
            self.skipTest("root may write everywhere")
        it = Recorder("read-only")
        it.store.mkdir()
        (it.store / "exhibit-store").write_text("exhibit store 1\n")
        os.chmod(it.store, 0o555)
        os.chmod(it.place.folder, 0o777)
        os.chmod(it.place.folder / "work", 0o777)
        before = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
        done = it.place.record(it.words(), before=before)
        self.assertEqual((done.code, done.out), (5, ""))
        self.assertRegex(done.err, "store/lock: Permission denied")
        self.assertEqual(list((it.place.folder / "work").iterdir()), [])


class LongLists(unittest.TestCase):
    """Of a recording of many files that was killed."""

    def test_what_a_list_longer_than_a_block_names_is_salvaged_as_that(self):
        recorder = Recorder("long", tree=many_make)
        first, _ = recorder.record()
        second, _ = recorder.record()
        whole = inputs(first)
        self.assertEqual((len(whole), len(inputs(second))), (50, 0))
        for pack in first, second:
            cut, out = recorder.place.folder / "cut", recorder.place.folder / f"{pack.stem[:9]}.exhibit"
            cut.write_bytes(pack.read_bytes()[:-FOOTER_BYTES])
            with open(cut, "rb") as lives:
                fcntl.flock(lives, fcntl.LOCK_EX)  # as a recorder does
                told = run("exhibit-record", "salvage", cut, "--store", recorder.store, "-o", out)
                self.assertEqual((told.returncode, out.exists()), (2, False), told)
                self.assertIn("its recorder is still at work; wait until it has ended, or end it", told.stderr)
            made = run("exhibit-record", "salvage", cut, "--store", recorder.store, "-o", out)
            self.assertEqual(made.returncode, 3, made)
            self.assertIn("; 0 that it names are nowhere", made.stdout)
            bundle = Bundle(out)
            lists = {event.freeze.list_sha256 for event in bundle.of("freeze")}
            self.assertGreater(max(bundle.pack.size_of(digest, OBSERVATIONS) for digest in lists), 4 << 20)
            self.assertFalse(set(bundle.receipt.loose_sha256) & set(whole))  # these are its receipt and claim
            bundle.pack.close()
            self.assertEqual(inputs(out), whole)
            self.assertEqual(run("exhibit-verify", out).returncode, 3)


class Ended(unittest.TestCase):
    def test_a_recording_that_is_killed_is_named_by_the_next_one_and_harms_nothing(self):
        it = Recorder("killed")
        it.record()
        plan = it.place.folder / "plan.yaml"
        whole = plan.read_text()
        plan.write_text(whole.replace("echo fine", "touch {scratch}/there; sleep 60"))
        process = it.place.start(it.words())
        hostile_wait(lambda: list((it.place.folder / "work").glob("*/*/there")) +
                     list((it.place.folder / "work").glob("*/*/*/there")))
        process.kill()
        process.communicate()
        left = [path.name for path in it.store.glob(".recording.partial-*")]
        self.assertEqual(len(left), 1)
        code, out, _ = check(it.store)
        self.assertEqual(code, 0)
        self.assertIn(f"left      {left[0]}: ", out)
        plan.write_text(whole)
        pack, done = it.record()
        self.assertIn(left[0], done.err)
        self.assertEqual(inputs(pack), {})


def hostile_wait(ready):
    """Waits for something that a recording does."""
    for _ in range(2000):
        if ready():
            return
        subprocess.run(["sleep", "0.02"], check=True)
    raise AssertionError("it did not happen")


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
