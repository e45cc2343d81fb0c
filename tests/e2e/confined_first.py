#!/usr/bin/env python3
"""The judges confine themselves before they read a byte of a bundle: usage: confined_first.py BUILD SOURCE

What the kernel saw, in its order: the file is opened (nothing of it is read by that), Landlock and the system call
filter are in force, and only then comes the first read. After that nothing is opened any more.
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
SANITIZED = "EXHIBIT_SANITIZE:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
STRACE = shutil.which("strace")
FOLDER = tempfile.TemporaryDirectory(prefix="exhibit-confined-")
PLACE = pathlib.Path(FOLDER.name)
FILE = PLACE / "file.exhibit"
READS = ("read", "pread64", "readv", "preadv", "preadv2", "mmap", "sendfile", "copy_file_range")

if STRACE is None:
    print("skipped: needs strace")
    sys.exit(77)


def traced(program, *words):
    """The calls of a program as strace tells them, each one line."""
    trace = PLACE / "trace"
    subprocess.run([STRACE, "-f", "-qq", "-o", trace, BUILD / "bin" / program, *words], capture_output=True, timeout=60,
                   stdin=subprocess.DEVNULL)
    return [re.sub(r"^\d+ +", "", line) for line in trace.read_text(errors="replace").splitlines()]


def faults(calls, path=FILE):
    """What is not in its order."""
    opened = [(at, re.search(r"= (\d+)$", call)) for at, call in enumerate(calls)
              if call.startswith("openat(") and f'"{path}"' in call]
    landlock, filters = ([at for at, call in enumerate(calls) if call.startswith(begin) and call.endswith("= 0")]
                         for begin in ("landlock_restrict_self(", "seccomp(SECCOMP_SET_MODE_FILTER"))
    if len(opened) != 1 or opened[0][1] is None:
        return [f"opened {len(opened)} times"]
    descriptor = opened[0][1][1]
    reads = [at for at, call in enumerate(calls) if at > opened[0][0] and
             re.match(rf"({'|'.join(READS)})\(([^\"]*, )?{descriptor},", call)]
    needed = (("no Landlock", landlock), ("no filter", filters), ("nothing read", reads))
    found = [name for name, at in needed if not at]
    if not found and min(reads) < max(landlock[0], filters[0]):
        found.append("read before the confinement")
    after = calls[max(landlock + filters, default=len(calls)):]
    late = [call for call in after if re.match(r"open(at|at2)?\(.*= \d+$", call)]
    return found + [f"opened afterwards: {call}" for call in late]


@unittest.skipIf(SANITIZED, "sanitizers need more than a confined program may do")
class Confined(unittest.TestCase):
    def setUp(self):
        FILE.write_bytes(b"EXHIBIT, or something else that is hostile. " * 100)

    def test_nothing_is_read_before_the_walls_stand_and_nothing_opened_after(self):
        oracle = SOURCE / "experiments" / "oracle-default.yaml"
        both = ((), ("--json",), ("--oracle", oracle))
        for program, words in (*(("exhibit-replay", words) for words in both), *(("exhibit-verify", words) for words in (
                *both, ("--sha256", "0" * 64), ("--source", PLACE)))):
            with self.subTest(f"{program} {words}"):
                self.assertEqual(faults(traced(program, FILE, *words)), [])

    def test_another_order_would_be_seen(self):
        for program in ("exhibit-verify", "exhibit-replay"):
            calls = traced(program, FILE)
            walls = [at for at, call in enumerate(calls) if re.match("landlock_restrict|seccomp", call)]
            early = calls[:walls[0]] + [call for call in calls[walls[0]:] if re.match("f?stat|pread|openat", call)]
            self.assertEqual(faults(early), ["no Landlock", "no filter"])
            moved = early + [calls[at] for at in walls]
            self.assertEqual(faults(moved), ["read before the confinement"])
            self.assertIn("opened afterwards", faults(calls + ['openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 7'])[0])
            self.assertEqual(faults([call for call in calls if "pread" not in call and "read(" not in call]),
                             ["nothing read"])


unittest.main(argv=sys.argv[:1], verbosity=2)
