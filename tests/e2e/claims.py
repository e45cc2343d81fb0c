#!/usr/bin/python3
"""No field of a claim can be changed unnoticed: usage: claims.py BUILD SOURCE [STEP] (after bundles.py)

Each statement of a true claim is changed in turn, and three at once, in a bundle that is valid in every byte. verify
refutes each with a finding that names the statement; replay finds that the claims differ; both tell the decision that the
facts show. With STEP only each STEP-th of the changes is made.
"""
import concurrent.futures
import functools
import pathlib
import random
import sys

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
STEP = int(sys.argv[3]) if len(sys.argv) > 3 else 1
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests" / "tamper"))

import claims
import edits
import schema
from judges import Judges, Kept

OTHER = bytes(31) + b"\1"
THREES = 20  # draws of three changes at once, of each base


def attempt_name(attempt):
    return f"attempt {attempt.trial}/{attempt.mode}/{attempt.role}/{attempt.round}/{attempt.effect}"


def of_run(word, statement):
    return f"{word} {statement.trial}/{statement.mode}"


def field_changes(claim):
    """(what, change of a claim, the text that a finding must hold) for the fields of the claim itself."""
    yield "the decision", lambda c: setattr(c, "decision", "GO" if claim.decision != "GO" else "NO-GO"), "decision"
    yield "an unknown decision", lambda c: setattr(c, "decision", "MAYBE"), "decision"
    yield "prospective", lambda c: setattr(c, "prospective", True), "prospective"
    yield "the receipt", lambda c: setattr(c, "receipt_sha256", OTHER), "receipt"
    yield "the oracle", lambda c: setattr(c, "oracle_sha256", OTHER), "oracle"
    yield "an effect not measured", lambda c: c.not_measured.append("udp"), "effect udp"
    yield "an effect that is none", lambda c: c.not_measured.append("fly"), "effect fly"


def rule_changes(claim):
    for i, rule in enumerate(claim.rules):
        name = f"rule {rule.rule}"
        yield f"{name} turned", lambda c, i=i: setattr(c.rules[i], "holds", not c.rules[i].holds), name
        yield f"{name} removed", lambda c, i=i: c.rules.__delitem__(i), name
        yield f"{name} twice", lambda c, i=i: c.rules.add().CopyFrom(c.rules[i]), name
    yield "a rule added", lambda c: c.rules.add(rule="complete.everything", holds=True), "complete.everything"


def case_changes(claim):
    def end_otherwise(case):
        how = case.WhichOneof("how")
        case.signal = getattr(case, how or "exit") + 1

    for i, case in enumerate(claim.cases):
        name = f"case {case.name}/{case.mode} {case.repeat}"
        yield f"{name} met", lambda c, i=i: setattr(c.cases[i], "met", not c.cases[i].met), name
        yield f"{name} exit", lambda c, i=i: setattr(c.cases[i], "exit", c.cases[i].exit + 7), name
        yield f"{name} signal", lambda c, i=i: end_otherwise(c.cases[i]), name
        yield f"{name} no end", lambda c, i=i: c.cases[i].ClearField(c.cases[i].WhichOneof("how")), name
        yield f"{name} removed", lambda c, i=i: c.cases.__delitem__(i), name
        yield f"{name} mode", lambda c, i=i: setattr(c.cases[i], "mode", "control"), name
        yield f"{name} repeat", lambda c, i=i: setattr(c.cases[i], "repeat", 9), name
        yield f"{name} name", lambda c, i=i: setattr(c.cases[i], "name", "other"), name
        for j, archive in enumerate(case.archives):
            name = f"archive {archive.path.decode()} of case {case.name}/{case.mode} {case.repeat}"

            def change(field, value, i=i, j=j):
                return lambda c: setattr(c.cases[i].archives[j], field, value)

            yield f"{name} digest", change("sha256", OTHER), name
            yield f"{name} members", change("members", archive.members + 1), name
            yield f"{name} path", change("path", b"other.tgz"), name
            yield f"{name} removed", lambda c, i=i, j=j: c.cases[i].archives.__delitem__(j), name
    yield "a case added", lambda c: c.cases.add(name="more", mode="strict", repeat=1, exit=0, met=True), \
        "case more/strict 1"


def attempt_changes(claim):
    """One attempt of each trial, mode and role: each field in turn; removed, added, told twice."""
    seen = set()
    for i, attempt in enumerate(claim.attempts):
        if (attempt.trial, attempt.mode, attempt.role) in seen:
            continue
        seen.add((attempt.trial, attempt.mode, attempt.role))
        name = attempt_name(attempt)
        others = {"outcome": "diverted", "errno_value": attempt.errno_value + 1, "at_ns": attempt.at_ns + 1,
                  "round": attempt.round + 50, "role": "uncle", "mode": "control", "trial": "other", "effect": "fly"}
        for field, value in others.items():
            yield f"{name} {field}", lambda c, i=i, f=field, v=value: setattr(c.attempts[i], f, v), name
        yield f"{name} removed", lambda c, i=i: c.attempts.__delitem__(i), name
        yield f"{name} twice", lambda c, i=i: c.attempts.add().CopyFrom(c.attempts[i]), name
    more = {"trial": "tree", "mode": "strict", "role": "grandchild", "round": 32, "effect": "read",
            "outcome": "reached", "at_ns": 1}
    told = {(a.trial, a.mode, a.role, a.round) for a in claim.attempts}
    if ("tree", "strict", "grandchild", 32) not in told:
        yield "an attempt added", lambda c: c.attempts.add(**more), "attempt tree/strict/grandchild/32/read"
    yield "all attempts removed", lambda c: c.ClearField("attempts"), "attempt "


def list_changes(claim):
    for name, word, fields in (("rows", "rows of", ("count",)), ("messages", "messages of", ("tcp", "udp")),
                               ("tree", "process", ("pid", "start_time", "survived_ms"))):
        for i, statement in enumerate(getattr(claim, name)):
            subject = of_run(word, statement) + (f"/{statement.role}" if name == "tree" else "")

            def change(field, value, name=name, i=i):
                return lambda c: setattr(getattr(c, name)[i], field, value)

            for field in fields:
                yield f"{subject} {field}", change(field, getattr(statement, field) + 1), subject
            yield f"{subject} mode", change("mode", "control"), subject
            yield f"{subject} trial", change("trial", "other"), subject
            yield f"{subject} removed", lambda c, name=name, i=i: getattr(c, name).__delitem__(i), subject
            if name == "tree":
                yield f"{subject} ended_by", change("ended_by", "early"), subject
                yield f"{subject} role", change("role", "uncle"), subject
    for i, ending in enumerate(claim.endings):
        subject = f"ending of {ending.trial}"
        for field in ("ended", "quiet"):
            yield f"{subject} {field}", lambda c, i=i, f=field, v=not getattr(ending, field): \
                setattr(c.endings[i], f, v), subject
        yield f"{subject} trial", lambda c, i=i: setattr(c.endings[i], "trial", "other"), subject
        yield f"{subject} removed", lambda c, i=i: c.endings.__delitem__(i), subject
    yield "an ending added", lambda c: c.endings.add(trial="more", ended=True, quiet=True), "ending of more"
    yield "endings in a claim of version 1", lambda c: setattr(c, "version", 1), "ending of tree"
    yield "rows added", lambda c: c.rows.add(trial="more", mode="strict", count=1), "rows of more/strict"
    yield "a process added", lambda c: c.tree.add(trial="more", mode="strict", role="parent", pid=1, ended_by="step"), \
        "process more/strict/parent"


def order_changes(claim):
    """The order is part of a claim (DECISION 7): the statements are all there, and not where they belong."""
    def swap(name):
        def change(c):
            items = list(getattr(c, name))
            items[0], items[1] = items[1], items[0]
            copies = [type(item).FromString(schema.pack(item)) for item in items]
            c.ClearField(name)
            getattr(c, name).extend(copies)
        return change

    for name in ("rules", "cases", "attempts", "rows", "messages", "tree"):
        yield f"{name} in another order", swap(name), "order"


def unmeasured_changes(claim):
    """For a claim whose oracle leaves effects out."""
    for i, effect in enumerate(claim.not_measured):
        yield f"{effect} measured after all", lambda c, i=i: c.not_measured.__delitem__(i), f"effect {effect}"
        yield f"{effect} exchanged", lambda c, i=i: c.not_measured.__setitem__(i, "udp"), f"effect {effect}"
    yield "not measured in another order", lambda c: c.not_measured.reverse(), "order"
    yield "all measured after all", lambda c: c.ClearField("not_measured"), "effect "


def three_at_once(claim, source):
    """A change of each of three parts of the claim, of those that leave the others to be told: [(title, change, text)]."""
    parts = source.sample((rule_changes, case_changes, attempt_changes, list_changes), 3)
    return [source.choice([one for one in part(claim) if "version" not in one[0] and "all attempts" not in one[0]])
            for part in parts]


def all_changes(claim):
    for made in (field_changes, rule_changes, case_changes, attempt_changes, list_changes, order_changes):
        yield from made(claim)


def check(kept, base, title, change, *texts):
    """What goes otherwise for verify when this change was made to a true claim; each text must be in a finding."""
    made = schema.Claim.FromString(schema.pack(base.claim))
    receipt = made.receipt_sha256
    change(made)
    if made.receipt_sha256 == receipt:
        bound = claims.bound_to(made)
    else:
        bound = lambda _: schema.pack(made)
    verify = kept.judges.verify(kept.keep(builder(base)(bound), title, base.claim.decision, True))
    faults = []
    if verify.code != 1 or verify.verdict != "refuted":
        faults.append(f"{title}: verify exits {verify.code}")
    faults += [f"{title}: no finding has {words!r}: {verify.told}" for words in texts if words not in verify.told]
    if verify.claim is None or verify.claim["decision"] != base.claim.decision:
        faults.append(f"{title}: verify does not tell the right decision")
    return faults


@functools.lru_cache(maxsize=None)
def builder(base):
    """Builds bundles of a base, whose facts nothing changes here, with other claims."""
    return base.builder()


def true_claims(judges, base):
    """Words are free: a true claim with other details stays true."""
    made = schema.Claim.FromString(schema.pack(base.claim))
    for rule in made.rules:
        rule.detail, rule.evidence[:] = "in other words", ["event 1"]
    path = judges.write(builder(base)(claims.bound_to(made)))
    codes = judges.verify(path).code, judges.replay(path).code
    return [] if codes == (0, 0) else [f"other details: exits {codes}"]


def older_claims(judges, base):
    """A claim of version 1 knew no endings, and is true without them."""
    made = schema.Claim.FromString(schema.pack(base.claim))
    made.version = 1
    made.ClearField("endings")
    path = judges.write(builder(base)(claims.bound_to(made)))
    codes = judges.verify(path).code, judges.replay(path).code
    return [] if codes == (0, 0) else [f"a claim of version 1: exits {codes}"]


def check_three(kept, base, source):
    """Three changes at once: none hides behind another."""
    three = three_at_once(base.claim, source)

    def change(claim):
        for _, one, _ in three:
            one(claim)
    return check(kept, base, " + ".join(title for title, *_ in three), change, *(words for *_, words in three))


def unknown_versions(judges, base):
    """No program guesses what a claim of another version means."""
    faults = []
    for version in (0, 3):
        made = schema.Claim.FromString(schema.pack(base.claim))
        made.version = version
        path = judges.write(builder(base)(claims.bound_to(made)))
        for who, said in (("verify", judges.verify(path)), ("replay", judges.replay(path))):
            if said.code != 1 or f"version {version}" not in said.told:
                faults.append(f"a claim of version {version}: {who} exits {said.code}: {said.told}")
    return faults


def unmeasured(judges, base):
    """The same facts under an oracle that asks for three effects alone, with its true claim; the fourth judge's too."""
    facts = base.copy()
    edits.set_oracle(facts, lambda text: text.replace("parent]}", "parent], effects: [read, tcp, udp]}").replace(
        "grandchild]}", "grandchild], effects: [read, tcp, udp]}"))
    path = judges.write(facts.build())
    claim = judges.replay(path).claim
    differing = judges.fourth(path, claim)
    assert not differing, f"the fourth judge says otherwise than replay: {differing[:5]}"
    facts.claim = claims.from_json(claim)
    assert list(facts.claim.not_measured) == ["read-link", "write"], facts.claim.not_measured
    return facts


def share(part):
    judges, source = Judges(BUILD), random.Random(part)
    base, kept = judges.base(part), Kept(judges)
    bases = [(base, list(all_changes(base.claim))[::STEP])]
    faults = true_claims(judges, base) + older_claims(judges, base) + unknown_versions(judges, base)
    if part == "usable":
        other = unmeasured(judges, base)
        faults += true_claims(judges, other)
        bases.append((other, list(unmeasured_changes(other.claim))))
    for facts, every in bases:
        for title, change, words in every:
            faults += [f"{part}: {fault}" for fault in check(kept, facts, title, change, words)]
    for _ in range(THREES):
        faults += [f"{part}: {fault}" for fault in check_three(kept, base, source)]
    faults += [f"{part}: {fault}" for fault in kept.faults()]
    return sum(len(every) for _, every in bases) + THREES, faults


def main():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        counts, faults = zip(*pool.map(share, ("usable", "default")))
    faults = [fault for part in faults for fault in part]
    print("\n".join(faults))
    print(f"{sum(counts)} changed claims, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
