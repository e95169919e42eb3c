// Lines over training steps, with axes: uPlot's where it is bundled, else an SVG of our own. Either
// only draws; pointing, zooming and what is written beside belong to curves.js.
import { colour, h, niceStep, svg } from './dom.js';
import { libraries } from './libraries.js';

const LEFT = 56;
const BOTTOM = 26;
const TOP = 8;
const RIGHT = 24; // half of the last label

// Draws into `element`, which is emptied:
// { width, height, x: [from, to], y: [from, to], format, lines } where a line is
// { steps, values, low, high, colour, points }: low and high, if there, are a band around it.
// Where the lines are, in CSS pixels: { left, top, width, height }.
export function plotLines(element, chart) {
  element.replaceChildren();
  const lines = chart.lines.filter(({ steps }) => steps.length > 0);
  return (libraries.uPlot ? withUplot : withSvg)(element, { ...chart, lines });
}

// Multiples of 1, 2 or 5 times a power of ten; no more than `most`.
function ticks([from, to], most) {
  const step = niceStep((to - from) / most);
  const all = [];
  for (let i = Math.ceil(from / step); i * step <= to + 1e-9 * step; ++i) all.push(i * step);
  return all;
}

const wholeTicks = (range, most) => ticks(range, most).filter((step) => Number.isInteger(step));
const ticksAcross = (width) => Math.max(2, Math.floor(width / 90));
const ticksUp = (height) => Math.max(2, Math.floor(height / 45));

function withUplot(element, { width, height, x, y, format, lines }) {
  const axis = { stroke: colour('quiet'), grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false }, font: `11px ${colour('font')}` };
  const series = [{}];
  const bands = [];
  const tables = [];
  for (const line of lines) {
    const own = [line.steps, line.values];
    series.push({ stroke: colour(line.colour), width: 1.5, spanGaps: true,
      points: { show: Boolean(line.points), size: 5, fill: colour(line.colour) } });
    if (line.low) {
      const at = series.length;
      const edge = { stroke: 'transparent', width: 0, points: { show: false }, spanGaps: true };
      series.push(edge, { ...edge });
      bands.push({ series: [at, at + 1], fill: `${colour(line.colour)}38` });
      own.push(line.high, line.low);
    }
    tables.push(own);
  }
  const plot = new libraries.uPlot({
    width, height, padding: [TOP, RIGHT, 0, 0], legend: { show: false },
    cursor: { show: false, drag: { x: false, y: false } },
    scales: { x: { time: false, range: () => x }, y: { range: () => y } },
    axes: [{ ...axis, size: BOTTOM, splits: () => wholeTicks(x, ticksAcross(width)),
      values: (_, all) => all.map(String) },
    { ...axis, size: LEFT, splits: () => ticks(y, ticksUp(height)),
      values: (_, all) => all.map(format) }],
    series, bands,
  }, tables.length > 0 ? libraries.uPlot.join(tables) : [[]], element);
  plot.root.setAttribute('aria-hidden', 'true');
  const { left, top, width: wide, height: high } = plot.bbox;
  const ratio = devicePixelRatio;
  return { left: left / ratio, top: top / ratio, width: wide / ratio, height: high / ratio };
}

let clips = 0;

function withSvg(element, { width, height, x, y, format, lines }) {
  const room = { left: LEFT, top: TOP, width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
  const across = (step) => room.left + room.width * (step - x[0]) / (x[1] - x[0]);
  const up = (value) => room.top + room.height * (y[1] - value) / (y[1] - y[0]);
  const place = (step, value) => `${across(step).toFixed(1)} ${up(value).toFixed(1)}`;
  const grid = ticks(y, ticksUp(height)).flatMap((value) => [
    svg('line', { class: 'grid', x1: room.left, x2: width - RIGHT, y1: up(value), y2: up(value) }),
    svg('text', { class: 'tick', x: LEFT - 6, y: up(value) + 4, 'text-anchor': 'end' },
      format(value))]);
  for (const step of wholeTicks(x, ticksAcross(width))) {
    grid.push(svg('text', { class: 'tick', x: across(step), y: height - 8,
      'text-anchor': 'middle' }, String(step)));
  }
  const clip = `plot-${++clips}`;
  const shapes = lines.flatMap(({ steps, values, low, high, colour: name, points }) => {
    const path = (all) => all.map((value, i) => place(steps[i], value)).join('L');
    const back = (all) => all.map((value, i) => place(steps[i], value)).reverse().join('L');
    return [
      low ? svg('path', { class: `band ${name}`, d: `M${path(high)}L${back(low)}Z` }) : null,
      svg('path', { class: `line ${name}`, d: `M${path(values)}` }),
      ...(points ? values.map((value, i) => svg('circle', { class: `point ${name}`, r: 2.5,
        cx: across(steps[i]), cy: up(value) })) : []),
    ].filter((shape) => shape !== null);
  });
  element.append(h('div', {}, svg('svg', { width, height, 'aria-hidden': 'true' },
    svg('clipPath', { id: clip }, svg('rect', { x: room.left, y: room.top, width: room.width,
      height: room.height })),
    ...grid, svg('g', { 'clip-path': `url(#${clip})` }, ...shapes))));
  return room;
}
