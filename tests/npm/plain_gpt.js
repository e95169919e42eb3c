// A GPT in doubles and plain loops, computed only from its weights: the reference for the pages'
// numbers. It shares no code with the library or the pages. Norm first, tanh GELU, learned
// positions, no dropout, the layers of nn/models/gpt.h.
const fs = require('node:fs');

// Reads a safetensors file: { name: { shape, data } }.
exports.readTensors = (file) => {
  const bytes = fs.readFileSync(file);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + length));
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [from, to] = [] }] of Object.entries(header)) {
    if (dtype !== 'F32') continue; // metadata
    const data = new Float64Array((to - from) / 4);
    for (let i = 0; i < data.length; ++i) data[i] = bytes.readFloatLE(8 + length + from + 4 * i);
    tensors[name] = { shape, data };
  }
  return tensors;
};

const zeros = (count) => new Float64Array(count);

// y[t, o] = sum over i of x[t, i] w[o, i], + b[o]
function linear(x, w, b) {
  const [out, inner] = w.shape;
  const rows = x.length / inner;
  const y = zeros(rows * out);
  for (let t = 0; t < rows; ++t) {
    for (let o = 0; o < out; ++o) {
      let sum = b ? b.data[o] : 0;
      for (let i = 0; i < inner; ++i) sum += x[t * inner + i] * w.data[o * inner + i];
      y[t * out + o] = sum;
    }
  }
  return y;
}

// Adds to gradients.w and .b, returns the gradient of x.
function linearBack(dy, x, w, gradients, names) {
  const [out, inner] = w.shape;
  const rows = x.length / inner;
  const dx = zeros(x.length);
  const dw = gradients[names[0]];
  const db = gradients[names[1]];
  for (let t = 0; t < rows; ++t) {
    for (let o = 0; o < out; ++o) {
      const g = dy[t * out + o];
      if (db) db[o] += g;
      for (let i = 0; i < inner; ++i) {
        dw[o * inner + i] += g * x[t * inner + i];
        dx[t * inner + i] += g * w.data[o * inner + i];
      }
    }
  }
  return dx;
}

const EPS = 1e-5;

function norm(x, w, b) {
  const dim = w.data.length;
  const y = zeros(x.length);
  const hats = zeros(x.length);
  const scales = zeros(x.length / dim);
  for (let t = 0; t < scales.length; ++t) {
    const row = x.subarray(t * dim, (t + 1) * dim);
    const mean = row.reduce((a, v) => a + v, 0) / dim;
    const variance = row.reduce((a, v) => a + (v - mean) ** 2, 0) / dim;
    scales[t] = 1 / Math.sqrt(variance + EPS);
    for (let d = 0; d < dim; ++d) {
      hats[t * dim + d] = (row[d] - mean) * scales[t];
      y[t * dim + d] = hats[t * dim + d] * w.data[d] + b.data[d];
    }
  }
  return { y, hats, scales };
}

function normBack(dy, { hats, scales }, w, dw, db) {
  const dim = w.data.length;
  const dx = zeros(dy.length);
  for (let t = 0; t < scales.length; ++t) {
    let mean = 0;
    let along = 0;
    for (let d = 0; d < dim; ++d) {
      const i = t * dim + d;
      dw[d] += dy[i] * hats[i];
      db[d] += dy[i];
      mean += dy[i] * w.data[d] / dim;
      along += dy[i] * w.data[d] * hats[i] / dim;
    }
    for (let d = 0; d < dim; ++d) {
      const i = t * dim + d;
      dx[i] = scales[t] * (dy[i] * w.data[d] - mean - hats[i] * along);
    }
  }
  return dx;
}

const ROOT = Math.sqrt(2 / Math.PI);
const gelu = (x) => 0.5 * x * (1 + Math.tanh(ROOT * (x + 0.044715 * x ** 3)));
function geluSlope(x) {
  const t = Math.tanh(ROOT * (x + 0.044715 * x ** 3));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ROOT * (1 + 3 * 0.044715 * x * x);
}

const plus = (a, b) => a.map((value, i) => value + b[i]);

// Head h of a packed [T, 3 C]: part 0, 1, 2 is q, k, v.
const at = (part, t, h, d, dim, width) => t * 3 * dim + part * dim + h * width + d;

function attention(qkv, heads, dim) {
  const rows = qkv.length / (3 * dim);
  const width = dim / heads;
  const weights = Array.from({ length: heads }, () => zeros(rows * rows));
  const mixed = zeros(rows * dim);
  for (let h = 0; h < heads; ++h) {
    for (let i = 0; i < rows; ++i) {
      const scores = [];
      for (let j = 0; j <= i; ++j) {
        let dot = 0;
        for (let d = 0; d < width; ++d) {
          dot += qkv[at(0, i, h, d, dim, width)] * qkv[at(1, j, h, d, dim, width)];
        }
        scores.push(dot / Math.sqrt(width));
      }
      const most = Math.max(...scores);
      const sum = scores.reduce((a, s) => a + Math.exp(s - most), 0);
      scores.forEach((s, j) => {
        const p = Math.exp(s - most) / sum;
        weights[h][i * rows + j] = p;
        for (let d = 0; d < width; ++d) {
          mixed[i * dim + h * width + d] += p * qkv[at(2, j, h, d, dim, width)];
        }
      });
    }
  }
  return { weights, mixed };
}

function attentionBack(dmixed, qkv, weights, heads, dim) {
  const rows = qkv.length / (3 * dim);
  const width = dim / heads;
  const scale = 1 / Math.sqrt(width);
  const dqkv = zeros(qkv.length);
  for (let h = 0; h < heads; ++h) {
    for (let i = 0; i < rows; ++i) {
      const dp = zeros(i + 1);
      let mean = 0; // of dp, weighted
      for (let j = 0; j <= i; ++j) {
        const p = weights[h][i * rows + j];
        for (let d = 0; d < width; ++d) {
          const g = dmixed[i * dim + h * width + d];
          dp[j] += g * qkv[at(2, j, h, d, dim, width)];
          dqkv[at(2, j, h, d, dim, width)] += p * g;
        }
        mean += p * dp[j];
      }
      for (let j = 0; j <= i; ++j) {
        const ds = weights[h][i * rows + j] * (dp[j] - mean) * scale;
        for (let d = 0; d < width; ++d) {
          dqkv[at(0, i, h, d, dim, width)] += ds * qkv[at(1, j, h, d, dim, width)];
          dqkv[at(1, j, h, d, dim, width)] += ds * qkv[at(0, i, h, d, dim, width)];
        }
      }
    }
  }
  return dqkv;
}

// { loss, losses, probabilities [T][V], attention (a list of heads' weights [T, T] per layer),
// stages (vectors [T, W] by name), gradients (by parameter) } for one sequence.
exports.trainingStep = (w, { ids, targets, heads }) => {
  const dim = w['final_norm.weight'].data.length;
  const rows = ids.length;
  let layers = 0;
  while (w[`blocks.${layers}.attention_norm.weight`]) ++layers;
  const stages = {};
  const kept = [];
  let x = zeros(rows * dim);
  const tokens = zeros(rows * dim);
  for (let i = 0; i < x.length; ++i) {
    const [t, d] = [Math.floor(i / dim), i % dim];
    tokens[i] = w['token_embedding.weight'].data[ids[t] * dim + d];
    x[i] = tokens[i] + w['position_embedding.weight'].data[t * dim + d];
  }
  stages.tokens = tokens;
  stages.embedded = x;
  for (let layer = 0; layer < layers; ++layer) {
    const name = (rest) => `blocks.${layer}.${rest}`;
    const of = (rest) => w[name(rest)];
    const first = norm(x, of('attention_norm.weight'), of('attention_norm.bias'));
    const qkv = linear(first.y, of('attention.qkv.weight'), of('attention.qkv.bias'));
    const heads_ = attention(qkv, heads, dim);
    const written = linear(heads_.mixed, of('attention.output.weight'), of('attention.output.bias'));
    const middle = plus(x, written);
    const second = norm(middle, of('feed_forward_norm.weight'), of('feed_forward_norm.bias'));
    const up = linear(second.y, of('feed_forward.up.weight'), of('feed_forward.up.bias'));
    const active = up.map(gelu);
    const down = linear(active, of('feed_forward.down.weight'), of('feed_forward.down.bias'));
    kept.push({ name, of, x, first, qkv, ...heads_, second, up, active });
    x = plus(middle, down);
    Object.assign(stages, { [name('norm')]: first.y, [name('qkv')]: qkv, [name('mixed')]: heads_.mixed,
      [name('written')]: written, [name('middle')]: middle, [name('second')]: second.y, [name('up')]: up,
      [name('active')]: active, [name('down')]: down, [name('out')]: x });
  }
  const last = norm(x, w['final_norm.weight'], w['final_norm.bias']);
  const head = w['head.weight'] ? 'head' : 'token_embedding'; // the same matrix
  const logits = linear(last.y, w[`${head}.weight`]);
  Object.assign(stages, { final: last.y, logits });
  const classes = logits.length / rows;
  const probabilities = [];
  const losses = [];
  const dlogits = zeros(logits.length);
  for (let t = 0; t < rows; ++t) {
    const row = logits.subarray(t * classes, (t + 1) * classes);
    const most = Math.max(...row);
    const sum = row.reduce((a, v) => a + Math.exp(v - most), 0);
    probabilities.push(Array.from(row, (v) => Math.exp(v - most) / sum));
    losses.push(Math.log(sum) + most - row[targets[t]]);
    for (let c = 0; c < classes; ++c) {
      dlogits[t * classes + c] = (probabilities[t][c] - (c === targets[t] ? 1 : 0)) / rows;
    }
  }
  const loss = losses.reduce((a, b) => a + b, 0) / rows;

  const gradients = Object.fromEntries(Object.entries(w).map(([name, { data }]) => [name, zeros(data.length)]));
  const back = (dy, input, name) => linearBack(dy, input, w[`${name}.weight`], gradients,
    [`${name}.weight`, `${name}.bias`]);
  const backNorm = (dy, its, name) => normBack(dy, its, w[`${name}.weight`], gradients[`${name}.weight`],
    gradients[`${name}.bias`]);
  let dx = backNorm(back(dlogits, last.y, head), last, 'final_norm');
  for (const { name, first, qkv, weights, mixed, second, up, active } of kept.reverse()) {
    const dactive = back(dx, active, name('feed_forward.down'));
    const dup = dactive.map((g, i) => g * geluSlope(up[i]));
    const dmiddle = plus(dx, backNorm(back(dup, second.y, name('feed_forward.up')), second,
      name('feed_forward_norm')));
    const dmixed = back(dmiddle, mixed, name('attention.output'));
    const dqkv = attentionBack(dmixed, qkv, weights, heads, dim);
    dx = plus(dmiddle, backNorm(back(dqkv, first.y, name('attention.qkv')), first, name('attention_norm')));
  }
  for (let i = 0; i < dx.length; ++i) {
    const [t, d] = [Math.floor(i / dim), i % dim];
    gradients['token_embedding.weight'][ids[t] * dim + d] += dx[i];
    gradients['position_embedding.weight'][t * dim + d] += dx[i];
  }
  return { loss, losses, probabilities, stages, gradients, logits,
    attention: kept.reverse().map(({ weights }) => weights) };
};
