"""Derivatives of other kinds, functions with a state, tensors of narrow types, the second order."""

import unittest

import numpy as np
import tapestry

try:
    import torch
except ImportError:
    torch = None

X = np.array([[0.5, -1.2, 2.0], [1.5, 0.7, -0.3]])


class Sparse:
    """What of a sparse matrix of SciPy's is looked at."""

    def __init__(self, dense):
        self.dense = dense
        self.shape = dense.shape
        self.T = dense.T

    def tocoo(self):
        return self


class Matrices(unittest.TestCase):
    def f(self, x):
        return np.stack([x.prod(), (x**2).sum()])

    def jacobian(self, x):
        return np.stack([x.prod() / x, 2 * x])

    def test_jacobian(self):
        self.assertTrue(tapestry.check_jacobian(self.f, self.jacobian, X))
        flat = lambda x: self.jacobian(x).reshape(2, 6)  # noqa: E731
        self.assertTrue(tapestry.check_jacobian(self.f, flat, X))
        self.assertTrue(tapestry.check_jacobian(self.f, lambda x: Sparse(flat(x)), X))

    def test_jacobian_with_a_wrong_entry(self):
        def wrong(x):
            j = self.jacobian(x)
            j[1, 0, 2] = 0
            return j

        report = tapestry.check_jacobian(self.f, wrong, X)
        self.assertEqual(report.verdict, "FAIL")
        self.assertEqual(report.to_dict()["subject"], "Jacobian")
        self.assertIn("at [0, 2]", report.to_dict()["inputs"][0]["worst"]["where"])

    def test_jacobian_of_complex_numbers(self):
        a = np.array([[1 + 2j, 0.5 - 1j], [-0.3j, 2.0]])
        z = np.array([0.7 - 0.2j, -1.1 + 0.4j])
        f = lambda x: a @ x**2  # noqa: E731
        right = lambda x: 2 * a * x  # noqa: E731
        for x in (z, z.real):
            self.assertTrue(tapestry.check_jacobian(f, right, x))
            self.assertTrue(tapestry.check_jacobian(f, lambda x: Sparse(right(x)), x))
            self.assertEqual(tapestry.check_jacobian(f, lambda x: right(x).conj(), x).verdict, "FAIL")

    def test_hessian(self):
        df = lambda x: np.array([2 * x[0] * x[1], x[0] ** 2 + 3 * x[1] ** 2])  # noqa: E731
        x = np.array([1.5, -2.0])
        right = lambda x: [[2 * x[1], 2 * x[0]], [2 * x[0], 6 * x[1]]]  # noqa: E731
        wrong = lambda x: [[2 * x[1], x[0]], [x[0], 6 * x[1]]]  # noqa: E731
        self.assertTrue(tapestry.check_hessian(df, right, x))
        report = tapestry.check_hessian(df, wrong, x, points=2)
        self.assertEqual(report.verdict, "FAIL")
        self.assertEqual(report.to_dict()["subject"], "Hessian")
        self.assertTrue(tapestry.check_hvp(df, lambda x, v: right(x) @ v, x))
        report = tapestry.check_hvp(df, lambda x, v: wrong(x) @ v, x)
        self.assertEqual(report.verdict, "FAIL")
        self.assertEqual(report.to_dict()["subject"], "Hessian-vector product")

    def test_products_by_matrices_of_x(self):
        df = lambda x: 3 * x**2  # noqa: E731
        self.assertTrue(tapestry.check_hvp(df, lambda x, v: 6 * x * v, X))
        self.assertFalse(tapestry.check_hvp(df, lambda x, v: 3 * x * v, X))

    def test_shapes_that_do_not_fit(self):
        with self.assertRaisesRegex(TypeError, r"expected a matrix of 2 x 6 numbers, got the shape \(2, 3\)"):
            tapestry.check_jacobian(self.f, lambda x: x, X)
        with self.assertRaisesRegex(TypeError, "gradient must be real, got complex"):
            tapestry.check_jacobian(self.f, lambda x: Sparse(self.jacobian(x).reshape(2, 6) + 1j), X)
        with self.assertRaisesRegex(TypeError, r"shape \(2, 6\), got \(6, 2\)"):
            tapestry.check_jacobian(self.f, lambda x: Sparse(np.zeros((6, 2))), X)
        with self.assertRaisesRegex(TypeError, r"gradient must have the shape \(2, 3\), got \(6,\)"):
            tapestry.check_hessian(lambda x: x.ravel(), lambda x: np.eye(6), X)


class States(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(0)

    def f(self, x):
        return float((self.rng.normal(size=x.shape) * x**2).sum())

    def df(self, x):
        return 2 * x * self.rng.normal(size=x.shape)

    def reset(self):
        self.rng = np.random.default_rng(0)

    def test_reset(self):
        self.assertFalse(tapestry.check_gradient(self.f, self.df, X))
        report = tapestry.check_gradient(self.f, self.df, X, reset=self.reset)
        self.assertTrue(report, report)
        wrong = tapestry.check_gradient(self.f, lambda x: self.df(x) / 2, X, reset=self.reset)
        self.assertEqual(wrong.verdict, "FAIL")

    def test_it_may_raise(self):
        with self.assertRaisesRegex(KeyError, "reset"):
            tapestry.check_gradient(self.f, self.df, X, reset=lambda: {}["reset"])


class Names(unittest.TestCase):
    def test_subject(self):
        report = tapestry.check_gradient(np.sum, np.ones_like, X, subject="a sum")
        self.assertTrue(str(report).startswith("PASS  a sum:"), report)
        report = tapestry.check_gradient(np.sum, np.ones_like, X, subject="a sum", format="f32")
        self.assertEqual(report.to_dict()["subject"], "a sum in f32")
        for check in (tapestry.check_jacobian, tapestry.check_hessian, tapestry.check_hvp):
            report = check(lambda x: 2 * x, lambda x, *v: 2 * (v[0] if v else np.eye(x.size)), X, subject="twice")
            self.assertTrue(str(report).startswith("PASS  twice:"), report)
        with self.assertRaisesRegex(ValueError, "subject must be a string, got 3"):
            tapestry.check_gradient(np.sum, np.ones_like, X, subject=3)


def square_by(factor, narrow=None):
    """x^2, of which the backward has `factor` x, or `narrow` x in another type than float64."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensors[0]
            return g * x * (factor if narrow is None or x.dtype == torch.float64 else narrow)

    return Square


@unittest.skipIf(torch is None, "no PyTorch here (Debian: python3-torch)")
class NarrowTensors(unittest.TestCase):
    def x(self, dtype, **options):
        return torch.tensor(X, **options).to(dtype)

    def test_right_ones_pass_and_wrong_ones_fail(self):
        report = tapestry.check_torch(square_by(2), self.x(torch.float32))
        self.assertEqual(report.verdict, "PASS", report)
        self.assertTrue(report.to_dict()["subject"].endswith(" in f32"), report)
        for factor in (1, -2, 2.001):
            report = tapestry.check_torch(square_by(factor), self.x(torch.float32))
            self.assertEqual(report.verdict, "FAIL", f"{factor}\n{report}")

    def test_f64_that_is_stored_in_bf16(self):
        report = tapestry.check_torch(square_by(2), self.x(torch.float64), format="bf16")
        self.assertEqual(report.verdict, "PASS", report)
        self.assertTrue(report.to_dict()["subject"].endswith(" in bf16"), report)

    def test_they_arrive_as_they_are(self):
        seen = set()

        def f(x):
            seen.add((x.dtype, tuple(x.shape)))
            return torch.nn.functional.softmax(x, 1)

        report = tapestry.check_torch(f, self.x(torch.float32))
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(seen, {(torch.float32, (2, 3))})

    def test_a_layer_in_f32(self):
        torch.manual_seed(0)
        layer = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
        report = tapestry.check_torch(layer, self.x(torch.float32))
        self.assertEqual(report.verdict, "PASS", report)

    def test_types_are_not_mixed(self):
        with self.assertRaisesRegex(TypeError, "inputs of f32, f64, which are checked one type"):
            tapestry.check_torch(torch.add, (self.x(torch.float32), self.x(torch.float64)))
        alone = self.x(torch.float64).requires_grad_(), self.x(torch.float32)
        self.assertTrue(tapestry.check_torch(torch.add, alone))

    def test_complex_ones_are_wide(self):
        z = torch.complex(self.x(torch.float32), self.x(torch.float32))
        with self.assertRaisesRegex(TypeError, r"complex64; pass x\.to\(torch.complex128\)"):
            tapestry.check_torch(torch.square, z)


@unittest.skipIf(torch is None, "no PyTorch here (Debian: python3-torch)")
class SecondOrder(unittest.TestCase):
    def setUp(self):
        self.x = torch.tensor(X)

    def test_right_ones_pass(self):
        for f in (torch.tanh, lambda x: torch.softmax(x, 1), lambda x: x @ x.T, square_by(2)):
            report = tapestry.check_torch(f, self.x, order=2)
            self.assertEqual(report.verdict, "PASS", report)
            self.assertEqual(report.to_dict()["subject"], "order 2")

    def test_several_inputs_and_results(self):
        f = lambda a, b: (a @ b, (a**3).sum())  # noqa: E731
        report = tapestry.check_torch(f, (self.x, self.x.T.contiguous()), order=2)
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(len(report.to_dict()["inputs"]), 4)

    def test_a_backward_that_is_not_followed(self):
        class Detached(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.sin(x)

            @staticmethod
            def backward(ctx, g):
                return g * torch.cos(ctx.saved_tensors[0].detach())

        self.assertTrue(tapestry.check_torch(Detached, self.x))
        report = tapestry.check_torch(Detached, self.x, order=2)
        self.assertEqual(report.verdict, "FAIL")
        self.assertIn("to PyTorch backward does not depend on input 0: it is marked once_diff", str(report))

    def test_a_backward_of_which_a_term_is_not_followed(self):
        class HalfDetached(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors  # fmt: skip
                return 3 * x * x.detach() * g

        report = tapestry.check_torch(HalfDetached, self.x, order=2)
        self.assertEqual(report.verdict, "FAIL")
        self.assertNotIn("does not depend", str(report))

    def test_a_backward_that_cannot_be_differentiated(self):
        class Once(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, g):
                return 2 * g * ctx.saved_tensors[0]

        self.assertTrue(tapestry.check_torch(Once, self.x))
        # PyTorch 1.13 calls such a gradient a constant; others may raise.
        try:
            report = tapestry.check_torch(Once, self.x, order=2)
            self.assertEqual(report.verdict, "FAIL")
            self.assertIn("does not depend on input 0, input 1: it is marked once_differentiable", str(report))
        except RuntimeError as error:
            self.assertIn("once_differentiable", str(error))

    def test_linear_functions_and_constants(self):
        self.assertTrue(tapestry.check_torch(lambda x: 2 * x, self.x, order=2))
        self.assertTrue(tapestry.check_torch(lambda x: x.detach() * 0 + 1, self.x, order=2))

    def test_nothing_of_the_caller_changes(self):
        x = self.x.clone().requires_grad_()
        self.assertTrue(tapestry.check_torch(torch.tanh, x, order=2))
        self.assertIsNone(x.grad)
        self.assertTrue(x.requires_grad)

    def test_bounds_are_those_of_the_inputs(self):
        x = torch.tensor([0.1, 0.9], dtype=torch.float64)

        def roots(x):
            assert 0 <= x.min() and x.max() <= 1
            return x.sqrt()

        for bounds in ((0, 1), [(0, 0.5), (0.5, 1)]):
            self.assertTrue(tapestry.check_torch(roots, x, order=2, bounds=bounds))

    def test_no_third_order(self):
        with self.assertRaisesRegex(ValueError, "order must be 1 or 2, got 3"):
            tapestry.check_torch(torch.tanh, self.x, order=3)

    def test_reset(self):
        def dropped(x):
            return torch.nn.functional.dropout(x**2, 0.5)

        reset = lambda: torch.manual_seed(3)  # noqa: E731
        for order in 1, 2:
            report = tapestry.check_torch(dropped, self.x, order=order, reset=reset)
            self.assertEqual(report.verdict, "PASS", report)


if __name__ == "__main__":
    unittest.main()
