"""The form of the corpus: kernels as people and programs write them, each with one fault to plant.

A row has a source in which f and vjp (for PyTorch forward and backward) are defined, inputs as an expression
of N (normal numbers), U (uniform in a range) and so on, and one replacement in the source that makes it
wrong: "old => new". `cause` is part of the mistake's name in the report, where the checker has a name for
it; several are separated by |. A replacement may contain newlines.
"""

import textwrap
from dataclasses import dataclass

import numpy as np


@dataclass
class Kernel:
    name: str
    inputs: str
    source: str
    fault: str
    cause: str = ""

    def text(self, wrong):
        """The source, with its fault if `wrong`."""
        right = textwrap.dedent(self.source)
        old, arrow, new = self.fault.partition(" => ")
        if not arrow or right.count(old) != 1:
            raise ValueError(f"{self.name}: the fault {old!r} must be in the source once")
        return right.replace(old, new) if wrong else right

    def arguments(self, seed=0):
        """The arrays of its inputs."""
        rng = np.random.default_rng([seed, sum(map(ord, self.name))])
        names = {
            "N": lambda *shape: rng.normal(size=shape),
            "U": lambda low, high, *shape: rng.uniform(low, high, shape),
            "SPD": lambda n: (lambda a: a @ a.T + n * np.eye(n))(rng.normal(size=(n, n))),
            "np": np,
        }
        given = eval(self.inputs, names)
        return given if isinstance(given, tuple) else (given,)

    def namespace(self, wrong, **names):
        """The names that the source defines."""
        names = dict(names)
        exec(compile(self.text(wrong), f"<{self.name}>", "exec"), names)
        return names
