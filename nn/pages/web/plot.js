// Lines over training steps, with axes. This only draws; curves.js handles pointing, zooming and
// text.
import { colour, niceStep } from './dom.js';
import { uPlot } from './libraries/uplot.js';

const LEFT = 56;
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

// 1, 2 and 5 times powers of ten; fewer if those would be too many.
function logTicks([from, to], most) {
  const all = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); ++power) {
    for (const m of [1, 2, 3, 5, 7]) all.push(m * 10 ** power);
  }
  const within = all.filter((x) => x >= from && x <= to);
  return within.length < 2 ? ticks([from, to], most)
    : within.length <= most ? within : within.filter((x) => /^[15]/.test(x.toPrecision(1)));
}

// Clears `element` and draws into it:
// { width, height, x: [from, to], y: [from, to], log, format, lines } where a line is
// { steps, values, low, high, colour, points, faint, dashed }; low and high, if given, form a band
// around it.
// Returns the plot area in CSS pixels: { left, top, width, height }.
export function plotLines(element, { width, height, x, y, log, format, lines: all }) {
  element.replaceChildren();
  const lines = all.filter(({ steps }) => steps.length > 0);
  const axis = { stroke: colour('quiet'), grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false }, font: `11px ${colour('font')}` };
  const series = [{}];
  const bands = [];
  const tables = [];
  for (const line of lines) {
    const own = [line.steps, line.values];
    series.push({ stroke: `${colour(line.colour)}${line.faint ? '48' : ''}`, width: line.faint ? 1 : 1.5,
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
  const plot = new uPlot({
    width, height, padding: [TOP, RIGHT, 0, 0], legend: { show: false },
    cursor: { show: false, drag: { x: false, y: false } },
    scales: { x: { time: false, range: () => x }, y: { distr: log ? 3 : 1, range: () => y } },
    axes: [{ ...axis, size: BOTTOM, splits: () => wholeTicks(x, ticksAcross(width)),
      values: (_, steps) => steps.map(String) },
    { ...axis, size: LEFT, splits: () => (log ? logTicks : ticks)(y, ticksUp(height)),
      filter: (_, splits) => splits,
      values: (_, values) => values.map(format) }],
    series, bands,
  }, tables.length > 0 ? uPlot.join(tables) : [[]], element);
  plot.root.setAttribute('aria-hidden', 'true');
  const { left, top, width: wide, height: high } = plot.bbox;
  const ratio = devicePixelRatio;
  return { left: left / ratio, top: top / ratio, width: wide / ratio, height: high / ratio };
}
