#!/usr/bin/env python3
"""Secrets of a plan: the commands get them, and nothing that is kept has them; one that is told ends the recording.

usage: secret_values.py BUILD SOURCE
"""
import base64
import hashlib
import os
import subprocess
import sys
import unittest

import fourth
import hostile
from hostile import BOOTSTRAP, FOR_BOOTSTRAP, ROOT, STRICT, Place, run, shell

VALUE, OTHER = "tok-" + os.urandom(12).hex(), "pw/" + os.urandom(9).hex() + "+x"
CALLER = {**os.environ, "CI_TOKEN": VALUE, "CI_OTHER": OTHER}
# What the command can show of a secret without telling it: its digest.
SHOWS = 'printf %s "$TOKEN" | sha256sum; printf %s "$OTHER" | sha256sum'
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TOKEN": {"secret": "CI_TOKEN"}}
OF_CASE = {"OTHER": {"secret": "CI_OTHER"}, "AGAIN": {"secret": "CI_TOKEN"}}

# By name: a script that tells the secret, and what the one line that ends the recording has to have.
TELLS = {
    "stdout": ('printf "a%sb" "$TOKEN"', ("its stdout", "as it is")),
    "stderr": ('printf %s "$TOKEN" >&2', ("its stderr", "as it is")),
    "in-pieces": ('printf %.9s "$TOKEN"; sleep 0.2; printf %s "$TOKEN" | tail -c +10', ("its stdout", "as it is")),
    "hex": ('printf %s "$TOKEN" | od -An -v -tx1 | tr -d " \\n"', ("its stdout", "in hexadecimal")),
    "upper-hex": ('printf %s "$TOKEN" | od -An -v -tx1 | tr -d " \\n" | tr a-f A-F', ("its stdout", "in hexadecimal")),
    "base64": ('printf %s "$TOKEN" | base64 -w0', ("its stdout", "in base64")),
    "base64-later": ('printf "y%s " "$TOKEN" | base64 -w0', ("its stdout", "in base64")),
    "base64-latest": ('printf "yz%s" "$TOKEN" | base64 -w0', ("its stdout", "in base64")),
    "late": ('head -c 6000000 /dev/zero | tr "\\0" .; printf %s "$TOKEN"', ("its stdout", "as it is")),
    "artifact": ('printf %s "$TOKEN" > {scratch}/kept', ("an artifact", "as it is")),
    "member": ('mkdir {scratch}/d; printf %s "$TOKEN" > {scratch}/d/f; tar -C {scratch} -czf {scratch}/a.tgz d; '
               'rm -r {scratch}/d', ("a member of an archive", "as it is")),
    "member-name": ('mkdir {scratch}/d; : > "{scratch}/d/$TOKEN"; tar -C {scratch} -czf {scratch}/a.tgz d; '
                    'rm -r {scratch}/d', ("the path of an artifact, or of a member", "as it is")),
    "path": (': > "{scratch}/$TOKEN"', ("the path of an artifact, or of a member", "as it is")),
    "workspace-path": (': > "$PWD/$TOKEN"', ("a path of a frozen tree", "as it is")),
    "argv": ('sh -c "sleep 1; :" "$TOKEN"; :', ("the argv or executable of a process", "as it is")),
}


def setUpModule():
    global QUIET, LOUD, LAUNCHED
    QUIET = Place("quiet", {"shows": (shell(SHOWS, environment=OF_CASE), {"exit": 0}),
                            "plain": (shell(SHOWS), {"exit": 0})},
                  BOOTSTRAP, FOR_BOOTSTRAP, STRICT, environment=ENVIRONMENT)
    LOUD = {name: Place(name, {"tells": (shell(script), {"exit": 0})}, environment=ENVIRONMENT)
            for name, (script, _) in TELLS.items()}
    version = {**STRICT, "version_command": ["/bin/sh", "-c", "echo version $TOKEN"]}
    launcher = {"name": "loud", "argv": ["/bin/sh", "-c", 'echo "$TOKEN" >&2; exec "$@"', "--", "{command}"]}
    LAUNCHED = {"version": Place("version", {"fine": (shell(":"), {"exit": 0})}, candidate=version, environment=ENVIRONMENT),
                "launcher": Place("launcher", {"fine": (shell(":"), {"exit": 0})}, candidate=launcher,
                                  environment=ENVIRONMENT)}
    hostile.record_all([(place, {"env": CALLER}) for place in (QUIET, *LOUD.values(), *LAUNCHED.values())], at_once=3)


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


def forms(text):
    plain = text.encode()
    yield from (plain, plain.hex().encode(), plain.hex().upper().encode())
    for begin in range(3):
        coded = base64.b64encode(b"\0" * begin + plain)
        yield coded[4:len(coded) // 4 * 4 - 4]
        yield coded.translate(bytes.maketrans(b"+/", b"-_"))[4:len(coded) // 4 * 4 - 4]


class Kept(unittest.TestCase):
    """A recording whose commands keep their secrets."""

    def test_the_commands_got_them(self):
        self.assertEqual(QUIET.done.code, 0, QUIET.done)
        facts = hostile.facts_of(QUIET.bundle)
        token, other = (hashlib.sha256(text.encode()).hexdigest() for text in (VALUE, OTHER))
        none = hashlib.sha256(b"").hexdigest()
        for mode in ("baseline", "strict"):
            told = {name: facts.bytes((name, mode), "stdout").decode().split() for name in ("shows", "plain")}
            self.assertEqual((told["shows"][0], told["shows"][2]), (token, other))
            self.assertEqual((told["plain"][0], told["plain"][2]), (token, none))

    def test_nothing_of_the_file_has_a_value_in_any_form(self):
        content = hostile.plain(QUIET.bundle)
        for text in (VALUE, OTHER):
            self.assertFalse([form for form in forms(text) if form in content])
        self.assertIn(b"TOKEN=", content)  # the search finds what is there

    def test_a_run_tells_the_names_and_the_same_hmac_in_every_run(self):
        facts = hostile.facts_of(QUIET.bundle)
        hmacs = {}
        for _, start in facts.all("run_start"):
            told = {one.name: one.hmac_sha256 for one in start.secrets}
            wanted = [b"TOKEN", b"OTHER", b"AGAIN"] if start.name == "shows" else [b"TOKEN"]
            self.assertEqual(list(told), wanted)
            for name in wanted:
                self.assertIn(name + b"=", list(start.environment))
                hmacs.setdefault({b"AGAIN": b"TOKEN"}.get(name, name), set()).add(told[name])
        self.assertEqual({name: len(values) for name, values in hmacs.items()}, {b"TOKEN": 1, b"OTHER": 1})
        self.assertNotEqual(hmacs[b"TOKEN"], hmacs[b"OTHER"])

    def test_the_key_is_another_in_another_recording(self):
        again = Place("again", {"plain": (shell(SHOWS), {"exit": 0})}, environment=ENVIRONMENT)
        self.assertEqual(again.record(env=CALLER).code, 3, again.done)
        one, other = (hostile.facts_of(place.bundle).all("run_start")[0][1].secrets[0].hmac_sha256
                      for place in (QUIET, again))
        self.assertNotEqual(one, other)

    def test_all_judges_take_it_and_say_what_was_secret(self):
        code, verdict = hostile.verified(QUIET.bundle)
        self.assertEqual((code, verdict["verdict"], verdict["secrets"]), (0, "verified", ["TOKEN", "OTHER", "AGAIN"]))
        self.assertEqual(verdict["claim"]["decision"], hostile.claim_of(QUIET.bundle)["decision"])
        self.assertIn("secrets      TOKEN OTHER AGAIN (", run("exhibit-verify", QUIET.bundle).stdout)


class Tampered(unittest.TestCase):
    """Bundles that are valid in every byte, in which a secret is not as the plan and the others have it."""

    WANTED = {"hmac": "FORMAT 7.10: the secret CI_TOKEN is not the same in run", "value": "the environment of run",
              "untold": "FORMAT 7.10: the secrets of run", "renamed": "FORMAT 7.10: the secrets of run",
              "version": "FORMAT 8.1: of version 1, and its plan asks for 2"}

    def test_they_are_refuted_and_the_fourth_judge_refuses_them(self):
        for name, text in self.WANTED.items():
            with self.subTest(name):
                target = QUIET.folder / f"{name}.exhibit"
                subprocess.run([sys.executable, hostile.SOURCE / "tests" / "tamper" / "apart.py", QUIET.bundle, target,
                                name], check=True)
                code, verdict = hostile.verified(target)
                self.assertEqual(code, 1)
                self.assertTrue([one for one in verdict["findings"] if text in one], verdict["findings"])
                self.assertTrue(fourth.refusal(target))


class Told(unittest.TestCase):
    """A secret that is told: the recording ends, and nothing is left of it."""

    def test_it_ends_in_one_line_that_says_which_and_where(self):
        for name, (_, wanted) in TELLS.items():
            with self.subTest(name):
                done = LOUD[name].done
                self.assertEqual((done.code, done.err.count("\n")), (5, 1), done)
                for words in ("baseline case tells", "the secret CI_TOKEN (the variable TOKEN)", *wanted):
                    self.assertIn(words, done.err)

    def test_a_launcher_and_its_version_command_are_looked_at_too(self):
        for name, words in (("version", "the candidate's version"), ("launcher", "strict run of the launcher")):
            with self.subTest(name):
                done = LAUNCHED[name].done
                self.assertEqual((done.code, done.err.count("\n")), (5, 1), done)
                self.assertIn(words, done.err)

    def test_no_file_is_left_and_the_value_is_not_printed(self):
        for place in (*LOUD.values(), *LAUNCHED.values()):
            with self.subTest(place.name):
                self.assertEqual(sorted(path.name for path in place.folder.iterdir()),
                                 ["oracle.yaml", "plan.yaml", "work"])
                self.assertEqual(list((place.folder / "work").iterdir()), [])
                for form in forms(VALUE):
                    self.assertNotIn(form.decode(), place.done.err + place.done.out)


class Refused(unittest.TestCase):
    """What is wrong before anything is started: exit 2."""

    def refused(self, name, *words, caller=CALLER, **more):
        place = Place(name, {"fine": (shell(": > {scratch}/../../started"), {"exit": 0})},
                      **{"environment": ENVIRONMENT, **more})
        (place.folder / "w").mkdir()
        for path, content in getattr(self, "files", {}).items():
            (place.folder / "w" / path).write_bytes(content)
        done = place.record(env=caller)
        self.assertEqual((done.code, done.err.count("\n"), place.bundle.exists()), (2, 1, False), done)
        for text in words:
            self.assertIn(text, done.err)
        self.assertEqual(list((place.folder / "work").iterdir()), [])

    def test_a_variable_that_is_not_there(self):
        caller = {name: value for name, value in CALLER.items() if name != "CI_TOKEN"}
        self.refused("unset", "plan.yaml: the secret CI_TOKEN of the variable TOKEN is not in your environment",
                     caller=caller)

    def test_a_value_too_short_or_too_long(self):
        for value in ("", "1234567", "x" * 65537):
            self.refused(f"length-{len(value)}", f"has {len(value)} bytes in your environment; it needs 8 to 65536",
                         caller={**CALLER, "CI_TOKEN": value})

    def test_a_value_that_the_plan_or_its_stdin_has(self):
        self.refused("in-plan", "the plan has the value of the secret CI_TOKEN", "as it is",
                     caller={**CALLER, "CI_TOKEN": ENVIRONMENT["PATH"]})
        place = Place("stdin", {"fine": (shell(":", stdin={"file": "in.txt"}), {"exit": 0})}, environment=ENVIRONMENT)
        (place.folder / "in.txt").write_text("x " + base64.b64encode(VALUE.encode()).decode())
        done = place.record(env=CALLER)
        self.assertEqual((done.code, place.bundle.exists()), (2, False), done)
        self.assertIn("the stdin of the case fine has the value of the secret CI_TOKEN, in base64", done.err)

    def test_an_input_that_would_be_retained_with_it(self):
        large = b"." * (700 << 10) + VALUE.encode()
        for name, content in (("small.env", VALUE.encode()), ("large.env", large)):
            self.files = {name: content}
            self.refused("input-" + name[:5], name, "it has the value of the secret CI_TOKEN", workspace="w")

    def test_the_least_and_the_most_are_taken(self):
        for value in ("12#45 78", "x" * 65535 + "y"):
            place = Place(f"taken-{len(value)}", {"fine": (shell("test ${#TOKEN} = " + str(len(value))), {"exit": 0})},
                          environment=ENVIRONMENT)
            self.assertEqual(place.record(env={**CALLER, "CI_TOKEN": value}).code, 3, place.done)
            self.assertTrue(hostile.met(hostile.claim_of(place.bundle), "strict")["fine"])


class Check(unittest.TestCase):
    """exhibit-record check says what a recording would, and prints no value."""

    def check(self, script):
        place = Place("check" + str(len(script)), {"tells": (shell(script), {"exit": 0})}, environment=ENVIRONMENT)
        done = run("exhibit-record", "check", place.folder / "plan.yaml", "--work", place.folder / "work", env=CALLER)
        self.assertFalse([form for form in forms(VALUE) if form.decode() in done.stdout + done.stderr], done)
        return done

    def test_a_case_that_tells_it_breaks(self):
        for script in ('echo "it is $TOKEN."', 'echo "$TOKEN" > {scratch}/left'):
            done = self.check(script)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("tells: it would end a recording: ", done.stdout)

    def test_one_that_fails_with_it_on_its_lips_is_quoted_without(self):
        done = self.check('echo "bad token $TOKEN, sorry" >&2; exit 3')
        self.assertIn("bad token *, sorry", done.stdout)

    def test_one_that_keeps_it_is_well(self):
        done = self.check(SHOWS)
        self.assertEqual(done.returncode, 0, done)


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
