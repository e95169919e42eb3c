// The gradient flow tab: what each step that was looked at did to every parameter. Read next:
// nn/inspect/gradient_flow.h, where the numbers come from.
import { h, number, percent, shapeText, svg } from './dom.js';
import { powersAxis, powersHistogram, powersOf } from './histogram.js';

const TREND = { width: 110, height: 30 };
const FLOW_KINDS = ['values', 'gradients', 'updates'];

// Fills `panel`; returns a function that takes newer data. The latest evaluation is shown, and the
// next one that arrives, until another is chosen.
export function flowTab(panel, data) {
  const cells = new Map(); // by the parameter's name, those that change
  let steps = [];
  let chosen = null; // a step; null: the latest
  const slider = h('input', { type: 'range', min: 0, max: 0, value: 0, 'data-control': 'evaluation',
    'aria-label': 'Evaluation', oninput: () => {
      const at = Number(slider.value);
      chosen = at === steps.length - 1 ? null : steps[at].step;
      draw();
    } });
  const readout = h('span', { 'data-readout': 'evaluation', 'aria-live': 'polite' });
  const filter = h('input', { type: 'search', placeholder: 'name', 'data-control': 'parameters',
    'aria-label': 'Show parameters whose name contains', oninput: () => {
      for (const [name, { row }] of cells) row.hidden = !name.includes(filter.value);
    } });
  const axes = FLOW_KINDS.map(() => h('span', {}));
  const legend = h('p', { class: 'quiet legend' });
  const body = h('tbody', {});
  const none = h('p', { class: 'quiet' }, 'Nothing yet: parameters are looked at when the model is ' +
    'evaluated.');
  const word = (text, ...more) => h('th', { scope: 'col', class: 'word' }, text, ...more);
  const all = h('div', {}, h('div', { class: 'row spread' },
    h('div', { class: 'row' }, h('label', {}, 'Evaluation ', slider), readout), filter), legend,
  h('div', { class: 'wide flow', tabindex: '0', role: 'region', 'aria-label': 'Parameters' },
    h('table', { 'data-table': 'flow' }, h('thead', {}, h('tr', {}, word('parameter'),
      word('shape'), ...['value rms', 'gradient rms', 'update / value', 'gradient zeros']
        .map((name) => h('th', { scope: 'col' }, name)),
      word('update / value over the evaluations'),
      ...FLOW_KINDS.map((kind, i) => word(`sizes of ${kind}`, axes[i])))), body)));
  panel.append(none, all);

  function draw() {
    none.hidden = steps.length > 0;
    all.hidden = steps.length === 0;
    if (steps.length === 0) return;
    const found = steps.findIndex(({ step }) => step === chosen);
    const at = found < 0 ? steps.length - 1 : found;
    slider.max = steps.length - 1;
    slider.value = at;
    readout.textContent = `step ${steps[at].step}`;
    // One axis for all evaluations and kinds: histograms can be compared down, across, and in time.
    const powers = powersOf(steps.flatMap(({ flow }) => flow.flatMap((each) =>
      FLOW_KINDS.map((kind) => each[kind]))));
    axes.forEach((axis) => axis.replaceChildren(powersAxis(powers)));
    const sizes = logRange(steps.flatMap(({ flow }) => flow.map(({ ratio }) => ratio)));
    legend.textContent = 'An update of some thousandth of the value is usual. rms: root of the ' +
      'mean square. Histograms count elements by the power of two of their size, from ' +
      `2^${powers.first} to 2^${powers.last + 1}; zeros are in none. The curves of update / value ` +
      `are logarithmic, from ${number(sizes[0], 2)} to ${number(sizes[1], 2)}.`;
    data.parameters.forEach((parameter, i) =>
      fill(cells.get(parameter.name), parameter, i, { steps, at, powers, sizes }));
  }
  function renew(newer) {
    data = newer;
    steps = data.evaluations.filter(({ flow }) => flow.length > 0);
    for (const { name, shape } of data.parameters) {
      if (cells.has(name)) continue;
      const changing = Array.from({ length: 5 + FLOW_KINDS.length }, () => h('td', {}));
      const row = h('tr', { 'data-parameter': name, hidden: !name.includes(filter.value) },
        h('td', { class: 'word' }, name), h('td', { class: 'word quiet' }, shapeText(shape)),
        ...changing);
      cells.set(name, { row, changing });
      body.append(row);
    }
    draw();
  }
  panel.addEventListener('shown', draw);
  renew(data);
  return renew;
}

function fill({ changing }, { name, shape }, i, { steps, at, powers, sizes }) {
  const now = steps[at].flow[i];
  const count = shape.reduce((a, b) => a * b, 1);
  const nonzero = now.gradients.counts.reduce((a, b) => a + b, 0);
  const contents = [number(now.value, 3), number(now.gradient, 3), number(now.ratio, 3),
    percent((count - nonzero) / count),
    trend(steps.map(({ flow }) => flow[i].ratio), at, sizes, `update / value of ${name}`),
    ...FLOW_KINDS.map((kind) =>
      powersHistogram(now[kind], kind, powers, `sizes of the ${kind} of ${name}`))];
  changing.forEach((cell, j) => cell.replaceChildren(contents[j]));
}

// From the least to the greatest that a logarithm can show.
function logRange(values) {
  const shown = values.filter((value) => value > 0);
  if (shown.length === 0) return [1e-4, 1e-2];
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  return low < high ? [low, high] : [low / 2, high * 2];
}

// The ratios as a curve; the evaluation that is looked at as a point. One that was 0 is left out.
function trend(ratios, at, [low, high], label) {
  const { width, height } = TREND;
  const points = ratios.flatMap((ratio, i) => (ratio > 0 ? [{ i,
    x: (4 + (width - 8) * (ratios.length > 1 ? i / (ratios.length - 1) : 0.5)).toFixed(1),
    y: (height - 4 - (height - 8) * Math.log(ratio / low) / Math.log(high / low)).toFixed(1) }]
    : []));
  const now = points.find(({ i }) => i === at);
  return svg('svg', { width, height, role: 'img', 'aria-label': label },
    svg('line', { class: 'grid', x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }),
    points.length > 1 ? svg('path', { class: 'line activation',
      d: `M${points.map(({ x, y }) => `${x} ${y}`).join('L')}` }) : null,
    now ? svg('circle', { class: 'point activation', cx: now.x, cy: now.y, r: 3 }) : null);
}
