// One attention of a model: its queries and keys, and the derived
//     score(i, j) = scale q_i . k_j + mask(i, j),   weight(i, .) = softmax of row i,
// over the keys that query i may see. Computed in the run's own type: a score beyond the largest
// f32 is infinite here as it was in the step, and the weights of its row are NaN.
import { decodeFloats, decodeHalf, unpackRows } from './data.js';

export const LARGEST_F32 = (2 - 2 ** -23) * 2 ** 127;

export class Attention {
  // exact: q, k and the mask are unrounded. image: the image whose patches are the keys, if they
  // are.
  constructor(data, exact, image) {
    Object.assign(this, data, { exact });
    const grid = image && { rows: image.height / image.patch, columns: image.width / image.patch,
      first: image.first };
    this.round = data.dtype === 'f64' ? (x) => x : Math.fround;
    this.grid = grid && grid.first + grid.rows * grid.columns === this.keys ? grid : null;
    this.cached = new Map();
  }

  // q, k, v or output as rows of `width` numbers, decoded on first use.
  rows(name, width) {
    if (typeof this[name] === 'string') {
      this[name] = this.exact ? decodeFloats(this[name]) : unpackRows(this[name], this[`${name}Units`], width);
    }
    return this[name];
  }

  // The number of keys that query i sees, from the first: causal attention is aligned at the end.
  seen(i) {
    const visible = this.causal ? i + 1 + this.keys - this.queries : this.keys;
    return Math.max(0, Math.min(visible, this.keys));
  }

  masked(head, i, j) {
    if (!this.mask) return 0;
    if (typeof this.mask === 'string') this.mask = (this.exact ? decodeFloats : decodeHalf)(this.mask);
    const layer = this.maskHeads === 1 ? 0 : head;
    return this.mask[(layer * this.queries + i) * this.keys + j];
  }

  query(head, i) {
    const first = (head * this.queries + i) * this.dim;
    return this.rows('q', this.dim).subarray(first, first + this.dim);
  }

  key(head, j) {
    const first = (head * this.keys + j) * this.dim;
    return this.rows('k', this.dim).subarray(first, first + this.dim);
  }

  // Values and the output projection: the page omits both for large models.
  hasValues() {
    return this.v !== undefined;
  }

  value(head, j) {
    const first = (head * this.keys + j) * this.valueDim;
    return this.rows('v', this.valueDim).subarray(first, first + this.valueDim);
  }

  // W_O [C, H D] by rows, or undefined.
  outputMatrix() {
    return this.rows('output', this.heads * this.valueDim);
  }

  // The output projection's bias, or undefined.
  bias() {
    if (typeof this.outputBias === 'string') this.outputBias = decodeFloats(this.outputBias);
    return this.outputBias;
  }

  // q . k in the run's type; `exact`: without rounding.
  dot(head, i, j, exact = false) {
    const [q, k] = [this.query(head, i), this.key(head, j)];
    const round = exact ? (x) => x : this.round;
    let sum = 0;
    for (let d = 0; d < q.length; ++d) sum = round(sum + q[d] * k[d]);
    return sum;
  }

  // Scores of query i with all keys; -Infinity for hidden keys.
  scores(head, i) {
    const row = new Float64Array(this.keys).fill(-Infinity);
    const q = this.query(head, i);
    const seen = this.seen(i);
    const k = this.rows('k', this.dim);
    const { round } = this;
    for (let j = 0, at = head * this.keys * this.dim; j < seen; ++j) {
      let sum = 0;
      for (let d = 0; d < q.length; ++d) sum += q[d] * k[at++];
      const added = this.masked(head, i, j);
      // Rounding every term would take five times as long, and matters only where one overflows.
      sum = Math.abs(sum) > 1e37 ? this.dot(head, i, j) : round(sum);
      row[j] = added === -Infinity ? added : round(round(this.scale * sum) + added);
    }
    return row;
  }

  // The row of one query, not cached.
  rowOf(head, i) {
    const known = this.cached.get(head);
    return known ? known.subarray(i * this.keys, (i + 1) * this.keys)
      : softmax(this.scores(head, i), this.round).weights;
  }

  // Row-major [queries, keys]. Caches the last few: a head of 512 tokens takes a megabyte.
  weights(head) {
    const known = this.cached.get(head);
    if (known) return known;
    const all = new Float32Array(this.queries * this.keys);
    for (let i = 0; i < this.queries; ++i) {
      all.set(this.rowOf(head, i), i * this.keys);
    }
    if (this.cached.size >= 4) this.cached.delete(this.cached.keys().next().value);
    this.cached.set(head, all);
    return all;
  }

  // The number of keys seen by each query of a head, for queries that see any.
  seenCounts(head) {
    const counts = [];
    for (let i = 0; i < this.queries; ++i) {
      const seen = this.seen(i);
      let count = seen;
      for (let j = 0; this.mask && j < seen; ++j) count -= this.masked(head, i, j) === -Infinity;
      if (count > 0) counts.push(count);
    }
    return counts;
  }

  // The entropy of uniform attention over the visible keys, the maximum. For causal attention, the
  // mean of ln(i + 1).
  mostEntropy(head) {
    const counts = this.seenCounts(head);
    return counts.reduce((sum, count) => sum + Math.log(count), 0) / counts.length;
  }

  // From query i to key j: in tokens, or in patches across the image. NaN if either is not a patch.
  distanceBetween(i, j) {
    if (!this.grid) return Math.abs(i + this.keys - this.queries - j);
    const { columns, first } = this.grid;
    if (i < first || j < first) return NaN;
    const [a, b] = [i - first, j - first];
    return Math.hypot(Math.floor(a / columns) - Math.floor(b / columns), a % columns - b % columns);
  }

  // A head's mean distance, and that of uniform attention.
  meanDistances(head) {
    const weights = this.weights(head);
    const sums = { far: 0, weight: 0, even: 0, share: 0 };
    for (let i = 0; i < this.queries; ++i) {
      const seen = this.seen(i);
      for (let j = 0; j < seen; ++j) {
        const far = this.distanceBetween(i, j);
        if (Number.isNaN(far) || this.masked(head, i, j) === -Infinity) continue;
        const weight = weights[i * this.keys + j];
        sums.far += weight * far;
        sums.weight += weight;
        sums.even += far / seen;
        sums.share += 1 / seen;
      }
    }
    return { weighed: sums.far / sums.weight, even: sums.even / sums.share };
  }

  heaviestKey(head, i) {
    const row = this.weights(head).subarray(i * this.keys, (i + 1) * this.keys);
    return row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);
  }

  kind() {
    if (this.cross) return 'cross-attention';
    return this.causal ? 'causal self-attention' : 'self-attention';
  }
}

// For one row of scores; zeros if nothing is visible. A NaN or infinite score makes the row NaN.
export function softmax(scores, round = Math.fround) {
  let max = -Infinity;
  for (const score of scores) max = Math.max(max, score);
  const weights = new Float64Array(scores.length);
  if (max === -Infinity) return { max, sum: 0, weights };
  let sum = 0;
  for (let j = 0; j < scores.length; ++j) sum += weights[j] = round(Math.exp(round(scores[j] - max)));
  for (let j = 0; j < scores.length; ++j) weights[j] = round(weights[j] / sum);
  return { max, sum, weights };
}
