// The gradients tab: the first NaN or infinity, dead units, and of every parameter the sizes of its
// values and of its gradient, as histograms over the same powers of two, so that rows can be
// compared at a glance. Read next: non_finite.js and units.js.
import { h, number, percent, shapeText, svg } from './dom.js';
import { nonFiniteView } from './non_finite.js';
import { unitsView } from './units.js';

const BINS = { width: 180, height: 30 };

export function gradientsTab(panel, data) {
  panel.append(...[nonFiniteView(data), unitsView(data), parametersView(data.parameters)]
    .filter((view) => view));
}

function parametersView(parameters) {
  const range = binRange(parameters);
  const rows = parameters.map((parameter) => parameterRow(parameter, range));
  const filter = h('input', { type: 'search', placeholder: 'name',
    'aria-label': 'Show parameters whose name contains', 'data-control': 'parameters',
    oninput: () => rows.forEach((row, i) => {
      row.hidden = !parameters[i].name.includes(filter.value);
    }) });
  const names = [' parameter', ' shape', 'value rms', 'gradient rms', 'gradient / value',
    'gradient zeros', 'NaN, inf'];
  return h('section', {},
    h('div', { class: 'row spread' }, h('h3', {}, `${parameters.length} parameters`), filter),
    h('p', { class: 'quiet legend' }, 'Histograms count elements by the power of two of their ' +
      `size, from 2^${range.first} to 2^${range.last + 1}; zeros are in none.`),
    h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Parameters' },
      h('table', { 'data-table': 'parameters' }, h('thead', {}, h('tr', {},
        ...names.map((name) => h('th', { scope: 'col',
          class: name.startsWith(' ') ? 'word' : null }, name.trim())),
        h('th', { scope: 'col', class: 'word' }, 'sizes of values', axis(range)),
        h('th', { scope: 'col', class: 'word' }, 'sizes of gradients', axis(range)))),
      h('tbody', {}, ...rows))));
}

// The powers of two that any histogram has: at most 40 from the largest down, more only where half
// of all numbers, which one that is far too large would drive out, need it.
function binRange(parameters) {
  const bins = parameters.flatMap((p) => [p.valueBins, p.gradBins])
    .filter(({ counts }) => counts.length > 0);
  const last = Math.max(0, ...bins.map(({ first, counts }) => first + counts.length - 1));
  const first = Math.min(last - 8, ...bins.map((each) => each.first));
  return { first: Math.max(first, Math.min(last - 39, middle(bins) - 20)), last };
}

// The power of two that half of the numbers are below.
function middle(bins) {
  const counted = bins.flatMap(({ first, counts }) => counts.map((count, i) => [first + i, count]))
    .sort(([a], [b]) => a - b);
  const half = counted.reduce((sum, [, count]) => sum + count, 0) / 2;
  let sum = 0;
  return (counted.find(([, count]) => (sum += count) >= half) || [0])[0];
}

const binX = (power, { first, last }) => BINS.width * (power - first) / (last + 1 - first);

function axis(range) {
  const ticks = [];
  const every = [10, 20, 50, 100].find((n) => binX(range.first + n, range) >= 40) || 100;
  for (let power = Math.ceil(range.first / every) * every; power <= range.last; power += every) {
    const x = binX(power, range);
    if (x < 14 || x > BINS.width - 14) continue; // would be cut, or run into its neighbour
    ticks.push(svg('text', { class: 'tick', x, y: 10, 'text-anchor': 'middle' }, `2^${power}`));
  }
  return svg('svg', { width: BINS.width, height: 13, class: 'axis', 'aria-hidden': 'true' },
    ...ticks);
}

function histogram({ first, counts }, kind, range, label) {
  const most = Math.max(1, ...counts);
  const wide = BINS.width / (range.last + 1 - range.first);
  const bars = counts.map((count, i) => {
    const power = Math.max(first + i, range.first);
    const high = (BINS.height - 2) * count / most;
    return svg('rect', { class: kind, x: binX(power, range).toFixed(1),
      y: (BINS.height - high).toFixed(1), width: Math.max(1, wide - 1).toFixed(1),
      height: high.toFixed(1) });
  });
  return svg('svg', { width: BINS.width, height: BINS.height, role: 'img', 'aria-label': label },
    svg('line', { class: 'grid', x1: 0, x2: BINS.width, y1: BINS.height - 0.5,
      y2: BINS.height - 0.5 }), ...bars);
}

const rms = (s) => (s.mean === null ? NaN : Math.hypot(s.mean, s.std)); // none is finite: NaN

function parameterRow(parameter, range) {
  const { name, values, grad } = parameter;
  const bad = values.nans + values.infs + (grad ? grad.nans + grad.infs : 0);
  const cells = grad ? [
    h('td', {}, number(rms(grad), 3)),
    h('td', {}, rms(values) > 0 ? number(rms(grad) / rms(values), 3) : '\u2013'),
    h('td', {}, percent(grad.zeros / grad.count))]
    : [h('td', { class: 'word warn', colspan: '3' }, parameter.dead)];
  return h('tr', { 'data-parameter': name }, h('td', { class: 'word' }, name),
    h('td', { class: 'word quiet' }, shapeText(parameter.shape)),
    h('td', {}, number(rms(values), 3)), ...cells,
    h('td', { class: bad > 0 ? 'warn' : null }, String(bad)),
    h('td', {}, histogram(parameter.valueBins, 'values', range, `sizes of the values of ${name}`)),
    h('td', {}, histogram(parameter.gradBins, 'gradients', range,
      `sizes of the gradient of ${name}`)));
}
