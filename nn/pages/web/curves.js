// The curves tab: loss, learning rate, gradient norm and speed over the steps. All charts share the
// steps shown and the step pointed at.
import { four, h, number, percent } from './dom.js';
import { LinesChart } from './lines_chart.js';
import { OtherRuns } from './other_runs.js';
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

// Draws points if there are few.
const lineOf = (curve, colour, points) => ({ steps: curve.last, values: curve.mean,
  low: curve.low, high: curve.high, colour, points: points && curve.last.length <= 60 });

// The line or, if smoothed, the smoothed line and the original one, faint.
function linesOf(curve, colour, { smoothing }) {
  const a = Number(smoothing.value);
  const line = lineOf(curve, colour);
  if (a === 0) return [line];
  return [{ ...line, values: smoothed(curve.mean, a), low: undefined, high: undefined },
    { ...line, faint: true }];
}

// Tokens per second: the tokens of a step divided by its seconds. The slowest step has the lowest
// speed.
function speedOf({ curves, recipe }) {
  const speed = (all) => all && all.map((seconds) => recipe.tokens / seconds);
  const { first, last, mean, low, high } = curves.seconds;
  return { first, last, mean: speed(mean), low: speed(high), high: speed(low) };
}

// ---- the contents of each chart -----------------------------------------------------------------

function lossOf({ curves, recipe }, range, step, view) {
  const { loss, val } = curves;
  const [i, j] = [indexAt(loss, step), indexAt(val, step)];
  const texts = [`${stepsText(loss, i)}: loss ${spreadText(loss, i, four)}`];
  if (j >= 0) texts.push(`validation ${four(val.mean[j])} after ${stepsText(val, j)}`);
  const lines = [];
  const values = [];
  const draw = (curve, own) => {
    lines.push(...own);
    values.push(...inRange(curve, range));
  };
  if (view.isOn('training')) draw(loss, linesOf(loss, 'activation', view));
  if (view.isOn('validation')) draw(val, [lineOf(val, 'gradient', true)]);
  for (const { title, curves: other, colour } of view.others.runs) {
    if (view.isOn('training')) draw(other.loss, linesOf(other.loss, colour, view).map((line) => ({ ...line, low: undefined })));
    if (view.isOn('validation')) draw(other.val, [{ ...lineOf(other.val, colour, true), dashed: true }]);
    const at = indexAt(other.loss, step);
    if (at >= 0) texts.push(`${title}: ${four(other.loss.mean[at])} at ${stepsText(other.loss, at)}`);
  }
  const log = view.isOn('log') && values.length > 0 && values.every((x) => x > 0);
  const y = log ? axisOf(values.map(Math.log)).map(Math.exp) : axisOf(values);
  return { lines, log, levels: recipe.expected.map(({ name, loss: at }) => ({ at,
    text: `${name}: ${four(at)}` })), y, format: axisText, text: texts.join('; ') };
}

function rateOf({ curves }, range, step) {
  const i = indexAt(curves.lr, step);
  return { lines: [{ ...lineOf(curves.lr, 'activation'), low: undefined }], levels: [],
    y: axisOf(inRange(curves.lr, range), 0), format: axisText,
    text: `${stepsText(curves.lr, i)}: ${spreadText(curves.lr, i, four)}` };
}

function normOf({ curves, recipe }, range, step, view) {
  const i = indexAt(curves.norm, step);
  const clipped = recipe.clip > 0 && (curves.norm.high ?? curves.norm.mean)[i] > recipe.clip;
  return { lines: linesOf(curves.norm, 'activation', view),
    levels: recipe.clip > 0 ? [{ at: recipe.clip, text: `clipped above ${recipe.clip}` }] : [],
    y: axisOf(inRange(curves.norm, range), 0), format: axisText,
    text: `${stepsText(curves.norm, i)}: ${spreadText(curves.norm, i, four)}` +
      `${clipped ? ', clipped' : ''}` };
}

function rapidityOf(data, range, step, view) {
  const speed = speedOf(data);
  const i = indexAt(speed, step);
  const { least } = data.recipe;
  const ofPeak = least / data.curves.seconds.mean[i];
  const peak = least > 0 ? `, ${percent(ofPeak)} of the peak${ofPeak > 1.05 ? ', which was measured too low' : ''}` : '';
  return { lines: linesOf(speed, 'activation', view), levels: [], y: axisOf(inRange(speed, range), 0),
    format: axisText, text: `${stepsText(speed, i)}: ${spreadText(speed, i, rounded)} tokens/s` +
      peak };
}

const rounded = (x) => number(Number(x.toPrecision(4)));

// 12000 -> 12k. Ticks are round numbers, but 3 times 0.1 is not.
function axisText(x) {
  const short = (value) => String(Number(value.toPrecision(6))).replace('-', '\u2212');
  return Math.abs(x) >= 1e4 ? `${short(x / 1000)}k` : short(x);
}

const NOTHING = { lines: [], levels: [], y: [0, 1], format: axisText, text: 'No steps recorded.' };

// ---- the tab ------------------------------------------------------------------------------------

// Fills `panel`; returns a function that updates it with newer data.
export function curvesTab(panel, data) {
  const charts = [];
  const sweep = h('div', {});
  const draw = () => {
    charts.forEach((each) => each.draw());
    const own = { title: data.title, curves: data.curves, recipe: data.recipe, colour: 'activation' };
    sweep.replaceChildren(sweepTable([own, ...others.runs]));
  };
  const others = new OtherRuns(draw);
  const lastOf = ({ loss }) => loss.last[loss.last.length - 1] ?? 2;
  const view = new StepsView(() => [1, Math.max(2, ...[data, ...others.runs].map(({ curves }) => lastOf(curves)))],
    draw, () => charts.forEach((each) => each.mark()));
  view.others = others;
  const add = (name, title, height, describe) => charts.push(new LinesChart(name, title, height,
    (step) => (data.curves.loss.last.length === 0 ? NOTHING : describe(data, view.range(), step, view)),
    view));
  add('loss', 'Loss', 320, lossOf);
  add('lr', 'Learning rate', 170, rateOf);
  add('norm', 'Norm of the gradient', 170, normOf);
  if (data.recipe.tokens > 0) add('speed', 'Speed', 170, rapidityOf);
  const [loss, ...below] = charts.map(({ element }) => element);
  panel.append(
    h('p', { class: 'quiet legend' }, 'Where a point stands for several steps, the line is their mean ' +
      'and the band reaches from the least to the greatest. Drag over a chart to see these steps alone, ' +
      'double-click to see all.'),
    h('div', { class: 'row' }, view.element, others.element),
    loss, h('div', { class: 'three' }, ...below), sweep);
  panel.addEventListener('shown', draw);
  return (newer) => {
    data = newer;
    draw();
  };
}
