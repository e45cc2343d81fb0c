#!/usr/bin/env python3
"""A machine on which no descriptor is left while a recording runs: usage: descriptors.py BUILD SOURCE"""
import os
import shutil
import sys
import unittest

import hostile
from hostile import ROOT, Place, claim_of, facts_of, met, shell


FOR_GOOD = 1000000000


class Descriptors(unittest.TestCase):
    """It ends in one clear line and exit 5, or goes on without a false word; and nothing is left."""

    def odd(self, name, **more):
        """Records a case that leaves a process, on a machine without descriptors at times."""
        script = "echo here; echo kept >{scratch}/kept; setsid sleep 300 </dev/null >/dev/null 2>&1 & sleep 0.1"
        place = Place(name, {"leaving": (shell(script), {"exit": 0}), "late": (shell("echo late"), {"exit": 0})})
        env = {**os.environ, "LD_PRELOAD": str(hostile.BUILD / "lib" / "libodd_libc.so"),
               "ASAN_OPTIONS": "verify_asan_link_order=0", **{key: str(value) for key, value in more.items()}}
        place.record(env=env)
        return place

    def opened(self, name):
        """How many things a recording opens, and how many pipes."""
        count = ROOT / name
        place = self.odd(f"all-{name}", ODD_COUNT=count)
        self.assertEqual(set(met(claim_of(place.bundle), "strict").values()), {True}, place.done)
        return [int(word) for word in count.read_text().split()]

    def told(self, place, what):
        """It could not go on, and said so in one line; no bundle is there, and nothing is left that is not named."""
        self.assertIn(place.done.code, (2, 5), place.done)
        self.assertEqual(place.done.err.count("\n"), 1, place.done)
        self.assertRegex(place.done.err, f"^exhibit-record: .*{what}")
        if place.bundle.exists():  # it was whole before the work folder could not be removed
            self.assertRegex(place.done.err, "^exhibit-record: [^ ]+/work/exhibit-[^ ]+ stays: ")
            self.assertEqual(hostile.verified(place.bundle)[0], 3)
            place.bundle.unlink()
        self.assertEqual([path.name for path in place.folder.iterdir() if "exhibit" in path.name], [])
        self.clean(place)

    def clean(self, place):
        """No process or control group is left; a work folder that could not be removed is named."""
        for path in (place.folder / "work").iterdir():
            self.assertIn(f"{path} stays", place.done.err)
            shutil.rmtree(path)
        self.assertEqual(hostile.leftovers(), [])

    def test_no_descriptor_for_a_pipe_while_it_records_is_told_and_nothing_is_left(self):
        _, pipes = self.opened("pipes")
        for number in range(2, pipes + 1, 5):
            with self.subTest(number):
                self.told(self.odd(f"pipes-{number}", ODD_PIPES=f"{number}:1"), "make a pipe: Too many open files")

    def test_no_descriptors_for_a_while_or_for_good_end_it_in_one_line_or_are_in_the_receipt_and_leave_nothing(self):
        files, _ = self.opened("files")
        ended = 0
        late = (2, 40, files // 3, files * 2 // 3)  # by then it has looked at the machine
        for number, count in [(number, 1) for number in (*range(3, 24), *late)] + [(number, FOR_GOOD) for number in late]:
            with self.subTest(f"{number}:{count} of {files}"):
                place = self.odd(f"files-{number}-{count}", ODD_FILES=f"{number}:{count}")
                if place.done.code == 3:
                    self.whole(place)
                else:
                    self.told(place, "(open files|Too many)")
                    ended += 1
        print(f"{ended} ended, of {files} things opened", file=sys.stderr)
        self.assertGreaterEqual(ended, 4)  # without any for good it cannot go on

    def whole(self, place):
        """The recording went on: then no fact is false."""
        self.assertEqual((place.done.code, place.done.err), (3, ""), place.done)
        self.clean(place)
        self.assertEqual(hostile.verified(place.bundle)[0], 3)
        facts = facts_of(place.bundle)
        self.assertEqual(set(met(claim_of(place.bundle), "strict").values()), {True})
        self.assertEqual({what.remaining for _, what in facts.all("all_gone")}, {0})
        self.assertEqual(facts.start.control_group, hostile.GROUP is not None)


unittest.main(argv=sys.argv[:1], verbosity=2)
