"""What a case printed on stdout, the matcher on it, and whether it holds (docs/ORACLE.md 4): for tests alone."""


def _json(value, pointer="/a"):
    return f'{{json: [{{pointer: "{pointer}", equals: {value}}}]}}'


def _tap(counters="tests: 5"):
    return f"{{tap: {{{counters}}}}}"


HOLD = [
    (b'{"a":"x"}\n\n \t\r', _json("x")), (b'{"a":"\\ud83d\\ude00"}', _json('"\\U0001F600"')),
    (b'{"a":1.0}', _json("1.0")), (b'{"a":10e-1}', _json("1.0")), (b'{"a":-0}', _json("0")),
    (b'{"a":9223372036854775807}', _json("9223372036854775807")),
    (b'{"a":-9223372036854775808}', _json("-9223372036854775808")), (b'{"a":1,"b":1e-400}', _json("1")),
    (b'{"a":true}', _json("true")), (b'{"a":"true"}', _json('"true"')), (b'{"a":null}', _json("null")),
    (b'{"a":{}}', _json("{}")), (b'{"a":[1,2]}', _json("2", "/a/1")), (b'"a"', _json("a", "")), (b"1", _json("1", "")),
    (b'{"a":1,"b":"\x7f"}', _json("1")), (b'{"a":1,"b":' + b"[" * 2047 + b"]" * 2047 + b"}", _json("1")),
    (b'{"":{"":5}}', _json("5", "//")), (b'{"a~/":5}', _json("5", "/a~0~1")),
    (b'{"a":{"x":1,"y":[1.5,"z",null]}}', _json("{y: [1.5, z, null], x: 1}")), (b'{"a":100.0}', _json("1e2")),
    (b"# tests 5", _tap()), (b"# tests 05\n", _tap()), (b"  # tests 6\n# tests 5\n", _tap()),
    (b"# tests\n# tests 5\n", _tap()), (b"\0\n# tests 5\n", _tap()), (b"# tests 000000000000005\n", _tap()),
    (b"# tests 5\n# pass 4\n# fail 1", _tap("tests: 5, pass: 4, fail: 1")),
    (b"", "{empty: true}"), (b"", '{equals: ""}'), (b"a\n", '{equals: "a\\n"}'), (b"\xff", "{equals: {base64: /w==}}"),
    (b"xabc", "{contains: [abc, x]}"), (b"12", "{contains: 12}"), (b"true", "{equals: true}"),
]
FAIL = [
    (b'\xef\xbb\xbf{"a":"x"}', _json("x")), (b'{"a":"x","b":"\\ud800"}', _json("x")), (b'{"a":"x"}\x0b', _json("x")),
    (b'{"a":"x"}\0', _json("x")), (b'{"a":1}', _json("1.0")), (b'{"a":1.0}', _json("1")), (b'{"a":true}', _json("1")),
    (b'{"a":9223372036854775808}', _json("1")), (b'{"a":1,"b":-9223372036854775809}', _json("1")),
    (b'{"a":1,"b":1e400}', _json("1")), (b'{"a":1,"b":00}', _json("1")), (b'{"a":1,"b":1.}', _json("1")),
    (b'{"a":1,"b":+1}', _json("1")), (b'{"a":"true"}', _json("true")), (b'{"a":[1,2]}', _json("2", "/a/01")),
    (b'{"a":[1,2]}', _json("2", "/a/-")), (b"[1", _json("1", "")), (b"", _json("1", "")), (b"1 1", _json("1", "")),
    (b'{"a":1,"a":1}', _json("1")), (b'{"a":1,"\\u0061":1}', _json("1")), (b'{"a":1,"b":[{"c":1,"c":2}]}', _json("1")),
    (b'{"a":1,"b":"\x01"}', _json("1")), (b'{"a":1,"b":"\xff"}', _json("1")),
    (b'{"a":1,"b":"\xed\xa0\x80"}', _json("1")),
    (b'{"a":1,"b":"\\x41"}', _json("1")), (b'{"a":1,"b\\u0000":2}', _json("1")), (b'{"a":1,"b":"\\u0000"}', _json("1")),
    (b'{"a":1,"b":NaN}', _json("1")), (b'{"a":1,}', _json("1")), (b'{"a":1}//x', _json("1")),
    (b'{"a":1,"b":' + b"[" * 2048 + b"]" * 2048 + b"}", _json("1")), (b'{"a":"e\xcc\x81"}', _json('"\\u00e9"')),
    (b"# tests 5\r\n", _tap()), (b"# tests 5 \n", _tap()), (b"# tests  5\n", _tap()), (b"# TESTS 5\n", _tap()),
    (b"# tests 5\n# tests 5\n", _tap()), (b"# tests 5\n# tests x\n", _tap()), (b"x# tests 5\n", _tap()),
    (b"# tests 0000000000000005\n", _tap()), (b"# tests 5\0\n", _tap()), (b"# tests -5\n", _tap()),
    (b"\n", "{empty: true}"), (b"a\n", "{equals: a}"), (b"xabc", "{contains: [abc, d]}"),
]


def oracle_text(table):
    """An oracle with one case for each entry, named by its place."""
    lines = ["version: 1", "trials: []", "cases:"]
    return "\n".join(lines + [f"  - {{name: c{place}, stdout: {matcher}}}" for place, (_, matcher) in enumerate(table)])


def printed(scene, name, table):
    """Makes of a case's strict run one run for each entry, in which it printed that text, and the run itself goes."""
    number = scene.number(name, "strict")
    events = [event for event in scene.events if event.run == number]
    place = scene.place(events[0])
    scene.drop(events)
    copies = []
    for entry, (text, _) in enumerate(table):
        for event in events:
            copy = type(event).FromString(event.SerializeToString())
            copy.run = 10000 + entry
            what = copy.WhichOneof("what")
            if what == "run_start":
                copy.run_start.name = f"c{entry}"
            elif what == "chunk" and copy.chunk.stream == 2:
                continue
            elif what == "stream_end" and copy.stream_end.stream == 2:
                copy.stream_end.content.CopyFrom(scene.stream_of(text))
                if text:
                    copies.append(scene.chunk(copy, len(text)))
            copies.append(copy)
    for copy in copies:
        copy.at_ns = scene.events[place - 1].at_ns
    scene.events[place:place] = copies
