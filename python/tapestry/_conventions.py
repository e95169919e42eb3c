"""Checks how a gradient is called: with strided arrays, twice, and without changing its arguments. The
checker itself passes contiguous arrays, so a rule that ignores strides would pass.

Each check makes a few calls at x and compares with a call on contiguous copies of the same numbers.
"""

import itertools
import math
import time

import numpy as np

_FAR = {"f64": 1e-6, "f32": 1e-3}  # relative to the largest entry; misread arrays differ by about 1
_TIMES_SPREAD = 1000  # multiple of the deviation between two calls with the same arguments
_VISIBLE = 1e-3  # relative to the largest entry: a deviation between two calls that is no noise
_PAIRS = 10  # of inputs that are made one array, at most


def transposed(array):
    """The axes in memory in reverse order; with one axis, every other number of a longer array."""
    if array.ndim > 1 and min(array.shape) > 1:
        return np.ascontiguousarray(array.T).T
    wide = np.full((*array.shape, 2), np.nan, array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


def with_offset(array):
    """In the middle of a longer array."""
    longer = np.full(array.size + 7, np.nan, array.dtype)
    inner = longer[3 : 3 + array.size]
    inner[:] = array.reshape(-1)
    return inner.reshape(array.shape)


def _with_strides(array, strides):
    """A view with these strides, of memory as long as the array: code that ignores strides reads NaN, and
    nothing outside."""
    memory = np.full(array.shape, np.nan, array.dtype)
    memory[:1] = array[:1]
    return np.lib.stride_tricks.as_strided(memory, strides=strides(memory.strides))


def repeated(array):
    """Its first row everywhere, with a stride of 0 between rows."""
    return _with_strides(array, lambda strides: (0, *strides[1:])) if array.ndim else array


def constant(array):
    """Its first number everywhere, with strides of 0, as the gradient of a sum is handed over."""
    return _with_strides(array, lambda strides: [0] * len(strides)) if array.ndim else array


def copied(lay):
    """The same numbers in a contiguous array."""
    return lambda array: np.array(lay(array), order="C")


def difference(a, b):
    """|a - b|, 0 where both are the same or NaN, infinite where only one is NaN."""
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
    apart[np.isnan(apart)] = np.inf
    return apart


class Findings:
    """Violations, which are wrong, and notes, which are not."""

    def __init__(self):
        self.wrong, self.notes = [], []

    def add(self, line, note=False):
        lines = self.notes if note else self.wrong
        if line not in lines:
            lines.append(line)


def described(error):
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0]}" if words else type(error).__name__


class Comparison:
    """Decides whether two gradients (lists of float64 in a Layout) differ by more than the gradient differs
    from itself. Each input has its own scale."""

    def __init__(self, layout, far, names=None):
        self.layout, self.far = layout, far
        self.names = names or (["x"] if len(layout.arrays) == 1 else None)
        self.spread = [0.0] * len(layout.arrays)
        self.scales = [0.0] * len(layout.arrays)

    def name(self, i):
        return self.names[i] if self.names else f"input {i}"

    def parts(self, flat):
        return np.split(flat, self.layout.ends[:-1])

    def learn(self, one, other):
        """Records the deviation between two calls that should agree."""
        for i, (a, b) in enumerate(zip(self.parts(one), self.parts(other))):
            if np.array_equal(a, b):
                continue
            self.spread[i] = max(self.spread[i], float(difference(a, b).max(initial=0)))

    def set_scales(self, gradient):
        for i, part in enumerate(self.parts(gradient)):
            self.scales[i] = float(np.abs(part[np.isfinite(part)]).max(initial=0))

    def contradiction(self, expected, found, which=None):
        """A description of the first input (of those in `which`) whose gradients differ, or None."""
        for i, (a, b) in enumerate(zip(self.parts(expected), self.parts(found))):
            if (which is not None and i not in which) or np.array_equal(a, b):
                continue
            apart = difference(a, b)
            scale = float(np.abs(a[np.isfinite(a)]).max(initial=0))
            allowed = max(self.far * max(scale, self.scales[i]), _TIMES_SPREAD * self.spread[i], 1e-300)
            if apart.max(initial=0) > allowed:
                at = int(apart.argmax())
                where = f"{self.name(i)}{self.place(i, at)}"
                return f"the gradient of {where} is {b[at]:.6g} instead of {a[at]:.6g}"
        return None

    def place(self, i, at):
        shape, dtype = self.layout.arrays[i]
        if not shape:
            return ""
        index = np.unravel_index(at // (2 if dtype.kind == "c" else 1), shape)
        return f" at [{', '.join(str(int(p)) for p in index)}]"


def _kept(values):
    return [a.copy() for a in values]


def _changed(before, after):
    """The indices of arrays that were changed."""
    return [
        i for i, (a, b) in enumerate(zip(before, after))
        if not (np.array_equal(a, b) or np.array_equal(a, b, equal_nan=True))
    ]  # fmt: skip


class Conventions:
    """Calls of a gradient at x, compared. Subclasses make fresh contiguous arrays with `inputs()` and
    `cotangents()`, and call with `gradient(x, g)` and `value(x)`, which return lists of float64."""

    layouts, of_cotangent, kind = (), None, "array"

    def __init__(self, subject, names=None, fixed=0, bounded=False):
        """The first `fixed` inputs are a module's parameters, whose layout is not varied. `bounded`: inputs
        keep their numbers."""
        self.subject, self.fixed, self.bounded = subject, fixed, bounded
        self.found = Findings()
        self.shakes = {}  # the factors of shaken(), by shape
        self.same = Comparison(subject.inputs, _FAR.get(subject.format, 0.1), names)
        self.g = np.random.default_rng(1001).normal(size=subject.outputs.size)

    def run(self):
        expected = self.own_calls()
        self.same.set_scales(expected)
        value = self.value(self.inputs())
        self.value_scale = float(np.abs(value[np.isfinite(value)]).max(initial=0))
        if not self.found.wrong and np.isfinite(expected).all():
            for how, lay, plain in self.layouts:
                self.compare_cotangent(how, *(self.of_cotangent.get(how) or (lay, plain)))
                with np.errstate(all="ignore"):
                    self.compare_inputs(how, lay, plain)
            self.further_calls()
        return self.found

    def further_calls(self):
        self.one_array_twice()

    def one_array_twice(self):
        """Two inputs in the same memory, as in f(a, a)."""
        shapes = self.subject.inputs.arrays
        pairs = (
            (i, k) for i, k in itertools.combinations(range(self.fixed, len(shapes)), 2) if shapes[i] == shapes[k]
        )
        for i, k in itertools.islice(() if self.bounded else pairs, _PAIRS):
            apart, together = self.inputs(), self.inputs()
            apart[k][...] = apart[i]
            together[k] = together[i]
            where = f"where {self.same.name(i)} and {self.same.name(k)} are one {self.kind}"
            try:
                with np.errstate(all="ignore"):
                    value, expected = self.value(apart), self.gradient(apart, self.cotangents())
            except Exception:
                continue  # not defined there
            if not (np.isfinite(expected).all() and np.isfinite(value).all()):
                continue
            self.compare_gradient(where, expected, lambda: self.gradient(together, self.cotangents()))

    def compare_gradient(self, where, expected, call, which=None):
        try:
            found = call()
        except Exception as error:
            self.found.add(f"backward fails {where} ({described(error)})")
            return
        wrong = self.same.contradiction(expected, found, which)
        if wrong:
            self.found.add(f"{where}, {wrong}")

    def shaken(self, numbers):
        """With last bits changed."""
        factors = self.shakes.get(numbers.shape)
        if factors is None:
            signs = np.random.default_rng(0).choice([-1, 1], numbers.size).reshape(numbers.shape)
            factors = 1 + signs * (2.0**-51 if self.subject.format == "f64" else 2.0**-22)
            self.shakes[numbers.shape] = factors
        return np.asarray(numbers * factors)

    def shaken_input(self, numbers):
        return numbers if self.bounded else self.shaken(numbers)

    def compare_cotangent(self, how, lay, plain):
        try:
            expected = self.gradient(self.inputs(), [plain(a) for a in self.cotangents()])
            found = self.gradient(self.inputs(), [lay(a) for a in self.cotangents()])
        except Exception as error:
            self.found.add(f"backward does not accept a cotangent {how} ({described(error)})", True)
            return
        wrong = self.same.contradiction(expected, found)
        if wrong:
            self.found.add(f"backward misreads a cotangent {how}: {wrong}")

    def compare_inputs(self, how, lay, plain):
        if self.bounded and how == "with stride 0":
            return

        def laid_out(by):
            return [a if i < self.fixed else by(a) for i, a in enumerate(self.inputs())]

        try:
            value = self.value(laid_out(plain))
            expected = self.gradient(laid_out(plain), self.cotangents())
            # With equal rows a variance is 0, and the result may consist of rounding errors.
            nearby = self.value(laid_out(lambda a: self.shaken_input(plain(a))))
            there = self.gradient(laid_out(lambda a: self.shaken_input(plain(a))), self.cotangents())
        except Exception:
            return  # not defined there
        if not (np.isfinite(expected).all() and np.isfinite(value).all()):
            return
        self.same.learn(expected, there)
        try:
            self.compare_values(how, value, nearby, self.value(laid_out(lay)))
            wrong = self.same.contradiction(expected, self.gradient(laid_out(lay), self.cotangents()))
        except Exception as error:
            self.found.add(f"inputs {how} are not accepted ({described(error)})", True)
            return
        if wrong:
            self.found.add(f"backward misreads inputs {how}: {wrong}")

    def compare_values(self, how, expected, nearby, found):
        if np.array_equal(expected, found):
            return
        apart = difference(expected, found)
        scale = max(float(np.abs(expected).max(initial=0)), self.value_scale)
        allowed = max(1e-3 * scale, _TIMES_SPREAD * difference(expected, nearby).max(initial=0))
        if apart.max(initial=0) > max(allowed, 1e-300):
            at = int(apart.argmax())
            there = f"f(x) is {found[at]:.6g} instead of {expected[at]:.6g}"
            self.found.add(f"f misreads inputs {how}: {there}")

    def called_again(self, expected, second):
        """The first call of all, and one more."""
        visible = Comparison(self.subject.inputs, _VISIBLE, self.same.names)
        wrong = None if self.found.wrong else visible.contradiction(expected, second)
        if wrong and np.array_equal(self.value(self.inputs()), self.value(self.inputs()), equal_nan=True):
            self.found.add(f"backward gives another result when called again: {wrong}; it keeps something between calls")
        self.same.learn(expected, second)

    def learn_from_shaken(self, expected):
        """The deviation with the last bits of inputs and cotangents."""
        try:
            x = [self.shaken_input(a) for a in self.inputs()]
            self.same.learn(expected, self.gradient(x, [self.shaken(d) for d in self.cotangents()]))
        except (ArithmeticError, ValueError, np.linalg.LinAlgError, *self.subject.errors):
            pass  # x is on the edge of where it is defined

    def cotangent_name(self, i):
        return "the cotangent" if len(self.subject.outputs.arrays) == 1 else f"cotangent {i}"

    def own_memory(self, expected, first):
        if self.same.contradiction(expected, first):
            self.found.add("backward returns the same memory each time: the next call overwrites the gradient")


class NumpyConventions(Conventions):
    """Of f(*x) and vjp(*x, g) on arrays. `subject` is an ArrayFunction."""

    layouts = (
        ("in transposed memory", transposed, np.copy),
        ("at an offset in memory", with_offset, np.copy),
        ("with stride 0", repeated, copied(repeated)),
    )
    of_cotangent = {"with stride 0": (constant, copied(constant))}

    def inputs(self):
        return self.subject.inputs.split(self.subject.x.copy())

    def cotangents(self):
        return self.subject.outputs.split(self.g.copy())

    def raw(self, x, g):
        """The return value of the user's vjp."""
        return self.subject.own_vjp(*x, tuple(g) if self.subject.is_tuple else g[0])

    def joined(self, gradient):
        subject = self.subject
        alone = subject.alone or not isinstance(gradient, (tuple, list))
        return np.array(subject.inputs.join((gradient,) if alone else gradient), copy=True)

    def gradient(self, x, g):
        return self.joined(self.raw(x, g))

    def value(self, x):
        y = self.subject.f(*x)
        return np.array(self.subject.outputs.join(y if isinstance(y, (tuple, list)) else (y,)), copy=True)

    def own_calls(self):
        """Finds overwritten arguments, and measures the deviation between calls."""
        subject = self.subject
        x, g = self.inputs(), self.cotangents()
        x_before, g_before = _kept(x), _kept(g)
        first = self.raw(x, g)
        for i in _changed(g_before, g):
            self.found.add(f"backward overwrites {self.cotangent_name(i)}, which other operations may share")
        for i in _changed(x_before, x):
            self.found.add(f"backward overwrites {self.same.name(i)}")
        expected = self.joined(first)
        self.value(self.inputs())  # vjp may use what f saved
        self.called_again(expected, self.gradient(self.inputs(), self.cotangents()))
        self.gradient(self.inputs(), subject.outputs.split(-self.g))
        self.own_memory(expected, self.joined(first))
        self.called_twice()
        self.learn_from_shaken(expected)
        return expected

    def called_twice(self):
        """After one call of f, whose intermediate results vjp may have kept."""
        self.value(self.inputs())
        first = self.gradient(self.inputs(), self.cotangents())
        second = self.gradient(self.inputs(), self.cotangents())
        visible = Comparison(self.subject.inputs, _VISIBLE, self.same.names)
        wrong = None if self.found.wrong else visible.contradiction(first, second)
        if wrong:
            how = "in a second call after one of f"
            why = "it overwrites what f saved, or keeps something between calls"
            self.found.add(f"backward gives another result {how}: {wrong}; {why}")


def findings(conventions, seconds=None):
    """Those of the conventions, or none if 20 calls would take more than a fifth of the limit in seconds."""
    if seconds is not None and not math.isinf(seconds):
        started = time.monotonic()
        conventions.gradient(conventions.inputs(), conventions.cotangents())
        if 20 * (time.monotonic() - started) > 0.2 * seconds:
            return Findings()
    return conventions.run()
