"""The messages of proto/exhibit.proto as Python classes, made from the schema itself: schema.Event(), schema.Claim().

protoc-c, which the build needs anyway, turns the schema into descriptors; nothing generated is kept.
"""
import pathlib
import subprocess
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"


def descriptors():
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc-c", f"--descriptor_set_out={out.name}", f"--proto_path={PROTO}",
                        PROTO / "exhibit.proto"], check=True)
        return descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes())


(FILE,) = descriptors().file
POOL = descriptor_pool.DescriptorPool()
POOL.Add(FILE)
FACTORY = message_factory.MessageFactory(POOL)


def __getattr__(name):
    """A message by its name, or the number of an enumeration's value by its name."""
    try:
        found = FACTORY.GetPrototype(POOL.FindMessageTypeByName(f"exhibit.{name}"))
    except KeyError:
        found = NUMBERS.get(name)
    if found is None:
        raise AttributeError(name)
    globals()[name] = found
    return found


NUMBERS = {value.name: value.number for group in
           [*FILE.enum_type, *(inner for message in FILE.message_type for inner in message.enum_type)]
           for value in group.value}


def pack(message):
    """The plain form (FORMAT 6.3): fields in their order, no default spelled out."""
    return message.SerializeToString(deterministic=True)
