"""The judge of tests/independent in a test's own process: where it says otherwise of a bundle than another judge.

Needs Debian's Python, which has the packages that it reads bundles with.
"""
import contextlib
import ctypes
import functools
import gc
import hashlib
import importlib
import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "independent"
gc.set_threshold(100000)  # a bundle is thousands of objects, hardly any of them in circles: not to be looked at so often
for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of malloc.h: memory that was had once is kept for the next
    ctypes.CDLL(None).mallopt(option, 1 << 30)


def loaded(*wanted):
    """Modules of tests/independent, also beside others of the same names."""
    names = {path.stem for path in FOLDER.glob("*.py")}
    aside = {name: sys.modules.pop(name) for name in names if name in sys.modules
             and pathlib.Path(sys.modules[name].__file__).parent != FOLDER}
    sys.path.insert(0, str(FOLDER))
    try:
        return [importlib.import_module(name) for name in wanted]
    finally:
        sys.path.remove(str(FOLDER))
        for name in aside:
            sys.modules.pop(name, None)
        sys.modules.update(aside)


judge, oracles, pack, records, members, apart, runs, schema = loaded("judge", "oracle", "pack", "records", "members",
                                                                     "apart", "runs", "schema")


@functools.lru_cache(maxsize=64)
def _oracle(raw):
    return oracles.read(raw), hashlib.sha256(raw).digest()


def claim_of(bundle, oracle=None):
    """Its claim of a records.Bundle, under the recorded oracle or the one in a file."""
    apart.check(bundle)
    raw = (pathlib.Path(oracle).read_bytes() if oracle
           else bundle.pack.read(bundle.start.oracle_sha256, oracles.LIMIT_YAML))
    return judge.judge(bundle, *_oracle(raw))


@contextlib.contextmanager
def opened(path):
    """The bundle in a file. Raises pack.Refused where that is none as FORMAT.md has it."""
    bundle = records.Bundle(path)
    try:
        members.check(bundle)
        yield bundle
    finally:
        bundle.pack.close()
        bundle.facts = None  # they hold the bundle, which can go at once without them


def judged(path, oracle=None):
    """Its claim of a file; raises as opened() does."""
    with opened(path) as bundle:
        return claim_of(bundle, oracle)


def differs_from_recorded(bundle):
    """Where it says otherwise than the claim that was recorded with a bundle or its file."""
    if not isinstance(bundle, records.Bundle):
        with opened(bundle) as made:
            return differs_from_recorded(made)
    return list(judge.differences(claim_of(bundle), judge.recorded(bundle.claim), "claim"))


def differs_from_replay(build, path):
    """Where it says otherwise of a file than exhibit-replay."""
    done = subprocess.run([build / "bin" / "exhibit-replay", path, "--json"], capture_output=True, timeout=60)
    return differences(path, json.loads(done.stdout) if done.stdout else None)


def refusal(path):
    """Why it refuses a file; nothing where it does not."""
    try:
        judged(path)
    except pack.Refused as error:
        return str(error)
    except oracles.BadOracle as error:
        return f"the oracle: {error}"
    return ""


def differences(bundle, theirs, oracle=None):
    """Where another judge's claim (as JSON) of a bundle or its file differs in what must be equal (DECISION 7.3)."""
    if theirs is None:
        return ["the other judge makes no claim"]
    try:
        if not isinstance(bundle, records.Bundle):
            mine = judged(bundle, oracle)
        else:
            members.check(bundle)
            mine = claim_of(bundle, oracle)
    except (pack.Refused, oracles.BadOracle) as error:
        return [f"the fourth judge refuses it: {error}"]
    return list(judge.differences(mine, theirs, "claim"))


def withheld(path):
    """By local input how many of its objects a bundle is without."""
    bundle = records.Bundle(path)
    try:
        return apart.check(bundle)
    finally:
        bundle.pack.close()
