// Parses numbers as the pages format them.
const assert = require('node:assert');

// "-0.0123" with a true minus, "1.2e-5", "12.3%"
exports.toNumber = (text) => {
  const plain = text.replace(/^\u2248\u00a0/, '').replace(/\u2212/g, '-').replace('\u221e', 'Infinity');
  return plain.endsWith('%') ? Number(plain.slice(0, -1)) / 100 : Number(plain);
};

// Is `text` the number `wanted` to the last digit shown? Allows half a unit of it plus f32's error:
// the page's numbers come from a model in f32, `wanted` from doubles. `noise`: rounding error of
// numbers that cancel out.
exports.expectShown = (text, wanted, what, noise = 1e-9) => {
  const [mantissa, exponent] = text.replace(/\u2212/g, '-').replace('%', '').split('e');
  const places = (mantissa.split('.')[1] || '').length;
  const unit = 10 ** (Number(exponent || 0) - places) / (text.endsWith('%') ? 100 : 1);
  const shown = exports.toNumber(text);
  assert.ok(Math.abs(shown - wanted) <= 0.5 * unit + 2e-5 * Math.abs(wanted) + noise,
    `${what}: ${text} is shown, ${wanted} is right`);
};
