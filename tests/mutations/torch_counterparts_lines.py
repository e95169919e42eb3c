"""PyTorch's functions for rows about lines of numbers: order, products, norms, systems.
See torch_counterparts.py.
"""
import torch

INF = float("inf")

ORDER = {
    "sort (last axis)": lambda x: x.sort(dim=-1, stable=True),
    "sort (first axis, descending)": lambda x: x.sort(dim=0, descending=True, stable=True),
    "sort (middle axis, descending)": lambda x: x.sort(dim=1, descending=True, stable=True),
    "quantile (last axis)": lambda x: x.quantile(0.9, -1),
    "quantile (middle axis, keepdim)": lambda x: x.quantile(0.5, 1, keepdim=True),
    "quantile (several q)": lambda x: x.quantile(x.new_tensor([0, 0.3, 1]), -1, keepdim=True),
    "quantile (of all)": lambda x: x.quantile(0.2),
    "topk (last axis)": lambda x: x.topk(3),
    "topk (last axis, smallest)": lambda x: x.topk(2, largest=False),
    "topk (one of the first axis)": lambda x: x.topk(1, 0),
    "topk (none)": lambda x: x.topk(0, 0),
    "kthvalue (middle axis)": lambda x: x.kthvalue(3, 1),
    "kthvalue (first axis, keepdim)": lambda x: x.kthvalue(3, 0, keepdim=True),
    "median (of all)": torch.median,
}
ORDER |= {
    f"{name} ({variant})": lambda x, f=f, axis=axis, keepdim=keepdim: f(x, axis, keepdim)
    for name, f in (
        ("median", torch.median),
        ("max_with_indices", torch.max),
        ("min_with_indices", torch.min),
    )
    for variant, axis, keepdim in (("last axis", -1, False), ("first axis, keepdim", 0, True))
}

EQUATIONS = (
    "...,i->i...", "...i,...i->...", "...i->i", "...ij,...jk", "aibj,jbck->kaic", "bi,oij,bj->bo",
    "bij,bij->b", "bij,bjk->bik", "bqhd,bkhd->bhqk", "i,j", "i...->...", "ii", "iii->i",
    "iij,ji->i", "ij, jk -> ik", "ij,ij->", "ij,ik->ijk", "ij,j", "ij,jk,k->i", "ij,jk->ki",
    "ij,kl->k", "ij->", "ij->ji", "iji->ij", "ijk,jl,kl,->il", "ji",
)  # fmt: skip

PRODUCTS = {
    "mm": torch.mm,
    "mv": torch.mv,
    "bmm": torch.bmm,
    "dot": torch.dot,
    "outer": torch.outer,
    "trace": lambda x: x.diagonal(0, -2, -1).sum(-1),
    "tensordot": torch.tensordot,
    "tensordot (named axes)": lambda a, b: torch.tensordot(a, b, ([0, -1], [2, 0])),
    "tensordot (outer)": lambda a, b: torch.tensordot(a, b, 0),
    "einsum (a chain of nine, greedy)": lambda *x: torch.linalg.multi_dot(x),
}
PRODUCTS |= {f"einsum ({text})": lambda *x, text=text: torch.einsum(text, *x) for text in EQUATIONS}


def of_axes(f, axes):
    """f along one axis after the other, from the last; `None`: of all."""

    def reduced(x, keepdim):
        if axes is None:
            return f(x.flatten(), 0, False)
        for axis in sorted((a % x.dim() for a in axes), reverse=True):
            x = f(x, axis, keepdim)
        return x

    return reduced


AXES = {
    "all axes": (None, False),
    "last axis, keepdim": ((-1,), True),
    "leading axes": ((0, 1), False),
    "middle axis": ((1,), False),
    "first and last axis": ((0, 2), True),
}

REDUCTIONS = {
    f"prod ({variant})": lambda x, axes=axes, keepdim=keepdim: of_axes(torch.prod, axes)(x, keepdim)
    for variant, (axes, keepdim) in AXES.items()
}
REDUCTIONS |= {
    f"norm ({variant})": lambda x, axes=axes, keepdim=keepdim: torch.linalg.vector_norm(
        x, 2, axes, keepdim
    )
    for variant, (axes, keepdim) in AXES.items()
}
REDUCTIONS |= {
    f"stddev ({variant})": lambda x, axes=axes, keepdim=keepdim: (
        x.std(axes, unbiased=False, keepdim=keepdim) if axes else x.std(unbiased=False)
    )
    for variant, (axes, keepdim) in AXES.items()
}
REDUCTIONS |= {
    f"cumprod ({variant})": lambda x, axis=axis: x.cumprod(axis)
    for variant, axis in (("last axis", -1), ("middle axis", 1), ("first axis", 0), ("scalar", 0))
}
REDUCTIONS |= {
    f"norm (p = {text})": lambda x, p=p, axis=axis, keepdim=keepdim: torch.linalg.vector_norm(
        x, p, axis, keepdim
    )
    for text, p, axis, keepdim in (
        ("1", 1, 1, False),
        ("3", 3, (0, 2), True),
        ("1.5", 1.5, 2, False),
        ("1/2", 0.5, 1, False),
        ("-1", -1, 1, False),
        ("inf", INF, 1, True),
        ("-inf", -INF, 2, False),
    )
}
REDUCTIONS["stddev (unbiased)"] = lambda x: x.std(1, unbiased=True)
REDUCTIONS["sum_to (twice)"] = lambda x: x.sum_to_size(1, 3).sum_to_size(3)


def far(a, shift):
    """Well conditioned, as the rows have them: 4 more in the place of a permutation."""
    return a + 4 * torch.eye(a.shape[-1], dtype=a.dtype).roll(shift, 1)


LINALG = {
    "solve": lambda a, b: torch.linalg.solve(far(a, 0), b),
    "solve (rows exchanged)": lambda a, b: torch.linalg.solve(far(a, 1), b),
    "solve (one vector)": lambda a, b: torch.linalg.solve(far(a, 1), b[:, None])[..., 0],
    "inverse": lambda a: torch.linalg.inv(far(a, 1)),
    "det": lambda a: torch.linalg.det(far(a, 1)),
    "logdet": lambda a: torch.logdet(far(a, 0)),
}

LINES = ORDER | PRODUCTS | REDUCTIONS | LINALG
