#!/usr/bin/env python3
"""Local inputs: kept in the store apart, withheld by an export or taken along, and an export that would tell them is refused.

usage: local_inputs.py BUILD SOURCE
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest

import fourth
import hostile
from hostile import BOOTSTRAP, BUILD, FOR_BOOTSTRAP, SOURCE, STRICT, Place, run, shell

FILES = {"small.txt": os.urandom(20).hex(), "notes.md": os.urandom(900).hex(), "lib/code.js": os.urandom(70000).hex(),
         "again.js": None, "empty": "", "short": "x" * 31}
FILES["again.js"] = FILES["lib/code.js"]  # the same content twice is one object
OBJECTS = 5
FIXTURE = os.urandom(500).hex()
QUIET = shell("cat notes.md lib/code.js | sha256sum; cut -c1-31 small.txt")
LEAKS = {  # what a case does: where an export finds it
    "prints": ("cat notes.md", "stdout of baseline case tells"),
    "prints-a-piece": ("echo; dd if=lib/code.js bs=1 skip=4111 count=63 status=none >&2", "stderr of baseline case"),
    "packs": ("tar -czf {scratch}/a.tgz lib", "a member of an archive of baseline case tells: a.tgz"),
    "copies": ("cp notes.md {scratch}/kept", "an artifact of baseline case tells: kept"),
    "says": ('sh -c "sleep 0.5; :" "$(head -c 200 notes.md)"; :', "the event log"),
}


class Stored:
    """One recording into a store of its own."""

    def __init__(self, name, case, trials=(), oracle_trials=(), local=("workspace",), **more):
        self.place = Place(name, {"tells": (case, {"exit": 0})}, trials, oracle_trials, STRICT, workspace="w",
                           inputs=[{"name": "fixtures", "path": "fixtures"}], local=list(local), **more)
        self.folder = self.place.folder
        for path, content in FILES.items():
            (self.folder / "w" / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "w" / path).write_text(content)
        (self.folder / "w" / "link").symlink_to("notes.md")
        (self.folder / "fixtures").mkdir()
        (self.folder / "fixtures" / "f").write_text(FIXTURE)
        self.store = self.folder / "store"

    def words(self):
        return [BUILD / "bin" / "exhibit-record", "run", self.folder / "plan.yaml", "--store", self.store, "--work",
                self.folder / "work"]

    @property
    def pack(self):
        (found,) = self.store.glob("*.pack")
        return found

    def export(self, name, *more):
        target = self.folder / name
        return run("exhibit-record", "export", self.pack.stem, "--store", self.store, "-o", target, *more), target


def setUpModule():
    global GOOD, LEAKING
    GOOD = Stored("good", QUIET, BOOTSTRAP, FOR_BOOTSTRAP)
    LEAKING = {name: Stored(name, shell(script)) for name, (script, _) in LEAKS.items()}
    hostile.record_all([(stored.place, {"words": stored.words()}) for stored in (GOOD, *LEAKING.values())], at_once=3)


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


def unpacked(path):
    return hostile.plain(path)


def verdict(path, *more):
    done = run("exhibit-verify", path, "--json", *more)
    return done.returncode, json.loads(done.stdout), done.stderr


class Recorded(unittest.TestCase):
    def test_a_bundle_of_its_own_is_refused_before_anything_starts(self):
        done = run(*GOOD.place.words()[0:1], *GOOD.place.words()[1:])
        self.assertEqual((done.returncode, done.stderr.count("\n"), GOOD.place.bundle.exists()), (2, 1, False), done)
        self.assertIn("record it with --store DIR instead of -o", done.stderr)

    def test_the_pack_has_no_content_and_no_digest_that_could_be_tried_out(self):
        self.assertEqual(GOOD.place.done.code, 0, GOOD.place.done)
        content = unpacked(GOOD.pack)
        for text in FILES.values():
            if len(text) > 31:
                self.assertNotIn(text.encode(), content)
            self.assertNotIn(hashlib.sha256(text.encode()).digest(), content if text else b"")
        self.assertNotIn(hashlib.sha256(b"notes.md").digest(), content)  # of the link's target
        self.assertIn(FIXTURE.encode(), content)
        self.assertIn(FILES["notes.md"].encode(), unpacked(GOOD.pack.with_suffix(".local")))

    def test_the_pack_as_it_stands_is_verified_with_its_local_objects_withheld(self):
        code, told, _ = verdict(GOOD.pack)
        self.assertEqual((code, told["verdict"]), (0, "verified"))
        self.assertEqual(told["withheld"]["inputs"], [{"input": "workspace", "objects": OBJECTS, "here": 0}])
        holding = [rule["rule"] for rule in told["claim"]["rules"] if rule["holds"]]
        self.assertEqual(told["withheld"]["rules_without"], holding)
        self.assertEqual(fourth.withheld(GOOD.pack), {"workspace": OBJECTS})
        self.assertEqual(hostile.claim_of(GOOD.pack)["decision"], told["claim"]["decision"])

    def test_no_rule_is_harmed(self):
        holds = {rule["rule"]: rule["holds"] for rule in hostile.claim_of(GOOD.pack)["rules"]}
        for rule in ("complete.pins", "useful.contract", "useful.archives", "complete.recording"):
            self.assertTrue(holds[rule], rule)

    def test_each_recording_has_a_salt_of_its_own(self):
        before = set(GOOD.store.glob("*.local"))
        again = Stored("again", QUIET)
        self.assertEqual(again.place.record(words=again.words()).code, 3, again.place.done)
        heads = []
        for path in (*before, *again.store.glob("*.local")):
            content = unpacked(path)
            heads.append(content[content.index(FILES["notes.md"].encode()) - 32:][:32])
        self.assertEqual(len(set(heads)), 2)


class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        (cls.done, cls.bare), (cls.done_with, cls.whole) = GOOD.export("bare.exhibit"), GOOD.export(
            "whole.exhibit", "--with-local")

    def test_both_are_written(self):
        self.assertEqual((self.done.returncode, self.done_with.returncode), (0, 0), (self.done, self.done_with))

    def test_without_them_it_is_verified_and_says_how_many_are_withheld(self):
        code, told, _ = verdict(self.bare)
        self.assertEqual((code, told["verdict"]), (0, "verified"))
        self.assertEqual(told["withheld"]["inputs"], [{"input": "workspace", "objects": OBJECTS, "here": 0}])
        self.assertEqual(fourth.withheld(self.bare), {"workspace": OBJECTS})
        content = unpacked(self.bare)
        self.assertNotIn(FILES["notes.md"].encode(), content)
        self.assertIn(FIXTURE.encode(), content)
        text = run("exhibit-verify", self.bare).stdout
        self.assertIn(f"local        workspace: {OBJECTS} objects withheld, 0 here\n", text)
        self.assertIn("These hold without: ", text)

    def test_with_them_it_is_verified_and_nothing_is_withheld(self):
        code, told, _ = verdict(self.whole)
        self.assertEqual((code, told["verdict"]), (0, "verified"))
        self.assertEqual(told["withheld"], {"inputs": [{"input": "workspace", "objects": 0, "here": OBJECTS}],
                                            "rules_without": []})
        self.assertEqual(fourth.withheld(self.whole), {"workspace": 0})
        self.assertIn(FILES["notes.md"].encode(), unpacked(self.whole))

    def test_both_have_the_same_claim_of_every_judge(self):
        first, second = hostile.claim_of(self.bare), hostile.claim_of(self.whole)
        self.assertEqual(first, second)
        self.assertEqual(first["decision"], verdict(self.whole)[1]["claim"]["decision"])

    def test_a_source_is_compared_where_the_salt_is_known(self):
        other = GOOD.folder / "other"
        shutil.copytree(GOOD.folder / "w", other, symlinks=True)
        self.assertEqual(verdict(self.whole, "--source", other)[0], 0)
        (other / "notes.md").write_text(FILES["notes.md"][:-1] + "x")
        code, told, _ = verdict(self.whole, "--source", other)
        self.assertEqual((code, told["findings"]), (1, ['the source differs: "notes.md" has another content']))
        (other / "link").unlink()
        (other / "link").symlink_to("notes.mx")
        self.assertIn('the source differs: "link" has another content', verdict(self.whole, "--source", other)[1]["findings"])
        shutil.rmtree(other)

    def test_a_source_is_not_called_the_same_where_the_salt_is_not_known(self):
        code, _, said = verdict(self.bare, "--source", GOOD.folder / "w")
        self.assertEqual((code, said.count("\n")), (5, 1), said)
        self.assertIn("--source was not compared by content", said)
        other = GOOD.folder / "longer"
        shutil.copytree(GOOD.folder / "w", other, symlinks=True)
        (other / "short").write_text("y" * 30)
        code, told, _ = verdict(self.bare, "--source", other)
        self.assertEqual((code, told["findings"]), (1, ['the source differs: "short" has another size']))
        shutil.rmtree(other)


class Refused(unittest.TestCase):
    def test_an_export_that_would_tell_local_content_is_refused_by_file_and_place(self):
        for name, (_, where) in LEAKS.items():
            with self.subTest(name):
                stored = LEAKING[name]
                done, target = stored.export("out.exhibit")
                self.assertEqual((done.returncode, done.stderr.count("\n"), target.exists()), (2, 1, False), done)
                self.assertIn(where, done.stderr)
                self.assertRegex(done.stderr, "has content of the local file (notes.md|again.js|lib/code.js)")
                self.assertIn("--with-local", done.stderr)
                self.assertEqual([path for path in stored.folder.iterdir() if "partial" in path.name], [])

    def test_with_local_they_are_exported(self):
        for name, stored in LEAKING.items():
            with self.subTest(name):
                done, target = stored.export("with.exhibit", "--with-local")
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(verdict(target)[1]["verdict"], "verified")

    def test_what_is_gone_cannot_be_looked_for(self):
        stored = LEAKING["prints"]
        hidden = stored.pack.with_suffix(".local")
        hidden.rename(stored.folder / "aside")
        try:
            for more in ((), ("--with-local",)):
                done, target = stored.export("gone.exhibit", *more)
                self.assertEqual((done.returncode, done.stderr.count("\n"), target.exists()), (1, 1, False), done)
                self.assertIn("local contents", done.stderr)
            receipt = stored.pack.stem
            done = run("exhibit-record", "check", "--store", stored.pack.parent)
            self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (
                1, f"concerns  {receipt}: its local contents are gone: there is no file of its name with .local"))
            self.assertIn("1 receipt concerned", done.stdout)
            done = run("exhibit-record", "list", "--store", stored.pack.parent, "--json")
            listed = map(json.loads, done.stdout.splitlines())
            self.assertEqual([(entry["local"], entry["local_missing"]) for entry in listed], [(False, True)])
            done = run("exhibit-record", "list", "--store", stored.pack.parent)
            self.assertIn("  local contents are missing\n", done.stdout)
        finally:
            (stored.folder / "aside").rename(hidden)
        done = run("exhibit-record", "check", "--store", stored.pack.parent)
        self.assertEqual((done.returncode, "local" in done.stdout), (0, False), done.stdout)

    def test_a_damaged_container_of_local_contents_is_no_reason_to_export(self):
        stored = LEAKING["copies"]
        path = stored.pack.with_suffix(".local")
        content = path.read_bytes()
        half = len(content) // 2  # in the block
        path.write_bytes(content[:half] + bytes([content[half] ^ 1]) + content[half + 1:])
        try:
            for more in ((), ("--with-local",)):
                done, target = stored.export("damaged.exhibit", *more)
                self.assertEqual((done.returncode, target.exists()), (1, False), done)
                self.assertRegex(done.stderr, r"[0-9a-f]{64}\.local: input block 0, ")
        finally:
            path.write_bytes(content)


class Tampered(unittest.TestCase):
    WANTED = {"salt": "does not begin with the salt of the others", "size": "the object of a local file of",
              "version": "FORMAT 8.1: of version 1", "stray": "no record names the input"}

    def changed(self, name):
        target = GOOD.folder / f"tampered-{name}.exhibit"
        source = GOOD.folder / "for-tampering.exhibit"
        if not source.exists():
            self.assertEqual(GOOD.export(source.name, "--with-local")[0].returncode, 0)
        subprocess.run([sys.executable, SOURCE / "tests" / "tamper" / "apart.py", source, target, name], check=True)
        return target

    def test_verify_and_the_fourth_judge_refuse_what_is_not_apart_as_it_is_said(self):
        for name, text in self.WANTED.items():
            with self.subTest(name):
                target = self.changed(name)
                code, told, _ = verdict(target)
                self.assertEqual(code, 1, told["findings"])
                self.assertTrue([finding for finding in told["findings"] if text in finding], told["findings"])
                self.assertTrue(fourth.refusal(target))

    def test_another_content_with_the_right_salt_is_another_workspace(self):
        """All lists agree on it, so that it is a valid bundle of another tree; the source tells."""
        target = self.changed("content")
        self.assertEqual(verdict(target)[1]["verdict"], "verified")
        self.assertEqual(verdict(target, "--source", GOOD.folder / "w")[0], 1)


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
