#!/bin/bash
# Each header compiles alone: whoever includes one needs nothing before it. Most are the first that a source includes: it
# would not have been built. The others are compiled here.
set -uo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -ra library_flags < <(pkg-config --cflags jansson libprotobuf-c)

# not_alone DIR FOLDER...: the headers in DIR's folders that do not compile alone.
not_alone() {
    local header
    cd "$1" || return
    find "${@:2}" -name '*.c' -exec grep -hm1 '^#include' {} + | sed -n 's/^#include "\(.*\)"$/\1/p' | sort -u >"$work/first"
    find "${@:2}" -name '*.h' | sort | comm -23 - "$work/first" | while read -r header; do
        printf '#include "%s"\n' "$header" |
            gcc -fsyntax-only -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -Wpedantic -Werror \
                -I. -isystem "$build/generated" "${library_flags[@]}" -x c - \
                2>"$work/complaint" || { echo "$header does not compile alone:"; cat "$work/complaint"; }
    done
}

mkdir "$work/base"
echo 'uint32_t planted(void);' >"$work/base/planted.h"
printf '#include <stdint.h>\n#include "base/planted.h"\n' >"$work/base/planted.c"
if [[ $(not_alone "$work" base) != "base/planted.h does not compile alone:"* ]]; then
    echo "not so: a header that lacks an include is seen" >&2
    exit 1
fi
found=$(not_alone "$source" base formats record replay verify candidates)
printf '%s' "$found" >&2
[ -z "$found" ]
