#!/bin/bash
# exhibit-confine: what it denies, what it lets pass, how it fails closed, and how its pid namespace ends.
set -u
build=$1
source=$2
work=$(mktemp -d)
tools=$work/tools
scratch=$work/scratch
outside=$work/outside
probe=$tools/exhibit-probe
nonce=00112233445566778899aabbccddeeff
failures=0
# A build with sanitizers cannot look for leaks under strace, nor once a launcher has left its pid namespace.
export ASAN_OPTIONS=detect_leaks=0

# Prints the pids of processes that run a program of $tools: ours, by their executable.
ours() {
    find /proc/[0-9]*/exe -maxdepth 0 -lname "${1:-$tools/*}" -printf '%h\n' 2>/dev/null | cut -d/ -f3
}

finish() {
    local pid
    for pid in $(ours); do kill -KILL "$pid" 2>/dev/null; done
    [ -n "${sink_pid:-}" ] && kill "$sink_pid" 2>/dev/null
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

contains() {
    [[ "$2" == *"$1"* ]] || { printf 'expected: ...%s...\nseen:     %s\n' "$1" "$2" >&2; return 1; }
}

# confine [OPTION]... -- COMMAND...: under the policy $policy.
confine() {
    "$tools/exhibit-confine" --policy "$policy" --set "workspace=$work/workspace" --set "scratch=$scratch" \
        --set "tools=$tools" "$@"
}

# denied OUTCOME ARG...: confine_try has the outcome when confined; and another one when it is not.
denied() {
    local outcome=$1 seen free
    shift
    seen=$(confine -- "$tools/confine_try" "$@")
    check "confined: $*" equal "$outcome" "$seen"
    free=$("$tools/confine_try" "$@")
    check "the denial of $* comes from the confinement" test "$free" != "$outcome"
}

# outcome OUTCOME ARG...: the same for calls whose arguments make no sense, or that fail unconfined in the same way.
outcome() {
    local expected=$1
    shift
    check "confined: $*" equal "$expected" "$(confine -- "$tools/confine_try" "$@")"
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

await() { # MILLISECONDS COMMAND...
    local end=$(($(milliseconds) + $1))
    shift
    until "$@"; do
        [ "$(milliseconds)" -gt "$end" ] && return 1
        sleep 0.01
    done
}

none_left() { [ -z "$(ours "$probe")" ]; }

chmod 755 "$work"
mkdir "$tools" "$scratch" "$outside" "$work/workspace"
cp "$build"/bin/{exhibit-confine,exhibit-probe,confine_try} "$tools"
echo secret >"$outside/secret"
echo scratch >"$scratch/file"
cp "$tools/confine_try" "$scratch/unnamed"
ln -s "$outside/secret" "$scratch/link"
policy=$work/policy.yaml
cat >"$policy" <<'EOF'
version: 1
read:
  - optional: "{tools}/missing"
execute:
  - "{tools}/confine_try"
  - "{tools}/exhibit-probe"
write:
  - "{scratch}"
network: none
EOF
"$build/bin/loopback_sink" 40 >"$work/sink" &
sink_pid=$!
disown $sink_pid
for _ in {1..500}; do
    read -r tcp udp 2>/dev/null <"$work/sink" && break
    sleep 0.01
done
[ -n "${udp:-}" ] || exit 1

# ---- files
o_rdonly=0 o_wronly=1 o_creat=0101 o_trunc=01001 at=-100
denied EACCES call openat $at "s:$outside/secret" $o_rdonly
denied EACCES call openat $at "s:$scratch/link" $o_rdonly
denied EACCES call openat $at "s:$outside/secret" $o_wronly
denied EACCES call openat $at "s:$outside/new" $o_creat 0600
rm -f "$outside/new"
denied EACCES call openat $at s:/etc/passwd $o_rdonly
denied EACCES call openat $at s:/proc/self/environ $o_rdonly
denied EACCES call openat $at "s:$outside/secret" $o_trunc
echo secret >"$outside/secret"
denied EACCES call truncate "s:$outside/secret" 0
echo secret >"$outside/secret"
denied EACCES call truncate "s:$scratch/link" 0
echo secret >"$outside/secret"
denied EACCES call mkdirat $at "s:$outside/folder" 0700
denied EACCES call symlinkat s:/etc/passwd $at "s:$outside/symlink"
denied EACCES call mknodat $at "s:$outside/fifo" 010600 0
denied EACCES call unlinkat $at "s:$outside/fifo" 0
outcome EACCES call renameat2 $at "s:$outside/secret" $at "s:$scratch/taken" 0
outcome EACCES call renameat2 $at "s:$scratch/file" $at "s:$outside/given" 0
outcome EXDEV call linkat $at "s:$outside/secret" $at "s:$scratch/linked" 0
outcome EACCES call unlinkat $at "s:$outside/secret" 0
denied EACCES call execve "s:$scratch/unnamed" 0 0
outcome EACCES call execve s:/bin/true 0 0
check "the denied left the outside as it was" equal secret "$(cat "$outside/secret")"
outcome ok call openat $at "s:$scratch/file" 2
outcome ok call openat $at "s:$scratch/made" $o_creat 0600
outcome ok call truncate "s:$scratch/made" 0
outcome ok call mkdirat $at "s:$scratch/folder" 0700
outcome ok call renameat2 $at "s:$scratch/made" $at "s:$scratch/folder/made" 0
outcome ok call unlinkat $at "s:$scratch/folder/made" 0
# ---- metadata, which Landlock leaves alone
denied EPERM call fchmodat $at "s:$outside/secret" 0600 0
denied EPERM call fchownat $at "s:$outside/secret" "$(id -u)" "$(id -g)" 0
denied EPERM call utimensat $at "s:$outside/secret" 0 0
outcome EPERM call setxattr "s:$outside/secret" s:user.x s:x 1 0

# ---- sockets: AF_INET 2 with SOCK_STREAM 1 and protocol 0 or 6, and nothing else
outcome ok call socket 2 1 0
outcome ok call socket 2 1 6
outcome ok call socket 2 0x80801 6 # SOCK_NONBLOCK | SOCK_CLOEXEC
for domain in {0..46}; do
    [ "$domain" = 2 ] || outcome EPERM call socket "$domain" 1 0
done
for type in 0 {2..15}; do outcome EPERM call socket 2 "$type" 0; done
for protocol in {1..5} {7..20} 132 136 255 256 262; do outcome EPERM call socket 2 1 "$protocol"; done
outcome EPERM call socket 0x100000002 1 0
outcome EPERM call socket 0x100000010 0x80803 0
outcome EPERM call socket 2 1 0x100000106
denied EPERM call socket 1 1 0
denied EPERM call socket 2 2 0
denied EPERM call socket 16 3 0
outcome ok pair
denied EACCES connect "$tcp"
denied EACCES bind 0
denied EPERM listen
for call in sendto sendmsg sendmmsg; do denied EPERM fastopen $call "$tcp"; done

# ---- ways round both
outcome EPERM ring
outcome EPERM call io_uring_enter -1 0 0 0 0 0
outcome EPERM call io_uring_register -1 0 0 0
denied EPERM call unshare 0
denied ENOSYS call clone3 0 0
for flag in 0x00020000 0x02000000 0x04000000 0x08000000 0x10000000 0x20000000 0x40000000; do
    outcome EPERM call clone $((flag | 17)) 0 0 0 0
done
outcome ok fork
for call in ptrace process_vm_readv process_vm_writev pidfd_getfd perf_event_open bpf userfaultfd add_key request_key \
    keyctl mq_open shmget memfd_create mount umount2 fsopen open_tree move_mount setns kexec_load init_module \
    finit_module delete_module name_to_handle_at open_by_handle_at; do
    outcome EPERM call $call -1 -1 -1 -1 -1 -1
done
denied EPERM call memfd_create s:x 0
denied EPERM call prlimit64 $$ 7 0 0
if [ "$(printf '6.12\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.12 ]; then
    denied EPERM call kill $$ 0
fi
if [ "$(uname -m)" = x86_64 ]; then
    (confine -- "$tools/confine_try" x32) 2>/dev/null
    check "a call of x32 kills (SIGSYS)" equal 159 $?
    if [ "$("$tools/confine_try" i386 2>/dev/null)" = ok ]; then
        (confine -- "$tools/confine_try" i386) 2>/dev/null
        check "a call of i386 kills (SIGSYS)" equal 159 $?
    fi
fi
check "no descriptor but 0 to 2 is handed on" equal 0 \
    "$(confine -- "$tools/confine_try" descriptors 7<"$outside/secret")"
check "no capability is left" equal "no_new_privs=1 no_capabilities=1" "$(confine -- "$tools/confine_try" status)"

# ---- the command line, the policy, the exit status
# refused STATUS TEXT COMMAND...: it ends with the status and says the text in one line.
refused() {
    local status=$1 text=$2 said
    shift 2
    said=$("$@" 2>&1)
    check "status of: $*" equal "$status" $?
    check "reason of: $*" contains "$text" "$said"
    check "one line from: $*" equal 1 "$(wc -l <<<"$said")"
}
# bad_policy TEXT REPORTED: a policy with that text is refused with the reason.
bad_policy() {
    printf 'version: 1\nnetwork: none\n%b\n' "$1" >"$work/bad.yaml"
    policy=$work/bad.yaml refused 2 "$work/bad.yaml:$2" confine -- "$tools/confine_try" status
}
check "--help tells the usage" contains "usage: exhibit-confine --policy FILE" "$("$tools/exhibit-confine" --help)"
refused 2 "--policy FILE is missing" "$tools/exhibit-confine" -- true
refused 2 "expected \`-- COMMAND ARG...\`" confine
refused 2 "unknown option '--polic'" confine --polic x -- true
refused 2 "--set takes NAME=VALUE, not 'x'" confine --set x -- true
refused 2 "--set tools is given twice" confine --set tools=x -- true
bad_policy 'reads: [/usr]' '3: a policy has no key `reads`'
bad_policy 'read: [usr]' "3: the path is not absolute"
bad_policy 'read:\n  - /usr\n  - "{home}/x"' "5: no value for {home}; give one with --set"
bad_policy 'read: ["/{home"]' "3: '{' without '}'"
bad_policy 'read: [{maybe: /usr}]' '3: an optional path has no key `maybe`'
bad_policy 'pid_namespace: perhaps' '3: `pid_namespace` is neither true nor false'
sed 's/none/all/' "$policy" >"$work/bad.yaml"
policy=$work/bad.yaml refused 2 "bad.yaml:9: network is 'all'" confine -- "$tools/confine_try" status
sed 's/confine_try/gone/' "$policy" >"$work/bad.yaml"
policy=$work/bad.yaml refused 125 "bad.yaml:5: $tools/gone: No such file" confine -- "$tools/confine_try" status
policy=/none refused 125 "/none: " confine -- "$tools/confine_try" status
refused 126 "cannot execute /bin/true: Permission denied" confine -- /bin/true
refused 127 "cannot execute /none/true: No such file or directory" confine -- /none/true
for option in "" --pid-namespace; do
    confine $option -- "$tools/confine_try" >/dev/null
    check "the status is handed on ($option)" equal 2 $?
done
(confine --pid-namespace -- "$tools/confine_try" x32) 2>/dev/null
check "the signal is handed on" equal 159 $?
refused 126 "cannot execute /bin/true: Permission denied" confine --pid-namespace -- /bin/true

# ---- failing closed: each call that confines is made to fail
# closed REASON INJECT...: not confined, said so, and the command has not run.
closed() {
    local reason=$1 option inject=()
    shift
    for option in "$@"; do inject+=(-e "inject=$option"); done
    for option in "" --pid-namespace; do
        rm -f "$scratch/started"
        refused 125 "$reason" strace -f -qqq -o /dev/null "${inject[@]}" "$tools/exhibit-confine" --policy "$policy" \
            --set "scratch=$scratch" --set "tools=$tools" $option -- "$tools/confine_try" call openat $at \
            "s:$scratch/started" $o_creat 0600
        check "nothing is started: $*" test ! -e "$scratch/started"
    done
}
closed "this kernel has no Landlock" landlock_create_ruleset:error=ENOSYS
closed "Landlock is switched off in this kernel" landlock_create_ruleset:error=EOPNOTSUPP
closed "Landlock ABI 1 is too old: ABI 4 (Linux 6.7) is needed" landlock_create_ruleset:retval=1
closed "Landlock ABI 3 is too old: ABI 4 (Linux 6.7) is needed" landlock_create_ruleset:retval=3
closed "make a Landlock ruleset: " landlock_create_ruleset:error=EINVAL:when=2
closed "Landlock rule for $tools/confine_try: " landlock_add_rule:error=EBADFD
closed "enter the Landlock domain: " landlock_restrict_self:error=EPERM
closed "drop the capabilities: " capset:error=EPERM
closed "close inherited descriptors: " close_range:error=ENOSYS
closed ": Invalid argument" prctl:error=EINVAL # no_new_privs, or what binds a namespace's init to its launcher
closed "filter system calls: " seccomp:error=EINVAL
refused 125 "make a pid namespace" strace -f -qqq -o /dev/null -e inject=unshare:error=ENOSPC \
    "$tools/exhibit-confine" --policy "$policy" --set "scratch=$scratch" --set "tools=$tools" --pid-namespace -- \
    "$tools/confine_try" status
# Landlock of Linux 6.7 knows neither devices nor scopes, and that is enough.
check "ABI 4 suffices" equal ok "$(strace -f -qqq -o /dev/null -e inject=landlock_create_ruleset:retval=4:when=1 \
    "$tools/exhibit-confine" --policy "$policy" --set "scratch=$scratch" --set "tools=$tools" -- \
    "$tools/confine_try" fork)"

# ---- a pid namespace ends as a whole
keys=(tree=1 "read=$outside/secret" "read-link=$scratch/link" "write=$outside/secret" "tcp=$tcp" "udp=$udp"
    effects=read,read-link,write,tcp,udp rounds=40 interval_ms=50 lifetime_ms=3000 "scratch=$scratch")
start_tree() { # [OPTION]...
    rm -f "$scratch"/*.lines
    "$tools/exhibit-confine" --policy "$policy" --set "scratch=$scratch" --set "tools=$tools" "$@" -- \
        "$probe" run parent $nonce "${keys[@]}" >"$work/out" 2>"$work/errors" &
    launcher=$!
    disown $launcher
    check "the grandchild begins ($*)" await 2000 grep -q ' row .* grandchild 2 ' "$work/out"
}
for signal in TERM KILL; do
    start_tree --pid-namespace
    kill -$signal $launcher
    check "the namespace ends with its launcher ($signal)" await 500 none_left
done
check "all five effects are denied" grep -q \
    ' grandchild 2 read=errno:13 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:1$' "$work/out"
start_tree --pid-namespace
for pid in $(ours "$probe"); do
    tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q "^$probe run parent " && kill -KILL "$pid"
done
check "the namespace ends with its payload" await 500 none_left
start_tree
kill -KILL $launcher
sleep 0.1
check "without a pid namespace the detached go on" equal 1 "$(none_left || echo 1)"
for pid in $(ours "$probe"); do kill -KILL "$pid" 2>/dev/null; done
if [ "$(id -u)" = 0 ]; then
    chmod 777 "$scratch"
    check "without privileges a user namespace helps" equal "no_new_privs=1 no_capabilities=1" \
        "$(setpriv --reuid=65534 --regid=65534 --clear-groups "$tools/exhibit-confine" --policy "$policy" \
            --set "scratch=$scratch" --set "tools=$tools" --pid-namespace -- "$tools/confine_try" status)"
fi

# ---- useful work under the shipped policies
echo '{"name": "w", "version": "1.0.0", "files": ["f.js"]}' >"$work/workspace/package.json"
echo 'console.log(1);' >"$work/workspace/f.js"
echo 'require("node:test")("a", () => {});' >"$work/workspace/t.js"
mkdir "$scratch/home" "$scratch/tmp"
useful() {
    env -i PATH=/usr/bin:/bin ASAN_OPTIONS=$ASAN_OPTIONS "HOME=$scratch/home" "TMPDIR=$scratch/tmp" \
        "npm_config_userconfig=$scratch/home/.npmrc" "npm_config_globalconfig=$scratch/home/npmrc" \
        "$tools/exhibit-confine" --policy "$policy" --set "workspace=$work/workspace" --set "scratch=$scratch" \
        --set "tools=$tools" "$@"
}
# ---- the grants, for launchers of other sandboxes
printf 'version: 1\nnetwork: none\nread: [/usr/lib, /lib64, {optional: /none}, "{w}/r", "{w}/w/l"]\n%s\n%s\n' \
    'execute: [/usr/lib/os-release]' 'write: ["{w}/w", "{w}/r/x"]' >"$work/grants.yaml"
mkdir "$work/g" "$work/g/r" "$work/g/w" "$work/g/r/x"
ln -s nowhere "$work/g/w/l"
grants() { "$tools/exhibit-confine" --policy "$work/grants.yaml" --set "w=$work/g" "$@" 2>&1; }
check "--grants needs what is not optional" contains "grants.yaml:3: $work/g/w/l: No such file" "$(grants --grants)"
ln -sf / "$work/g/w/l"
check "--grants prints what is there, each before those below it" equal \
    "$(printf '%s\n' "read /lib64" "read $work/g/r" "write $work/g/r/x" "write $work/g/w" "read $work/g/w/l" \
        "read /usr/lib" "execute /usr/lib/os-release" | LC_ALL=C sort -k 2)" "$(grants --grants)"
check "--mounts prints a link as one, and nothing that another folder shows" equal \
    "$(printf '%s\n' "link /lib64" "read $work/g/r" "write $work/g/r/x" "write $work/g/w" "read /usr/lib" |
        LC_ALL=C sort -k 2)" "$(grants --mounts)"
check "--mounts runs no command" contains "run no command" "$(grants --mounts -- /bin/true)"

for candidate in landlock/deny-default.yaml landlock-pidns/usable.yaml; do
    policy=$source/candidates/$candidate
    option=$(case $candidate in landlock-pidns/*) echo --pid-namespace ;; esac)
    check "$candidate: node --check" useful $option -- node --check "$work/workspace/f.js"
    check "$candidate: node --test" contains "# pass 1" \
        "$(useful $option -- node --test --test-reporter=tap "$work/workspace/t.js")"
    rm -f "$scratch"/*.tgz
    check "$candidate: npm pack" contains "w-1.0.0.tgz" \
        "$(useful $option -- npm pack "$work/workspace" --pack-destination "$scratch" 2>"$work/errors")"
    check "$candidate: npm pack leaves its archive" test -s "$scratch/w-1.0.0.tgz"
    said=$(useful $option -- node -e 'console.log(require("os").userInfo().uid)' 2>&1)
    if [ "$candidate" = landlock/deny-default.yaml ]; then
        check "$candidate: no user database" contains "uv_os_get_passwd returned EACCES" "$said"
        said=$(useful $option -- node -e 'require("fs").readFileSync("/etc/nsswitch.conf")' 2>&1)
        check "$candidate: nor where to look for one" contains "EACCES: permission denied" "$said"
    else
        check "$candidate: the user database" equal "$(id -u)" "$said"
    fi
    said=$(useful $option -- node -e 'require("fs").readFileSync("/etc/hostname")' 2>&1)
    check "$candidate: nothing else of /etc" contains "EACCES: permission denied" "$said"
done

[ $failures = 0 ]
