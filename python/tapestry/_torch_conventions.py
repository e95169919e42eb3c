"""The checks of _conventions.py for functions of tensors; also undefined cotangents, combinations of
needs_input_grad, a second backward through the same graph, and batched cotangents."""

import itertools

import numpy as np
import torch

from ._conventions import Conventions, described
from ._torch import backward

_COMBINATIONS = 14  # of inputs that need a gradient, at most


def transposed(tensor):
    """The axes in memory in reverse order; with one axis, every other number of a longer tensor."""
    if tensor.ndim > 1 and min(tensor.shape) > 1:
        axes = tuple(reversed(range(tensor.ndim)))
        return tensor.permute(axes).contiguous().permute(axes)
    wide = torch.full((*tensor.shape, 2), float("nan"), dtype=tensor.dtype, device=tensor.device)
    wide[..., 0] = tensor
    return wide[..., 0]


def with_offset(tensor):
    """In the middle of a longer tensor."""
    longer = torch.full((tensor.numel() + 7,), float("nan"), dtype=tensor.dtype, device=tensor.device)
    longer[3 : 3 + tensor.numel()] = tensor.reshape(-1)
    return longer[3 : 3 + tensor.numel()].view(tensor.shape)


def _with_strides(tensor, strides):
    """With its first number or row where a stride is 0, in memory as long as that of the tensor."""
    if not tensor.ndim:
        return tensor
    memory = torch.full_like(tensor, float("nan"), memory_format=torch.contiguous_format)
    memory[:1] = tensor[:1]
    return memory.as_strided(tensor.shape, strides(memory.stride()))


def repeated(tensor):
    """Its first row everywhere, with a stride of 0 between rows."""
    return _with_strides(tensor, lambda strides: (0, *strides[1:]))


def constant(tensor):
    """Its first number everywhere, with strides of 0, as .sum() and .mean() hand it over."""
    return _with_strides(tensor, lambda strides: (0,) * len(strides))


def contiguous(tensor):
    return tensor.clone(memory_format=torch.contiguous_format)


def copied(lay):
    return lambda tensor: contiguous(lay(tensor))


def _same(a, b):
    return bool(((a == b) | ((a != a) & (b != b))).all())  # NaN is not itself


class TorchConventions(Conventions):
    """`subject` is a TorchFunction."""

    layouts = (
        ("in transposed memory", transposed, contiguous),
        ("at an offset in memory", with_offset, contiguous),
        ("with stride 0", repeated, copied(repeated)),
    )
    of_cotangent = {"with stride 0": (constant, copied(constant))}
    kind = "tensor"

    def __init__(self, subject, names=None, fixed=0, bounded=False, batched=False):
        super().__init__(subject, names, fixed, bounded)
        self.batched = batched

    def inputs(self):
        return self.subject.tensors(self.subject.x.copy())

    def cotangents(self):
        return self.subject.cotangents(self.g.copy())

    def shaken(self, numbers):
        signs = torch.from_numpy(np.random.default_rng(0).choice([-1.0, 1.0], numbers.shape))
        by = 2 * torch.finfo(numbers.dtype).eps
        return numbers * (1 + signs.to(numbers.device) * by).to(numbers.dtype)

    def gradient(self, x, g, needed=None, defined=None):
        leaves, results = self.subject.forward(x, needed)
        return self.joined(backward(leaves, results, g, defined))

    def joined(self, gradients):
        return self.subject.joined(gradients).copy()

    def value(self, x):
        return self.subject.joined_results(self.subject.forward(x)[1]).copy()

    def own_calls(self):
        x, g = self.inputs(), self.cotangents()
        x_before, g_before = [contiguous(a) for a in x], [contiguous(a) for a in g]
        leaves, results = self.subject.forward(x)
        changed = {i for i, (a, b) in enumerate(zip(x_before, x)) if not _same(a, b)}
        for i in changed:
            self.found.add(f"forward overwrites {self.same.name(i)} without mark_dirty")
        first = backward(leaves, results, g, retain_graph=True)
        for i, (a, b) in enumerate(zip(g_before, g)):
            if not _same(a, b):
                whose = self.cotangent_name(i)
                self.found.add(f"backward overwrites {whose}, which other operations may share")
        for i, (a, b) in enumerate(zip(x_before, x)):
            if not (_same(a, b) or i in changed):
                self.found.add(f"backward overwrites {self.same.name(i)}")
        expected = self.joined(first)
        self.called_again(expected, self.gradient(self.inputs(), self.cotangents()))
        self.gradient(self.inputs(), [-d for d in self.cotangents()])
        self.own_memory(expected, self.joined(first))
        self.learn_from_shaken(expected)
        if not self.found.wrong:
            self.second_backward(leaves, results, expected)
        return expected

    def second_backward(self, leaves, results, expected):
        """Through the same graph, as with retain_graph=True."""
        try:
            second = self.joined(backward(leaves, results, self.cotangents(), retain_graph=True))
        except RuntimeError as error:
            if "modified by an inplace operation" in str(error):
                self.found.add("backward overwrites what forward saved: a second backward through the graph fails")
            else:
                self.found.add(f"no second backward through the same graph ({described(error)})", True)
            return
        wrong = self.same.contradiction(expected, second)
        if wrong:
            self.found.add(f"backward overwrites what forward saved: in a second backward {wrong}")

    def further_calls(self):
        self.undefined_cotangents()
        self.needs_input_grad()
        self.one_array_twice()
        if self.batched:
            self.batched_cotangents()

    def undefined_cotangents(self):
        """A result that the loss does not use has the cotangent None, or 0."""
        count = len(self.subject.outputs.arrays)
        few = range(min(count, 8)) if count > 1 else ()
        all_but_one = [([i for i in range(count) if i != unused], f"result {unused} is") for unused in few]
        alone = [([used], f"all results but {used} are") for used in few if count > 2]
        for used, which in all_but_one + alone:
            g = [d if i in used else torch.zeros_like(d) for i, d in enumerate(self.cotangents())]
            expected = self.gradient(self.inputs(), g)
            its = "its cotangent" if which.endswith("is") else "their cotangents"
            self.compare_gradient(f"where {which} unused and {its} None", expected,
                                  lambda: self.gradient(self.inputs(), self.cotangents(), defined=used))

    def needs_input_grad(self):
        """Some inputs need no gradient."""
        count = len(self.subject.checked)
        expected = self.gradient(self.inputs(), self.cotangents())
        some = itertools.chain.from_iterable(
            itertools.combinations(range(count), n) for n in range(1, count)
        )
        for needed in itertools.islice(some, _COMBINATIONS):
            where = f"where only {', '.join(self.same.name(i) for i in needed)} needs a gradient"
            self.compare_gradient(where, expected,
                                  lambda: self.gradient(self.inputs(), self.cotangents(), needed), needed)

    def batched_cotangents(self):
        """As in torch.func.vmap over a backward, and in gradcheck's check_batched_grad."""
        leaves, results = self.subject.forward(self.inputs())
        several = [self.cotangents(), [-2 * d for d in self.cotangents()], [d * d for d in self.cotangents()]]
        expected = [self.joined(backward(leaves, results, g, retain_graph=True)) for g in several]
        stacked = [torch.stack(gs) for gs in zip(*several)]
        try:
            found = backward(leaves, results, stacked, is_grads_batched=True)
        except Exception as error:
            self.found.add(f"backward cannot be batched by vmap ({described(error)})")
            return
        for i, one in enumerate(expected):
            wrong = self.same.contradiction(one, self.joined([None if d is None else d[i] for d in found]))
            if wrong:
                self.found.add(f"batched by vmap, {wrong}")
                return
