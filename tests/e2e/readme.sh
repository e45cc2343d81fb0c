#!/bin/bash
# The plan in README.md works as it stands: the block is taken out, recorded, replayed, verified, and judged by the
# fourth judge, who says what was recorded.
set -uo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```yaml$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$source/README.md" >"$work/plan.yaml"
lines=$(wc -l <"$work/plan.yaml")
if [ "$lines" -lt 3 ] || [ "$lines" -gt 10 ]; then
    echo "not so: README.md has a plan of ten lines or less (it has $lines)" >&2
    exit 1
fi

# judged STEP COMMAND...: the step ends with 0 and states NO-GO: the README's sandbox holds nothing back.
judged() {
    local step=$1 said status
    shift
    said=$("$@" 2>&1)
    status=$?
    if [ $status -ne 0 ] || ! grep -q '^decision: NO-GO' <<<"$said"; then
        printf '%s\nnot so: %s ends with 0 (it did with %s) and decides NO-GO\n' "$said" "$step" $status >&2
        exit 1
    fi
}

judged exhibit-record "$build/bin/exhibit-record" run "$work/plan.yaml" -o "$work/my.exhibit"
judged exhibit-replay "$build/bin/exhibit-replay" "$work/my.exhibit"
judged exhibit-verify "$build/bin/exhibit-verify" "$work/my.exhibit"
judged "the fourth judge" /usr/bin/python3 -B "$source/tests/independent/judge_bundle.py" "$work/my.exhibit"
