#!/usr/bin/env bash
# A ctest: one call fails, once, at some point of a command: malloc returns null, a file cannot be
# opened, read, written, synced, renamed or examined, a thread cannot be started. At any point, the
# command ends by itself, with 0, 1 or 2 and, unless that is 0, a line that explains the error; the
# user's files are unchanged; no file is half written. Training reaches the same bits as without the
# failure: by itself, or when resumed.
#
#     failing_calls.sh TAPESTRY LIBFAIL_ONCE [POINTS [SEED]]
#
# POINTS of each kind of call are chosen by SEED for each command, or all if there are no more; a
# quarter of that for inspect, which takes thirty times as long as the others. For training it is a
# tenth and, from 1000 POINTS on, every call of its checkpoint writer. .ci/long has 2000.
set -euo pipefail
(($# >= 2 && $# <= 4)) || {
    echo "usage: failing_calls.sh TAPESTRY LIBFAIL_ONCE [POINTS [SEED]]" >&2
    exit 2
}
tapestry=$(realpath "$1") library=$(realpath "$2") points=${3:-8} RANDOM=${4:-1}
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
export TAPESTRY_THREADS=1

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
ln -s "$library" fail_once.so  # LD_PRELOAD ends at a space

training="train --text mine/text.txt --out out/run --layers 1 --heads 2 --dim 16 --context 16 --batch 2
    --eval-every 2 --eval-batches 1 --checkpoint-every 2 --best --no-report"
declare -A commands=(
    [sample]="sample --model mine/model --prompt The --tokens 12"
    [curve]="curve mine/model"
    [inspect]="inspect --model mine/model --prompt The --out out/page.html"
    [print]="inspect --model mine/model --prompt The --print"
    [eval]="eval --model mine/model --text mine/text.txt --batches 1 --json"
    [export]="export --model mine/model --out out/exported --overwrite"
    [tokenize]="tokenize --text mine/text.txt mine/texts --out out/data --vocab 300 --tokenizer bpe"
    [train]="$training --steps 4 --resume"                     # in a directory that is not there
    [resume]="$training --steps 4 --resume --override steps"   # one with a run of two steps
    [anew]="$training --steps 4 --seed 2 --overwrite"          # one with that run, which is replaced
)
calls=(malloc open read write fsync rename mmap stat unlink mkdir truncate flock thread)

prepare() {
    mkdir -p mine/texts/more
    local i
    for ((i = 0; i < 40; ++i)); do echo "The cat sat on mat $((i * i % 17)), said the dog."; done >mine/text.txt
    cp mine/text.txt mine/texts/more/again.txt
    mkdir out
    # shellcheck disable=SC2086  # several words
    "$tapestry" $training --steps 2 >/dev/null
    mv out/run mine/run
    "$tapestry" train --text mine/text.txt --out mine/model --layers 1 --heads 2 --dim 16 \
        --context 16 --batch 2 --steps 20 --eval-every 10 --eval-batches 1 --no-report >/dev/null
    cp -r mine kept
}

is_training() { [[ ${commands[$1]} == train* ]]; }

# run KIND K COMMAND: runs it with the k-th call of this kind failing; sets `status`.
run() {
    rm -rf out && mkdir out
    [[ $3 != resume && $3 != anew ]] || cp -r mine/run out/run
    status=0
    {  # the shell's own word on a process that was aborted is left out
        # shellcheck disable=SC2086  # several words
        FAIL_ONCE=$1:$2 FAIL_ONCE_COUNT=$place/counts LD_PRELOAD=./fail_once.so \
            "$tapestry" ${commands[$3]} >stdout 2>stderr </dev/null || status=$?
    } 2>/dev/null
}

# All bits of out/run: the models, the tensors of the last checkpoint, the metrics without times.
state() {
    local last header
    local all=(out/run/checkpoints/*)
    last=${all[-1]}
    header=$(od -An -t u8 -N 8 "$last")
    {
        cat out/run/{,best/}{config.json,tokenizer.json,model.safetensors}
        tail -c +$((header + 9)) "$last"
        sed -E 's/,"(tokens_per_s|seconds|of_peak)":[^,}]*//g' out/run/metrics.jsonl
    } | sha256sum
}

# Errors of the training run just done and, unless it completed, of repeating it without a failing
# call.
complaint_of_training() {
    [[ $1 == train ]] || "$tapestry" sample --model out/run --tokens 1 >/dev/null 2>&1 ||
        echo "no model is left"
    # shellcheck disable=SC2086  # several words
    ((status == 0)) || "$tapestry" ${commands[$1]} >/dev/null 2>again || echo "then: $(<again)"
    [[ $(state) == "${expected[$1]}" ]] || echo "came to other bits"
}

# complaint COMMAND KIND: the errors of the run just done; prints nothing if all is well.
complaint() {
    case $status in
        0) ;;
        1 | 2) grep -q '^tapestry: .' stderr || echo "exit code $status without a word" ;;
        *) echo "ended with $status: $(head -c 200 stderr)" ;;
    esac
    ! is_training "$1" || complaint_of_training "$1"
    # As on a file system without locks: the first lock is the directory's, others are of unfinished
    # files.
    ! is_training "$1" || [[ $2 != flock || $k != 1 ]] || grep -q 'the file system has no locks' stderr ||
        echo "says nothing of locks"
    diff -r mine kept >/dev/null || echo "changed what is the user's"
    # Committed files can be read even if not yet in place; the next writer moves them into place.
    if [[ -e out/exported/tapestry-manifest.json ]]; then
        "$tapestry" sample --model out/exported --tokens 1 >/dev/null 2>&1 ||
            echo "what was committed cannot be read"
        # shellcheck disable=SC2086  # several words
        ((status == 0)) || "$tapestry" ${commands[export]} >/dev/null 2>again || echo "then: $(<again)"
    fi
    local left
    left=$(find . -name '*.tmp' -o -name '.saving*')
    [[ -z $left || $2 == unlink ]] || echo "left $left"
    [[ ! -e out/page.html || $(tail -c 8 out/page.html) == "</html>" ]] || echo "half a page"
}

# points_of COMMAND KIND COUNT: how many of COUNT calls to make fail.
points_of() {
    local most=$points
    case $1 in
        inspect | print) most=$(((points + 3) / 4)) ;;
        train | resume | anew)
            most=$(((points + 9) / 10))
            ((points < 1000)) || [[ $2 != other-malloc ]] || most=$3 ;;
    esac
    echo $(($3 < most ? $3 : most))
}

prepare
declare -A expected=() count_of=()
runs=0 failures=0
for command in sample curve inspect print eval export tokenize train resume anew; do
    kinds=("${calls[@]}")
    ! is_training $command || kinds+=(other-malloc)
    rm -f counts
    run none 0 $command
    ((status == 0)) || { echo "$command fails by itself: $(cat stderr)" >&2; exit 1; }
    [[ -e counts ]] || skip "nothing can be preloaded here"
    while read -r kind count; do count_of[$kind]=$count; done <counts
    ! is_training $command || expected[$command]=$(state)
    for kind in "${kinds[@]}"; do
        count=${count_of[$kind]}
        most=$(points_of $command "$kind" "$count")
        for ((i = 1; i <= most; ++i)); do
            k=$i
            ((count <= most)) || k=$((1 + (RANDOM << 15 | RANDOM) % count))
            run "$kind" $k $command
            runs=$((runs + 1))
            wrong=$(complaint $command "$kind")
            [[ -n $wrong ]] || continue
            echo "$command: $kind $k of $count: $wrong" >&2
            failures=$((failures + 1))
            rm -rf mine && cp -r kept mine
        done
    done
done
((failures == 0)) || { echo "$failures of $runs runs" >&2; exit 1; }
echo "$runs runs, each with one call that failed: all ended by themselves, nothing was lost"
