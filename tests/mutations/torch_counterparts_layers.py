"""PyTorch's functions for rows about layers: activations, losses, windows over images, norms of
channels, rotary positions. See torch_counterparts.py.
"""
import torch
import torch.nn.functional as F

EPS = 1e-2  # of the norms

ACTIVATIONS = {
    "logsigmoid": F.logsigmoid,
    "softsign": F.softsign,
    "mish": F.mish,
    "leaky_relu": F.leaky_relu,
    "leaky_relu (slope 0.3)": lambda x: F.leaky_relu(x, 0.3),
    "elu": F.elu,
    "elu (alpha 0.6)": lambda x: F.elu(x, 0.6),
    "relu6": F.relu6,
    "hardtanh": F.hardtanh,
}


def bce(p, y, reduction):
    """F.binary_cross_entropy has no gradient by the target."""
    losses = -(y * p.log() + (1 - y) * (1 - p).log())
    return {"mean": losses.mean, "sum": losses.sum, "none": losses.clone}[reduction]()


def kl_div(log_p, q, reduction):
    """F.kl_div warns of its mean."""
    parts = F.kl_div(log_p, q, reduction="none")
    return {"mean": parts.mean, "sum": parts.sum, "none": parts.clone}[reduction]()


def weighted_bce(x, y, weight, pos_weight):
    """PyTorch's has no gradients by the weights."""
    return (weight * ((1 - y) * x + (1 + (pos_weight - 1) * y) * F.softplus(-x))).sum()


def nll(reduction, **options):
    def loss(log_p, targets):
        rows = log_p.reshape(-1, log_p.shape[-1])
        value = F.nll_loss(rows, targets.reshape(-1), reduction=reduction, **options)
        return value.reshape(targets.shape) if reduction == "none" else value

    return loss


LOSSES = {
    f"{name} ({reduction})": lambda a, b, f=f, reduction=reduction: f(a, b, reduction=reduction)
    for name, f in {
        "l1_loss": F.l1_loss,
        "huber_loss": lambda a, b, reduction: F.huber_loss(a, b, reduction, 0.7),
        "smooth_l1_loss": lambda a, b, reduction: F.smooth_l1_loss(
            a, b, reduction=reduction, beta=0.4
        ),
        "binary_cross_entropy": bce,
        "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
        "kl_div": kl_div,
    }.items()
    for reduction in ("mean", "sum", "none")
} | {
    "smooth_l1_loss (beta 0)": F.l1_loss,
    "binary_cross_entropy_with_logits (weight, pos_weight)": weighted_bce,
    "kl_div (log_target)": lambda a, b: F.kl_div(a, b, reduction="sum", log_target=True),
    "kl_div (batchmean)": lambda a, b: F.kl_div(a, b, reduction="batchmean"),
    "nll_loss (mean)": nll("mean"),
    "nll_loss (none)": nll("none"),
    "nll_loss (ignore, mean)": nll("mean", ignore_index=1),
    "nll_loss (ignore, sum)": nll("sum", ignore_index=1),
}

WINDOWS = {
    "conv2d": F.conv2d,
    "conv2d (stride 2, padding 1, dilation 2)": lambda x, w: F.conv2d(x, w, None, 2, 1, 2),
    "conv2d (one large image)": lambda x, w, b: F.conv2d(x, w, b, padding=1),
    "conv2d (groups)": lambda x, w, b: F.conv2d(x, w, b, padding=1, groups=2),
    "conv1d (stride 2, padding 1, groups 2)": lambda x, w, b: F.conv1d(x, w, b, 2, 1, groups=2),
    "max_pool1d": lambda x: F.max_pool1d(x, 3, 2, 1),
    "max_pool2d (2 x 2)": lambda x: F.max_pool2d(x, 2),
    "max_pool2d (overlapping windows)": lambda x: F.max_pool2d(x, (3, 2), (2, 1), 1),
    "avg_pool1d": lambda x: F.avg_pool1d(x, 3, 2, 1, count_include_pad=False),
    "avg_pool2d (overlapping windows)": lambda x: F.avg_pool2d(x, (3, 2), (2, 1), 1),
    "avg_pool2d (padding does not count)": lambda x: F.avg_pool2d(
        x, (3, 2), (2, 1), 1, count_include_pad=False
    ),
    "interpolate (nearest)": lambda x: F.interpolate(x, (7, 3), mode="nearest"),
    "interpolate (bilinear)": lambda x: F.interpolate(x, (7, 3), mode="bilinear"),
}


def batch_norm(x, weight=None, bias=None):
    return F.batch_norm(x, None, None, weight, bias, training=True, eps=EPS)


def batch_norm_given(x, mean, var, weight, bias):
    """F.batch_norm has no gradients by the statistics."""
    mean, var, weight, bias = (
        v.reshape(-1, *[1] * (x.dim() - 2)) for v in (mean, var, weight, bias)
    )
    return (x - mean) / (var + EPS).sqrt() * weight + bias


CHANNEL_NORMS = {
    "batch_norm (weight and bias)": batch_norm,
    "batch_norm (plain)": batch_norm,
    "batch_norm (a pixel each)": batch_norm,
    "batch_norm (statistics given)": batch_norm_given,
    "group_norm (2 groups)": lambda x, weight, bias: F.group_norm(x, 2, weight, bias, EPS),
    "group_norm (plain)": lambda x: F.group_norm(x, 1, eps=EPS),
}


def rotary(x, rest, halves):
    """Positions 3, 4, ... and base 100, as the rows have them; the last `rest` numbers stay."""
    width = x.shape[-1] - rest
    t = torch.arange(3, 3 + x.shape[-2], dtype=x.dtype)
    angle = t[:, None] * 100.0 ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
    cos, sin = angle.cos(), angle.sin()
    turned, stays = x[..., :width], x[..., width:]
    if halves:
        a, b = turned.chunk(2, -1)
    else:
        a, b = turned[..., ::2], turned[..., 1::2]
    a, b = a * cos - b * sin, a * sin + b * cos
    turned = torch.cat((a, b), -1) if halves else torch.stack((a, b), -1).flatten(-2)
    return torch.cat((turned, stays), -1)


ROTARY = {
    "rotary (interleaved)": lambda x: rotary(x, 0, False),
    "rotary (interleaved, in part)": lambda x: rotary(x, 3, False),
    "rotary (halves)": lambda x: rotary(x, 0, True),
    "rotary (halves, in part)": lambda x: rotary(x, 5, True),
    "rotary (heads inside)": lambda x: rotary(x.transpose(1, 2), 1, False),
}

LAYERS = ACTIVATIONS | LOSSES | WINDOWS | CHANNEL_NORMS | ROTARY
