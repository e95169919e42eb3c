"""Kernels as the forward and backward of a torch.autograd.Function: the same families, with the faults that
PyTorch allows in addition (strides, undefined cotangents, needs_input_grad, what is saved)."""

from table import Kernel as K

KERNELS = [
    K("layer_norm", "N(4, 6), N(6), N(6)", """
        def forward(ctx, x, w, b):
            mean = x.mean(-1, keepdim=True)
            rstd = (x.var(-1, keepdim=True, unbiased=False) + 1e-5).rsqrt()
            ctx.save_for_backward(x, w, mean, rstd)
            return (x - mean) * rstd * w + b
        def backward(ctx, g):
            x, w, mean, rstd = ctx.saved_tensors
            xhat = (x - mean) * rstd
            gw = g * w
            dx = rstd * (gw - gw.mean(-1, keepdim=True) - xhat * (gw * xhat).mean(-1, keepdim=True))
            return dx, (g * xhat).sum(0), g.sum(0)
        """, "- xhat * (gw * xhat).mean(-1, keepdim=True) => ", "a term is missing"),
    K("rms_norm", "N(4, 8), N(8)", """
        def forward(ctx, x, w):
            r = (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
            ctx.save_for_backward(x, w, r)
            return x * r * w
        def backward(ctx, g):
            x, w, r = ctx.saved_tensors
            gw = g * w
            return r * gw - x * r.pow(3) * (gw * x).mean(-1, keepdim=True), (g * x * r).sum(0)
        """, "r.pow(3) => r.pow(2)", "along x or y"),
    K("rms_norm_that_saves_its_output", "N(4, 8)", """
        def forward(ctx, x):
            r = (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
            y = x * r
            ctx.save_for_backward(y, r)
            return y
        def backward(ctx, g):
            y, r = ctx.saved_tensors
            return r * (g - y * (g * y).mean(-1, keepdim=True))
        """, "return r * (g - y * => return r * (g - y.mul_(1) * 2 *", "overwrites what forward saved"),
    K("softmax", "N(3, 6)", """
        def forward(ctx, x):
            y = torch.exp(x - x.amax(-1, keepdim=True))
            y = y / y.sum(-1, keepdim=True)
            ctx.save_for_backward(y)
            return y
        def backward(ctx, g):
            y, = ctx.saved_tensors
            return y * (g - (g * y).sum(-1, keepdim=True))
        """, "(g * y).sum(-1, keepdim=True) => (g * y).sum(0, keepdim=True)", "rows are mixed"),
    K("softmax_in_place", "N(3, 6)", """
        def forward(ctx, x):
            y = torch.softmax(x, 1)
            ctx.save_for_backward(y)
            return y.clone()
        def backward(ctx, g):
            y, = ctx.saved_tensors
            d = g * y
            return d - y * d.sum(1, keepdim=True)
        """, "d = g * y => d = g.mul_(y)", "overwrites the cotangent"),
    K("log_softmax", "N(4, 5)", """
        def forward(ctx, x):
            y = x - x.logsumexp(1, keepdim=True)
            ctx.save_for_backward(y)
            return y
        def backward(ctx, g):
            y, = ctx.saved_tensors
            return g - y.exp() * g.sum(1, keepdim=True)
        """, "g - y.exp() * => g - y *", "wrong term"),
    K("cross_entropy", "N(5, 7)", """
        def forward(ctx, z):
            target = torch.tensor([3, 0, 6, 2, 2])
            ctx.save_for_backward(z, target)
            return z.logsumexp(1).mean() - z.gather(1, target[:, None]).mean()
        def backward(ctx, g):
            z, target = ctx.saved_tensors
            d = torch.softmax(z, 1)
            d[torch.arange(5), target] -= 1
            return g * d / 5
        """, "return g * d / 5 => return d / 5", "is not linear"),
    K("cross_entropy_precomputed", "N(4, 6)", """
        def forward(ctx, z):
            target = torch.tensor([1, 5, 0, 3])
            d = torch.softmax(z, 1)
            loss = -d.gather(1, target[:, None]).log().mean()
            d[torch.arange(4), target] -= 1
            ctx.save_for_backward(d / 4)
            return loss
        def backward(ctx, g):
            d, = ctx.saved_tensors
            return d * g
        """, "return d * g => return d.data.mul_(g)", "overwrites what forward saved"),
    K("focal_loss", "N(8)", """
        def forward(ctx, x):
            p = torch.sigmoid(x)
            ctx.save_for_backward(p)
            return -((1 - p) ** 2 * p.log()).sum()
        def backward(ctx, g):
            p, = ctx.saved_tensors
            dp = 2 * (1 - p) * p.log() - (1 - p) ** 2 / p
            return g * dp * p * (1 - p)
        """, "2 * (1 - p) * p.log() - => (1 - p) * p.log() -", "wrong formula"),
    K("attention", "N(4, 3), N(5, 3), N(5, 2)", """
        def forward(ctx, q, k, v):
            p = torch.softmax(q @ k.T / 3**0.5, -1)
            ctx.save_for_backward(q, k, v, p)
            return p @ v
        def backward(ctx, g):
            q, k, v, p = ctx.saved_tensors
            dp = g @ v.T
            ds = p * (dp - (dp * p).sum(-1, keepdim=True)) / 3**0.5
            return ds @ k, ds.T @ q, p.T @ g
        """, "ds.T @ q, p.T @ g => ds.T @ q * 3**0.5, p.T @ g", "constant factor"),
    K("attention_with_mask_and_dropout", "N(2, 4, 3), N(2, 4, 3), N(2, 4, 3)", """
        mask = torch.ones(4, 4).tril().bool()
        keep = torch.rand(2, 4, 4, generator=torch.Generator().manual_seed(0)).lt(0.8)
        def forward(ctx, q, k, v):
            s = (q @ k.mT / 3**0.5).masked_fill(~mask, float("-inf"))
            p = torch.softmax(s, -1)
            ctx.save_for_backward(q, k, v, p)
            return p * keep / 0.8 @ v
        def backward(ctx, g):
            q, k, v, p = ctx.saved_tensors
            dropped = p * keep / 0.8
            dp = g @ v.mT * keep / 0.8
            ds = p * (dp - (dp * p).sum(-1, keepdim=True)) / 3**0.5
            return ds @ k, ds.mT @ q, dropped.mT @ g
        """, "dp = g @ v.mT * keep / 0.8 => dp = g @ v.mT", "a mask or branch is ignored"),
    K("attention_by_logsumexp", "N(4, 3), N(4, 3), N(4, 3)", """
        def forward(ctx, q, k, v):
            s = q @ k.T
            lse = s.logsumexp(1, keepdim=True)
            o = (s - lse).exp() @ v
            ctx.save_for_backward(q, k, v, o, lse)
            return o
        def backward(ctx, g):
            q, k, v, o, lse = ctx.saved_tensors
            p = (q @ k.T - lse).exp()
            delta = (g * o).sum(1, keepdim=True)
            ds = p * (g @ v.T - delta)
            return ds @ k, ds.T @ q, p.T @ g
        """, "(g * o).sum(1, keepdim=True) => (g * v).sum(1, keepdim=True)", "wrong term"),
    K("rotary", "N(5, 6)", """
        angle = torch.arange(5.0).double()[:, None] * 100 ** (-torch.arange(3.0).double() / 3)
        def turn(x, cos, sin):
            a, b = x.chunk(2, -1)
            return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
        def forward(ctx, x):
            return turn(x, angle.cos(), angle.sin())
        def backward(ctx, g):
            return turn(g, angle.cos(), -angle.sin())
        """, "-angle.sin() => angle.sin()", "transposed"),
    K("rotary_in_place", "N(4, 6)", """
        angle = torch.arange(4.0).double()[:, None] * torch.tensor([1.0, 0.3, 0.1]).double()
        def forward(ctx, x):
            y = x.clone()
            y[:, :3] = x[:, :3] * angle.cos() - x[:, 3:] * angle.sin()
            y[:, 3:] = x[:, :3] * angle.sin() + x[:, 3:] * angle.cos()
            return y
        def backward(ctx, g):
            d = g.clone()
            d[:, :3] = g[:, :3] * angle.cos() + g[:, 3:] * angle.sin()
            d[:, 3:] = g[:, 3:] * angle.cos() - g[:, :3] * angle.sin()
            return d
        """, "d = g.clone() => d = g", "overwrites the cotangent"),
    K("swiglu", "N(3, 4), N(3, 4)", """
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * torch.sigmoid(a) * b
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            s = torch.sigmoid(a)
            return g * b * s * (1 + a * (1 - s)), g * a * s
        """, "(1 + a * (1 - s)) => (1 + a * (1 - a))", "wrong formula"),
    K("swiglu_from_one_tensor", "N(3, 8)", """
        def forward(ctx, x):
            a, b = x.chunk(2, 1)
            ctx.save_for_backward(x)
            return torch.nn.functional.silu(a) * b
        def backward(ctx, g):
            a, b = ctx.saved_tensors[0].chunk(2, 1)
            s = torch.sigmoid(a)
            return torch.cat([g * b * (s + a * s * (1 - s)), g * a * s], 1)
        """, "[g * b * (s + a * s * (1 - s)), g * a * s] => [g * a * s, g * b * (s + a * s * (1 - s))]", "shifted"),
    K("geglu", "N(2, 6), N(2, 6)", """
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return torch.nn.functional.gelu(a) * b
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            cdf = 0.5 * (1 + torch.erf(a / 2**0.5))
            pdf = torch.exp(-a * a / 2) / (2 * torch.pi) ** 0.5
            return g * b * (cdf + a * pdf), g * a * cdf
        """, "g * b * (cdf + a * pdf) => g * b * cdf", "wrong formula"),
    K("mish", "N(11)", """
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.tanh(torch.log1p(x.exp()))
        def backward(ctx, g):
            x, = ctx.saved_tensors
            t = torch.tanh(torch.log1p(x.exp()))
            return g * (t + x * (1 - t * t) * torch.sigmoid(x))
        """, "(1 - t * t) * torch.sigmoid(x) => (1 - t * t)", "wrong formula"),
    K("leaky_relu", "N(3, 5)", """
        def forward(ctx, x, slope=0.1):
            ctx.save_for_backward(x)
            return torch.where(x > 0, x, slope * x)
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return torch.where(x > 0, g, 0.1 * g)
        """, "g, 0.1 * g => g, 0.01 * g", "chain factor"),
    K("squared_relu", "N(12)", """
        def forward(ctx, x):
            y = torch.relu(x)
            ctx.save_for_backward(y)
            return y * y
        def backward(ctx, g):
            y, = ctx.saved_tensors
            return 2 * y * g
        """, "2 * y * g => y * g", "constant factor"),
    K("linear", "N(4, 3), N(5, 3), N(5)", """
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x, w)
            return x @ w.T + b
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            dx = g @ w if ctx.needs_input_grad[0] else None
            dw = g.T @ x if ctx.needs_input_grad[1] else None
            return dx, dw, g.sum(0) if ctx.needs_input_grad[2] else None
        """, "if ctx.needs_input_grad[2] => if ctx.needs_input_grad[1]", "only"),
    K("linear_that_saves_what_is_needed", "N(4, 3), N(3, 5)", """
        def forward(ctx, x, w):
            ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, w)
            return x @ w
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            dx = g @ w.T if ctx.needs_input_grad[0] else None
            return dx, x.T @ g if ctx.needs_input_grad[1] else None
        """, "x if ctx.needs_input_grad[1] else None, w => x if all(ctx.needs_input_grad) else None, w", "only"),
    K("scale_and_shift_by_pointer", "N(3, 4), N(4)", """
        def raw(t):  # as a kernel that takes a pointer
            return t.as_strided(t.shape, torch.empty(t.shape).stride())
        def forward(ctx, x, w):
            x, w = x.contiguous(), w.contiguous()
            ctx.save_for_backward(x, w)
            return raw(x) * raw(w)
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            g = g.contiguous()
            return raw(g) * raw(w), (raw(g) * raw(x)).sum(0)
        """, "g = g.contiguous() => pass", "misreads a cotangent"),
    K("add_by_pointer", "N(3, 4), N(3, 4)", """
        def raw(t):
            return t.as_strided(t.shape, torch.empty(t.shape).stride())
        def forward(ctx, a, b):
            return raw(a.contiguous()) + 2 * raw(b.contiguous())
        def backward(ctx, g):
            return g, 2 * g
        """, "2 * raw(b.contiguous()) => 2 * raw(b)", "misreads inputs"),
    K("square_by_offset", "N(10)", """
        def from_start(t, offset):  # as a kernel that takes storage and offset
            return t.as_strided(t.shape, t.stride(), offset)
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 2 * x * from_start(g, g.storage_offset())
        """, "g.storage_offset() => 0", "offset"),
    K("split_in_two", "N(3, 6)", """
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x[:, :3].sin(), x[:, 3:].cos()
        def backward(ctx, g, h):
            x, = ctx.saved_tensors
            d = torch.zeros_like(x)
            if g is not None:
                d[:, :3] = g * x[:, :3].cos()
            if h is not None:
                d[:, 3:] = -h * x[:, 3:].sin()
            return d
        """, "if h is not None: => if g is not None and h is not None:", "unused"),
    K("mean_and_variance", "N(7)", """
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.mean(), x.var(unbiased=False)
        def backward(ctx, g, h):
            x, = ctx.saved_tensors
            d = torch.zeros_like(x)
            d = d if g is None else d + g / len(x)
            return d if h is None else d + h * 2 * (x - x.mean()) / len(x)
        """, "d = d if g is None else d + g / len(x) => d = d + g / len(x)", "None"),
    K("top_two", "N(4, 5)", """
        def forward(ctx, x):
            values, index = x.topk(2, 1)
            ctx.save_for_backward(index)
            ctx.mark_non_differentiable(index)
            return values, index
        def backward(ctx, g, _):
            index, = ctx.saved_tensors
            return torch.zeros(4, 5, dtype=g.dtype).scatter_add(1, index, g)
        """, "scatter_add(1, index, g) => scatter_add(1, index.flip(1), g)", "flipped|wrong index"),
    K("conv1d", "N(2, 3, 8), N(4, 3, 3)", """
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return torch.conv1d(x, w, padding=1)
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            dx = torch.conv_transpose1d(g, w, padding=1)
            dw = torch.conv1d(x.transpose(0, 1), g.transpose(0, 1), padding=1).transpose(0, 1)
            return dx, dw
        """, "torch.conv_transpose1d(g, w, padding=1) => torch.conv_transpose1d(g, w.flip(2), padding=1)", "flipped"),
    K("conv2d_by_unfold", "N(2, 2, 4, 4), N(3, 2, 3, 3)", """
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            columns = torch.nn.functional.unfold(x, 3)
            return (w.reshape(3, -1) @ columns).reshape(2, 3, 2, 2)
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            g = g.reshape(2, 3, -1)
            dx = torch.nn.functional.fold(w.reshape(3, -1).T @ g, (4, 4), 3)
            dw = (g @ torch.nn.functional.unfold(x, 3).mT).sum(0)
            return dx, dw.reshape(w.shape)
        """, ".mT).sum(0) => .mT).mean(0)", "constant factor"),
    K("scan", "U(0.3, 0.9, 6, 3), N(6, 3)", """
        def forward(ctx, a, b):
            h, state = [], torch.zeros_like(b[0])
            for t in range(len(a)):
                state = a[t] * state + b[t]
                h.append(state)
            h = torch.stack(h)
            ctx.save_for_backward(a, h)
            return h
        def backward(ctx, g):
            a, h = ctx.saved_tensors
            da, db, carry = torch.zeros_like(a), torch.zeros_like(a), torch.zeros_like(a[0])
            for t in reversed(range(len(a))):
                carry = carry + g[t]
                db[t] = carry
                if t > 0:
                    da[t] = carry * h[t - 1]
                carry = carry * a[t]
            return da, db
        """, "if t > 0: => if t > 1:", "some elements|some rows"),
    K("cumprod", "U(0.5, 2, 3, 5)", """
        def forward(ctx, x):
            y = x.cumprod(1)
            ctx.save_for_backward(x, y)
            return y
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return (g * y).flip(1).cumsum(1).flip(1) / x
        """, "(g * y).flip(1).cumsum(1).flip(1) => (g * y).cumsum(1)", "flipped"),
    K("max_pool", "N(2, 8)", """
        def forward(ctx, x):
            y, index = x.reshape(2, 4, 2).max(2)
            ctx.save_for_backward(index)
            return y
        def backward(ctx, g):
            index, = ctx.saved_tensors
            d = torch.zeros(2, 4, 2, dtype=g.dtype)
            return d.scatter(2, index[..., None], g[..., None]).reshape(2, 8)
        """, "index[..., None], g => 1 - index[..., None], g", "wrong index"),
    K("global_average_pool", "N(2, 3, 4, 4)", """
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.mean((2, 3))
        def backward(ctx, g):
            return g[:, :, None, None].expand(ctx.shape) / 16
        """, "/ 16 => / 4", "constant factor"),
    K("embedding", "N(6, 3)", """
        tokens = torch.tensor([2, 0, 2, 5, 2])
        def forward(ctx, table):
            return table[tokens]
        def backward(ctx, g):
            return torch.zeros(6, 3, dtype=g.dtype).index_add(0, tokens, g)
        """, ".index_add(0, tokens, g) => .index_copy(0, tokens, g)", "some elements|some rows|some samples|a contribution is dropped"),
    K("embedding_with_padding", "N(5, 4)", """
        tokens = torch.tensor([[1, 4, 1], [3, 0, 0]])
        def forward(ctx, table):
            return table[tokens] * (tokens > 0)[..., None]
        def backward(ctx, g):
            g = g * (tokens > 0)[..., None]
            return torch.zeros(5, 4, dtype=g.dtype).index_add(0, tokens.reshape(-1), g.reshape(-1, 4))
        """, "g = g * (tokens > 0)[..., None] => pass", "some elements|some rows"),
    K("gather", "N(4, 5)", """
        index = torch.tensor([[0, 2, 2], [4, 1, 1], [3, 3, 3], [0, 1, 2]])
        def forward(ctx, x):
            return x.gather(1, index)
        def backward(ctx, g):
            return torch.zeros(4, 5, dtype=g.dtype).scatter_add(1, index, g)
        """, ".scatter_add(1, index, g) => .scatter(1, index, g)", "some elements|some samples|a contribution is dropped"),
    K("matrix_exponential", "N(3, 3)", """
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return torch.matrix_exp(a)
        def backward(ctx, g):
            a, = ctx.saved_tensors
            block = torch.zeros(6, 6, dtype=a.dtype)
            block[:3, :3], block[3:, 3:], block[:3, 3:] = a.T, a.T, g
            return torch.matrix_exp(block)[:3, 3:]
        """, "= a.T, a.T, g => = a, a, g", "transposed"),
    K("inverse", "N(3, 3) + 3 * np.eye(3)", """
        def forward(ctx, a):
            y = torch.linalg.inv(a)
            ctx.save_for_backward(y)
            return y
        def backward(ctx, g):
            y, = ctx.saved_tensors
            return -y.T @ g @ y.T
        """, "-y.T @ g @ y.T => y.T @ g @ y.T", "sign flipped"),
    K("log_determinant", "SPD(4)", """
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return torch.slogdet(a)[1]
        def backward(ctx, g):
            a, = ctx.saved_tensors
            return g * torch.linalg.inv(a).T
        """, "g * torch.linalg.inv(a).T => g * torch.linalg.inv(a).T.tril()", "some elements"),
    K("cholesky", "SPD(3)", """
        def forward(ctx, a):
            l = torch.linalg.cholesky((a + a.T) / 2)
            ctx.save_for_backward(l)
            return l
        def backward(ctx, g):
            l, = ctx.saved_tensors
            p = (l.T @ g).tril()
            p = p - torch.diag(p.diagonal()) / 2
            i = torch.linalg.inv(l)
            d = i.T @ p @ i
            return (d + d.T) / 2
        """, "p = p - torch.diag(p.diagonal()) / 2 => pass", "wrong formula"),
    K("solve", "N(3, 3) + 3 * np.eye(3), N(3, 2)", """
        def forward(ctx, a, b):
            x = torch.linalg.solve(a, b)
            ctx.save_for_backward(a, x)
            return x
        def backward(ctx, g):
            a, x = ctx.saved_tensors
            db = torch.linalg.solve(a.T, g)
            return -db @ x.T, db
        """, "torch.linalg.solve(a.T, g) => torch.linalg.solve(a, g)", "transposed"),
    K("normalize", "N(4, 3)", """
        def forward(ctx, x):
            n = x.norm(dim=1, keepdim=True)
            ctx.save_for_backward(x / n, n)
            return x / n
        def backward(ctx, g):
            y, n = ctx.saved_tensors
            return (g - y * (g * y).sum(1, keepdim=True)) / n
        """, "(g - y * (g * y).sum(1, keepdim=True)) / n => g / n", "along x or y|a term is missing"),
    K("cosine_similarity", "N(4, 3), N(4, 3)", """
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return torch.cosine_similarity(a, b, 1)
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            na, nb = a.norm(dim=1, keepdim=True), b.norm(dim=1, keepdim=True)
            c, g = (a * b).sum(1, keepdim=True) / (na * nb), g[:, None]
            return g * (b / (na * nb) - c * a / na**2), g * (a / (na * nb) - c * b / nb**2)
        """, "- c * b / nb**2 => - c * b / na**2", "along x or y"),
    K("quantized_linear", "N(3, 4), N(4, 2)", """
        codes = torch.tensor([[1, -2], [3, 0], [-1, 2], [2, 1]]).double()
        def forward(ctx, x, scale):
            ctx.save_for_backward(x, scale)
            return x @ (codes * scale)
        def backward(ctx, g):
            x, scale = ctx.saved_tensors
            return g @ (codes * scale).T, x.T @ g * codes
        """, "x.T @ g * codes => x.T @ g", "wrong formula"),
    K("lora", "N(3, 4), N(4, 2), N(2, 5)", """
        def forward(ctx, x, a, b):
            ctx.save_for_backward(x, a, b)
            return 2 * (x @ a @ b)
        def backward(ctx, g):
            x, a, b = ctx.saved_tensors
            return 2 * g @ b.T @ a.T, 2 * x.T @ g @ b.T, 2 * (x @ a).T @ g
        """, "2 * x.T @ g @ b.T, => x.T @ g @ b.T,", "constant factor"),
    K("instance_norm", "N(2, 3, 6)", """
        def forward(ctx, x):
            mean, var = x.mean(2, keepdim=True), x.var(2, keepdim=True, unbiased=False)
            y = (x - mean) / (var + 1e-5).sqrt()
            ctx.save_for_backward(y, var)
            return y
        def backward(ctx, g):
            y, var = ctx.saved_tensors
            d = g - g.mean(2, keepdim=True) - y * (g * y).mean(2, keepdim=True)
            return d / (var + 1e-5).sqrt()
        """, "g - g.mean(2, keepdim=True) => g - g.mean((0, 2), keepdim=True)", "rows are mixed|a term is missing"),
    K("weight_norm", "N(4, 3), N(4, 1)", """
        def forward(ctx, v, s):
            n = v.norm(dim=1, keepdim=True)
            ctx.save_for_backward(v, s, n)
            return v * s / n
        def backward(ctx, g):
            v, s, n = ctx.saved_tensors
            ds = (g * v).sum(1, keepdim=True) / n
            return s / n * (g - v * ds / n), ds
        """, "s / n * (g - v * ds / n) => s / n * g", "along x or y|a term is missing"),
    K("router", "N(5, 3), N(5, 3)", """
        def forward(ctx, x, scores):
            p, chosen = torch.softmax(scores, 1).max(1)
            ctx.save_for_backward(x, torch.softmax(scores, 1), chosen)
            return x * p[:, None]
        def backward(ctx, g):
            x, p, chosen = ctx.saved_tensors
            best = p.gather(1, chosen[:, None])
            dp = (g * x).sum(1, keepdim=True)
            onehot = torch.nn.functional.one_hot(chosen, 3)
            return g * best, dp * best * (onehot - p)
        """, "dp * best * (onehot - p) => dp * best * (1 - best) * onehot", "some elements"),
    K("running_state", "N(9)", """
        calls = [0]
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.tanh()
        def backward(ctx, g):
            x, = ctx.saved_tensors
            calls[0] += 1
            return g * (1 - x.tanh() ** 2)
        """, "return g * (1 - x.tanh() ** 2) => return g * (1 - x.tanh() ** 2) * (1 + 0.01 * (calls[0] > 1))", "keeps something between calls"),
]  # fmt: skip
