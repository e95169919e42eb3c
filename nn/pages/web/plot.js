// Lines over training steps, with axes. This only draws; curves.js handles pointing, zooming and
// text.
import { colour, fontPixels, niceStep, textWidth } from './dom.js';
import { uPlot } from './libraries/uplot.js';

const LEFT = 40; // at least; as wide as its labels
const BOTTOM = 26;
const TOP = 8;
const RIGHT = 24; // half of the last label

// Multiples of 1, 2 or 5 times a power of ten; at most `most`.
function ticks([from, to], most) {
  const step = niceStep((to - from) / most);
  const all = [];
  for (let i = Math.ceil(from / step); i * step <= to + 1e-9 * step; ++i) all.push(i * step);
  return all;
}

const wholeTicks = (range, most) => ticks(range, most).filter((step) => Number.isInteger(step));
const ticksAcross = (width) => Math.max(2, Math.floor(width / 90));
const ticksUp = (height) => Math.max(2, Math.floor(height / 36));

// As many multiples of powers of ten as fit; for many decades every second power, or fewer.
export function logTicks([from, to], most) {
  const powers = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); ++power) powers.push(power);
  const tries = [...[[1, 2, 3, 5, 7], [1, 2, 5], [1, 5], [1]].map((multiples) =>
    powers.flatMap((power) => multiples.map((m) => Number(`${m}e${power}`)))),
  ...[2, 3, 5, 10, 20, 50, 100, 200].map((every) =>
    powers.filter((power) => power % every === 0).map((power) => Number(`1e${power}`)))];
  const within = tries.map((all) => all.filter((x) => x >= from && x <= to));
  if (within[0].length < 2) return ticks([from, to], most);
  return within.find((all) => all.length <= most && all.length >= 2) ?? [from, to];
}

// 12k, 1.5e18; ticks are round numbers, but 3 times 0.1 is not.
export function axisText(x) {
  const short = (value) => String(Number(value.toPrecision(6)));
  const size = Math.abs(x);
  const text = size >= 1e6 || (size < 1e-4 && size > 0)
    ? Number(x.toPrecision(4)).toExponential().replace('e+', 'e')
    : size >= 1e4 ? `${short(x / 1000)}k` : short(x);
  return text.replace(/-/g, '\u2212');
}

// 200,000
export const wholeText = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ',');

// The steps and values with a tick.
export const ticksOf = ({ x, y, log, width, height }) => ({ across: wholeTicks(x, ticksAcross(width)),
  up: (log ? logTicks : ticks)(y, ticksUp(height)) });

// A function from a value to pixels: y[1] is at `top`, y[0] is `height` below.
export function upOf([low, high], log, top, height) {
  const scale = log ? Math.log : (x) => x;
  return (x) => top + height * (scale(high) - scale(x)) / (scale(high) - scale(low));
}

// Levels within y from the highest down; those that are closer than a label is high share one:
// { at, low, text }, from `at` down to `low`. `up` maps a value to pixels.
export function groupLevels(levels, y, up) {
  const groups = [];
  for (const { at, text } of levels.filter((each) => each.at >= y[0] && each.at <= y[1]).sort((a, b) => b.at - a.at)) {
    const last = groups[groups.length - 1];
    if (last && up(at) - up(last.low) < 17) Object.assign(last, { low: at, text: `${last.text}; ${text}` });
    else groups.push({ at, low: at, text });
  }
  return groups;
}

// Clears `element` and draws into it:
// { width, height, x: [from, to], y: [from, to], log, format, lines } where a line is
// { steps, values, low, high, colour, width, points, faint, dashed }; low and high, if given, form a band
// around it.
// Returns the plot area in CSS pixels: { left, top, width, height }.
export function plotLines(element, { width, height, x, y, log, format, lines: all }) {
  element.replaceChildren();
  const lines = all.filter(({ steps }) => steps.length > 0);
  const axis = { stroke: colour('quiet'), grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false }, font: `${fontPixels(11)}px ${colour('font')}` };
  const series = [{}];
  const bands = [];
  const tables = [];
  for (const line of lines) {
    const own = [line.steps, line.values];
    series.push({ stroke: `${colour(line.colour)}${line.faint ? '48' : ''}`, width: line.faint ? 1 : line.width ?? 1.5,
      dash: line.dashed ? [5, 4] : undefined, spanGaps: true, points: { show: Boolean(line.points), size: 5, fill: colour(line.colour) } });
    if (line.low) {
      const at = series.length;
      const edge = { stroke: 'transparent', width: 0, points: { show: false }, spanGaps: true };
      series.push(edge, { ...edge });
      bands.push({ series: [at, at + 1], fill: `${colour(line.colour)}38` });
      own.push(line.high, line.low);
    }
    tables.push(own);
  }
  const { across: acrossTicks, up: upTicks } = ticksOf({ x, y, log, width, height });
  const upLabels = upTicks.map(format);
  const room = Math.max(LEFT, 14 + Math.ceil(Math.max(0, ...upLabels.map((text) => textWidth(text, 11)))));
  const plot = new uPlot({
    width, height, padding: [TOP, RIGHT, 0, 0], legend: { show: false },
    cursor: { show: false, drag: { x: false, y: false } },
    scales: { x: { time: false, range: () => x }, y: { distr: log ? 3 : 1, range: () => y } },
    axes: [{ ...axis, size: fontPixels(BOTTOM), splits: () => acrossTicks,
      values: (_, steps) => steps.map((step, i) => (i === 0 ? `step ${wholeText(step)}` : wholeText(step))) },
    { ...axis, size: room, incrs: [y[1] - y[0]], splits: () => upTicks, filter: (_, splits) => splits,
      values: () => upLabels }],
    series, bands,
  }, tables.length > 0 ? uPlot.join(tables) : [[]], element);
  plot.root.setAttribute('aria-hidden', 'true');
  const { left, top, width: wide, height: high } = plot.bbox;
  const ratio = devicePixelRatio;
  return { left: left / ratio, top: top / ratio, width: wide / ratio, height: high / ratio };
}
