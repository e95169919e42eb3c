"""Kernels in NumPy."""

from table import Kernel as K

KERNELS = [
    K("layer_norm", "N(4, 6), N(6), N(6)", """
        def stats(x):
            mu = x.mean(-1, keepdims=True)
            inv = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
            return (x - mu) * inv, inv

        def f(x, w, b):
            return stats(x)[0] * w + b

        def vjp(x, w, b, g):
            xhat, inv = stats(x)
            gx = g * w
            dx = (gx - gx.mean(-1, keepdims=True) - xhat * (gx * xhat).mean(-1, keepdims=True)) * inv
            return dx, (g * xhat).sum(0), g.sum(0)
        """, "gx - gx.mean(-1, keepdims=True) - => gx -", "a term is missing"),
    K("layer_norm_without_affine", "N(5, 8)", """
        def f(x):
            d = x - x.mean(1, keepdims=True)
            return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-12)

        def vjp(x, g):
            d = x - x.mean(1, keepdims=True)
            s = np.sqrt((d * d).mean(1, keepdims=True) + 1e-12)
            n = x.shape[1]
            return (g - g.sum(1, keepdims=True) / n) / s - d * (g * d).sum(1, keepdims=True) / (n * s**3)
        """, "(n * s**3) => (n * s**2)", "along x or y|a term is missing"),
    K("rms_norm", "N(4, 8), N(8)", """
        def f(x, w):
            return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + 1e-6) * w

        def vjp(x, w, g):
            r = 1 / np.sqrt(np.mean(x**2, -1, keepdims=True) + 1e-6)
            gw = g * w
            dx = r * (gw - x * r**2 * np.mean(gw * x, -1, keepdims=True))
            return dx, np.sum(g * x * r, 0)
        """, "np.mean(gw * x => np.sum(gw * x", "along x or y"),
    K("rms_norm_of_one_row", "N(16), N(16)", """
        def f(x, w):
            return w * x * (x.dot(x) / x.size + 1e-5) ** -0.5

        def vjp(x, w, g):
            r = (x.dot(x) / x.size + 1e-5) ** -0.5
            gw = g * w
            return gw * r - x * (gw.dot(x)) * r**3 / x.size, g * x * r
        """, "gw * r - x * (gw.dot(x)) * r**3 / x.size => gw * r", "along x or y"),
    K("group_norm", "N(2, 6, 5), N(6)", """
        def normed(x, groups=2):
            y = x.reshape(x.shape[0], groups, -1)
            y = y - y.mean(-1, keepdims=True)
            inv = 1 / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-5)
            return y * inv, inv

        def f(x, w):
            return normed(x)[0].reshape(x.shape) * w[None, :, None]

        def vjp(x, w, g):
            y, inv = normed(x)
            gy = (g * w[None, :, None]).reshape(y.shape)
            dx = inv * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
            return dx.reshape(x.shape), (g * y.reshape(x.shape)).sum((0, 2))
        """, ".sum((0, 2)) => .mean((0, 2))", "constant factor"),
    K("batch_norm_in_training", "N(8, 3), N(3), N(3)", """
        def f(x, w, b):
            return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * w + b

        def vjp(x, w, b, g):
            std = np.sqrt(x.var(0) + 1e-5)
            xhat = (x - x.mean(0)) / std
            n = len(x)
            dx = w / std / n * (n * g - g.sum(0) - xhat * (g * xhat).sum(0))
            return dx, (g * xhat).sum(0), g.sum(0)
        """, "- xhat * (g * xhat).sum(0)) => )", "a term is missing"),
    K("batch_norm_in_eval", "N(6, 3), N(3), N(3)", """
        mean, var = np.array([0.1, -0.2, 0.3]), np.array([0.9, 1.1, 2.0])

        def f(x, w, b):
            return (x - mean) / np.sqrt(var + 1e-5) * w + b

        def vjp(x, w, b, g):
            inv = 1 / np.sqrt(var + 1e-5)
            return g * w * inv, (g * (x - mean) * inv).sum(0), g.sum(0)
        """, "return g * w * inv, => return (g - g.mean(0)) * w * inv,", "a term too many"),
    K("softmax_cross_entropy", "N(5, 7)", """
        target = np.array([3, 0, 6, 2, 2])

        def probabilities(z):
            e = np.exp(z - z.max(1, keepdims=True))
            return e / e.sum(1, keepdims=True)

        def f(z):
            return -np.log(probabilities(z)[np.arange(5), target]).mean()

        def vjp(z, g):
            d = probabilities(z)
            d[np.arange(5), target] -= 1
            return g * d / len(z)
        """, "return g * d / len(z) => return g * d", "constant factor"),
    K("cross_entropy_with_smoothing", "N(4, 6)", """
        target, eps = np.array([1, 5, 0, 3]), 0.1

        def log_softmax(z):
            m = z.max(1, keepdims=True)
            return z - m - np.log(np.exp(z - m).sum(1, keepdims=True))

        def wanted():
            q = np.full((4, 6), eps / 6)
            q[np.arange(4), target] += 1 - eps
            return q

        def f(z):
            return -(wanted() * log_softmax(z)).sum() / 4

        def vjp(z, g):
            return g * (np.exp(log_softmax(z)) - wanted()) / 4
        """, "- wanted()) / 4 => - (wanted() > 0.5)) / 4", "wrong formula"),
    K("cross_entropy_with_ignored_rows", "N(6, 4)", """
        target = np.array([1, -100, 0, 3, -100, 2])

        def f(z):
            keep = target >= 0
            z = z[keep]
            m = z.max(1)
            return (np.log(np.exp(z - m[:, None]).sum(1)) + m - z[np.arange(len(z)), target[keep]]).mean()

        def vjp(z, g):
            keep = target >= 0
            p = np.exp(z - z.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            rows = np.nonzero(keep)[0]
            p[rows, target[rows]] -= 1
            p[~keep] = 0
            return g * p / keep.sum()
        """, "p[~keep] = 0 => pass", "some elements|some rows"),
    K("softmax", "N(3, 6)", """
        def f(x):
            e = np.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        def vjp(x, g):
            y = f(x)
            return y * (g - (g * y).sum(-1, keepdims=True))
        """, "y * (g - (g * y).sum(-1, keepdims=True)) => y * (1 - y) * g", "a term is missing|a contribution is dropped"),
    K("log_softmax", "N(3, 6)", """
        def f(x):
            s = x - x.max(1, keepdims=True)
            return s - np.log(np.exp(s).sum(1, keepdims=True))

        def vjp(x, g):
            return g - np.exp(f(x)) * g.sum(1, keepdims=True)
        """, "g.sum(1, keepdims=True) => g.sum()", "rows are mixed"),
    K("attention", "N(4, 3), N(5, 3), N(5, 2)", """
        def weights(q, k):
            s = q @ k.T / np.sqrt(q.shape[1])
            e = np.exp(s - s.max(1, keepdims=True))
            return e / e.sum(1, keepdims=True)

        def f(q, k, v):
            return weights(q, k) @ v

        def vjp(q, k, v, g):
            p = weights(q, k)
            dp = g @ v.T
            ds = p * (dp - (dp * p).sum(1, keepdims=True)) / np.sqrt(q.shape[1])
            return ds @ k, ds.T @ q, p.T @ g
        """, "keepdims=True)) / np.sqrt(q.shape[1])\n    return ds => keepdims=True))\n    return ds",
      "constant factor"),
    K("attention_with_causal_mask", "N(5, 4), N(5, 4), N(5, 4)", """
        mask = np.tril(np.ones((5, 5), bool))

        def weights(q, k):
            s = np.where(mask, q @ k.T / 2, -np.inf)
            e = np.exp(s - s.max(1, keepdims=True))
            return e / e.sum(1, keepdims=True)

        def f(q, k, v):
            return weights(q, k) @ v

        def vjp(q, k, v, g):
            p = weights(q, k)
            dp = g @ v.T
            ds = p * (dp - (dp * p).sum(1, keepdims=True)) / 2
            return ds @ k, ds.T @ q, p.T @ g
        """, "ds @ k, ds.T @ q, p.T @ g => ds @ k, ds @ q, p.T @ g", "transposed"),
    K("attention_of_heads", "N(2, 4, 3), N(2, 4, 3), N(2, 4, 3)", """
        def weights(q, k):
            s = np.einsum("hid,hjd->hij", q, k) / np.sqrt(3)
            e = np.exp(s - s.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        def f(q, k, v):
            return np.einsum("hij,hjd->hid", weights(q, k), v)

        def vjp(q, k, v, g):
            p = weights(q, k)
            dp = np.einsum("hid,hjd->hij", g, v)
            ds = p * (dp - np.sum(dp * p, -1, keepdims=True)) / np.sqrt(3)
            dq = np.einsum("hij,hjd->hid", ds, k)
            return dq, np.einsum("hij,hid->hjd", ds, q), np.einsum("hij,hid->hjd", p, g)
        """, 'np.einsum("hij,hid->hjd", p, g) => np.einsum("hij,hjd->hid", p, g)', "transposed"),
    K("dropout_with_a_mask", "N(4, 5)", """
        keep = np.random.default_rng(0).random((4, 5)) < 0.7

        def f(x):
            return np.where(keep, x / 0.7, 0)

        def vjp(x, g):
            return np.where(keep, g / 0.7, 0)
        """, "np.where(keep, g / 0.7, 0) => np.where(keep, g, 0)", "constant factor"),
    K("rotary", "N(5, 6)", """
        angle = np.arange(5)[:, None] * 10000.0 ** (-np.arange(3) / 3)
        cos, sin = np.cos(angle), np.sin(angle)

        def f(x):
            a, b = x[:, :3], x[:, 3:]
            return np.concatenate([a * cos - b * sin, a * sin + b * cos], 1)

        def vjp(x, g):
            a, b = g[:, :3], g[:, 3:]
            return np.concatenate([a * cos + b * sin, b * cos - a * sin], 1)
        """, "[a * cos + b * sin, b * cos - a * sin] => [a * cos - b * sin, a * sin + b * cos]", "transposed"),
    K("rotary_of_pairs", "N(4, 2, 6)", """
        angle = np.arange(4)[:, None, None] * 100.0 ** (-np.arange(0, 6, 2) / 6)

        def turned(x, angle):
            y = np.empty_like(x)
            y[..., 0::2] = x[..., 0::2] * np.cos(angle) - x[..., 1::2] * np.sin(angle)
            y[..., 1::2] = x[..., 0::2] * np.sin(angle) + x[..., 1::2] * np.cos(angle)
            return y

        def f(x):
            return turned(x, angle)

        def vjp(x, g):
            return turned(g, -angle)
        """, "return turned(g, -angle) => return turned(g, angle)", "transposed"),
    K("swiglu", "N(3, 4), N(4, 5), N(4, 5)", """
        def f(x, w, v):
            a = x @ w
            return a / (1 + np.exp(-a)) * (x @ v)

        def vjp(x, w, v, g):
            a, b = x @ w, x @ v
            s = 1 / (1 + np.exp(-a))
            da, db = g * b * s * (1 + a * (1 - s)), g * a * s
            return da @ w.T + db @ v.T, x.T @ da, x.T @ db
        """, "s * (1 + a * (1 - s)) => s * (1 + a * s)", "wrong formula"),
    K("gelu_tanh", "N(4, 5)", """
        c = np.sqrt(2 / np.pi)

        def f(x):
            return 0.5 * x * (1 + np.tanh(c * (x + 0.044715 * x**3)))

        def vjp(x, g):
            t = np.tanh(c * (x + 0.044715 * x**3))
            return g * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * c * (1 + 3 * 0.044715 * x**2))
        """, "c * (1 + 3 * 0.044715 => c * (1 + 0.044715", "wrong formula"),
    K("conv1d", "N(2, 3, 9), N(4, 3, 3)", """
        def f(x, w):
            n = x.shape[2] - w.shape[2] + 1
            return sum(np.einsum("bcn,oc->bon", x[:, :, k : k + n], w[:, :, k]) for k in range(w.shape[2]))

        def vjp(x, w, g):
            n = g.shape[2]
            dx, dw = np.zeros_like(x), np.zeros_like(w)
            for k in range(w.shape[2]):
                dx[:, :, k : k + n] += np.einsum("bon,oc->bcn", g, w[:, :, k])
                dw[:, :, k] = np.einsum("bon,bcn->oc", g, x[:, :, k : k + n])
            return dx, dw
        """, 'dx[:, :, k : k + n] += np.einsum("bon,oc->bcn", g, w[:, :, k]) => '
             'dx[:, :, k : k + n] += np.einsum("bon,oc->bcn", g, w[:, :, -1 - k])', "flipped"),
    K("conv2d", "N(2, 5, 5), N(3, 2, 2, 2), N(3)", """
        def windows(x, r, c, n, m):
            return x[:, r : r + n, c : c + m]

        def f(x, w, b):
            n, m = x.shape[1] - 1, x.shape[2] - 1
            y = np.zeros((w.shape[0], n, m)) + b[:, None, None]
            for r in range(2):
                for c in range(2):
                    y += np.tensordot(w[:, :, r, c], windows(x, r, c, n, m), 1)
            return y

        def vjp(x, w, b, g):
            n, m = g.shape[1:]
            dx, dw = np.zeros_like(x), np.zeros_like(w)
            for r in range(2):
                for c in range(2):
                    windows(dx, r, c, n, m)[...] += np.tensordot(w[:, :, r, c].T, g, 1)
                    dw[:, :, r, c] = np.tensordot(g, windows(x, r, c, n, m), ((1, 2), (1, 2)))
            return dx, dw, g.sum((1, 2))
        """, "windows(dx, r, c, n, m)[...] += => windows(dx, r, c, n, m)[...] =", "a contribution is dropped"),
    K("depthwise_causal_conv", "N(7, 3), N(4, 3)", """
        def f(x, w):
            padded = np.concatenate([np.zeros((3, 3)), x])
            return sum(padded[k : k + 7] * w[k] for k in range(4))

        def vjp(x, w, g):
            padded = np.concatenate([np.zeros((3, 3)), x])
            dpadded = np.zeros_like(padded)
            dw = np.empty_like(w)
            for k in range(4):
                dpadded[k : k + 7] += g * w[k]
                dw[k] = (padded[k : k + 7] * g).sum(0)
            return dpadded[3:], dw
        """, "return dpadded[3:], dw => return dpadded[:-3], dw", "shifted"),
    K("cumulative_sum", "N(4, 6)", """
        def f(x):
            return np.cumsum(x, 1)

        def vjp(x, g):
            return np.cumsum(g[:, ::-1], 1)[:, ::-1]
        """, "np.cumsum(g[:, ::-1], 1)[:, ::-1] => np.cumsum(g, 1)", "transposed|flipped"),
    K("linear_scan", "U(0.3, 0.9, 6, 3), N(6, 3)", """
        def states(a, b):
            h, all = np.zeros(3), []
            for t in range(len(a)):
                h = a[t] * h + b[t]
                all.append(h)
            return np.array(all)

        f = states

        def vjp(a, b, g):
            h = states(a, b)
            da, db = np.zeros_like(a), np.zeros_like(b)
            carry = np.zeros(3)
            for t in reversed(range(len(a))):
                carry = carry + g[t]
                db[t] = carry
                da[t] = carry * (h[t - 1] if t > 0 else 0)
                carry = carry * a[t]
            return da, db
        """, "h[t - 1] if t > 0 else 0 => h[t]", "wrong formula"),
    K("gru_step", "N(3, 4), N(4, 4), N(3, 4)", """
        def gates(h, u, x):
            return 1 / (1 + np.exp(-(x + h @ u)))

        def f(h, u, x):
            z = gates(h, u, x)
            return z * h + (1 - z) * np.tanh(x)

        def vjp(h, u, x, g):
            z, n = gates(h, u, x), np.tanh(x)
            dz = g * (h - n) * z * (1 - z)
            return g * z + dz @ u.T, h.T @ dz, dz + g * (1 - z) * (1 - n**2)
        """, "g * z + dz @ u.T, => dz @ u.T,", "a contribution is dropped|wrong formula"),
    K("max_pool", "N(2, 8)", """
        def f(x):
            return x.reshape(2, 4, 2).max(2)

        def vjp(x, g):
            w = x.reshape(2, 4, 2)
            return (np.where(w == w.max(2, keepdims=True), 1, 0) * g[:, :, None]).reshape(x.shape)
        """, "np.where(w == w.max(2, keepdims=True), 1, 0) => np.where(w == w.max(), 1, 0)", "some elements"),
    K("average_pool_with_overlap", "N(3, 9)", """
        def f(x):
            return sum(x[:, k : k + 7 : 2] for k in range(3)) / 3

        def vjp(x, g):
            dx = np.zeros_like(x)
            for k in range(3):
                dx[:, k : k + 7 : 2] += g / 3
            return dx
        """, "dx[:, k : k + 7 : 2] += g / 3 => dx[:, k : k + 7 : 2] = g / 3", "some elements|a contribution is dropped"),
    K("embedding", "N(6, 3)", """
        tokens = np.array([2, 0, 2, 5, 2])

        def f(table):
            return table[tokens]

        def vjp(table, g):
            d = np.zeros_like(table)
            np.add.at(d, tokens, g)
            return d
        """, "np.add.at(d, tokens, g) => d[tokens] += g", "some elements|some rows|some samples"),
    K("embedding_and_positions", "N(5, 4), N(3, 4)", """
        tokens = np.array([[1, 4, 1], [0, 1, 3]])

        def f(table, positions):
            return table[tokens] + positions

        def vjp(table, positions, g):
            d = np.zeros_like(table)
            np.add.at(d, tokens, g)
            return d, g.sum(0)
        """, "return d, g.sum(0) => return d, g[0]", "missing sum over a broadcast axis"),
    K("gather", "N(4, 5)", """
        index = np.array([[0, 2, 2], [4, 1, 1], [3, 3, 3], [0, 1, 2]])

        def f(x):
            return np.take_along_axis(x, index, 1)

        def vjp(x, g):
            d = np.zeros_like(x)
            rows = np.arange(4)[:, None] + 0 * index
            np.add.at(d, (rows, index), g)
            return d
        """, "np.add.at(d, (rows, index), g) => np.put_along_axis(d, index, g, 1)", "some elements|some samples"),
    K("inverse", "N(4, 4) + 3 * np.eye(4)", """
        def f(a):
            return np.linalg.inv(a)

        def vjp(a, g):
            i = np.linalg.inv(a)
            return -i.T @ g @ i.T
        """, "-i.T @ g @ i.T => -i @ g @ i", "transposed"),
    K("log_determinant", "SPD(4)", """
        def f(a):
            return np.linalg.slogdet(a)[1]

        def vjp(a, g):
            return g * np.linalg.inv(a).T
        """, "g * np.linalg.inv(a).T => g / np.linalg.det(a) * np.linalg.inv(a).T", "constant factor"),
    K("cholesky_solve", "SPD(3), N(3, 2)", """
        def f(a, b):
            return np.linalg.solve((a + a.T) / 2, b)

        def vjp(a, b, g):
            s = (a + a.T) / 2
            db = np.linalg.solve(s, g)
            da = -db @ np.linalg.solve(s, b).T
            return (da + da.T) / 2, db
        """, "return (da + da.T) / 2, db => return da, db", "not symmetric"),
]  # fmt: skip
