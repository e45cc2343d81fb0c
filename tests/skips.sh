#!/bin/bash
# usage: tests/skips.sh LOG [DETAILS]
# Prints what was skipped, a line for each: the tests of which ctest's own output LOG says so; and where DETAILS are
# given (LastTest.log), the lines in which unittest and cmocka tell of parts of a test.
set -euo pipefail
sed -nE 's/.*[0-9] - ([^ ]+) \(Skipped\)$/\1/p' "$1"
if [ $# -gt 1 ]; then
    grep -hE 'skipped=[1-9]|\[  SKIPPED \] [a-z]' "$2" || [ $? = 1 ]
fi
