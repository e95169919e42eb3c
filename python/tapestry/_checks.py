"""The checks: adapts a function and its gradient to the checker."""

import contextlib
import contextvars
import json
import math

import numpy as np

from . import _gradcheck
from ._arrays import Layout, as_array, as_shown, narrow_type, of_type
from ._conventions import Findings, NumpyConventions, findings
from ._report import Report, with_culprit, with_findings, with_lines, with_names
from ._trees import map_leaves, over_trees

_default_seed = contextvars.ContextVar("seed of checks that do not set one", default=None)


@contextlib.contextmanager
def default_seed(seed):
    """Within it, checks that do not set a seed have this one; None leaves it as it is."""
    token = _default_seed.set(_default_seed.get() if seed is None else seed)
    try:
        yield
    finally:
        _default_seed.reset(token)


_NOT_DEFINED = (ArithmeticError, ValueError, np.linalg.LinAlgError)


def _several(values):
    return values if isinstance(values, (tuple, list)) else (values,)


def _plain(option):
    """An option as a JSON value, with null for an infinite bound."""
    if isinstance(option, (np.generic, np.ndarray)):
        option = option.tolist()
    if isinstance(option, (tuple, list)):
        return [_plain(part) for part in option]
    if isinstance(option, float) and math.isnan(option):
        raise ValueError("an option must not be NaN")
    return None if isinstance(option, float) and math.isinf(option) else option


def _resetting(reset, call):
    """`call`, preceded by `reset` if given."""
    if reset is None:
        return call

    def called(*arguments):
        reset()
        return call(*arguments)

    return called


class ArrayFunction:
    """f and vjp as the checker sees them, over lists of float64. `types`: the types of their inputs, in
    which they compute, if not float64; they receive cotangents in the types of their results."""

    errors = ()

    def __init__(self, f, vjp, arrays, alone, types=None):
        if not arrays:
            raise TypeError("there are no inputs")
        self.f, self.own_vjp, self.alone = f, vjp, alone
        bits = types is not None and types[0] != np.float16
        self.inputs = Layout(arrays, "gradient", types, bits, optional=True)
        self.x = self.inputs.join(arrays)
        there = f(*self.inputs.split(self.x.copy()))
        self.is_tuple = isinstance(there, (tuple, list))
        results = [as_shown(y, "f(x)") for y in _several(there)]
        is_f32 = any(y.dtype == np.float32 for y in results)
        self.format = "f32" if is_f32 else "f64"  # with inputs of float64
        wide = [as_array(y, "f(x)", bits) for y in results]
        self.outputs = Layout(wide, "f(x)", types and [y.dtype for y in results], bits)
        if not self.outputs.size:
            raise ValueError("f(x) has no numbers")

    def value(self, flat):
        return self.outputs.join(_several(self.f(*self.inputs.split(flat))))

    def vjp(self, flat, cotangent):
        g = self.outputs.split(cotangent)
        gradient = self.own_vjp(*self.inputs.split(flat), tuple(g) if self.is_tuple else g[0])
        return self.inputs.join((gradient,) if self.alone else _several(gradient))


def _with_seed(options):
    return options if _default_seed.get() is None else {"seed": _default_seed.get(), **options}


_MOST_AXES = 8  # of a shape in the report


def _shapes(layout, names):
    """The shapes as an option. Raises ValueError for an array of too many axes, by its name in the report."""
    for name, (shape, dtype) in zip(names, layout.arrays):
        most, numbers = (_MOST_AXES - 1, " of complex numbers") if dtype.kind == "c" else (_MOST_AXES, "")
        if len(shape) > most:
            message = f"{name} has {len(shape)} axes{numbers}; there can be at most {most}"
            raise ValueError(f"{message}: reshape it, and reshape it back in the function")
    return layout.shapes()


def _json(subject, options):
    options = _with_seed(options)
    if options.get("seconds") == math.inf:
        options = {**options, "seconds": None}  # no limit
    options = {name: _plain(option) for name, option in options.items() if option is not None}
    count = len(subject.inputs.arrays)
    if count == 1 and "shape" not in options:
        options["shape"] = _shapes(subject.inputs, ["x"])[0]
    elif count > 1 and "inputs" not in options:
        options["inputs"] = _shapes(subject.inputs, [f"input {i}" for i in range(count)])
    if len(subject.outputs.arrays) == 1 and "output" not in options:
        options["output"] = _shapes(subject.outputs, ["f(x)"])[0]
    return json.dumps(options)


def _check(subject, options):
    """Runs one check. A subject works on lists of float64: its value and vjp take and return them, x is
    one; `inputs` and `outputs` are their layouts, `errors` the exceptions for "not defined there". How a
    gradient is called in memory is checked on arrays (_conventions.py)."""
    options = {**options, "conventions": False}
    return Report(*_gradcheck.check(subject.value, subject.vjp, subject.x, subject.outputs.size,
                                    _json(subject, options), (*_NOT_DEFINED, *subject.errors)))  # fmt: skip


_OF_COMPARISONS = ("subject", "bounds", "seed")


def _check_in(dtype, narrow, wide, options):
    """Checks `wide`, in float64, and compares `narrow`, the same computation in `dtype`, with it."""
    if "format" in options:
        raise ValueError(f"format needs a computation in float64; this one is in {dtype}")
    if narrow.outputs.shapes() != wide.outputs.shapes():
        shapes = f"{narrow.outputs.shapes()} in {dtype}, {wide.outputs.shapes()} in float64"
        raise TypeError(f"f(x) has the shapes {shapes}")
    in_f64 = _check(wide, {**options, "format": wide.format})
    if in_f64.verdict == "FAIL":
        return in_f64
    options = {name: options[name] for name in _OF_COMPARISONS if name in options}
    compared = Report(*_gradcheck.compare(narrow.value, narrow.vjp, wide.value, wide.vjp, wide.x,
                                          wide.outputs.size,
                                          _json(wide, {**options, "format": dtype}),
                                          (*_NOT_DEFINED, *wide.errors)))  # fmt: skip
    return in_f64 if compared and not in_f64 else compared


def check_vjp(f, vjp, inputs, *, reset=None, dtype=None, conventions=True, **options):
    """Check that vjp(*inputs, g) is the product g^T df/dx for every input.

    `inputs` is an array, or a tuple of arrays. f(*inputs) returns an array or a tuple of arrays, of any
    shapes, and g has the same form. vjp returns an array of the shape of the input, or a list of one
    for each; None means 0. Complex numbers are pairs of real ones: the gradient of L is
    dL/da + i dL/db, as in PyTorch. docs/python.md lists the options.

    f is only called near `inputs`, on the calling thread, with float64 arrays that it may keep.
    Exceptions of f and vjp propagate unchanged, except that an ArithmeticError, ValueError or
    LinAlgError of f anywhere but at `inputs` means that it is not defined there. Raises TypeError for
    shapes that do not match, ValueError for invalid options.

    `reset` is called before every call of f and of vjp, to reset state that they keep between calls.

    With dtype="f16" or "bf16", f and vjp compute in the type of their inputs. The gradient in float64
    is checked first, then that in float16 (or in bf16: ml_dtypes.bfloat16, or bits as uint16 if the
    inputs are such) is compared with it; the report is the worse of the two. Rounding is allowed for.
    """
    f, vjp, inputs, names = over_trees(_resetting(reset, f), _resetting(reset, vjp), inputs)
    alone = not isinstance(inputs, tuple)
    shown = [as_shown(x, "an input") for x in ((inputs,) if alone else inputs)]
    arrays = [as_array(x, "an input", dtype == "bf16") for x in shown]
    types = dtype and [narrow_type(dtype, x, "an input") for x in shown]
    wide = ArrayFunction(f, vjp, arrays, alone)
    found = Findings()
    if conventions:
        calls = NumpyConventions(wide, names, bounded="bounds" in options)
        found = findings(calls, options.get("seconds"))
    if found.wrong:  # the cause is known
        options = {"explain": False, **options}
    if dtype is None:
        report = _check(wide, options)
    else:
        report = _check_in(dtype, ArrayFunction(f, vjp, arrays, alone, types), wide, options)
    return with_findings(with_names(report, names), found.wrong, found.notes)


def check_gradient(f, df, x, *, dtype=None, **options):
    """Check that df(x) is the gradient of f at x. f(x) is one number, df(x) an array of the shape of x.

    x may be a tuple of arrays: then f(*x), and df(*x) returns a gradient for each. Otherwise like
    check_vjp().
    """

    def number(*x):
        y = as_array(f(*x), "f(x)", bits)
        if y.size != 1:
            raise TypeError(f"f(x) must be one number, got the shape {y.shape}: see check_vjp()")
        if y.dtype.kind == "c":
            raise TypeError("f(x) must be a real number, got a complex one: take its .real, or see check_vjp()")
        return y.reshape(())

    def vjp(*x_and_g):
        *x, g = x_and_g
        gradients = _several(df(*x)) if is_tuple else (df(*x),)
        return [map_leaves(lambda d: g * as_array(d, "gradient", bits), d) for d in gradients]

    bits = dtype == "bf16"
    is_tuple = isinstance(x, tuple)
    return check_vjp(number, vjp, x if is_tuple else (x,), dtype=dtype, **options)


def _product(matrix, rows, columns, g, bits):
    """g^T matrix, for an array of any shape with rows * columns numbers, or a SciPy sparse matrix."""
    if hasattr(matrix, "tocoo"):
        if matrix.shape != (rows, columns):
            raise TypeError(f"expected a matrix of the shape {(rows, columns)}, got {matrix.shape}")
        return as_array(matrix.T @ g, "the matrix")
    dense = as_array(matrix, "the matrix", bits)
    if dense.size != rows * columns:
        raise TypeError(f"expected a matrix of {rows} x {columns} numbers, got the shape {dense.shape}")
    return g @ dense.reshape(rows, columns)


def _check_matrix(f, product, x, dtype, options, name):
    """product(x, g, bits) is g^T times the matrix of f's derivatives at x; g is float64."""
    bits = dtype == "bf16"

    def value(x):
        return as_array(f(x), "f(x)", bits)

    def vjp(x, g):
        return product(x, g.reshape(-1), bits).reshape(x.shape)

    return check_vjp(value, vjp, as_shown(x, "x"), dtype=dtype, **{"subject": name, **options})


def check_jacobian(f, jacobian, x, *, dtype=None, **options):
    """Check that jacobian(x) is the matrix df_i / dx_j. x and f(x) are arrays, the matrix is an array of
    shape [*f(x).shape, *x.shape] or [f(x).size, x.size], or a SciPy sparse matrix, which claims 0 where
    it has no entry. If f(x) is complex, it is df_i / dx_j of real x, and of complex x of an analytic f.
    Otherwise like check_vjp().
    """

    def product(x, g, bits):
        if g.dtype.kind != "c":
            return _product(jacobian(x), g.size, x.size, g, bits)
        slopes = np.conj(_product(jacobian(x), g.size, x.size, np.conj(g), bits))  # conj(J)^T g
        return slopes if x.dtype.kind == "c" else slopes.real

    return _check_matrix(f, product, x, dtype, options, "Jacobian")


def _sized(df):
    def gradient(x):
        g = as_shown(df(x), "gradient")
        if g.shape != x.shape:
            raise TypeError(f"gradient must have the shape {x.shape}, got {g.shape}")
        return g

    return gradient


def check_hessian(df, hessian, x, *, dtype=None, **options):
    """Check that hessian(x) is the Hessian of the function whose gradient is df. It is compared with
    differences of df, which is assumed to be right: use check_gradient() first. The matrix is as in
    check_jacobian().
    """

    def product(x, g, bits):
        return _product(hessian(x), x.size, x.size, g, bits)

    return _check_matrix(_sized(df), product, x, dtype, options, "Hessian")


def check_hvp(df, hvp, x, *, dtype=None, **options):
    """Check that hvp(x, v) is the product of v and the Hessian of the function whose gradient is df.
    Otherwise like check_hessian().
    """

    def product(x, v, bits):
        v = of_type(v.reshape(x.shape), x.dtype)
        return as_array(hvp(x, v), "the product", bits).reshape(-1)

    return _check_matrix(_sized(df), product, x, dtype, options, "Hessian-vector product")


def _with_free_cotangents(bounds, numbers, count):
    """Bounds of `count` numbers, of which those beyond the first `numbers` are cotangents, which have none."""
    is_pair = len(bounds) == 2 and not any(np.ndim(bound) for bound in bounds)
    each = [bounds] * numbers if is_pair else list(bounds)
    return [*each, *[(-math.inf, math.inf)] * (count - len(each))]


def check_torch(
    function, inputs, *, order=1, reset=None, conventions=True, batched=False, **options
):
    """Check the backward of a torch.autograd.Function, of a torch.nn.Module with its parameters, or of any
    function of tensors.

    `inputs` is a tensor or the tuple of the function's arguments, in which tensors may be nested in
    dictionaries, lists, tuples and dataclasses. The floating-point tensors that require a gradient are
    checked, or all floating-point tensors if none does; they are not changed and get no .grad. Of a module
    all parameters that require a gradient are checked as well. All of them must be float64 or complex128,
    or all float32: differences that such numbers cannot represent then count as right. Or all bfloat16, or
    all float16: then as in check_vjp() with a dtype, and the function must accept float64 tensors as well.
    Results that are not floating point are ignored.

    If the gradient is wrong, every torch.autograd.Function in the graph is judged alone, and the first
    wrong one is named. With order=2 the gradient is the function: checks the backward of the backward as
    its derivative with respect to inputs and cotangents. With batched=True also the backward for several
    cotangents at once, by vmap. Options and errors are those of check_vjp().
    """
    from ._torch import FlatCall, TorchFunction, callable_of, gradient_of, in_float64
    from ._torch_conventions import TorchConventions

    if order not in (1, 2):
        raise ValueError(f"check_torch: order must be 1 or 2, got {order}")
    inputs = _several(inputs)
    flat = FlatCall(callable_of(function), inputs)
    reset = reset or (lambda: None)
    call, arguments = flat.call, flat.arguments
    if order == 2:
        reset()
        call, arguments = gradient_of(call, arguments, _with_seed(options).get("seed", 1))
        options.setdefault("subject", "order 2")
    subject = TorchFunction(call, arguments, reset)
    if order == 2 and options.get("bounds") is not None:
        numbers = TorchFunction(flat.call, flat.arguments, reset).inputs.size
        options["bounds"] = _with_free_cotangents(options["bounds"], numbers, subject.inputs.size)
    names = flat.names_of(subject.checked) if order == 1 else None
    judged = in_float64(subject) if subject.format in ("bf16", "f16") else subject
    found = Findings()
    if conventions and order == 1:
        bounded = "bounds" in options
        calls = TorchConventions(judged, names, len(flat.parameters), bounded, batched)
        found = findings(calls, options.get("seconds"))
        if found.wrong:  # the cause is known
            options = {"explain": False, **options}
    if judged is not subject:
        report = _check_in(subject.format, subject, judged, options)
    else:
        options.setdefault("format", subject.format)
        report = _check(subject, options)
    wrong = report.verdict == "FAIL" or found.wrong
    if order == 2 and report.verdict == "FAIL":
        report = with_lines(report, _without_a_second_order(judged, report))
    if wrong and callable_of(function) is function:  # not a single Function
        if order == 2:  # the graph of the function, not that of its gradient
            judged = TorchFunction(flat.call, flat.arguments, reset)
        report = _with_culprit(report, judged, flat.module, order)
    return with_findings(with_names(report, names), found.wrong, [*(flat.notes or ()), *found.notes])


def _without_a_second_order(gradient, report):
    """A line for the report if PyTorch takes the gradient for a constant of inputs that are wrong."""
    from ._culprit import not_reached

    inputs = report.to_dict()["inputs"]
    cut = [f"input {i}" for i in not_reached(gradient) if inputs[i]["verdict"] == "FAIL"]
    if not cut:
        return []
    how = "it is marked once_differentiable, or computes with NumPy, .data or detach()"
    return [f"to PyTorch backward does not depend on {', '.join(cut)}: {how}"]


def _with_culprit(report, subject, module, order):
    """The report, and which Function in the graph is wrong."""
    from ._culprit import find

    def check(function, arguments):
        return check_torch(function, arguments, order=order, evaluations=100000)

    culprit, lines, lost = find(subject, check, module)
    if culprit is not None:
        return with_culprit(report, culprit)
    if report.verdict != "FAIL":
        return report
    if lost and order == 1:
        which = ", ".join(f"input {i}" for i in lost)
        lines = [f"the graph does not lead to {which}: detached on the way, or not used", *lines]
    return with_lines(report, lines)
