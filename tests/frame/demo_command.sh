#!/usr/bin/env bash
# A ctest: the command that ./demo builds first (examples/cli/demo_commands.cpp) trains to the bits
# of the full one, shows the curve, and samples.
#
#     demo_command.sh EXAMPLES     # the build tree's folder examples
# Read next: examples/CMakeLists.txt; demo.
set -euo pipefail
examples=$1
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
cd "$temporary"

"$examples/write_stories" --bytes 20000 --out stories.txt --truth truth.jsonl
for command in demo cli; do
    "$examples/$command/tapestry" train --text stories.txt --out $command --layers 2 --dim 32 \
        --steps 20 --threads 2 >log 2>&1 || { cat log; exit 1; }
done
cmp demo/model.safetensors cli/model.safetensors
curve=$("$examples/demo/tapestry" curve demo)
[[ $curve == *"step 20"* ]] || { echo "curve: $curve"; exit 1; }
sample=$("$examples/demo/tapestry" sample --model demo --prompt Once --tokens 8)
[[ $sample == Once* ]] || { echo "sample: $sample"; exit 1; }
echo "the demo's command: the same bits, a curve, a sample"
