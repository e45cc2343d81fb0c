"""What the tests of stores share: a store, plans whose workspaces have most of their files in common, and what is in a
pack, read without our programs. Usage of each test: SCRIPT BUILD SOURCE
"""
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess

import fourth
import hostile
from hostile import BUILD, ROOT, Place, run, shell

INPUTS, OBSERVATIONS = 2, 1
CASES = {"show": (shell("cat one two | head -c 100"), {"exit": 0})}
COMMON = {**{f"file-{i}": bytes(f"file {i}\n" * (i + 1), "ascii") for i in range(40)}, "one": b"one\n", "two": b"two\n",
          "empty": b"", "large": random.Random(1).randbytes(5_000_000)}


def hexed(digest):
    return digest.hex()


class Store:
    """A store, and the recordings that are made in it. `last` is the place of the last one."""

    def __init__(self, name):
        self.folder = ROOT / name
        self.path = self.folder / "store"
        self.folder.mkdir(parents=True)
        self.count = 0

    def place(self, files, cases=None, **more):
        """A plan with a workspace of these files: {name: content}."""
        self.count += 1
        place = Place(f"{self.folder.name}-plan-{self.count}", cases or CASES, workspace="source", **more)
        (place.folder / "source").mkdir()
        for path, content in files.items():
            (place.folder / "source" / path).write_bytes(content)
        return place

    def words(self, place):
        return [BUILD / "bin" / "exhibit-record", "run", place.folder / "plan.yaml", "--store", self.path,
                "--work", place.folder / "work"]

    def record(self, files, cases=None, env=None, **more):
        """Records and gives the receipt's digits; the exit code must be that of a recording without trials."""
        place = self.last = self.place(files, cases, **more)
        before = set(self.receipts())
        done = place.record(self.words(place), **({"env": {"PATH": os.environ["PATH"], **env}} if env else {}))
        if done.code != 3:
            raise AssertionError(f"exit {done.code}: {done.err}")
        (receipt,) = set(self.receipts()) - before
        return receipt

    def receipts(self):
        return sorted(path.name[:-5] for path in self.path.glob("*.pack"))

    def pack(self, receipt):
        return self.path / f"{receipt}.pack"

    def export(self, receipt, name="out.exhibit", **more):
        out = self.folder / name
        out.unlink(missing_ok=True)
        return run("exhibit-record", "export", receipt, "--store", self.path, "-o", out, **more), out

    def prune(self, *receipts, **more):
        return run("exhibit-record", "prune", "--store", self.path, *receipts, **more)

    def names(self):
        return sorted(path.name for path in self.path.iterdir()) if self.path.exists() else []

    def copy(self, name):
        """The same store in another folder."""
        other = Store(name)
        shutil.copytree(self.path, other.path)
        return other


class Content:
    """What is in a pack: frames of its blocks by part, objects of each."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        pack = fourth.pack.Pack(self.path)
        raw = self.path.read_bytes()
        self.objects = {part: dict(pack.parts[part].objects) for part in (OBSERVATIONS, INPUTS)}
        self.places = {part: [block[:2] for block in pack.parts[part].blocks] for part in (OBSERVATIONS, INPUTS)}
        self.frames = {part: [raw[at:at + size] for at, size in places] for part, places in self.places.items()}
        self.in_blocks = {part: self._in_blocks(pack.parts[part]) for part in (OBSERVATIONS, INPUTS)}
        pack.close()

    @staticmethod
    def _in_blocks(part):
        """The digests of the objects of which a byte is in each block."""
        starts, at, held = [], 0, [set() for _ in part.blocks]
        for block in part.blocks:
            starts.append(at)
            at += block[2]
        for digest, (size, block, offset) in part.objects.items():
            end = (starts[block] + offset if part.blocks else 0) + size
            while size and block < len(starts) and starts[block] < end:
                held[block].add(digest)
                block += 1
        return held


def wanted(files):
    return {hashlib.sha256(content).digest() for content in files.values()}


def judged(bundle):
    """What verify and replay say of it, which must agree with the fourth judge: (verify's verdict, replay's claim)."""
    code, verdict = hostile.verified(bundle)
    if code != 3:
        raise AssertionError(f"verify of {bundle} exits {code}: {verdict}")
    done = run("exhibit-replay", bundle, "--json")
    claim = json.loads(done.stdout)
    wrong = fourth.differences(bundle, claim)
    if done.returncode != 3 or wrong:
        raise AssertionError(f"replay of {bundle} exits {done.returncode}: {done.stderr}; the fourth judge: {wrong[:3]}")
    return verdict, claim


def whole(path):
    """Whether zstd takes the file."""
    return subprocess.run(["zstd", "-q", "-t", path], capture_output=True).returncode == 0
