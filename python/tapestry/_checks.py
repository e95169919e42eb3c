"""The checks: what a function and its gradient are to the checker."""

import json

import numpy as np

from . import _gradcheck
from ._arrays import Layout, as_array
from ._report import Report

_NOT_DEFINED = (ArithmeticError, ValueError, np.linalg.LinAlgError)


def _several(values):
    return values if isinstance(values, (tuple, list)) else (values,)


def _plain(option):
    """An option as JSON has it, where a bound that is not there is null."""
    if isinstance(option, (tuple, list, np.ndarray)):
        return [_plain(part) for part in option]
    if isinstance(option, np.generic):
        option = option.item()
    return None if option in (float("inf"), float("-inf")) else option


def _resetting(reset, call):
    """`call` after `reset`, where there is one."""
    if reset is None:
        return call

    def called(*arguments):
        reset()
        return call(*arguments)

    return called


def _check(f, vjp, inputs, outputs, x, options, not_defined=_NOT_DEFINED):
    """f and vjp take and give lists of float64; `inputs` and `outputs` say what these mean."""
    options = {name: _plain(option) for name, option in options.items() if option is not None}
    shapes = inputs.shapes()
    options.setdefault(*("shape", shapes[0]) if len(shapes) == 1 else ("inputs", shapes))
    if len(outputs.arrays) == 1:
        options.setdefault("output", outputs.shapes()[0])
    return Report(*_gradcheck.check(f, vjp, x, outputs.size, json.dumps(options), not_defined))


def check_vjp(f, vjp, inputs, *, reset=None, **options):
    """Is vjp(*inputs, g) the product g^T df/dx for every input?

    `inputs` is an array, or a tuple of them. f(*inputs) gives an array or a tuple of arrays, of any
    shapes, and g is of the same form. vjp gives an array of the shape of each input, or a list of
    them; None is 0. Complex numbers are pairs of real ones: of L the gradient is dL/da + i dL/db, as
    in PyTorch. docs/python.md lists the options.

    f is called near `inputs` alone, on the calling thread, with float64 arrays that it may keep. What
    f and vjp raise comes out as it is, but where f raises an ArithmeticError, a ValueError or a
    LinAlgError elsewhere than at `inputs`, it is not defined there. Raises TypeError for shapes
    that do not fit, ValueError for options that do not.

    `reset` is called before every call of f and of vjp, for what they keep between calls.
    """
    f, vjp = _resetting(reset, f), _resetting(reset, vjp)
    alone = not isinstance(inputs, tuple)
    arrays = [as_array(x, "an input") for x in ((inputs,) if alone else inputs)]
    given = Layout(arrays, "gradient")
    x = given.join(arrays)
    there = f(*given.split(x.copy()))
    is_tuple = isinstance(there, (tuple, list))
    result = Layout([as_array(y, "f(x)") for y in _several(there)], "f(x)")

    def value(flat):
        return result.join(_several(f(*given.split(flat))))

    def pullback(flat, cotangent):
        g = result.split(cotangent)
        gradient = vjp(*given.split(flat), tuple(g) if is_tuple else g[0])
        return given.join((gradient,) if alone else _several(gradient))

    return _check(value, pullback, given, result, x, options)


def check_gradient(f, df, x, **options):
    """Is df(x) the gradient of f at x? f(x) is one number, df(x) an array of the shape of x.

    x may be a tuple of arrays: f(*x), and df(*x) gives a gradient for each. Else as check_vjp().
    """

    def number(*x):
        y = as_array(f(*x), "f(x)")
        if y.size != 1:
            raise TypeError(f"f(x) has the shape {y.shape}, not one number: see check_vjp()")
        return y.reshape(())

    def vjp(*x_and_g):
        *x, g = x_and_g
        return [None if d is None else g * as_array(d, "gradient") for d in several(df(*x))]

    is_tuple = isinstance(x, tuple)
    several = _several if is_tuple else lambda gradient: (gradient,)
    return check_vjp(number, vjp, x if is_tuple else (x,), **options)


def _product(matrix, rows, columns, g):
    """g^T matrix, of an array of any shape with so many numbers, or a sparse one of SciPy's."""
    if hasattr(matrix, "tocoo"):
        if matrix.shape != (rows, columns):
            raise TypeError(f"a matrix of the shape {matrix.shape}, not {(rows, columns)}")
        return np.asarray(matrix.T @ g, np.float64)
    dense = as_array(matrix, "the matrix")
    if dense.size != rows * columns:
        raise TypeError(f"a matrix of the shape {dense.shape}, not of {rows} x {columns} numbers")
    return g @ dense.reshape(rows, columns)


def _check_matrix(f, product, x, options, name):
    """product(x, g) is g^T times the matrix of f's derivatives at x."""
    array = as_array(x, "x")

    def vjp(x, g):
        return product(x, g.reshape(-1)).reshape(x.shape)

    return check_vjp(f, vjp, array, subject=name, **options)


def check_jacobian(f, jacobian, x, **options):
    """Is jacobian(x) the matrix of df_i / dx_j? x and f(x) are arrays, the matrix is one of the shape
    [*f(x).shape, *x.shape] or [f(x).size, x.size], or a sparse matrix of SciPy's, which claims 0 where
    it has no entry. Else as check_vjp().
    """
    return _check_matrix(
        f, lambda x, g: _product(jacobian(x), g.size, x.size, g), x, options, "Jacobian"
    )


def _sized(df):
    def gradient(x):
        g = as_array(df(x), "gradient")
        if g.shape != x.shape:
            raise TypeError(f"gradient has the shape {g.shape}, not {x.shape}")
        return g

    return gradient


def check_hessian(df, hessian, x, **options):
    """Is hessian(x) the Hessian of the function whose gradient is df? It is compared with differences
    of df, which is taken at its word: check_gradient() first. The matrix is as in check_jacobian().
    """
    return _check_matrix(
        _sized(df), lambda x, g: _product(hessian(x), x.size, x.size, g), x, options, "Hessian"
    )


def check_hvp(df, hvp, x, **options):
    """Is hvp(x, v) the Hessian, of the function whose gradient is df, times v? Else as
    check_hessian().
    """

    def product(x, v):
        return as_array(hvp(x, v.reshape(x.shape)), "the product").reshape(-1)

    return _check_matrix(_sized(df), product, x, options, "Hessian-vector product")


def check_torch(function, inputs, *, order=1, reset=None, **options):
    """Is the backward of a torch.autograd.Function, or of any function of tensors, right?

    `inputs` is a tensor or a tuple of what function takes. Checked are the tensors of floating point
    that require a gradient, or all of these if none does; they are neither changed, nor do they get a
    .grad. They are all of float64 and complex128, or all of float32: what such numbers cannot tell
    apart is right then. Results that are not floating point are left out.

    With order=2 the gradient is the function: is what the backward of the backward gives its
    derivative, by inputs and cotangents? Options and errors are those of check_vjp().
    """
    from ._torch import TorchFunction, gradient_of

    inputs = _several(inputs)
    if order == 2:
        if reset is not None:
            reset()
        function, inputs = gradient_of(function, inputs, options.get("seed", 1))
        options.setdefault("subject", "order 2")
    elif order != 1:
        raise ValueError(f"check_torch: order is {order}; it must be 1 or 2")
    subject = TorchFunction(function, inputs, reset or (lambda: None))
    options.setdefault("format", subject.format)
    not_defined = (*_NOT_DEFINED, *subject.errors)
    return _check(subject.value, subject.vjp, subject.inputs, subject.outputs, subject.x, options,
                  not_defined)  # fmt: skip
