// Histograms over powers of two, small enough for a row of a table, on an axis that rows share.
import { svg } from './dom.js';

export const HISTOGRAM = { width: 140, height: 30 };
const MOST_POWERS = 40;

// The powers of two that any of the histograms { first, counts } has, MOST_POWERS from the largest
// down.
export function powersOf(histograms) {
  const filled = histograms.filter(({ counts }) => counts.length > 0);
  if (filled.length === 0) return { first: -8, last: 0 };
  const last = Math.max(...filled.map(({ first, counts }) => first + counts.length - 1));
  const first = Math.min(last - 8, ...filled.map((each) => each.first));
  return { first: Math.max(first, last + 1 - MOST_POWERS), last };
}

const acrossPowers = (power, { first, last }) =>
  HISTOGRAM.width * (power - first) / (last + 1 - first);

export function powersAxis(powers) {
  const labels = [];
  const range = powers.last - powers.first;
  const every = range > 24 ? 20 : range > 12 ? 10 : 5; // so that labels stay apart
  for (let power = Math.ceil(powers.first / every) * every; power <= powers.last; power += every) {
    const x = acrossPowers(power, powers);
    labels.push(svg('text', { class: 'tick', x, y: 10,
      'text-anchor': x < 14 ? 'start' : x > HISTOGRAM.width - 14 ? 'end' : 'middle' },
    `2^${power}`));
  }
  return svg('svg', { width: HISTOGRAM.width, height: 13, class: 'axis', 'aria-hidden': 'true' },
    ...labels);
}

// `kind` is a class of page.css, which colours the bars.
export function powersHistogram({ first, counts }, kind, powers, label) {
  const { width, height } = HISTOGRAM;
  const wide = width / (powers.last + 1 - powers.first);
  const within = counts.map((count, i) => [first + i, count])
    .filter(([power]) => power >= powers.first);
  const most = Math.max(1, ...within.map(([, count]) => count));
  const bars = within.map(([power, count]) => svg('rect', { class: kind,
    x: acrossPowers(power, powers).toFixed(1), width: Math.max(1, wide - 1).toFixed(1),
    y: (height - (height - 2) * count / most).toFixed(1),
    height: ((height - 2) * count / most).toFixed(1) }));
  return svg('svg', { width, height, role: 'img', 'aria-label': label },
    svg('line', { class: 'grid', x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }), ...bars);
}
