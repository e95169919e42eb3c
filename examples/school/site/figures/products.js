// The product of two matrices in three ways, for race.js. JavaScript has no vector instructions: what
// is left is the order of the loops, and how often a number is used once it has been read.

// c = a b for matrices of size n x n, row by row in one array each.
const PRODUCTS = {
  loops(a, b, c, n) {
    for (let i = 0; i < n; ++i) {
      for (let j = 0; j < n; ++j) {
        let sum = 0;
        for (let k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
    }
  },
  reordered(a, b, c, n) {
    for (let i = 0; i < n; ++i) {
      for (let k = 0; k < n; ++k) {
        const x = a[i * n + k];
        for (let j = 0; j < n; ++j) c[i * n + j] += x * b[k * n + j];
      }
    }
  },
  // Four rows by four columns of c at a time, in variables: eight numbers that are read serve sixteen
  // multiply-adds.
  registers(a, b, c, n) {
    for (let j = 0; j < n; j += 4) {
      for (let i = 0; i < n; i += 4) {
        let c00 = 0, c01 = 0, c02 = 0, c03 = 0, c10 = 0, c11 = 0, c12 = 0, c13 = 0;
        let c20 = 0, c21 = 0, c22 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
        for (let k = 0; k < n; ++k) {
          const at = k * n + j;
          const b0 = b[at], b1 = b[at + 1], b2 = b[at + 2], b3 = b[at + 3];
          const a0 = a[i * n + k], a1 = a[(i + 1) * n + k], a2 = a[(i + 2) * n + k], a3 = a[(i + 3) * n + k];
          c00 += a0 * b0; c01 += a0 * b1; c02 += a0 * b2; c03 += a0 * b3;
          c10 += a1 * b0; c11 += a1 * b1; c12 += a1 * b2; c13 += a1 * b3;
          c20 += a2 * b0; c21 += a2 * b1; c22 += a2 * b2; c23 += a2 * b3;
          c30 += a3 * b0; c31 += a3 * b1; c32 += a3 * b2; c33 += a3 * b3;
        }
        c.set([c00, c01, c02, c03], i * n + j);
        c.set([c10, c11, c12, c13], (i + 1) * n + j);
        c.set([c20, c21, c22, c23], (i + 2) * n + j);
        c.set([c30, c31, c32, c33], (i + 3) * n + j);
      }
    }
  },
};
if (typeof module !== 'undefined') module.exports = { PRODUCTS };
