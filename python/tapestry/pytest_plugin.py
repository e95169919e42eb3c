"""A pytest plugin: the fixture `gradient_check`.

    pytest_plugins = ["tapestry.pytest_plugin"]     # in conftest.py; or pytest -p tapestry.pytest_plugin

    def test_rms_norm(gradient_check):
        gradient_check.vjp(rms_norm, rms_norm_backward, (x, w))

A test fails with the whole report as its text, also in the XML of pytest --junitxml. INCONCLUSIVE fails as
well, because nothing has been verified; --gradient-undecided=skip skips such a test instead.
"""

import pytest

from . import _checks


def pytest_addoption(parser):
    group = parser.getgroup("tapestry", "gradient checks")
    group.addoption("--gradient-seed", type=int, help="seed of all gradient checks that do not set one")
    group.addoption(
        "--gradient-undecided",
        choices=("fail", "skip"),
        default="fail",
        help="what a test whose gradient check is INCONCLUSIVE does (default: fail)",
    )


class GradientCheck:
    """The checks of the module as methods that fail the test: `vjp` is check_vjp, and so on. Each returns
    its report. gradient_check(report) fails for an existing report."""

    def __init__(self, seed, undecided):
        self._seed, self._undecided = seed, undecided

    def __call__(self, report):
        if report.verdict == "INCONCLUSIVE" and self._undecided == "skip":
            pytest.skip(str(report))
        if not report:
            pytest.fail(str(report), pytrace=False)
        return report

    def _checked(self, check, arguments, options):
        with _checks.default_seed(self._seed):
            report = check(*arguments, **options)
        return self(report)

    def gradient(self, *arguments, **options):
        return self._checked(_checks.check_gradient, arguments, options)

    def vjp(self, *arguments, **options):
        return self._checked(_checks.check_vjp, arguments, options)

    def jacobian(self, *arguments, **options):
        return self._checked(_checks.check_jacobian, arguments, options)

    def hessian(self, *arguments, **options):
        return self._checked(_checks.check_hessian, arguments, options)

    def hvp(self, *arguments, **options):
        return self._checked(_checks.check_hvp, arguments, options)

    def torch(self, *arguments, **options):
        return self._checked(_checks.check_torch, arguments, options)


@pytest.fixture
def gradient_check(request):
    """Checks of gradients that fail the test with their whole report."""
    option = request.config.getoption
    return GradientCheck(option("--gradient-seed"), option("--gradient-undecided"))
