// The contrast of every pair of colours in nn/pages/web/colours.css that a page may combine, light and dark, with a
// margin above WCAG's limits. Needs no browser and does not depend on a page's data. See contrast.js.
//
//     node colours.js SOURCE_DIR
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const TEXT = 4.6, GRAPHIC = 3.1;

const sheet = fs.readFileSync(path.join(process.argv[2], 'nn/pages/web/colours.css'), 'utf8');
const coloursIn = (text) => Object.fromEntries(Array.from(text.matchAll(/--([\w-]+): #([\da-f]{6});/g),
  ([, name, hex]) => [name, [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16))]));
const [light, dark] = sheet.split('@media screen and (prefers-color-scheme: dark)').map(coloursIn);
assert.ok(Object.keys(light).length > 20);
assert.deepEqual(Object.keys(dark), Object.keys(light)); // both schemes define the same colours

const luminance = (rgb) => rgb.map((x) => x / 255)
  .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
  .reduce((sum, x, c) => sum + x * [0.2126, 0.7152, 0.0722][c], 0);
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// A background: the name of a colour, or "NAME PERCENT OTHER", the first blended over the second.
function background(colours, name) {
  const [over, percent, below] = name.split(' ');
  if (!below) return colours[name];
  return colours[over].map((x, c) => (x * percent + colours[below][c] * (100 - percent)) / 100);
}

const PAPERS = ['panel', 'background', 'hover'];
const TINTS = [15, 32, 52, 75, 100].map((percent) => `loss ${percent} panel`); // token backgrounds in page.css
const WEIGHTS = ['accent 35 panel']; // a token with weight 1: attention_lines.js
const CURVE = ['activation 13 panel']; // the area under a curve: chart.js
const PAIRS = [
  [TEXT, ['text'], [...PAPERS, 'line', 'accent-soft', ...TINTS, ...WEIGHTS, ...CURVE]],
  [TEXT, ['quiet'], [...PAPERS, 'line', 'accent-soft', ...CURVE]],
  [TEXT, ['accent-text'], [...PAPERS, 'line', 'accent-soft', ...WEIGHTS]],
  [TEXT, ['warn'], PAPERS],
  [GRAPHIC, ['accent', 'edge'], ['panel', 'background']],
  [GRAPHIC, ['parameter', 'input', 'activation', 'gradient', ...[1, 2, 3, 4, 5, 6].map((i) => `run-${i}`)], ['panel']],
];

let count = 0;
for (const [scheme, colours] of Object.entries({ light, dark })) {
  for (const [least, fronts, backgrounds] of PAIRS) {
    for (const front of fronts) {
      for (const name of backgrounds) {
        const ratio = contrast(colours[front], background(colours, name));
        assert.ok(ratio >= least, `${scheme}: ${front} on ${name}: a contrast of ${ratio.toFixed(2)}, not ${least}`);
        ++count;
      }
    }
  }
}
console.log(`${count} pairs of colours`);
