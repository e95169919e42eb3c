"""Kernels in C, called through ctypes: f(inputs..., y) and vjp(inputs..., g, gradients...), all pointers to
double. `output` is the shape of y."""

from dataclasses import dataclass

from table import Kernel


@dataclass
class K(Kernel):
    output: tuple = ()


KERNELS = [
    K("rms_norm", "N(4, 8), N(8)", """
        enum { R = 4, C = 8 };
        void f(const double* x, const double* w, double* y) {
            for (int r = 0; r < R; ++r) {
                double sum = 0;
                for (int c = 0; c < C; ++c) sum += x[r * C + c] * x[r * C + c];
                const double inv = 1 / sqrt(sum / C + 1e-6);
                for (int c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] * inv * w[c];
            }
        }
        void vjp(const double* x, const double* w, const double* g, double* dx, double* dw) {
            for (int c = 0; c < C; ++c) dw[c] = 0;
            for (int r = 0; r < R; ++r) {
                double sum = 0, dot = 0;
                for (int c = 0; c < C; ++c) sum += x[r * C + c] * x[r * C + c];
                const double inv = 1 / sqrt(sum / C + 1e-6);
                for (int c = 0; c < C; ++c) dot += g[r * C + c] * w[c] * x[r * C + c];
                for (int c = 0; c < C; ++c) {
                    const int i = r * C + c;
                    dx[i] = inv * (g[i] * w[c] - x[i] * inv * inv * dot / C);
                    dw[c] += g[i] * x[i] * inv;
                }
            }
        }
        """, "dw[c] += g[i] => dw[c] = g[i]", "missing sum over a broadcast axis", (4, 8)),
    K("layer_norm", "N(3, 6)", """
        static void stats(const double* x, double* mean, double* inv) {
            double m = 0, v = 0;
            for (int c = 0; c < 6; ++c) m += x[c] / 6;
            for (int c = 0; c < 6; ++c) v += (x[c] - m) * (x[c] - m) / 6;
            *mean = m, *inv = 1 / sqrt(v + 1e-5);
        }
        void f(const double* x, double* y) {
            for (int r = 0; r < 3; ++r, x += 6, y += 6) {
                double m, inv;
                stats(x, &m, &inv);
                for (int c = 0; c < 6; ++c) y[c] = (x[c] - m) * inv;
            }
        }
        void vjp(const double* x, const double* g, double* dx) {
            for (int r = 0; r < 3; ++r, x += 6, g += 6, dx += 6) {
                double m, inv, mg = 0, mgy = 0;
                stats(x, &m, &inv);
                for (int c = 0; c < 6; ++c) mg += g[c] / 6, mgy += g[c] * (x[c] - m) * inv / 6;
                for (int c = 0; c < 6; ++c) dx[c] = inv * (g[c] - mg - (x[c] - m) * inv * mgy);
            }
        }
        """, "g[c] - mg - (x => g[c] - (x", "a term is missing", (3, 6)),
    K("softmax", "N(3, 5)", """
        void f(const double* x, double* y) {
            for (int r = 0; r < 3; ++r, x += 5, y += 5) {
                double most = x[0], sum = 0;
                for (int c = 1; c < 5; ++c) most = fmax(most, x[c]);
                for (int c = 0; c < 5; ++c) sum += y[c] = exp(x[c] - most);
                for (int c = 0; c < 5; ++c) y[c] /= sum;
            }
        }
        void vjp(const double* x, const double* g, double* dx) {
            double y[15];
            f(x, y);
            for (int r = 0; r < 3; ++r) {
                double dot = 0;
                for (int c = 0; c < 5; ++c) dot += g[5 * r + c] * y[5 * r + c];
                for (int c = 0; c < 5; ++c) dx[5 * r + c] = y[5 * r + c] * (g[5 * r + c] - dot);
            }
        }
        """, "for (int c = 0; c < 5; ++c) dot += g => for (int c = 1; c < 5; ++c) dot += g", "along x or y|a term is missing", (3, 5)),
    K("cross_entropy", "N(4, 6)", """
        static const int target[] = {1, 5, 0, 2};
        void f(const double* z, double* loss) {
            *loss = 0;
            for (int r = 0; r < 4; ++r, z += 6) {
                double most = z[0], sum = 0;
                for (int c = 1; c < 6; ++c) most = fmax(most, z[c]);
                for (int c = 0; c < 6; ++c) sum += exp(z[c] - most);
                *loss += (log(sum) + most - z[target[r]]) / 4;
            }
        }
        void vjp(const double* z, const double* g, double* dz) {
            for (int r = 0; r < 4; ++r, z += 6, dz += 6) {
                double most = z[0], sum = 0;
                for (int c = 1; c < 6; ++c) most = fmax(most, z[c]);
                for (int c = 0; c < 6; ++c) sum += exp(z[c] - most);
                for (int c = 0; c < 6; ++c) {
                    dz[c] = *g / 4 * (exp(z[c] - most) / sum - (c == target[r] ? 1 : 0));
                }
            }
        }
        """, "dz[c] = *g / 4 * => dz[c] = *g *", "constant factor", ()),
    K("matmul", "N(3, 4), N(4, 5)", """
        void f(const double* a, const double* b, double* y) {
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 5; ++j) {
                    double sum = 0;
                    for (int k = 0; k < 4; ++k) sum += a[4 * i + k] * b[5 * k + j];
                    y[5 * i + j] = sum;
                }
        }
        void vjp(const double* a, const double* b, const double* g, double* da, double* db) {
            for (int n = 0; n < 12; ++n) da[n] = 0;
            for (int n = 0; n < 20; ++n) db[n] = 0;
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 5; ++j)
                    for (int k = 0; k < 4; ++k) {
                        da[4 * i + k] += g[5 * i + j] * b[5 * k + j];
                        db[5 * k + j] += g[5 * i + j] * a[4 * i + k];
                    }
        }
        """, "for (int i = 0; i < 3; ++i)\n        for (int j = 0; j < 5; ++j)\n            for => "
             "for (int i = 0; i < 2; ++i)\n        for (int j = 0; j < 5; ++j)\n            for",
      "some samples", (3, 5)),
    K("linear_in_tiles", "N(4, 6), N(5, 6), N(5)", """
        void f(const double* x, const double* w, const double* b, double* y) {
            for (int r = 0; r < 4; ++r)
                for (int o = 0; o < 5; ++o) {
                    double sum = b[o];
                    for (int k = 0; k < 6; ++k) sum += x[6 * r + k] * w[6 * o + k];
                    y[5 * r + o] = sum;
                }
        }
        void vjp(const double* x, const double* w, const double* b, const double* g, double* dx, double* dw,
                 double* db) {
            for (int n = 0; n < 24; ++n) dx[n] = 0;
            for (int n = 0; n < 30; ++n) dw[n] = 0;
            for (int n = 0; n < 5; ++n) db[n] = 0;
            for (int tile = 0; tile < 6; tile += 2)
                for (int r = 0; r < 4; ++r)
                    for (int o = 0; o < 5; ++o) {
                        const double gradient = g[5 * r + o];
                        if (tile == 0) db[o] += gradient;
                        for (int k = tile; k < tile + 2; ++k) {
                            dx[6 * r + k] += gradient * w[6 * o + k];
                            dw[6 * o + k] += gradient * x[6 * r + k];
                        }
                    }
        }
        """, "if (tile == 0) db[o] => db[o]", "constant factor", (4, 5)),
    K("conv1d", "N(2, 8), N(3, 2, 3)", """
        void f(const double* x, const double* w, double* y) {
            for (int o = 0; o < 3; ++o)
                for (int n = 0; n < 6; ++n) {
                    double sum = 0;
                    for (int c = 0; c < 2; ++c)
                        for (int k = 0; k < 3; ++k) sum += w[6 * o + 3 * c + k] * x[8 * c + n + k];
                    y[6 * o + n] = sum;
                }
        }
        void vjp(const double* x, const double* w, const double* g, double* dx, double* dw) {
            for (int n = 0; n < 16; ++n) dx[n] = 0;
            for (int n = 0; n < 18; ++n) dw[n] = 0;
            for (int o = 0; o < 3; ++o)
                for (int n = 0; n < 6; ++n)
                    for (int c = 0; c < 2; ++c)
                        for (int k = 0; k < 3; ++k) {
                            dx[8 * c + n + k] += g[6 * o + n] * w[6 * o + 3 * c + k];
                            dw[6 * o + 3 * c + k] += g[6 * o + n] * x[8 * c + n + k];
                        }
        }
        """, "g[6 * o + n] * w[6 * o + 3 * c + k] => g[6 * o + n] * w[6 * o + 3 * c + 2 - k]", "flipped", (3, 6)),
    K("scan", "U(0.2, 0.9, 7), N(7)", """
        void f(const double* a, const double* b, double* h) {
            double state = 0;
            for (int t = 0; t < 7; ++t) h[t] = state = a[t] * state + b[t];
        }
        void vjp(const double* a, const double* b, const double* g, double* da, double* db) {
            double h[7], carry = 0;
            f(a, b, h);
            for (int t = 6; t >= 0; --t) {
                carry += g[t];
                db[t] = carry;
                da[t] = t > 0 ? carry * h[t - 1] : 0;
                carry *= a[t];
            }
        }
        """, "carry *= a[t] => carry *= t > 0 ? a[t - 1] : 0", "wrong formula", (7,)),
    K("max_pool", "N(3, 8)", """
        void f(const double* x, double* y) {
            for (int i = 0; i < 12; ++i) y[i] = fmax(x[2 * i], x[2 * i + 1]);
        }
        void vjp(const double* x, const double* g, double* dx) {
            for (int i = 0; i < 12; ++i) {
                const int first = x[2 * i] >= x[2 * i + 1];
                dx[2 * i] = first ? g[i] : 0;
                dx[2 * i + 1] = first ? 0 : g[i];
            }
        }
        """, "dx[2 * i + 1] = first ? 0 : g[i] => dx[2 * i + 1] = first ? g[i] : 0", "some elements", (3, 4)),
    K("average_pool_2d", "N(4, 6)", """
        void f(const double* x, double* y) {
            for (int r = 0; r < 2; ++r)
                for (int c = 0; c < 3; ++c)
                    y[3 * r + c] = (x[12 * r + 2 * c] + x[12 * r + 2 * c + 1] + x[12 * r + 6 + 2 * c] +
                                    x[12 * r + 7 + 2 * c]) / 4;
        }
        void vjp(const double* x, const double* g, double* dx) {
            for (int r = 0; r < 4; ++r)
                for (int c = 0; c < 6; ++c) dx[6 * r + c] = g[3 * (r / 2) + c / 2] / 4;
        }
        """, "g[3 * (r / 2) + c / 2] => g[3 * (r % 2) + c / 2]", "some elements|some rows", (2, 3)),
    K("embedding", "N(5, 3)", """
        static const int tokens[] = {4, 1, 4, 0};
        void f(const double* table, double* y) {
            for (int t = 0; t < 4; ++t)
                for (int c = 0; c < 3; ++c) y[3 * t + c] = table[3 * tokens[t] + c];
        }
        void vjp(const double* table, const double* g, double* d) {
            for (int n = 0; n < 15; ++n) d[n] = 0;
            for (int t = 0; t < 4; ++t)
                for (int c = 0; c < 3; ++c) d[3 * tokens[t] + c] += g[3 * t + c];
        }
        """, "for (int c = 0; c < 3; ++c) d[3 => for (int c = 0; c < 2; ++c) d[3", "some elements|some rows|some samples", (4, 3)),
    K("rotary", "N(4, 6)", """
        void f(const double* x, double* y) {
            for (int t = 0; t < 4; ++t)
                for (int k = 0; k < 3; ++k) {
                    const double angle = t * pow(100, -k / 3.0), a = x[6 * t + 2 * k], b = x[6 * t + 2 * k + 1];
                    y[6 * t + 2 * k] = a * cos(angle) - b * sin(angle);
                    y[6 * t + 2 * k + 1] = a * sin(angle) + b * cos(angle);
                }
        }
        void vjp(const double* x, const double* g, double* dx) {
            for (int t = 0; t < 4; ++t)
                for (int k = 0; k < 3; ++k) {
                    const double turn = -t * pow(100, -k / 3.0), a = g[6 * t + 2 * k], b = g[6 * t + 2 * k + 1];
                    dx[6 * t + 2 * k] = a * cos(turn) - b * sin(turn);
                    dx[6 * t + 2 * k + 1] = a * sin(turn) + b * cos(turn);
                }
        }
        """, "turn = -t * => turn = t *", "transposed", (4, 6)),
    K("swiglu", "N(12), N(12)", """
        void f(const double* a, const double* b, double* y) {
            for (int i = 0; i < 12; ++i) y[i] = a[i] / (1 + exp(-a[i])) * b[i];
        }
        void vjp(const double* a, const double* b, const double* g, double* da, double* db) {
            for (int i = 0; i < 12; ++i) {
                const double s = 1 / (1 + exp(-a[i]));
                da[i] = g[i] * b[i] * (s + a[i] * s * (1 - s));
                db[i] = g[i] * a[i] * s;
            }
        }
        """, "(s + a[i] * s * (1 - s)) => (s + s * (1 - s))", "wrong formula", (12,)),
    K("gelu", "N(15)", """
        void f(const double* x, double* y) {
            for (int i = 0; i < 15; ++i) y[i] = 0.5 * x[i] * (1 + erf(x[i] / sqrt(2)));
        }
        void vjp(const double* x, const double* g, double* dx) {
            for (int i = 0; i < 15; ++i) {
                const double density = exp(-0.5 * x[i] * x[i]) / sqrt(2 * 3.14159265358979323846);
                dx[i] = g[i] * (0.5 * (1 + erf(x[i] / sqrt(2))) + x[i] * density);
            }
        }
        """, "+ x[i] * density => - x[i] * density", "wrong formula", (15,)),
    K("attention_of_one_query", "N(4), N(5, 4), N(5, 3)", """
        static void weights(const double* q, const double* k, double* p) {
            double most = -1e300, sum = 0;
            for (int j = 0; j < 5; ++j) {
                p[j] = 0;
                for (int d = 0; d < 4; ++d) p[j] += q[d] * k[4 * j + d] / 2;
                most = fmax(most, p[j]);
            }
            for (int j = 0; j < 5; ++j) sum += p[j] = exp(p[j] - most);
            for (int j = 0; j < 5; ++j) p[j] /= sum;
        }
        void f(const double* q, const double* k, const double* v, double* y) {
            double p[5];
            weights(q, k, p);
            for (int c = 0; c < 3; ++c) {
                y[c] = 0;
                for (int j = 0; j < 5; ++j) y[c] += p[j] * v[3 * j + c];
            }
        }
        void vjp(const double* q, const double* k, const double* v, const double* g, double* dq, double* dk,
                 double* dv) {
            double p[5], dp[5], dot = 0;
            weights(q, k, p);
            for (int j = 0; j < 5; ++j) {
                dp[j] = 0;
                for (int c = 0; c < 3; ++c) dp[j] += g[c] * v[3 * j + c], dv[3 * j + c] = p[j] * g[c];
                dot += p[j] * dp[j];
            }
            for (int d = 0; d < 4; ++d) dq[d] = 0;
            for (int j = 0; j < 5; ++j) {
                const double ds = p[j] * (dp[j] - dot) / 2;
                for (int d = 0; d < 4; ++d) dq[d] += ds * k[4 * j + d], dk[4 * j + d] = ds * q[d];
            }
        }
        """, "p[j] * (dp[j] - dot) / 2 => p[j] * dp[j] / 2", "held constant|wrong term", (3,)),
    K("huber", "N(9), N(9)", """
        void f(const double* x, const double* y, double* loss) {
            *loss = 0;
            for (int i = 0; i < 9; ++i) {
                const double d = fabs(x[i] - y[i]);
                *loss += (d < 1 ? 0.5 * d * d : d - 0.5) / 9;
            }
        }
        void vjp(const double* x, const double* y, const double* g, double* dx, double* dy) {
            for (int i = 0; i < 9; ++i) {
                const double d = x[i] - y[i];
                dx[i] = *g * fmax(-1, fmin(1, d)) / 9;
                dy[i] = -dx[i];
            }
        }
        """, "dy[i] = -dx[i] => dy[i] = dx[i]", "sign flipped", ()),
]  # fmt: skip
