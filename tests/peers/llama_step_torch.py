"""A training step of a Llama in PyTorch, all parameters or LoRA's two products by hand, for
tests/peers/fine_tuning_torch: seconds and tokens/s of the median step, the process' peak memory.

Runs under a PyTorch 2.6, for example: torch_run llama_step_torch.py --lora 8 --steps 6
"""
import argparse
import math
import resource
import time

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
for name, value in {"layers": 30, "heads": 9, "kv-heads": 3, "dim": 576, "hidden": 1536,
                    "vocab": 49152, "T": 256, "B": 4, "steps": 6, "warm": 2, "lora": 0,
                    "prompt": 0, "threads": 2}.items():
    parser.add_argument("--" + name, type=int, default=value)
parser.add_argument("--seven", action="store_true", help="updates of all seven matrices")
parser.add_argument("--bf16", action="store_true", help="frozen weights and activations in bf16")
a = parser.parse_args()
torch.set_num_threads(a.threads)
torch.manual_seed(1)
width = a.dim // a.heads
dtype = torch.bfloat16 if a.bf16 else torch.float32


class Linear(nn.Module):
    """x W^T, with LoRA + 2 (x A^T) B^T: scale alpha / r with alpha = 2 r."""

    def __init__(self, i, o, update):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i).mul_(0.02).to(dtype), not a.lora)
        self.update = update and a.lora > 0
        if self.update:
            self.a = nn.Parameter(torch.empty(a.lora, i).uniform_(-1 / math.sqrt(i),
                                                                   1 / math.sqrt(i)))
            self.b = nn.Parameter(torch.zeros(o, a.lora))

    def forward(self, x):
        y = F.linear(x, self.weight)
        if not self.update:
            return y
        return y + F.linear(F.linear(x, self.a.to(x.dtype)) * 2, self.b.to(x.dtype))


def rotated(x, cos, sin):
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        shared = a.kv_heads * width
        self.n1 = nn.Parameter(torch.ones(a.dim, dtype=dtype), not a.lora)
        self.n2 = nn.Parameter(torch.ones(a.dim, dtype=dtype), not a.lora)
        self.q, self.k = Linear(a.dim, a.dim, True), Linear(a.dim, shared, a.seven)
        self.v, self.o = Linear(a.dim, shared, True), Linear(a.dim, a.dim, a.seven)
        self.gate = Linear(a.dim, a.hidden, a.seven)
        self.up = Linear(a.dim, a.hidden, a.seven)
        self.down = Linear(a.hidden, a.dim, a.seven)

    def forward(self, x, cos, sin):
        h = F.rms_norm(x, (a.dim,), self.n1, 1e-5)
        B, T, _ = h.shape
        q, k, v = (f(h).view(B, T, -1, width).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(rotated(q, cos, sin), rotated(k, cos, sin), v,
                                           is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(B, T, a.dim))
        h = F.rms_norm(x, (a.dim,), self.n2, 1e-5)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(a.vocab, a.dim).mul_(0.02).to(dtype), not a.lora)
        self.blocks = nn.ModuleList([Block() for _ in range(a.layers)])
        self.norm = nn.Parameter(torch.ones(a.dim, dtype=dtype), not a.lora)

    def forward(self, ids, targets):
        at = torch.arange(ids.shape[1])[:, None]
        angles = at / 100000.0 ** (torch.arange(0, width, 2) / width)
        angles = torch.cat([angles, angles], -1)
        cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
        x = F.embedding(ids, self.table)
        for block in self.blocks:
            x = block(x, cos, sin)
        logits = F.linear(F.rms_norm(x, (a.dim,), self.norm, 1e-5), self.table)
        return F.cross_entropy(logits.view(-1, a.vocab).float(), targets.reshape(-1))


model = Llama()
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=2e-4, betas=(0.9, 0.99), weight_decay=0.1)
times, cpu = [], []
for step in range(a.warm + a.steps):
    ids = torch.randint(a.vocab, (a.B, a.T + 1))
    targets = ids[:, 1:].clone()
    targets[:, :a.prompt] = -100  # not learned
    began, used = time.perf_counter(), time.process_time()
    loss = model(ids[:, :-1], targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    loss.item()
    times.append(time.perf_counter() - began)
    cpu.append(time.process_time() - used)
times, cpu = sorted(times[a.warm:]), sorted(cpu[a.warm:])
median, processor = times[len(times) // 2], cpu[len(cpu) // 2]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
print(f"PyTorch {torch.__version__}: {median:.2f} s a step, {a.B * a.T / median:.0f} tokens/s; "
      f"{processor:.2f} s of processor time; peak {peak:.2f} GB")
