// What the figures compute, in doubles as the course's programs do: tests/examples/figures_test.cpp
// has the library's numbers for the same inputs.
// Read next: figure.js.

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const matmul = (a, b) => a.map((row) => b[0].map((_, c) => row.reduce((sum, value, i) => sum + value * b[i][c], 0)));
const transposed = (a) => a[0].map((_, c) => a.map((row) => row[c]));

function softmax(scores) {
  const largest = Math.max(...scores);
  const shares = scores.map((score) => Math.exp(score - largest));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}

// L = -log p of the target, p = softmax(scores / temperature), and dL/d(scores).
function crossEntropy(scores, temperature, target) {
  const p = softmax(scores.map((score) => score / temperature));
  return { p, loss: -Math.log(p[target]),
    gradient: p.map((share, i) => (share - (i === target ? 1 : 0)) / temperature) };
}

// L = sum of tanh(x w)^2, row by row, and the walk back from dL/dL = 1.
function walk(x, w) {
  const p = x.map((value, i) => value * w[i]);
  const y = p.map(Math.tanh);
  const z = y.map((value) => value * value);
  const toZ = z.map(() => 1);
  const toY = y.map((value, i) => 2 * value * toZ[i]);
  const toP = y.map((value, i) => toY[i] * (1 - value * value));
  return { p, y, z, loss: z.reduce((sum, value) => sum + value, 0), toZ, toY, toP,
    toX: toP.map((g, i) => g * w[i]), toW: toP.map((g, i) => g * x[i]) };
}

// One head over the rows of x [T, C]: scores and weights [T, T], y [T, d_v].
function head(x, wQ, wK, wV, causal) {
  const q = matmul(x, wQ), k = matmul(x, wK);
  const scores = matmul(q, transposed(k)).map((row, i) =>
    row.map((score, j) => causal && j > i ? -Infinity : score / Math.sqrt(wQ[0].length)));
  const weights = scores.map(softmax);
  return { scores, weights, y: matmul(weights, matmul(x, wV)) };
}

// Numbers of mean 0 and variance 1: +1 or -1, by a hash of 32 bits (lowbias32).
function sign(n) {
  n = Math.imul(n ^ n >>> 16, 0x7feb352d);
  n = Math.imul(n ^ n >>> 15, 0x846ca68b);
  return (n ^ n >>> 16) & 1 ? 1 : -1;
}
const drawn = (seed, row, width) => Array.from({ length: width }, (_, i) => sign((seed * 16 + row) * 1024 + i));

// The dot products of a query and eight keys of `width` numbers each, and their softmax; keys from
// number `visible` on are hidden.
function widths(seed, width, divided, visible) {
  const query = drawn(seed, 0, width);
  const products = Array.from({ length: 8 }, (_, j) => dot(query, drawn(seed, j + 1, width)));
  const scores = products.map((product, j) =>
    j >= visible ? -Infinity : divided ? product / Math.sqrt(width) : product);
  return { products, scores, weights: softmax(scores) };
}

// The positional vector of `width` numbers: sine and cosine of each hand.
const position = (t, width) => Array.from({ length: width }, (_, c) => {
  const angle = t * 10000 ** (-2 * Math.floor(c / 2) / width);
  return c % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
});

if (typeof module !== 'undefined') module.exports = { crossEntropy, dot, head, position, walk, widths };
