#!/usr/bin/env bash
# A ctest: the command on two machines, simulated by two network namespaces with separate names,
# addresses and folders and a 1 Gbit/s cable: weights, moments and losses are those of one process,
# the bytes really cross the cable, and only the first machine's folder is written to.
#
#     machines.sh BUILD_DIR [MPIRUN]
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
# shellcheck source=tests/distributed/trainings.sh
. "$(dirname "${BASH_SOURCE[0]}")/trainings.sh"
# shellcheck source=tests/distributed/namespaces.sh
. "$(dirname "${BASH_SOURCE[0]}")/namespaces.sh"

build=$(realpath "$1") mpirun=${2:-mpirun}
steps=20 threads=1
prepare
need_programs_in "$work"  # mpirun's agent is one
[[ $("$mpirun" --version) =~ "Open MPI"|OpenRTE ]] || skip "$mpirun is not Open MPI's, whose options say which network"
two_machines 1gbit
trap 'remove_machines; rm -rf "$work"' EXIT

train 1 alone >alone.log 2>&1 || { cat alone.log >&2; exit 1; }
expected=$(digest_of alone)
for name in "${machine_names[@]}"; do cp text "$here.$name/text"; done

# together PROCESSES [OPTION...]: trains into alpha's folder.
together() {
    local processes=$1
    shift
    launch=(across)
    train "$processes" "$here/out" --text "$here/text" "$@" >many.log 2>&1
}

for processes in 2 5; do
    before=$(bytes_over_the_cable)
    together "$processes" || { cat many.log >&2; failed "$processes processes failed"; continue; }
    went=$(($(bytes_over_the_cable) - before))
    [[ $(digest_of "$here.alpha/out") == "$expected" ]] ||
        failed "$processes processes on two machines learned something else than one"
    if (($(grep -cE '^process [0-9]+ on (alpha|beta): ' many.log) != processes)) ||
        ! grep -q "^process $((processes - 1)) on beta: " many.log; then
        cat many.log >&2
        failed "not every one of $processes processes told its machine"
    fi
    # Half of the gradients, and half of the parameters, 26,720 numbers of four bytes.
    ((went > steps * 26720 * 4)) || failed "only $went bytes went over the cable"
    [[ ! -e $here.beta/out ]] || failed "the second machine has written"
    echo "$processes processes on two machines: $went bytes from the first to the second"
    rm -rf "$here.alpha/out"
done

# ---- a machine whose data differs, or is missing ------------------------------------------------

# refused WORDS: expects exit code 2, and one line from us.
refused() {
    local status=0
    together 2 || status=$?
    if ((status != 2)) || (($(grep -c '^tapestry: ' many.log) != 1)) ||
        ! grep -qE -- "$1" many.log || [[ -e $here.alpha/out/model.safetensors ]]; then
        cat many.log >&2
        failed "exit $status, not one line of: $1"
    fi
}

echo "And another cat." >>"$here.beta/text"
refused "^tapestry: data is [0-9a-f]+ in process 0 and [0-9a-f]+ in process 1 on beta; "
rm "$here.beta/text"
refused "^tapestry: process 1 on beta: cannot read '.*/text': No such file"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
