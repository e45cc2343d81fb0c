#!/usr/bin/python3
"""Bundles of long ago say what they said: usage: golden.py BUILD SOURCE

tests/golden/ has bundles as they were recorded once, never to be made anew, and beside each the claim that it had then:
of receipts of version 1 and 2, one with a secret and withheld local contents, one that says partial. Whoever changes what
an event, an oracle or a rule means sees it here: older bundles stay readable, and keep their decision.
"""
import json
import pathlib
import subprocess
import sys
import unittest

import fourth

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
GOLDEN = sorted((SOURCE / "tests" / "golden").glob("*.exhibit"))
VERSIONS = {"first": 1, "partial": 1, "second": 2}


def run(program, *words):
    return subprocess.run([BUILD / "bin" / program, *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


class Golden(unittest.TestCase):
    def each(self):
        self.assertEqual({path.stem for path in GOLDEN}, set(VERSIONS))
        for path in GOLDEN:
            with self.subTest(path.stem):
                yield path, json.loads(path.with_suffix(".json").read_text())

    def test_the_fourth_judge_says_what_was_said_then(self):
        for path, claim in self.each():
            self.assertEqual(fourth.differences(path, claim), [])
            self.assertEqual(fourth.differs_from_recorded(path), [])

    def test_replay_and_verify_say_the_same(self):
        for path, claim in self.each():
            code = 3 if claim["decision"] == "INCOMPLETE" else 0
            done = run("exhibit-replay", path, "--json")
            self.assertEqual((done.returncode, done.stderr), (code, ""))
            self.assertEqual(fourth.differences(path, json.loads(done.stdout)), [])
            done = run("exhibit-verify", path, "--json")
            told = json.loads(done.stdout)
            self.assertEqual((done.returncode, told["verdict"], told["findings"]), (code, "verified", []))
            self.assertEqual(fourth.differences(path, told["claim"]), [])

    def test_the_recorder_would_claim_the_same_today(self):
        for path, claim in self.each():
            if path.stem != "partial":  # the recorder's judge knows whole recordings alone
                said = json.loads(run("rejudge", path).stdout)
                self.assertEqual(fourth.differences(path, said), [])

    def test_they_are_of_each_version_that_there_was(self):
        for path, _ in self.each():
            with fourth.opened(path) as bundle:
                self.assertEqual((bundle.receipt.version, bundle.receipt.partial),
                                 (VERSIONS[path.stem], path.stem == "partial"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
