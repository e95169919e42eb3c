"""For rows of the op table: the function of PyTorch that computes the same, of the same inputs.

Rows are called by their titles, "softmax (first axis)". Not here: dropout, whose mask comes from
Tapestry's own random numbers. Read next: torch_counterparts_lines.py, torch_counterparts_layers.py.
"""
import torch
import torch.nn.functional as F
from torch_counterparts_layers import LAYERS
from torch_counterparts_lines import LINES

EPS = 1e-2  # of the norms

ELEMENTWISE = {
    "neg": torch.neg,
    "abs": torch.abs,
    "square": torch.square,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "exp": torch.exp,
    "log": torch.log,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "silu": F.silu,
    "softplus": F.softplus,
    "gelu (tanh)": lambda x: F.gelu(x, approximate="tanh"),
    "gelu (erf)": F.gelu,
    "to (f64 and back)": lambda x: x.to(torch.float64),
    "clamp": lambda x: x.clamp(-1, 1.5),
    "add (number)": lambda x: 1.5 + (x + 0.25),
    "sub (number)": lambda x: 1.5 - (x - 0.25),
    "mul (number)": lambda x: 2.0 * (x * 1.5),
    "div (number)": lambda x: 2.0 / (x / 1.5),
    "pow (square)": lambda x: x**2,
    "pow (cube)": lambda x: x**3,
    "pow (fourth)": lambda x: x**4,
    "pow (roots and inverses)": lambda x: x**0.5 + x**-0.5 + x**-1 + x**1,
    "pow (zeroth)": lambda x: x**0,
    "nan_to_num": lambda x: torch.nan_to_num(x + others(x.detach()), -3, 5),
    "floor_divide (number)": lambda x: torch.div(x, -1.5, rounding_mode="floor"),
    "remainder (number)": lambda x: torch.remainder(x, -1.5),
    "fmod (number)": lambda x: torch.fmod(x, -1.5),
}
ELEMENTWISE |= {
    name: getattr(torch, name)
    for name in (
        "log1p expm1 log2 log10 erf tan asin acos atan sinh cosh reciprocal sign floor ceil round"
        " trunc"
    ).split()
}


def others(x):
    """As the row has it: NaN below -1, infinite in [0, 1), else a number."""
    return (x + 1).sign().sqrt() / x.floor().clamp(-2, 2)


SEVERAL_OPERANDS = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "atan2": torch.atan2,
    "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "where": torch.where,
    "masked_fill": lambda x, mask: x.masked_fill(mask, -1.25),
    "embedding": lambda weight, ids: F.embedding(ids, weight),
    "index_select": lambda x, ids: x.index_select(-2, ids),
    "gather (axis 0)": lambda x, ids: x.gather(0, ids),
    "gather (axis 1)": lambda x, ids: x.gather(1, ids),
    "matmul": torch.matmul,
    "matmul (one large product)": lambda a, b: a.T @ b.T,
    "matmul (few rows)": torch.matmul,
    "matmul (few rows, transposed)": lambda a, b: a @ b.T,
    "matmul (one matrix for a batch)": torch.matmul,
    "matmul (vector x vector)": torch.matmul,
    "matmul (vector x matrix)": torch.matmul,
    "matmul (matrix x vector)": torch.matmul,
    "linear": F.linear,
    "linear (no bias)": F.linear,
    "scatter (axis 0)": lambda x, ids, source: x.scatter(0, ids, source),
    "scatter (axis 1)": lambda x, ids, source: x.scatter(1, ids, source),
    "index_put": lambda x, values: put_in_every_second(x, values),
    "index_put (added)": lambda x, ids, rows: x.index_put((ids,), rows, accumulate=True),
    "concat": lambda *parts: torch.cat(parts, -1),
    "stack": lambda *parts: torch.stack(parts, 1),
}


def put_in_every_second(x, values):
    y = x.clone()
    y[:, ::2] = values
    return y


VIEWS = {
    "reshape": lambda x: x.reshape(-1, 2, x.shape[-1]),
    "reshape (to a vector)": lambda x: x.reshape(x.numel()),
    "transpose": lambda x: x.transpose(0, -1),
    "permute": lambda x: x.permute(2, 0, 1),
    "contiguous": lambda x: x.transpose(0, 1).contiguous(),
    "slice": lambda x: x[..., 1:4],
    "slice (every third, clipped)": lambda x: x[::3],
    "slice (empty)": lambda x: x[2:1],
    "slice (backwards)": lambda x: x.flip(0)[::2],
    "slice (backwards, without the ends)": lambda x: x[..., 1:-1].flip(-1),
    "squeeze": lambda x: x.squeeze(-2),
    "unsqueeze": lambda x: x.unsqueeze(-1).unsqueeze(0),
    "flatten": lambda x: x.flatten(1, 2),
    "flatten (all axes)": torch.flatten,
    "expand": lambda x: x.expand(2, 3, 4),
    "expand (to nothing)": lambda x: x.expand(0, 3),
    "split (sizes)": lambda x: x.split([2, 1, 3], 1),
    "split (chunks)": lambda x: torch.cat(x.split(2, -1), 0),
    "split (one piece)": lambda x: x.split(5, 0)[0],
    "pad": lambda x: F.pad(x, (0, 3, 1, 2), value=1.5),
}

PARTS = {
    "select": lambda x: x.select(-2, -1),
    "narrow": lambda x: x.narrow(0, -1, 1),
    "index (positions and slices)": lambda x: x.flip(1)[0, ::2, None, ..., -1],
    "index (bounds)": lambda x: x[1:100, :-1, -2:],
    "index (mask)": lambda x, mask: x[mask],
    "index (numbers)": lambda x, ids: x[..., ids],
    "index (numbers for two axes)": lambda x, i, j: x[:, i, j],
    "masked_select": torch.masked_select,
    "nonzero": torch.nonzero,
    "scatter (value)": lambda x, ids: x.scatter(-1, ids, 1.5),
    "unfold (overlapping)": lambda x: x.unfold(0, 3, 1),
    "unfold (apart)": lambda x: x.unfold(-1, 1, 2),
    "unfold (by two)": lambda x: x.unfold(1, 3, 2),
    "diagonal": torch.diagonal,
    "diagonal (below, of the outer axes)": lambda x: x.diagonal(-1, -1, 0),
    "flip": lambda x: x.flip(-1, 0),
    "roll": lambda x: x.roll(2, -1),
    "roll (back, two axes)": lambda x: x.roll((-8, 1), (0, 1)),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "repeat (not once)": lambda x: x.repeat(0),
    "tile": lambda x: x.tile((3,)),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 0),
    "repeat_interleave (counts)": lambda x, counts: x.repeat_interleave(counts, -1),
    "movedim": lambda x: x.movedim(0, -1),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "cat": lambda *parts: torch.cat(parts, -1),
    "chunk": lambda x: x.chunk(4, -1),
    "unbind": lambda x: x.unbind(-1),
    "split (and joined again)": lambda x: torch.cat([x.split([2, 1, 3], 1)[i] for i in (2, 0)], 1),
    "meshgrid (ij)": lambda *x: torch.meshgrid(*x, indexing="ij"),
    "meshgrid (xy)": lambda *x: torch.meshgrid(*x, indexing="xy"),
}
PARTS |= {
    f"diag (of a {kind}, {offset})": lambda x, offset=offset: x.diag(offset)
    for kind in ("matrix", "vector")
    for offset in (0, 2, -1)
}

SCANS_AND_SOFTMAX = {
    "cumsum (last axis)": lambda x: x.cumsum(-1),
    "cumsum (middle axis)": lambda x: x.cumsum(1),
    "cumsum (first axis)": lambda x: x.cumsum(0),
    "cumsum (scalar)": lambda x: x.cumsum(0),
    "softmax (last axis)": lambda x: x.softmax(-1),
    "softmax (first axis)": lambda x: x.softmax(0),
    "softmax (scalar)": lambda x: x.softmax(-1),
    "log_softmax (last axis)": lambda x: x.log_softmax(-1),
    "log_softmax (first axis)": lambda x: x.log_softmax(0),
    "log_softmax (scalar)": lambda x: x.log_softmax(-1),
}


def layer_norm(x, weight=None, bias=None):
    return F.layer_norm(x, x.shape[-1:], weight, bias, EPS)


def rms_norm(x, weight=None):
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS)
    return y if weight is None else y * weight


NORMS = {
    "layer_norm (weight and bias)": layer_norm,
    "layer_norm (weight)": layer_norm,
    "layer_norm (plain)": layer_norm,
    "rms_norm (weight)": rms_norm,
    "rms_norm (plain)": rms_norm,
}


def scatter_add(x, ids, source):
    """PyTorch has a gradient only where there is an index for every element of the source."""
    return x.scatter_add(0, ids, source[tuple(slice(n) for n in ids.shape)])


def triangles():
    """tril and triu as far as they go: beyond a matrix, diagonals are alike."""
    names = {0: "0", -1: "-1", 2: "2", 1: "1", -2: "-2"}
    names |= {10**6: str(2**63 - 1), -(10**6): str(-(2**63))}
    return {
        f"{name} (diagonal {text})": lambda x, f=f, k=k: f(x, k)
        for name, f in (("tril", torch.tril), ("triu", torch.triu))
        for k, text in names.items()
    }


def reductions():
    axes = {
        "all axes": (None, False),
        "last axis, keepdim": ((-1,), True),
        "leading axes": ((0, 1), False),
        "middle axis": ((1,), False),
        "first and last axis": ((0, 2), True),
    }
    functions = {
        "sum": torch.sum,
        "mean": torch.mean,
        "max": torch.amax,
        "min": torch.amin,
        "var": lambda x, dim, keepdim: x.var(dim, unbiased=False, keepdim=keepdim),
        "logsumexp": torch.logsumexp,
    }

    def reduction(f, dim, keepdim):
        if dim is None:
            return lambda x: f(x.flatten(), dim=(0,), keepdim=False)
        return lambda x: f(x, dim=dim, keepdim=keepdim)

    found = {
        f"{name} ({variant})": reduction(f, *how)
        for name, f in functions.items()
        for variant, how in axes.items()
    }
    found["var (unbiased)"] = lambda x: x.var(1, unbiased=True)
    found["sum_to (same shape)"] = lambda x: x.sum_to_size(2, 3)
    for variant, shape in {
        "bias": (19,),
        "inner axis": (5, 1),
        "scalar": (),
        "one element": (1,),
    }.items():
        found[f"sum_to ({variant})"] = lambda x, shape=shape: x.sum_to_size(shape)
    return found


def cross_entropy(reduction, **options):
    def loss(logits, targets):
        rows = logits.reshape(-1, logits.shape[-1])
        value = F.cross_entropy(rows, targets.reshape(-1), reduction=reduction, **options)
        return value.reshape(targets.shape) if reduction == "none" else value

    return loss


LOSSES = {
    "cross_entropy (mean)": cross_entropy("mean"),
    "cross_entropy (sum)": cross_entropy("sum"),
    "cross_entropy (none)": cross_entropy("none"),
    "cross_entropy (ignore)": cross_entropy("sum", ignore_index=1),
    "cross_entropy (ignore, mean)": cross_entropy("mean", ignore_index=1),
    "cross_entropy (smoothed)": cross_entropy("mean", label_smoothing=0.1),
    "cross_entropy (smoothed, ignore, none)": cross_entropy(
        "none", ignore_index=1, label_smoothing=0.3
    ),
    "mse_loss (mean)": F.mse_loss,
    "mse_loss (sum)": lambda a, b: F.mse_loss(a, b, reduction="sum"),
    "mse_loss (none)": lambda a, b: F.mse_loss(a, b, reduction="none"),
}


def attention_weights(q, k, causal=False, allowed=None, added=None, scale=None):
    """A query that may attend to nothing has weights of 0, not NaN."""
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if added is not None:
        scores = scores + added
    may = torch.ones(scores.shape, dtype=torch.bool)
    if causal:
        may = may.tril(k.shape[-2] - q.shape[-2])
    if allowed is not None:
        may = may & allowed
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~may, lowest).softmax(-1).masked_fill(~may, 0)


def attention(q, k, v, *more, **options):
    """`more`: a mask, the name of which `options` gives as `mask`."""
    name = options.pop("mask", None)
    return attention_weights(q, k, **options, **({name: more[0]} if name else {})) @ v


def grouped_attention(q, k, v, *more, **options):
    """Heads of queries share those of keys and values."""
    k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    return attention(q, k, v, *more, **options)


def attention_of_projection(x):
    q, k, v = (x[:, :, i].transpose(1, 2) for i in range(3))
    return attention(q, k, v, causal=True)


ATTENTION = {
    "scaled_dot_product_attention" + variant: function
    for variant, function in {
        "": attention,
        " (causal)": lambda *x: attention(*x, causal=True),
        " (bool mask)": lambda *x: attention(*x, mask="allowed"),
        " (bool mask, causal)": lambda *x: attention(*x, mask="allowed", causal=True),
        " (added mask)": lambda *x: attention(*x, mask="added", causal=True, scale=-0.7),
        " (added mask of -inf)": lambda *x: attention(*x, mask="allowed"),
        " (broadcast heads)": attention,
        " (of one projection)": attention_of_projection,
        " (grouped heads)": grouped_attention,
        " (grouped heads, bool mask, causal)": lambda *x: grouped_attention(
            *x, mask="allowed", causal=True
        ),
    }.items()
} | {
    "attention_weights": attention_weights,
    "attention_weights (bool mask, causal)": lambda q, k, mask: attention_weights(
        q, k, causal=True, allowed=mask
    ),
}

COUNTERPARTS = (
    ELEMENTWISE
    | SEVERAL_OPERANDS
    | VIEWS
    | PARTS
    | SCANS_AND_SOFTMAX
    | NORMS
    | {"scatter_add": scatter_add}
    | triangles()
    | reductions()
    | LOSSES
    | ATTENTION
    | LAYERS
    | LINES
)
