"""Oracles at the edges of docs/ORACLE.md, most of them beyond: what a case asks, and denials. For tests alone."""

EXPRESSIONS = [
    "", "^", "$", "^$", "a*", "^x?", "x?$", "(a|b*)", "^a*$", "^(a*)*$", "a|", "|a", "()", "a**", "a*?", "a{1}{2}",
    "a{0}", "a{0,0}", "ba{0,}", "a{0,1}b", "a{01}", "a{1,0}", "a{,2}", "a{ 1}", "a{255}", "a{256}", "a{1,256}",
    "a{1,255}", "a{", "a{1", "a{1,", "{1}a", "*a", "a]", "a}", ")", "(a", "[a", "[]", "[^]", "[^a]", "[b-a]", "[a-a]",
    "[a-]", "[-a]", "[a^]", "[a[]", "[.$*]", r"[\]]", r"[\x00-\xff]", r"[^\x00-\xff]", r"\d", r"\b", r"\ ", r"\x1",
    r"\xg0", r"\xAf", r"\-", r"\/", "\\", "a^", "$a", "^a|b", "a|b$", "^(a|b)$", "a|b", "a^b", r"\$", r"a\\$", "é",
    "a\t", "a" * 256, "a" * 257, "a" * 513, "a{200}b{56}", "a{200}b{57}", "(a{16}){16}", "(a{16}){17}",
    "(" * 16 + "a" + ")" * 16, "(" * 17 + "a" + ")" * 17, "(a|b){2,}c", "a b", "ab{2}|c+"]

CASES = [
    "exit: 0", "exit: 256", "exit: 00", "exit: '0'", "exit: 1, signal: TERM", "signal: SIGTERM", "signal: 15",
    "signal: term", "signal: CLD", "signal: CHLD", "signal: IOT", "signal: IO", "signal: POLL", "signal: RTMIN",
    "signal: RTMAX", "signal: STKFLT", "signal: PWR", "signal: SYS", "signal: 'TERM'", "duration_ms: {}",
    "duration_ms: 5", "duration_ms: {at_least: 2, at_most: 1}", "duration_ms: {at_least: 2, at_most: 2}",
    "duration_ms: {at_most: 3600000}", "duration_ms: {at_most: 3600001}", "duration_ms: {at_least: 0}",
    "duration_ms: {least: 1}", "stdout: {}", "stdout: 5", "stdout: {empty: true}", "stdout: {empty: false}",
    "stdout: {empty: 'true'}", "stdout: {empty: yes}", "stdout: {equals: ''}", "stdout: {equals: {base64: 'AA'}}",
    "stdout: {equals: {base64: 'AA=='}}", "stdout: {equals: {base64: 'AB=='}}", "stdout: {equals: {base64: ''}}",
    "stdout: {equals: {}}", "stdout: {equals: [a]}", "stdout: {contains: ''}", "stdout: {contains: []}",
    "stdout: {contains: [a, '']}", "stdout: {contains: {base64: ''}}", "stdout: {contains: [a, a]}",
    "stdout: {lines: {}}", "stdout: {lines: -1}", "stdout: {lines: 16777216}", "stdout: {lines: 16777217}",
    "stdout: {lines: {at_least: 2, at_most: 1}}", "stdout: {lines: {at_least: 0}}", "stdout: {lines: [1]}",
    "stdout: {sha256: aa}", f"stdout: {{sha256: {'A' * 64}}}", f"stdout: {{sha256: {'a' * 64}}}",
    f"stdout: {{sha256: '{'1' * 64}'}}", f"stdout: {{sha256: {'1' * 64}}}", "stdout: {matches: []}",
    "stdout: {matches: [a, b]}", "stdout: {matches: [[a]]}", "stdout: {matches: 12}",
    "stdout: {matches: {base64: YQ==}}", f"stdout: {{matches: {['a{255}'] * 16}}}",
    f"stdout: {{matches: {['a{255}'] * 17}}}", "stdout: {json: []}", "stdout: {json: {}}",
    "stdout: {json: [{pointer: /a}]}", "stdout: {json: [{pointer: /a, equals: 1, type: real}]}",
    "stdout: {json: [{equals: 1}]}",
    *[f"stdout: {{json: [{{pointer: /a, type: {kind}}}]}}"
      for kind in ("text", "null", "'null'", "number", "Object", "''")],
    "stdout: {json: [{pointer: '', absent: true}]}", "stdout: {json: [{pointer: /, absent: true}]}",
    "stdout: {json: [{pointer: /a, absent: false}]}", "stdout: {json: [{pointer: /a, absent: 'true'}]}",
    "stdout: {json: [{pointer: a, equals: 1}]}", "stdout: {json: [{pointer: /~2, equals: 1}]}",
    *[f"stdout: {{json: [{{pointer: /a, equals: {value}}}]}}" for value in (
        "01", "1.2.3", "2026-01-31", "1e999", "9223372036854775807", "9223372036854775808", "-0", "1e-400", "+1", ".5",
        "1.", "0x10", "''", "~", "yes", "[1, {a: b}]", "{a: 1, a: 2}", "1_000", "-", "e5", "1-", "NaN")],
    "stdout: {tap: {}}", "stdout: {tap: {tests: 4294967295}}", "stdout: {tap: {tests: 4294967296}}",
    "stdout: {tap: {skip: 1}}", "files: []", "files: [], exit: 0", "files: [{path: a}]",
    "files: [{path: a, exists: false}]", "files: [{path: a, exists: true, absent: true}]",
    "files: [{path: a, absent: true}]", "files: [{exists: true}]", f"files: [{{path: a, sha256: {'A' * 64}}}]",
    "files: [{path: /a, exists: true}]", "files: [{path: a/, exists: true}]", "files: [{path: 'a*/b', exists: true}]",
    "files: [{path: 'a**', exists: true}]", "files: [{path: '*', exists: true}]",
    "files: [{path: ../a, exists: true}]", "files: [{path: '', exists: true}]",
    f"files: [{{path: {'a' * 4095}, exists: true}}]", f"files: [{{path: {'a' * 4096}, exists: true}}]",
    "archives: []", "archives: [], exit: 0", "archives: [{bytes: true}]", "archives: [{path: a, except: {}}]",
    "archives: [{path: a, except: {mtime: false}}]", "archives: [{path: a, except: {mtime: false, owner: true}}]",
    "archives: [{path: a, bytes: true, except: {mtime: true}}]",
    "archives: [{path: a, bytes: false, except: {mtime: true}}]", "archives: [{path: a, except: {paths: []}}]",
    "archives: [{path: a, except: {paths: a}}]", "archives: [{path: a, except: {paths: [a, a]}}]",
    "archives: [{path: a, except: {paths: ['a**']}}]", "archives: [{path: a, except: {paths: ['']}}]",
    "archives: [{path: a, except: {paths: ['/x', ../y, a//b, '*', '*/z']}}]",
    f"archives: [{{path: a, except: {{paths: {list(range(64))}}}}}]",
    f"archives: [{{path: a, except: {{paths: {list(range(65))}}}}}]",
    f"archives: [{{path: a, except: {{paths: [{'a' * 4095}]}}}}]",
    f"archives: [{{path: a, except: {{paths: [{'a' * 4096}]}}}}]", f"stdout: {{contains: {['a'] * 256}}}",
    f"stdout: {{contains: {['a'] * 257}}}",
    *[f"stdout: {{matches: {quoted}}}" for quoted in ("'" + one.replace("'", "''") + "'" for one in EXPRESSIONS)
      if "\t" not in quoted]]

DENIALS = [f"{{read: {{errnos: [{name}]}}}}" for name in (
    "EACCES", "EWOULDBLOCK", "EAGAIN", "EDEADLK", "EDEADLOCK", "ENOTSUP", "EOPNOTSUPP", "eperm", "13", "E",
    "ERESTARTSYS",
    "EPERM, EPERM", "", "EHWPOISON", "__builtins__")] + ["{exec: {}}", "{}", "{read: {}}", "{read: {timeout: 1}}"]


def texts():
    """Whole oracles."""
    for asked in CASES:
        yield f"version: 1\ntrials: []\ncases:\n  - {{name: a, {asked}}}\n"
    for denials in DENIALS:
        yield f"version: 1\ndenials: {denials}\n"
    for root in ("version: 1\ntrials: []\n", "version: 2\n", "version: 1\ncases: {}\n", "version: 1\n---\nversion: 1\n",
                 "version: 1\ntrials: [{name: a, roles: []}]\n", "version: 1\ntrials: [{name: A, roles: [parent]}]\n",
                 "version: 1\ntrials: [{name: a, roles: [parent], effects: []}]\n", "version: 1\nbounds: {}\n",
                 "version: 1\nbounds: {ended_ms: 60001}\n", "version: 1\nidentities: some\n",
                 "%YAML 1.2\n---\nversion: 1\n",
                 "version: 1\ncases: [{name: a, exit: 0}, {name: a, exit: 0}]\n", "version: 1\n...\n", "{version: 1}\n",
                 "version: &a 1\n", "version: !!int 1\n", "version: 1\n<<: {}\n",
                 "? version\n: 1\n", "version: 1\n# é\n"):
        yield root
