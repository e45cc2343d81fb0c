#!/bin/bash
# Every C file looks as clang-format (.clang-format) writes it.
set -uo pipefail
source=$2
if ! command -v clang-format >/dev/null; then
    echo "skipped: clang-format is not installed (script/bootstrap installs it)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$source/.clang-format" "$work/"
printf 'int  main( void ){return 0;}\n' >"$work/planted.c"
if clang-format --dry-run -Werror "$work/planted.c" 2>/dev/null; then
    echo "not so: a file of another form is seen" >&2
    exit 1
fi
cd "$source" || exit 1
find base formats record replay verify candidates tests -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
