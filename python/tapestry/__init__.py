"""Tapestry's gradient checker for NumPy and PyTorch.

    report = tapestry.check_gradient(f, df, x)          # df(x) is the gradient of the number f(x)
    report = tapestry.check_vjp(f, vjp, (x, w))         # vjp(x, w, g) is g^T df, for each of them
    report = tapestry.check_torch(MyFunction, (x, w))   # a torch.autograd.Function, or any function
    report = tapestry.check_jacobian(f, jacobian, x)    # also check_hessian and check_hvp
    print(report)
    assert report

Tolerances and steps are derived from f, so there is nothing to choose. The verdict is PASS, FAIL or
INCONCLUSIVE; if a gradient is wrong, the report names the probable mistake. See docs/python.md for
details and for the keyword options of every check.
"""

from ._checks import (
    check_gradient,
    check_hessian,
    check_hvp,
    check_jacobian,
    check_torch,
    check_vjp,
)
from ._gradcheck import version as _version
from ._report import GradientError, Report

__all__ = [
    "GradientError",
    "Report",
    "check_gradient",
    "check_hessian",
    "check_hvp",
    "check_jacobian",
    "check_torch",
    "check_vjp",
]
__version__ = _version()
