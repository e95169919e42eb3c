#!/usr/bin/env bash
# A ctest: one call fails, once, at some point of a command's way: malloc has no memory, a file cannot
# be opened, read, written, synced or renamed. Whatever the point, the command ends by itself, with 0, 1
# or 2 and, unless that is 0, a line that says what is wrong; what belongs to the user is as it was; no
# file is left half written.
#
#     failing_calls.sh TAPESTRY LIBFAIL_ONCE [POINTS [SEED]]
#
# POINTS of each kind of call are drawn by SEED for each command, or all of them if there are no more;
# a quarter of that for inspect, which takes thirty times as long as the others. .ci/long has 2000.
set -euo pipefail
(($# >= 2 && $# <= 4)) || {
    echo "usage: failing_calls.sh TAPESTRY LIBFAIL_ONCE [POINTS [SEED]]" >&2
    exit 2
}
tapestry=$(realpath "$1") library=$(realpath "$2") points=${3:-60} RANDOM=${4:-1}
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
export TAPESTRY_THREADS=1

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

declare -A commands=(
    [sample]="sample --model mine/model --prompt The --tokens 12"
    [curve]="curve mine/model"
    [inspect]="inspect --model mine/model --prompt The --out out/page.html"
    [print]="inspect --model mine/model --prompt The --print"
    [eval]="eval --model mine/model --text mine/text.txt --batches 1 --json"
    [export]="export --model mine/model --out out/exported"
    [tokenize]="tokenize --text mine/text.txt --out out/data --vocab 300 --tokenizer bpe"
)

prepare() {
    mkdir -p mine
    local i
    for ((i = 0; i < 40; ++i)); do echo "The cat sat on mat $((i * i % 17)), said the dog."; done >mine/text.txt
    "$tapestry" train --text mine/text.txt --out mine/model --layers 1 --heads 2 --dim 16 \
        --context 16 --batch 2 --steps 20 --eval-every 10 --eval-batches 1 --no-report >/dev/null
    cp -r mine kept
}

# run KIND K COMMAND: with the k-th call of this kind failing; sets `status`.
run() {
    rm -rf out && mkdir out
    status=0
    {  # the shell's own word on a process that was aborted is left out
        # shellcheck disable=SC2086  # several words
        FAIL_ONCE=$1:$2 FAIL_ONCE_COUNT=$place/count LD_PRELOAD=$library \
            "$tapestry" ${commands[$3]} >stdout 2>stderr </dev/null || status=$?
    } 2>/dev/null
}

# What is wrong with the run that has been; prints nothing if all is well.
complaint() {
    case $status in
        0) ;;
        1 | 2) grep -q '^tapestry: .' stderr || echo "exit code $status without a word" ;;
        134)  # a thread's first use of a thread_local that has a destructor: glibc gives no choice
            grep -q '^Fatal glibc error: failed to register TLS destructor' stderr ||
                echo "abort: $(head -c 200 stderr)" ;;
        *) echo "ended with $status: $(head -c 200 stderr)" ;;
    esac
    diff -r mine kept >/dev/null || echo "changed what is the user's"
    # What has been committed is there, if not in its place yet: whoever reads it puts it there.
    [[ ! -e out/exported/tapestry-manifest.json ]] ||
        "$tapestry" sample --model out/exported --tokens 1 >/dev/null 2>&1 ||
        echo "what was committed cannot be read"
    local left
    left=$(find . -name '*.tmp' -o -name '.saving*')
    [[ -z $left ]] || echo "left $left"
    [[ ! -e out/page.html || $(tail -c 8 out/page.html) == "</html>" ]] || echo "half a page"
}

prepare
runs=0 failures=0
for command in sample curve inspect print eval export tokenize; do
    for kind in malloc open read write fsync rename mmap; do
        run $kind 0 $command
        ((status == 0)) || { echo "$command fails by itself: $(cat stderr)" >&2; exit 1; }
        [[ -e count ]] || skip "nothing can be preloaded here"
        count=$(<count)
        rm count
        most=$points
        [[ $command != inspect && $command != print ]] || most=$(((points + 3) / 4))
        for ((i = 1; i <= (count < most ? count : most); ++i)); do
            k=$i
            ((count <= most)) || k=$((1 + (RANDOM << 15 | RANDOM) % count))
            run $kind $k $command
            runs=$((runs + 1))
            wrong=$(complaint)
            [[ -n $wrong ]] || continue
            echo "tapestry ${commands[$command]}: $kind $k of $count: $wrong" >&2
            failures=$((failures + 1))
            rm -rf mine && cp -r kept mine
        done
    done
done
((failures == 0)) || { echo "$failures of $runs runs" >&2; exit 1; }
echo "$runs runs, each with one call that failed: all ended by themselves, nothing was lost"
