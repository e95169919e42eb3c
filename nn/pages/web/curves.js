// The curves tab: loss, learning rate, gradient norm and speed over the steps. All charts share the
// steps shown and the step pointed at.
import { four, h, number, percent } from './dom.js';
import { LinesChart } from './lines_chart.js';
import { axisText } from './plot.js';
import { nameOfRun, OtherRuns } from './other_runs.js';
import { smoothed, StepsView } from './steps_view.js';
import { sweepTable } from './sweep.js';

const inRange = (curve, [from, to]) => curve.mean.filter((value, i) => value !== null &&
  curve.last[i] >= from && curve.last[i] <= to);

// The axis from `least`, or the smallest value, to the largest.
function axisOf(values, least) {
  if (values.length === 0) return [0, 1];
  const low = least ?? Math.min(...values);
  const high = Math.max(...values);
  const margin = 0.05 * (high - low) || 0.05 * Math.abs(high) || 1;
  return [least ?? low - margin, high + margin];
}

// The index of the curve's point for this step, or of the nearest one.
function indexAt(curve, step) {
  if (curve.last.length === 0) return -1;
  if (step === null) return curve.last.length - 1;
  const next = curve.last.findIndex((last) => last >= step);
  if (next < 0) return curve.last.length - 1;
  const first = curve.first ? curve.first[next] : curve.last[next];
  if (next === 0 || step >= first) return next;
  return step - curve.last[next - 1] < first - step ? next - 1 : next;
}

const stepsText = (curve, i) => {
  const first = curve.first ? curve.first[i] : curve.last[i];
  return first === curve.last[i] ? `step ${first}` : `steps ${first} to ${curve.last[i]}`;
};

function spreadText(curve, i, text) {
  const mean = text(curve.mean[i]);
  const [low, high] = curve.low ? [text(curve.low[i]), text(curve.high[i])] : [mean, mean];
  return low === high ? mean : `${mean} (${low} to ${high})`;
}

// Where a point stands for many steps: one standard deviation on either side, within the extremes.
const edgeOf = ({ mean, spread, low, high }, sign) => spread && mean.map((x, i) =>
  Math.min(high[i], Math.max(low[i], x + sign * spread[i])));

// Draws points if there are few.
const lineOf = (curve, colour, points) => ({ steps: curve.last, values: curve.mean,
  low: edgeOf(curve, -1), high: edgeOf(curve, 1), colour, points: points && curve.last.length <= 60 });

// Do the values span more than a linear axis can show?
function spanFar(values, factor) {
  const sorted = Array.from(values).sort((a, b) => a - b);
  return sorted.length > 0 && sorted[0] > 0 && sorted[sorted.length - 1] > factor * sorted[sorted.length >> 1];
}

const logAxis = (values) => axisOf(values.map(Math.log)).map(Math.exp);

// Steps without a number on any axis, and the spikes of this curve.
function marksOf({ status, spikes }, curve, what) {
  const lost = (curve.notFinite ?? []).map(({ step, value }) => ({ step, kind: 'not-finite', text: `${value} at step ${step}` }));
  if (lost.length === 0 && status.state === 'diverged') {
    lost.push({ step: status.step + 1, kind: 'not-finite', text: `not finite at step ${status.step + 1}` });
  }
  return [...lost, ...spikes.filter((spike) => spike.what === what).map(({ step }) => ({ step, kind: 'spike' }))];
}

const lineOfOther = ({ colour, lap }, curve, points) =>
  ({ ...lineOf(curve, colour, points), low: undefined, width: 1.5 * (1 + lap) });

// The other runs' lines of one kind.
const othersOf = (view, name) => view.others.runs.map((run) => lineOfOther(run, run.curves[name]));

// The line or, if smoothed, the smoothed line and the original one, faint.
function linesOf(curve, colour, { smoothing }) {
  const a = Number(smoothing.value);
  const line = lineOf(curve, colour);
  if (a === 0) return [line];
  return [{ ...line, values: smoothed(curve.mean, a), low: undefined, high: undefined },
    { ...line, faint: true }];
}

// Tokens per second, or what else the run counts: those of a step divided by its seconds. The slowest step has the lowest
// speed.
function speedOf({ curves, recipe }) {
  const speed = (all) => all && all.map((seconds) => recipe.tokens / seconds);
  const { first, last, mean, low, high } = curves.seconds;
  return { first, last, mean: speed(mean), low: speed(high), high: speed(low) };
}

// ---- the contents of each chart -----------------------------------------------------------------

function lossOf(data, range, view) {
  const { curves, recipe } = data;
  const { loss, val } = curves;
  const lines = [];
  const values = [];
  const draw = (curve, own) => {
    lines.push(...own);
    values.push(...inRange(curve, range));
  };
  if (view.isOn('training')) draw(loss, linesOf(loss, 'activation', view).map((line) => ({ ...line, name: 'training loss' })));
  if (view.isOn('validation')) draw(val, [{ ...lineOf(val, 'gradient', true), name: 'validation loss' }]);
  for (const run of view.others.runs) {
    const { name, curves: { loss: theirs, val: checked }, colour } = run;
    const { width } = lineOfOther(run, theirs);
    if (view.isOn('training')) draw(theirs, linesOf(theirs, colour, view).map((line) => ({ ...line, low: undefined, name, width })));
    if (view.isOn('validation')) draw(checked, [{ ...lineOfOther(run, checked, true), dashed: true, name: `${name}, validation` }]);
  }
  const log = view.isLog(spanFar(values, 1000)) && values.length > 0 && values.every((x) => x > 0);
  const y = log ? logAxis(values) : axisOf(values);
  return { lines, log, marks: marksOf(data, loss, 'loss'), levels: recipe.expected.map(({ name, loss: at }) => ({ at,
    text: `${name}: ${four(at)}` })), y, format: axisText, say: (step) => lossSays(curves, view, step) };
}

function lossSays({ loss, val }, view, step) {
  const [i, j] = [indexAt(loss, step), indexAt(val, step)];
  const texts = [`${stepsText(loss, i)}: loss ${spreadText(loss, i, four)}`];
  if (j >= 0) texts.push(`validation ${four(val.mean[j])} after ${stepsText(val, j)}`);
  for (const { name, curves: other } of view.others.runs) {
    const at = indexAt(other.loss, step);
    if (at >= 0) texts.push(`${name}: ${four(other.loss.mean[at])} at ${stepsText(other.loss, at)}`);
  }
  return texts.join('; ');
}

function rateOf({ curves: { lr } }, range, view) {
  return { lines: [{ ...lineOf(lr, 'activation'), low: undefined }, ...othersOf(view, 'lr')], levels: [],
    y: axisOf(inRange(lr, range), 0), format: axisText, say: (step) => {
      const i = indexAt(lr, step);
      return `${stepsText(lr, i)}: ${spreadText(lr, i, four)}`;
    } };
}

function normOf(data, range, view) {
  const { curves: { norm }, recipe: { clip } } = data;
  const values = inRange(norm, range);
  const log = spanFar(values, 1000);
  return { lines: [...linesOf(norm, 'activation', view), ...othersOf(view, 'norm')], log,
    marks: marksOf(data, norm, 'grad_norm'), levels: clip > 0 ? [{ at: clip, text: `clipped above ${clip}` }] : [],
    y: log ? logAxis(values) : axisOf(values, 0), format: axisText, say: (step) => {
      const i = indexAt(norm, step);
      const clipped = clip > 0 && (norm.high ?? norm.mean)[i] > clip;
      return `${stepsText(norm, i)}: ${spreadText(norm, i, four)}${clipped ? ', clipped' : ''}`;
    } };
}

function rapidityOf(data, range, view) {
  const speed = speedOf(data);
  const { least } = data.recipe;
  const others = view.others.runs.filter(({ recipe }) => recipe.tokens > 0).map((run) =>
    lineOfOther(run, speedOf(run)));
  return { lines: [...linesOf(speed, 'activation', view), ...others], levels: [], y: axisOf(inRange(speed, range), 0),
    format: axisText, say: (step) => {
      const i = indexAt(speed, step);
      const ofPeak = least / data.curves.seconds.mean[i];
      const peak = least > 0 ? `, ${percent(ofPeak)} of the peak${ofPeak > 1.05 ? ', which was measured too low' : ''}` : '';
      return `${stepsText(speed, i)}: ${spreadText(speed, i, rounded)} ${data.recipe.counted}/s${peak}`;
    } };
}

const rounded = (x) => number(Number(x.toPrecision(4)));

// ---- the tab ------------------------------------------------------------------------------------

// Fills `panel`; returns a function that updates it with newer data.
export function curvesTab(panel, data) {
  const charts = [];
  const sweep = h('div', {});
  const draw = () => {
    none.hidden = data.curves.loss.last.length > 0;
    drawn.hidden = !none.hidden;
    charts.forEach((each) => each.draw());
    const own = { name: nameOfRun(data), curves: data.curves, recipe: data.recipe, colour: 'activation', lap: 0 };
    sweep.replaceChildren(sweepTable([own, ...others.runs]));
  };
  const others = new OtherRuns(draw);
  const lastOf = ({ loss }) => Math.max(loss.last[loss.last.length - 1] ?? 2,
    ...(loss.notFinite ?? []).map(({ step }) => step));
  const ending = () => (data.status.state === 'diverged' ? data.status.step + 1 : 2);
  const view = new StepsView(() => [1, Math.max(2, ending(), ...[data, ...others.runs].map(({ curves }) => lastOf(curves)))],
    draw, () => charts.forEach((each) => each.mark()));
  view.others = others;
  const add = (name, title, height, describe) => charts.push(new LinesChart(name, title, height,
    () => describe(data, view.range(), view), view));
  add('loss', 'Loss, nats per token', 320, lossOf);
  add('lr', 'Learning rate', 170, rateOf);
  add('norm', 'Norm of the gradient', 170, normOf);
  if (data.recipe.tokens > 0) add('speed', `Speed, ${data.recipe.counted} per second`, 170, rapidityOf);
  const [loss, ...below] = charts.map(({ element }) => element);
  const none = h('p', { class: 'quiet', 'data-view': 'no-steps' }, 'No step has been taken yet; the loss of every step ' +
    'will be drawn here.');
  const drawn = h('div', {}, h('div', { class: 'row' }, view.element, others.element),
    loss, h('div', { class: 'three' }, ...below),
    h('p', { class: 'quiet legend' }, 'Where a point covers several steps, the line is their mean and ' +
      'the band one standard deviation; ticks at the top mark spikes. Drag to zoom in; double-click to ' +
      'reset. A click marks a step. Regular dips in speed are steps beside an evaluation or a state kept for rewind.'), sweep);
  panel.append(none, drawn);
  panel.addEventListener('shown', draw);
  return (newer) => {
    data = newer;
    draw();
  };
}
