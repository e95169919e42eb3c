#!/usr/bin/env python3
"""The suite's plain functions through torch.autograd.gradcheck as it comes, beside our checker.

    tests/mutations/torch_templates.py build/release/tests/mutations [--cases N] [--seed N]

The functions and their gradients are the suite's own, asked for over a pipe (serve.h); PyTorch sees
them as a torch.autograd.Function. Right ones: a False, or an exception, is a false alarm. Wrong ones: a
True is a miss.

Exit status 77 where there is no PyTorch, 1 where nothing could be compared.
"""
import argparse
import json
import subprocess
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


class Server:
    """`mutations --serve`: a line for a line."""

    def __init__(self, program: str, seed: int):
        command = [program, "--serve", "--seed", str(seed)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, line: str) -> str:
        self.process.stdin.write(line + "\n")
        answer = self.process.stdout.readline().rstrip("\n")
        if not answer:
            raise EOFError(f"no answer to {line[:40]}")
        if answer.startswith("error: "):
            raise ArithmeticError(answer)
        return answer

    def numbers(self, what: str, *tensors: torch.Tensor) -> torch.Tensor:
        values = [value.hex() for x in tensors for value in x.flatten().tolist()]
        found = self.ask(" ".join([what, *values]))
        return to_tensor(found)


def to_tensor(text: str) -> torch.Tensor:
    return torch.tensor([float.fromhex(word) for word in text.split()], dtype=torch.float64)


class Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, server, x):
        ctx.server = server
        ctx.save_for_backward(x)
        return server.numbers("f", x)

    @staticmethod
    def backward(ctx, incoming):
        (x,) = ctx.saved_tensors
        return None, ctx.server.numbers("g", x, incoming)


def torch_verdict(server: Server, x: torch.Tensor) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gradcheck(lambda x: Plain.apply(server, x), [x.requires_grad_()])
    except GradcheckError:
        return "FAIL"
    except ArithmeticError:  # f is not defined at x + eps
        return "exception"
    return "PASS"


def print_table(title: str, columns: list, rows: dict) -> None:
    print(f"{title:<26}" + "".join(f"{name:>21}" for name in columns))
    total: Counter = Counter()
    for name in sorted(rows):
        print(f"{name:<26}" + "".join(f"{rows[name][c]:>21}" for c in columns))
        total += rows[name]
    print(f"{'all':<26}" + "".join(f"{total[c]:>21}" for c in columns) + "\n")


def compare(server: Server, kind: str, options: argparse.Namespace) -> int:
    rows: dict = {}
    too_large = 0
    for number in range(options.cases):
        case = json.loads(server.ask(f"{kind} {number}"))
        x = to_tensor(case["x"])
        if x.numel() * case["outputs"] > options.largest:
            too_large += 1
            continue
        row = rows.setdefault(case["of"], Counter())
        theirs = torch_verdict(server, x)
        row["cases"] += 1
        row[f"PyTorch {theirs}"] += 1
        row[f"ours {case['ours']}"] += 1
        if options.verbose:
            print(f"{kind} {number}: PyTorch {theirs}, ours {case['ours']}; {case['title']}")
    words = ["PASS", "FAIL", "exception"]
    columns = ["cases", *(f"PyTorch {word}" for word in words)]
    columns += [f"ours {word}" for word in ["PASS", "INCONCLUSIVE", "FAIL", "exception"]]
    print_table("right, by template" if kind == "right" else "wrong, by mistake", columns, rows)
    if too_large:
        print(f"left out, too large: {too_large}\n")
    return sum(row["cases"] for row in rows.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", help="the `mutations` of a build")
    parser.add_argument("--cases", type=int, default=700, help="right ones, and as many wrong ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=2000, help="leave larger Jacobians out")
    parser.add_argument("--verbose", action="store_true", help="a line for each")
    options = parser.parse_args()
    torch.set_num_threads(1)
    started = time.monotonic()
    server = Server(options.program, options.seed)
    compared = [compare(server, kind, options) for kind in ("right", "wrong")]
    print(f"PyTorch {torch.__version__}, {time.monotonic() - started:.0f} s")
    return 0 if all(compared) else 1


if __name__ == "__main__":
    sys.exit(main())
