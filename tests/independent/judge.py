"""A claim from a bundle and an oracle: docs/DECISION.md sections 5 and 7, in the form of docs/FORMAT.md clause 9.2."""
import base64

import oracle as oracles
from archived import path_matches
from attempts import Facts
from rules import RULES, Scene, trial_ended, trial_quiet
from runs import read_runs

FREE = ("detail", "evidence")
LIMIT_TOLD = 20  # of what speaks against a rule, in its detail


def shown(raw):
    """Bytes as JSON shows them."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def decision_of(rules):
    failing = [rule["rule"] for rule in rules if not rule["holds"]]
    if any(rule.startswith("complete.") for rule in failing):
        return "INCOMPLETE"
    return "NO-GO" if failing else "GO"


def _told(found):
    more = [f"and {len(found) - LIMIT_TOLD} more"] if len(found) > LIMIT_TOLD else []
    return "; ".join(found[:LIMIT_TOLD] + more)


def judge(bundle, oracle, oracle_digest):
    """The claim, as a dict of the form exhibit.claim/1."""
    if bundle.facts is None:
        bundle.facts = Facts(bundle, read_runs(bundle))
    scene, rules = Scene(bundle.facts, oracle), []
    for name, rule in RULES:
        found = list(rule(scene))
        rules.append({"rule": name, "holds": not found, "detail": _told(found), "evidence": found[:100]})
    trials = [(trial, mode, scene.trial_run(trial, mode)) for trial in oracle.trials for mode in ("baseline", "strict")]
    named = {effect for trial in oracle.trials for effect in trial.effects}
    return {
        "schema": "exhibit.claim/1",
        "receipt": bundle.pack.receipt.hex(),
        "oracle": oracle_digest.hex(),
        "prospective": oracle_digest != bundle.start.oracle_sha256,
        "decision": decision_of(rules),
        "rules": rules,
        "cases": [_case(scene, case, run) for case in oracle.cases for run in _case_runs(scene, case)],
        "attempts": [_attempt(scene, trial, mode, attempt) for trial, mode, run in trials if run is not None
                     for attempt in scene.attempts(run)],
        "rows": [{"trial": trial.name, "mode": mode, "count": len(run.rows) if run is not None else 0}
                 for trial, mode, run in trials],
        "messages": [_messages(scene, trial, mode, run) for trial, mode, run in trials],
        "tree": [_member(trial, mode, run, role) for trial, mode, run in trials if run is not None
                 for role in run.roles],
        "endings": [{"trial": trial.name, "ended": not any(True for _ in trial_ended(scene, trial, run)),
                     "quiet": not any(True for _ in trial_quiet(scene, trial, run))}
                    for trial, run in scene.strict_trials() if run.of("step")],
        "not_measured": [effect for effect in oracles.EFFECTS if effect not in named],
    }


def _case_runs(scene, case):
    runs = [scene.case_run(case, mode, repeat) for mode, repeat in (("baseline", 1), ("baseline", 2), ("strict", 1))]
    return [run for run in runs if run is not None]


def _case(scene, case, run):
    ended = run.first("run_exit")
    how = None if ended is None else ended.run_exit.WhichOneof("how")
    found = [event.artifact for event in run.of("artifact")
             if any(path_matches(wanted.path, event.artifact.path) for wanted in case.archives)]
    return {"name": case.name, "mode": run.mode, "repeat": run.repeat,
            "exit": ended.run_exit.exit_status if how == "exit_status" else None,
            "signal": ended.run_exit.term_signal if how == "term_signal" else None,
            "met": not scene.case_fails(case, run),
            "archives": [{"path": shown(artifact.path), "sha256": artifact.sha256.hex(),
                          "members": len(artifact.members) if artifact.is_archive else 0}
                         for artifact in sorted(found, key=lambda artifact: artifact.path)]}


def _attempt(scene, trial, mode, attempt):
    return {"trial": trial.name, "mode": mode, "role": attempt.row.role, "round": attempt.row.round,
            "effect": attempt.effect, "outcome": attempt.outcome(scene.oracle),
            "errno": attempt.value if attempt.told == "errno" else 0, "at_ns": attempt.row.at_ns}


def _messages(scene, trial, mode, run):
    protocols = [protocol for protocol, _, _, _ in scene.facts.messages(run)] if run is not None else []
    return {"trial": trial.name, "mode": mode, "tcp": protocols.count("tcp"), "udp": protocols.count("udp")}


def _member(trial, mode, run, role):
    identity = run.identities.get(role)
    return {"trial": trial.name, "mode": mode, "role": role, "pid": identity.pid if identity else 0,
            "start_time": identity.start_time if identity else 0, "ended_by": run.ended_by(role),
            "survived_ms": run.survived_ms(role)}


def recorded(claim):
    """A recorded Claim message as a dict of the same form."""
    how = {"exit": None, "signal": None}
    return {
        "schema": "exhibit.claim/1",
        "receipt": claim.receipt_sha256.hex(), "oracle": claim.oracle_sha256.hex(),
        "prospective": claim.prospective, "decision": claim.decision,
        "rules": [{"rule": r.rule, "holds": r.holds, "detail": r.detail, "evidence": list(r.evidence)}
                  for r in claim.rules],
        "cases": [{"name": c.name, "mode": c.mode, "repeat": c.repeat, "met": c.met,
                   **how, **({c.WhichOneof("how"): getattr(c, c.WhichOneof("how"))} if c.WhichOneof("how") else {}),
                   "archives": [{"path": shown(a.path), "sha256": a.sha256.hex(), "members": a.members}
                                for a in c.archives]} for c in claim.cases],
        "attempts": [{"trial": a.trial, "mode": a.mode, "role": a.role, "round": a.round, "effect": a.effect,
                      "outcome": a.outcome, "errno": a.errno_value, "at_ns": a.at_ns} for a in claim.attempts],
        "rows": [{"trial": r.trial, "mode": r.mode, "count": r.count} for r in claim.rows],
        "messages": [{"trial": m.trial, "mode": m.mode, "tcp": m.tcp, "udp": m.udp} for m in claim.messages],
        "tree": [{"trial": t.trial, "mode": t.mode, "role": t.role, "pid": t.pid, "start_time": t.start_time,
                  "ended_by": t.ended_by, "survived_ms": t.survived_ms} for t in claim.tree],
        **({"endings": [{"trial": e.trial, "ended": e.ended, "quiet": e.quiet} for e in claim.endings]}
           if claim.version > 1 else {}),
        "not_measured": list(claim.not_measured),
    }


def differences(left, right, path=""):
    """Yields where two claims differ, but for the free texts."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            if key not in FREE:
                yield from differences(left.get(key, "absent"), right.get(key, "absent"), f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            yield f"{path}: {len(left)} entries, {len(right)}"
        for place, (one, other) in enumerate(zip(left, right)):
            yield from differences(one, other, f"{path}[{place}]")
    elif left != right:
        yield f"{path}: {left!r}, {right!r}"
