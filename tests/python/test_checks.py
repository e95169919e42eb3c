"""What the module promises beside its verdicts: arrays, options, exceptions, reports."""

import json
import math
import traceback
import unittest

import numpy as np
import tapestry


def cubes(x):
    return float((x**3).sum())


def cubes_gradient(x):
    return 3 * x**2


X = np.array([[0.5, -1.2, 2.0], [1.5, 0.7, -0.3]])


class Arrays(unittest.TestCase):
    def test_shapes_are_kept(self):
        seen = set()

        def f(x):
            seen.add((x.shape, x.dtype.name))
            return cubes(x)

        self.assertTrue(tapestry.check_gradient(f, cubes_gradient, X))
        self.assertEqual(seen, {((2, 3), "float64")})

    def test_numbers_lists_and_whole_numbers_are_arrays(self):
        self.assertTrue(tapestry.check_gradient(math.sin, math.cos, 0.5))
        self.assertTrue(tapestry.check_gradient(cubes, cubes_gradient, [1, 2]))
        self.assertTrue(tapestry.check_gradient(cubes, cubes_gradient, np.float32(1.5)))

    def test_several_inputs_and_results(self):
        def f(a, b):
            return a @ b, b.sum(0)

        def vjp(a, b, g):
            return g[0] @ b.T, a.T @ g[0] + g[1]

        rng = np.random.default_rng(0)
        inputs = rng.normal(size=(2, 3)), rng.normal(size=(3, 4))
        self.assertTrue(tapestry.check_vjp(f, vjp, inputs))
        forgetful = tapestry.check_vjp(f, lambda a, b, g: [g[0] @ b.T, a.T @ g[0]], inputs)
        self.assertEqual(forgetful.verdict, "FAIL")
        found = [(i["name"], i["shape"], i["verdict"]) for i in forgetful.to_dict()["inputs"]]
        self.assertEqual(found, [("input 0", [2, 3], "PASS"), ("input 1", [3, 4], "FAIL")])
        none = tapestry.check_vjp(lambda a, b: a**2, lambda a, b, g: (2 * a * g, None), inputs)
        self.assertTrue(none)

    def test_several_inputs_of_one_number(self):
        f = lambda a, b: (a * b).sum()  # noqa: E731
        self.assertTrue(tapestry.check_gradient(f, lambda a, b: (b, a), (X, 2 * X + 1)))
        self.assertFalse(tapestry.check_gradient(f, lambda a, b: (b, b), (X, 2 * X + 1)))

    def test_complex_numbers_are_pairs(self):
        z = np.array([1 + 2j, -0.5 + 0.3j])
        size = lambda z: (abs(z) ** 2).sum()  # noqa: E731
        self.assertTrue(tapestry.check_gradient(size, lambda z: 2 * z, z))
        self.assertFalse(tapestry.check_gradient(size, lambda z: 2 * z.conj(), z))
        square_vjp = lambda z, g: g * np.conj(2 * z)  # noqa: E731
        self.assertTrue(tapestry.check_vjp(lambda z: z**2, square_vjp, z))

    def test_numbers_in_other_orders_of_bytes_and_axes(self):
        for x in (X.astype(">f8"), X.astype(">f4"), X.astype(np.float16), np.asfortranarray(X), X[:, ::-1]):
            self.assertTrue(tapestry.check_gradient(cubes, cubes_gradient, x), x.dtype)
            self.assertFalse(tapestry.check_gradient(cubes, lambda x: 2 * x**2, x), x.dtype)
        big = lambda x: cubes_gradient(x).astype(">f8")  # noqa: E731
        self.assertTrue(tapestry.check_gradient(cubes, big, X))

    def test_a_complex_loss_is_refused(self):
        z = np.array([1 + 2j, -0.5 + 0.3j])
        with self.assertRaisesRegex(TypeError, "must be a real number, got a complex one: take its .real"):
            tapestry.check_gradient(lambda z: np.vdot(z, z), lambda z: 2 * z, z)
        self.assertTrue(tapestry.check_gradient(lambda z: np.vdot(z, z).real, lambda z: 2 * z, z))

    def test_arrays_may_be_kept_and_overwritten(self):
        kept = []

        def f(x):
            kept.append(x)
            total = cubes(x)
            x[:] = 0
            return total

        before = X.copy()
        self.assertTrue(tapestry.check_gradient(f, cubes_gradient, X))
        self.assertTrue((X == before).all())
        self.assertTrue(all((x == 0).all() for x in kept))

    def test_strides(self):
        self.assertTrue(tapestry.check_gradient(cubes, cubes_gradient, X.T[::-1]))
        right = tapestry.check_vjp(lambda x: x.T, lambda x, g: g.T, X)
        self.assertTrue(right, right)

    def test_dlpack_is_taken(self):
        class Exported:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        report = tapestry.check_vjp(
            lambda x: Exported(x**2), lambda x, g: Exported(2 * x * g), Exported(X.copy())
        )
        self.assertTrue(report, report)


class Exceptions(unittest.TestCase):
    def test_not_defined_elsewhere(self):
        calls = []

        def logarithm(x):  # math.log raises ValueError at 0 and below
            calls.append(x.item())
            return math.log(x.item() - 1e-3)

        report = tapestry.check_gradient(logarithm, lambda x: 1 / (x - 1e-3), 1.01e-3)
        self.assertNotEqual(report.verdict, "FAIL")
        self.assertLess(min(calls), 1e-3)

    def test_arithmetic_and_linear_algebra(self):
        for error in (ZeroDivisionError, OverflowError, ValueError, np.linalg.LinAlgError):

            def f(x, error=error):
                if abs(x - 1) > 1e-4:
                    raise error("too far")
                return x**2

            report = tapestry.check_gradient(f, lambda x: 2 * x, 1.0)
            self.assertEqual(report.verdict, "PASS", f"{error.__name__}\n{report}")

    def test_at_x_they_go_through(self):
        def f(x):
            raise ZeroDivisionError("at x")

        with self.assertRaisesRegex(ZeroDivisionError, "at x"):
            tapestry.check_gradient(f, cubes_gradient, X)

        def df(x):
            raise ValueError("no gradient at x")

        with self.assertRaisesRegex(ValueError, "no gradient at x"):
            tapestry.check_gradient(cubes, df, X)

    def test_mistakes_and_interrupts_go_through(self):
        class Own(Exception):
            pass

        for error in (TypeError, KeyError, MemoryError, KeyboardInterrupt, SystemExit, Own):
            count = 0

            def f(x, error=error):
                nonlocal count
                count += 1
                if count > 5:
                    raise error("stop")
                return cubes(x)

            try:
                tapestry.check_gradient(f, cubes_gradient, X)
                self.fail(f"{error.__name__} did not come out")
            except error as caught:
                self.assertEqual(str(caught).strip("'"), "stop")
                # the traceback leads to the line that raised
                frames = traceback.extract_tb(caught.__traceback__)
                self.assertEqual(frames[-1].name, "f")

    def test_shapes_that_do_not_fit(self):
        with self.assertRaisesRegex(TypeError, r"gradient must have the shape \(2, 3\), got \(6,\)"):
            tapestry.check_gradient(cubes, lambda x: cubes_gradient(x).ravel(), X)
        with self.assertRaisesRegex(TypeError, r"must be one number, got the shape \(2, 3\)"):
            tapestry.check_gradient(lambda x: x, lambda x: x, X)
        with self.assertRaisesRegex(TypeError, "expected 2 of gradient, got 1"):
            tapestry.check_vjp(lambda a, b: a, lambda a, b, g: [g], (X, X))
        with self.assertRaisesRegex(TypeError, "must be real, got complex"):
            tapestry.check_vjp(lambda x: x, lambda x, g: 1j * g, X)
        with self.assertRaisesRegex(TypeError, "must be an array of numbers"):
            tapestry.check_gradient(lambda x: "text", cubes_gradient, X)
        with self.assertRaisesRegex(ValueError, "x is empty"):
            tapestry.check_gradient(lambda x: 0.0, lambda x: x, np.zeros(0))
        with self.assertRaisesRegex(TypeError, "there are no inputs"):
            tapestry.check_vjp(lambda: X, lambda g: (), ())
        for nothing in (np.zeros((0, 3)), ()):
            with self.assertRaisesRegex(ValueError, r"f\(x\) has no numbers"):
                tapestry.check_vjp(lambda x: nothing, lambda x, g: 0 * x, X)
        with self.assertRaisesRegex(TypeError, "must be an array of numbers: setting an array element"):
            tapestry.check_vjp(lambda x: ([1.0], [[1.0], [2.0, 3.0]]), lambda x, g: x, X)
        with self.assertRaisesRegex(TypeError, "gradient has masked entries"):
            tapestry.check_gradient(cubes, lambda x: np.ma.masked_less(cubes_gradient(x), 1.0), X)
        with self.assertRaisesRegex(TypeError, "an input has masked entries"):
            tapestry.check_gradient(cubes, cubes_gradient, np.ma.masked_less(X, X.max()))

    def test_arrays_of_many_axes(self):
        x = np.ones((1,) * 7 + (2,))
        self.assertEqual(tapestry.check_gradient(cubes, cubes_gradient, x).verdict, "PASS")
        with self.assertRaisesRegex(ValueError, "^x has 20 axes; there can be at most 8: reshape it"):
            tapestry.check_gradient(cubes, cubes_gradient, np.ones((1,) * 19 + (2,)))
        with self.assertRaisesRegex(ValueError, "^input 1 has 9 axes; there can be at most 8"):
            tapestry.check_vjp(lambda a, b: a, lambda a, b, g: [g, None], (X, np.ones((1,) * 9)))
        with self.assertRaisesRegex(ValueError, r"^f\(x\) has 9 axes; there can be at most 8"):
            tapestry.check_vjp(lambda x: x.reshape((1,) * 8 + (-1,)), lambda x, g: g.reshape(x.shape), X)
        with self.assertRaisesRegex(ValueError, "^x has 8 axes of complex numbers; there can be at most 7"):
            tapestry.check_vjp(lambda z: z, lambda z, g: g, x * 1j)

    def test_a_result_may_not_be_missing(self):
        f = lambda x: (x**3, None if x[0, 0] != X[0, 0] else x)  # noqa: E731
        with self.assertRaisesRegex(TypeError, r"f\(x\) 1 must be an array of numbers, got object"):
            tapestry.check_vjp(f, lambda x, g: 3 * x**2 * g[0] + g[1], X)

    def test_a_gradient_that_refuses_a_cotangent_of_0(self):
        def vjp_with(error):
            def vjp(x, g):
                if not g.any():
                    raise error
                return np.cos(x) * g + 5e-5

            return vjp

        x = np.linspace(0.1, 1.2, 6)
        report = tapestry.check_vjp(np.sin, vjp_with(RuntimeError("nothing arrives")), x)
        self.assertEqual(report.verdict, "INCONCLUSIVE")
        with self.assertRaises(KeyboardInterrupt):
            tapestry.check_vjp(np.sin, vjp_with(KeyboardInterrupt()), x)
        report = tapestry.check_vjp(np.sin, lambda x, g: np.cos(x) * g + 5e-5, x)
        self.assertEqual(report.verdict, "FAIL")
        self.assertIn("an incoming gradient of 0", str(report))

    def test_exceptions_without_a_text(self):
        class Silent(ValueError):
            def __str__(self):
                raise KeyError("no text")

        for error in (Silent(), ValueError("half a character: \ud83d")):

            def f(x):
                if x[0, 0] != X[0, 0]:
                    raise error
                return cubes(x)

            report = tapestry.check_gradient(f, cubes_gradient, X, conventions=False)
            self.assertEqual(report.verdict, "INCONCLUSIVE", report)
            self.assertIn(type(error).__name__, report.to_dict()["not_defined"])

    def test_options(self):
        inf = float("inf")
        for options in (
            {"method": "entries", "seed": np.int64(3), "certainty": 0.99},
            {"bounds": (-10, inf)},
            {"bounds": [(-10, 10)] * 6},
            {"bounds": np.array([[-10.0, inf]] * 6)},
            {"points": 2, "evaluations": 10**6, "seconds": 60},
            {"seconds": inf},
            {"certainty": np.array(0.99), "seed": np.array(2)},
            {"eps": 1e-6, "atol": 1e-5, "rtol": 1e-3},
            {"noise": 1e-9, "relative_noise": 1e-9},
            {"format": "f32"},
        ):
            self.assertTrue(tapestry.check_gradient(cubes, cubes_gradient, X, **options), options)
        with self.assertRaisesRegex(ValueError, "unknown option tol; the options are shape, inputs"):
            tapestry.check_gradient(cubes, cubes_gradient, X, tol=1)
        with self.assertRaisesRegex(ValueError, "certainty must be a number, got \"high\""):
            tapestry.check_gradient(cubes, cubes_gradient, X, certainty="high")
        with self.assertRaisesRegex(ValueError, 'format must be "f64", "f32", "bf16"'):
            tapestry.check_gradient(cubes, cubes_gradient, X, format="f8")
        with self.assertRaisesRegex(ValueError, "an option must not be NaN"):
            tapestry.check_gradient(cubes, cubes_gradient, X, bounds=(0, float("nan")))
        brief = tapestry.check_gradient(cubes, cubes_gradient, X, evaluations=10)
        self.assertEqual(brief.verdict, "INCONCLUSIVE", brief)
        seen = []

        def f(x):
            seen.append(x.copy())
            return cubes(x)

        tapestry.check_gradient(f, cubes_gradient, np.ones(3), bounds=(0.9, 1.1))
        self.assertGreaterEqual(min(x.min() for x in seen), 0.9)
        self.assertLessEqual(max(x.max() for x in seen), 1.1)


class Reports(unittest.TestCase):
    def setUp(self):
        self.right = tapestry.check_gradient(cubes, cubes_gradient, X)
        self.wrong = tapestry.check_gradient(cubes, lambda x: 2 * x**2, X)

    def test_verdicts(self):
        self.assertEqual((self.right.verdict, bool(self.right)), ("PASS", True))
        self.assertEqual((self.wrong.verdict, bool(self.wrong)), ("FAIL", False))
        self.assertTrue(str(self.wrong).startswith("FAIL"))
        self.assertEqual(repr(self.right).partition(":")[0], "<tapestry.Report")
        self.assertIn("constant factor", str(self.wrong))

    def test_dict(self):
        found = self.wrong.to_dict()
        self.assertEqual(found["verdict"], "FAIL")
        self.assertEqual(found, json.loads(self.wrong.to_json()))

    def test_html_is_escaped(self):
        page = self.wrong._repr_html_()
        self.assertIn("FAIL</b>", page)
        hostile = tapestry.Report("PASS", 'PASS <script>alert("&")</script>\nmore', "{}")
        page = hostile._repr_html_()
        self.assertNotIn("<script", page)
        self.assertIn("&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;\nmore", page)

    def test_version(self):
        self.assertRegex(tapestry.__version__, r"^\d+\.\d+\.\d+$")
