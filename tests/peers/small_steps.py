"""small_steps.cpp in PyTorch: the same networks, losses and optimisers, eager.

    small_steps.py NAME STEPS [--threads 1]
"""
import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F


def layers(activation, sizes):
    parts = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        parts += ([activation()] if i else []) + [nn.Linear(a, b)]
    return nn.Sequential(*parts)


def pinn(sizes, n):
    network = layers(nn.Tanh, sizes)
    optimizer = torch.optim.Adam(network.parameters())
    t = torch.linspace(0, 3, n).unsqueeze(1).requires_grad_()

    def step():
        u = network(t)
        first, = torch.autograd.grad(u.sum(), t, create_graph=True)
        second, = torch.autograd.grad(first.sum(), t, create_graph=True)
        loss = (second + u).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def classifier(network, x):
    optimizer = torch.optim.AdamW(network.parameters())
    labels = torch.randint(0, 10, (x.shape[0],))

    def step():
        loss = F.cross_entropy(network(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


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

    def step():
        torch.autograd.grad((layer(x) * g).sum(), [x, layer.weight, layer.bias])

    return step


def recurrent(kind):
    layer = kind(64, 128, batch_first=True)
    x = torch.randn(32, 50, 64)

    def step():
        loss = layer(x)[0].square().mean()
        layer.zero_grad()
        loss.backward()

    return step


WORKS = {
    "pinn32": lambda: pinn([1, 32, 32, 1], 256),
    "pinn128": lambda: pinn([1, 128, 128, 128, 1], 64),
    "mlp64": lambda: perceptron([64, 128, 64, 10], 32),
    "mlp784": lambda: perceptron([784, 512, 512, 10], 32),
    "digits": lambda: digits(64),
    "conv16": lambda: convolution(64, 16, 32, 8),
    "conv32": lambda: convolution(64, 32, 64, 4),
    "lstm": lambda: recurrent(nn.LSTM),
    "gru": lambda: recurrent(nn.GRU),
}

parser = argparse.ArgumentParser()
parser.add_argument("name", choices=WORKS)
parser.add_argument("steps", type=int)
parser.add_argument("--threads", type=int, default=1)
given = parser.parse_args()
torch.set_num_threads(given.threads)
torch.manual_seed(1)
work = WORKS[given.name]()
times = []
for i in range(given.steps + 10):
    begin = time.process_time()
    work()
    if i >= 10:
        times.append(time.process_time() - begin)
print(f"{1e6 * sorted(times)[len(times) // 2]:.1f}")
