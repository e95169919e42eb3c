#!/usr/bin/env python3
"""The mutation suite's cases through torch.autograd.gradcheck as it comes, beside our checker.

    mutations --export cases.json --every 1 --cases 5000
    tests/mutations/torch_gradcheck.py cases.json [--largest N] [--verbose]

Correct gradients: PyTorch's op and PyTorch's own rule; a False is a false alarm. Mutants: PyTorch's
op, and its rule's gradient of one input corrupted as the suite corrupts ours; a True is a miss.
A function of Tapestry's is compared where one of PyTorch's gives the same values and gradients.

Exit status 77 where there is no PyTorch, 1 where nothing could be compared.
"""
import argparse
import json
import sys
import time
import warnings
from collections import Counter

try:
    import torch
    from torch.autograd import gradcheck
    from torch.autograd.gradcheck import GradcheckError
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.dont_write_bytecode = True  # no __pycache__ in the tree
from torch_counterparts import COUNTERPARTS

DTYPES = {"f64": torch.float64, "i64": torch.int64, "bool": torch.bool}


# ---- functions ----------------------------------------------------------------------------------


def to_tensor(json_tensor: dict) -> torch.Tensor:
    values = torch.tensor(
        [float("nan") if v is None else v for v in json_tensor["values"]], dtype=torch.float64
    )
    return values.to(DTYPES[json_tensor["dtype"]]).reshape(json_tensor["shape"])


def joined(results) -> torch.Tensor:
    """Of several results the real ones, in one line, as tests/mutations/export.cpp has them."""
    if isinstance(results, torch.Tensor):
        return results
    real = [y for y in results if y.is_floating_point()]
    return real[0] if len(real) == 1 else torch.cat([y.flatten() for y in real])


class Function:
    """A row's sample: PyTorch's function of all inputs, and the inputs."""

    def __init__(self, case: dict):
        self.title = case["title"]
        self.row = f"{case['row']} ({case['variant']})" if case["variant"] else case["row"]
        self.counterpart = COUNTERPARTS.get(self.row)
        self.inputs = [to_tensor(x) for x in case["inputs"]]
        self.expected = to_tensor(case["output"])
        self.gradient = [to_tensor(x) for x in case["gradient"]]
        self.tied = case.get("tied", False)

    def call(self, *inputs) -> torch.Tensor:
        return joined(self.counterpart(*inputs))

    def leaves(self) -> list:
        """What gradcheck varies: the real inputs, each once."""
        real = [x for x in self.inputs if x.is_floating_point()]
        return [x.clone().requires_grad_() for x in (real[:1] if self.tied else real)]

    def all_inputs(self, leaves) -> list:
        if self.tied:
            return [leaves[0], leaves[0]]
        rest = iter(leaves)
        return [next(rest) if x.is_floating_point() else x for x in self.inputs]

    def jacobian_size(self) -> int:
        return sum(x.numel() for x in self.leaves()) * self.expected.numel()

    def why_not(self, largest: int) -> str:
        """Why it cannot be compared; empty if it can."""
        if self.counterpart is None:
            return "no counterpart"
        if self.jacobian_size() > largest:
            return "too large"
        try:
            return self.difference()
        except (RuntimeError, IndexError, ValueError) as error:  # of empty tensors, for instance
            return f"PyTorch refuses: {error}"[:60].split("\n", maxsplit=1)[0]

    def difference(self) -> str:
        """Is it another function? Empty if it is not."""
        if not same(self.call(*self.inputs), self.expected):
            return "other values"
        real = [x for x in self.inputs if x.is_floating_point()]
        for x, theirs, ours in zip(real, self.torch_gradient(), self.gradient):
            if not same(theirs, ours, self.rounding_of_gradient(x)):
                return "other gradients"
        return ""

    def rounding_of_gradient(self, x: torch.Tensor) -> float:
        """What may be left of a gradient by x that is 0 because its terms cancel."""
        y_size, x_size = (t.abs().max().item() if t.numel() else 0.0 for t in (self.expected, x))
        return 1e-12 * y_size * max(1.0, 1.0 / x_size if x_size else 0.0)

    def torch_gradient(self) -> list:
        """Of <w, y>, w = cos(0), cos(1), ..., as in tests/mutations/export.cpp."""
        xs = [x.clone().requires_grad_(x.is_floating_point()) for x in self.inputs]
        y = self.call(*xs)
        w = torch.arange(y.numel(), dtype=torch.float64).cos().reshape(y.shape)
        return pulled_back(y, [x for x in xs if x.requires_grad], w)


def pulled_back(y: torch.Tensor, xs: list, cotangent: torch.Tensor) -> list:
    """PyTorch's gradients; zeros where y does not depend on an x."""
    grads = torch.autograd.grad(y, xs, cotangent, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(xs, grads)]


def same(a: torch.Tensor, b: torch.Tensor, rounding: float = 0.0) -> bool:
    """The same function, rounded otherwise: enough to see whether another one was meant."""
    if a.shape != b.shape:
        return False
    if b.numel() == 0 or torch.equal(a, b):
        return True
    return bool(((a - b).abs() <= 1e-6 * b.abs().max() + rounding).all())


# ---- mutants ------------------------------------------------------------------------------------


class Mutant:
    """Corrupts a gradient as tests/mutations/mutant.cpp does."""

    def __init__(self, which: int, corruption: dict):
        self.which = which  # of the function's inputs
        self.kind = corruption["kind"]
        self.factor = corruption["factor"]
        self.axis = corruption["axis"]
        self.other = corruption["other"]
        self.before = None  # of the call before

    def corrupted(self, pull_back, incoming: torch.Tensor) -> list:
        """The gradients of all inputs. pull_back: the right rule."""
        right = pull_back(incoming)
        grads = list(right)
        g = right[self.which]
        if self.kind == "factor":
            g = g * self.factor
        elif self.kind == "transposed":
            g = g.transpose(-1, -2).reshape(g.shape)
        elif self.kind == "first_place":
            g = pull_back(first_place(incoming, self.axis))[self.which]
        elif self.kind == "zero":
            g = torch.zeros_like(g)
        elif self.kind == "shifted":
            g = g.flatten().roll(1).reshape(g.shape)
        elif self.kind == "other":
            g = right[self.other]
        elif self.kind == "incoming":
            g = incoming
        elif self.kind == "stale":
            last = torch.zeros_like(g) if self.before is None else self.before
            self.before, g = g.clone(), last  # gradcheck overwrites what g may be a view of
        else:
            raise ValueError(self.kind)
        grads[self.which] = g
        return grads


def first_place(x: torch.Tensor, axis: int) -> torch.Tensor:
    kept = torch.zeros_like(x)
    kept.select(axis, 0).copy_(x.select(axis, 0))
    return kept


class Corrupted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, mutant, *inputs):
        ctx.call, ctx.mutant = call, mutant
        ctx.save_for_backward(*inputs)
        return call(*inputs).clone()

    @staticmethod
    def backward(ctx, incoming):
        def pull_back(cotangent):
            xs = [
                x.detach().clone().requires_grad_(x.is_floating_point()) for x in ctx.saved_tensors
            ]
            real = [x for x in xs if x.requires_grad]
            with torch.enable_grad():
                y = ctx.call(*xs)
            found = iter(pulled_back(y, real, cotangent))
            return [next(found) if x.requires_grad else None for x in xs]

        return (None, None, *ctx.mutant.corrupted(pull_back, incoming))


# ---- PyTorch's verdict --------------------------------------------------------------------------


def passes(f, leaves: list) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of inputs that have no elements
        return gradcheck(f, leaves, raise_exception=False)


def complaint(f, leaves: list) -> str:
    """What gradcheck says where it does not pass."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gradcheck(f, leaves)
    except GradcheckError as error:
        return str(error).strip().split("\n")[0]
    return "nothing the second time"


def kind_of(text: str) -> str:
    """Of false alarms, which test it was."""
    if "Jacobian mismatch" in text:
        return "Jacobian mismatch"
    if "not reentrant" in text:
        return "not reentrant"
    return text[:60]


def judge(function: Function) -> str:
    """Of the right gradient; empty if it passes."""
    leaves = function.leaves()

    def f(*xs):
        return function.call(*function.all_inputs(xs))

    try:
        return "" if passes(f, leaves) else kind_of(complaint(f, leaves))
    except RuntimeError as error:
        return f"raised: {error}"[:60]


def detects(function: Function, mutant: Mutant) -> bool:
    def f(*xs):
        return Corrupted.apply(function.call, mutant, *function.all_inputs(xs))

    return not passes(f, function.leaves())


# ---- the tables ---------------------------------------------------------------------------------


def decade(exponent: float) -> str:
    """The inputs' scales lie within 10^-n .. 10^n."""
    return f"10^+-{min(6, int(exponent) + 1)}"


def print_table(first: str, columns: list, rows: dict) -> None:
    print(f"{first:<44}" + "".join(f"{name:>21}" for name in columns))
    total: Counter = Counter()
    for name in sorted(rows):
        print(f"{name:<44}" + "".join(f"{rows[name][c]:>21}" for c in columns))
        total += rows[name]
    print(f"{'all':<44}" + "".join(f"{total[c]:>21}" for c in columns) + "\n")


def left_out_text(left_out: Counter) -> str:
    return ", ".join(f"{count} {why}" for why, count in left_out.most_common()) or "none"


def compare_correct(cases: list, largest: int, verbose: bool) -> int:
    rows: dict = {}
    left_out: Counter = Counter()
    kinds: Counter = Counter()
    for case in cases:
        function = Function(case)
        why_not = function.why_not(largest)
        if why_not:
            left_out[why_not] += 1
            if verbose and why_not != "too large":
                print(f"left out, {why_not}: {function.title}")
            continue
        row = rows.setdefault(decade(case["exponent"]), Counter())
        row["cases"] += 1
        alarm = judge(function)
        if alarm:
            kinds[alarm] += 1
            row["PyTorch's alarms"] += 1
            if verbose:
                print(f"false alarm, {alarm}: {function.title}; ours: {case['ours']}")
        row["our alarms"] += case["ours"] == "FAIL"
        row["our INCONCLUSIVE"] += case["ours"] == "INCONCLUSIVE"
    columns = ["cases", "PyTorch's alarms", "our alarms", "our INCONCLUSIVE"]
    print_table("correct gradients, by scale of the inputs", columns, rows)
    print(f"PyTorch's alarms by kind: {left_out_text(kinds)}")
    print(f"cases left out: {left_out_text(left_out)}\n")
    return sum(row["cases"] for row in rows.values())


def compare_mutants(functions: list, mutants: list, largest: int, verbose: bool) -> int:
    rows: dict = {}
    left_out: Counter = Counter()
    known = [Function(case) for case in functions]
    why_not = [function.why_not(largest) for function in known]
    alarms = ["" if why else judge(function) for function, why in zip(known, why_not)]
    for mutant in mutants:
        i = mutant["function"]
        if why_not[i] or alarms[i]:
            left_out[why_not[i] or "right gradient rejected, too"] += 1
            continue
        row = rows.setdefault(mutant["mutation"], Counter())
        row["mutants"] += 1
        row["we missed"] += mutant["ours"] != "FAIL"
        if not detects(known[i], Mutant(mutant["input"], mutant["corruption"])):
            row["PyTorch missed"] += 1
            if verbose:
                print(
                    f"missed: {mutant['mutation']}, input {mutant['input']} of"
                    f" {known[i].title}; ours: {mutant['ours']}"
                )
    print_table("mutants", ["mutants", "PyTorch missed", "we missed"], rows)
    print(f"mutants left out: {left_out_text(left_out)}")
    return sum(row["mutants"] for row in rows.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cases", help="what `mutations --export` wrote")
    parser.add_argument(
        "--largest", type=int, default=1_000_000, help="leave larger Jacobians out"
    )
    parser.add_argument("--verbose", action="store_true", help="name alarms and misses")
    options = parser.parse_args()
    torch.set_num_threads(1)
    started = time.monotonic()
    with open(options.cases, encoding="utf-8") as file:
        exported = json.load(file)
    correct = compare_correct(exported["correct"], options.largest, options.verbose)
    mutants = compare_mutants(
        exported["functions"], exported["mutants"], options.largest, options.verbose
    )
    print(f"PyTorch {torch.__version__}, {time.monotonic() - started:.0f} s")
    return 0 if correct and mutants else 1


if __name__ == "__main__":
    sys.exit(main())
