"""Makes a bundle again with other events, for tests alone: what the judges say of facts that no recording had."""
import packer
from pack import INPUTS, OBSERVATIONS
from records import LIMIT_SEGMENT
from schema import CLASSES

LIMIT_COPIED = 1 << 30


def stream_of(content, objects):
    """A Stream message of the content, whose segments are put into objects."""
    stream = CLASSES["Stream"](size_bytes=len(content), sha256=packer.sha256(content))
    for begin in range(0, len(content), LIMIT_SEGMENT):
        piece = content[begin:begin + LIMIT_SEGMENT]
        objects[packer.sha256(piece)] = piece
        stream.segments.add(sha256=packer.sha256(piece), size_bytes=len(piece))
    return stream


def named(message):
    """Every digest that a message holds, at any depth; that of an artifact that is not kept names no object."""
    if message.DESCRIPTOR.name == "Artifact" and not message.kept:
        return
    for field, value in message.ListFields():
        for one in value if field.label == field.LABEL_REPEATED else [value]:
            if field.type == field.TYPE_MESSAGE:
                yield from named(one)
            elif field.type == field.TYPE_BYTES and len(one) == 32:
                yield one


def remade(bundle, events, objects=None, partial=False):
    """The bytes of a pack without a claim that holds these events, numbered anew, and what they name."""
    objects = dict(objects or {})
    events = [event for event in events if event.WhichOneof("what") != "log_link"]  # a log of one segment
    for number, event in enumerate(events, 1):
        event.seq = number
        if event.WhichOneof("what") == "recording_end":
            event.recording_end.event_count = len(events)
    needed = {digest for event in events for digest in named(event)}
    for digest in bundle.pack.parts[OBSERVATIONS].objects:
        if digest in needed:
            objects.setdefault(digest, bundle.pack.read(digest, LIMIT_COPIED))
    contents = [content for digest, content in objects.items() if digest in needed]
    parts = {}
    receipt = CLASSES["Receipt"](version=1, run_id=bundle.receipt.run_id, partial=partial)
    receipt.events.CopyFrom(stream_of(b"".join(map(packer.framed, events)), parts))
    raw = receipt.SerializeToString(deterministic=True)
    inputs = [bundle.pack.read(digest, LIMIT_COPIED, INPUTS) for digest in bundle.pack.parts[INPUTS].objects]
    return packer.pack_of([*contents, *parts.values(), raw], inputs, packer.sha256(raw))
