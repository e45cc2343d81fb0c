#!/bin/bash
# script/demo on a tree that is built: it installs and builds nothing, and three programs state the same
# decision; so does the fourth judge of the bundle that is left, by the claim that was recorded in it.
set -uo pipefail
source=$2

said=$(cd / && "$source/script/demo" 2>&1)
status=$?
failures=0
has() {
    if ! grep -qE "$1" <<<"$said"; then
        echo "not so: the demo says \"$1\"" >&2
        failures=1
    fi
}
has '^bootstrap: nothing to install$'
has '^ninja: no work to do\.$'
has '^== The three decisions: NO-GO NO-GO NO-GO$'
if [ $status != 0 ] || [ ! -s "$source/build/demo/hook-confinement.exhibit" ] || [ $failures != 0 ]; then
    printf '%s\nnot so: the demo ends with 0 (it did with %s) and leaves its bundle\n' "$said" $status >&2
    exit 1
fi
fourth=$(/usr/bin/python3 -B "$source/tests/independent/judge_bundle.py" \
    "$source/build/demo/hook-confinement.exhibit" 2>&1)
status=$?
if [ $status != 0 ] || ! grep -qx 'decision: NO-GO' <<<"$fourth"; then
    printf '%s\nnot so: the fourth judge ends with 0 (it did with %s) and decides NO-GO\n' "$fourth" $status >&2
    exit 1
fi
