"""Gives every kernel of the corpus to the checker, right and with its fault, and prints a table.

    PYTHONPATH=build/release/python python3 tests/kernels/judge.py [--verbose] [numpy] [c] [torch] [torch-f32]

For those of PyTorch also what torch.autograd.gradcheck says. Read next: table.py.
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import c_kernels
import numpy as np
import numpy_kernels
import tapestry
import torch_kernels

# Causes in the tables that are no mistake in the numbers but in how the gradient is called.
CONVENTIONS = ("overwrites the cotangent", "overwrites what forward saved", "is not linear", "only", "misreads a cotangent",
               "misreads inputs", "offset", "unused", "None")  # fmt: skip


def of_numpy(kernel, wrong):
    names = kernel.namespace(wrong, np=np)
    return names["f"], names["vjp"]


class CLibrary:
    """All kernels in C, compiled once right and once wrong."""

    def __init__(self):
        # Where ctest runs this, because libraries may not be loaded from /tmp.
        self.directory = tempfile.TemporaryDirectory(dir=os.environ.get("TAPESTRY_BUILD_DIR"))
        self.libraries = [self.compiled(wrong) for wrong in (False, True)]

    def compiled(self, wrong):
        source, library = (Path(self.directory.name, f"kernels_{wrong}.{end}") for end in ("c", "so"))
        parts = ["#include <math.h>"]
        for k in c_kernels.KERNELS:
            renamed = re.sub(r"\b(f|vjp|stats|weights|target|tokens|R|C)\b(?!\")", rf"{k.name}_\1", k.text(wrong))
            parts.append(renamed)
        source.write_text("\n".join(parts))
        subprocess.run(["cc", "-std=c99", "-O1", "-fPIC", "-shared", source, "-lm", "-o", library], check=True)
        return ctypes.CDLL(str(library))

    def functions(self, kernel, wrong):
        library = self.libraries[wrong]

        def call(name, arrays, results):
            arrays = [np.ascontiguousarray(a, np.float64) for a in arrays]
            pointers = [ctypes.c_void_p(a.ctypes.data) for a in [*arrays, *results]]
            getattr(library, f"{kernel.name}_{name}")(*pointers)

        def f(*x):
            y = np.empty(kernel.output)
            call("f", x, [y])
            return y

        def vjp(*x_and_g):
            gradients = [np.empty(a.shape) for a in x_and_g[:-1]]
            call("vjp", x_and_g, gradients)
            return gradients

        return f, vjp


def of_torch(kernel, wrong, dtype="float64"):
    import torch

    if dtype == "float32":  # so are the numbers that a kernel holds
        kernel = replace(kernel, source=kernel.source.replace(".double()", ".float()"))
    names = kernel.namespace(wrong, torch=torch)
    methods = {name: staticmethod(names[name]) for name in ("forward", "backward")}
    return type("F", (torch.autograd.Function,), methods)


@dataclass
class Verdict:
    """The verdicts on one kernel."""

    kernel: object
    wrong: bool
    report: object
    peer: str = ""  # of torch.autograd.gradcheck
    off: list = field(default_factory=list)  # inputs whose gradient is wrong; empty: not known

    def name(self):
        return f"{self.kernel.name}, {'wrong' if self.wrong else 'right'}"

    def cause(self):
        """The mistake that the report names, or what it says of how the gradient is called."""
        found = self.report.to_dict()
        if found["complaints"]:
            return found["complaints"][0]
        cause = found.get("first_wrong", found).get("cause", {"name": "unknown"})
        return "" if cause["name"] in ("unknown", "none") else cause["name"]

    def place_is_right(self):
        """Is the input that the report names wrong indeed? None if it names none."""
        found = self.report.to_dict()
        failed = [i for i, one in enumerate(found["inputs"]) if one["verdict"] == "FAIL"]
        return None if not failed or not self.off else all(i in self.off for i in failed)


def wrong_inputs(right, wrong, inputs, outputs):
    """Those whose gradients differ."""
    g = np.random.default_rng(3).normal(size=outputs.shape)
    gradients = [vjp(*(x.copy() for x in inputs), g.copy()) for vjp in (right, wrong)]
    a, b = ([d] if isinstance(d, np.ndarray) else d for d in gradients)
    return [i for i, (p, q) in enumerate(zip(a, b)) if not np.allclose(p, q, rtol=1e-9, atol=0)]


def arrays_judged(kernels, functions, seed=0):
    for kernel in kernels:
        inputs = kernel.arguments(seed)
        for wrong in (False, True):
            f, vjp = functions(kernel, wrong)
            verdict = Verdict(kernel, wrong, tapestry.check_vjp(f, vjp, inputs))
            if wrong:
                right = functions(kernel, False)[1]
                verdict.off = wrong_inputs(right, vjp, inputs, np.asarray(f(*inputs)))
            yield verdict


def torch_judged(kernels=torch_kernels.KERNELS, seed=0, dtype="float64", peer=True):
    import torch

    for kernel in kernels:
        for wrong in (False, True):
            inputs = [
                torch.tensor(x, dtype=getattr(torch, dtype), requires_grad=True)
                for x in kernel.arguments(seed)
            ]
            report = tapestry.check_torch(of_torch(kernel, wrong, dtype), tuple(inputs))
            verdict = Verdict(kernel, wrong, report)
            if wrong:
                verdict.off = wrong_inputs_of_torch(kernel, inputs, dtype)
            if peer:
                verdict.peer = peer_verdict(of_torch(kernel, wrong), inputs)
            yield verdict


def wrong_inputs_of_torch(kernel, inputs, dtype):
    """Those whose gradients the fault changes."""
    import torch

    gradients = []
    for wrong in (False, True):
        y = of_torch(kernel, wrong, dtype).apply(*inputs)
        y = sum(part.sin().sum() for part in (y if isinstance(y, tuple) else (y,)) if part.requires_grad)
        gradients.append(torch.autograd.grad(y, inputs))
    far = 1e-4 if dtype == "float32" else 1e-6
    return [i for i, (a, b) in enumerate(zip(*gradients)) if not torch.allclose(a, b, rtol=far, atol=0)]


def peer_verdict(function, inputs):
    import torch

    try:
        torch.autograd.gradcheck(function.apply, inputs)
    except Exception:  # GradcheckError, any exception of the function
        return "FAIL"
    return "PASS"


def judged(kind):
    if kind == "numpy":
        return list(arrays_judged(numpy_kernels.KERNELS, of_numpy))
    if kind == "c":
        library = CLibrary()
        with library.directory:
            return list(arrays_judged(c_kernels.KERNELS, library.functions))
    return list(torch_judged(dtype="float32" if kind == "torch-f32" else "float64", peer=kind == "torch"))


def is_named(verdict):
    """Whether the cause is the one of the table; None where the table has none."""
    if not verdict.kernel.cause:
        return None
    return any(name in verdict.cause() for name in verdict.kernel.cause.split("|"))


def row(kind, verdicts):
    """A line of the table."""
    right = [v for v in verdicts if not v.wrong]
    wrong = [v for v in verdicts if v.wrong]
    count = lambda those, what: sum(v.report.verdict == what for v in those)  # noqa: E731
    named = [is_named(v) for v in wrong if v.report.verdict == "FAIL" and is_named(v) is not None]
    some = sum(bool(v.cause()) for v in wrong if v.report.verdict == "FAIL")
    places = [v.place_is_right() for v in wrong if v.place_is_right() is not None]
    peer = [sum(v.peer == "FAIL" for v in those) if those[0].peer else "" for those in (right, wrong)]
    cells = [kind, len(verdicts), count(right, "FAIL"), count(right, "INCONCLUSIVE"), count(wrong, "PASS"),
             count(wrong, "INCONCLUSIVE"), f"{sum(named)} of {len(named)}", f"{some} of {len(wrong)}",
             f"{sum(places)} of {len(places)}", *peer]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def main(arguments):
    verbose = "--verbose" in arguments
    kinds = [a for a in arguments if not a.startswith("-")] or ["numpy", "c"]
    print("| | kernels | right FAIL | right undecided | wrong PASS | wrong undecided | cause as in the table "
          "| some cause | place right | gradcheck: right FAIL | wrong FAIL |")  # fmt: skip
    print("|---" * 11 + "|")
    failed = False
    for kind in kinds:
        verdicts = judged(kind)
        print(row(kind, verdicts))
        for v in verdicts:
            expected = "FAIL" if v.wrong else "PASS"
            failed = failed or {expected, v.report.verdict} == {"PASS", "FAIL"}
            if v.report.verdict != expected or (verbose and v.wrong):
                print(f"{v.name()}: {v.cause() or 'no cause'}" if verbose else f"{v.name()}:")
                print("    " + str(v.report).replace("\n", "\n    ") if v.report.verdict != expected else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
