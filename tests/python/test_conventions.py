"""How a gradient is called: every convention broken on purpose, in NumPy; right rules that look suspicious;
nested inputs and results."""

import ctypes
import unittest
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import tapestry

X = np.array([[0.5, -1.2, 2.0], [1.5, 0.7, -0.3]])


def raw(array):
    """The numbers as a C function reads them, without strides."""
    pointer = ctypes.cast(array.ctypes.data, ctypes.POINTER(ctypes.c_double))
    return np.ctypeslib.as_array(pointer, array.shape).copy()


def cube(x):
    return x**3


class Broken(unittest.TestCase):
    def fails(self, f, vjp, words, x=X):
        report = tapestry.check_vjp(f, vjp, x)
        self.assertEqual(report.verdict, "FAIL", report)
        complaints = report.to_dict()["complaints"]
        self.assertTrue(any(words in line for line in complaints), report)
        self.assertIn(words, str(report))
        self.assertTrue(str(report).startswith("FAIL  plain function"))
        return report

    def test_strides_of_the_cotangent(self):
        for x in X, X[0], X[:, :1], X[0, 0]:
            f, vjp = cube, lambda x, g: 3 * x**2 * raw(g)
            if x.ndim == 0:
                self.assertTrue(tapestry.check_vjp(f, vjp, x))
            else:
                self.fails(f, vjp, "misreads a cotangent in transposed memory", x)
                self.fails(f, vjp, "misreads a cotangent with stride 0", x)

    def test_strides_of_inputs(self):
        self.fails(cube, lambda x, g: 3 * raw(x) ** 2 * g, "backward misreads inputs in transposed memory")
        self.fails(lambda x: raw(x) ** 3, lambda x, g: 3 * x**2 * g, "f misreads inputs in transposed memory")

        # right for any permutation, but not for a stride of 0
        self.fails(cube, lambda x, g: 3 * x**2 * g * (2 if 0 in x.strides else 1),
                   "backward misreads inputs with stride 0")  # fmt: skip
        self.fails(lambda x: (2 if 0 in x.strides else 1) * x**3, lambda x, g: 3 * x**2 * g,
                   "f misreads inputs with stride 0")  # fmt: skip

    def test_offsets(self):
        def from_start(array):
            while isinstance(array.base, np.ndarray):
                array = array.base
            return array.reshape(-1)[: X.size].reshape(X.shape)

        self.fails(cube, lambda x, g: 3 * x**2 * from_start(g), "a cotangent at an offset in memory")
        self.fails(cube, lambda x, g: 3 * from_start(x) ** 2 * g, "backward misreads inputs at an offset in memory")
        self.fails(lambda x: from_start(x) ** 3, lambda x, g: 3 * x**2 * g, "f misreads inputs at an offset in memory")

    def test_overwritten(self):
        def cotangent(x, g):
            g *= 3 * x**2
            return g

        def inputs(x, g):
            x **= 2
            return 3 * x * g

        self.fails(cube, cotangent, "backward overwrites the cotangent")
        self.fails(cube, inputs, "backward overwrites x")

    def test_of_several(self):
        def vjp(a, b, g):
            b *= 2
            return [g[0] * b / 2 + g[1], g[0] * a]

        report = tapestry.check_vjp(lambda a, b: (a * b, a), vjp, (X, 2 * X))
        self.assertIn("backward overwrites input 1", report.to_dict()["complaints"][0])

    def test_what_f_has_saved(self):
        kept = {}

        def f(x):
            kept["twice"] = 2 * x
            return x**2

        def vjp(x, g):
            kept["twice"] *= g
            return kept["twice"].copy()

        self.fails(f, vjp, "backward gives another result in a second call after one of f")

    def test_called_twice(self):
        calls = []

        def vjp(x, g):  # the first call is right
            calls.append(0)
            return 3 * x**2 * g * (1 + 0.01 * len(calls))

        self.fails(cube, vjp, "keeps something between calls")

    def test_the_first_call_is_another(self):
        calls = []

        def vjp(x, g):
            calls.append(0)
            return 3 * x**2 * g * (1 if len(calls) == 1 else 1.01)

        self.fails(cube, vjp, "backward gives another result when called again")

    def test_one_array_as_two_inputs(self):
        def vjp(a, b, g):
            return g * b, g * a * (0 if np.shares_memory(a, b) else 1)

        report = tapestry.check_vjp(lambda a, b: a * b, vjp, (X, 2 * X))
        self.assertEqual(report.verdict, "FAIL", report)
        self.assertIn("where input 0 and input 1 are one array, the gradient of input 1", str(report))

    def test_the_same_memory(self):
        kept = np.empty_like(X)
        self.fails(cube, lambda x, g: np.multiply(3 * x**2, g, out=kept), "returns the same memory each time")

    def test_they_can_be_left_out(self):
        report = tapestry.check_vjp(cube, lambda x, g: 3 * x**2 * raw(g), X, conventions=False)
        self.assertTrue(report, report)

    def test_a_wrong_gradient_is_still_located(self):
        report = self.fails(cube, lambda x, g: 2 * x**2 * raw(g), "misreads a cotangent")
        self.assertEqual(report.to_dict()["inputs"][0]["verdict"], "FAIL")


class NotBroken(unittest.TestCase):
    def test_refusing_is_a_note(self):
        def vjp(x, g):
            if not g.flags.c_contiguous:
                raise TypeError("g must be contiguous")
            return 3 * x**2 * g

        report = tapestry.check_vjp(cube, vjp, X)
        self.assertEqual(report.verdict, "PASS", report)
        self.assertIn("note: backward does not accept a cotangent with stride 0 (TypeError: g must be", str(report))

    def test_one_array_as_two_inputs(self):
        for f, vjp in (
            (lambda a, b: a @ b.T, lambda a, b, g: (g @ b, g.T @ a)),
            (lambda a, b: a / (b - a), lambda a, b, g: (g * b / (b - a) ** 2, -g * a / (b - a) ** 2)),  # a = b: not defined
        ):
            report = tapestry.check_vjp(f, vjp, (X, 2 * X))
            self.assertEqual(report.verdict, "PASS", report)

    def test_the_cotangent_may_be_the_gradient(self):
        self.assertTrue(tapestry.check_vjp(lambda a, b: a + b, lambda a, b, g: (g, g), (X, X)))

    def test_noise_is_no_convention(self):
        rng = np.random.default_rng(0)

        def vjp(x, g):  # a sum in any order
            weights = rng.permutation(1 + np.arange(1000) % 7) / (1 + np.arange(1000) % 7).sum()
            return (weights[:, None, None] * (3 * x**2 * g)).sum(0)

        self.assertNotEqual(tapestry.check_vjp(cube, vjp, X).verdict, "FAIL")

    def test_where_rows_are_the_same_anything_may_happen(self):
        def normed(x):
            d = x - x.mean(0)
            return d / np.sqrt((d**2).mean(0))

        def vjp(x, g):
            d = x - x.mean(0)
            s = np.sqrt((d**2).mean(0))
            y = d / s
            return (g - g.mean(0) - y * (g * y).mean(0)) / s

        report = tapestry.check_vjp(normed, vjp, np.random.default_rng(0).normal(size=(6, 3)))
        self.assertEqual(report.verdict, "PASS", report)

    def test_a_limit_in_seconds_leaves_them_out(self):
        report = tapestry.check_vjp(cube, lambda x, g: 3 * x**2 * raw(g), X, seconds=1e-9)
        self.assertEqual(report.verdict, "INCONCLUSIVE", report)


@dataclass
class Layer:
    weight: np.ndarray
    bias: np.ndarray


Pair = namedtuple("Pair", "low high")


def apply(model, x):
    """A result that is nested as well."""
    hidden = np.tanh(x @ model["layers"][0].weight + model["layers"][0].bias)
    scale, shift = model["ends"]
    return {"hidden": hidden, "out": Pair(hidden.sum(0) * scale, shift * x)}


def pull_back(model, x, g):
    layer, (scale, shift) = model["layers"][0], model["ends"]
    hidden = np.tanh(x @ layer.weight + layer.bias)
    dh = (g["hidden"] + g["out"].low * scale) * (1 - hidden**2)
    ends = Pair((g["out"].low * hidden.sum(0)).sum(), (g["out"].high * x).sum())
    dx = dh @ layer.weight.T + g["out"].high * shift
    return {"ends": ends, "layers": [Layer(x.T @ dh, dh.sum(0))]}, dx


class Trees(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(0)
        layer = Layer(rng.normal(size=(3, 2)), rng.normal(size=2))
        self.inputs = {"layers": [layer], "ends": Pair(np.array(0.7), np.array(-1.3))}, X

    def test_right(self):
        report = tapestry.check_vjp(apply, pull_back, self.inputs)
        self.assertEqual(report.verdict, "PASS", report)
        names = [i["name"] for i in report.to_dict()["inputs"]]
        self.assertEqual(
            names,
            ["input 0.layers[0].weight", "input 0.layers[0].bias", "input 0.ends.low", "input 0.ends.high", "input 1"],
        )

    def test_wrong(self):
        def forgetful(model, x, g):
            gradients, dx = pull_back(model, x, g)
            gradients["layers"][0].bias = None
            return gradients, dx

        report = tapestry.check_vjp(apply, forgetful, self.inputs)
        failed = [i["name"] for i in report.to_dict()["inputs"] if i["verdict"] == "FAIL"]
        self.assertEqual(failed, ["input 0.layers[0].bias"])
        self.assertIn("worst: input 0.layers[0].bias at", str(report))
        self.assertIn("operand 1 (input 0.layers[0].bias)", str(report))

    def test_one_dictionary(self):
        parameters = {"w": X, "b": np.ones(2)}
        f = lambda p: (p["w"].sum(1) * p["b"]).sum()  # noqa: E731
        df = lambda p: {"b": p["w"].sum(1), "w": np.outer(p["b"], np.ones(3))}  # noqa: E731
        self.assertTrue(tapestry.check_gradient(f, df, parameters))
        report = tapestry.check_gradient(f, lambda p: {"w": np.outer(p["b"], np.ones(3))}, parameters)
        self.assertEqual([i["name"] for i in report.to_dict()["inputs"] if i["verdict"] == "FAIL"], ["b"])

    def test_results_in_another_order(self):
        calls = [0]

        def f(x):
            calls[0] += 1
            both = [("square", x**2), ("sine", np.sin(x))]
            return dict(both if calls[0] % 2 else both[::-1])

        vjp = lambda x, g: 2 * x * g["square"] + np.cos(x) * g["sine"]  # noqa: E731
        report = tapestry.check_vjp(f, vjp, X)
        self.assertEqual(report.verdict, "PASS", report)
        other = lambda x: {"square": x} if x[0, 0] == X[0, 0] else {"cube": x}  # noqa: E731
        with self.assertRaisesRegex(TypeError, "has the key 'cube', which its first result lacks"):
            tapestry.check_vjp(other, lambda x, g: g["square"], X)

    def test_names_of_any_characters(self):
        for name in ("\0", "\n", "\\g<9>"):
            report = tapestry.check_gradient(lambda p: p[name].sum(), lambda p: {name: 2 * np.ones((2, 3))}, {name: X})
            self.assertIn(f"worst: [{name!r}] at", str(report))

    def test_structures_that_do_not_fit(self):
        parameters = {"w": X}
        f = lambda p: p["w"].sum()  # noqa: E731
        with self.assertRaisesRegex(TypeError, "has the key 'v', which the input lacks"):
            tapestry.check_gradient(f, lambda p: {"v": X}, parameters)
        with self.assertRaisesRegex(TypeError, "must have the structure of the input, got ndarray"):
            tapestry.check_gradient(f, lambda p: X, parameters)


if __name__ == "__main__":
    unittest.main()
