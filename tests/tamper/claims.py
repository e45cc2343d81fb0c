"""Claims: from the JSON that the programs print (docs/FORMAT.md 9.2) to the message, and bound to another receipt."""
import base64

import schema


def bytes_of(value):
    """JSON tells bytes as a text, or in base64 where they are none."""
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value.encode()


def from_json(told):
    """The Claim message that says what this JSON does."""
    claim = schema.Claim(version=2, receipt_sha256=bytes.fromhex(told["receipt"]),
                         oracle_sha256=bytes.fromhex(told["oracle"]), prospective=told["prospective"],
                         decision=told["decision"], not_measured=told["not_measured"])
    for rule in told["rules"]:
        claim.rules.add(**rule)
    for case in told["cases"]:
        made = claim.cases.add(name=case["name"], mode=case["mode"], repeat=case["repeat"], met=case["met"])
        for how in ("exit", "signal"):
            if case[how] is not None:
                setattr(made, how, case[how])
        for archive in case["archives"]:
            made.archives.add(path=bytes_of(archive["path"]), sha256=bytes.fromhex(archive["sha256"]),
                              members=archive["members"])
    for attempt in told["attempts"]:
        claim.attempts.add(errno_value=attempt["errno"],
                           **{name: value for name, value in attempt.items() if name != "errno"})
    for name in ("rows", "messages", "tree", "endings"):
        for statement in told[name]:
            getattr(claim, name).add(**statement)
    return claim


def bound_to(claim, oracle=None):
    """The same statements, as a claim on a receipt whose digest is given later."""
    def pack_it(receipt):
        made = schema.Claim()
        made.CopyFrom(claim)
        made.receipt_sha256 = receipt
        made.oracle_sha256 = oracle or made.oracle_sha256
        return schema.pack(made)
    return pack_it


def comparable(told):
    """A claim's JSON without the words that each judge chooses."""
    return {**told, "rules": [(rule["rule"], rule["holds"]) for rule in told["rules"]]}


def failing(told):
    return {rule["rule"] for rule in told["rules"] if not rule["holds"]}


def differences(one, other):
    """Where two claims (as JSON) say different things, as texts."""
    left, right, found = comparable(one), comparable(other), []
    for name in left:
        if left[name] == right[name]:
            continue
        if isinstance(left[name], list) and len(left[name]) == len(right[name]):
            pairs = [f"{a} / {b}" for a, b in zip(left[name], right[name]) if a != b]
            found.append(f"{name}: {'; '.join(pairs)}"[:400])
        else:
            found.append(f"{name}: {left[name]} / {right[name]}"[:400])
    return found
