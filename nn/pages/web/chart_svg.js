// A chart of lines as an SVG file: the same axes, lines and levels as plot.js draws, in the colours of
// the page.
import { colour, svg } from './dom.js';
import { groupLevels, ticksOf, upOf, wholeText } from './plot.js';

const AROUND = { left: 64, right: 24, top: 34, bottom: 40 }; // pixels

// `unit` names the horizontal axis.
// { title, width, height, x, y, log, format, lines, levels } as for plotLines and LinesChart -> text
export function chartSvg({ title, unit = 'step', width, height, x, y, log, format, lines, levels }) {
  const { left, right, top, bottom } = AROUND;
  const [wide, high] = [width - left - right, height];
  const across = (step) => left + wide * (step - x[0]) / (x[1] - x[0]);
  const up = upOf(y, log, top, high);
  const inside = (value) => Math.max(top - 1e4, Math.min(top + high + 1e4, up(value)));
  const text = (at, to, anchor, words, more) => svg('text', { x: at, y: to, 'text-anchor': anchor, fill: colour('quiet'), ...more }, words);
  const parts = [svg('rect', { width, height: high + top + bottom, fill: colour('panel') }),
    text(left, 20, 'start', title, { fill: colour('text'), 'font-weight': 600 })];
  const { across: steps, up: values } = ticksOf({ x, y, log, width, height });
  for (const step of steps) parts.push(text(across(step), top + high + 18, 'middle', wholeText(step)));
  for (const value of values) {
    parts.push(svg('line', { x1: left, x2: left + wide, y1: up(value), y2: up(value), stroke: colour('line') }),
      text(left - 8, up(value) + 4, 'end', format(value)));
  }
  parts.push(text(left + wide, top + high + 34, 'end', unit));
  for (const { steps: at, values: of, low, high: most, colour: name, width: thick, faint, dashed } of lines) {
    const points = (all) => all.map((value, i) => (value === null || at[i] < x[0] || at[i] > x[1] ? null
      : `${across(at[i]).toFixed(1)} ${inside(value).toFixed(1)}`)).filter(Boolean);
    if (points(of).length === 0) continue;
    if (low) {
      parts.push(svg('path', { d: `M${[...points(most), ...points(low).reverse()].join('L')}Z`, fill: colour(name), 'fill-opacity': 0.2 }));
    }
    parts.push(svg('path', { d: `M${points(of).join('L')}`, fill: 'none', stroke: colour(name), 'stroke-width': faint ? 1 : thick ?? 1.5,
      'stroke-opacity': faint ? 0.3 : 1, 'stroke-dasharray': dashed ? '5 4' : null }));
  }
  for (const { at } of levels.filter((level) => level.at >= y[0] && level.at <= y[1])) {
    parts.push(svg('line', { x1: left, x2: left + wide, y1: up(at), y2: up(at), stroke: colour('quiet'), 'stroke-dasharray': '4 4' }));
  }
  for (const { at, text: words } of groupLevels(levels, y, up)) parts.push(text(left + wide - 4, up(at) - 4, 'end', words));
  const whole = svg('svg', { width, height: high + top + bottom, 'font-family': 'sans-serif', 'font-size': 12 },
    ...parts);
  return new XMLSerializer().serializeToString(whole);
}
