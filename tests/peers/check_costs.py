"""What checking right gradients of many numbers costs in NumPy or PyTorch, beside what the calls of f
cost: user CPU time, one thread. The cases, and the line that is printed, are those of check_costs.cpp.

    check_costs.py numpy|torch NAME N ROUNDS
"""

import math
import resource
import statistics
import sys

import numpy as np
import tapestry

ROW = 100


def gelu_numpy():
    try:
        from scipy.special import erfc
    except ImportError:  # tanh's approximation, in as many passes
        c = math.sqrt(2 / math.pi)

        def f(x):
            return 0.5 * x * (1 + np.tanh(c * (x + 0.044715 * x * x * x)))

        def rule(x, g):
            t = np.tanh(c * (x + 0.044715 * x * x * x))
            return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))

        return f, rule

    def below(x):
        return 0.5 * erfc(-x / math.sqrt(2))

    return (
        lambda x: x * below(x),
        lambda x, g: g * (below(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
    )


def softmax(x):
    y = np.exp(x - x.max(axis=-1, keepdims=True))
    return y / y.sum(axis=-1, keepdims=True)


def softmax_rule(x, g):
    y = softmax(x)
    return y * (g - (g * y).sum(axis=-1, keepdims=True))


def normed(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    return centred * inverse, inverse


def layer_norm_rule(x, g):
    y, inverse = normed(x)
    along = (g * y).mean(axis=-1, keepdims=True)
    return (g - g.mean(axis=-1, keepdims=True) - y * along) * inverse


NUMPY = {
    "xsinx": (lambda x: (x * np.sin(x)).sum(), lambda x, g: g * (np.sin(x) + x * np.cos(x))),
    "squares": (lambda x: (x * x).mean(), lambda x, g: g * (2 / x.size) * x),
    "exp": (np.exp, lambda x, g: g * np.exp(x)),
    "gelu": gelu_numpy(),
    "softmax": (softmax, softmax_rule),
    "layer_norm": (lambda x: normed(x)[0], layer_norm_rule),
}


def torch_functions():
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    return {
        "xsinx": lambda x: (x * torch.sin(x)).sum(),
        "squares": lambda x: (x * x).mean(),
        "exp": torch.exp,
        "gelu": functional.gelu,
        "softmax": lambda x: torch.softmax(x, -1),
        "layer_norm": lambda x: functional.layer_norm(x, x.shape[-1:]),
    }


def user_seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def median_seconds(call):
    """Of one call; a short one is repeated, because the clock ticks slowly."""
    seconds = []
    for _ in range(9):
        start, calls = user_seconds(), 0
        while True:
            call()
            calls += 1
            spent = user_seconds() - start
            if spent > 0.02 or calls == 1000:
                break
        seconds.append(spent / calls)
    return statistics.median(seconds)


class Counted:
    def __init__(self, call):
        self.call, self.calls = call, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.call(*arguments)


def measured(check, f, rule):
    """Seconds and verdict of a check of these two, counted."""
    f.calls = rule.calls = 0
    start = user_seconds()
    report = check()
    seconds = user_seconds() - start
    return seconds, {"INCONCLUSIVE": "open"}.get(report.verdict, report.verdict)


def of_numpy(name, x, rounds):
    f, rule = map(Counted, NUMPY[name])
    best = min(measured(lambda: tapestry.check_vjp(f, rule, x), f, rule) for _ in range(rounds))
    counts = f.calls, rule.calls
    g = np.full(np.shape(f.call(x)), 0.5)
    return *best, median_seconds(lambda: f.call(x)), counts[0], median_seconds(lambda: rule.call(x, g)), counts[1]


def of_torch(name, x, rounds):
    """f is the forward pass as the check runs it, recorded; the rule is the backward pass."""
    import torch

    f, rule = Counted(torch_functions()[name]), Counted(None)
    x = torch.from_numpy(x)

    class Seen(torch.autograd.Function):  # counts backward passes
        @staticmethod
        def forward(ctx, y):
            return y.view_as(y)

        @staticmethod
        def backward(ctx, g):
            rule.calls += 1
            return g

    def counted(at):
        return Seen.apply(f(at))

    best = min(measured(lambda: tapestry.check_torch(counted, x), f, rule) for _ in range(rounds))
    counts = f.calls, rule.calls
    leaf = x.clone().requires_grad_()
    there = f.call(leaf)
    g = torch.full_like(there, 0.5)
    backward = median_seconds(lambda: torch.autograd.grad(there, leaf, g, retain_graph=True))
    return *best, median_seconds(lambda: f.call(leaf)), counts[0], backward, counts[1]


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in ("numpy", "torch"):
        sys.exit("usage: check_costs.py numpy|torch NAME N ROUNDS")
    language, name, n, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if name not in NUMPY:
        sys.exit(f"check_costs: no case {name}")
    x = np.random.default_rng(43).standard_normal(n)
    if name in ("softmax", "layer_norm"):
        x = x.reshape(-1, ROW)
    found = (of_numpy if language == "numpy" else of_torch)(name, x, rounds)
    seconds, verdict, by_f, of_f, by_rule, of_rule = found
    print(name, n, verdict, f"{seconds:.6g} {by_f:.6g} {of_f} {by_rule:.6g} {of_rule}")


main()
