// One attention of a model: its queries and keys, and what follows from them,
//     score(i, j) = scale q_i . k_j + mask(i, j),   weight(i, .) = softmax of row i,
// over the keys that query i may see.
import { decodeFloats, decodeHalf, unpackRows } from './data.js';

export class Attention {
  // exact: q, k and the mask are what the model had, and not rounded.
  constructor(data, exact) {
    Object.assign(this, data, { exact });
    this.cached = new Map();
  }

  decode() {
    if (typeof this.q !== 'string') return;
    const rows = (text, units, width) => (this.exact ? decodeFloats(text) : unpackRows(text, units, width));
    this.q = rows(this.q, this.qUnits, this.dim);
    this.k = rows(this.k, this.kUnits, this.dim);
    if (this.v) this.v = rows(this.v, this.vUnits, this.valueDim);
    if (this.output) this.output = rows(this.output, this.outputUnits, this.heads * this.valueDim);
    if (this.outputBias) this.outputBias = decodeFloats(this.outputBias);
    const mask = this.exact ? decodeFloats : decodeHalf;
    this.mask = this.mask ? mask(this.mask) : null;
  }

  // How many keys query i sees, from the first: causal attention is aligned at the end.
  seen(i) {
    const visible = this.causal ? i + 1 + this.keys - this.queries : this.keys;
    return Math.max(0, Math.min(visible, this.keys));
  }

  masked(head, i, j) {
    if (!this.mask) return 0;
    const layer = this.maskHeads === 1 ? 0 : head;
    return this.mask[(layer * this.queries + i) * this.keys + j];
  }

  query(head, i) {
    this.decode();
    const first = (head * this.queries + i) * this.dim;
    return this.q.subarray(first, first + this.dim);
  }

  key(head, j) {
    this.decode();
    const first = (head * this.keys + j) * this.dim;
    return this.k.subarray(first, first + this.dim);
  }

  // Values and the projection behind the heads: of a model that is too large the page has neither.
  hasValues() {
    return this.v !== undefined;
  }

  value(head, j) {
    this.decode();
    const first = (head * this.keys + j) * this.valueDim;
    return this.v.subarray(first, first + this.valueDim);
  }

  // W_O [C, H D] by rows, or nothing.
  outputMatrix() {
    this.decode();
    return this.output;
  }

  // Scores of query i with all keys; -Infinity where it may not look.
  scores(head, i) {
    const row = new Float64Array(this.keys).fill(-Infinity);
    const q = this.query(head, i);
    const seen = this.seen(i);
    const k = this.k;
    for (let j = 0, at = head * this.keys * this.dim; j < seen; ++j) {
      let sum = 0;
      for (let d = 0; d < q.length; ++d) sum += q[d] * k[at++];
      row[j] = this.scale * sum + this.masked(head, i, j);
    }
    return row;
  }

  // Row-major [queries, keys]. The last few are kept: a head of 512 tokens takes a megabyte.
  weights(head) {
    const known = this.cached.get(head);
    if (known) return known;
    const all = new Float32Array(this.queries * this.keys);
    for (let i = 0; i < this.queries; ++i) {
      all.set(softmax(this.scores(head, i)).weights, i * this.keys);
    }
    if (this.cached.size >= 4) this.cached.delete(this.cached.keys().next().value);
    this.cached.set(head, all);
    return all;
  }

  // How many keys each query of a head sees, of those queries that see any.
  seenCounts(head) {
    this.decode();
    const counts = [];
    for (let i = 0; i < this.queries; ++i) {
      const seen = this.seen(i);
      let count = seen;
      for (let j = 0; this.mask && j < seen; ++j) count -= this.masked(head, i, j) === -Infinity;
      if (count > 0) counts.push(count);
    }
    return counts;
  }

  // The entropy of a head that weighs all that it sees alike: the most there can be. Of one that
  // looks back alone the mean of ln(i + 1).
  mostEntropy(head) {
    const counts = this.seenCounts(head);
    return counts.reduce((sum, count) => sum + Math.log(count), 0) / counts.length;
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

// Of one row of scores; zeros where there is nothing to see.
export function softmax(scores) {
  let max = -Infinity;
  for (const score of scores) max = Math.max(max, score);
  const weights = new Float64Array(scores.length);
  if (max === -Infinity) return { max, sum: 0, weights };
  let sum = 0;
  for (let j = 0; j < scores.length; ++j) sum += weights[j] = Math.exp(scores[j] - max);
  for (let j = 0; j < scores.length; ++j) weights[j] /= sum;
  return { max, sum, weights };
}
