"""Functions that compute in f16 or bf16: of NumPy's float16, of the bits of bf16, of PyTorch's tensors."""

import collections
import unittest

import cases
import numpy as np
import tapestry
from test_kinds import square_by

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

try:
    import torch
except ImportError:
    torch = None

X = np.array([[0.5, -1.2, 2.0], [1.5, 0.7, -0.3]])


def from_bits(bits):
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def bits_of(x):
    """To nearest, ties to even."""
    wide = np.asarray(x, np.float32).view(np.uint32)
    return ((wide + np.uint32(0x7FFF) + ((wide >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(
        np.uint16
    )


def of_bits(f):
    """f over arrays of float64, or over the bits of bf16, as a kernel behind ctypes would have it."""

    def called(*arrays):
        if arrays[0].dtype != np.uint16:
            return f(*arrays)
        result = f(*(from_bits(x) for x in arrays))
        several = isinstance(result, (tuple, list))
        return [bits_of(y) for y in result] if several else bits_of(result)

    return called


def cubes(x):
    return x**3


def cubes_vjp(x, g):
    return 3 * x**2 * g


class Types(unittest.TestCase):
    def test_float16(self):
        seen = set()

        def f(x):
            seen.add((x.dtype.name, x.shape))
            return x**3

        def vjp(x, g):
            self.assertEqual(g.dtype, x.dtype)
            return cubes_vjp(x, g)

        for x in X, X.astype(np.float16), X.tolist():
            report = tapestry.check_vjp(f, vjp, x, dtype="f16")
            self.assertEqual(report.verdict, "PASS", report)
            self.assertIn("f16 against f64", str(report))
            self.assertEqual(report.to_dict()["dtype"], "f16")
        self.assertEqual(seen, {("float16", (2, 3)), ("float64", (2, 3))})

    def test_bits_of_bf16(self):
        seen = set()

        def f(x):
            seen.add(x.dtype.name)
            return of_bits(cubes)(x)

        report = tapestry.check_vjp(f, of_bits(cubes_vjp), bits_of(X), dtype="bf16")
        self.assertEqual(report.verdict, "PASS", report)
        self.assertIn("bf16 against f64", str(report))
        self.assertEqual(seen, {"uint16", "float64"})

    @unittest.skipIf(ml_dtypes is None, "no ml_dtypes here")
    def test_ml_dtypes(self):
        bfloat16 = np.dtype(ml_dtypes.bfloat16)
        seen = set()

        def f(x):
            seen.add(x.dtype)
            return x**3

        for x in X, X.astype(bfloat16):
            report = tapestry.check_vjp(f, cubes_vjp, x, dtype="bf16")
            self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(seen, {bfloat16, np.dtype(np.float64)})
        # Without a dtype it is converted, as others are.
        self.assertTrue(tapestry.check_vjp(cubes, cubes_vjp, X.astype(bfloat16)))

    def test_what_is_wrong_everywhere_is_named(self):
        wrong = lambda x, g: 2 * cubes_vjp(x, g)  # noqa: E731
        for report in (
            tapestry.check_vjp(cubes, wrong, X, dtype="f16"),
            tapestry.check_vjp(of_bits(cubes), of_bits(wrong), bits_of(X), dtype="bf16"),
        ):
            self.assertEqual(report.verdict, "FAIL")
            self.assertIn("constant factor", str(report))

    def test_what_is_wrong_in_the_narrow_type_alone(self):
        for by in 0, -1, 0.5, 1.3:
            def vjp(x, g, by=by):  # fmt: skip
                right = cubes_vjp(x, g)
                return right if x.dtype == np.float64 else (right * by).astype(right.dtype)

            report = tapestry.check_vjp(cubes, vjp, X, dtype="f16", subject="cubes")
            self.assertEqual(report.verdict, "FAIL", f"{by}\n{report}")
            self.assertTrue(str(report).startswith("FAIL  cubes, f16 against f64"), report)

    def test_a_sum_that_stands_still_is_no_rounding(self):
        def total(x):  # one after the other, rounded each time: 2048 + 1 is 2048
            return np.add.accumulate(x)[-1]

        def vjp(x, g):
            return (g - (g * x).sum() / total(x)) / total(x)

        for x, verdict in (np.ones(500), "PASS"), (np.full(4096, 0.9), "FAIL"):
            report = tapestry.check_vjp(lambda x: x / total(x), vjp, x, dtype="f16")
            self.assertEqual(report.verdict, verdict, report)

    def test_losses_are_f32(self):
        f = lambda x: np.sum(x.astype(np.float32) ** 2)  # noqa: E731
        df = lambda x: 2 * x  # noqa: E731
        self.assertTrue(tapestry.check_gradient(f, df, X, dtype="f16"))
        df = lambda x: x if x.dtype == np.float16 else 2 * x  # noqa: E731
        self.assertEqual(tapestry.check_gradient(f, df, X, dtype="f16").verdict, "FAIL")

    def test_all_kinds_of_derivatives(self):
        f = lambda x: np.stack([x.prod(), (x**2).sum()])  # noqa: E731
        jacobian = lambda x: np.stack([x.prod() / x, 2 * x])  # noqa: E731
        x = np.array([1.5, -2.0, 0.5])
        self.assertTrue(tapestry.check_jacobian(f, jacobian, x, dtype="f16"))
        narrow = of_bits(f), of_bits(jacobian)
        self.assertTrue(tapestry.check_jacobian(*narrow, bits_of(x), dtype="bf16"))
        half = lambda x: jacobian(x) / (1 if x.dtype == np.float64 else 2)  # noqa: E731
        self.assertFalse(tapestry.check_jacobian(f, half, x, dtype="f16"))
        df, hessian = lambda x: x**3, lambda x: np.diag(3 * x**2)
        self.assertTrue(tapestry.check_hessian(df, hessian, x, dtype="f16"))
        hvp = of_bits(lambda x, v: 3 * x**2 * v)
        self.assertTrue(tapestry.check_hvp(of_bits(df), hvp, bits_of(x), dtype="bf16"))
        gradient = of_bits(lambda a, b: (b, a))
        dot = of_bits(lambda a, b: (a * b).sum())
        inputs = bits_of(x), bits_of(x + 1)
        self.assertTrue(tapestry.check_gradient(dot, gradient, inputs, dtype="bf16"))

    def test_it_stays_where_f_is_defined(self):
        seen = []

        def f(x):
            seen.append(x.astype(np.float64))
            if x.min() < 0.25:
                raise ValueError("too small")
            return np.sqrt(x)

        vjp = lambda x, g: g / (2 * np.sqrt(x))  # noqa: E731
        report = tapestry.check_vjp(f, vjp, np.array([0.25, 1.0, 3.0]), dtype="f16")
        self.assertNotEqual(report.verdict, "FAIL", report)
        seen.clear()
        bounds = (0.25, 3)
        tapestry.check_vjp(f, vjp, np.array([0.25, 1.0, 3.0]), dtype="f16", bounds=bounds)
        self.assertTrue(all(0.25 <= x.min() and x.max() <= 3 for x in seen))

    def test_what_cannot_be(self):
        def check(x, **options):
            tapestry.check_vjp(cubes, cubes_vjp, x, **options)

        with self.assertRaisesRegex(ValueError, 'dtype must be "bf16" or "f16"'):
            check(X, dtype="f8")
        with self.assertRaisesRegex(ValueError, 'must be "bf16" or "f16" .f32: format="f32".'):
            check(X, dtype="f32")
        with self.assertRaisesRegex(TypeError, "complex128; there are no complex numbers of f16"):
            check(X + 1j, dtype="f16")
        with self.assertRaisesRegex(TypeError, r"bits of f16 are x.view\(numpy.float16\)"):
            check(bits_of(X), dtype="f16")
        with self.assertRaisesRegex(TypeError, r"f\(x\) is uint16; bits of f16 are x.view\(numpy.float16\)"):
            f = lambda x: x.view(np.uint16) if x.dtype == np.float16 else x  # noqa: E731
            tapestry.check_vjp(f, lambda x, g: g, X, dtype="f16")
        with self.assertRaisesRegex(ValueError, "format needs a computation in float64"):
            check(X, dtype="f16", format="f16")
        if ml_dtypes is None:
            with self.assertRaisesRegex(TypeError, "ml_dtypes.bfloat16, which is not installed, or its bits"):
                check(X, dtype="bf16")
        with self.assertRaisesRegex(TypeError, r"shapes \[\[3\]\] in f16, \[\[2, 3\]\] in float64"):
            f = lambda x: x[0] if x.dtype == np.float16 else x  # noqa: E731
            tapestry.check_vjp(f, lambda x, g: x, X, dtype="f16")
        with np.errstate(over="ignore"):
            report = tapestry.check_vjp(cubes, cubes_vjp, 100 * X, dtype="f16")
        self.assertEqual(report.verdict, "INCONCLUSIVE", report)  # 2e6 is beyond the largest f16


def within(case):
    """Are the numbers of the case, their squares, and its gradients such as f16 has?"""
    g = np.ones(np.shape(case.f(np, *case.inputs)))
    numbers = [*case.inputs, case.f(np, *case.inputs), *case.vjp(np, *case.inputs, g)]
    return all((np.abs(x) < 200).all() and np.abs(x).max() > 1e-3 for x in numbers)


class DrawnCases(unittest.TestCase):
    """tests/python/cases.py, where numbers are neither huge nor tiny."""

    def judged(self, case, dtype):
        f = lambda *x: case.f(np, *x)  # noqa: E731
        vjp = lambda *x_and_g: case.vjp(np, *x_and_g)  # noqa: E731
        if dtype == "f16":
            return tapestry.check_vjp(f, vjp, case.inputs, dtype="f16")
        bits = tuple(bits_of(x) for x in case.inputs)
        return tapestry.check_vjp(of_bits(f), of_bits(vjp), bits, dtype="bf16")

    def verdicts(self, draw, dtype, never, count=40):
        counts, seed = collections.Counter(), 0
        while sum(counts.values()) < count:
            case = draw(seed)
            seed += 1
            if not within(case) or (dtype == "f16" and case.name.startswith("solve")):
                continue  # NumPy solves nothing in float16
            with np.errstate(all="ignore"):
                report = self.judged(case, dtype)
            self.assertNotEqual(report.verdict, never, f"{case.name} (seed {seed - 1})\n{report}")
            counts[report.verdict] += 1
        return counts

    def test_no_right_one_fails(self):
        for dtype in "f16", "bf16":
            counts = self.verdicts(cases.right_case, dtype, never="FAIL")
            self.assertGreaterEqual(counts["PASS"], 30, dtype)

    def test_no_wrong_one_passes(self):
        for dtype in "f16", "bf16":
            count = int(40 * cases.WRONG_SHARE)
            counts = self.verdicts(cases.wrong_case, dtype, never="PASS", count=count)
            self.assertGreaterEqual(counts["FAIL"], 35 / 40 * count, dtype)


@unittest.skipIf(torch is None, "no PyTorch here (Debian: python3-torch)")
class Tensors(unittest.TestCase):
    dtypes = (torch.bfloat16, torch.float16) if torch else ()

    def x(self, dtype, **options):
        return torch.tensor(X, **options).to(dtype)

    def test_right_ones_pass_and_wrong_ones_fail(self):
        for dtype in self.dtypes:
            report = tapestry.check_torch(square_by(2), self.x(dtype))
            self.assertEqual(report.verdict, "PASS", report)
            self.assertIn("f16 against f64", str(report))
            for factors in (1,), (2, 1), (2, -2), (2, 0):
                report = tapestry.check_torch(square_by(*factors), self.x(dtype))
                self.assertEqual(report.verdict, "FAIL", f"{dtype} {factors}\n{report}")

    def test_they_arrive_as_they_are(self):
        seen = set()

        def f(x):
            seen.add(x.dtype)
            return torch.nn.functional.softmax(x, 1)

        report = tapestry.check_torch(f, self.x(torch.bfloat16))
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(seen, {torch.bfloat16, torch.float64})

    def test_a_layer_whose_parameters_are_inputs(self):
        torch.manual_seed(0)
        f = lambda x, w, b: torch.tanh(torch.nn.functional.linear(x, w, b)).float().sum()  # noqa: E731
        inputs = [self.x(torch.bfloat16), *(torch.randn(s).bfloat16() for s in ((5, 3), (5,)))]
        report = tapestry.check_torch(f, inputs)
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(len(report.to_dict()["inputs"]), 3)

    def test_a_kink_is_no_mistake(self):
        torch.manual_seed(0)
        w = torch.randn(64, 64).bfloat16()
        for seed in range(10):
            torch.manual_seed(seed)
            x = torch.randn(2, 64).bfloat16()
            report = tapestry.check_torch(lambda x, w: torch.relu(x @ w) @ w, (x.requires_grad_(), w))
            self.assertNotEqual(report.verdict, "FAIL", report)

    def test_a_layer_that_holds_its_parameters(self):
        layer = torch.nn.Linear(3, 5).bfloat16()
        report = tapestry.check_torch(layer, self.x(torch.bfloat16))
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(len(report.to_dict()["inputs"]), 3)
        with self.assertRaisesRegex(TypeError, "is compared with float64, which the function does not take"):
            tapestry.check_torch(lambda x: layer(x), self.x(torch.bfloat16))

    def test_types_are_not_mixed(self):
        with self.assertRaisesRegex(TypeError, "inputs of bf16, f32, which are checked one type"):
            tapestry.check_torch(torch.add, (self.x(torch.float32), self.x(torch.bfloat16)))
        alone = self.x(torch.bfloat16).requires_grad_(), self.x(torch.bfloat16)
        self.assertTrue(tapestry.check_torch(torch.add, alone))

    def test_the_second_order(self):
        for dtype in self.dtypes:
            report = tapestry.check_torch(lambda x: x * x * x, self.x(dtype), order=2)
            self.assertEqual(report.verdict, "PASS", report)

    def test_arrays_of_bf16_from_elsewhere(self):
        with_torch = lambda x: torch.from_numpy(x).bfloat16().square()  # noqa: E731
        report = tapestry.check_vjp(lambda x: x**2, lambda x, g: 2 * x * g, self.x(torch.bfloat16))
        self.assertTrue(report, report)
        report = tapestry.check_vjp(with_torch, lambda x, g: 2 * x * g, X, format="bf16")
        self.assertNotEqual(report.verdict, "FAIL", report)


if __name__ == "__main__":
    unittest.main()
