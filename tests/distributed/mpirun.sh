#!/usr/bin/env bash
# A ctest: the real command under the real mpirun. Any number of processes gives the weights and
# moments of one; killing one ends all, and the run resumes with another number; a hanging one is
# reported; wrong usage ends all with one line.
#
#     mpirun.sh [--long] BUILD_DIR [MPIRUN]
#
# With --long (.ci/long mpi): 1, 2, 3, 4, 7, 8 and 16 processes, 200 steps, 1 and 2 threads.
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"

long=no
[[ ${1:-} != --long ]] || { long=yes; shift; }
build=$(realpath "$1") mpirun=${2:-mpirun}
# shellcheck source=tests/distributed/trainings.sh
. "$(dirname "${BASH_SOURCE[0]}")/trainings.sh"
prepare

steps=20 threads=1
counts=(3 4) threads_tried=(1)
[[ $long == no ]] || { steps=200 counts=(2 3 4 7 8 16) threads_tried=(1 2); }

# ---- one result ---------------------------------------------------------------------------------

train 1 alone >alone.log 2>&1 || { cat alone.log >&2; exit 1; }
expected=$(digest_of alone)
for threads in "${threads_tried[@]}"; do
    for processes in "${counts[@]}"; do
        if ! train "$processes" many >many.log 2>&1; then
            cat many.log >&2
            failed "$processes processes failed"
        elif [[ $(digest_of many) != "$expected" ]]; then
            failed "$processes processes of $threads threads learned something else than one"
        elif (($(grep -c '^process .* tokens, .* of moments$' many.log) != processes)); then
            failed "not every one of $processes processes told what it has done"
        fi
        rm -rf many
    done
done
threads=1

# ---- one is killed ------------------------------------------------------------------------------

# process_of OUT RANK: the process id of this rank of the run into OUT. Uses only builtins, because
# the run does not wait.
process_of() {
    local directory words
    for directory in /proc/[0-9]*; do
        mapfile -d '' -t words <"$directory/cmdline" || continue
        [[ ${words[0]:-} == "$tapestry" && " ${words[*]} " == *" --out $1 "* ]] || continue
        mapfile -d '' -t words <"$directory/environ" || continue
        [[ " ${words[*]} " =~ \ (OMPI_COMM_WORLD_RANK|PMI_RANK)=$2\  ]] || continue
        echo "${directory#/proc/}"
    done 2>/dev/null  # of those that have ended meanwhile
}

# On a busy machine a run may end before it is disturbed, or all may wait long for a processor afterwards. Then
# the functions below return 1, having changed nothing, unless `last` is set.

# tried FUNCTION RANK: until it returns 0.
tried() {
    local try last=
    for try in 1 2 3 4 5 6; do
        ((try < 6)) || last=yes
        ! "$@" "$try" || return 0
        echo "again: $*"
    done
}

has_ended() { grep -q '"event":"end"' "$1/metrics.jsonl"; }

# kill_one RANK TRY: kills it during a run of three, which then resumes with two.
kill_one() {
    local rank=$1 out=$work/killed child pid start took status=0
    rm -rf "$out"
    train 3 "$out" >killed.log 2>&1 &
    child=$!
    until [[ -n $(find "$out/checkpoints" -name '*.safetensors' 2>/dev/null) ]]; do
        kill -0 "$child" 2>/dev/null || break
        sleep 0.02
    done
    pid=$(process_of "$out" "$rank")
    if [[ ! $pid =~ ^[0-9]+$ ]]; then
        kill "$child" 2>/dev/null || true
        wait "$child" && [[ -z $last ]] && return 1
        cat killed.log >&2
        failed "process $rank was not found"
        return 0
    fi
    start=$EPOCHREALTIME
    kill -9 "$pid" || true
    wait "$child" || status=$?
    took=$(milliseconds_since "$start")
    # An exit of 0 is only excused where the run had ended before.
    [[ -n $last ]] || { ((took < $(scaled 5000))) && { ((status != 0)) || ! has_ended "$out"; }; } || return 1
    echo "process $rank killed: all had ended after $took ms, exit $status"
    ((status != 0)) || failed "the end of process $rank went unnoticed"
    ((took < $(scaled 5000))) || failed "it took $took ms until all had ended"
    ended "$out" || failed "some went on after process $rank was killed"
    # Open MPI reports its rank; MPICH the number of the first killed process, including those it
    # killed itself.
    grep -qiE "rank $rank|pid[ =][0-9]+" killed.log ||
        { cat killed.log >&2; failed "no line names process $rank"; }
    train 2 "$out" --resume >killed.log 2>&1 || { cat killed.log >&2; failed "no resuming"; return; }
    [[ $(digest_of "$out") == "$expected" ]] ||
        failed "after process $rank was killed, something else was learned"
}

steps=500
[[ $long == no ]] || steps=1000
rm -rf alone
train 1 alone >alone.log 2>&1
expected=$(digest_of alone)
tried kill_one 1
[[ $long == no ]] || { tried kill_one 0 && tried kill_one 2; }

# ---- one hangs ----------------------------------------------------------------------------------

# stop_one RANK TRY: stops it during a run of three; two seconds later all end, or 4, 8, ... in another try.
stop_one() {
    local rank=$1 seconds=$((1 << $2)) out=$work/stopped child pid status=0 start took
    rm -rf "$out"
    train 3 "$out" --timeout "$seconds" >stopped.log 2>&1 &
    child=$!
    until [[ -n $(find "$out/checkpoints" -name '*.safetensors' 2>/dev/null) ]]; do
        kill -0 "$child" 2>/dev/null || break
        sleep 0.02
    done
    pid=$(process_of "$out" "$rank")
    if [[ ! $pid =~ ^[0-9]+$ ]]; then
        kill "$child" 2>/dev/null || true
        wait "$child" || true
        [[ -n $last ]] || return 1
        cat stopped.log >&2
        failed "process $rank was not found"
        return 0
    fi
    start=$EPOCHREALTIME
    kill -STOP "$pid" || true
    wait "$child" || status=$?
    took=$(milliseconds_since "$start")
    echo "process $rank stopped: all had ended after $took ms, exit $status"
    # mpirun acts as a terminal for process 0, and another process's line may begin on its progress
    # line.
    sed -i 's/\x1b\[K/\n/g' stopped.log
    # A process without a processor for that long is reported as well.
    [[ -n $last ]] || { ((status == 1 && took < $(scaled 5000) + 1000 * seconds)) && ! other_hangs; } || return 1
    ((status == 1)) || failed "process $rank hung: exit $status, not 1"
    ((took < $(scaled 5000) + 1000 * seconds)) || failed "process $rank hung: it took $took ms until all had ended"
    ended "$out" || failed "some went on after process $rank was stopped"
    grep -qE "^tapestry: process [0-2] on .*: process $rank on .* has not answered for $seconds s; waited for: " \
        stopped.log || { cat stopped.log >&2; failed "no line names process $rank, which hung"; }
    ! other_hangs ||
        { cat stopped.log >&2; failed "another than process $rank was said to hang"; }
}

# Is another than $rank said to hang? Processes that are ending do not count, nor those that the stopped one, woken
# by Open MPI to be ended, finds gone.
other_hangs() {
    grep -E 'process [0-2] on .* has not answered' stopped.log |
        grep -vqE "process $rank on [^:]* has not answered"
}

tried stop_one 2
[[ $long == no ]] || { tried stop_one 0 && tried stop_one 1; }

# ---- wrong use ----------------------------------------------------------------------------------

# refused PROCESSES WORDS [OPTION...]: expects exit code 2, and one line from us. Trains into $into,
# or into a new folder.
refused() {
    local processes=$1 says=$2 status=0
    shift 2
    train "$processes" "${into:-refused}" "$@" >refused.out 2>refused.err || status=$?
    if ((status != 2)) || (($(grep -c '^tapestry: ' refused.err) != 1)) ||
        ! grep -qF -- "$says" refused.err || [[ -d refused ]]; then
        cat refused.err >&2
        failed "$processes processes with $*: exit $status, not one line of: $says"
    fi
}

refused 3 "tapestry: train: 3 processes for the 2 micro-batches of a step" --micro-batches 2
refused 2 "tapestry: train: micro_batches 3 does not divide batch 16" --micro-batches 3
refused 2 "tapestry: train: 2 processes share the micro-batches of a step" --micro-batches 1
refused 2 "tapestry: cannot read 'nowhere': No such file" --text nowhere
refused 2 "tapestry: --trap-nan records the steps of one process" --trap-nan

mkdir taken
exec 9>taken/.lock
flock -n 9
into=taken refused 2 "/taken': in use by another process"
exec 9>&-

tapestry=$build/examples/without_mpi/tapestry refused 2 \
    "tapestry: mpirun started 2 processes, but this program was built without MPI"
# As started by another MPI's mpirun: MPI finds no other process.
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 refused 1 \
    "tapestry: mpirun started 2 processes, but MPI finds 1: this mpirun belongs to a different MPI"

if [[ $(uname -m) == x86_64 ]]; then
    # shellcheck disable=SC2016  # the inner shell's
    under=(bash -c '[[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} != 1 ]] || export TAPESTRY_ISA=baseline; exec "$@"' bash)
    refused 2 "and baseline in process 1 on "
    steps=6
    train 2 mixed --override isa >mixed.log 2>&1 || { cat mixed.log >&2; failed "--override isa: refused"; }
    under=()
fi

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "one result for 1, ${counts[*]} processes"
