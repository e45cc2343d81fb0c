#!/usr/bin/env python3
"""Bad plans, oracles and options, given to exhibit-record: usage: bad_input.py BUILD SOURCE

Each is refused with one line that tells the place, what is wrong and what to do, exit 2, and nothing started or left.
The program runs under strace where there is one, so that "nothing started" is what the kernel saw.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
RECORD = BUILD / "bin" / "exhibit-record"
STRACE = shutil.which("strace")
SANITIZED = "EXHIBIT_SANITIZE:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
TRACED = ["execve", "execveat", "fork", "vfork", "clone", "clone3", "mkdir", "mkdirat"]
NO_PIN = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

PLAN = ["version: 1", "name: bad", "oracle: oracle.yaml",
        'candidate: {name: env, argv: [/usr/bin/env, --, "{command}"]}',
        "cases: [{name: hello, command: [/bin/true]}]",
        "trials: [{name: bootstrap, kind: bootstrap, lifetime_ms: 1000}]"]
ORACLE = ["version: 1", "trials: [{name: bootstrap, roles: [parent]}]", "cases: [{name: hello, exit: 0}]"]
TREE = "{name: tree, kind: tree"
STEP = "{after: {role: grandchild, rounds: 1}, signal: TERM, to: group}"


class Input:
    """A plan and its oracle, both good until something is done to them."""

    def __init__(self, says, line=None, file="plan.yaml"):
        self.says, self.line, self.file = says, line, file
        self.plan, self.oracle, self.words = list(PLAN), list(ORACLE), ["run", "plan.yaml", "-o", "out.exhibit"]

    def put(self, *lines):
        """Lines at the end of the plan, the first of which is line 7."""
        self.plan += lines
        return self

    def replace(self, line, text):
        self.plan[line - 1] = text
        return self

    def asks(self, line, text):
        """Replaces or adds a line of the oracle."""
        self.oracle[line - 1:line] = [text]
        return self

    def whole(self, content):
        self.plan = content
        return self

    def call(self, *words):
        self.words = list(words)
        return self


def of_plan(line, says):
    return Input(says, line)


def of_oracle(line, says):
    return Input(says, line, "oracle.yaml")


def of_words(says, *words):
    return Input(says).call(*words)


INPUTS = {
    # The file itself.
    "an empty file": of_plan(1, ["empty document"]).whole(b""),
    "binary garbage": of_plan(1, ["bytes that YAML does not allow"]).whole(bytes(range(128, 256)) * 20),
    "garbage with NUL": of_plan(2, ["NUL"]).whole(b"version: 1\nname: \0x\n"),
    "a NUL in a text": of_plan(7, ["NUL", "base64"]).put('environment: {A: "x\\0y"}'),
    "a NUL in bytes": of_plan(7, ["NUL", "remove it"]).put("environment: {A: {base64: eAB5}}"),
    "not YAML": of_plan(8, ["not YAML"]).put("environment: {A: [x", "inputs: ]"),
    "an anchor": of_plan(7, ["anchor", "without it"]).put("environment: &a {A: x}"),
    "an alias": of_plan(7, ["alias", "write the value out"]).put("environment: {A: *a}"),
    "a tag": of_plan(7, ["tag"]).put("environment: {A: !!str x}"),
    "a merge key": of_plan(7, ["merge key"]).put("environment: {<<: {A: x}}"),
    "a key that stands twice": of_plan(7, ["`name` stands twice", "line 2"]).put("name: again"),
    "a second document": of_plan(7, ["second document"]).put("---", "version: 1"),
    "a directive": of_plan(1, ["directive"]).whole(("%YAML 1.1\n---\n" + "\n".join(PLAN)).encode()),
    "absurd nesting": of_plan(1, ["nested more than 16 deep"]).whole(b"[" * 500000),
    "absurd size": of_plan(1, ["larger than 1048576 bytes"]).whole(b"version: 1\n" + b"#" * (1 << 20)),
    "too many values": of_plan(7, ["more than 65536 values"]).put("environment: [" + "a," * 65537 + "]"),
    "a key that steers a terminal": of_plan(7, ["no key `x"]).put('"x\\e[31m\\r": 1'),
    "a key of two lines": of_plan(7, ["no key `x"]).put('"x\\ny": 1'),
    # Keys and values.
    "an unknown key": of_plan(7, ["no key `colour`", "the keys are", "environment"]).put("colour: red"),
    "an unknown key of a trial": of_plan(6, ["no key `speed`"]).replace(6, PLAN[5].replace("}]", ", speed: 1}]")),
    "no version": of_plan(2, ["version: 1"]).replace(1, "# nothing"),
    "another version": of_plan(1, ["`version` is not 1"]).replace(1, "version: 2"),
    "no candidate": of_plan(1, ["needs `candidate`"]).replace(4, "# nothing"),
    "neither case nor trial": of_plan(1, ["neither a case nor a trial"]).replace(5, "cases: []").replace(
        6, "trials: []"),
    "a name that is none": of_plan(2, ["is not a name"]).replace(2, "name: Bad Name"),
    "a command that is not absolute": of_plan(5, ["not absolute"]).replace(
        5, "cases: [{name: hello, command: [true]}]"),
    "an unknown placeholder": of_plan(5, ["unknown placeholder"]).replace(
        5, 'cases: [{name: hello, command: [/bin/true, "{where}"]}]'),
    "a policy that is not there": of_plan(4, ["{policy} without a policy"]).replace(
        4, 'candidate: {name: env, argv: [/usr/bin/env, "{policy}", "{command}"]}'),
    "a launcher without a command": of_plan(4, ["{command} 0 times"]).replace(
        4, "candidate: {name: env, argv: [/usr/bin/env]}"),
    "a command without a launcher": of_plan(4, ["begins with {command}", "nothing wraps it", "the launcher before"]
                                            ).replace(4, 'candidate: {name: env, argv: ["{command}"]}'),
    "a launcher with two commands": of_plan(4, ["{command} 2 times"]).replace(
        4, 'candidate: {name: env, argv: [/usr/bin/env, "{command}", "{command}"]}'),
    "a candidate that nobody ships": of_plan(4, ["no candidate `none`"]).replace(4, "candidate: {use: none}"),
    "a candidate out of the folder": of_plan(4, ["is not a name"]).replace(4, "candidate: {use: ../landlock}"),
    "the recorder's own variable": of_plan(7, ["the recorder sets HOME itself"]).put("environment: {HOME: /root}"),
    # Paths.
    "a missing oracle": of_plan(3, ["none.yaml: No such file"]).replace(3, "oracle: none.yaml"),
    "an oracle by an absolute path": of_plan(3, ["absolute"]).replace(3, "oracle: /etc/passwd"),
    "an oracle by ..": of_plan(3, ["leaves its folder", "without .."]).replace(3, "oracle: ../oracle.yaml"),
    "an oracle by a link out": of_plan(3, ["leaves its folder through a symbolic link"]).replace(
        3, "oracle: link/passwd"),
    "a folder as oracle": of_plan(3, ["folder", "not a regular file"]).replace(3, "oracle: folder"),
    "a workspace by a link out": of_plan(7, ["leaves its folder through a symbolic link"]).put("workspace: link"),
    "a workspace by .. inside": of_plan(7, ["without .."]).put("workspace: folder/../folder"),
    "a file as workspace": of_plan(7, ["not a folder"]).put("workspace: oracle.yaml"),
    "an input by ..": of_plan(7, ["leaves its folder"]).put("inputs: [{name: a, path: ../..}]"),
    "an input by a link out": of_plan(7, ["through a symbolic link"]).put("inputs: [{name: a, path: link/passwd}]"),
    "a missing input": of_plan(7, ["No such file"]).put("inputs: [{name: a, path: none}]"),
    "stdin by a link out": of_plan(5, ["through a symbolic link"]).replace(
        5, "cases: [{name: hello, command: [/bin/true], stdin: {file: link/passwd}}]"),
    "stdin from a folder": of_plan(5, ["not a regular file"]).replace(
        5, "cases: [{name: hello, command: [/bin/true], stdin: {file: folder}}]"),
    "stdin that is too much": of_plan(5, ["larger than 16777216 bytes"]).replace(
        5, "cases: [{name: hello, command: [/bin/true], stdin: {file: large}}]"),
    "stdin from a FIFO": of_plan(5, ["not a regular file"]).replace(
        5, "cases: [{name: hello, command: [/bin/true], stdin: {file: fifo}}]"),
    "a policy by a link out": of_plan(4, ["through a symbolic link"]).replace(
        4, 'candidate: {name: env, argv: [/usr/bin/env, "{command}"], policy: link/passwd}'),
    "a missing launcher": of_plan(4, ["/none"]).replace(4, PLAN[3].replace("/usr/bin/env", "/none")),
    "a missing tool as launcher": of_plan(4, ["none"]).replace(
        4, 'candidate: {name: env, argv: ["{tools}/none", "{command}"]}'),
    "a missing program of the candidate": of_plan(4, ["needs /none", "to get it: apt-get install none"]).replace(
        4, PLAN[3].replace('"]}', '"], programs: [{name: none, path: /none, get: apt-get install none}]}')),
    "a missing binary": of_plan(7, ["/none"]).put("binaries: [{name: z, path: /none}]"),
    "a case that the oracle does not name": of_plan(5, ["says nothing of case `more`"]).replace(
        5, PLAN[4].replace("}]", "}, {name: more, command: [/bin/true]}]")),
    # Bounds.
    "a lifetime that is too long": of_plan(6, ["from 1000 to 120000"]).replace(6, PLAN[5].replace("1000", "120001")),
    "a lifetime that is too short": of_plan(6, ["from 1000 to 120000"]).replace(6, PLAN[5].replace("1000", "999")),
    "a number with a sign": of_plan(6, ["not a number"]).replace(6, PLAN[5].replace("1000", "+1000")),
    "a number that wraps": of_plan(6, ["from 1000 to 120000"]).replace(6, PLAN[5].replace("1000", "4294968296")),
    "a watchdog that is too long": of_plan(5, ["from 1 to 3600000"]).replace(
        5, PLAN[4].replace("}]", ", watchdog_ms: 3600001}]")),
    "too many rounds": of_plan(6, ["from 1 to 1000"]).replace(6, f"trials: [{TREE}, rounds: 1001}}]"),
    "an interval that is too long": of_plan(6, ["from 1 to 10000"]).replace(
        6, f"trials: [{TREE}, interval_ms: 10001}}]"),
    "too many trials": of_plan(6, ["at most 64"]).replace(
        6, "trials: [" + ", ".join(f"{{name: t{i}, kind: bootstrap}}" for i in range(65)) + "]"),
    "too many cases": of_plan(5, ["at most 256"]).replace(
        5, "cases: [" + ", ".join(f"{{name: c{i}, command: [/bin/true]}}" for i in range(257)) + "]"),
    "too many pins": of_plan(7, ["at most 1024"]).put(
        "pins: [" + ", ".join([f"{{path: /bin/sh, sha256: {NO_PIN}}}"] * 1025) + "]"),
    "too many steps": of_plan(6, ["at most 16"]).replace(
        6, f"trials: [{TREE}, ending: {{steps: [{', '.join([STEP] * 17)}]}}}}]"),
    "an ending that comes before the end": of_plan(6, ["may end by itself", "at least 4400"]).replace(
        6, f"trials: [{TREE}, lifetime_ms: 4399}}]"),
    "an ending after rounds that are not": of_plan(6, ["after 2 rounds of a trial of 1"]).replace(
        6, f"trials: [{TREE}, rounds: 1, ending: {{steps: [{STEP.replace('rounds: 1', 'rounds: 2')}]}}}}]"),
    "an effect that is none": of_plan(6, ["no effect `fly`"]).replace(6, PLAN[5].replace("}]", ", effects: [fly]}]")),
    "a pin that does not match": of_plan(7, ["/bin/sh", NO_PIN]).put(f"pins: [{{path: /bin/sh, sha256: {NO_PIN}}}]"),
    "a pin of nothing": of_plan(7, ["/none", "missing"]).put(f"pins: [{{path: /none, sha256: {NO_PIN}}}]"),
    "a pin that is no digest": of_plan(7, ["64 lower-case hexadecimal"]).put("pins: [{path: /bin/sh, sha256: 00}]"),
    "words that grow beyond an event": of_plan(5, ["case `hello`", "more than 917504 bytes", "shorten"]).replace(
        5, 'cases: [{name: hello, command: [/bin/true, "' + "{scratch}" * 30000 + '"]}]'),
    "words that do so with those of the launcher": of_plan(5, ["case `hello`", "more than 917504 bytes"]).replace(
        5, 'cases: [{name: hello, command: [/bin/true, "' + "x" * 460000 + '"]}]'),
    "words of a launcher that do so": of_plan(4, ["the launcher's words", "more than 917504 bytes"]).replace(
        4, PLAN[3].replace("--", '"' + "{workspace}" * 30000 + '"')),
    "a version command that does so": of_plan(4, ["the launcher's words", "more than 917504 bytes"]).replace(
        4, PLAN[3].replace("}", ', version_command: [/bin/true, "' + "{tools}" * 40000 + '"]}', 2).replace(
            ', version_command: [/bin/true, "' + "{tools}" * 40000 + '"]}', "}", 1)),
    "variables that do so": of_plan(4, ["the plan's variables", "more than 917504 bytes"]).put(
        'environment: {A: "' + "{home}" * 40000 + '"}'),
    "variables of a case that do so": of_plan(5, ["case `hello`", "more than 917504 bytes"]).replace(
        5, PLAN[4].replace("}]", ', environment: {A: "' + "{home}" * 40000 + '"}}]')),
    # Oracles.
    "an oracle's unknown key": of_oracle(4, ["no key `colour`"]).asks(4, "colour: red"),
    "an oracle's bound over its limit": of_oracle(4, ["from 1 to 60000"]).asks(4, "bounds: {ended_ms: 60001}"),
    "an oracle's grace over its limit": of_oracle(4, ["from 0 to 60000"]).asks(4, "bounds: {grace_ms: 60001}"),
    "errno 0 in a denial list": of_oracle(4, ["no errno `0`", "EACCES"]).asks(4, "denials: {tcp: {errnos: [0]}}"),
    "an errno by its number": of_oracle(4, ["no errno `13`"]).asks(4, "denials: {tcp: {errnos: [13]}}"),
    "an errno that stands twice": of_oracle(4, ["stands twice"]).asks(4, "denials: {tcp: {errnos: [EPERM, EPERM]}}"),
    "a denial of no effect": of_oracle(4, ["no key `fly`"]).asks(4, "denials: {fly: {errnos: [EPERM]}}"),
    "an oracle's case that the plan has not": of_oracle(3, ["no case `other`"]).asks(
        3, "cases: [{name: other, exit: 0}]"),
    "an oracle's trial that the plan has not": of_oracle(2, ["no trial `tree`"]).asks(
        2, "trials: [{name: tree, roles: [parent]}]"),
    "an oracle's role that the trial has not": of_oracle(2, ["no role child"]).asks(
        2, "trials: [{name: bootstrap, roles: [parent, child]}]"),
    "an oracle's effect that the trial has not": of_oracle(2, ["no effect read-link"]).replace(
        6, PLAN[5].replace("}]", ", effects: [read]}]")),
    "a case that need show nothing": of_oracle(3, ["hello"]).asks(3, "cases: [{name: hello}]"),
    "an anchor in an oracle": of_oracle(4, ["anchor"]).asks(4, "bounds: &a {ended_ms: 1}"),
    "a second document in an oracle": of_oracle(4, ["second document"]).asks(4, "---"),
    # Options.
    "nothing": of_words(["--help"]),
    "another command": of_words(["unknown command play"], "play", "plan.yaml"),
    "no plan": of_words(["exactly one PLAN"], "run", "-o", "out.exhibit"),
    "two plans": of_words(["exactly one PLAN"], "run", "plan.yaml", "plan.yaml", "-o", "out.exhibit"),
    "no output": of_words(["-o BUNDLE"], "run", "plan.yaml"),
    "an option without its value": of_words(["--work needs a value"], "run", "plan.yaml", "-o", "out", "--work"),
    "an unknown option": of_words(["unknown option --colour"], "run", "plan.yaml", "-o", "out.exhibit", "--colour"),
    "another requirement": of_words(["--require maybe"], "run", "plan.yaml", "-o", "out.exhibit", "--require", "maybe"),
    "a plan that is not there": of_words(["none.yaml"], "run", "none.yaml", "-o", "out.exhibit"),
    "a folder as plan": of_words(["not a regular file"], "run", "folder", "-o", "out.exhibit"),
    "a FIFO as plan": of_words(["not a regular file"], "run", "fifo", "-o", "out.exhibit"),
    "a plan of two lines": of_words(["none"], "run", "none\nyaml", "-o", "out.exhibit"),
    "an oracle that is not there": of_words(["none.yaml"], "run", "plan.yaml", "-o", "out.exhibit", "--oracle",
                                            "none.yaml"),
    "an output that exists": of_words(["taken", "exists already"], "run", "plan.yaml", "-o", "taken"),
    "an output that is a folder": of_words(["exists already"], "run", "plan.yaml", "-o", "folder"),
    "an output that is a dangling link": of_words(["exists already"], "run", "plan.yaml", "-o", "dangling"),
    "an output in a missing folder": of_words(["none/out", "make it first"], "run", "plan.yaml", "-o", "none/out"),
    "an output without a name": of_words(["not a file name"], "run", "plan.yaml", "-o", "folder/"),
    "a missing --work": of_words(["--work none", "folder that exists"], "run", "plan.yaml", "-o", "out.exhibit",
                                 "--work", "none"),
    "a file as --work": of_words(["--work oracle.yaml"], "run", "plan.yaml", "-o", "out.exhibit", "--work",
                                 "oracle.yaml"),
}


def content_of(lines):
    return lines if isinstance(lines, bytes) else ("\n".join(lines) + "\n").encode()


def folder_make(folder, given):
    """Files for an input, and things that an input may name."""
    (folder / "plan.yaml").write_bytes(content_of(given.plan))
    (folder / "oracle.yaml").write_bytes(content_of(given.oracle))
    (folder / "taken").write_bytes(b"mine")
    for name in ("folder", "work"):
        (folder / name).mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "large").touch()
    os.truncate(folder / "large", (16 << 20) + 1)
    (folder / "link").symlink_to("/etc")
    (folder / "dangling").symlink_to("nowhere")


def state_of(folder):
    """All that is in a folder, with the times of last change of folders: a file that came and went shows there."""
    return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_ino) for path in [folder, *folder.rglob("*")])


class Refused(unittest.TestCase):
    """One test for each property; the inputs are run once."""

    @classmethod
    def setUpClass(cls):
        cls.results = {}
        for name, given in INPUTS.items():
            with tempfile.TemporaryDirectory(prefix="exhibit-bad-input-") as temporary:
                folder, trace = pathlib.Path(temporary, "in"), pathlib.Path(temporary, "trace")
                folder.mkdir()
                folder_make(folder, given)
                words = given.words if "--work" in given.words else [*given.words, "--work", "work"]
                tracer = [STRACE, "-f", "-qq", "-o", trace, "-e", "trace=" + ",".join(TRACED)] if STRACE else []
                before = state_of(folder)
                done = subprocess.run([*tracer, RECORD, *(words if given.words else [])], cwd=folder, timeout=20,
                                      capture_output=True, stdin=subprocess.DEVNULL,
                                      env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"} if SANITIZED else None)
                calls = trace.read_text().splitlines()[1:] if STRACE else []  # the first one is strace's own exec
                calls = [line for line in calls if "(" in line and "= -1 E" not in line]
                cls.results[name] = (given, done, calls, before == state_of(folder))

    def each(self, check):
        for name, result in self.results.items():
            with self.subTest(name):
                check(*result)

    def test_each_exits_with_2(self):
        self.each(lambda _given, done, _calls, _same: self.assertEqual(done.returncode, 2, done.stderr))

    def test_each_complaint_is_one_line_without_control_characters_and_stdout_is_empty(self):
        def check(_given, done, _calls, _same):
            self.assertEqual(done.stdout, b"")
            self.assertRegex(done.stderr, rb"\Aexhibit-record: [^\x00-\x1f\x7f]+\n\Z")
        self.each(check)

    def test_each_complaint_tells_file_and_line(self):
        def check(given, done, _calls, _same):
            if given.line is not None:
                self.assertRegex(done.stderr.decode(), rf"^exhibit-record: (\S*/)?{given.file}:{given.line}: ")
        self.each(check)

    def test_each_complaint_says_what_is_wrong(self):
        def check(given, done, _calls, _same):
            for text in given.says:
                self.assertIn(text, done.stderr.decode())
        self.each(check)

    def test_each_complaint_says_what_to_do(self):
        advice = re.compile(rb"; \w+|see --help|, write |Add -o|the only thing that can be required is go")
        self.each(lambda _given, done, _calls, _same: self.assertRegex(done.stderr, advice))

    def test_no_file_or_folder_came_or_went(self):
        self.each(lambda _given, _done, _calls, same: self.assertTrue(same))

    @unittest.skipUnless(STRACE, "needs strace")
    def test_no_process_was_started_and_no_folder_made(self):
        self.each(lambda _given, _done, calls, _same: self.assertEqual(calls, []))


class Accepted(unittest.TestCase):
    """What all of them were before something was done to them."""

    def test_the_plan_and_the_oracle_themselves_are_good(self):
        with tempfile.TemporaryDirectory(prefix="exhibit-bad-input-") as temporary:
            folder = pathlib.Path(temporary)
            folder_make(folder, Input([]))
            done = subprocess.run([RECORD, "run", "plan.yaml", "-o", "out.exhibit", "--work", "work"], cwd=folder,
                                  timeout=60, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(list((folder / "work").iterdir()), [])


unittest.main(argv=sys.argv[:1], verbosity=2)
