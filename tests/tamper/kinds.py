"""Which kinds of fact a change touches, found by comparing the facts before and after: nobody has to tell.

A fact that only has another time, or another place among the others, is of the kind `time`.
"""
import collections

import schema


def told(fact):
    """What a fact says, without when and as which one."""
    event = schema.Event()
    event.CopyFrom(fact.event)
    event.ClearField("at_ns")
    event.ClearField("seq")
    if fact.kind == "step":
        event.step.ClearField("planned_at_ns")
    return fact.kind or "none", schema.pack(event), fact.data, fact.raw


def differing(before, after):
    """The kinds of fact in which two lists differ; facts that both share are the same."""
    shared = {id(fact) for fact in before} & {id(fact) for fact in after}
    old, new = (collections.Counter(told(fact) for fact in facts if id(fact) not in shared)
                for facts in (before, after))
    kinds = {kind for kind, *_ in (old - new) + (new - old)}
    moved = [id(fact) for fact in before] != [id(fact) for fact in after]
    return kinds or ({"time"} if moved else set())


def touched(base, facts):
    """The kinds of fact that were changed, those of late steps too, and `receipt` where that was."""
    settled = facts.copy()
    settled.settle()
    late = settled.copy()
    for step in late.late:
        step(late)
    kinds = differing(base.facts, facts.facts) | differing(settled.facts, late.facts)
    if schema.pack(base.receipt) != schema.pack(facts.receipt):
        kinds.add("receipt")
    return kinds
