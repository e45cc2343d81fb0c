#!/bin/sh
# usage: launcher.sh MODE WORKSPACE SCRATCH -- COMMAND ARG...
# A launcher that does one thing by itself, and runs the command; nothing here confines but the networks.
mode=$1 workspace=$2 scratch=$3
shift 4
unset PWD # the shell's own

# In a network namespace of its own, with the loopback, and what the words do there.
network() {
    script=$1
    shift
    exec unshare --net /bin/sh -c "ip link set lo up; $script; exec \"\$@\"" "$PPID" "$@"
}

case $mode in # so that recordings side by side do not share a network
    table) net=198.51.101 ;;
    later) net=198.51.102 ;;
    blink) net=198.51.103 ;;
    *) net=198.51.100 ;;
esac

# An uplink: one end of a pair of interfaces is here, the other in the recorder's own namespace ($0 is its pid).
link="ip link add up0 type veth peer name exhibit\$\$ netns \$0
    echo 1 2>/dev/null >/proc/sys/net/ipv6/conf/up0/disable_ipv6
    ip address add $net.2/30 dev up0; ip link set up0 up
    nsenter --target \$0 --net ip address add $net.1/30 dev exhibit\$\$
    nsenter --target \$0 --net ip link set exhibit\$\$ up"
route="ip route add default via $net.1"

case $mode in
    relay) "$@" | cat ;;
    swallow) exec "$@" >/dev/null 2>&1 ;;
    session) exec setsid --wait "$@" ;;
    group)
        mkdir -p "$GROUP_OF_TEST/moved" && echo $$ >"$GROUP_OF_TEST/moved/cgroup.procs"
        exec "$@" ;;
    variables) TMPDIR=/nonexistent LAUNCHED=1 exec "$@" ;;
    removes) exec env -u LANG "$@" ;;
    folder) cd / && exec env -u PWD -u OLDPWD "$@" ;;
    link) # to the box, which holds the workspace
        ln -s "${workspace%/*}" "${workspace%/*/*}/link" 2>/dev/null
        cd "${workspace%/*/*}/link/workspace" && exec env -u OLDPWD PWD="$(pwd)" "$@" ;;
    litter)
        mkdir -p "$scratch/empty" "$scratch/.launcher" && echo trace >"$scratch/.launcher/file"
        exec "$@" ;;
    passes) # made and removed again before the command starts
        mkdir "$scratch/passing" && rmdir "$scratch/passing"
        : >"$scratch/tmp/one" && mv "$scratch/tmp/one" "$scratch/kept"
        : >"$scratch/home/two" && rm "$scratch/home/two"
        ln -s / "$scratch/three" && rm "$scratch/three"
        exec "$@" ;;
    flood) # around the command that tells alone: it takes its time
        case " $* " in
            *" surroundings ") touch $(seq -f "$scratch/tmp/%g" 2100) && rm $(seq -f "$scratch/tmp/%g" 2100) ;;
        esac
        exec "$@" ;;
    lock) # removed at the end, unless it is killed before
        mkdir "$scratch/lock"
        "$@"
        status=$?
        rmdir "$scratch/lock"
        exit $status ;;
    private) network : "$@" ;;
    uplink) network "$link; $route" "$@" ;;
    table) network "$link; ip rule add table 100; $route table 100 dev up0 onlink; ip route flush table main" "$@" ;;
    later) network "(sleep 0.4; $link; $route) >/dev/null 2>&1 </dev/null & :" "$@" ;;
    blink) # an uplink that is there for a moment: one process makes it and takes it away
        network "(sleep 0.4; echo 'link add up0 type veth peer name exhibit'\$\$ netns \$0'
            address add $net.2/30 dev up0
            link set up0 up
            route add default via $net.1
            link delete up0' | ip -batch -) >/dev/null 2>&1 </dev/null & :" "$@" ;;
    tmpfs) # over the folder of the targets
        exec unshare --mount /bin/sh -c '
            mount -t tmpfs none "$0" && : >"$0/write-here" && exec "$@"' "${workspace%/*/*}/targets" "$@" ;;
    guest) # a probe that the host does not know: one byte more
        for word; do
            shift
            case $word in
                */exhibit-probe)
                    { cat "$word" && echo; } >"$scratch/guest" && chmod 755 "$scratch/guest"
                    word=$scratch/guest ;;
            esac
            set -- "$@" "$word"
        done
        exec "$@" ;;
    *) echo "launcher: no mode $mode" >&2; exit 2 ;;
esac
