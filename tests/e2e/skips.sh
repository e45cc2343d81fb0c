#!/bin/bash
# tests/skips.sh, by which script/test --no-skips fails, on what ctest, unittest and cmocka write.
set -uo pipefail
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# is WANTED CLAIM LOG...: what is printed of these logs, its lines joined by "|".
is() {
    local wanted=$1 claim=$2 said status
    shift 2
    said=$("$source/tests/skips.sh" "$@" 2>&1 | paste -sd '|'; exit "${PIPESTATUS[0]}")
    status=$?
    [ $status = 0 ] && [ "$said" = "$wanted" ] && return
    printf 'not so: %s (exit %s): %s\n' "$claim" $status "$said" >&2
    failures=1
}

cat >"$work/all" <<'LOG'
 1/3 Test  #1: unit.base ........................   Passed    0.01 sec
 2/3 Test  #2: e2e.lax ..........................   Passed   12.00 sec
      Start  3: e2e.skipped-by-name
 3/3 Test  #3: e2e.skipped-by-name ..............   Passed    0.10 sec

100% tests passed, 0 tests failed out of 3
LOG
cat >"$work/some" <<'LOG'
 1/2 Test  #1: unit.base ........................   Passed    0.01 sec
 2/2 Test #24: e2e.lax ..........................***Skipped   0.03 sec

100% tests passed, 0 tests failed out of 2

Total Test time (real) =   0.05 sec

The following tests did not run:
	 24 - e2e.lax (Skipped)
	105 - e2e.crash-2 (Skipped)
LOG
cat >"$work/parts" <<'LOG'
test_a (__main__.Numbers.test_a) ... skipped 'no process events here'
OK (skipped=2)
FAILED (failures=1, skipped=13)
[  SKIPPED ] a_landlock_of_this_version
[  SKIPPED ] 1 test(s), listed below:
[  PASSED  ] 3 test(s).
LOG
cat >"$work/none" <<'LOG'
OK
OK (skipped=0)
left out, for this kernel lacks time namespaces: test_clocks
[  PASSED  ] 3 test(s).
LOG
is "" "of tests that ran nothing is told" "$work/all"
is "" "nor where their parts all ran" "$work/all" "$work/none"
is "e2e.lax|e2e.crash-2" "each skipped test is named" "$work/some"
is "e2e.lax|e2e.crash-2" "and no part where none was" "$work/some" "$work/none"
is "OK (skipped=2)|FAILED (failures=1, skipped=13)|[  SKIPPED ] a_landlock_of_this_version" \
    "parts are told of tests that count as run" "$work/all" "$work/parts"
if "$source/tests/skips.sh" "$work/all" "$work/missing" 2>/dev/null; then
    echo "not so: details that cannot be read are a failure" >&2
    failures=1
fi
exit $failures
