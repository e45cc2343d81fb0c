"""What the recorded plan keeps apart: secret variables (FORMAT 7.10), local inputs (7.11), the receipt's version (8.1).

Reads of the plan nothing else; one that cannot be read says nothing here.
"""
import functools
import stat

import yaml

import nodes
from pack import INPUTS, Refused
from records import name_of

SALT = 32


class Apart:
    """What a plan says of both."""

    def __init__(self, raw):
        try:
            root = nodes.compose(raw, quick=True)
        except nodes.BadOracle:
            root = None
        self.readable = isinstance(root, yaml.MappingNode)
        keys = _map(root)
        self.local = [item.value for item in keys["local"].value] if "local" in keys else []
        self.cases = {}
        for case in getattr(keys.get("cases"), "value", None) or ():
            of_case = _map(case)
            self.cases[of_case["name"].value.encode()] = _variables(of_case.get("environment"))
        self.plan = _variables(keys.get("environment"))

    @property
    def version(self):
        used = [*self.plan.values(), *(name for case in self.cases.values() for name in case.values())]
        return 2 if self.local or any(used) else 1

    def secret_of(self, start, name):
        """The caller's variable of a run's variable; None: it is no secret there."""
        own = self.cases.get(start.name.encode(), {}) if name_of(start, "kind") == "RUN_CASE" else {}
        return own[name] if name in own else self.plan.get(name)


def _map(node):
    return {key.value: value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _variables(node):
    """By name the caller's variable, None for a plain value."""
    return {name.encode(): _map(value)["secret"].value if "secret" in _map(value) else None
            for name, value in _map(node).items()}


@functools.lru_cache(16)
def _apart_of(raw):
    return Apart(raw)


def check(bundle):
    """Raises Refused where the receipt does not keep apart what its plan says, or withholds more."""
    try:
        apart = _apart_of(bundle.pack.read(bundle.start.plan_sha256, nodes.LIMIT_YAML))
    except Refused:  # longer than a plan may be
        return {}
    if not apart.readable:
        return {}
    if bundle.receipt.version != apart.version:
        raise Refused("8.1", f"a receipt of version {bundle.receipt.version}, and its plan asks for {apart.version}")
    _check_secrets(bundle, apart)
    return _check_local(bundle, apart)


def _check_secrets(bundle, apart):
    first = {}
    for event in bundle.events:
        if event.kind != "run_start":
            continue
        start, told = event.run_start, []
        for item in start.environment:
            name, equals, value = item.partition(b"=")
            secret = apart.secret_of(start, name) if equals else None
            if secret is not None:
                told.append((name, secret))
                if value:
                    raise Refused("7.10", f"event {event.seq}: the value of a secret is told")
        if [name for name, _ in told] != [one.name for one in start.secrets]:
            raise Refused("7.10", f"event {event.seq}: the secrets are not those of the plan")
        for (_, secret), one in zip(told, start.secrets):
            if first.setdefault(secret, one.hmac_sha256) != one.hmac_sha256:
                raise Refused("7.10", f"event {event.seq}: the secret {secret} is another than before")


def _check_local(bundle, apart):
    """By input how many objects are withheld."""
    salts, withheld = set(), {}
    for event in bundle.events:
        if (event.kind != "freeze" or name_of(event.freeze, "moment") != "FREEZE_BEFORE"
                or event.freeze.input not in apart.local):
            continue
        files = {(entry.sha256, entry.size_bytes) for entry in bundle.freeze_list(event.freeze.list_sha256)
                 if stat.S_ISREG(entry.mode) and entry.sha256}
        withheld[event.freeze.input] = len({digest for digest, _ in files if not bundle.pack.has(digest, INPUTS)})
        for digest, size in files:
            if not bundle.pack.has(digest, INPUTS):
                continue
            content = bundle.pack.read(digest, size + SALT, INPUTS)
            if len(content) != size + SALT:
                raise Refused("7.11", f"the object of a local file of {size} bytes has {len(content)}")
            salts.add(content[:SALT])
    if len(salts) > 1:
        raise Refused("7.11", "the objects of local files do not begin with one salt")
    return withheld
