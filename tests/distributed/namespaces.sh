# Sourced by tests that need two machines and have one: two network namespaces connected by a cable,
# each with its own name and address, and a folder, $here, that the other does not see.
#
#     two_machines 1gbit              the cable's rate in either direction; without: no limit
#     on_machine 1 COMMAND...         runs a command on the second, which is called beta
#     across -n PROCESSES COMMAND...  mpirun on the first, alpha, for processes on both; at most five minutes
#
# Callers have read tests/skip.sh and environment.sh, set `mpirun` (Open MPI's), and clean up at the
# end with remove_machines.
# shellcheck shell=bash disable=SC2154  # what they set

machine_names=(alpha beta)
machine_addresses=(10.77.18.1 10.77.18.2)

# two_machines [RATE]: calls skip() if the system does not allow creating them.
two_machines() {
    local i name
    local -a tools=(ip tc unshare mount hostname)
    # Others have no tc on PATH, either.
    [[ $(id -u) == 0 ]] || skip "this system makes no network namespaces (root may)"
    for name in "${tools[@]}"; do
        command -v "$name" >/dev/null || skip "no $name: there are no two network namespaces without it"
    done
    space=tapestry$$
    ip netns add "$space.0" 2>/dev/null || skip "this system makes no network namespaces (root may)"
    ip netns add "$space.1"
    ip link add name cable netns "$space.0" type veth peer name cable netns "$space.1" 2>/dev/null ||
        { remove_machines; skip "this system makes no veth pairs"; }
    here=$(mktemp -d)
    if [[ $here == *' '* ]]; then  # mpirun would take the agent's path for several words
        rmdir "$here"
        here=$(mktemp -d -p /tmp)
    fi
    for i in 0 1; do
        ip -n "$space.$i" addr add "${machine_addresses[i]}/24" dev cable
        ip -n "$space.$i" link set lo up
        ip -n "$space.$i" link set cable up
        mkdir "$here.${machine_names[i]}"
        if (($#)); then
            # A burst of a tenth of a millisecond; packets that wait longer than a quarter second
            # are lost.
            tc -n "$space.$i" qdisc add dev cable root tbf rate "$1" burst 128kb latency 250ms 2>/dev/null ||
                { remove_machines; skip "this system slows no cable down (tc's tbf)"; }
        fi
    done
    write_agent
}

remove_machines() {
    local i
    for i in 0 1; do ip netns del "$space.$i" 2>/dev/null || true; done
    [[ -z ${here:-} ]] || rm -rf "$here" "$here".*
}

# The replacement for ssh that mpirun calls: `agent ADDRESS WORDS`. Generated from on_machine,
# because it runs separately.
write_agent() {
    {
        echo '#!/bin/bash'
        declare -p machine_names machine_addresses space here
        declare -f on_machine
        # shellcheck disable=SC2016  # said there
        echo 'machine=0; [[ $1 != "${machine_addresses[1]}" ]] || machine=1; shift'
        # shellcheck disable=SC2016
        echo 'on_machine "$machine" bash -c "$*"'
    } >"$here.agent"
    chmod +x "$here.agent"
}

# on_machine NUMBER COMMAND...; prefixed by $MEASURE, if set.
on_machine() {
    local i=$1
    shift
    # shellcheck disable=SC2016,SC2086  # the inner shell's; words
    ${MEASURE:-} env MEASURE= unshare --uts --mount bash -c 'hostname "$1"; mount --bind "$2" "$3"; shift 3; exec "$@"' machine \
        "${machine_names[i]}" "$here.${machine_names[i]}" "$here" ip netns exec "$space.$i" "$@"
}

# across -n PROCESSES COMMAND...: half of them on each machine.
across() {
    local processes=$2 i hosts=()
    shift 2
    for i in 0 1; do hosts+=("${machine_addresses[i]}:$(((processes + 1 - i) / 2))"); done
    on_machine 0 timeout 300 "$mpirun" -n "$processes" --host "$(IFS=,; echo "${hosts[*]}")" \
        --mca plm_rsh_agent "$here.agent" --mca btl tcp,self --mca pml ob1 \
        --mca btl_tcp_if_include cable --mca oob_tcp_if_include cable "$@"
}

# bytes_over_the_cable: the total from the first to the second so far.
bytes_over_the_cable() { on_machine 0 cat /sys/class/net/cable/statistics/tx_bytes; }
