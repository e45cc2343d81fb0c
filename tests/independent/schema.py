"""The messages of proto/exhibit.proto as protobuf classes, made at run time, and the check that one is plain.

Knows the small part of the schema language that our file uses, and the wire format; no meaning of any field.
"""
import pathlib
import re

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto" / "exhibit.proto"
Field = descriptor_pb2.FieldDescriptorProto
SCALARS = {"bytes": Field.TYPE_BYTES, "string": Field.TYPE_STRING, "bool": Field.TYPE_BOOL,
           "uint32": Field.TYPE_UINT32, "uint64": Field.TYPE_UINT64, "int64": Field.TYPE_INT64}
VARINTS = {Field.TYPE_BOOL: (0, 1), Field.TYPE_UINT32: (0, 2**32 - 1), Field.TYPE_UINT64: (0, 2**64 - 1),
           Field.TYPE_INT64: (0, 2**64 - 1), Field.TYPE_ENUM: (0, 2**31 - 1)}
ZERO_IS_A_VALUE = {("StepPlan", "after_role")}
SIZES = {"nonce": 16, "run_id": 16}
LIMIT_REMEMBERED, LIMIT_REST = 20000, 4096
PLAIN = set()  # what followed the number of events that were plain


class NotPlain(Exception):
    """A message breaks FORMAT 6.3."""


class Reader:
    """Turns the text of a schema into a file descriptor."""

    def __init__(self, text):
        text = re.sub(r"//[^\n]*", "", text)
        self.words = re.findall(r'"[^"]*"|[A-Za-z_][A-Za-z0-9_.]*|[0-9]+|[{}=;]', text)
        self.file = descriptor_pb2.FileDescriptorProto(name="exhibit.proto", syntax="proto3")
        self.enums, self.references = set(), []

    def take(self, *wanted):
        word = self.words.pop(0)
        if wanted and word not in wanted:
            raise ValueError(f"the schema has {word!r} where one of {wanted} must stand")
        return word

    def read(self):
        while self.words:
            word = self.take("syntax", "package", "message", "enum")
            if word == "syntax":
                self.take("="), self.take('"proto3"'), self.take(";")
            elif word == "package":
                self.file.package = self.take()
                self.take(";")
            elif word == "message":
                self.message(self.file.message_type.add(), "")
            else:
                self.enum(self.file.enum_type.add(), "")
        self.resolve()
        return self.file

    def enum(self, enum, scope):
        enum.name = self.take()
        self.enums.add(scope + enum.name)
        self.take("{")
        while (word := self.take()) != "}":
            self.take("=")
            enum.value.add(name=word, number=int(self.take()))
            self.take(";")

    def message(self, message, scope):
        message.name = self.take()
        scope += message.name + "."
        self.take("{")
        while (word := self.take()) != "}":
            if word == "message":
                self.message(message.nested_type.add(), scope)
            elif word == "enum":
                self.enum(message.enum_type.add(), scope)
            elif word == "oneof":
                message.oneof_decl.add(name=self.take())
                self.take("{")
                while (inner := self.take()) != "}":
                    self.field(message, scope, inner).oneof_index = len(message.oneof_decl) - 1
            elif word == "repeated":
                self.field(message, scope, self.take()).label = Field.LABEL_REPEATED
            else:
                self.field(message, scope, word)

    def field(self, message, scope, kind):
        field = message.field.add(name=self.take(), label=Field.LABEL_OPTIONAL)
        self.take("=")
        field.number = int(self.take())
        self.take(";")
        if kind in SCALARS:
            field.type = SCALARS[kind]
        else:
            self.references.append((field, scope, kind))
        return field

    def resolve(self):
        for field, scope, kind in self.references:
            full = scope + kind if scope + kind in self.enums else kind
            field.type = Field.TYPE_ENUM if full in self.enums else Field.TYPE_MESSAGE
            field.type_name = f".{self.file.package}.{full}"


def _classes():
    pool = descriptor_pool.DescriptorPool()
    file = pool.Add(Reader(PROTO.read_text()).read()) or pool.FindFileByName("exhibit.proto")
    make = message_factory.MessageFactory(pool).GetPrototype
    return {name: make(kind) for name, kind in file.message_types_by_name.items()}


CLASSES = _classes()


def varint(raw, at, end):
    """The number at `at` and the place behind it; NotPlain where it is cut short or not in its shortest form."""
    value = shift = 0
    while True:
        if at >= end:
            raise NotPlain("a number is cut short")
        byte = raw[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            break
        if shift > 63:
            raise NotPlain("a number of more than 64 bits")
    if value >= 2**64:
        raise NotPlain("a number of more than 64 bits")
    if byte == 0 and shift > 7:
        raise NotPlain("a number that is not in its shortest form")
    return value, at


def unpack(name, raw):
    """The message of that name in `raw`, of which FORMAT 6.3 holds; NotPlain names what does not."""
    kind = CLASSES[name].DESCRIPTOR
    _plain(kind, raw, 0, len(raw))
    return CLASSES[name].FromString(raw)


def unpack_event(raw):
    """The same of an Event. What follows its number is looked at once: the log of another bundle may have it too."""
    if raw[:1] == b"\x08":
        number, at = varint(raw, 1, len(raw))
        rest = raw[at:]
        if number and rest in PLAIN:
            return CLASSES["Event"].FromString(raw)
        event = unpack("Event", raw)
        if len(PLAIN) < LIMIT_REMEMBERED and len(rest) < LIMIT_REST:
            PLAIN.add(rest)
        return event
    return unpack("Event", raw)


def _plain(kind, raw, at, end):
    seen, oneofs, absent, before = set(), set(), object(), 0
    while at < end:
        key, at = varint(raw, at, end)
        if key >> 3 < before:
            raise NotPlain(f"{kind.name}: field {key >> 3} behind field {before}")
        before = key >> 3
        field = kind.fields_by_number.get(key >> 3)
        if field is None:
            raise NotPlain(f"{kind.name}: unknown field {key >> 3}")
        where = f"{kind.name}.{field.name}"
        repeated = field.label == Field.LABEL_REPEATED
        if not repeated and field.number in seen:
            raise NotPlain(f"{where} stands twice")
        oneof = field.containing_oneof
        if oneof is not None and oneof.name in oneofs:
            raise NotPlain(f"{where}: two members of one choice")
        seen.add(field.number)
        oneofs.add(oneof.name if oneof is not None else absent)
        at = _value(field, where, raw, at, end, key & 7, not repeated and oneof is None)
    for field in kind.fields:
        if (field.type == Field.TYPE_ENUM and field.label != Field.LABEL_REPEATED and field.number not in seen
                and (kind.name, field.name) not in ZERO_IS_A_VALUE):
            raise NotPlain(f"{kind.name}.{field.name} was never set")


def _value(field, where, raw, at, end, wire, no_default):
    if field.type in VARINTS:
        if wire == 2 and field.label == Field.LABEL_REPEATED:
            size, at = varint(raw, at, end)
            stop = at + size
            if stop > end or not size:
                raise NotPlain(f"{where}: a list that is cut short or empty")
            while at < stop:
                at = _number(field, where, raw, at, stop, False)
            return at
        if wire != 0 or field.label == Field.LABEL_REPEATED:
            raise NotPlain(f"{where}: wire type {wire}")
        return _number(field, where, raw, at, end, no_default)
    if wire != 2:
        raise NotPlain(f"{where}: wire type {wire}")
    size, at = varint(raw, at, end)
    if size > end - at:
        raise NotPlain(f"{where} is cut short")
    if field.type == Field.TYPE_MESSAGE:
        _plain(field.message_type, raw, at, at + size)
    else:
        _bytes(field, where, raw[at:at + size], no_default)
    return at + size


def _number(field, where, raw, at, end, no_default):
    value, at = varint(raw, at, end)
    low, high = VARINTS[field.type]
    if not low <= value <= high:
        raise NotPlain(f"{where} is out of its range: {value}")
    if field.type == Field.TYPE_ENUM and (value == 0 or value not in field.enum_type.values_by_number):
        raise NotPlain(f"{where}: a value that is not known: {value}")
    if no_default and value == 0:
        raise NotPlain(f"{where}: its default is spelled out")
    return at


def _bytes(field, where, value, no_default):
    if no_default and not value:
        raise NotPlain(f"{where}: its default is spelled out")
    if field.type == Field.TYPE_STRING:
        try:
            value.decode()
        except UnicodeDecodeError:
            raise NotPlain(f"{where} is not UTF-8") from None
        if b"\0" in value:
            raise NotPlain(f"{where} has a NUL")
    wanted = 32 if field.name.endswith("sha256") else SIZES.get(field.name)
    if wanted is not None and value and len(value) != wanted:
        raise NotPlain(f"{where} has {len(value)} bytes, not {wanted}")
