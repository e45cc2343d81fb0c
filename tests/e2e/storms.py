#!/usr/bin/env python3
"""Storms of processes: what is never there when one looks, thousands of forks, a recorder that cannot keep up.

usage: storms.py BUILD SOURCE
"""
import concurrent.futures
import os
import signal
import subprocess
import sys
import time
import unittest

import hostile
from hostile import (AS_USER, BOOTSTRAP, FOR_BOOTSTRAP, NO_GROUPS, ROOT, Place, claim_of, facts_of, failing, for_user, met,
                     shell, subject)


def forks_of_a_storm():
    """10,000, or fewer where the machine takes long for each: as many as a second is enough for."""
    began = time.monotonic()
    subprocess.run([subject("storm"), "200"], check=True, stdout=subprocess.DEVNULL)
    return max(1000, min(10000, int(200 / (time.monotonic() - began))))


FORKS = forks_of_a_storm()
FEWER = FORKS // 2  # in the storms during which the recorder is stopped
PROBE = "exhibit-probe run parent"


def storm(count):
    return {"storm": ({"command": [subject("storm"), str(count)]}, {"exit": 0, "stdout": {"equals": f"{count}\n"}})}


def storming(name, program, count):
    """A place whose launcher starts a storm beside each trial."""
    launcher = ROOT / f"storming-{count}"  # which is not to be in its argv
    launcher.write_text(f'#!/bin/sh\n"$1" {count} >/dev/null &\nshift\nexec "$@"\n')
    launcher.chmod(0o755)
    candidate = {"name": "storming", "argv": [str(launcher), program, "{command}"]}
    return Place(name, {}, BOOTSTRAP, FOR_BOOTSTRAP, candidate)


def setUpModule():
    global PLACES, HELD_UP
    hydra = {"hydra": ({"command": [subject("hydra"), "1000"]}, {"exit": 0}),
             "quick-hydra": ({"command": [subject("hydra"), "0"]}, {"exit": 0})}
    leaderless = {"leaderless": (shell(f"{subject('leaderless')} & sleep 0.3"), {"exit": 0})}
    ring = {"env": hostile.odd(ODD_ROOM="4096")}
    socket = {"env": hostile.odd(ODD_ROOM="4096", ODD_NO_BPF="1")}
    PLACES = {"hydra": Place("hydra", hydra), "leaderless": Place("leaderless", leaderless),
              "storm": Place("storm", storm(FORKS)),
              "little-room-storm": Place("little-room-storm", storm(FEWER + 1))}  # by that number it is told from others
    for name, program, count in (("storm-in-trial", subject("storm"), FORKS),
                                 ("little-room-storm-in-trial", subject("storm"), FEWER),
                                 ("storm-of-user", str(ROOT / "toolkit" / "bin" / "storm"), FEWER)):
        PLACES[name] = storming(name, program, count)
    hostile.record_all([
        (PLACES["hydra"], {"before": NO_GROUPS}),
        (PLACES["leaderless"], {"before": NO_GROUPS, "words": PLACES["leaderless"].words("--snapshots")}),
    ])
    hostile.record_all([PLACES["storm"], PLACES["storm-in-trial"]], 1)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        held = [pool.submit(held_up, PLACES[name], beside, words, before, **more) for name, beside, words, before, more in (
            ("little-room-storm", [f"storm {FEWER + 1}"], None, (), ring),
            ("little-room-storm-in-trial", [PROBE, "/little-room-storm-in-trial/"], None, (), socket),
            ("storm-of-user", [PROBE, "/storm-of-user/"], for_user(PLACES["storm-of-user"]), AS_USER, {}))]
        *_, HELD_UP = [made.result() for made in held]


def observer_of(place):
    return hostile.name_of(facts_of(place.bundle).start, "process_observer")


def held_up(place, beside, words=None, before=(), **more):
    """Makes a recording, stopped for a while when a storm rages beside a process in whose argv these texts are. Returns
    whether it was. In little room what others start can take the place of the event by which the recorder
    tests it, and then it takes snapshots: that is recorded again."""
    for tries_left in (4, 3, 2, 1, 0):
        held = recorded_once(place, beside, words, before, **more)
        if not (more and tries_left and place.bundle.exists()) or observer_of(place) == observer_of(PLACES["storm"]):
            return held
        place.bundle.unlink()


def recorded_once(place, beside, words, before, **more):
    process = place.start(words, before, **more)
    held = False
    while process.poll() is None and not held:
        found = list(hostile.processes().values())
        held = any(f"storm {FEWER}" in argv or f"storm {FEWER + 1}" in argv for argv in found) and any(
            all(text in argv for text in beside) for argv in found)
        time.sleep(0.05)  # a look at all processes is no small work
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.7)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    place.done = hostile.Done(process.returncode, out.decode(), err.decode(), 0, place.bundle)
    return held


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


class Storms(unittest.TestCase):
    def forks(self, facts, run):
        seen = {what.pid for _, what in facts.all("process_fork", run)}
        ended = [what.pid for _, what in facts.all("process_exit", run) if what.exit_status == 3]
        return len(facts.all("process_fork", run)), len(ended), set(ended) <= seen

    def test_what_is_never_there_when_one_looks_is_ended_without_a_control_group_too(self):
        facts = facts_of(PLACES["hydra"].bundle)
        self.assertFalse(facts.start.control_group)
        for name in ("hydra", "quick-hydra"):
            for mode in ("baseline", "strict"):
                self.assertEqual(facts.one("all_gone", (name, mode))[1].remaining, 0, (name, mode))
        self.assertEqual(met(claim_of(PLACES["hydra"].bundle), "strict"), {"hydra": True, "quick-hydra": True})

    def test_a_process_of_which_the_first_thread_has_ended_is_seen_and_ended_by_snapshots_alone(self):
        facts = facts_of(PLACES["leaderless"].bundle)
        self.assertFalse(facts.start.control_group)
        for mode in ("baseline", "strict"):
            run = ("leaderless", mode)
            self.assertEqual(hostile.name_of(facts.one("cleanup", run)[1], "reason"), "REASON_LEFTOVER")
            self.assertEqual(facts.one("all_gone", run)[1].remaining, 0)

    def test_of_thousands_of_forks_in_a_case_none_is_missed_or_the_loss_is_told(self):
        facts = facts_of(PLACES["storm"].bundle)
        self.assertEqual(set(met(claim_of(PLACES["storm"].bundle), "strict").values()), {True})
        if hostile.name_of(facts.start, "process_observer") != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events here")
        for mode in ("baseline", "strict"):
            self.case_told_or_whole(facts, mode)

    def case_told_or_whole(self, facts, mode, count=FORKS):
        """Where none was told to be lost, none is missing. Returns how many were (at least)."""
        forks, ended, fit = self.forks(facts, ("storm", mode))
        told = sum(what.count for _, what in facts.all("lost", ("storm", mode)))
        if told == 0:
            self.assertEqual((forks, ended, fit), (count + 1, count, True))
        return told

    def test_what_a_ring_of_little_room_loses_in_a_case_is_told_and_a_socket_in_a_trial_makes_the_decision_incomplete(self):
        for name in ("storm", "storm-in-trial"):
            place = PLACES[f"little-room-{name}"]
            facts, claim = facts_of(place.bundle), claim_of(place.bundle)
            if hostile.name_of(facts.start, "process_observer") != "SOURCE_PROCESS_EVENTS":
                self.skipTest("no process events here")
            if name == "storm":
                lost = [self.case_told_or_whole(facts, mode, FEWER + 1) for mode in ("baseline", "strict")]
                self.assertGreater(sum(lost), 0)  # it was held up in the first at least
                self.assertEqual(set(met(claim, "strict").values()), {True})
            else:
                self.assertTrue(facts.all("lost", ("bootstrap", "strict")))
                self.assertEqual(self.told_or_whole(place), "told")
                self.assertEqual(place.done.out.splitlines()[-1], "decision: INCOMPLETE")

    def told_or_whole(self, place, count=FORKS):
        facts, claim = facts_of(place.bundle), claim_of(place.bundle)
        run = ("bootstrap", "strict")
        if facts.all("lost", run):
            self.assertEqual(place.done.code, 3, place.done)
            self.assertIn("complete.observers", failing(claim))
            self.assertEqual(hostile.verified(place.bundle)[0], 3)
            return "told"
        self.assertEqual(place.done.code, 0, place.done)
        forks, ended, fit = self.forks(facts, run)
        self.assertTrue(forks > count and ended == count and fit, (forks, ended, fit))
        return "whole"

    def test_of_thousands_of_forks_beside_a_probe_none_is_missed_or_the_decision_is_incomplete(self):
        place = PLACES["storm-in-trial"]
        if observer_of(place) != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events here")
        self.told_or_whole(place)

    def test_a_user_whose_recorder_is_held_up_misses_none_or_the_decision_is_incomplete(self):
        place = PLACES["storm-of-user"]
        if observer_of(place) != "SOURCE_PROCESS_EVENTS":
            self.skipTest("no process events for users here")
        self.assertTrue(HELD_UP, "the recorder was held up while the storm was beside the probe")
        # A slow storm may be over before, or slower than the reader: then nothing was lost.
        self.told_or_whole(place, FEWER)


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
