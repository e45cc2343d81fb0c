"""The regular expressions of docs/ORACLE.md 4.8: refuses what is none, and looks for the described bytes.

An expression becomes an automaton whose states are its places for a byte (Glushkov's). It is run over the bytes as a
set of places, a set as the bits of a number, and the sets met are kept: time is in proportion to bytes times places.
"""
import re
import string

LIMIT_LENGTH, LIMIT_PLACES, LIMIT_NESTED, LIMIT_TIMES = 512, 256, 16, 255
LIMIT_KEPT = 4096  # sets of places, so that memory is bounded too
ANY = frozenset(range(256))
SPECIAL, SPECIAL_IN_CLASS = set(".[]()|*+?{}^$\\"), set("[]\\^-")
TIMES = re.compile(r"\{(0|[1-9][0-9]{0,2})(,(?:(0|[1-9][0-9]{0,2}))?)?\}")


class BadExpression(Exception):
    """It is not of the language."""


class Parser:
    """Reads an expression into tuples: ("byte", set), ("row", nodes), ("choice", nodes), ("times", node, low, high)."""

    def __init__(self, text):
        if not 1 <= len(text) <= LIMIT_LENGTH or not all(" " <= one <= "~" for one in text):
            raise BadExpression("not 1 to 512 printable ASCII characters")
        self.text, self.at, self.end = text, 0, len(text)
        self.begins = text.startswith("^")
        self.at += self.begins
        self.ends = self._ends_tied()
        self.end -= self.ends
        self.node = self.choice(0)
        if self.at != self.end:
            raise BadExpression(f"{self.text[self.at]!r} at {self.at}")
        if (self.begins or self.ends) and self.node[0] == "choice":
            raise BadExpression("a choice beside ^ or $ stands in parentheses")

    def _ends_tied(self):
        """Whether it ends with a `$` that is not escaped."""
        before = self.text[:-1]
        return self.text[-1] == "$" and (len(before) - len(before.rstrip("\\"))) % 2 == 0

    def peek(self):
        return self.text[self.at] if self.at < self.end else ""

    def take(self):
        if self.at >= self.end:
            raise BadExpression("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def choice(self, nested):
        found = [self.sequence(nested)]
        while self.peek() == "|":
            self.take()
            found.append(self.sequence(nested))
        return found[0] if len(found) == 1 else ("choice", found)

    def sequence(self, nested):
        found = [self.repeated(nested)]
        while self.peek() not in ("", "|", ")"):
            found.append(self.repeated(nested))
        return ("row", found)

    def repeated(self, nested):
        one, sign = self.one(nested), self.peek()
        if sign == "{":
            return ("times", one, *self.times())
        if sign and sign in "*+?":
            self.take()
            return ("times", one, *{"*": (0, None), "+": (1, None), "?": (0, 1)}[sign])
        return one

    def times(self):
        """The bounds of `{M}`, `{M,}` or `{M,N}`; no upper one is None."""
        found = TIMES.match(self.text, self.at, self.end)
        if found is None:
            raise BadExpression(f"no number of times at {self.at}")
        self.at = found.end()
        low = int(found[1])
        high = low if found[2] is None else None if found[3] is None else int(found[3])
        if low > LIMIT_TIMES or high is not None and not max(low, 1) <= high <= LIMIT_TIMES:
            raise BadExpression("a number of times that is none, out of its range or upside down")
        return low, high

    def one(self, nested):
        sign = self.take()
        if sign == "(":
            if nested == LIMIT_NESTED:
                raise BadExpression("parentheses nest too deep")
            found = self.choice(nested + 1)
            if self.peek() != ")":
                raise BadExpression("a parenthesis is open")
            self.take()
            return found
        if sign == ".":
            return ("byte", ANY)
        if sign == "[":
            return ("byte", self.a_class())
        return ("byte", frozenset([self.byte(sign, SPECIAL)]))

    def byte(self, sign, special):
        """The byte that a character taken, and what follows where it is `\\`, stands for."""
        if sign != "\\":
            if sign in special:
                raise BadExpression(f"{sign!r} before {self.at} stands for itself only behind a \\")
            return ord(sign)
        sign = self.take()
        if sign == "x":
            digits = self.take() + self.take()
            if not set(digits) <= set(string.hexdigits):
                raise BadExpression("no two hexadecimal digits")
            return int(digits, 16)
        if sign in "nrt":
            return ord({"n": "\n", "r": "\r", "t": "\t"}[sign])
        if sign not in string.punctuation:
            raise BadExpression(f"no escape: {sign!r}")
        return ord(sign)

    def a_class(self):
        but, found = self.peek() == "^", set()
        self.at += but
        while True:
            low = high = self.byte(self.take(), SPECIAL_IN_CLASS)
            if self.peek() == "-":
                self.take()
                high = self.byte(self.take(), SPECIAL_IN_CLASS)
            if high < low:
                raise BadExpression("a range that is upside down")
            found.update(range(low, high + 1))
            if self.peek() == "]":
                self.take()
                return ANY - found if but else frozenset(found)


def places_of(node):
    """How many places for a byte a node has, written out."""
    if node[0] == "byte":
        return 1
    if node[0] == "times":
        return places_of(node[1]) * (node[3] or max(node[2], 1))
    return sum(map(places_of, node[1]))


class Expression:
    """An expression that can be looked for; BadExpression where it is none."""

    def __init__(self, text):
        self.text, read = text, Parser(text)
        self.begins, self.ends, self.places = read.begins, read.ends, places_of(read.node)
        if self.places > LIMIT_PLACES:
            raise BadExpression(f"{self.places} places for a byte")
        self.bytes, self.follow = [], []
        self.nothing, self.first, self.last = self._build(read.node)
        if self.nothing and not (self.begins and self.ends):
            raise BadExpression("it may describe nothing, which is everywhere")
        self.takes = [sum(1 << place for place, wanted in enumerate(self.bytes) if byte in wanted)
                      for byte in range(256)]

    def _build(self, node):
        """(whether it describes nothing, the places it may begin with, those it may end with); sets as bits."""
        if node[0] == "byte":
            self.bytes.append(node[1])
            self.follow.append(0)
            return False, 1 << len(self.bytes) - 1, 1 << len(self.bytes) - 1
        if node[0] == "choice":
            parts = [self._build(one) for one in node[1]]
            return (any(part[0] for part in parts), _union(part[1] for part in parts),
                    _union(part[2] for part in parts))
        if node[0] == "row":
            return self._row(self._build(one) for one in node[1])
        return self._row(self._copies(*node[1:]))

    def _copies(self, node, low, high):
        """Each copy of a repeated node; of those without upper bound the last repeats itself."""
        for number in range(high or max(low, 1)):
            nothing, first, last = self._build(node)
            if high is None and number == max(low, 1) - 1:
                self._join(last, first)
            yield nothing or number >= low, first, last

    def _row(self, parts):
        nothing, first, last = True, 0, 0
        for part in parts:
            self._join(last, part[1])
            first |= part[1] if nothing else 0
            last = last | part[2] if part[0] else part[2]
            nothing = nothing and part[0]
        return nothing, first, last

    def _join(self, lasts, firsts):
        for place in _bits(lasts):
            self.follow[place] |= firsts

    def _next(self, at):
        """The places that may follow a set of places."""
        return _union(self.follow[place] for place in _bits(at)) | (0 if self.begins else self.first)

    def describes(self, content):
        """Whether the bytes have a run that this describes (tied as it says)."""
        if not content:
            return self.nothing
        kept, takes, last, ends = {}, self.takes, self.last, self.ends
        at, follows = None, self.first
        for byte in content:
            at = follows & takes[byte]
            if at & last and not ends:
                return True
            if at not in kept:
                if not at and self.begins:
                    return False
                if len(kept) == LIMIT_KEPT:
                    kept.clear()
                kept[at] = self._next(at)
            follows = kept[at]
        return bool(at & last)


def _union(sets):
    found = 0
    for one in sets:
        found |= one
    return found


def _bits(number):
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
