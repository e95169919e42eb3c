"""One process of a GPT's training steps in PyTorch's DistributedDataParallel over gloo: what
tests/peers/together puts beside ours. Every process draws the whole batch and takes its rows.

    ddp.py [--threads N] --rank R --size P --address A --port N OPTIONS

Process 0 prints a line of JSON: seconds a step, and SHA-256 of all parameters after the last. The
model is peers.py's, which lies beside it.
"""
import argparse
import hashlib
import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers  # noqa: E402  beside this file, wherever that is


class Loss(nn.Module):
    """DistributedDataParallel watches forward() alone."""

    def __init__(self, gpt):
        super().__init__()
        self.gpt = gpt

    def forward(self, ids, targets):
        return self.gpt.loss(ids, targets)


def steps(given):
    torch.manual_seed(1337)  # the same weights everywhere
    gpt = peers.GPT(given)
    model = Loss(gpt)
    if given.size > 1:
        torch.distributed.init_process_group(
            "gloo", init_method=f"tcp://{given.address}:{given.port}", rank=given.rank,
            world_size=given.size)
        model = DistributedDataParallel(model)
    parameters = list(gpt.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    rows = given.batch // given.size
    batches = torch.Generator().manual_seed(7)

    def one():
        ids = torch.randint(0, given.vocab, (given.batch, given.context + 1), generator=batches)
        own = ids[given.rank * rows:(given.rank + 1) * rows]
        loss = model(own[:, :-1], own[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss.item()

    found = peers.counted(one, given.steps, given.warm_up)
    digest = hashlib.sha256()
    for parameter in parameters:
        digest.update(parameter.detach().numpy().tobytes())
    return {**found, "sha256": digest.hexdigest(), "parameters": sum(p.numel() for p in parameters)}


def main():
    parser = argparse.ArgumentParser()
    for name, default in {"threads": 1, "rank": 0, "size": 1, "port": 29518, "layers": 4, "heads": 4,
                          "dim": 128, "context": 64, "batch": 16, "vocab": 65, "steps": 20,
                          "warm_up": 3}.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=default)
    parser.add_argument("--address", default="127.0.0.1")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    found = steps(given)
    if given.rank == 0:
        print(json.dumps(found))
    if given.size > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
