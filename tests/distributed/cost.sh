#!/usr/bin/env bash
# By hand: the network cost model (nn/bench/profile.h) for two machines, from steps without a limit,
# compared with the same steps over a cable at five rates, one after another. The cable limits the
# rate but adds no latency, so the receiver delays every message for LATENCY milliseconds (0.2).
# Needs root, and a quiet machine. One thread per process; SHAPE is layers, heads, dim, context,
# batch.
#
#     cost.sh BUILD_DIR [MPIRUN]
#
# Fails unless the model is within 15% of every step, and 90% of the possible overlap is reached at
# 1 Gbit/s. MEASURE is a command prefix for every single measurement, to keep others quiet.
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

# step LATENCY: prints a line of JSON.
step() {
    across -n 2 "$build/examples/cli/tapestry" profile --layers "$layers" --heads "$heads" --dim "$dim" \
        --context "$context" --batch "$batch" --micro-batches 2 --threads 1 --steps "${STEPS:-5}" \
        --latency "$1" --json
}

# cable [RATE]: limits both ends; without RATE, no limit.
cable() {
    local i
    for i in 0 1; do
        tc -n "$space.$i" qdisc del dev cable root 2>/dev/null || true
        (($# == 0)) || tc -n "$space.$i" qdisc add dev cable root tbf rate "$1" burst 128kb latency 250ms
    done
}

for rate in ${RATES:-2.5 1 0.5 0.2 0.1}; do
    cable
    step 0 >>"$here.without"
    cable "${rate}gbit"
    step "${LATENCY:-0.2}" >>"$here.slow"
done
# shellcheck disable=SC2086  # numbers
python3 - "$here" ${RATES:-2.5 1 0.5 0.2 0.1} <<'PYTHON'
import json, sys

def lines(name):
    return [json.loads(line) for line in open(f"{sys.argv[1]}.{name}") if line.startswith("{")]

print("| Gbit/s | step, ms | predicted | off by | gradients alone, ms | waited for | predicted | hidden, of what could be |")
print("|---|---|---|---|---|---|---|---|")
farthest, hidden_at = 0, {}
for rate, free, slow in zip(map(float, sys.argv[2:]), lines("without"), lines("slow")):
    said = next(p for p in free["messages"]["predicted"] if p["gbit"] == rate)
    took, found = slow["min_ms"], slow["messages"]
    alone = found["parameters_ms"]  # as many bytes, of which nothing is hidden
    waited, best = found["waited_ms"], said["exposed_ms"]
    hidden = hidden_at[rate] = (alone - waited) / (alone - best)
    farthest = max(farthest, abs(said["step_ms"] / took - 1))
    print(f"| {rate:g} | {took:.0f} | {said['step_ms']:.0f} | {said['step_ms'] / took - 1:+.1%} | "
          f"{alone:.0f} | {waited:.0f} | {best:.0f} | {hidden:.0%} |")
print(f"the model is off by {farthest:.1%} at the most; at 1 Gbit/s "
      f"{hidden_at.get(1, float('nan')):.0%} of what could be hidden is")
sys.exit(farthest > 0.15 or hidden_at.get(1, 1) < 0.9)
PYTHON
