"""A function of tensors as the checker sees it: lists of float64. Tensors of float64 share their memory;
others are rounded from them."""

import torch

from ._arrays import Layout, as_array
from ._modules import ModuleCall
from ._trees import Tree, is_container

_FORMATS = {
    torch.float64: "f64",
    torch.complex128: "f64",
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
}


def _is_differentiable(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def _widened(tensor):
    tensor = tensor.to_dense() if tensor.is_sparse else tensor
    return tensor if tensor.is_complex() else tensor.detach().double()


def _copied(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def callable_of(function):
    is_class = isinstance(function, type) and issubclass(function, torch.autograd.Function)
    return function.apply if is_class else function


def checked_of(arguments):
    """The indices of the arguments to check: tensors that require a gradient, or all floating-point
    tensors if none does."""
    floating = [i for i, x in enumerate(arguments) if _is_differentiable(x)]
    return [i for i in floating if arguments[i].requires_grad] or floating


def results_of(function, arguments):
    """The results that could have a gradient."""
    with torch.enable_grad():
        results = function(*arguments)
    return [y for y in Tree(results).leaves if _is_differentiable(y)]


class FlatCall:
    """A function, or a module, as a function of a flat list of arguments: tensors within dictionaries,
    lists, tuples and dataclasses become arguments of their own, and so do the parameters of a module.
    `names`: of all arguments; None if these are what they were."""

    def __init__(self, function, inputs):
        self.module = function if isinstance(function, torch.nn.Module) else None
        self.trees = [Tree(x, f"input {i}" if len(inputs) > 1 else "") for i, x in enumerate(inputs)]
        self.arguments = [leaf for tree in self.trees for leaf in tree.leaves]
        self.call = function
        self.names = self.notes = None
        nested = any(is_container(x) for x in inputs)
        if nested or self.module is not None:
            paths = [path or "the input" for tree in self.trees for path in tree.paths]
            self.names = [path if nested or len(inputs) > 1 else "the input" for path in paths]
        if nested:
            self.call = lambda *leaves: function(*self._rebuilt(leaves))
        self.parameters = []
        if self.module is not None:
            on_parameters = ModuleCall(self.module)
            self.parameters = on_parameters.parameters
            self.call = lambda *given: on_parameters(
                *given[: len(self.parameters)], *self._rebuilt(given[len(self.parameters) :])
            )
            self.names = [*on_parameters.names, *self.names]
            self.notes = on_parameters.notes()
            self.arguments = self._requiring_gradients()

    def _rebuilt(self, leaves):
        remaining = iter(leaves)
        return [tree.unflatten([next(remaining) for _ in tree.leaves]) for tree in self.trees]

    def _requiring_gradients(self):
        """Parameters, and inputs of which those that should be checked require a gradient."""
        checked = checked_of(self.arguments)
        inputs = [x.detach().requires_grad_() if i in checked else x for i, x in enumerate(self.arguments)]
        return [*self.parameters, *inputs]

    def names_of(self, checked):
        return self.names and [self.names[i] for i in checked]


def backward(leaves, results, g, defined=None, **options):
    """The gradients of the leaves by torch.autograd.grad, None where there is none; `defined`: the results
    that have a cotangent (None: all)."""
    pairs = [
        (y, d) for i, (y, d) in enumerate(zip(results, g))
        if y.requires_grad and (defined is None or i in defined)
    ]  # fmt: skip
    needed = [leaf for leaf in leaves if leaf.requires_grad]
    if not pairs or not needed:  # constants to PyTorch
        return [None] * len(leaves)
    ys, gs = zip(*pairs)
    found = iter(torch.autograd.grad(ys, needed, gs, allow_unused=True, **options))
    return [next(found) if leaf.requires_grad else None for leaf in leaves]


class TorchFunction:
    def __init__(self, function, arguments, reset=lambda: None):
        self.function = callable_of(function)
        self.reset = reset
        self.arguments = list(arguments)
        self.checked = checked_of(arguments)
        if not self.checked:
            raise TypeError("check_torch: no input is a floating-point tensor")
        self.format = self.common_format()
        self.errors = (torch.linalg.LinAlgError,) if hasattr(torch.linalg, "LinAlgError") else ()
        arrays = [as_array(_widened(arguments[i]), f"input {i}") for i in self.checked]
        self.inputs = Layout(arrays, "gradient", optional=True)
        self.x = self.inputs.join(arrays)
        _, results = self.run(self.x.copy())
        if not results:
            raise TypeError("check_torch: no result is a floating-point tensor")
        self.results = [y.dtype for y in results]
        self.there = [torch.empty(0, dtype=y.dtype, device=y.device) for y in results]
        self.outputs = Layout([as_array(_widened(y), "a result") for y in results], "the results")

    def common_format(self):
        """The storage format of all checked tensors, by the checker's name."""
        formats = set()
        for i in self.checked:
            dtype = self.arguments[i].dtype
            if dtype not in _FORMATS:
                wide = "to(torch.complex128)" if dtype.is_complex else "double()"
                raise TypeError(f"check_torch: input {i} is {dtype}; pass x.{wide}")
            formats.add(_FORMATS[dtype])
        if len(formats) > 1:
            names = ", ".join(sorted(formats))
            raise TypeError(f"check_torch: inputs of {names}, which are checked one type at a time")
        return formats.pop()

    def tensors(self, flat):
        """The checked arguments, fresh."""
        return [
            torch.from_numpy(array).to(self.arguments[i].device, self.arguments[i].dtype)
            for i, array in zip(self.checked, self.inputs.split(flat))
        ]

    def cotangents(self, flat):
        """For results like those at x."""
        return [
            torch.from_numpy(array).to(like.device, like.dtype)
            for array, like in zip(self.outputs.split(flat), self.there)
        ]

    def forward(self, tensors, needed=None):
        """The leaves that these tensors become, of which those in `needed` require a gradient (None: all),
        and the results."""
        leaves = [
            x.detach().requires_grad_(needed is None or i in needed) for i, x in enumerate(tensors)
        ]
        arguments = [  # running statistics may be among those that are not checked
            x if i in self.checked else _copied(x) for i, x in enumerate(self.arguments)
        ]
        for i, leaf in zip(self.checked, leaves):
            arguments[i] = leaf
        self.reset()
        return leaves, results_of(self.function, arguments)

    def run(self, flat):
        """Fresh leaves, and the results."""
        return self.forward(self.tensors(flat))

    def joined(self, gradients):
        return self.inputs.join([None if d is None else _widened(d) for d in gradients])

    def joined_results(self, results):
        return self.outputs.join([_widened(y) for y in results])

    def value(self, flat):
        return self.joined_results(self.run(flat)[1])

    def vjp(self, flat, cotangent):
        leaves, results = self.run(flat)
        return self.joined(backward(leaves, results, self.cotangents(cotangent)))


def in_float64(narrow):
    """The same with float64 for all floating-point tensors, including those that are not checked."""
    arguments = [
        x.detach().double().requires_grad_(x.requires_grad)
        if isinstance(x, torch.Tensor) and x.is_floating_point()
        else x
        for x in narrow.arguments
    ]
    try:
        wide = TorchFunction(narrow.function, arguments, narrow.reset)
        wide.format = "f32" if torch.float32 in wide.results else "f64"
        return wide
    except RuntimeError as error:
        raise TypeError(
            "check_torch: what is computed in a narrow type is compared with float64, which the function "
            f"does not take: {error}\nTensors that it holds must be inputs, or follow x.dtype"
        ) from error


def gradient_of(function, arguments, seed):
    """The gradient as a function, and its arguments: those of `function`, and the cotangents, on which a
    backward depends as well."""
    call = callable_of(function)
    checked = checked_of(arguments)
    arguments = [
        _copied(x).requires_grad_() if i in checked else x for i, x in enumerate(arguments)
    ]
    generator = torch.Generator().manual_seed(seed)
    cotangents = [
        torch.randn(y.shape, dtype=torch.float64, generator=generator)
        .to(y.device, y.dtype)
        .requires_grad_()
        for y in results_of(call, [x if i in checked else _copied(x) for i, x in enumerate(arguments)])
    ]

    def gradient(*given):
        there, cotangents = given[: len(arguments)], given[len(arguments) :]
        leaves = [there[i] for i in checked]
        with torch.enable_grad():
            found = backward(leaves, results_of(call, there), cotangents, create_graph=True)
        return [torch.zeros_like(x) if d is None else d for x, d in zip(leaves, found)]

    return gradient, (*arguments, *cotangents)
