#!/usr/bin/python3
"""Two and three changes at once: all four judges still say the same: usage: tamper_combined.py BUILD SOURCE [COUNT]

Nothing is expected of what they say, but that they agree in everything except detail and evidence, and in the exit
code. Which changes are combined follows from a fixed seed. Changes that cannot follow one another are drawn again.
"""
import concurrent.futures
import pathlib
import random
import sys

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 500
SEED = 20240229
BASES = ("usable", "default", "exits")
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests" / "tamper"))

import changes
import claims
import tamper
from judges import Judges


def draw(source, bases):
    """Names of changes that fit together, and the facts after them."""
    while True:
        base = source.choices(BASES, (14, 2, 1))[0]
        fitting = [name for name, change in changes.CATALOGUE.items()
                   if change.base == base and change.malformed is None and change.unbound is None]
        names = source.sample(fitting, source.choice((2, 3)))
        try:
            facts = tamper.tampered(bases[base], *names)
        except (ValueError, IndexError, AssertionError):  # a fact that the second needs is gone after the first
            continue
        if facts.times_ascend() and facts.streams_end():
            return names, facts


def compare(judges, names, facts):
    """What the judges say differently of these facts."""
    path, title = judges.write(facts.build()), " + ".join(names)
    replay, verify = judges.replay(path), judges.verify(path)
    if replay.code not in (0, 3) or replay.code != verify.code:
        return [f"{title}: replay exits {replay.code} ({replay.told}), verify {verify.code} ({verify.told})"]
    faults = [f"{title}: replay / verify: {text}" for text in claims.differences(replay.claim, verify.claim)]
    faults += [f"{title}: fourth judge / replay: {text}" for text in judges.fourth(path, replay.claim)]
    if not facts.receipt.partial:
        record = judges.record(path)
        if record.claim is None:
            return [*faults, f"{title}: the recorder's judge says {record.told}"]
        faults += [f"{title}: replay / record: {text}" for text in claims.differences(replay.claim, record.claim)]
    return faults


def share(part):
    """A worker's part, with a seed of its own."""
    judges = Judges(BUILD)
    bases = {name: judges.base(name) for name in BASES}
    source, faults = random.Random(SEED + part), []
    for _ in range(COUNT // 2):
        faults += compare(judges, *draw(source, bases))
    return faults


def main():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        faults = [fault for part in pool.map(share, range(2)) for fault in part]
    print("\n".join(faults))
    print(f"{COUNT} combinations, {len(faults)} differences")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
