#!/usr/bin/python3
"""Each change of the catalogue leads where its author said: usage: tamper.py BUILD SOURCE [NAME ...] (after bundles.py)

Each bundle is valid in every byte, so that only its meaning can be judged. Without a claim, and with the claim that
replay makes of it, exactly the expected rules fail in replay, verify and the recorder's own judge, which agree; with
the old claim replay and verify refuse it. Without a claim the fourth judge says the same too. Each rule is broken by at
least two changes of different kinds of fact. Of bundles with a claim replay is asked in one call, but for each eighth
change, of which the exit code and the words are looked at as well.
"""
import concurrent.futures
import pathlib
import re
import sys

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests" / "tamper"))

import changes
import claims
import kinds
import tamper
from judges import Judges, Kept

RULES = {"complete.recording", "complete.pins", "complete.observers", "complete.controls", "complete.spoke",
         "complete.outcomes", "complete.baseline", "complete.cleanup", "boundary.attempts", "boundary.traces",
         "useful.contract", "useful.archives", "cancel.ended", "cancel.quiet"}
AT_LEAST = 200  # changes that count


def counted():
    """The changes that count, by name: not those without a claim, with the same, or refuted whatever they mean."""
    return {name: change for name, change in changes.CATALOGUE.items()
            if change.malformed is None and change.unbound is None and not change.same}


class Check:
    """One change, tried in all its forms; `faults` are what went otherwise, but for what `kept` finds at the end."""

    def __init__(self, kept, bases, change, alone):
        self.kept, self.judges, self.change, self.alone, self.faults = kept, kept.judges, change, alone, []
        self.base = bases[change.base]
        self.facts = tamper.tampered(self.base, change.name)
        self.build = self.facts.builder()

    def want(self, right, text):
        if not right:
            self.faults.append(f"{self.change.name}: {text}")

    def want_claim(self, who, claim):
        self.want(claim is not None, f"{who} makes no claim")
        if claim is not None:
            said = (claim["decision"], sorted(claims.failing(claim)))
            wanted = (self.change.decision, sorted(self.change.fails))
            self.want(said == wanted, f"{who} says {said}, wanted {wanted}")

    def malformed(self):
        """Both refuse it, with an old claim or without, and each says why."""
        for form, claim in (("no claim", None), ("old claim", tamper.kept_claim(self.base, self.facts))):
            path = self.judges.write(self.build(claim))
            for who, said in (("replay", self.judges.replay(path)), ("verify", self.judges.verify(path))):
                self.want(said.code == 1, f"{form}: {who} exits {said.code}")
                self.want(re.search(self.change.malformed, said.told), f"{form}: {who} says {said.told!r}")
        self.want(self.judges.fourth_refuses(path), f"{form}: the fourth judge takes it")

    def exit_code(self):
        return 3 if self.change.decision == "INCOMPLETE" else 0

    def replayed(self, form, path):
        """Replay judges it as was expected; gives its claim."""
        replay = self.judges.replay(path)
        self.want_claim(f"{form}: replay", replay.claim)
        self.want(replay.code == self.exit_code(), f"{form}: replay exits {replay.code}: {replay.told}")
        return replay.claim

    def verified(self, form, path, claim):
        """Verify judges it as was expected, and agrees with replay's claim."""
        change, code, refuted = self.change, self.exit_code(), self.change.unbound is not None
        verify = self.judges.verify(path)
        self.want_claim(f"{form}: verify", verify.claim)
        self.want(verify.code == (1 if refuted else code), f"{form}: verify exits {verify.code}: {verify.told}")
        self.want(verify.verdict == ("refuted" if refuted else "verified"), f"{form}: verdict {verify.verdict}")
        if refuted:
            self.want(change.unbound in verify.told, f"{form}: verify says {verify.told!r}")
        self.agree(f"{form}: replay and verify", claim, verify.claim)

    def agree(self, who, claim, other):
        if claim and other:
            self.faults += [f"{self.change.name}: {who} differ in {text}" for text in claims.differences(claim, other)]

    def recorder(self, path, claim):
        """What the recorder's own judge says, which looks at no claim. It is not asked where it could not know (partial,
        or nonsense)."""
        if not self.facts.receipt.partial and self.change.unbound is None:
            said = self.judges.record(path)
            self.want_claim("record", said.claim)
            self.agree("replay and record", claim, said.claim)

    def old_claim(self):
        """What was claimed before, bound to the new facts: refuted by what it states, and the right decision told."""
        container = self.build(tamper.kept_claim(self.base, self.facts))
        if self.alone or self.change.unbound is not None:
            path = self.judges.write(container)
        else:
            path = self.kept.keep(container, f"{self.change.name}: old claim", self.change.decision,
                                  not self.change.same)
        if self.alone:
            self.old_claim_replayed(path)
        code, text = self.judges.verify_text(path)
        self.want(f"decision: {self.change.decision}" in text, "old claim: verify tells another decision")
        if self.change.unbound is not None:
            self.want(code == 1, f"old claim: verify exits {code}")
        elif self.change.same:
            self.want(code == 0, f"true claim: verify exits {code}: {text}")
        else:
            self.want(code == 1, f"old claim: verify exits {code}")
            self.want("the claim states" in text or "the evidence shows" in text, f"old claim: verify says {text}")

    def old_claim_replayed(self, path):
        replay = self.judges.replay(path)
        if self.change.same:
            self.want(replay.code == 0, f"true claim: replay exits {replay.code}: {replay.told}")
        elif self.change.unbound is None:
            self.want(replay.code == 1, f"old claim: replay exits {replay.code}")
            self.want("the claim differs" in replay.told, f"old claim: replay says {replay.told}")
            self.want_claim("old claim: replay", replay.claim)

    def new_claim(self, claim):
        """With what replay claims of it nothing is left to say."""
        container = self.build(claims.bound_to(claims.from_json(claim)))
        if self.alone:
            path = self.judges.write(container)
            self.agree("replay and itself", claim, self.replayed("new claim", path))
        else:
            path = self.kept.keep(container, f"{self.change.name}: new claim", self.change.decision, False)
        self.verified("new claim", path, claim)

    def fourth(self, path, claim):
        """The judge in Python says the same as replay; where a binding is broken it may refuse the file."""
        if self.change.unbound is None or not self.judges.fourth_refuses(path):
            self.faults += [f"{self.change.name}: the fourth judge / replay: {text}"
                            for text in self.judges.fourth(path, claim)]

    def run(self):
        if self.change.malformed is not None:
            self.malformed()
            return self.faults
        path = self.judges.write(self.build())
        claim = self.replayed("no claim", path)
        self.verified("no claim", path, claim)
        self.recorder(path, claim)
        self.fourth(path, claim)
        self.old_claim()
        if claim is not None:
            self.new_claim(claim)
        return self.faults


def share(names):
    """A worker's part."""
    kept = Kept(Judges(BUILD))
    bases = {name: kept.judges.base(name) for name in ("usable", "default", "exits")}
    faults, touched = [], {}
    for number, name in enumerate(names):
        try:
            check = Check(kept, bases, changes.CATALOGUE[name], number % 8 == 0)
            faults += check.run()
            touched[name] = kinds.touched(check.base, check.facts)
        except Exception as error:  # one broken change must not hide what the others show
            faults.append(f"{name}: {type(error).__name__}: {error}")
    return faults + list(kept.faults()), touched


def thin_catalogue():
    """Where the catalogue has too little, as texts."""
    texts = [f"the catalogue has {len(counted())} changes that count"] if len(counted()) < AT_LEAST else []
    return texts + thin_rules()


def one_sided_rules(touched):
    """Rules that no two changes break by kinds of fact of which none is the same."""
    for rule in sorted(RULES):
        breaking = [touched.get(name, set()) for name, change in counted().items() if rule in change.fails]
        if not any(one and other and not one & other for one in breaking for other in breaking):
            yield f"the catalogue breaks {rule} by {set().union(*breaking)} alone"


def thin_rules():
    """Rules for which the catalogue has too little."""
    counts = {rule: sum(rule in change.fails for change in counted().values()) for rule in RULES}
    unknown = {rule for change in changes.CATALOGUE.values() for rule in change.fails} - RULES
    return [f"the catalogue has {count} changes for {rule}" for rule, count in counts.items() if count < 2] + \
        [f"the catalogue names {rule}" for rule in unknown]


def main():
    names = sys.argv[3:] or list(changes.CATALOGUE)
    faults, touched = thin_catalogue(), {}
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for part, its_touched in pool.map(share, [names[0::2], names[1::2]]):
            faults += part
            touched |= its_touched
    if not sys.argv[3:]:
        faults += one_sided_rules(touched)
    print("\n".join(faults))
    print(f"{len(names)} changes, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
