#!/usr/bin/env bash
# A ctest: a part of the mutation suite's cases, and of its plain functions, through PyTorch's
# gradient checker, compared with ours.
# Skipped, with a message, if no Python here has PyTorch.
#
#     torch_gradcheck.sh BUILD_DIR
set -euo pipefail
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/skip.sh
. "$here/../skip.sh"

# The first Python may be one of many; Debian's PyTorch belongs to Debian's Python.
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import torch' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[[ -n $python ]] || skip "no Python here has PyTorch (Debian: python3-torch)"

cases=$(mktemp)
trap 'rm -f "$cases"' EXIT
"$build/tests/mutations" --export "$cases" --every 60 --cases 60
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/torch_gradcheck.py" "$cases"
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/torch_templates.py" "$build/tests/mutations" --cases 72
