#!/usr/bin/env python3
"""What is the caller's stays the caller's; two recordings at once do not see each other; nothing is left behind.

usage: secrets.py BUILD SOURCE
"""
import base64
import os
import subprocess
import sys
import unittest

import hostile
from hostile import BOOTSTRAP, FOR_BOOTSTRAP, ROOT, STRICT, Place, claim_of, facts_of, met, shell

WORDS = {name: f"{name}-" + os.urandom(24).hex() for name in ("environment", "npmrc", "netrc", "argv")}
MODES = ("baseline", "strict")
LOOKS = ('env; echo "home=$HOME"; cat ~/.npmrc ~/.netrc ~/.config/* 2>/dev/null; cat "$npm_config_userconfig"; '
         'ls -la ~ >&2; ls /proc/self/fd >&2; : {scratch}')


def setUpModule():
    global FIRST, SECOND, THIRD, OTHER
    home = ROOT / "home"
    (home / ".config").mkdir(parents=True)
    (home / ".npmrc").write_text(f"//registry.example/:_authToken={WORDS['npmrc']}\n")
    (home / ".netrc").write_text(f"machine example login me password {WORDS['netrc']}\n")
    (home / ".config" / "tool").write_text(WORDS["netrc"])
    caller = {**os.environ, "HOME": str(home), "TOKEN": WORDS["environment"], "XDG_CONFIG_HOME": str(home / ".config"),
              "npm_config_userconfig": str(home / ".npmrc"), "NPM_TOKEN": WORDS["environment"]}
    # A stranger that starts and ends processes with the secret in their argv all the while.
    OTHER = subprocess.Popen(["/bin/sh", "-c", f"while :; do sh -c 'exec sleep 0.02' {WORDS['argv']}; done",
                              WORDS["argv"]], start_new_session=True)
    cases = {"looks": (shell(LOOKS), {"exit": 0}), "sleeps": (shell("sleep 0.5; : $0"), {"exit": 0})}
    FIRST, SECOND = (Place(name, cases, BOOTSTRAP, FOR_BOOTSTRAP, STRICT) for name in ("first", "second"))
    THIRD = Place("third", {"looks": cases["looks"]}, candidate=STRICT)
    default_work = THIRD.words()[:-2]
    hostile.record_all([(FIRST, {"env": caller}), (SECOND, {"env": caller, "words": SECOND.words("--snapshots")}),
                        (THIRD, {"env": caller, "words": default_work})])
    os.killpg(OTHER.pid, 9)
    OTHER.wait()


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


def forms(word):
    """A text as it stands and as it may have been encoded."""
    plain = word.encode()
    yield "plain", plain
    yield "hex", plain.hex().encode()
    yield "HEX", plain.hex().upper().encode()
    for begin in range(3):  # by where it begins in what was encoded; the ends depend on what is beside it
        coded = base64.b64encode(b"\0" * begin + plain)
        yield f"base64+{begin}", coded[4:len(coded) // 4 * 4 - 4]
        yield f"base64url+{begin}", base64.urlsafe_b64encode(b"\0" * begin + plain)[4:len(coded) // 4 * 4 - 4]


class Secrets(unittest.TestCase):
    def test_the_recordings_came_to_their_end(self):
        self.assertEqual((FIRST.done.code, SECOND.done.code, THIRD.done.code), (0, 0, 3), (FIRST.done, SECOND.done))

    def test_no_secret_of_the_caller_is_in_a_bundle_in_any_form(self):
        for place in (FIRST, SECOND, THIRD):
            content = hostile.plain(place.bundle)
            for name, word in WORDS.items():
                for form, needle in forms(word):
                    self.assertFalse(needle in content, f"{name} as {form} in {place.name}")
        planted = b"x" + WORDS["argv"].encode() + b"y"  # the search finds what it should
        for coded in (planted, planted.hex().encode(), base64.b64encode(planted), base64.b64encode(b"zz" + planted)):
            self.assertTrue(any(needle in coded for _, needle in forms(WORDS["argv"])))

    def test_a_command_gets_nothing_but_what_the_plan_and_the_recorder_give(self):
        own = {"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
               "XDG_RUNTIME_DIR", "npm_config_userconfig", "npm_config_globalconfig", "npm_config_cache", "PATH"}
        for place in (FIRST, SECOND, THIRD):
            facts = facts_of(place.bundle)
            for mode in MODES:
                lines = facts.bytes(("looks", mode), "stdout").decode().splitlines()
                names = {line.split("=")[0] for line in lines}
                self.assertEqual(names - {"PWD", "SHLVL", "_", "OLDPWD", "home", "STRICT"}, own)
                self.assertTrue([line for line in lines if line.startswith("home=" + facts.start.work_dir.decode())])

    def test_each_file_and_folder_of_a_recording_is_its_own(self):
        works = [facts_of(place.bundle).start.work_dir.decode() for place in (FIRST, SECOND, THIRD)]
        self.assertEqual(len(set(works)), 3)
        self.assertEqual(os.path.dirname(works[2]), "/var/tmp")
        self.assertEqual([work for work in works if os.path.exists(work)], [])
        for place, others in ((FIRST, works[1:]), (SECOND, works[::2])):
            content = hostile.plain(place.bundle)
            for other in others:
                self.assertFalse(other.encode() in content, (place.name, other))


class TwoAtOnce(unittest.TestCase):
    def setUp(self):
        self.facts = [facts_of(place.bundle) for place in (FIRST, SECOND)]

    def test_they_did_run_at_once(self):
        (began, ended), (other_began, other_ended) = (
            (facts.bundle.events[0].at_ns, facts.bundle.events[-1].at_ns) for facts in self.facts)
        self.assertLess(max(began, other_began) + 3e9, min(ended, other_ended))

    def test_neither_has_a_process_of_the_other_or_of_a_stranger(self):
        seen = [{(what.pid, what.start_time) for _, what in facts.all("process_identity")} for facts in self.facts]
        self.assertFalse(seen[0] & seen[1])
        forked = [{what.pid for kind in ("process_fork", "process_exec", "process_exit") for _, what in facts.all(kind)}
                  for facts in self.facts]
        self.assertFalse(forked[0] & {pid for pid, _ in seen[1]})
        self.assertNotIn(OTHER.pid, forked[0] | {pid for pid, _ in seen[0] | seen[1]})
        for facts in self.facts:
            self.assertTrue(facts.all("process_identity"))

    def test_neither_has_a_message_of_the_other(self):
        nonces = [{what.probe.nonce.hex().encode() for _, what in facts.all("run_start") if what.HasField("probe")}
                  for facts in self.facts]
        ports = [{(what.probe.tcp_port, what.probe.udp_port) for _, what in facts.all("run_start")
                  if what.HasField("probe")} for facts in self.facts]
        self.assertFalse(nonces[0] & nonces[1])
        self.assertFalse({port for pair in ports[0] for port in pair} & {port for pair in ports[1] for port in pair})
        for facts, foreign in zip(self.facts, nonces[::-1]):
            messages = [what.payload for _, what in facts.all("message")]
            self.assertEqual(len(messages), 2 * 4)  # of each protocol one in baseline, control, strict, control
            self.assertFalse([m for m in messages if any(nonce in m for nonce in foreign)])

    def test_they_decide_the_same(self):
        first, second = (claim_of(place.bundle) for place in (FIRST, SECOND))
        self.assertEqual([(r["rule"], r["holds"]) for r in first["rules"]],
                         [(r["rule"], r["holds"]) for r in second["rules"]])


class Children(unittest.TestCase):
    """Processes that are not the subject's are never taken for it, nor ended."""

    def test_a_recorder_that_was_given_children_refuses_to_start(self):
        for more in ((), ("--snapshots",)):
            place = Place(f"given{len(more)}", {"fine": (shell("exit 0"), {"exit": 0})})
            given = ["/bin/sh", "-c", 'sleep 302 >/dev/null 2>&1 & exec "$@"', "--"]
            done = place.record(before=given, words=place.words(*more))
            sleeper = [pid for pid, argv in hostile.processes().items() if argv.startswith("sleep 302")]
            for pid in sleeper:
                os.kill(pid, 9)
            self.assertEqual(len(sleeper), 1, "it was ended")
            self.assertEqual((done.code, done.err.count("\n")), (2, 1), done)
            self.assertIn("has children already", done.err)
            self.assertFalse(place.bundle.exists())

    def test_what_the_version_command_leaves_is_ended_though_it_left_the_group(self):
        script = ROOT / "version.sh"
        script.write_text("#!/bin/sh\nsetsid sh -c 'setsid sleep 303 &' &\nsleep 0.1\necho version 1\n")
        script.chmod(0o755)
        candidate = {**STRICT, "version_command": [str(script)]}
        looks = shell("! grep -qsa 's[l]eep.303' /proc/[0-9]*/cmdline")
        place = Place("versioned", {"looks": (looks, {"exit": 0})}, candidate=candidate)
        self.assertEqual(place.record().code, 3)
        self.assertTrue(met(claim_of(place.bundle), "baseline")["looks"], "it was there when the first case ran")
        self.assertEqual(facts_of(place.bundle).start.candidate_version, "version 1")
        self.assertEqual(hostile.leftovers(), [])


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
