// The pages' numbers, ticks and head sentences, without a browser: run by inspect_pages.sh.
//
//     node page_numbers.js SOURCE_DIR
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

// What modules of nn/pages/web export, with stand-ins for what they import.
function exportsOf(names, wanted, given = {}) {
  const text = names.map((name) => fs.readFileSync(path.join(process.argv[2], 'nn/pages/web', `${name}.js`), 'utf8'))
    .join('\n').replace(/^import [^;]*;\n/gm, '').replace(/^export /gm, '');
  return new Function(...Object.keys(given), `${text}; return { ${wanted} };`)(...Object.values(given));
}

const media = { matchMedia: () => ({ addEventListener: () => {} }), addEventListener: () => {} };
const page = { createElement: () => ({ getContext: () => ({}) }), documentElement: {} };
const dom = exportsOf(['dom'], 'number, fixed, plural, percent, sharePercent, tokenText',
  { window: media, document: page });

// NaN and infinity are shown as what they are; only what is unknown is a dash.
assert.equal(dom.number(NaN), 'NaN');
assert.equal(dom.number(-Infinity), '\u2212\u221e');
assert.equal(dom.number(null), '\u2013');
assert.equal(dom.fixed(NaN, 4), 'NaN');
assert.equal(dom.fixed(Infinity, 4), '\u221e');
assert.equal(dom.fixed(18513150177980710912, 4), '1.8513e+19');
assert.equal(dom.fixed(382801611336391917568, 2), '3.83e+20');
assert.equal(dom.fixed(12.345678, 4), '12.3457');
assert.equal(dom.percent(NaN), 'NaN');
assert.equal(dom.plural(1, 'layer'), '1 layer');
assert.equal(dom.plural(2, 'query', 'queries'), '2 queries');

// Ticks: few enough for the axis, whatever it spans.
const { axisText, logTicks, wholeText } = exportsOf(['plot'], 'axisText, logTicks, wholeText', { niceStep: (x) => x });
for (const [from, to] of [[2, 1e18], [1e-9, 1e30], [1.5, 6], [1e-300, 1e300], [3, 40], [0.9, 1.1e5]]) {
  const all = logTicks([from, to], 8);
  assert.ok(all.length >= 2 && all.length <= 8, `${from} to ${to}: ${all}`);
  assert.ok(all.every((x) => x >= from && x <= to));
}
assert.equal(axisText(1e18), '1e18');
assert.equal(axisText(2.5e18), '2.5e18');
assert.equal(axisText(12000), '12k');
assert.equal(axisText(0.30000000000000004), '0.3');
assert.equal(axisText(-2e-7), '\u22122e\u22127');
assert.equal(wholeText(200000), '200,000');
assert.equal(wholeText(999), '999');

// The band of a curve whose points stand for many steps: one standard deviation on either side, within the
// extremes, which alone would fill the chart of a long run. Where the deviation is not known, no band.
const { edgeOf } = exportsOf(['curves'], 'edgeOf');
const curve = { mean: [2, 2, 2], spread: [0.25, 4, 0], low: [1, 1.5, 2], high: [9, 9, 2] };
assert.deepEqual(edgeOf(curve, -1), [1.75, 1.5, 2]);
assert.deepEqual(edgeOf(curve, 1), [2.25, 6, 2]);
assert.equal(edgeOf({ ...curve, spread: undefined }, 1), undefined);

// Scores that overflow f32 are infinite, as in the step, and their rows NaN.
const { Attention, lostQueries } = exportsOf(['heads', 'head_roles'], 'Attention, lostQueries', {});
const rows = (numbers) => Float32Array.from(numbers);
const attentionOf = (scale, dtype) => new Attention({ heads: 1, queries: 2, keys: 2, dim: 2, scale, dtype, causal: true,
  cross: false, entropy: [0], q: rows([1e20, 1, 1, 1]), k: rows([1e20, 1, 1, 1]) }, true, null);
const single = attentionOf(0.5, 'f32');
assert.equal(single.dot(0, 0, 0), Infinity);
assert.ok(Math.abs(single.dot(0, 0, 0, true) / 1e40 - 1) < 1e-6);
assert.ok(Number.isNaN(single.weights(0)[0]));
assert.equal(lostQueries(single, 0), 1);
assert.equal(lostQueries(attentionOf(0.5, 'f64'), 0), 0);

// A loss that is infinite, because the right class has a probability of 0, is not NaN.
const plainText = { tokenText: (text) => text };
const { Predictions, layerRows, lossIn } = exportsOf(['guesses'], 'Predictions, layerRows, lossIn', plainText);
const guessed = new Predictions({ rows: [[3, null, 9, [[1, 0.5]]], [3, null, 1, [[1, null]]], [3, 0.5, 1, [[3, 0.6]]]],
  layers: [{ layer: 'blocks.0', rows: [[null, 9, 1, 0.5], [null, 1, 1, null], [2, 4, 1, 0.5]] }] });
assert.deepEqual(guessed.rows.map(({ loss, lost }) => [loss, lost]), [[Infinity, false], [NaN, true], [0.5, false]]);
assert.deepEqual([0, 1, 2].map((place) => layerRows(guessed, place).map(({ loss }) => loss)),
  [[Infinity, Infinity], [NaN, NaN], [2, 0.5]]);
const { seenStep } = exportsOf(['layers', 'seen_step'], 'seenStep', { ...plainText, lossIn });
const seen = seenStep({ stream: [{ entry: 0, op: 'add', module: '', lengths: [1] }], attention: [], places: [0],
  rows: [[null, 9, 1, 0.5], [null, 1, 1, null]] }, { tokens: ['a', 'b', 'c'], names: {} });
assert.deepEqual(seen.predictions.rows.map(({ loss, lost }) => [loss, lost]), [[Infinity, false], [NaN, true]]);

// A query that may see no key gives a weight of 0 to all, and nothing of it is NaN.
const made = (tag, attributes, ...children) => ({ tag, ...attributes, children });
const textOf = (part) => (typeof part === 'object' && part !== null ? part.children.map(textOf).join(' ') : String(part));
const { ChainView } = exportsOf(['heads', 'attention_chain'], 'ChainView', { ...dom, h: made, barCell: () => '',
  saveable: (name, kind, ...children) => made('table', {}, ...children) });
const blind = Object.assign(Object.create(ChainView.prototype), { state: { head: 0, query: 0, key: 1, attention: {
  exact: true, keys: 3, dtype: 'f32', round: Math.fround, scale: 1, seen: () => 3, masked: () => -Infinity, dot: () => 1 } } });
const nothing = Float64Array.from([-Infinity, -Infinity, -Infinity]);
for (const part of [blind.row(nothing), blind.steps(nothing)]) assert.doesNotMatch(textOf(part), /NaN|others?/);

// A step of which nothing was recorded has nothing on its tape.
const { tapeTab } = exportsOf(['tape'], 'tapeTab', { h: made });
const panel = [];
tapeTab({ append: (...parts) => panel.push(...parts) }, { entries: [], walk: [] });
assert.deepEqual(panel.map(textOf), ['Nothing was recorded.']);

// In a file numbers are plain and words are what they are: tokens may look like numbers.
const { csvOfTable } = exportsOf(['export'], 'csvOfTable');
const cell = (text, kind = '', dataset = {}) => ({ dataset, colSpan: 1, classList: { contains: (name) => kind.split(' ').includes(name) },
  childNodes: [{ nodeName: '#text', textContent: text }] });
const csv = csvOfTable({ rows: [['50%', '\u22121.5', '\u2248\u00a00.5', '\u2013'].map((text) => cell(text)),
  ['50%', '\u2013', '\u2212', '\u221e'].map((text) => cell(text, 'word')),
  [cell('\u2013', 'word', { value: '' }), cell('3 MB', '', { value: '3000000' }), cell('a,b', 'word quiet'), cell('')]]
  .map((cells) => ({ cells, hidden: false })) });
assert.equal(csv, '0.5,-1.5,0.5,\r\n50%,\u2013,\u2212,\u221e\r\n,3000000,"a,b",\r\n');

// A long token is cut between characters.
const { beginningOf } = exportsOf(['step_drawing'], 'beginningOf');
assert.equal(beginningOf('\u{1F43E}'.repeat(20), 3), '\u{1F43E}\u{1F43E}\u{1F43E}');
assert.equal(beginningOf('ab', 3), 'ab');

// A run is called by its directory: four runs of one text have the same title.
const { nameOfRun } = exportsOf(['other_runs'], 'nameOfRun', {});
assert.equal(nameOfRun({ title: 'Training on s.txt', recipe: { options: [{ name: '--out', value: 'm-3' }] } }), 'm-3');
assert.equal(nameOfRun({ title: 'Training on s.txt', recipe: {} }), 'Training on s.txt');

// What a norm does to a token: of RMS norms no mean is subtracted.
const joined = (each) => (Array.isArray(each) ? each.map(joined).join(' ') : String(each ?? ''));
const { stageDetail } = exportsOf(['token_stage'], 'stageDetail', { h: (tag, attributes, ...children) => joined(children),
  saveable: (name, kind, ...children) => joined(children), scrolling: () => '', barCell: () => '', fixed: dom.fixed });
const normOf = (op) => joined(stageDetail({ exact: true, vector: () => [3, 5] },
  { kind: 'norm', op, entry: 0, module: '', from: [{}], width: 2 }, 0, {}, null));
assert.match(normOf('layer_norm'), /Subtract the mean .* mean before 4\.0000 standard deviation before 1\.0000/);
assert.match(normOf('rms_norm'), /Divide by the root .* root of the mean square before 4\.1231/);
assert.doesNotMatch(normOf('rms_norm'), /Subtract|standard deviation/);
console.log('numbers, ticks, overflowing heads, infinite losses, norms, files and names of runs: done');
