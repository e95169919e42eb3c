# Sourced by the tests of this folder: a small run with any number of processes, and its results.
# Callers set build, mpirun, steps and threads, and have read tests/skip.sh.
# shellcheck shell=bash disable=SC2154  # what they set

# shellcheck source=tests/distributed/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

# Skips if this build or machine has no MPI; changes to a new folder with a text.
prepare() {
    tapestry=$build/examples/cli/tapestry
    grep -q '^TAPESTRY_MPI:.*=ON' "$build/CMakeCache.txt" || skip "no MPI in this build"
    command -v "$mpirun" >/dev/null || skip "no $mpirun"

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work" || exit
    local i
    for i in $(seq 400); do echo "The cat $i sat on mat $((i * i % 97))."; done >text
    failures=0
    launch=(timeout 300 "$mpirun")
}

failed() {
    echo "$(basename "$0" .sh): $1" >&2
    failures=$((failures + 1))
}

# train PROCESSES OUT [OPTION...]: a small GPT; options replace the defaults here. $under is a
# prefix for the command itself, and $launch an mpirun other than the usual one.
train() {
    local processes=$1 out=$2 launcher=(timeout 300) options=() option
    shift 2
    ((processes == 1)) || launcher=("${launch[@]}" -n "$processes" "${under[@]}")
    for option in "--text text" "--layers 2" "--heads 2" "--dim 32" "--context 16" "--dropout 0.1" \
        "--batch 16" "--micro-batches 16" "--steps $steps" "--warmup 5" "--eval-every 0" \
        "--threads $threads" "--checkpoint-every 5"; do
        # shellcheck disable=SC2206  # two words
        [[ " $* " == *" ${option%% *} "* ]] || options+=($option)
    done
    "${launcher[@]}" "$tapestry" train "${options[@]}" --out "$out" --no-report \
        --no-cache "$@"
}
under=()

# milliseconds_since START, an $EPOCHREALTIME, whose decimal point depends on the locale.
milliseconds_since() { echo $(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 1000)); }

# scaled MILLISECONDS: a time limit, multiplied by the number of runnable processes per core.
scaled() {
    awk -v limit="$1" -v cores="$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)" \
        '{ busy = $1 / cores; print int(limit * (busy > 1 ? busy : 1)) }' /proc/loadavg
}

# ended OUT: have all processes of the run into OUT ended? A killed one may wait for its disk after
# mpirun has gone.
ended() {
    local tries
    for ((tries = 0; tries < 300; ++tries)); do
        grep -qszxF -e "$1" /proc/[0-9]*/cmdline || return 0
        sleep 0.1
    done
    return 1
}

# Digests all tensors of the last checkpoint (which follow the header and its eight-byte length) and
# the output of metrics_of: parameters, moments, losses.
digest_of() {
    local file length
    file=$(find "$1/checkpoints" -name '*.safetensors' | sort | tail -n 1)
    length=$(od -An -t u8 -N 8 "$file" | tr -d ' ')
    { tail -c +$((length + 9)) "$file"; metrics_of "$1"; } | sha256sum | cut -d' ' -f1
}

# The metrics of each step, without clock values.
metrics_of() {
    sed -E '/"event"/d; s/,"(tokens_per_s|seconds|of_peak)":[0-9.e+-]+//g' "$1/metrics.jsonl"
}
