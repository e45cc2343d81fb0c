#!/usr/bin/env python3
"""Records the bundles that the end-to-end tests judge, once, three at a time: usage: bundles.py BUILD SOURCE

They go to BUILD/test-bundles. Each recording's exit code and output are kept beside its bundle, for the tests to look at.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
OUT = BUILD / "test-bundles"
EXPERIMENT = SOURCE / "experiments" / "hook-confinement"

# A tree whose parent ends by itself, and whose sandbox ends with it.
EXITS = {"version": 1, "name": "exits", "candidate": {"use": "landlock-pidns"}, "trials": [
    {"name": "tree", "kind": "tree", "rounds": 30, "interval_ms": 100, "lifetime_ms": 4300, "ending": {"steps": [
        {"after": {"role": "grandchild", "rounds": 4}, "exit": "parent"}]}}], "oracle": "exits-oracle.yaml"}
EXITS_ORACLE = {"version": 1, "trials": [{"name": "tree", "roles": ["parent", "child", "grandchild"]}]}

RECORDINGS = {
    "exits": [str(OUT / "exits.yaml")],
    "default": ["plan.yaml"],
    "open": ["plan-open.yaml"],
    "usable": ["plan-usable.yaml"],
    "wrong": ["plan.yaml", "--oracle", str(EXPERIMENT / "oracle-wrong.yaml")],
    "snapshots": ["plan.yaml", "--snapshots"],
}


def record(name, words):
    """All else rests on these: one with an attempt that a busy machine gave no time is made again, twice at most, and
    told."""
    for _ in range(3):
        (OUT / f"{name}.exhibit").unlink(missing_ok=True)
        done = record_once(name, words)
        if "no  complete.outcomes" not in done.stdout:
            break
        print(f"{name}: an attempt had no time: {done.stdout}")
    return name, done


def record_once(name, words):
    bundle = OUT / f"{name}.exhibit"
    command = [BUILD / "bin" / "exhibit-record", "run", str(EXPERIMENT / words[0]), "-o", bundle, *words[1:]]
    secret = {"EXHIBIT_TEST_SECRET": "never-in-a-bundle-5c1f", "HOME": "/nonexistent-home-of-the-caller"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], **secret})
    (OUT / f"{name}.json").write_text(json.dumps(
        {"code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}))
    return done


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    (OUT / "exits.yaml").write_text(json.dumps(EXITS))
    (OUT / "exits-oracle.yaml").write_text(json.dumps(EXITS_ORACLE))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:  # one of them mostly waits
        for name, done in pool.map(lambda item: record(*item), RECORDINGS.items()):
            print(f"{name}: exit {done.returncode}: {(done.stdout.splitlines() or [''])[-1]} {done.stderr.strip()}")
    missing = [name for name in RECORDINGS if not (OUT / f"{name}.exhibit").exists()]
    if missing:
        sys.exit(f"no bundle of: {', '.join(missing)}")


main()
