#!/usr/bin/env python3
"""The command line of exhibit-record: what is wrong is one line and exit 2, and nothing is started or left.

usage: options.py BUILD SOURCE
"""
import os
import sys
import unittest

import hostile
from hostile import BOOTSTRAP, FOR_BOOTSTRAP, Place, run, shell

FINE = {"fine": (shell("exit 0"), {"exit": 0})}


def setUpModule():
    global PLACE
    PLACE = Place("place", FINE)


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


class Options(unittest.TestCase):
    def refused(self, text, *words):
        before = sorted(PLACE.folder.rglob("*"))
        done = run("exhibit-record", *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done)
        self.assertRegex(done.stderr, "^exhibit-record: .*" + text)
        self.assertEqual(sorted(PLACE.folder.rglob("*")), before)

    def test_help_names_every_command(self):
        done = run("exhibit-record", "--help")
        for verb in ("run", "check", "salvage", "list", "export", "prune"):
            self.assertRegex(done.stdout, f"\n {{7}}exhibit-record {verb} |^usage: exhibit-record {verb} ")
            self.assertRegex(done.stdout, f"\n{verb} +[a-z]+")

    def test_version_goes_to_stdout_with_exit_0(self):
        done = run("exhibit-record", "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^exhibit-record [0-9]+\.[0-9]+\.[0-9]+\n$")

    def test_a_go_that_is_required_and_another_decision_are_exit_4_and_the_bundle_is_kept(self):
        for decision, trials in (("INCOMPLETE", ()), ("NO-GO", (BOOTSTRAP, FOR_BOOTSTRAP))):
            place = Place(f"required-{decision.lower()}", FINE, *trials)
            done = place.record(place.words("--require", "go"))
            self.assertEqual((done.code, done.err, done.out.splitlines()[-1]), (4, "", f"decision: {decision}"))
            self.assertEqual(hostile.verified(place.bundle)[0], 3 if decision == "INCOMPLETE" else 0)

    def test_wrong_words(self):
        plan, bundle = PLACE.folder / "plan.yaml", PLACE.bundle
        self.refused("nothing to do; see --help")
        self.refused("unknown command walk", "walk", plan, "-o", bundle)
        self.refused("exactly one PLAN", "run", "-o", bundle)
        self.refused("exactly one PLAN", "run", plan, plan, "-o", bundle)
        self.refused("Add -o BUNDLE", "run", plan)
        self.refused("unknown option --wrong", "run", plan, "-o", bundle, "--wrong")
        self.refused("unknown option -x", "run", plan, "-o", bundle, "-x")
        self.refused("-o needs a value", "run", plan, "-o")
        self.refused("--work needs a value", "run", plan, "-o", bundle, "--work")
        self.refused("--require no: the only thing", "run", plan, "-o", bundle, "--require", "no")

    def test_wrong_files(self):
        plan, bundle, folder = PLACE.folder / "plan.yaml", PLACE.bundle, PLACE.folder
        self.refused("No such file", "run", folder / "no.yaml", "-o", bundle)
        self.refused("No such file", "run", plan, "-o", bundle, "--oracle", folder / "no.yaml")
        self.refused("exists already", "run", plan, "-o", plan)
        self.refused("its folder cannot be opened", "run", plan, "-o", folder / "no" / "it.exhibit")
        self.refused("not a file name", "run", plan, "-o", f"{folder}/")
        self.refused("name a folder that exists", "run", plan, "-o", bundle, "--work", folder / "no")
        dangling = folder / "dangling.exhibit"
        os.symlink("/nonexistent", dangling)
        self.refused("exists already", "run", plan, "-o", dangling)

    def test_a_name_with_a_newline_is_still_one_line(self):
        self.refused("no.such", "run", PLACE.folder / "no\nsuch.yaml", "-o", PLACE.bundle)
        self.refused("un.known", "un\nknown")

    def test_what_is_printed_to_a_closed_descriptor_does_not_get_into_the_bundle(self):
        told = "exhibit-record: standard output: Bad file descriptor\n"
        for number, (closed, code, text) in enumerate((("<&-", 3, ""), ("2>&-", 3, ""), ("<&- 2>&-", 3, ""),
                                                       (">&-", 5, told), ("<&- >&- 2>&-", 5, ""))):
            place = Place(f"closed-{number}", FINE)
            done = place.record(before=["/bin/sh", "-c", f'exec "$@" {closed}', "--"])
            self.assertEqual((done.code, done.err), (code, text), closed)
            self.assertEqual(hostile.verified(place.bundle)[0], 3, closed)


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
