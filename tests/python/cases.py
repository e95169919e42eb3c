"""Functions with right backward rules, and the same rules with a mistake in them, drawn by seed.

Each is written once for NumPy and PyTorch: `xp` is either module. A case has inputs, f(xp, *x) and
vjp(xp, *x, g), which gives a gradient for each input.
"""

import os
from dataclasses import dataclass

import numpy as np

# How many wrong cases are drawn: naming what is wrong takes a tenth of a second. All with
# TAPESTRY_TESTS=long (`.ci/long torch`).
WRONG_SHARE = 1 if os.environ.get("TAPESTRY_TESTS") == "long" else 0.3


@dataclass
class Case:
    name: str
    inputs: tuple
    f: callable
    vjp: callable


def _matmul(rng, scale):
    n, k, m = rng.integers(1, 5, 3)
    x = rng.normal(size=(n, k)) * scale, rng.normal(size=(k, m))
    return x, lambda xp, a, b: a @ b, lambda xp, a, b, g: [g @ b.T, a.T @ g]


def _linear(rng, scale):
    n, k, m = rng.integers(2, 5, 3)
    x = rng.normal(size=(n, k)) * scale, rng.normal(size=(m, k)), rng.normal(size=m)
    return (
        x,
        lambda xp, x, w, b: x @ w.T + b,
        lambda xp, x, w, b, g: [g @ w, g.T @ x, g.sum(0)],
    )


def _softmax(rng, scale):
    x = (rng.normal(size=tuple(rng.integers(2, 6, 2))) * min(scale, 3),)

    def softmax(xp, x):
        e = xp.exp(x - xp.amax(x, 1)[:, None])
        return e / e.sum(1)[:, None]

    def vjp(xp, x, g):
        y = softmax(xp, x)
        return [y * (g - (g * y).sum(1)[:, None])]

    return x, softmax, vjp


def _layer_norm(rng, scale):
    rows, columns = rng.integers(2, 6, 2)
    x = rng.normal(size=(rows, columns + 2)) * scale, rng.normal(size=columns + 2)

    def parts(xp, x):
        centred = x - x.mean(1)[:, None]
        deviation = xp.sqrt((centred**2).mean(1) + 1e-9 * scale**2)[:, None]
        return centred / deviation, deviation

    def vjp(xp, x, w, g):
        y, deviation = parts(xp, x)
        gw = g * w
        inner = gw - gw.mean(1)[:, None] - y * (gw * y).mean(1)[:, None]
        return [inner / deviation, (g * y).sum(0)]

    return x, lambda xp, x, w: parts(xp, x)[0] * w, vjp


def _tanh_sum(rng, scale):
    x = (rng.normal(size=tuple(rng.integers(1, 5, 2))) * min(scale, 2),)
    return (
        x,
        lambda xp, x: xp.tanh(x).sum(0),
        lambda xp, x, g: [(1 - xp.tanh(x) ** 2) * g],
    )


def _log_sum_exp(rng, scale):
    x = (rng.normal(size=tuple(rng.integers(2, 6, 2))) * min(scale, 5),)

    def f(xp, x):
        most = xp.amax(x, 1)
        return xp.log(xp.exp(x - most[:, None]).sum(1)) + most

    return x, f, lambda xp, x, g: [xp.exp(x - f(xp, x)[:, None]) * g[:, None]]


def _quotient(rng, scale):
    n = rng.integers(1, 8)
    x = rng.normal(size=n) * scale, rng.uniform(0.5, 2, n) * rng.choice([-1, 1], n)
    return x, lambda xp, a, b: a / b, lambda xp, a, b, g: [g / b, -g * a / b**2]


def _distance(rng, scale):
    n = rng.integers(2, 8)
    x = rng.normal(size=n) * scale, rng.normal(size=n) * scale

    def vjp(xp, a, b, g):
        away = (a - b) / xp.sqrt(((a - b) ** 2).sum())
        return [g * away, -g * away]

    return x, lambda xp, a, b: xp.sqrt(((a - b) ** 2).sum()), vjp


def _solve(rng, scale):
    n = rng.integers(1, 5)
    x = rng.normal(size=(n, n)) + 3 * np.eye(n), rng.normal(size=(n, 2)) * scale

    def vjp(xp, a, b, g):
        left = xp.linalg.solve(a.T, g)
        return [-left @ xp.linalg.solve(a, b).T, left]

    return x, lambda xp, a, b: xp.linalg.solve(a, b), vjp


def _power(rng, scale):
    n, p = rng.integers(1, 8), float(rng.choice([-1.5, 0.5, 2.5, 3]))
    x = (rng.uniform(0.3, 3, n) * scale,)
    return x, lambda xp, x: x**p, lambda xp, x, g: [g * p * x ** (p - 1)]


def _smooth_walk(rng, scale):
    n = rng.integers(4, 12)
    x = (rng.normal(size=n) * scale,)

    def f(xp, x):
        return ((x[1:] - x[:-1]) ** 2).sum() + xp.sin(x / scale).sum() * scale**2

    def vjp(xp, x, g):
        slope = xp.cos(x / scale) * scale
        step = 2 * (x[1:] - x[:-1])
        slope[1:] += step
        slope[:-1] -= step
        return [g * slope]

    return x, f, vjp


def _outer_sine(rng, scale):
    x = rng.normal(size=rng.integers(2, 6)) * min(scale, 10), rng.normal(size=rng.integers(2, 6))

    def vjp(xp, a, b, g):
        inner = xp.cos(a[:, None] * b) * g
        return [(inner * b).sum(1), (inner * a[:, None]).sum(0)]

    return x, lambda xp, a, b: xp.sin(a[:, None] * b), vjp


TEMPLATES = [
    _matmul,
    _linear,
    _softmax,
    _layer_norm,
    _tanh_sum,
    _log_sum_exp,
    _quotient,
    _distance,
    _solve,
    _power,
    _smooth_walk,
    _outer_sine,
]


def right_case(seed):
    """Inputs of sizes from 1e-5 to 1e5."""
    rng = np.random.default_rng([seed, 1])
    template = TEMPLATES[seed % len(TEMPLATES)]
    inputs, f, vjp = template(rng, 10 ** rng.uniform(-5, 5))
    return Case(template.__name__[1:], inputs, f, vjp)


def _some(xp, gradient, index, by):
    changed = gradient + 0
    changed.reshape(-1)[index % max(1, changed.reshape(-1).shape[0])] *= by
    return changed


def _flipped(xp, gradient):
    return xp.flip(gradient, (0,)) if gradient.ndim else gradient


def mistake(rng, inputs):
    """(its name, what it makes of (xp, gradients, g))"""
    size = 1 + float(rng.choice([-1, 1]) * 10 ** rng.uniform(-5, 0))
    which, index = int(rng.integers(len(inputs))), int(rng.integers(1000))

    def at_one(change):
        def changed(xp, gradients, g):
            gradients = list(gradients)
            gradients[which] = change(xp, gradients[which])
            return gradients

        return changed

    return [
        ("a factor", at_one(lambda xp, d: d * size)),
        ("the sign", at_one(lambda xp, d: -d)),
        ("one element", at_one(lambda xp, d: _some(xp, d, index, size))),
        ("dropped", at_one(lambda xp, d: d * 0)),
        ("reversed", at_one(_flipped)),
        ("rolled", at_one(lambda xp, d: xp.roll(d, 1))),
        ("transposed", at_one(lambda xp, d: d.T if d.ndim == 2 and d.shape[0] == d.shape[1] else -d)),
        ("the first row alone", at_one(lambda xp, d: _first_row(d))),
        ("a mean for a sum", at_one(lambda xp, d: d / max(2, d.shape[0] if d.ndim else 2))),
        ("clipped", at_one(lambda xp, d: xp.clip(d, -0.5 * abs(d).max(), 0.5 * abs(d).max()))),
        ("a mean not subtracted", at_one(lambda xp, d: d + size * d.mean() + abs(d).max() * 1e-3)),
        ("all of it", lambda xp, gradients, g: [d * size for d in gradients]),
    ][rng.integers(12)]  # fmt: skip


def _first_row(gradient):
    changed = gradient * 0
    changed[:1] = gradient[:1]
    return changed


def wrong_case(seed):
    """A right case with a mistake that changes some gradient by more than 1e-5 of its largest entry."""
    rng = np.random.default_rng([seed, 2])
    while True:
        case = right_case(int(rng.integers(1 << 30)))
        name, apply = mistake(rng, case.inputs)
        g = rng.normal(size=np.shape(case.f(np, *case.inputs)))
        right = case.vjp(np, *case.inputs, g)
        try:
            wrong = apply(np, right, g)
        except IndexError:  # a gradient of no axes
            continue
        off = [abs(a - b).max() / max(abs(a).max(), 1e-300) for a, b in zip(right, wrong)]
        if max(off) > 1e-5:
            break

    def vjp(xp, *x_and_g, right=case.vjp):
        return apply(xp, right(xp, *x_and_g), x_and_g[-1])

    return Case(f"{case.name}, {name}", case.inputs, case.f, vjp)
