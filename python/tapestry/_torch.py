"""A function of tensors as the checker sees it: lists of float64 whose memory the tensors share."""

import torch

from ._arrays import Layout, as_array


class TorchFunction:
    def __init__(self, function, arguments):
        is_class = isinstance(function, type) and issubclass(function, torch.autograd.Function)
        self.function = function.apply if is_class else function
        self.arguments = list(arguments)
        floating = [
            i
            for i, x in enumerate(arguments)
            if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())
        ]
        self.checked = [i for i in floating if arguments[i].requires_grad] or floating
        if not self.checked:
            raise TypeError("check_torch: no input is a tensor of floating point numbers")
        for i in self.checked:
            if arguments[i].dtype not in (torch.float64, torch.complex128):
                raise TypeError(
                    f"check_torch: input {i} is {arguments[i].dtype}; gradients are checked in"
                    " float64: pass x.double()"
                )
        self.errors = (torch.linalg.LinAlgError,) if hasattr(torch.linalg, "LinAlgError") else ()
        arrays = [as_array(arguments[i], f"input {i}") for i in self.checked]
        self.inputs = Layout(arrays, "gradient")
        self.x = self.inputs.join(arrays)
        _, results = self.run(self.x.copy())
        self.outputs = Layout([as_array(y, "a result") for y in results], "the results")

    def run(self, flat):
        """Fresh leaves, and those results that a gradient could have."""
        arguments = list(self.arguments)
        leaves = []
        for i, array in zip(self.checked, self.inputs.split(flat)):
            leaf = torch.from_numpy(array).to(self.arguments[i].device).requires_grad_()
            arguments[i] = leaf
            leaves.append(leaf)
        with torch.enable_grad():
            results = self.function(*arguments)
        results = results if isinstance(results, (tuple, list)) else (results,)
        tensors = [y for y in results if isinstance(y, torch.Tensor)]
        return leaves, [y for y in tensors if y.is_floating_point() or y.is_complex()]

    def value(self, flat):
        return self.outputs.join(self.run(flat)[1])

    def vjp(self, flat, cotangent):
        leaves, results = self.run(flat)
        pairs = [
            (y, torch.from_numpy(g).to(y.device, y.dtype))
            for y, g in zip(results, self.outputs.split(cotangent))
            if y.requires_grad
        ]
        if not pairs:  # to PyTorch they are constants
            return self.inputs.join([None] * len(leaves))
        ys, gs = zip(*pairs)
        return self.inputs.join(torch.autograd.grad(ys, leaves, gs, allow_unused=True))
