#!/usr/bin/env python3
"""Many receipts in one call of exhibit-replay: usage: many.py BUILD SOURCE

One small bundle is recorded; `spread` makes ten thousand others of it, in five of ten with another fact (variants in
tests/spread/base.h). What must follow from each is written here by hand. The judge in Python is asked of all of them:
its claim is the recorded one, and under another oracle (one of five) it decides by the same rules as replay.
"""
import concurrent.futures
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import fourth
import terminal

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
SANITIZED = "EXHIBIT_SANITIZE:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
REPLAY = BUILD / "bin" / "exhibit-replay"
STRACE = None if SANITIZED else shutil.which("strace")
COUNT = 1000 if SANITIZED else 10000
SORTS = 10  # of variants, one after the other
FEW = 100  # of them, for what needs no many
MIB = 1024  # of the kibibytes in which memory is told

PLAN = {"version": 1, "name": "many-00000", "oracle": "oracle.yaml", "workspace": "workspace",
        "candidate": {"name": "confined", "policy": "policy.yaml", "argv": [
            "{tools}/exhibit-confine", "--policy", "{policy}", "--set", "workspace={workspace}", "--set",
            "scratch={scratch}", "--set", "tools={tools}", "--pid-namespace", "--", "{command}"]},
        "cases": [{"name": "hello", "command": ["/bin/sh", "-c", "echo hello"]}],
        "trials": [{"name": "bootstrap", "kind": "bootstrap", "lifetime_ms": 1000}]}
POLICY = {"version": 1, "network": "none",
          "read": ["/usr/lib", {"optional": "/lib"}, {"optional": "/lib64"}, {"optional": "/etc/ld.so.cache"},
                   "{workspace}", "{tools}"],
          "execute": ["/bin/sh", {"optional": "/lib64/ld-linux-x86-64.so.2"},
                      {"optional": "/lib/ld-linux-aarch64.so.1"}, "{tools}/exhibit-probe"],
          "write": ["/dev/null", "{scratch}"]}
ORACLE = {"version": 1, "trials": [{"name": "bootstrap", "roles": ["parent"]}],
          "cases": [{"name": "hello", "exit": 0, "stdout": {"equals": "hello\n"}}]}
# It forgives an exit status, and takes a full disk for a denial of reading.
FORGIVING = {"version": 1, "trials": ORACLE["trials"], "cases": [{"name": "hello", "stdout": {"equals": "hello\n"}}],
             "denials": {"read": {"errnos": ["EACCES", "EPERM", "ENOENT", "ENOSPC"]}}}

# By the last digit of a receipt's number: the recorded decision, that under FORGIVING, and the rules that change.
EXPECTED = {**{digit: ("GO", "GO", []) for digit in range(5)},
            5: ("NO-GO", "GO", ["useful.contract"]),
            6: ("INCOMPLETE", "INCOMPLETE", []),
            7: ("INCOMPLETE", "GO", ["complete.outcomes"]),
            8: ("NO-GO", "NO-GO", []),
            9: ("INCOMPLETE", "INCOMPLETE", [])}

FOLDER = tempfile.TemporaryDirectory(prefix="exhibit-many-")
PLACE = pathlib.Path(FOLDER.name)
ALL = PLACE / "all"
BAD = ALL / "00" / "00007-is-none.exhibit"


def path_of(number):
    return ALL / f"{number // 200:02}" / f"{number:05}.exhibit"


def setUpModule():
    for name, content in {"plan.yaml": PLAN, "policy.yaml": POLICY, "oracle.yaml": ORACLE,
                          "forgiving.yaml": FORGIVING}.items():
        (PLACE / name).write_text(json.dumps(content))
    for name in ("workspace", "work", "all", "empty"):
        (PLACE / name).mkdir()
    (PLACE / "workspace" / "file").write_text("some input\n")
    first = PLACE / "first.exhibit"
    for _ in range(3):  # all else rests on a GO, and a machine may be busy
        first.unlink(missing_ok=True)
        done = subprocess.run([BUILD / "bin" / "exhibit-record", "run", PLACE / "plan.yaml", "-o", first, "--work",
                               PLACE / "work"], capture_output=True, text=True, timeout=60)
        if done.stdout.endswith("decision: GO\n"):
            break
    else:
        raise AssertionError(done.stdout + done.stderr)
    parts = [subprocess.Popen([BUILD / "bin" / "spread", first, ALL, str(COUNT // 2), str(start)],
                              stdout=subprocess.PIPE, text=True) for start in (0, COUNT // 2)]
    for part in parts:  # what the recorder's own judge says of them
        counts = json.loads(part.communicate(timeout=120)[0])
        assert counts == {"GO": COUNT // 4, "NO-GO": COUNT // 10, "INCOMPLETE": COUNT * 3 // 20}, counts
    BAD.write_text("This file has a name as if it were a bundle.\n" * 10)
    (ALL / "00" / "notes.txt").write_text("a folder may hold other things\n")
    (ALL / "00" / "link.exhibit").symlink_to("/etc/passwd")


def tearDownModule():
    FOLDER.cleanup()


def ask(*words, **more):
    return subprocess.run([REPLAY, *words], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          **more)


def ask_for_memory(*words):
    """Its exit code, output, complaints, and the most memory that it had, in KiB."""
    with open(PLACE / "out", "w+") as out, open(PLACE / "err", "w+") as err:
        pid = os.posix_spawn(REPLAY, [str(REPLAY), *map(str, words)], os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        _, status, usage = os.wait4(pid, 0)
        out.seek(0)
        err.seek(0)
        return os.waitstatus_to_exitcode(status), out.read(), err.read(), usage.ru_maxrss


@functools.cache
def all_forgiven():
    """What replay says of all of them under FORGIVING."""
    return ask_for_memory(ALL, "--oracle", PLACE / "forgiving.yaml", "--json", "-j", "2")


def said_by_fourth(numbers):
    """Of each receipt: its number and digest, where the fourth judge differs from the recorded claim, and of one of
    five of each sort the rules that fail by the recorded claim, and what it decides by which failing rules under
    FORGIVING: so much the less has to be judged twice."""
    return [said_by_fourth_of(number) for number in numbers]


def said_by_fourth_of(number):
    with fourth.opened(path_of(number)) as bundle:
        recorded = fourth.judge.recorded(bundle.claim)
        differ = list(fourth.judge.differences(fourth.claim_of(bundle), recorded))
        if number // SORTS % 5:
            return number, recorded["receipt"], differ, None
        forgiven = fourth.claim_of(bundle, PLACE / "forgiving.yaml")
        return number, recorded["receipt"], differ, (failing(recorded), forgiven["decision"], failing(forgiven))


def failing(claim):
    return {rule["rule"] for rule in claim["rules"] if not rule["holds"]}


class Thousands(unittest.TestCase):
    def test_distinct_receipts_in_one_call_with_a_bad_file_among_them_in_bounded_memory(self):
        code, out, err, memory = all_forgiven()
        *lines, summary = map(json.loads, out.splitlines())
        self.assertEqual(code, 1, err)
        self.assertEqual([line["bundle"] for line in lines],
                         sorted([str(path_of(number)) for number in range(COUNT)] + [str(BAD)]))
        (bad,) = [line for line in lines if "error" in line]
        self.assertEqual((bad["bundle"], bad["error"]["kind"]), (str(BAD), "malformed or false"))
        self.assertIn("FORMAT 1.3: no header of a pack", bad["error"]["text"])
        self.assertEqual(err, f"exhibit-replay: {BAD}: {bad['error']['text']}\n")
        good = [line for line in lines if line is not bad]
        self.assertEqual(len({line["receipt"] for line in good}), COUNT)
        for number, line in enumerate(good):
            old, new, changed = EXPECTED[number % 10]
            self.assertEqual((line["recorded"], line["decision"], line["prospective"], line["differing"]),
                             (old, new, True, 0), line)
            self.assertEqual(line["rules_changed"], [{"rule": rule, "holds": True} for rule in changed], line)
        self.assertEqual({key: summary[key] for key in ("bundles", "malformed", "unread", "differing")},
                         {"bundles": COUNT + 1, "malformed": 1, "unread": 0, "differing": 0})
        self.assertEqual({(pair["recorded"], pair["decision"]): pair["count"] for pair in summary["decisions"]},
                         {("GO", "GO"): COUNT // 2, ("NO-GO", "GO"): COUNT // 10, ("NO-GO", "NO-GO"): COUNT // 10,
                          ("INCOMPLETE", "GO"): COUNT // 10, ("INCOMPLETE", "INCOMPLETE"): COUNT // 5})
        self.assertEqual(summary["rules_changed"], {"useful.contract": COUNT // 10, "complete.outcomes": COUNT // 10})
        if not SANITIZED:
            self.assertLess(memory, 64 * MIB)
            few = ask_for_memory(*(path_of(number) for number in range(FEW)), "-j", "2")[3]
            self.assertLess(memory - few, 8 * MIB, f"{memory} KiB for {COUNT}, {few} for {FEW}")

    def test_they_are_different_in_names_nonces_and_times_and_each_claim_follows(self):
        paths = [path_of(number) for number in range(FEW)]
        done = ask(*paths)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.assertEqual(done.stdout.splitlines()[:FEW],
                         [f"{path}: {EXPECTED[number % 10][0]} -> {EXPECTED[number % 10][0]}"
                          for number, path in enumerate(paths)])
        for number in range(10):
            verified = subprocess.run([BUILD / "bin" / "exhibit-verify", path_of(number)], capture_output=True,
                                      text=True, timeout=60)
            self.assertEqual(verified.returncode, 3 if EXPECTED[number][0] == "INCOMPLETE" else 0, verified.stderr)
            self.assertIn(f"many-{number:05}\n", verified.stdout)

    def test_a_fourth_judge_says_the_same_of_one_of_each_sort(self):
        for number in range(10):
            for words in ([], ["--oracle", PLACE / "forgiving.yaml"]):
                with self.subTest(number=number, words=words):
                    claim = json.loads(ask(path_of(number), "--json", *words).stdout)
                    self.assertEqual(fourth.differences(path_of(number), claim, *words[1:]), [])

    def test_a_fourth_judge_says_the_same_of_all_of_them(self):
        lines = {line["bundle"]: line for line in map(json.loads, all_forgiven()[1].splitlines()) if "receipt" in line}
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            said = [one for part in pool.map(said_by_fourth, (range(0, COUNT, 2), range(1, COUNT, 2))) for one in part]
        self.assertEqual(sorted(one[0] for one in said), list(range(COUNT)))
        self.assertEqual(sum(one[3] is not None for one in said), COUNT // 5)
        for number, receipt, differ, forgiven in said:
            line = lines[str(path_of(number))]
            self.assertEqual((number, receipt, differ), (number, line["receipt"], []))
            if forgiven is None:
                continue
            before, decision, rules = forgiven
            changed = {rule["rule"] for rule in line["rules_changed"]}
            self.assertEqual((number, decision, rules), (number, line["decision"], before ^ changed))
        self.assertIn("FORMAT 2.1: the header's frame is another", fourth.refusal(BAD))

    def test_the_number_of_threads_changes_nothing(self):
        one = ask(ALL / "00", "-j", "1")
        self.assertEqual(one.returncode, 1)
        for jobs in ("2", "7", "64"):
            many = ask(ALL / "00", "-j", jobs)
            self.assertEqual((many.returncode, many.stdout, many.stderr), (one.returncode, one.stdout, one.stderr))


class Few(unittest.TestCase):
    def test_the_text_tells_decisions_and_rules_and_sums_up(self):
        done = ask(path_of(7), path_of(5), path_of(6), BAD, PLACE / "none", path_of(5), "--oracle",
                   PLACE / "forgiving.yaml")
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout, f"""{path_of(5)}: NO-GO -> GO (prospective): useful.contract holds
{path_of(6)}: INCOMPLETE -> INCOMPLETE (prospective)
{BAD}: malformed or false
{path_of(7)}: INCOMPLETE -> GO (prospective): complete.outcomes holds
{PLACE / 'none'}: could not be read
5 bundles: 3 replayed, 1 malformed or false, 1 could not be read
  NO-GO -> GO: 1
  INCOMPLETE -> GO: 1
  INCOMPLETE -> INCOMPLETE: 1
  complete.outcomes changed: 1
  useful.contract changed: 1
""")
        self.assertEqual([line.split(": ", 2)[1] for line in done.stderr.splitlines()],
                         [str(BAD), str(PLACE / "none")])

    def test_the_exit_code_is_the_worst(self):
        go, no_go, incomplete, require = path_of(0), path_of(5), path_of(6), ("--require", "go")
        for code, words in ((0, [go, no_go]), (3, [go, incomplete]), (4, [go, no_go, *require]),
                            (4, [incomplete, no_go, *require]), (0, [go, path_of(1), *require]), (1, [BAD, incomplete]),
                            (1, [BAD, no_go, *require]), (5, [BAD, PLACE / "none", no_go, *require]),
                            (4, [go, path_of(1), *require, "--oracle", PLACE / "forgiving.yaml"]),
                            (2, [go, PLACE / "empty"]), (2, [go, no_go, "--oracle", PLACE / "none"]),
                            (2, [go, no_go, "--oracle", BAD]), (2, [go, no_go, "--explain", "cancel.quiet"])):
            with self.subTest(f"{code} {words}"):
                self.assertEqual(ask(*words).returncode, code)

    def test_what_a_folder_holds_but_no_file_of_that_name_is_passed_over(self):
        done = ask(ALL / "00", "--json")
        self.assertNotIn("notes.txt", done.stdout)
        self.assertNotIn("link.exhibit", done.stdout)
        one = ask(ALL / "00" / "link.exhibit", path_of(0))  # named, it is meant
        self.assertEqual(one.returncode, 1)

    def test_a_folder_of_one_bundle_is_told_as_many_are(self):
        folder = PLACE / "one"
        folder.mkdir()
        shutil.copy(path_of(0), folder / "x.exhibit")
        self.assertEqual(ask(folder).stdout.splitlines()[0], f"{folder / 'x.exhibit'}: GO -> GO")
        self.assertIn("rules (ok: it holds)", ask(folder / "x.exhibit").stdout)

    @unittest.skipIf(SANITIZED or os.geteuid() != 0, "needs another user, and the program where that one can read it")
    def test_a_folder_that_cannot_be_read_is_named(self):
        shutil.copy(REPLAY, PLACE / "replay")
        closed = PLACE / "closed"
        (closed / "in").mkdir(parents=True)
        shutil.copy(path_of(0), closed / "a.exhibit")
        (closed / "in").chmod(0o700)
        PLACE.chmod(0o755)
        done = subprocess.run([PLACE / "replay", closed], capture_output=True, text=True, timeout=60, user=65534,
                              group=65534, extra_groups=[])
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stderr, f"exhibit-replay: {closed / 'in'}: cannot be opened: Permission denied\n")
        self.assertIn("a.exhibit: GO -> GO", done.stdout)

    def test_a_bar_on_a_terminal_and_nowhere_else(self):
        with open(PLACE / "out", "w+") as out:
            code, shown = terminal.shown([REPLAY, "-j", "1", ALL / "00"], out)
            self.assertEqual(code, 1)
            out.seek(0)
            self.assertEqual(out.read(), ask(ALL / "00").stdout)
        self.assertRegex(shown, rb"\r\[#* *\] [0-9]+/201")
        self.assertIn(b"\r\x1b[K", shown)
        self.assertIn(b"no header of a pack", shown)

    def test_a_full_disk_is_no_success(self):
        for words in ([], ["--json"], ["--table"], ["--table=json"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([REPLAY, path_of(0), path_of(1), *words], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60)
            self.assertEqual(done.returncode, 5)
            self.assertIn("not all could be written", done.stderr)

    @unittest.skipUnless(STRACE, "needs strace, and a program without sanitizers")
    def test_every_thread_is_confined_before_any_bundle_is_opened(self):
        trace = PLACE / "trace"
        subprocess.run([STRACE, "-f", "-o", trace, "-e", "trace=landlock_restrict_self,seccomp,openat,clone,clone3",
                        REPLAY, "-j", "3", path_of(0), path_of(1)], capture_output=True, timeout=60)
        calls = trace.read_text().splitlines()
        opened = [i for i, line in enumerate(calls) if ".exhibit" in line and "O_PATH" not in line]
        filtered = [i for i, line in enumerate(calls) if "SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC," in line]
        started = [i for i, line in enumerate(calls) if "clone" in line]
        walled = [i for i, line in enumerate(calls) if "landlock_restrict_self(" in line]
        self.assertEqual(len(opened), 2, calls)
        self.assertTrue(walled and filtered and len(started) >= 3, calls)
        self.assertLess(walled[0], started[0])
        self.assertLess(max(started), filtered[-1])
        self.assertLess(filtered[-1], opened[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
