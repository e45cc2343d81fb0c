#!/bin/bash
# The walls between the programs: record, replay and verify share no checker code, and what they share judges nothing.
# Each check prints what breaks it. Each is then run on a copy in which its wall is broken, and has to see that.
set -uo pipefail
build=$1
source=$2
here=$(cd "$(dirname "$0")" && pwd)
programs=(record replay verify)
# Functions that several programs may define: nothing but the entry point has to be called the same.
allowed_functions=(main)
work=$(mktemp -d)
failures=0
touched=
touched_time=
export PYTHONDONTWRITEBYTECODE=1

finish() {
    if [ -n "$touched" ]; then touch --date "$touched_time" "$touched"; fi
    rm -rf "$work"
}
trap finish EXIT

fail() {
    printf 'not so: %s\n' "$1" >&2
    failures=$((failures + 1))
}

# holds CLAIM CHECK...: the check prints nothing.
holds() {
    local claim=$1 said
    shift
    said=$("$@" 2>&1)
    if [ -n "$said" ]; then
        printf '%s\n' "$said" | head -n 20 >&2
        fail "$claim"
    fi
}

# sees WHAT PATTERN CHECK...: the check, run on something broken, prints a line with the pattern.
sees() {
    local what=$1 pattern=$2 said
    shift 2
    said=$("$@" 2>&1)
    if ! grep -q -- "$pattern" <<<"$said"; then
        printf '%s\n' "${said:-(nothing)}" | head -n 20 >&2
        fail "$what is seen"
    fi
}

others() { printf '%s\n' "${programs[@]}" | grep -vx "$1"; }

# ---- object files

# Prints the names of all functions, static ones too, that the objects and archives define. What the compiler makes
# of a function (f.part.0, f.cold) counts as the function; what the sanitizers add, and what the shared headers define
# inline, does not.
functions_of() {
    nm --defined-only --format=posix "$@" | awk '$2 ~ /^[tTwW]$/ { sub(/\..*/, "", $1); print $1 }' |
        grep -Ev '^(_sub_[ID]_|$)' | sort -u | grep -vxFf "$work/inline"
}

# same_functions BUILD: functions of one name in two programs.
same_functions() {
    local build=$1 program one other
    for program in "${programs[@]}"; do
        functions_of "$build/$program/libexhibit_$program.a" \
            "$build/$program/CMakeFiles/exhibit-$program.dir/main.c.o" >"$work/$program.functions" ||
            echo "the functions of $program cannot be read"
    done
    for one in "${programs[@]}"; do
        for other in $(others "$one"); do
            [[ $one < $other ]] || continue
            comm -12 "$work/$one.functions" "$work/$other.functions" |
                grep -vxF "$(printf '%s\n' "${allowed_functions[@]}")" | sed "s/\$/() is in $one and in $other/"
        done
    done
}

# linked_over BUILD_FILE: what goes into one program, by way of whatever else, and belongs to another.
linked_over() {
    local program unwanted
    for program in exhibit-record:replay,verify exhibit-replay:record,verify exhibit-verify:record,replay \
        exhibit-probe:replay,verify exhibit-confine:record,replay,verify; do
        unwanted="^(${program#*:})/"
        ninja -C "$build" -f "$1" -t inputs "bin/${program%:*}" >"$work/inputs" ||
            echo "the inputs of ${program%:*} cannot be read"
        grep -q '\.c\.o$' "$work/inputs" || echo "${program%:*} has no inputs"
        sed "s|^$source/||" "$work/inputs" | grep -E "${unwanted//,/|}" | sed "s|^|${program%:*} is made with |"
    done
}

# starts_processes PROGRAM_FILE FILE...: which functions that start a process the dynamic program and the objects ask
# for, by any name the C library has for them. libarchive's filters for formats that it cannot read itself count too.
starts_processes() {
    local starters='v?fork|clone[23]?|f?exec(v|ve|vp|vpe|veat|l|le|lp)|posix_spawnp?|system|popen|wordexp|pidfd_spawnp?'
    starters+='|archive_[a-z_]*(program[a-z_]*|filter_(all|by_code|lzop|grzip|lrzip)|support_compression_[a-z0-9]*)'
    { nm -D --undefined-only --format=posix "$1" && nm --undefined-only --format=posix "${@:2}"; } >"$work/wanted" ||
        echo "the symbols of $1 cannot be read"
    grep -q '^[a-z]' "$work/wanted" || echo "$1 asks for nothing at all"
    grep -E "^_*($starters)(@[^ ]*)? " "$work/wanted" | sed "s|^|$1 asks for |"
}

# starts_by_number SOURCE: the same by system call number.
starts_by_number() {
    cd "$1" || return
    grep -rnE --include='*.[ch]' '\b(SYS_|__NR_)(v?fork|clone3?|execveat|execve)\b' replay verify base formats
}

# ---- source

# includes_over SOURCE: includes that go through a wall.
includes_over() {
    local program
    cd "$1" || return
    for program in "${programs[@]}"; do
        grep -rnE --include='*.[ch]' "#\s*include\s*[<\"](.*/)?($(others "$program" | paste -sd'|'))/" "$program"
    done
    grep -rnE --include='*.[ch]' '#\s*include\s*[<"](.*/)?(record|replay|verify)/' base formats candidates
}

# ---- building again

# Prints the programs and libraries that a build would make again now. CMake's own rule is left out of the build file:
# it is always out of date, and a dry run would end with it.
would_make() {
    ninja -C "$build" -f "$work/plain.ninja" -n -v all | grep -oE '(bin/exhibit-[a-z]+|libexhibit_[a-z]+\.a)' | sort -u
}

# made_again FILE: what a change of the file makes out of date that was not before.
made_again() {
    would_make >"$work/before"
    touched_time=$(stat --format %y "$1") touched=$1
    touch "$1"
    would_make >"$work/after"
    touch --date "$touched_time" "$touched"
    touched=
    comm -13 "$work/before" "$work/after"
}

# change_is_alone PROGRAM FILE: a change of the file makes its own program again and no other's.
change_is_alone() {
    made_again "$2" >"$work/again"
    if ! grep -qx "bin/exhibit-$1" "$work/before" "$work/again"; then echo "exhibit-$1 would not be made again"; fi
    grep -E "exhibit[-_]($(others "$1" | paste -sd'|'))" "$work/again" | sed "s|\$| is made again for a change of $2|"
}

# ---- the checks

grep -hoP 'static inline [^;(]*?\K\w+(?=\()' "$source"/base/*.h "$source"/formats/*.h | sort -u >"$work/inline"
grep -v '^ *$' "$work/inline" >"$work/inline.some" && mv "$work/inline.some" "$work/inline"
awk '/^build .*: (RERUN_CMAKE|VERIFY_GLOBS|phony .*build\.ninja)/ || /^build build\.ninja/ { skip = 1 }
     /^$/ { skip = 0 } !skip' "$build/build.ninja" >"$work/plain.ninja"

holds "no function's name is in two programs" same_functions "$build"
holds "no object file goes into another program" linked_over build.ninja
holds "includes stay within their program" includes_over "$source"
holds "no code is copied between the programs" "$here/clones.py" "$source"
for program in replay verify; do
    holds "exhibit-$program cannot start a process" starts_processes "$build/bin/exhibit-$program" \
        "$build/$program/libexhibit_$program.a" "$build/formats/libexhibit_formats.a" "$build/base/libexhibit_base.a"
done
holds "no process is started by system call number" starts_by_number "$source"
holds "what is shared has no judge's word" "$here/judge_words.py" "$source"
for program in "${programs[@]}"; do
    changed=$(find "$source/$program" -maxdepth 1 -name '*.c' ! -name main.c | sort | head -n 1)
    holds "a change in $program/ makes no other program again" change_is_alone "$program" "$changed"
done

# ---- each check fails where its wall is broken

copy=$work/build
for program in "${programs[@]}"; do
    mkdir -p "$copy/$program/CMakeFiles/exhibit-$program.dir"
    cp "$build/$program/libexhibit_$program.a" "$copy/$program/"
    cp "$build/$program/CMakeFiles/exhibit-$program.dir/main.c.o" "$copy/$program/CMakeFiles/exhibit-$program.dir/"
done
cat >"$work/planted.c" <<'C'
#include <unistd.h>
__attribute__((used)) static int walls_planted(void) { return (int)fork(); }
int main(void) { return 0; }
C
cat >"$work/filter.c" <<'C'
int archive_read_support_filter_all(void *archive);
int planted_filter(void) { return archive_read_support_filter_all(0); }
C
gcc -c "$work/filter.c" -o "$work/filter.o"
gcc -c "$work/planted.c" -o "$work/planted.o" && gcc "$work/planted.o" -o "$work/planted"
ar q "$copy/record/libexhibit_record.a" "$work/planted.o"
ar q "$copy/verify/libexhibit_verify.a" "$work/planted.o"
sees "a static function in two programs" '^walls_planted() is in record and in verify$' same_functions "$copy"
sees "a program that can fork" ' asks for fork' starts_processes "$work/planted"
sees "an archive that can fork" ' asks for fork' starts_processes "$build/bin/exhibit-verify" \
    "$copy/verify/libexhibit_verify.a"
sees "a filter that starts a program" ' asks for archive_read_support_filter_all' \
    starts_processes "$build/bin/exhibit-verify" "$work/filter.o"

cp "$work/plain.ninja" "$work/whole.ninja"
# also_made_of INPUT PROGRAM...: the build file with one more input of these programs.
also_made_of() {
    cp "$work/whole.ninja" "$work/plain.ninja"
    for program in "${@:2}"; do
        sed -i "s#^\(build bin/exhibit-$program: .*\) | \(.*\)#\1 | $1 \2#" "$work/plain.ninja"
    done
}
also_made_of replay/libexhibit_replay.a verify
sees "a library of another program" 'exhibit-verify is made with replay/CMakeFiles/.*\.c\.o' \
    linked_over "$work/plain.ninja"
# Older than all that was ever built: a library may be newer than another program, which would then be out of date before.
touch --date 2000-01-01 "$work/replay-part.c"
also_made_of "$work/replay-part.c" replay verify
sees "a program that is made again for another's change" 'bin/exhibit-verify is made again for a change of' \
    change_is_alone replay "$work/replay-part.c"
also_made_of "$work/replay-part.c" replay
holds "a change of its own part makes no other program again" change_is_alone replay "$work/replay-part.c"

tree=$work/tree
mkdir "$tree"
cp -r "$source"/{base,formats,record,replay,verify,candidates} "$tree/"
echo '#include "replay/words.h"' >>"$tree/verify/planted.c"
sees "an include of another program" '^verify/planted.c:1:' includes_over "$tree"
echo '#include "record/judge.h"' >>"$tree/formats/planted.h"
sees "an include of a program by what is shared" '^formats/planted.h:1:' includes_over "$tree"
echo 'long planted(void) { return syscall(SYS_execve); }' >>"$tree/replay/planted.c"
sees "a system call that starts a process" '^replay/planted.c:1:' starts_by_number "$tree"
for word in '"denied"' '"NO-GO"' '"decision: GO"' '"see complete.pins"' '"cancel.%s"' OUTCOME_REACHED; do
    echo "const void *planted = (void *)$word; /* \"denied\" */" >"$tree/base/planted.c"
    sees "the word $word" "^base/planted.c:1: $word is a judge's word$" "$here/judge_words.py" "$tree"
done
echo 'const char *planted = "permission denied: the folder cannot be reached"; /* "denied" */' >"$tree/base/planted.c"
holds "a sentence is no judgement" "$here/judge_words.py" "$tree"
holds "a planted copy is seen" "$here/clones.py" --self-test "$source"

[ $failures = 0 ]
