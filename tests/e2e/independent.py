#!/usr/bin/python3
"""The independent judge agrees with the recorded claims and with replay: usage: independent.py BUILD SOURCE

It looks at every bundle of the fixture, and at bundles that are made of theirs with facts that no recording had.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "tests" / "independent"))

import judge  # noqa: E402
import matched  # noqa: E402
import mutations  # noqa: E402
import odd_oracles  # noqa: E402
import oracle as oracles  # noqa: E402
from pack import Refused  # noqa: E402
from records import Bundle  # noqa: E402
from remake import remade  # noqa: E402
from scene import Scene  # noqa: E402

BUNDLES = sorted((BUILD / "test-bundles").glob("*.exhibit"))
PROGRAM = SOURCE / "tests" / "independent" / "judge_bundle.py"
ORACLE = SOURCE / "experiments" / "hook-confinement" / "oracle.yaml"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def judged(path, raw=None):
    """The claim that the independent judge makes of a bundle, under the recorded oracle or another."""
    bundle = Bundle(path)
    raw = raw or bundle.pack.read(bundle.start.oracle_sha256, oracles.LIMIT_YAML)
    claim = judge.judge(bundle, oracles.read(raw), hashlib.sha256(raw).digest())
    bundle.pack.close()
    return claim


class Recorded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def agrees(self, bundle, *words):
        """Both judges say the same of the bundle; gives the independent one's exit code."""
        theirs = run(BUILD / "bin" / "exhibit-replay", bundle, "--json", *words)
        self.assertTrue(theirs.stdout, theirs.stderr)
        claim = pathlib.Path(self.folder.name) / "claim.json"
        claim.write_text(theirs.stdout)
        mine = run(PROGRAM, bundle, "--json", "--compare", claim, *words)
        self.assertEqual(mine.stderr, "")
        self.assertEqual(mine.returncode, theirs.returncode)
        self.assertEqual(list(judge.differences(json.loads(mine.stdout), json.loads(theirs.stdout))), [])
        return mine.returncode

    def test_there_are_bundles(self):
        self.assertGreater(len(BUNDLES), 0)

    def test_every_bundle_is_judged_as_it_was_recorded_and_as_replay_judges_it(self):
        for bundle in BUNDLES:
            with self.subTest(bundle.name):
                self.assertIn(self.agrees(bundle), (0, 3))

    def test_a_bundle_is_judged_the_same_under_another_oracle(self):
        for bundle in BUNDLES:
            with self.subTest(bundle.name):
                self.agrees(bundle, "--oracle", ORACLE)

    def test_a_flipped_byte_anywhere_is_refused(self):
        raw = BUNDLES[0].read_bytes()
        damaged = pathlib.Path(self.folder.name) / "damaged.exhibit"
        for place in range(0, len(raw), len(raw) // 23):
            damaged.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1:])
            with self.subTest(place), self.assertRaises(Refused):
                judged(damaged)
        done = run(PROGRAM, damaged)
        self.assertEqual((done.returncode, "FORMAT " in done.stderr), (1, True), done.stderr)


class Odd(unittest.TestCase):
    """What is no oracle is none to either reader."""

    def test_odd_oracles_are_refused_or_taken_alike(self):
        with tempfile.TemporaryDirectory() as folder:
            path, taken, bundle = pathlib.Path(folder) / "oracle.yaml", 0, BUNDLES[0].with_name("exits.exhibit")
            for text in odd_oracles.texts():
                with self.subTest(text[-100:]):
                    path.write_text(text)
                    done = run(BUILD / "bin" / "exhibit-replay", bundle, "--oracle", path)
                    self.assertIn(done.returncode, (0, 2, 3), done.stderr)
                    try:
                        oracles.read(text.encode())
                        self.assertNotEqual(done.returncode, 2, done.stderr)
                        taken += 1
                    except oracles.BadOracle as error:
                        self.assertEqual(done.returncode, 2, error)
            self.assertGreater(taken, 50)


def judges(path, *words):
    """(program, claim) of replay, and of verify where it makes one: it does not where a binding is broken too."""
    theirs = run(BUILD / "bin" / "exhibit-replay", path, "--json", *words)
    yield "replay", json.loads(theirs.stdout or json.dumps({"error": theirs.stderr}))
    verdict = json.loads(run(BUILD / "bin" / "exhibit-verify", path, "--json", *words).stdout)
    if verdict.get("claim"):
        yield "verify", verdict["claim"]


class Made(unittest.TestCase):
    """Facts that no recording had, made of one that is GO."""

    def setUp(self):
        self.source = BUILD / "test-bundles" / "usable.exhibit"
        self.bundle = Bundle(self.source)
        self.addCleanup(self.bundle.pack.close)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "made.exhibit"

    def make(self, change):
        scene = Scene(self.bundle)
        change(scene)
        self.path.write_bytes(remade(self.bundle, scene.events, scene.objects, scene.partial))

    def test_every_mutation_fails_its_rules_alike(self):
        before = {rule["rule"] for rule in judged(self.source)["rules"] if not rule["holds"]}
        for name, (rules, change) in mutations.MUTATIONS.items():
            with self.subTest(name):
                self.make(change)
                claim = judged(self.path)
                failing = {rule["rule"] for rule in claim["rules"] if not rule["holds"]}
                self.assertEqual(failing, before | set(rules))
                for program, theirs in judges(self.path):
                    self.assertEqual(list(judge.differences(claim, theirs)), [], program)

    def test_every_matcher_holds_alike(self):
        table = matched.HOLD + matched.FAIL
        wanted = [True] * len(matched.HOLD) + [False] * len(matched.FAIL)
        self.make(lambda scene: matched.printed(scene, "inspect-benign", table))
        oracle = pathlib.Path(self.folder.name) / "oracle.yaml"
        oracle.write_text(matched.oracle_text(table))
        claims = [("independent", judged(self.path, oracle.read_bytes())), *judges(self.path, "--oracle", oracle)]
        self.assertGreaterEqual(len(claims), 2)
        for program, claim in claims:
            met = {case["name"]: case["met"] for case in claim["cases"]}
            for place, (entry, holds) in enumerate(zip(table, wanted)):
                with self.subTest(program=program, text=entry[0][:40], matcher=entry[1]):
                    self.assertEqual(met[f"c{place}"], holds)


unittest.main(argv=sys.argv[:1], verbosity=2)
