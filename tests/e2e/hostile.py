"""What the tests of a hostile world share: plans on the spot, recordings in a place of their own, their events, and the
look at what is left behind. Usage of each test: SCRIPT BUILD SOURCE
"""
import atexit
import base64
import collections
import concurrent.futures
import ctypes
import functools
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "tests" / "independent"))
import fourth  # noqa: E402
from records import Bundle, name_of  # noqa: E402

SANITIZED = "EXHIBIT_SANITIZE:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="hostile-", dir="/var/tmp"))
os.chmod(ROOT, 0o755)
PIECE = 65536
SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine, -1)
OPEN = {"name": "open", "argv": ["/usr/bin/env", "--", "{command}"]}
STRICT = {"name": "marked", "argv": ["/usr/bin/env", "STRICT=1", "{command}"]}  # a command can tell its mode by it
BOOTSTRAP = [{"name": "bootstrap", "kind": "bootstrap"}]
FOR_BOOTSTRAP = [{"name": "bootstrap", "roles": ["parent"]}]
TREE = [{"name": "tree", "kind": "tree", "rounds": 12, "interval_ms": 150, "lifetime_ms": 4000, "ending": {"steps": [
    {"after": {"role": "grandchild", "rounds": 3}, "signal": "TERM", "to": "group"}]}}]
FOR_TREE = [{"name": "tree", "roles": ["parent", "child", "grandchild"]}]


# ---- a control group of our own: whatever a recording leaves is in it -----------------------------------------------

def group_own():
    """Puts this process into a new control group and gives its folder; None where the machine gives none."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    points = [words[4] for words in mounts if words[words.index("-") + 1] == "cgroup2"]
    own = [line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    if not points or not own:
        return None
    group = pathlib.Path(points[0] + own[0]) / ROOT.name
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text("0")
    except OSError:
        return None
    return group


GROUP = group_own()


def odd(**settings):
    """The environment in which a recorder finds a machine that behaves oddly (subjects/odd_libc.c has the settings)."""
    return {**os.environ, "LD_PRELOAD": str(BUILD / "lib" / "libodd_libc.so"),
            "ASAN_OPTIONS": "verify_asan_link_order=0", **settings}


def kernel_takes_programs():
    """Whether bpf(2) is for us, and the kernel tells how its structures are laid out."""
    create_map, ring, size = 0, 27, 4096
    attributes = struct.pack("=IIII", ring, 0, 0, size).ljust(120, b"\0")
    made = ctypes.CDLL(None).syscall(SYS_BPF, create_map, attributes, len(attributes))
    if made >= 0:
        os.close(made)
    return made >= 0 and pathlib.Path("/sys/kernel/btf/vmlinux").exists()


def processes():
    """The processes that came of this test, as {pid: argv}; this one and zombies are not among them."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            argv = (entry / "cmdline").read_bytes()
            ours = f"/{ROOT.name}" in (entry / "cgroup").read_text() if GROUP else bytes(ROOT) in argv or (
                str(ROOT) in os.readlink(entry / "cwd") + os.readlink(entry / "exe"))
        except (OSError, ValueError):
            continue
        if ours and state != "Z":
            found[int(entry.name)] = argv.replace(b"\0", b" ").decode(errors="replace")
    return found


def leftovers():
    """What recordings of this test left: processes, mounts, control groups, work folders."""
    deadline = time.monotonic() + 2
    while processes() and time.monotonic() < deadline:
        time.sleep(0.05)  # what was killed is a zombie soon
    found = [f"process {pid}: {argv}" for pid, argv in processes().items()]
    found += [f"mount: {line}" for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
              if f"/{ROOT.name}" in line]
    found += [f"control group: {path}" for path in GROUP.iterdir() if path.is_dir()] if GROUP else []
    found += [f"folder: {path}" for path in ROOT.glob("*/work/*")]
    return found


def clean():
    for pid in processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if GROUP:
        (GROUP.parent / "cgroup.procs").write_text("0")
        for attempt in range(100):
            try:
                for path in [*GROUP.iterdir(), GROUP]:
                    if path.is_dir():
                        path.rmdir()
                break
            except OSError:
                time.sleep(0.02)
    subprocess.run(["chmod", "-R", "u+rwx", ROOT], stderr=subprocess.DEVNULL)
    shutil.rmtree(ROOT, ignore_errors=True)


atexit.register(clean)


# ---- recordings ---------------------------------------------------------------------------------------------------

Done = collections.namedtuple("Done", "code out err seconds bundle")


def subject(name):
    return str(BUILD / "bin" / name)


def shell(script, **more):
    return {"command": ["/bin/sh", "-c", script.replace("{", "{{").replace("{{scratch}", "{scratch}")], **more}


def b64(content):
    return {"base64": base64.b64encode(content).decode()}


class Place:
    """A folder with a plan and an oracle, in which one recording is made."""

    def __init__(self, name, cases=None, trials=(), oracle_trials=(), candidate=None, **more):
        """cases: {name: (case, expected)}, without their names. more: further keys of the plan."""
        self.name, self.folder = name, ROOT / name
        (self.folder / "work").mkdir(parents=True)
        cases = cases or {}
        plan = {"version": 1, "name": name, "oracle": "oracle.yaml", "candidate": candidate or OPEN,
                "environment": {"PATH": "/usr/bin:/bin"}, **more,
                "cases": [{"name": key, **case} for key, (case, _) in cases.items()], "trials": list(trials)}
        oracle = {"version": 1, "trials": list(oracle_trials),
                  "cases": [{"name": key, **expected} for key, (_, expected) in cases.items()]}
        (self.folder / "plan.yaml").write_text(json.dumps(plan, ensure_ascii=False))
        (self.folder / "oracle.yaml").write_text(json.dumps(oracle, ensure_ascii=False))
        self.bundle = self.folder / "it.exhibit"
        self.done = None

    def words(self, *more, program=None):
        return [program or BUILD / "bin" / "exhibit-record", "run", self.folder / "plan.yaml", "-o", self.bundle,
                "--work", self.folder / "work", *more]

    def start(self, words=None, before=(), **more):
        """Starts it; `before` are words of a command that starts it in turn."""
        return subprocess.Popen([*before, *(words or self.words())], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def record(self, words=None, before=(), timeout=100, **more):
        began = time.monotonic()
        process = self.start(words, before, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        if os.environ.get("HOSTILE_TIMES"):
            print(f"{self.name}: {time.monotonic() - began:.1f} s", file=sys.stderr)
        self.done = Done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"),
                         time.monotonic() - began, self.bundle)
        return self.done


def record_all(places, at_once=6):
    """Makes the recordings of several places side by side; an item is a place or (place, {keywords of record})."""
    items = [item if isinstance(item, tuple) else (item, {}) for item in places]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for made in [pool.submit(place.record, **more) for place, more in items]:
            made.result()


# ---- other users, other mounts ---------------------------------------------------------------------------------------

USER = 65534
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]


def for_user(place):
    """Gives the place to an ordinary user; the words of a recording with a toolkit that this user can reach."""
    toolkit = ROOT / "toolkit"
    if not toolkit.exists():
        (toolkit / "share" / "exhibit").mkdir(parents=True)
        (toolkit / "bin").mkdir()
        for program in ("exhibit-record", "exhibit-probe", "exhibit-confine", "storm"):
            shutil.copy2(BUILD / "bin" / program, toolkit / "bin" / program)
        shutil.copytree(SOURCE / "candidates", toolkit / "share" / "exhibit" / "candidates")
    for path in (place.folder, place.folder / "work"):
        os.chown(path, USER, USER)
    return place.words(program=toolkit / "bin" / "exhibit-record")


def inside(script):
    """Words of a shell that prepares something and then runs the rest of the words."""
    return ["sh", "-c", script + '; exec "$@"', "--"]


def cgroup2_points():
    lines = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    return [words[4] for words in lines if words[words.index("-") + 1] == "cgroup2"]


# Words that start a command where there are no control groups.
NO_GROUPS = ["unshare", "-m", *inside(" && ".join(f"umount -l {point}" for point in cgroup2_points()) or "true")]


def run(program, *words, **more):
    return subprocess.run([BUILD / "bin" / program, *words], capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL, **more)


def once_for_a_file(function):
    """Calls it once for each file: another one may come to have the name of one before."""
    @functools.lru_cache(maxsize=None)
    def of_file(path, _inode, _size, _written_ns):
        return function(path)

    @functools.wraps(function)
    def of_path(path):
        file = os.stat(path)
        return of_file(path, file.st_ino, file.st_size, file.st_mtime_ns)
    return of_path


@once_for_a_file
def claim_of(bundle):
    """The claim that replay derives, and the fourth judge too; the exit code must be that of a claim."""
    done = run("exhibit-replay", bundle, "--json")
    if done.returncode not in (0, 3):
        raise AssertionError(f"exhibit-replay {bundle}: exit {done.returncode}: {done.stderr}")
    claim = json.loads(done.stdout)
    differing = fourth.differences(facts_of(bundle).bundle, claim)
    if differing:
        raise AssertionError(f"the fourth judge says otherwise of {bundle} than replay: {differing[:5]}")
    return claim


def verified(bundle):
    """The exit code and the verdict of exhibit-verify; where it verifies, the fourth judge makes the same claim."""
    done = run("exhibit-verify", bundle, "--json")
    told = json.loads(done.stdout)
    if told["verdict"] == "verified":
        differing = fourth.differences(facts_of(bundle).bundle, told["claim"])
        if differing:
            raise AssertionError(f"the fourth judge says otherwise of {bundle} than verify: {differing[:5]}")
    return done.returncode, told


def failing(claim):
    return [rule["rule"] for rule in claim["rules"] if not rule["holds"]]


def met(claim, mode, repeat=1):
    return {case["name"]: case["met"] for case in claim["cases"] if case["mode"] == mode and case["repeat"] == repeat}


@once_for_a_file
def facts_of(bundle):
    """Its events; read once, and judged by the fourth judge, who says what was recorded."""
    facts = Facts(bundle)
    if facts.bundle.claim is not None:
        fourth.members.check(facts.bundle)
        differing = fourth.differs_from_recorded(facts.bundle)
        if differing:
            raise AssertionError(f"the fourth judge says otherwise of {bundle} than was recorded: {differing[:5]}")
    return facts


class Facts:
    """The events of a bundle, by run."""

    def __init__(self, path):
        self.bundle = Bundle(path)
        self.start = self.bundle.start
        self.runs = {}
        for event in self.bundle.events:
            if event.kind == "run_start":
                start = event.run_start
                self.runs[(start.name, name_of(start, "mode")[5:].lower(), start.repeat)] = event.run

    def all(self, kind, run=None):
        """The events of a kind, as (event, what): of a run given as (name, mode) or (name, mode, repeat), or of all."""
        number = None if run is None else self.runs[run if len(run) == 3 else (*run, 1)]
        return [(event, getattr(event, kind)) for event in self.bundle.events
                if event.kind == kind and number in (None, event.run)]

    def one(self, kind, run):
        found = self.all(kind, run)
        assert len(found) == 1, f"{len(found)} {kind} of {run}"
        return found[0]

    def stream(self, run, name):
        """A stream's description and how it ended."""
        ends = [what for _, what in self.all("stream_end", run) if name_of(what, "stream") == f"STREAM_{name.upper()}"]
        assert len(ends) == 1, f"{len(ends)} ends of {name} of {run}"
        return ends[0].content, name_of(ends[0], "how")[4:]

    def bytes(self, run, name):
        return self.bundle.whole(self.stream(run, name)[0])

    def artifacts(self, run):
        return {what.path: what for _, what in self.all("artifact", run)}


def plain(bundle):
    """All bytes of a bundle, unpacked, and those of its indexes and journals."""
    content = subprocess.run(["zstd", "-q", "-dc", bundle], capture_output=True, check=True).stdout
    return content + bundle.read_bytes()
