#!/usr/bin/env python3
"""The judges confine themselves before they open what they read: usage: confined_first.py BUILD SOURCE

What the kernel saw, in its order: what is named is opened for its place alone (O_PATH, by which nothing can be read),
Landlock with a rule for just that and the system call filter are in force, and only then comes the opening for reading,
and the first read. Nothing else is opened any more.
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
JUDGES = ("exhibit-replay", "exhibit-verify")
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


def opened_by(call):
    """The path, the flags and the descriptor of a call that opened something, or None."""
    opened = re.match(r'open(?:at|at2)?\((?:[^"]*, )?"([^"]*)", ([^)]*)\) = (\d+)$', call)
    return opened and opened.groups()


def granted(calls):
    """The paths of Landlock's rules, each the last that its descriptor was opened for, and with nothing but O_PATH."""
    paths, rules = {}, []
    for call in calls:
        if opened := opened_by(call):
            paths[opened[2]] = opened[0] if "O_PATH" in opened[1] else "what can be read"
        elif rule := re.match(r"landlock_add_rule\(.*parent_fd=(\d+)\}.*= 0$", call):
            rules.append(paths.get(rule[1]))
    return rules


def faults(calls, named=(FILE,)):
    """What is not in its order, where the file and perhaps a folder are named."""
    named = sorted(map(str, named))
    walls = [[at for at, call in enumerate(calls) if call.startswith(begin) and call.endswith("= 0")]
             for begin in ("landlock_restrict_self(", "seccomp(SECCOMP_SET_MODE_FILTER")]
    found = [name for name, at in zip(("no Landlock", "no filter"), walls) if not at]
    if found:
        return found
    reading = [(at, *opened) for at, call in enumerate(calls)
               if (opened := opened_by(call)) and "O_PATH" not in opened[1]]
    up = max(at[0] for at in walls)
    found += [f"opened before the confinement: {path}" for at, path, *_ in reading if at < up and path in named]
    late = sorted(path for at, path, *_ in reading if at > up)
    if late != named:
        found.append(f"opened afterwards: {late}")
    if sorted(map(str, granted(calls))) != named:
        found.append(f"granted: {granted(calls)}")
    starts = [(at, descriptor) for at, path, _, descriptor in reading if path == str(FILE)]
    reads = [at for at, call in enumerate(calls) for start, descriptor in starts if at > start and
             re.match(rf"({'|'.join(READS)})\(([^\"]*, )?{descriptor},", call)]
    if not reads:
        found.append("nothing read")
    elif min(reads) < max(at[-1] for at in walls):
        found.append("read before the confinement")
    return found


def asked(program, *words, without=None, **more):
    """Its exit code and complaints; `without` a system call, as on a kernel that has none."""
    before = [STRACE, "-qqq", "-o", PLACE / "trace", "-e", f"inject={without}:error=ENOSYS"] if without else []
    done = subprocess.run([*before, BUILD / "bin" / program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, timeout=60, **{"stdin": subprocess.DEVNULL, **more})
    return done.returncode, done.stderr.splitlines()


@unittest.skipIf(SANITIZED, "sanitizers need more than a confined program may do")
class Confined(unittest.TestCase):
    def setUp(self):
        FILE.write_bytes(b"EXHIBIT, or something else that is hostile. " * 100)

    def test_nothing_is_opened_for_reading_before_the_walls_stand_and_nothing_but_that_after(self):
        oracle = SOURCE / "experiments" / "oracle-default.yaml"
        both = ((), ("--json",), ("--oracle", oracle))
        for program, words in (*((program, words) for program in JUDGES for words in both),
                               ("exhibit-verify", ("--sha256", "0" * 64))):
            with self.subTest(f"{program} {words}"):
                self.assertEqual(faults(traced(program, FILE, *words)), [])
        self.assertEqual(faults(traced("exhibit-verify", FILE, "--source", PLACE), (FILE, PLACE)), [])

    def test_replay_gives_up_opening_before_the_first_read(self):
        begins = {"wall": "landlock_restrict_self", "filter": r"seccomp\(SECCOMP_SET_MODE_FILTER.*= 0$",
                  "open": rf'openat\(AT_FDCWD, "{FILE}", (?!.*O_PATH)', "read": "pread64"}
        order = [name for call in traced("exhibit-replay", FILE) for name, begin in begins.items()
                 if re.match(begin, call)]
        at = order.index("wall")
        self.assertEqual(order[at:at + 5], ["wall", "filter", "open", "filter", "read"])

    def test_another_order_would_be_seen(self):
        for program in JUDGES:
            calls = traced(program, FILE)
            up = [at for at, call in enumerate(calls) if re.match("landlock_restrict|seccomp.*FILTER.* = 0", call)]
            (opening,) = [at for at, call in enumerate(calls) if call.startswith(f'openat(AT_FDCWD, "{FILE}", O_RDONLY|O_NOCTTY')]
            read = next(at for at, call in enumerate(calls) if at > opening and re.match("pread|read", call))
            without = [call for at, call in enumerate(calls) if at not in up]
            self.assertEqual(faults(without), ["no Landlock", "no filter"])
            self.assertIn("read before the confinement", faults(without + [calls[at] for at in up])[-1])
            moved = [calls[opening], *calls[:opening], *calls[opening + 1:]]
            self.assertIn(f"opened before the confinement: {FILE}", faults(moved))
            early = [*calls[:up[0]], calls[opening], calls[read], *calls[up[0]:]]
            self.assertIn("read before the confinement", faults(early))
            for more in ('openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 7', 'open("/etc/passwd", O_RDONLY) = 7'):
                self.assertEqual(faults(calls + [more]), [f"opened afterwards: {sorted(['/etc/passwd', str(FILE)])}"])
            rule = [at for at, call in enumerate(calls) if "landlock_add_rule" in call]
            self.assertEqual(faults([call for at, call in enumerate(calls) if at not in rule]), ["granted: []"])
            wider = [*calls[:rule[0]], 'openat(AT_FDCWD, "/", O_PATH) = 99',
                     re.sub(r"parent_fd=\d+", "parent_fd=99", calls[rule[0]]), *calls[rule[0]:]]
            self.assertIn("granted: ['/',", faults(wider)[0])
            self.assertEqual(faults([call for call in calls if "pread" not in call and "read(" not in call]),
                             ["nothing read"])

    def test_a_file_may_be_named_in_another_way(self):
        link, inner = PLACE / "link", PLACE / "folder"
        link.symlink_to("folder/inner")
        inner.mkdir()
        (inner / "inner").symlink_to(FILE)
        for program in JUDGES:
            code, lines = asked(program, FILE)
            self.assertEqual((code, "no header of a pack" in lines[0]), (1, True), lines)
            with open(FILE, "rb") as stdin:
                for name, more in ((link, {}), ("file.exhibit", {"cwd": PLACE}), ("folder/../link", {"cwd": PLACE}),
                                   ("/dev/stdin", {"stdin": stdin})):
                    with self.subTest(f"{program} {name}"):
                        self.assertEqual(asked(program, name, **more),
                                         (1, [line.replace(str(FILE), str(name)) for line in lines]))

    def test_what_is_no_file_is_refused_at_once_and_in_one_line(self):
        fifo, device = PLACE / "fifo", "/dev/zero"
        os.mkfifo(fifo)
        reader, writer = os.pipe()
        with open(reader), open(writer, "w"):
            for program, why in (("exhibit-replay", "cannot be opened"), ("exhibit-verify", "could not open")):
                for name, text in ((fifo, "not a regular file"), (device, "not a regular file"),
                                   (f"/proc/self/fd/{reader}", "not a regular file"),
                                   (PLACE / "none", f"{why}: No such file or directory")):
                    with self.subTest(f"{program} {name}"):
                        self.assertEqual(asked(program, name, pass_fds=[reader]), (5, [f"{program}: {name}: {text}"]))
        self.assertEqual(asked("exhibit-verify", FILE, "--source", FILE),
                         (5, [f"exhibit-verify: {FILE}: could not open the folder: Not a directory"]))

    def test_a_kernel_without_landlock_gets_a_warning_and_an_answer(self):
        for program, text in (("exhibit-replay", "this kernel has no Landlock"),
                              ("exhibit-verify", "this kernel gives no Landlock")):
            code, lines = asked(program, FILE)
            less, told = asked(program, FILE, without="landlock_create_ruleset")
            self.assertEqual((less, told[1:]), (code, lines))
            self.assertIn(text, told[0])
            code, lines = asked(program, PLACE / "none", without="landlock_create_ruleset")
            self.assertEqual((code, len(lines)), (5, 1), lines)


unittest.main(argv=sys.argv[:1], verbosity=2)
