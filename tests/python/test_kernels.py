"""The corpus of kernels (tests/kernels): no right one fails, no wrong one passes, few are undecided."""

import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernels"))
import judge  # noqa: E402

try:
    import torch
except ImportError:
    torch = None


class Corpus(unittest.TestCase):
    def kinds(self, kind, undecided=0.1):
        verdicts = judge.judged(kind)
        others = 0
        for v in verdicts:
            expected = "FAIL" if v.wrong else "PASS"
            if v.report.verdict == "INCONCLUSIVE":
                others += 1
            else:
                self.assertEqual(v.report.verdict, expected, f"{v.name()}\n{v.report}")
            self.assertIsNot(v.place_is_right(), False, f"{v.name()}\n{v.report}")
        named = [judge.is_named(v) for v in verdicts if v.wrong and v.report.verdict == "FAIL"]
        self.assertNotIn(None, named)  # each fault has a cause in the table
        self.assertGreaterEqual(sum(named), 0.85 * len(named))
        self.assertLessEqual(others, undecided * len(verdicts))
        return verdicts

    def test_numpy(self):
        self.assertEqual(len(self.kinds("numpy")), 68)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_c(self):
        self.assertEqual(len(self.kinds("c")), 32)

    @unittest.skipIf(torch is None, "no PyTorch here (Debian: python3-torch)")
    def test_torch(self):
        verdicts = self.kinds("torch")
        self.assertEqual(len(verdicts), 100)
        for v in verdicts:  # faults in how the gradient is called are named
            if v.wrong and v.kernel.cause in judge.CONVENTIONS:
                self.assertTrue(judge.is_named(v), f"{v.name()}\n{v.report}")


if __name__ == "__main__":
    unittest.main()
