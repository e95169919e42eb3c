// The gradient flow tab: what each observed step did to every parameter. An update is proportional
// to the learning rate, so it is judged only where that is near its largest. Read next:
// nn/inspect/gradient_flow.h, the source of the numbers.
import { keepState, numberOf } from './address.js';
import { saveTable } from './export.js';
import { breakable, h, number, percent, shapeText, svg } from './dom.js';
import { speak } from './speak.js';
import { powersAxis, powersHistogram, powersOf, powerText } from './histogram.js';

const TREND = { width: 110, height: 30 };
const FULL_RATE = 0.5; // of the largest learning rate
const HEALTHY = [1e-5, 0.1]; // of the value, at a full rate
const FLOW_KINDS = ['values', 'gradients', 'updates'];

// Fills `panel`; returns a function that updates it with newer data.
export function flowTab(panel, data) {
  const table = new FlowTable(panel);
  panel.addEventListener('shown', () => table.draw());
  table.renew(data);
  return (newer) => table.renew(newer);
}

// Shows the latest evaluation with a full learning rate, including new ones that arrive, until the
// user chooses another.
class FlowTable {
  constructor(panel) {
    this.rows = new Map(); // by parameter name: the row, and its cells that change
    this.steps = []; // the evaluations with parameter statistics
    this.chosen = numberOf('step', 1e12, null); // one of their steps; otherwise the usual one is shown
    this.slider = h('input', { type: 'range', min: 0, max: 0, value: 0,
      'data-control': 'evaluation', 'aria-label': 'Evaluation', oninput: () => this.choose() });
    this.readout = h('span', { 'data-readout': 'evaluation' });
    this.filter = h('input', { type: 'search', placeholder: 'name', 'data-control': 'parameters',
      'aria-label': 'Show parameters whose name contains', oninput: () => {
        for (const [name, { row }] of this.rows) row.hidden = !name.includes(this.filter.value);
      } });
    this.axes = FLOW_KINDS.map(() => h('span', {}));
    this.legend = h('p', { class: 'quiet legend' });
    this.body = h('tbody', {});
    this.none = h('p', { class: 'quiet' }, 'Nothing yet: parameters are looked at when the model ' +
      'is evaluated.');
    this.all = h('div', {}, h('div', { class: 'row spread' }, h('div', { class: 'row' },
      h('label', {}, 'Evaluation ', this.slider), this.readout),
      h('span', { class: 'row' }, saveTable('flow'), this.filter)), this.legend,
    h('div', { class: 'wide flow', tabindex: '0', role: 'region', 'aria-label': 'Parameters' },
      h('table', { 'data-table': 'flow' }, this.head(), this.body)));
    panel.append(this.none, this.all);
  }

  head() {
    const word = (text, kind, ...more) => h('th', { scope: 'col', class: `word ${kind}` }, text, ...more);
    return h('thead', {}, h('tr', {}, word('parameter', 'of-name'), word('shape', 'of-shape'),
      h('th', { scope: 'col' }, 'update / value'), word('over the evaluations', ''),
      ...FLOW_KINDS.map((kind, i) => word(`sizes of ${kind}`, '', this.axes[i])),
      ...['value rms', 'gradient rms', 'gradient zeros'].map((name) => h('th', { scope: 'col' }, name))));
  }

  choose() {
    const at = Number(this.slider.value);
    this.chosen = at === this.usual() ? null : this.steps[at].step;
    keepState({ step: this.chosen });
    this.draw();
    speak(this.readout.textContent);
  }

  // Share of the largest learning rate of all evaluations; 1 if it is not known.
  shareOfRate(at) {
    const most = Math.max(...this.steps.map(({ lr }) => lr ?? 0));
    return most > 0 ? (this.steps[at].lr ?? 0) / most : 1;
  }

  usual() {
    const last = this.steps.length - 1;
    for (let at = last; at >= 0; --at) if (this.shareOfRate(at) >= FULL_RATE) return at;
    return last;
  }

  renew({ evaluations, parameters }) {
    this.steps = evaluations.filter(({ flow }) => flow.length > 0);
    this.parameters = parameters;
    for (const { name, shape } of parameters) {
      if (this.rows.has(name)) continue;
      const changing = Array.from({ length: 5 + FLOW_KINDS.length }, () => h('td', {}));
      const row = h('tr', { 'data-parameter': name, hidden: !name.includes(this.filter.value) },
        h('td', { class: 'word of-name' }, ...breakable(name)), h('td', { class: 'word quiet of-shape' }, shapeText(shape)),
        ...changing);
      this.rows.set(name, { row, changing });
      this.body.append(row);
    }
    this.draw();
  }

  draw() {
    const { steps } = this;
    this.none.hidden = steps.length > 0;
    this.all.hidden = steps.length === 0;
    if (steps.length === 0) return;
    const found = steps.findIndex(({ step }) => step === this.chosen);
    const at = found < 0 ? this.usual() : found;
    const share = this.shareOfRate(at);
    this.slider.max = steps.length - 1;
    this.slider.value = at;
    const rate = steps[at].lr === undefined ? '' : `, learning rate ${number(steps[at].lr, 3)}` +
      (share < FULL_RATE ? ` (${number(100 * share, 2)}% of the largest: small updates are normal here)` : '');
    this.readout.textContent = `step ${steps[at].step}${rate}`;
    // One axis for all evaluations and kinds, so histograms can be compared down, across, and in
    // time.
    const powers = powersOf(steps.flatMap(({ flow }) => flow.flatMap((each) =>
      FLOW_KINDS.map((kind) => each[kind]))));
    this.axes.forEach((axis) => axis.replaceChildren(powersAxis(powers)));
    const sizes = logRange(steps.flatMap(({ flow }) => flow.map(({ ratio }) => ratio)));
    this.legend.textContent = 'At the full learning rate, a healthy update is about a thousandth of the ' +
      'value. rms: root of the mean square. Histograms count elements by the power of two of their size, from ' +
      `${powerText(powers.first)} to ${powerText(powers.last + 1)}; zeros are not counted. The curves of update / value ` +
      `are logarithmic, from ${number(sizes[0], 2)} to ${number(sizes[1], 2)}.`;
    this.parameters.forEach((parameter, i) =>
      fillRow(this.rows.get(parameter.name), parameter, i, { steps, at, powers, sizes, full: share >= FULL_RATE }));
  }
}

function fillRow({ changing }, { name, shape }, i, { steps, at, powers, sizes, full }) {
  const now = steps[at].flow[i];
  const count = shape.reduce((a, b) => a * b, 1);
  const nonzero = now.gradients.counts.reduce((a, b) => a + b, 0);
  const contents = [number(now.ratio, 3), trend(steps.map(({ flow }) => flow[i].ratio), at, sizes, `update / value of ${name}`),
    ...FLOW_KINDS.map((kind) =>
      powersHistogram(now[kind], kind, powers, `sizes of the ${kind} of ${name}`)),
    number(now.value, 3), number(now.gradient, 3), percent((count - nonzero) / count)];
  changing.forEach((cell, j) => cell.replaceChildren(contents[j]));
  const [low, high] = HEALTHY;
  const ill = full && now.ratio !== null && (now.ratio > high || (now.ratio < low && !/\(frozen\)$/.test(name)));
  changing[0].className = ill ? 'warn' : '';
}

// From the smallest to the largest positive value.
function logRange(values) {
  const shown = values.filter((value) => value > 0);
  if (shown.length === 0) return [1e-4, 1e-2];
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  return low < high ? [low, high] : [low / 2, high * 2];
}

// The ratios as a curve, with the shown evaluation as a point. Ratios of 0 are left out.
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
