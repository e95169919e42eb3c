"""Right and wrong torch.autograd.Functions, and what tensors are to the checker."""

import collections
import unittest

import cases
import tapestry

try:
    import torch
except ImportError:
    torch = None


def as_function(case):
    """The case as somebody would write it for PyTorch."""

    class Drawn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *x):
            ctx.save_for_backward(*x)
            return case.f(torch, *x)

        @staticmethod
        def backward(ctx, g):
            gradients = case.vjp(torch, *ctx.saved_tensors, g)
            return tuple(gradients) if len(gradients) > 1 else gradients[0]

    return Drawn


def tensors_of(case):
    return tuple(torch.tensor(x, requires_grad=True) for x in case.inputs)


@unittest.skipIf(torch is None, "no PyTorch here (Debian: python3-torch)")
class DrawnFunctions(unittest.TestCase):
    def verdicts(self, draw, never, count=100):
        counts = collections.Counter()
        for seed in range(count):
            case = draw(seed)
            report = tapestry.check_torch(as_function(case), tensors_of(case))
            self.assertNotEqual(report.verdict, never, f"{case.name} (seed {seed})\n{report}")
            counts[report.verdict] += 1
        return counts

    def test_no_right_one_fails(self):
        counts = self.verdicts(cases.right_case, never="FAIL")
        self.assertGreaterEqual(counts["PASS"], 95)

    def test_no_wrong_one_passes(self):
        count = int(100 * cases.WRONG_SHARE)
        counts = self.verdicts(cases.wrong_case, never="PASS", count=count)
        self.assertGreaterEqual(counts["FAIL"], 0.95 * count)

    def test_no_right_one_fails_in_f32(self):
        passed = 0
        for seed in range(12):
            case = cases.right_case(seed)
            inputs = tuple(torch.tensor(x, dtype=torch.float32) for x in case.inputs)
            report = tapestry.check_torch(as_function(case), inputs)
            self.assertNotEqual(report.verdict, "FAIL", f"{case.name} (seed {seed})\n{report}")
            passed += report.verdict == "PASS"
        self.assertGreaterEqual(passed, 8)
