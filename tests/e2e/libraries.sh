#!/bin/bash
# The programs need nothing but libc to run: whoever is sent one with a bundle can start it.
set -uo pipefail
build=$1
failures=0

# needs_over PROGRAM: each shared library that it needs beside libc's own and the sanitizers'.
needs_over() {
    readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|libm|ld-linux.*|libasan|libubsan|libgcc_s)\.so\.[0-9]+$'
}

for program in record replay verify confine probe; do
    if found=$(needs_over "$build/bin/exhibit-$program"); then
        printf 'not so: exhibit-%s needs only libc, and no: %s\n' "$program" "${found//$'\n'/ }" >&2
        failures=1
    fi
done
# It sees them: what puts archives together for a test needs the whole of libarchive.
if ! grep -q '^libarchive' <<<"$(needs_over "$build/bin/test_archive")"; then
    echo "not so: a program that needs more is seen" >&2
    failures=1
fi
[ $failures = 0 ]
