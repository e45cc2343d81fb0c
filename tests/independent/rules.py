"""The rules of docs/DECISION.md section 5, one function each: yields a text for everything for which a rule fails."""
from archived import archives_fail
from attempts import CANARY, TARGETS
from cases import case_fails
from runs import LINE_STREAMS, MILLISECOND, READS, role_of
from schema import name_of

MARGIN_BOUND_MS, MARGIN_EXPIRY_MS = 1000, -500


class Scene:
    """What the rules look at: facts, oracle, and the runs that the oracle's cases and trials select (1.1, 1.7)."""

    def __init__(self, facts, oracle):
        self.facts, self.bundle, self.oracle, self.runs = facts, facts.bundle, oracle, facts.runs
        self.failing = {}
        self.by_key = {(run.kind, run.name, run.mode, run.repeat): run for run in self.runs}

    def case_run(self, case, mode, repeat=1):
        return self.by_key.get(("RUN_CASE", case.name, mode, repeat))

    def trial_run(self, trial, mode, repeat=1):
        return self.by_key.get(("RUN_TRIAL", trial.name, mode, repeat))

    def attempts(self, run):
        return self.facts.attempts(run)

    def case_fails(self, case, run):
        """Why a case is not met in a run."""
        key = case.name, run.number
        if key not in self.failing:
            self.failing[key] = list(case_fails(self.bundle, case, run))
        return self.failing[key]

    def strict_trials(self):
        """(trial, run) of each trial of the oracle whose strict run exists."""
        runs = [(trial, self.trial_run(trial, "strict")) for trial in self.oracle.trials]
        return [(trial, run) for trial, run in runs if run is not None]

    def strict_attempts(self):
        return [attempt for _, run in self.strict_trials() for attempt in self.attempts(run)]

    def nameless(self, run, role):
        """The oracle takes a role without any identity, and this is one."""
        return (not self.oracle.identities_required and role not in run.identities
                and role not in run.conflicting)


def recording(scene):
    bundle, oracle = scene.bundle, scene.oracle
    last = bundle.events[-1]
    if bundle.receipt.partial:
        yield "the receipt is partial"
    if last.kind != "recording_end" or last.recording_end.event_count != len(bundle.events):
        yield "the recording has no end record that fits"
    if not oracle.trials:
        yield "the oracle names no trial"
    for case in oracle.cases:
        for mode in ("baseline", "strict"):
            yield from _ran(scene.case_run(case, mode), f"case {case.name} {mode}")
    for trial in oracle.trials:
        for mode, repeat in (("baseline", 1), ("strict", 1), ("control", 1), ("control", 2)):
            run, what = scene.trial_run(trial, mode, repeat), f"trial {trial.name} {mode} {repeat}"
            yield from _ran(run, what)
            if run is not None:
                yield from _planned(trial, run, what)


def _ran(run, what):
    if run is None:
        yield f"{what}: there is no run"
    elif not run.of("run_exit") or run.of("spawn_failed"):
        yield f"{what}: it did not run to an observed end"


def _planned(trial, run, what):
    if (run.mode, run.repeat) != ("control", 2):
        yield from (f"{what}: no role {role}" for role in trial.roles if role not in run.roles)
    yield from (f"{what}: no effect {effect}" for effect in trial.effects if effect not in run.effects)
    if run.mode == "control":
        return
    steps, plan = [event.step for event in run.of("step")], run.start.probe.ending
    if len(steps) != len(plan):
        yield f"{what}: {len(steps)} steps of {len(plan)}"
    for number, (step, planned) in enumerate(zip(steps, plan), 1):
        trigger = "TRIGGER_ROUNDS" if number == 1 else "TRIGGER_TIME"
        if number == 1 and name_of(planned, "target") == "STEP_PARENT_EXIT":
            trigger = "TRIGGER_EXIT"
        if ((step.index, step.signal, step.target, step.errno_value) != (number, planned.signal, planned.target, 0)
                or name_of(step, "trigger") != trigger):
            yield f"{what}: step {number} is not as planned"


def _freezes(scene, moment):
    """The list digest of each input at a moment: the first counts."""
    found = {}
    for event in scene.facts.of("freeze"):
        if name_of(event.freeze, "moment") == moment:
            found.setdefault(event.freeze.input, event.freeze.list_sha256)
    return found


def _freeze_differs(scene, moment):
    """The inputs frozen BEFORE, and those of them whose freeze of a moment is missing or another."""
    before, after = _freezes(scene, "FREEZE_BEFORE"), _freezes(scene, moment)
    return before, sorted(name for name in before if before[name] != after.get(name))


def pins(scene):
    yield from (f"pin {pin.path!r}" for pin in scene.bundle.start.pins if pin.expected_sha256 != pin.seen_sha256)
    before, differ = _freeze_differs(scene, "FREEZE_AFTER_BASELINE")
    if not before:
        yield "no input is frozen"
    yield from (f"input {name} is not as before" for name in differ)


def observers(scene):
    names = {trial.name for trial in scene.oracle.trials}
    trials = {run.number for run in scene.runs if run.kind == "RUN_TRIAL" and run.name in names}
    for event in scene.facts.of("lost"):
        if event.run == 0 or event.run in trials:
            yield f"event {event.seq}: an observer lost events"
    yield from (f"event {event.seq}: drops" for event in scene.facts.of("drops") if event.drops.count)
    for trial, run in scene.strict_trials():
        seen = {name_of(event.drops, "protocol") for event in run.of("drops")}
        yield from (f"trial {trial.name}: no drop counter of {protocol}"
                    for protocol in ("PROTOCOL_TCP", "PROTOCOL_UDP") if protocol not in seen)
        yield from (f"trial {trial.name}: no state of {name} right before and after"
                    for name in TARGETS if not scene.facts.states_around(run, name))
        yield from (f"trial {trial.name}: no end of {name}" for name in ("STREAM_STDERR", *LINE_STREAMS)
                    if run.stream(name) is None)
        yield from (f"trial {trial.name}: {role}" for role in trial.roles if not _observed(scene, run, role))


def _observed(scene, run, role):
    if scene.nameless(run, role):
        return bool(run.roles_rows(role))
    identity, step = run.identities.get(role), run.first_step()
    if identity is None or identity.gone_at is None:
        return False
    if run.ends_itself(role) and identity.gone_seq > step.seq:
        return False
    return step is None or run.was_alive(role)


def controls(scene):
    for trial in scene.oracle.trials:
        for repeat, roles in ((1, trial.roles), (2, ["parent"])):
            run = scene.trial_run(trial, "control", repeat)
            if run is None:
                continue
            first = {(a.row.role, a.effect): a for a in scene.attempts(run) if a.row.round == 1}
            for role in roles:
                for effect in trial.effects:
                    attempt = first.get((role, effect))
                    if (attempt is None or attempt.told != "ok" or not attempt.own or attempt.row.contested
                            or effect in READS and not scene.facts.file_event(run, CANARY[effect])):
                        yield f"trial {trial.name}: no control {repeat} of {role} {effect}"


def spoke(scene):
    for trial, run in scene.strict_trials():
        yield from (f"trial {trial.name}: no row of {role}" for role in trial.roles if not run.roles_rows(role))
        if run.of("step") and not run.more_to_say(scene.oracle.grace_ms):
            yield f"trial {trial.name}: there was nothing more to say"


def outcomes(scene):
    yield from (str(attempt) for attempt in scene.strict_attempts()
                if attempt.outcome(scene.oracle) == "undetermined")


def baseline(scene):
    for case in scene.oracle.cases:
        for repeat in (1, 2):
            run = scene.case_run(case, "baseline", repeat)
            if run is not None:
                yield from scene.case_fails(case, run)


def contract(scene):
    for case in scene.oracle.cases:
        run = scene.case_run(case, "strict")
        if run is not None:
            yield from scene.case_fails(case, run)


def archives(scene):
    for case in scene.oracle.cases:
        runs = [scene.case_run(case, mode, repeat)
                for mode, repeat in (("baseline", 1), ("baseline", 2), ("strict", 1))]
        for wanted in case.archives:
            yield from archives_fail(case, wanted, *runs)


def cleanup(scene):
    for run in scene.runs:
        end = run.first("run_exit")
        if run.of("spawned"):
            after = [event for event in run.of("all_gone") if end is None or event.seq > end.seq]
            if end is None or not after or after[-1].all_gone.remaining:
                yield f"run {run.number}: not known to be all gone"
    for trial in scene.oracle.trials:
        for mode in ("baseline", "strict"):
            run = scene.trial_run(trial, mode)
            if run is None:
                continue
            for event in run.of("cleanup"):
                if name_of(event.cleanup, "reason") == "REASON_BOUND" and any(
                        event.at_ns < run.expires(identity, MARGIN_BOUND_MS) for identity in run.identities.values()):
                    yield f"run {run.number}: the cleanup came before every role's own end"


def reached(scene):
    for attempt in scene.strict_attempts():
        outcome, denial = attempt.outcome(scene.oracle), scene.oracle.denials.get(attempt.effect)
        if outcome == "reached":
            yield f"{attempt} reached its target"
        elif outcome == "diverted" and not (denial is not None and denial.diverted):
            yield f"{attempt} is diverted"


def traces(scene):
    facts, strict = scene.facts, [run for run in scene.runs if run.mode == "strict"]
    trials = [run for run in strict if run.kind == "RUN_TRIAL"]
    for run in strict:
        for kind in ("accept", "message", "file_event"):
            yield from (f"event {event.seq}: {kind} in a strict run" for event in run.of(kind))
        yield from facts.leaks(run)
        yield from _workspace(run)
    for event in facts.of("message"):
        if any(nonce.encode() in event.message.payload for run in trials for nonce in run.nonces.values()):
            yield f"event {event.seq}: a message with a strict nonce"
    for run in trials:
        yield from (f"run {run.number}: {name} changed" for name in TARGETS if facts.changed(run, name))
        for row in run.rows:
            yield from (f"run {run.number}: a right proof of {effect}" for effect in READS if effect in run.effects
                        and facts.proof_is_right(run, (row.role, row.round), effect, row.told[effect]))
    _, differ = _freeze_differs(scene, "FREEZE_AFTER_STRICT")
    yield from (f"input {name} changed" for name in differ)


def _workspace(run):
    lists = {}
    for event in run.of("freeze"):
        lists.setdefault(name_of(event.freeze, "moment"), event.freeze.list_sha256)
    before, after = lists.get("FREEZE_RUN_BEFORE"), lists.get("FREEZE_RUN_AFTER")
    if before is None or after is None:
        if run.of("run_exit"):
            yield f"run {run.number}: its workspace was not frozen"
    elif before != after:
        yield f"run {run.number}: its workspace changed"


def ended(scene):
    for trial, run in scene.strict_trials():
        yield from trial_ended(scene, trial, run)


def trial_ended(scene, trial, run):
    step = run.last_step()
    if step is not None:
        bound = step.at_ns + scene.oracle.ended_ms * MILLISECOND
        for role in trial.roles:
            identity = run.identities.get(role)
            if identity is None and not scene.oracle.identities_required:
                late = [at for _, said, at in _said(run) if said == role and at > bound]
                if late:
                    yield f"trial {trial.name}: {role} spoke after the bound"
            elif identity is None or identity.gone_at is None:
                yield f"trial {trial.name}: {role} is not known to be gone"
            elif identity.gone_at > bound or identity.gone_at >= run.expires(identity, MARGIN_EXPIRY_MS):
                yield f"trial {trial.name}: {role} lived {run.survived_ms(role)} ms after the last step"


def _said(run):
    """(bytes, role, arrival) of each row and try of a run, copies of one line once, at their lowest seq."""
    lines = {}
    for line in [copy for row in run.rows for copy in row.copies] + run.tries:
        if line.raw not in lines or line.seq < lines[line.raw].seq:
            lines[line.raw] = line
    return [(raw, line.role, line.at_ns) for raw, line in lines.items()]


def quiet(scene):
    for trial, run in scene.strict_trials():
        yield from trial_quiet(scene, trial, run)


def trial_quiet(scene, trial, run):
    step = run.last_step()
    if step is not None:
        limit = step.at_ns + scene.oracle.grace_ms * MILLISECOND
        heard = [(role, at) for _, role, at in _said(run)]
        heard += [(role, event.at_ns) for _, role, _, event in scene.facts.messages(run)]
        for role, at in heard:
            identity = run.identities.get(role)
            dead = identity is not None and identity.gone_at is not None and identity.gone_at < at
            if at > limit and not dead:
                yield f"trial {trial.name}: {role} heard {(at - step.at_ns) // MILLISECOND} ms after the last step"


RULES = (("complete.recording", recording), ("complete.pins", pins), ("complete.observers", observers),
         ("complete.controls", controls), ("complete.spoke", spoke), ("complete.outcomes", outcomes),
         ("complete.baseline", baseline), ("complete.cleanup", cleanup), ("boundary.attempts", reached),
         ("boundary.traces", traces), ("useful.contract", contract), ("useful.archives", archives),
         ("cancel.ended", ended), ("cancel.quiet", quiet))
