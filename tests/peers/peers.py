"""What tests/peers/run measures of ours, in PyTorch, eager: the same sizes, losses and optimisers.
Needs no other file of this folder, so that it can be copied to where PyTorch is.

    peers.py [--threads N] step|attention|products|small|versions OPTIONS

prints one line of JSON: seconds, median and fastest, after a warm-up that does not count. What is
measured is written as ours is (nn/bench, small_steps.cpp): arguments are made before, results are
made anew each time, as a user's would be.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def summary(seconds):
    seconds = sorted(seconds)
    count = len(seconds)
    return {"median": seconds[count // 2], "fastest": seconds[0],
            "p95": seconds[(95 * count + 99) // 100 - 1]}


def counted(step, count, warm, clock=time.perf_counter):
    """`count` calls after `warm` ones."""
    seconds = []
    for i in range(warm + count):
        begin = clock()
        step()
        if i >= warm:
            seconds.append(clock() - begin)
    return summary(seconds)


def budgeted(call, budget):
    """Calls for `budget` seconds, five at least, after one."""
    seconds = []
    call()
    start = time.perf_counter()
    while len(seconds) < 5 or time.perf_counter() - start < budget:
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return summary(seconds)


# ---- a GPT's training step ----------------------------------------------------------------------

class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_layers = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.output = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):  # [B, T, C]
        parts = self.qkv(self.before_attention(x)).chunk(3, dim=-1)
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(seen.transpose(1, 2).flatten(2))
        inner = F.gelu(self.up(self.before_layers(x)), approximate="tanh")
        return x + self.down(inner)


class GPT(nn.Module):
    def __init__(self, given):
        super().__init__()
        self.tokens = nn.Embedding(given.vocab, given.dim)
        self.positions = nn.Embedding(given.context, given.dim)
        self.blocks = nn.Sequential(*(Block(given.dim, given.heads) for _ in range(given.layers)))
        self.norm = nn.LayerNorm(given.dim)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 2:
                residual = name.endswith(("output.weight", "down.weight"))
                smaller = math.sqrt(2 * given.layers) if residual else 1
                nn.init.normal_(parameter, std=0.02 / smaller)

    def loss(self, ids, targets):  # [B, T]; the head's weights are the tokens'
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        logits = self.norm(self.blocks(x)) @ self.tokens.weight.t()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def spinning():
    """A process that keeps the last core to itself, as bench/busy.cpp's thread does."""
    last = max(os.sched_getaffinity(0))
    spin = f"import os\nos.sched_setaffinity(0, {{{last}}})\nwhile True: pass"
    return subprocess.Popen([sys.executable, "-c", spin])


def step(given):
    model = GPT(given)
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))

    def one():
        ids = torch.randint(0, given.vocab, (given.batch, given.context + 1))
        loss = model.loss(ids[:, :-1], ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss.item()

    spinner = spinning() if given.spin else None
    try:
        result = counted(one, given.steps, given.warm_up)
    finally:
        if spinner:
            spinner.kill()
            spinner.wait()
    return {**result, "parameters": sum(p.numel() for p in parameters)}


# ---- attention and products ---------------------------------------------------------------------

def attention(given):
    shape = (given.batch, given.heads, given.context, given.head_dim)
    q, k, v = (torch.randn(shape, requires_grad=True) for _ in range(3))
    g = torch.randn(shape)

    def both():
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.autograd.grad(y, (q, k, v), g)

    return budgeted(both, given.seconds)


def operand(rows, columns, transposed, dtype):
    if transposed:
        return torch.randn(columns, rows, dtype=dtype).t()
    return torch.randn(rows, columns, dtype=dtype)


def products(given):
    """FORM:MxNxK, as NT:768x384x128. Each is C = op(A) op(B), C made anew."""
    dtype = torch.float64 if given.dtype == "f64" else torch.float32
    found = {}
    for product in given.products:
        form, sizes = product.split(":")
        m, n, k = map(int, sizes.split("x"))
        a, b = operand(m, k, form[0] == "T", dtype), operand(k, n, form[1] == "T", dtype)
        found[product] = budgeted(lambda: torch.mm(a, b), given.seconds)
    return found


# ---- small steps: small_steps.cpp says what they are ---------------------------------------------

def layers(activation, sizes):
    parts = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        parts += ([activation()] if i else []) + [nn.Linear(a, b)]
    return nn.Sequential(*parts)


def pinn(sizes, n):
    network = layers(nn.Tanh, sizes)
    optimizer = torch.optim.Adam(network.parameters())
    t = torch.linspace(0, 3, n).unsqueeze(1).requires_grad_()

    def one():
        u = network(t)
        first, = torch.autograd.grad(u.sum(), t, create_graph=True)
        second, = torch.autograd.grad(first.sum(), t, create_graph=True)
        loss = (second + u).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return one


def classifier(network, x):
    optimizer = torch.optim.AdamW(network.parameters())
    labels = torch.randint(0, 10, (x.shape[0],))

    def one():
        loss = F.cross_entropy(network(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return one


def perceptron(sizes, batch):
    return classifier(layers(nn.ReLU, sizes), torch.randn(batch, sizes[0]))


def digits(batch):
    parts, before = [], 1
    for channels in (16, 32, 64):
        parts += [nn.Conv2d(before, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()]
        parts += [nn.MaxPool2d(2)] if before > 1 else []
        before = channels
    network = nn.Sequential(*parts, nn.Flatten(), nn.Linear(256, 10))
    return classifier(network, torch.randn(batch, 1, 8, 8))


def convolution(batch, inputs, outputs, side):
    layer = nn.Conv2d(inputs, outputs, 3, padding=1)
    x = torch.randn(batch, inputs, side, side, requires_grad=True)
    g = torch.randn(batch, outputs, side, side)

    def one():
        torch.autograd.grad((layer(x) * g).sum(), [x, layer.weight, layer.bias])

    return one


def recurrent(kind):
    layer = kind(64, 128, batch_first=True)
    x = torch.randn(32, 50, 64)

    def one():
        loss = layer(x)[0].square().mean()
        layer.zero_grad()
        loss.backward()

    return one


SMALL = {
    "pinn32": lambda: pinn([1, 32, 32, 1], 256),
    "pinn128": lambda: pinn([1, 128, 128, 128, 1], 64),
    "pinn4096": lambda: pinn([1, 128, 128, 128, 1], 4096),
    "mlp64": lambda: perceptron([64, 128, 64, 10], 32),
    "mlp784": lambda: perceptron([784, 512, 512, 10], 32),
    "mlp256": lambda: perceptron([784, 512, 512, 10], 256),
    "digits": lambda: digits(64),
    "conv16": lambda: convolution(64, 16, 32, 8),
    "conv32": lambda: convolution(64, 32, 64, 4),
    "lstm": lambda: recurrent(nn.LSTM),
    "gru": lambda: recurrent(nn.GRU),
}


def versions(_):
    return {"PyTorch": torch.__version__}


def small(given):
    return counted(SMALL[given.name](), given.steps, 10, time.process_time)


# ---- the command line ---------------------------------------------------------------------------

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=int(os.environ.get("THREADS", 2)))
    works = parser.add_subparsers(required=True)

    def work(function, **numbers):
        options = works.add_parser(function.__name__)
        options.set_defaults(measure=function)
        for name, default in numbers.items():
            options.add_argument("--" + name.replace("_", "-"), type=type(default),
                                 default=default)
        return options

    work(step, layers=4, heads=4, dim=128, context=64, batch=12, vocab=65, steps=50,
         warm_up=5).add_argument("--spin", action="store_true")
    work(attention, batch=4, heads=6, context=1024, head_dim=64, seconds=0.2)
    work(products, dtype="f32", seconds=0.2).add_argument("products", nargs="+")
    work(versions)
    options = work(small)
    options.add_argument("name", choices=SMALL)
    options.add_argument("steps", type=int)
    return parser.parse_args()


def main():
    given = arguments()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    print(json.dumps(given.measure(given)))


if __name__ == "__main__":
    main()
