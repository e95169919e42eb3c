"""Functions of PyTorch within graphs: conventions of calls broken on purpose, the wrong Function of several,
modules with their parameters, nested inputs, batched cotangents."""

import unittest
from dataclasses import dataclass

import tapestry

try:
    import torch
except ImportError:
    torch = None


def function_of(forward, backward, name="Own"):
    """A Function of these two, which get ctx."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), methods)


def saving(f, df, name="Own"):
    """A Function of one tensor: f(x), and df(x, g)."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return f(x)

    return function_of(forward, lambda ctx, g: df(*ctx.saved_tensors, g), name)


def raw(tensor):
    """The numbers from the pointer on, without strides (cyclic at the end of the memory)."""
    size = tensor.storage().size()
    places = (tensor.storage_offset() + torch.arange(tensor.numel())) % size
    return tensor.as_strided((size,), (1,), 0)[places].view(tensor.shape)


class WithTorch(unittest.TestCase):
    def setUp(self):
        if torch is None:
            self.skipTest("no PyTorch here (Debian: python3-torch)")
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(3, 4, generator=generator, dtype=torch.float64)

    def fails(self, function, inputs, words, **options):
        report = tapestry.check_torch(function, inputs, **options)
        self.assertEqual(report.verdict, "FAIL", report)
        self.assertIn(words, str(report))
        self.assertTrue(any(words in line for line in report.to_dict()["complaints"]), report)
        return report


class Conventions(WithTorch):
    def test_strides(self):
        self.fails(saving(torch.sin, lambda x, g: raw(g) * x.cos()), self.x,
                   "backward misreads a cotangent in transposed memory")  # fmt: skip
        self.fails(saving(torch.sin, lambda x, g: raw(g) * x.cos()), self.x[0],
                   "backward misreads a cotangent with stride 0")  # fmt: skip
        self.fails(saving(lambda x: raw(x).sin(), lambda x, g: g * x.cos()), self.x,
                   "f misreads inputs in transposed memory")  # fmt: skip
        self.fails(saving(torch.sin, lambda x, g: g * raw(x).cos()), self.x,
                   "backward misreads inputs in transposed memory")  # fmt: skip
        # right for any permutation, but not for a stride of 0
        doubled = lambda x: 2 if 0 in x.stride() else 1  # noqa: E731
        self.fails(saving(torch.sin, lambda x, g: g * x.cos() * doubled(x)), self.x,
                   "backward misreads inputs with stride 0")  # fmt: skip
        self.fails(saving(lambda x: x.sin() * doubled(x), lambda x, g: g * x.cos()), self.x,
                   "f misreads inputs with stride 0")  # fmt: skip

    def test_offset(self):
        from_start = lambda g: g.as_strided(g.shape, g.stride(), 0)  # noqa: E731
        self.fails(saving(torch.sin, lambda x, g: from_start(g) * x.cos()), self.x,
                   "a cotangent at an offset in memory")  # fmt: skip
        self.fails(saving(torch.sin, lambda x, g: g * from_start(x).cos()), self.x,
                   "backward misreads inputs at an offset in memory")  # fmt: skip
        self.fails(saving(lambda x: from_start(x).sin(), lambda x, g: g * x.cos()), self.x,
                   "f misreads inputs at an offset in memory")  # fmt: skip

    def test_overwritten(self):
        self.fails(saving(torch.square, lambda x, g: g.mul_(2 * x)), self.x, "overwrites the cotangent")
        own = saving(torch.square, lambda x, g: 2 * x.data.mul_(1.5) / 1.5 * g)
        self.fails(own, self.x, "backward overwrites x")

        def in_place(ctx, x):
            ctx.save_for_backward(x)
            x.data.mul_(2)
            return x * x / 4

        own = function_of(in_place, lambda ctx, g: g * ctx.saved_tensors[0])
        report = self.fails(own, self.x, "forward overwrites x without mark_dirty")
        self.assertNotIn("constant factor", str(report))

    def test_saved(self):
        def forward(ctx, x):
            ctx.kept = 2 * x
            return x * x

        self.fails(function_of(forward, lambda ctx, g: ctx.kept.mul_(g)), self.x,
                   "backward overwrites what forward saved")  # fmt: skip

    def test_the_same_memory(self):
        kept = torch.empty_like(self.x)
        own = saving(torch.square, lambda x, g: torch.mul(2 * x, g, out=kept))
        self.fails(own, self.x, "returns the same memory each time")

    def test_undefined_cotangents(self):
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        def needs_both(ctx, g, h):
            x, = ctx.saved_tensors  # fmt: skip
            return None if g is None or h is None else g * x.cos() - h * x.sin()

        def raises(ctx, g, h):
            x, = ctx.saved_tensors  # fmt: skip
            return g * x.cos() - (0 if h is None else h * x.sin())

        self.fails(function_of(forward, needs_both), self.x, "where result 0 is unused and its cotangent None")
        self.fails(function_of(forward, raises), self.x, "backward fails where result 0 is unused")

    def test_all_cotangents_but_one_undefined(self):
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.sin(), x.cos(), x * x

        def backward(ctx, g, h, k):  # right if at most one is missing
            x, = ctx.saved_tensors  # fmt: skip
            terms = [d * s for d, s in ((g, x.cos()), (h, -x.sin()), (k, 2 * x)) if d is not None]
            return sum(terms) if len(terms) > 1 else None

        self.fails(function_of(forward, backward), self.x, "where all results but 0 are unused")

    def test_one_tensor_as_two_inputs(self):
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a * (0 if a.data_ptr() == b.data_ptr() else 1)

        self.fails(function_of(forward, backward), (self.x, self.x + 1),
                   "where input 0 and input 1 are one tensor, the gradient of input 1")  # fmt: skip

    def test_called_twice(self):
        calls = []

        def backward(x, g):  # the first call is right
            calls.append(0)
            return g * x.cos() * (1 + 0.01 * len(calls))

        self.fails(saving(torch.sin, backward), self.x, "keeps something between calls")

    def test_needs_input_grad(self):
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        def confused(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a if ctx.needs_input_grad[0] else None

        report = self.fails(function_of(forward, confused), (self.x, self.x + 1), "where only input 1 needs")
        self.assertEqual({i["verdict"] for i in report.to_dict()["inputs"]}, {"PASS"})

    def test_batched(self):
        own = saving(torch.square, lambda x, g: 2 * x * g if g.sum().item() else g)
        self.assertTrue(tapestry.check_torch(own, self.x))
        self.fails(own, self.x, "backward cannot be batched by vmap", batched=True)
        right = saving(torch.square, lambda x, g: 2 * x * g)
        self.assertTrue(tapestry.check_torch(right, self.x, batched=True))

    def test_right_ones(self):
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return [g @ b.T if ctx.needs_input_grad[0] else None, a.T @ g if ctx.needs_input_grad[1] else None]

        own = function_of(forward, lambda ctx, g: tuple(backward(ctx, g)))
        report = tapestry.check_torch(own, (self.x, self.x.T.clone()), batched=True)
        self.assertEqual(report.verdict, "PASS", report)
        refusing = saving(torch.square, lambda x, g: (2 * x.reshape(-1) * g.view(-1)).view(3, 4))
        report = tapestry.check_torch(refusing, self.x)
        self.assertEqual(report.verdict, "PASS", report)
        self.assertIn("note: backward does not accept a cotangent in transposed memory", str(report))


class Culprits(WithTorch):
    def functions(self):
        right = saving(torch.sin, lambda x, g: g * x.cos(), "Sine")
        wrong = saving(torch.exp, lambda x, g: 2 * g * x.exp(), "Doubled")
        return right.apply, wrong.apply  # as code keeps them

    def test_named(self):
        sine, doubled = self.functions()
        report = self.fails(
            lambda x: sine(doubled(sine(x)).mean(0)), self.x, "the first wrong Function in its graph: Doubled"
        )
        self.assertIn("looks like     constant factor", str(report))
        self.assertEqual(report.to_dict()["first_wrong"]["op"], "Doubled")
        self.assertEqual(report.to_dict()["first_wrong"]["cause"]["name"], "constant factor")

    def test_of_several_calls(self):
        own = saving(lambda x: x.abs().sqrt(), lambda x, g: g / (2 * x.abs().sqrt()), "Root")  # not for x < 0
        report = self.fails(lambda x: own.apply(own.apply(x * x + 1) - 3).sum(), self.x, "Root (call 2 of 2)")
        self.assertNotIn("also", report.to_dict()["complaints"][0])

    def test_a_convention_of_a_part(self):
        strided = saving(torch.sin, lambda x, g: raw(g) * x.cos(), "Strided")
        self.fails(lambda x: strided.apply(x).sum(), self.x, "the first wrong Function in its graph: Strided")

    def test_between_them(self):
        sine, _ = self.functions()
        report = self.fails(lambda x: sine(x) * sine(x).detach(), self.x, "are right by themselves: look for a detach()")
        self.assertIn("2 of 2 calls of Sine", str(report))
        self.fails(lambda x: sine(x.detach() + 0 * x.detach()) + self.x, self.x.clone(), "detached")

    def test_in_modules(self):
        _, doubled = self.functions()

        class Part(torch.nn.Module):
            def forward(self, x):
                return doubled(torch.tanh(x))

        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Sequential(Part())).double()
        report = self.fails(model, self.x, "Doubled, in 1.0")
        self.assertEqual(report.to_dict()["first_wrong"]["op"], "Doubled, in 1.0")

    def test_second_order(self):
        own = saving(torch.exp, lambda x, g: g * x.detach().exp(), "Once")
        self.assertTrue(tapestry.check_torch(lambda x: own.apply(x.sin()), self.x))
        self.fails(lambda x: own.apply(x.sin()), self.x, "in its graph: Once", order=2)

    def test_one_that_cannot_be_called_alone(self):
        prepared = []

        def forward(x):
            if not prepared:
                raise RuntimeError("no workspace")
            return x.exp()

        own = saving(forward, lambda x, g: 2 * g * x.exp())

        def f(x):
            prepared.append(True)
            y = own.apply(x)
            prepared.clear()
            return y

        report = tapestry.check_torch(f, self.x)
        self.assertEqual(report.verdict, "FAIL", report)
        self.assertNotIn("in its graph", str(report))

    def test_nothing_is_left_patched(self):
        own = saving(torch.exp, lambda x, g: 2 * g * x.exp())
        before = own.__dict__["forward"]
        tapestry.check_torch(lambda x: own.apply(x), self.x)
        self.assertIs(own.__dict__["forward"], before)


class Modules(WithTorch):
    def test_parameters_are_checked(self):
        layer = torch.nn.Linear(4, 2).double()
        report = tapestry.check_torch(layer, self.x)
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual([i["name"] for i in report.to_dict()["inputs"]], ["weight", "bias", "the input"])
        self.assertIn("note: checked 2 parameters, and all inputs", str(report))
        self.assertIsNone(layer.weight.grad)

    def test_a_wrong_parameter(self):
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        own = function_of(forward, lambda ctx, g: (g * ctx.saved_tensors[1], g.sum(0)), "Scale")

        class Scaled(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.nn.Parameter(torch.ones(4).double())
                self.shift = torch.nn.Parameter(torch.ones(4).double(), requires_grad=False)

            def forward(self, x):
                return own.apply(x, self.scale) + self.shift

        model = Scaled()
        report = self.fails(model, self.x, "the first wrong Function in its graph: Scale")
        failed = [i["name"] for i in report.to_dict()["inputs"] if i["verdict"] == "FAIL"]
        self.assertEqual(failed, ["scale"])
        self.assertIn("because they are frozen: shift", str(report))

    def test_state_stays(self):
        model = torch.nn.Sequential(
            torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.Dropout(0.3), torch.nn.Linear(5, 2)
        ).double()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        own = dict(model.named_parameters())
        torch.manual_seed(3)
        expected = torch.rand(1)
        torch.manual_seed(3)
        x = torch.cat([self.x, 2 * self.x.flip(0) + 0.3])
        report = tapestry.check_torch(model, x)
        self.assertEqual(report.verdict, "PASS", report)
        self.assertTrue(torch.equal(torch.rand(1), expected))
        self.assertIn("because they are buffers: 1.running_mean", str(report))
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        self.assertTrue(all(p is own[name] for name, p in model.named_parameters()))

    def test_shared_and_recurrent_parameters(self):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.one = torch.nn.Linear(4, 4)
                self.other = torch.nn.Linear(4, 4)
                self.other.weight = self.one.weight

            def forward(self, x):
                return self.other(torch.tanh(self.one(x)))

        report = tapestry.check_torch(Tied().double(), self.x)
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(len(report.to_dict()["inputs"]), 4)
        report = tapestry.check_torch(torch.nn.LSTM(4, 3).double(), self.x[:, None])
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual(len(report.to_dict()["inputs"]), 5)

    def test_tokens(self):
        model = torch.nn.Sequential(torch.nn.Embedding(7, 3), torch.nn.Linear(3, 2)).double()
        report = tapestry.check_torch(model, torch.tensor([1, 5, 1]))
        self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual([i["name"] for i in report.to_dict()["inputs"]], ["0.weight", "1.weight", "1.bias"])


    def test_sparse_gradients(self):
        model = torch.nn.Embedding(7, 3, sparse=True).double()
        report = tapestry.check_torch(model, torch.tensor([1, 5, 1]))
        self.assertEqual(report.verdict, "PASS", report)


class Edges(WithTorch):
    def test_x_on_the_end_of_the_domain(self):
        def f(x):
            if x.max() > 1:
                raise ValueError("above 1")
            return x**3

        report = tapestry.check_torch(f, torch.ones(2, dtype=torch.float64))
        self.assertNotEqual(report.verdict, "FAIL", report)

    def test_arguments_that_are_overwritten(self):
        mean, variance = torch.zeros(4).double(), torch.ones(4).double()
        steps = torch.zeros(1, dtype=torch.int64)

        def f(x, mean, variance, steps):
            steps += 1
            return steps * torch.nn.functional.batch_norm(x, mean, variance, training=True)

        x = self.x.clone().requires_grad_()
        for order in (1, 2):
            report = tapestry.check_torch(f, (x, mean, variance, steps), order=order)
            self.assertEqual(report.verdict, "PASS", report)
        self.assertEqual((mean.abs().max(), variance.min(), steps.item()), (0, 1, 0))

    def test_without_a_result(self):
        for f in (lambda x: x.argmax(), lambda x: None):
            with self.assertRaisesRegex(TypeError, "no result is a floating-point tensor"):
                tapestry.check_torch(f, self.x)


class Trees(WithTorch):
    def test_nested(self):
        @dataclass
        class State:
            h: object
            step: int

        def f(parameters, state):
            h = torch.tanh(state.h @ parameters["w"][0]) + parameters["w"][1]
            return {"state": State(h, state.step + 1), "loss": (h**2).sum()}

        w = [torch.ones(4, 4).double() / 3, torch.ones(4).double()]
        report = tapestry.check_torch(f, ({"w": w, "name": "unused"}, State(self.x, 3)))
        self.assertEqual(report.verdict, "PASS", report)
        names = [i["name"] for i in report.to_dict()["inputs"]]
        self.assertEqual(names, ["input 0.w[0]", "input 0.w[1]", "input 1.h"])


if __name__ == "__main__":
    unittest.main()
