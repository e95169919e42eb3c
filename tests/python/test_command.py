"""python -m tapestry check, and the pytest plugin: verdicts as exit statuses and as failures."""

import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import tapestry

from environment import plain_environment

try:
    import pytest
except ImportError:
    pytest = None

CHECKS = """
import numpy as np
import tapestry

X = np.array([0.5, -1.2, 2.0])
right = lambda x: 3 * x**2
wrong = lambda x: 2 * x**2
cubes = lambda x: (x**3).sum()

def passes():
    return tapestry.check_gradient(cubes, right, X)

def fails():
    return tapestry.check_gradient(cubes, wrong, X, subject="cubes")

def undecided():
    return tapestry.check_gradient(cubes, right, X, evaluations=3)

def several(seed):
    return {"one": passes(), "other": undecided(), "seed": tapestry.check_gradient(cubes, right, X + seed)}

def several_of_which_one_fails():
    return [passes(), undecided(), fails()]

def nothing():
    return 3

def raises():
    raise ZeroDivisionError("of the user")

class Inner:
    check = staticmethod(passes)

class Skipped(BaseException):
    pass

def skips():
    raise Skipped("as pytest does")

def accents():
    return tapestry.check_gradient(cubes, right, X, subject="caf\\u00e9")
"""

TESTS = """
import numpy as np
import pytest
from checks import X, cubes, right, wrong

def test_right(gradient_check):
    assert gradient_check.gradient(cubes, right, X).verdict == "PASS"

def test_wrong(gradient_check):
    gradient_check.gradient(cubes, wrong, X, subject="cubes & <squares>")

def test_undecided(gradient_check):
    gradient_check.gradient(cubes, right, X, evaluations=3)

def test_all_kinds(gradient_check):
    gradient_check.vjp(np.sin, lambda x, g: g * np.cos(x), X)
    gradient_check.jacobian(lambda x: x**2, lambda x: np.diag(2 * x), X)
    gradient_check.hessian(lambda x: 3 * x**2, lambda x: np.diag(6 * x), X)
    gradient_check.hvp(lambda x: 3 * x**2, lambda x, v: 6 * x * v, X)
    import tapestry
    with pytest.raises(pytest.fail.Exception, match="constant factor"):
        gradient_check(tapestry.check_gradient(cubes, wrong, X))
"""


class InADirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
        (self.path / "checks.py").write_text(CHECKS)
        (self.path / "test_them.py").write_text(TESTS)

    def run_module(self, *arguments, **environment):
        return subprocess.run([sys.executable, "-m", *arguments], cwd=self.path, env=plain_environment() | environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


class Command(InADirectory):
    def check(self, *arguments):
        return self.run_module("tapestry", "check", *arguments)

    def test_statuses(self):
        for name, status, words in (
            ("passes", 0, "PASS  plain function"),
            ("fails", 1, "FAIL  cubes"),
            ("undecided", 3, "INCONCLUSIVE (limit reached)"),
            ("several_of_which_one_fails", 1, "2: FAIL  cubes"),
            ("Inner.check", 0, "PASS"),
        ):
            done = self.check(f"checks:{name}")
            self.assertEqual((done.returncode, done.stderr), (status, ""), name)
            self.assertIn(words, done.stdout)

    def test_json_and_a_path(self):
        done = self.check("./checks.py:several", "--json", "--seed", "7")
        self.assertEqual(done.returncode, 3)
        found = json.loads(done.stdout)
        self.assertEqual(found["verdict"], "INCONCLUSIVE")
        verdicts = [(r["name"], r["verdict"], r["seed"]) for r in found["results"]]
        self.assertEqual(verdicts, [("one", "PASS", 7), ("other", "INCONCLUSIVE", 7), ("seed", "PASS", 7)])

    def test_characters_that_the_output_lacks(self):
        done = self.run_module("tapestry", "check", "checks:accents", PYTHONIOENCODING="ascii")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("PASS  caf\\xe9: ", done.stdout)

    def test_without_a_verdict(self):
        for arguments, words in (
            (("checks:raises",), "ZeroDivisionError: of the user"),
            (("checks:skips",), "Skipped: as pytest does"),
            (("checks:nothing",), "expected a report, or several, from the function, got 3"),
            (("checks:X",), "checks:X is ndarray, expected a function"),
            (("checks:other",), "checks has no other"),
            (("checks",), "expected module:function, got checks"),
            (("missing:f",), "No module named 'missing'"),
            (("missing.py:f",), "no file missing.py"),
            ((), "required: module:function"),
        ):
            done = self.check(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)


class Errors(unittest.TestCase):
    def test_raise_if_wrong(self):
        x = np.array([0.5, 2.0])
        right = tapestry.check_gradient(np.sum, np.ones_like, x)
        self.assertIs(right.raise_if_wrong(), right)
        wrong = tapestry.check_gradient(np.sum, np.zeros_like, x)
        with self.assertRaises(tapestry.GradientError) as caught:
            wrong.raise_if_wrong()
        self.assertIsInstance(caught.exception, AssertionError)
        self.assertEqual(str(caught.exception), str(wrong))
        self.assertIs(caught.exception.report, wrong)
        undecided = tapestry.check_gradient(np.sum, np.ones_like, x, evaluations=3)
        self.assertIs(undecided.raise_if_wrong(), undecided)
        with self.assertRaisesRegex(tapestry.GradientError, "INCONCLUSIVE"):
            undecided.raise_if_wrong(undecided=True)


@unittest.skipIf(pytest is None, "no pytest here (Debian: python3-pytest)")
class Plugin(InADirectory):
    def run_tests(self, *options):
        plugins = ("-p", "no:cacheprovider", "-p", "tapestry.pytest_plugin")
        return self.run_module("pytest", "-q", *plugins, *options)

    def test_failures_have_the_whole_report(self):
        done = self.run_tests("--junitxml=found.xml", "--gradient-seed", "5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 failed, 2 passed", done.stdout)
        self.assertIn("looks like     constant factor", done.stdout)
        self.assertNotIn("def test_wrong", done.stdout)  # without a traceback
        cases = xml.etree.ElementTree.parse(self.path / "found.xml").iter("testcase")
        failures = {case.get("name"): case.find("failure") for case in cases}
        self.assertIn("FAIL  cubes & <squares>", failures["test_wrong"].text)
        self.assertIn("looks like     constant factor", failures["test_wrong"].text)
        self.assertIn("INCONCLUSIVE", failures["test_undecided"].text)
        self.assertIsNone(failures["test_right"])

    def test_undecided_may_be_skipped(self):
        done = self.run_tests("--gradient-undecided=skip")
        self.assertIn("1 failed, 2 passed, 1 skipped", done.stdout)


if __name__ == "__main__":
    unittest.main()
