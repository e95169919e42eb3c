#!/usr/bin/env bash
# Runs a command on a machine that often has no processor for it: no test may depend on when a process or thread
# runs. `.ci/long anywhere` runs the tests so; by hand, for example
#
#     tests/frame/starved.sh all 1 build/release/tests/test_core
#
#     starved.sh MANNER SEED COMMAND...
#
# MANNER:
#   all    all processes that the command starts stop for 0.2 to 2 s, every 0.5 to 3 s
#   one    a random one of them does
#   core   they share a core with two busy loops, at the lowest priority, so threads wait for one another
#
# The exit status is the command's. Processes that begin a session of their own are not stopped.
# Read next: anywhere.sh.
set -euo pipefail
manner=$1
RANDOM=$2
shift 2

# nap LOW HIGH: sleeps a random number of milliseconds.
nap() {
    local ms=$(($1 + RANDOM % ($2 - $1)))
    sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
}

# The processes of the command's session.
members() {
    local stat fields
    for stat in /proc/[0-9]*/stat; do
        read -r stat <"$stat" || continue
        read -ra fields <<<"${stat##*) }"  # the name before it may contain anything
        [[ ${fields[3]} != "$command" ]] || echo "${stat%% *}"
    done 2>/dev/null  # of those that have ended meanwhile
}

# send SIGNAL PROCESS...
send() { kill -s "$1" "${@:2}" 2>/dev/null || true; }

loops=()
if [[ $manner == core ]]; then
    core=$(taskset -cp $$ | sed -E 's/.*: ([0-9]+).*/\1/')
    for _ in 1 2; do
        taskset -c "$core" bash -c 'while :; do :; done' &
        loops+=($!)
    done
    set -- taskset -c "$core" nice -n 19 "$@"
fi
setsid "$@" &
command=$!
stopped=()
finish() {
    [[ ${#stopped[@]} == 0 ]] || send CONT "${stopped[@]}"
    [[ ${#loops[@]} == 0 ]] || send KILL "${loops[@]}"
}
trap finish EXIT

while [[ $manner != core ]]; do
    nap 500 3000
    kill -0 "$command" 2>/dev/null || break
    mapfile -t stopped < <(members)
    ((${#stopped[@]})) || continue
    [[ $manner == all ]] || stopped=("${stopped[RANDOM % ${#stopped[@]}]}")
    send STOP "${stopped[@]}"
    nap 200 2000
    send CONT "${stopped[@]}"
    stopped=()
done
wait "$command"
