#!/bin/bash
# exhibit-probe by itself, unconfined: its lines, its tree, its times and its ends.
set -u
build=$1
work=$(mktemp -d)
probe=$work/exhibit-probe
nonce=00112233445566778899aabbccddeeff
failures=0

# Prints the pids of processes that run the copy of the probe in $work: ours, by their executable.
ours() {
    find /proc/[0-9]*/exe -maxdepth 0 -lname "$probe" -printf '%h\n' 2>/dev/null | cut -d/ -f3
}

finish() {
    local pid
    [ -n "${sink_pid:-}" ] && kill "$sink_pid" 2>/dev/null
    for pid in $(ours); do kill -KILL "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap finish EXIT

# check CLAIM COMMAND...: the claim holds when the command succeeds.
check() {
    local claim=$1
    shift
    if ! "$@"; then
        echo "not so: $claim" >&2
        failures=$((failures + 1))
    fi
}

equal() {
    [ "$1" = "$2" ] || { printf 'expected: %s\nseen:     %s\n' "$1" "$2" >&2; return 1; }
}

# keys [KEY=VALUE]...: the keys of a run, the given ones in place of the usual.
keys() {
    local item given name
    for item in tree=0 "read=$work/canary" "read-link=$work/link" "write=$work/target" "tcp=$tcp" "udp=$udp" \
        effects=read,read-link,write,tcp,udp rounds=3 interval_ms=50 lifetime_ms=4000 "scratch=$work/scratch"; do
        for given in "$@"; do
            name=${given%%=*}
            [ "$name" = "${item%%=*}" ] && item=$given
        done
        printf '%s\n' "$item"
    done
}

# run_probe OUT [KEY=VALUE]...: a parent's run, with its stdout in OUT.
run_probe() {
    local out=$1 list
    shift
    mapfile -t list < <(keys "$@")
    "$probe" run parent $nonce "${list[@]}" >"$out"
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

fresh() {
    rm -rf "$work/scratch" "$work/target"
    mkdir "$work/scratch"
    : >"$work/target"
}

await_none() { # MILLISECONDS
    local end=$(($(milliseconds) + $1))
    while [ -n "$(ours)" ]; do
        [ "$(milliseconds)" -gt "$end" ] && return 1
        sleep 0.01
    done
}

cp "$build/bin/exhibit-probe" "$probe"
printf 'the secret' >"$work/canary"
printf 'another' >"$work/linked"
ln -s "$work/linked" "$work/link"
"$build/bin/loopback_sink" 30 >"$work/sink" &
sink_pid=$!
for _ in {1..500}; do
    read -r tcp udp 2>/dev/null <"$work/sink" && break
    sleep 0.01
done
[ -n "${udp:-}" ] || exit 1

# ---- the command line
check "'nothing' ends with 0 and says nothing" equal "" "$("$probe" nothing 2>&1 || echo failed)"
check "--help tells the usage" grep -q '^usage: exhibit-probe nothing' <("$probe" --help)
said=$("$probe" run parent $nonce tree=0 2>&1)
check "wrong usage ends with 2" equal 2 $?
check "wrong usage is one line" equal "exhibit-probe: read= is missing (see --help)" "$said"
check "the probe is static" equal "" "$(readelf -l "$probe" | grep INTERP)"

# ---- a tree
child=$(printf 'exhibit child %s' $nonce | sha256sum | cut -c1-32)
grandchild=$(printf 'exhibit grandchild %s' "$child" | sha256sum | cut -c1-32)
fresh
began=$(milliseconds)
run_probe "$work/out" tree=1 &
run_pid=$!
sleep 0.7
mkdir "$work/seen" # one look at all of them: this machine may be slow
for pid in $(ours); do
    cp "/proc/$pid/cmdline" "$work/seen/$pid"
    cp "/proc/$pid/stat" "$work/seen/$pid.stat"
done

# role_pid ROLE NONCE: the process with exactly the role's own argv.
role_pid() {
    local pid list
    mapfile -t list < <(keys tree=1)
    printf '%s\0' "$probe" run "$1" "$2" "${list[@]}" >"$work/argv"
    for pid in "$work"/seen/*[0-9]; do
        cmp -s "$pid" "$work/argv" && basename "$pid"
    done
}
stat_field() { sed 's/.*) //' "$work/seen/$1.stat" | cut -d' ' -f"$2"; } # counted from the state
parent_pid=$(role_pid parent $nonce)
child_pid=$(role_pid child "$child")
grandchild_pid=$(role_pid grandchild "$grandchild")
check "one process has each role's own argv" grep -Eqx '[0-9]+ [0-9]+ [0-9]+' \
    <(echo "$parent_pid" "$child_pid" "$grandchild_pid")
check "no other process is left after the rounds" equal 6 "$(find "$work/seen" -type f | wc -l)"
check "the child is the parent's" equal "$parent_pid" "$(stat_field "$child_pid" 2)"
check "the grandchild is not the child's" test "$(stat_field "$grandchild_pid" 2)" != "$child_pid"
check "the grandchild is in a session of its own" test \
    "$(stat_field "$grandchild_pid" 4)" != "$(stat_field "$child_pid" 4)"
check "the grandchild does not lead its session" test "$(stat_field "$grandchild_pid" 4)" != "$grandchild_pid"

wait $run_pid
check "the parent ends with 0" equal 0 $?
took=$(($(milliseconds) - began))
check "the parent lives as long as it was told ($took ms)" test $took -ge 3990 -a $took -le 12000
check "all roles end by themselves" await_none 4000

line="EXHIBIT1 (row|try) ($nonce parent 1|$child child 1|$grandchild grandchild [123])"
effects='(read|read-link|write|tcp|udp)'
row='read=ok:[0-9a-f]{64} read-link=ok:[0-9a-f]{64} write=ok tcp=ok udp=ok'
check "every line has the exact form" equal "" \
    "$(grep -vxE "${line/(row|try)/row} $row|${line/(row|try)/try} $effects" "$work/out")"
check "there are 1 + 1 + 3 rows" equal 5 "$(grep -c ' row ' "$work/out")"
check "each attempt is announced" equal 25 "$(grep -c ' try ' "$work/out")"
for role in parent child grandchild; do
    check "the $role's file has what it told on stdout" equal "$(grep " $role " "$work/out")" \
        "$(cat "$work/scratch/exhibit-probe-$role.lines")"
done
proof=$(printf 'the secret %s 3' "$grandchild" | sha256sum | cut -c1-64)
link_proof=$(printf 'another %s 3' "$grandchild" | sha256sum | cut -c1-64)
check "reads are proven" grep -q "grandchild 3 read=ok:$proof read-link=ok:$link_proof " "$work/out"
expected=$(for who in "$nonce parent 1" "$child child 1" "$grandchild grandchild "{1,2,3}; do
    for effect in tcp udp write; do echo "EXHIBIT1 $effect $who"; done; done | sort)
check "each success reached the other side" equal "$expected" \
    "$(sed 1d "$work/sink" | cat - "$work/target" | sort)"

# ---- outcomes
fresh
mkfifo "$work/fifo"
run_probe "$work/out" "read=$work/fifo" "read-link=/none" tcp=1 lifetime_ms=300
check "a hung and failed attempts are outcomes" grep -qx \
    "EXHIBIT1 row $nonce parent 1 read=timeout read-link=errno:2 write=ok tcp=errno:111 udp=ok" "$work/out"
mapfile -t list < <(keys effects=udp,tcp lifetime_ms=300)
"$build/bin/kill_on_udp" "$probe" run parent $nonce "${list[@]}" >"$work/out"
check "a killed attempt is an outcome" grep -qx "EXHIBIT1 row $nonce parent 1 udp=signal:31 tcp=ok" "$work/out"
mapfile -t list < <(keys effects=read,udp lifetime_ms=1500)
ASAN_OPTIONS=detect_leaks=0 strace -f -qqq -o /dev/null -e inject=getppid:delay_enter=130000 \
    "$probe" run parent $nonce "${list[@]}" >"$work/out" # the first that a new worker calls
check "what a process takes to start is no time of an attempt" grep -qE \
    "^EXHIBIT1 row $nonce parent 1 read=ok:[0-9a-f]{64} udp=ok$" "$work/out"

# ---- ends
mapfile -t list < <(keys "read=$work/fifo" effects=read rounds=100 interval_ms=100 lifetime_ms=8000)
"$probe" run grandchild $nonce "${list[@]}" >"$work/out" & # it has a worker nearly all the time
role=$!
disown $role # its death is no news
for _ in {1..400}; do # with nothing but the shell's own words: a worker lives for a tenth of a second
    seen=
    { read -r worker _ <"/proc/$role/task/$role/children"; } 2>/dev/null
    for pid in $role ${worker:-}; do
        words=()
        { mapfile -d '' -t words <"/proc/$pid/cmdline"; } 2>/dev/null
        seen+="${words[1]:-} "
    done
    [ "$seen" = "run try " ] && break
    sleep 0.01
done
check "a worker is not taken for the role" equal "run try " "$seen"
kill -KILL $role
check "a worker does not outlive its role" await_none 3000

fresh
run_probe >(exec true) lifetime_ms=400
check "a closed stdout does not end the role" equal 0 $?
check "a closed stdout does not stop the rows" grep -q "^EXHIBIT1 row $nonce parent 1 " \
    "$work/scratch/exhibit-probe-parent.lines"
run_probe "$work/out" scratch=/none lifetime_ms=100
check "a missing scratch does not stop the rows" grep -q "^EXHIBIT1 row $nonce parent 1 " "$work/out"

mapfile -t list < <(keys tree=1 lifetime_ms=300 effects=write)
said=$(bash -c 'exec -a /none "$0" "$@"' "$probe" run parent $nonce "${list[@]}" 2>&1 >"$work/out")
check "a failed exec of the next role is told" equal \
    "exhibit-probe: the child could not be started: exec: No such file or directory" "$said"
check "a failed exec of the next role ends no round" grep -qx "EXHIBIT1 row $nonce parent 1 write=ok" "$work/out"

[ $failures = 0 ]
