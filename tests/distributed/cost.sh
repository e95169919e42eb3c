#!/usr/bin/env bash
# By hand: what the model of a network's cost (nn/bench/network_cost.h) says of two machines, from a run
# without a limit, beside what the same step takes over a cable of five rates. Needs root, and a quiet
# machine. One thread a process; SHAPE is layers, heads, dim, context, batch.
#
#     cost.sh BUILD_DIR [MPIRUN]
#
# MEASURE is put before every single measurement: what keeps others quiet.
set -euo pipefail
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
# shellcheck source=tests/distributed/environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
# shellcheck source=tests/distributed/namespaces.sh
. "$(dirname "${BASH_SOURCE[0]}")/namespaces.sh"

build=$(realpath "$1") mpirun=${2:-mpirun}
read -r layers heads dim context batch <<<"${SHAPE:-6 6 384 128 8}"
# shellcheck disable=SC2119  # no rate
two_machines
trap remove_machines EXIT

# step: a line of JSON.
step() {
    across -n 2 "$build/examples/cli/tapestry" profile --layers "$layers" --heads "$heads" --dim "$dim" \
        --context "$context" --batch "$batch" --micro-batches 2 --threads 1 --steps "${STEPS:-5}" --json
}

# slowed RATE: both ends of the cable.
slowed() {
    local i
    for i in 0 1; do
        tc -n "$space.$i" qdisc replace dev cable root tbf rate "$1" burst 128kb latency 250ms
    done
}

step >"$here.without"
for rate in 2.5 1 0.5 0.2 0.1; do
    slowed "${rate}gbit"
    step >"$here.$rate"
done
python3 - "$here" <<'PYTHON'
import json, sys

def messages(name):
    line = json.loads(open(f"{sys.argv[1]}.{name}").read().splitlines()[-1])
    return line["median_ms"], line["messages"]

median, free = messages("without")
print(f"without a limit: {median:.0f} ms a step, {free['waited_ms']:.1f} ms waited for gradients")
print("| Gbit/s | step, ms | predicted | off by | gradients alone, ms | waited for | predicted | hidden |")
print("|---|---|---|---|---|---|---|---|")
for said in free["predicted"]:
    if said["gbit"] > 2.5:
        continue
    took, found = messages(f"{said['gbit']:g}")
    alone = found["parameters_ms"]  # as many bytes, of which nothing is hidden
    print(f"| {said['gbit']:g} | {took:.0f} | {said['step_ms']:.0f} | {said['step_ms'] / took - 1:+.1%} | "
          f"{alone:.0f} | {found['waited_ms']:.0f} | {said['exposed_ms']:.0f} | "
          f"{max(0, 1 - found['waited_ms'] / alone):.0%} |")
PYTHON
