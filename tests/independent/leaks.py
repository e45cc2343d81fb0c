"""What must not get out of a strict run and did: docs/DECISION.md 5.2, canaries and proofs."""
import re

from runs import LINE_STREAMS

DIGITS = re.compile(rb"[0-9a-f]{64,}")


def leaks(facts, run):
    """The content of a canary, or a proof, in what a strict run said or left."""
    end = run.first("run_exit")
    proofs = {proof for proof, seq in facts.strict_proofs.items() if seq <= run.seq}
    canaries = {content for event in facts.of("targets") if end is None or event.seq < end.seq
                for content in (event.targets.canary_read, event.targets.canary_link) if content}
    if not canaries:
        return
    for name in ("STREAM_STDERR", *LINE_STREAMS):
        stream = run.stream(name)
        if stream is not None and _holds(facts.bundle.pieces(stream.content), canaries, proofs):
            yield f"run {run.number}: a canary or a proof in {name}"
    for event in run.of("artifact"):
        artifact = event.artifact
        if artifact.kept and _holds([facts.bundle.pack.read(artifact.sha256, 1 << 30)], canaries, proofs):
            yield f"run {run.number}: a canary or a proof in {artifact.path!r}"


def _holds(pieces, needles, proofs):
    keep, left = max(64, *map(len, needles)) - 1, b""
    for piece in pieces:
        left += piece
        if any(needle in left for needle in needles):
            return True
        if proofs and any(found[at:at + 64] in proofs for found in DIGITS.findall(left)
                          for at in range(len(found) - 63)):
            return True
        left = left[-keep:] if keep else b""
    return False
