#!/usr/bin/env bash
# A ctest: one of three processes is killed (kill -9) at one of its messages. The others end within
# five seconds (longer on a busy machine), mpirun reports which one it was, and another number of
# processes resumes to the weights, moments and metrics of an undisturbed run. Twenty messages of
# three ranks, chosen by a seed.
#
#     killed.sh [--all] BUILD_DIR [MPIRUN]
#
# With --all (.ci/long mpi): every message of every rank.
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
# shellcheck source=tests/distributed/trainings.sh
. "$(dirname "${BASH_SOURCE[0]}")/trainings.sh"

all=no
[[ ${1:-} != --all ]] || { all=yes; shift; }
build=$(realpath "$1") mpirun=${2:-mpirun}
library=$build/tests/libkill_at_message.so
steps=3 threads=1
prepare
[[ -f $library ]] || skip "no $library"
ln -s "$library" kill_at_message.so  # LD_PRELOAD ends at a space

# One checkpoint in the middle: with one at every step their number would depend on the disk,
# because none begins while another is being written.
small_training() { train "$@" --checkpoint-every 2 --warmup 1; }

# ---- the expected result, and the number of messages --------------------------------------------

small_training 1 alone >alone.log 2>&1 || { cat alone.log >&2; exit 1; }
expected=$(digest_of alone)

# Twice, with different timing: the number of messages must not depend on it.
counts=()
for threads in 2 1; do
    under=(env LD_PRELOAD=./kill_at_message.so KILL_LOG="$work/count")
    small_training 3 counted >counted.log 2>&1 || { cat counted.log >&2; exit 1; }
    under=()
    [[ $(digest_of counted) == "$expected" ]] || failed "three processes learned something else than one"
    before="${counts[*]}" counts=()
    for rank in 0 1 2; do counts+=("$(<"count.$rank")"); done
    rm -rf counted
done
[[ $before == "${counts[*]}" ]] || failed "messages: $before, and another time ${counts[*]}"

# ---- one is killed ------------------------------------------------------------------------------

# kill_at RANK NUMBER: kills at that message, then resumes with 2, 4 or 1 processes. Returns whether
# all is well.
kill_at() {
    local rank=$1 number=$2 name=killed.$1.$2 others=(2 4 1) status=0 took
    local out=$work/$name
    local -x TMPDIR=$work/$name.tmp  # or one mpirun's end takes Open MPI's folder from another's beginning
    mkdir "$TMPDIR"
    for _ in 1 2 3 4 5; do  # again if it took long, because the processes may have to wait for a processor
        rm -rf "$out" "$name.at.$rank"
        status=0
        under=(env LD_PRELOAD=./kill_at_message.so KILL_AT="$rank:$number" KILL_LOG="$work/$name.at")
        small_training 3 "$out" >"$name.log" 2>&1 || status=$?
        ended "$out" || failed "rank $rank, message $number: some went on"
        took=$(($(date +%s%N) / 1000000))
        under=()
        if ((status == 0)) || [[ ! -f $name.at.$rank ]]; then
            cat "$name.log" >&2
            failed "rank $rank was not killed at message $number, or its end went unnoticed"
            return 1
        fi
        took=$((took - $(<"$name.at.$rank") / 1000000))
        ((took >= $(scaled 5000))) || break
    done
    echo "$took" >"$name.took"
    ((took < $(scaled 5000))) || failed "rank $rank, message $number: it took $took ms until all had ended"
    # Open MPI reports its rank; MPICH the number of the first killed process, including those it
    # killed itself.
    grep -qiE "rank $rank|pid[ =][0-9]+" "$name.log" ||
        { cat "$name.log" >&2; failed "message $number: no line names process $rank"; }
    small_training "${others[number % 3]}" "$out" --resume >"$name.log" 2>&1 ||
        { cat "$name.log" >&2; failed "rank $rank, message $number: no resuming"; return 1; }
    [[ $(digest_of "$out") == "$expected" ]] ||
        failed "rank $rank, message $number: other weights, moments or metrics"
    rm -rf "$out" "$name.log" "$TMPDIR"
    ((failures == 0))
}

points=()
for rank in 0 1 2; do
    for ((number = 1; number <= counts[rank]; ++number)); do points+=("$rank $number"); done
done
if [[ $all == no ]]; then
    RANDOM=18
    drawn=()
    for ((i = 0; i < 20; ++i)); do drawn+=("${points[(RANDOM * 32768 + RANDOM) % ${#points[@]}]}"); done
    mapfile -t points < <(printf '%s\n' "${drawn[@]}" | sort -u)
fi

# Most of the time is Open MPI's, which gives processes some seconds to end: so several run in
# parallel.
for ((i = 0; i < ${#points[@]}; ++i)); do
    while (($(jobs -rp | wc -l) >= 4)); do wait -n || true; done
    # shellcheck disable=SC2086  # two words
    { kill_at ${points[i]} && touch "passed.$i"; } &
done
wait
passed=$(find . -name 'passed.*' | wc -l)
took=$(cat ./*.took | sort -n)
echo "messages: ${counts[*]}; killed at ${#points[@]} of them, $passed as it should be; until all had" \
    "ended $(head -n 1 <<<"$took") to $(tail -n 1 <<<"$took") ms"
((failures == 0 && passed == ${#points[@]}))
