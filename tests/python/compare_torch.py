"""The table in docs/python.md: the same torch.autograd.Functions through tapestry.check_torch and
torch.autograd.gradcheck.

    PYTHONPATH=build/release/python python3 tests/python/compare_torch.py [CASES [FIRST_SEED]]
"""

import collections
import sys
import warnings

import cases
import tapestry
import torch
from test_torch import as_function, tensors_of


def ours(case):
    return tapestry.check_torch(as_function(case), tensors_of(case)).verdict


def theirs(case):
    try:
        torch.autograd.gradcheck(as_function(case).apply, tensors_of(case))
    except RuntimeError:  # torch.autograd.gradcheck.GradcheckError, which 1.13 does not show
        return "FAIL"
    return "PASS"


def main(count, first):
    warnings.simplefilter("ignore")
    print("| | cases | check_torch | torch.autograd.gradcheck |\n|---|---|---|---|")
    for kind, draw in ("right", cases.right_case), ("wrong", cases.wrong_case):
        found = collections.Counter(), collections.Counter()
        for seed in range(first, first + count):
            case = draw(seed)
            for judge, counts in zip((ours, theirs), found):
                counts[judge(case)] += 1
        cells = [", ".join(f"{n} {v}" for v, n in sorted(c.items(), reverse=True)) for c in found]
        print(f"| {kind} | {count} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main(*(int(a) for a in [*sys.argv[1:], "100", "0"][:2])) if len(sys.argv) != 2 else main(
        int(sys.argv[1]), 0
    )
