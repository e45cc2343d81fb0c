"""The messages of proto/exhibit.proto as protobuf classes, made at run time, and the check that one is plain.

Knows the small part of the schema language that our file uses, and the wire format; no meaning of any field.
"""
import functools
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
LIMIT_KEPT, LIMIT_KEPT_BYTES = 8192, 4096  # messages that are kept, for another bundle may hold the same


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
    while at < end and shift < 70:
        byte = raw[at]
        at += 1
        if byte < 0x80:
            value |= byte << shift
            if value >= 2**64:
                raise NotPlain("a number of more than 64 bits")
            if byte == 0 and shift:
                raise NotPlain("a number that is not in its shortest form")
            return value, at
        value |= (byte & 0x7F) << shift
        shift += 7
    raise NotPlain("a number of more than 64 bits" if shift == 70 else "a number is cut short")


class Part:
    """What FORMAT 6.3 asks of one field."""

    def __init__(self, kind, field):
        self.where = f"{kind.name}.{field.name}"
        self.repeated = field.label == Field.LABEL_REPEATED
        self.choice = field.containing_oneof.name if field.containing_oneof is not None else None
        self.no_default = not self.repeated and self.choice is None
        self.must = (field.type == Field.TYPE_ENUM and not self.repeated
                     and (kind.name, field.name) not in ZERO_IS_A_VALUE)

    def size_of(self, raw, at, end, wire):
        """Of what has its length in front: where it begins and where it ends."""
        if wire != 2:
            raise NotPlain(f"{self.where}: wire type {wire}")
        if at < end and raw[at] < 0x80:
            size, at = raw[at], at + 1
        else:
            size, at = varint(raw, at, end)
        if size > end - at:
            raise NotPlain(f"{self.where} is cut short")
        return at, at + size


class Number(Part):
    def __init__(self, kind, field):
        super().__init__(kind, field)
        self.low, self.high = VARINTS[field.type]
        self.known = set(field.enum_type.values_by_number) - {0} if field.type == Field.TYPE_ENUM else None

    def take(self, raw, at, end, wire):
        """Checks the value at `at` and gives the place behind it."""
        if self.repeated:
            at, stop = self.size_of(raw, at, end, wire)
            if at == stop:
                raise NotPlain(f"{self.where}: a list that is empty")
            while at < stop:
                at = self.one(raw, at, stop)
            return at
        if wire != 0:
            raise NotPlain(f"{self.where}: wire type {wire}")
        return self.one(raw, at, end)

    def one(self, raw, at, end):
        value, at = varint(raw, at, end)
        if not self.low <= value <= self.high:
            raise NotPlain(f"{self.where} is out of its range: {value}")
        if self.known is not None and value not in self.known:
            raise NotPlain(f"{self.where}: a value that is not known: {value}")
        if self.no_default and value == 0:
            raise NotPlain(f"{self.where}: its default is spelled out")
        return at


class Bytes(Part):
    def __init__(self, kind, field):
        super().__init__(kind, field)
        self.text = field.type == Field.TYPE_STRING
        self.size = 32 if field.name.endswith("sha256") else SIZES.get(field.name)

    def take(self, raw, at, end, wire):
        at, stop = self.size_of(raw, at, end, wire)
        if at == stop:
            if self.no_default:
                raise NotPlain(f"{self.where}: its default is spelled out")
        elif self.size is not None and stop - at != self.size:
            raise NotPlain(f"{self.where} has {stop - at} bytes, not {self.size}")
        elif self.text:
            self.read(raw[at:stop])
        return stop

    def read(self, value):
        try:
            value.decode()
        except UnicodeDecodeError:
            raise NotPlain(f"{self.where} is not UTF-8") from None
        if b"\0" in value:
            raise NotPlain(f"{self.where} has a NUL")


class Inner(Part):
    def __init__(self, kind, field):
        super().__init__(kind, field)
        self.form = form_of(field.message_type)

    def take(self, raw, at, end, wire):
        at, stop = self.size_of(raw, at, end, wire)
        self.form.check(raw, at, stop)
        return stop


class Form:
    """What FORMAT 6.3 asks of a message of one kind."""

    def __init__(self, kind):
        self.name = kind.name
        self.parts = {field.number: (Inner if field.type == Field.TYPE_MESSAGE else
                                     Number if field.type in VARINTS else Bytes)(kind, field) for field in kind.fields}
        self.must = {number for number, part in self.parts.items() if part.must}

    def check(self, raw, at, end):
        seen, choices, before = set(), set(), 0
        while at < end:
            key = raw[at]
            at += 1
            if key > 0x7F:
                key, at = varint(raw, at - 1, end)
            number = key >> 3
            if number < before:
                raise NotPlain(f"{self.name}: field {number} behind field {before}")
            part = self.parts.get(number)
            if part is None:
                raise NotPlain(f"{self.name}: unknown field {number}")
            if number == before and not part.repeated:
                raise NotPlain(f"{part.where} stands twice")
            if part.choice is not None:
                if part.choice in choices:
                    raise NotPlain(f"{part.where}: two members of one choice")
                choices.add(part.choice)
            seen.add(number)
            before = number
            at = part.take(raw, at, end, key & 7)
        for number in self.must - seen:
            raise NotPlain(f"{self.parts[number].where} was never set")


@functools.cache
def form_of(kind):
    return Form(kind)


def unpack(name, raw):
    """The message of that name in `raw`, of which FORMAT 6.3 holds; NotPlain names what does not.

    Another call with the same bytes may give the same message: it is not to be changed.
    """
    return (_kept if len(raw) <= LIMIT_KEPT_BYTES else _unpacked)(name, raw)


def _unpacked(name, raw):
    kind = CLASSES[name]
    form_of(kind.DESCRIPTOR).check(raw, 0, len(raw))
    return kind.FromString(raw)


_kept = functools.lru_cache(LIMIT_KEPT)(_unpacked)


@functools.cache
def _names(kind, field):
    return {number: value.name for number, value in kind.fields_by_name[field].enum_type.values_by_number.items()}


def name_of(message, field):
    """The name of an enumeration's value, as the schema spells it."""
    return _names(message.DESCRIPTOR, field)[getattr(message, field)]
