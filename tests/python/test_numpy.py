"""Right and wrong functions of NumPy: no right one fails, no wrong one passes."""

import collections
import unittest

import cases
import numpy as np
import tapestry


def judged(case):
    return tapestry.check_vjp(
        lambda *x: case.f(np, *x), lambda *x_and_g: case.vjp(np, *x_and_g), case.inputs
    )


class DrawnCases(unittest.TestCase):
    def verdicts(self, draw, never, count=100):
        counts = collections.Counter()
        for seed in range(count):
            case = draw(seed)
            report = judged(case)
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


if __name__ == "__main__":
    unittest.main()
