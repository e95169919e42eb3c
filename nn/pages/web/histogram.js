// Histograms over powers of two, small enough for a table row, on an axis shared by rows.
import { svg } from './dom.js';

const HISTOGRAM = { width: 150, height: 30 };
const MOST_POWERS = 40;

// The powers of two in any of the histograms { first, counts }: at most MOST_POWERS from the
// largest down, more only if half of all numbers would otherwise be cut off by a huge outlier.
export function powersOf(histograms) {
  const filled = histograms.filter(({ counts }) => counts.length > 0);
  if (filled.length === 0) return { first: -8, last: 0 };
  const last = Math.max(...filled.map(({ first, counts }) => first + counts.length - 1));
  const first = Math.min(last - 8, ...filled.map((each) => each.first));
  const least = Math.min(last + 1 - MOST_POWERS, middle(filled) - MOST_POWERS / 2);
  return { first: Math.max(first, least), last };
}

// The power of two above half of the numbers.
function middle(histograms) {
  const counted = histograms
    .flatMap(({ first, counts }) => counts.map((count, i) => [first + i, count]))
    .sort(([a], [b]) => a - b);
  const half = counted.reduce((sum, [, count]) => sum + count, 0) / 2;
  let sum = 0;
  return counted.find(([, count]) => (sum += count) >= half)[0];
}

const acrossPowers = (power, { first, last }) =>
  HISTOGRAM.width * (power - first) / (last + 1 - first);

// 2 to the power of n, with the exponent raised.
export const powerText = (n) => `2${Array.from(String(n), (c) =>
  (c === '-' ? '\u207b' : '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[c])).join('')}`;

export function powersAxis(powers) {
  const labels = [];
  const room = (every) => acrossPowers(powers.first + every, powers);
  const every = [5, 10, 20, 50, 100].find((n) => room(n) >= 46) || 100; // keeps labels apart
  for (let power = Math.ceil(powers.first / every) * every; power <= powers.last; power += every) {
    const x = acrossPowers(power, powers);
    labels.push(svg('text', { class: 'tick', x, y: 10,
      'text-anchor': x < 14 ? 'start' : x > HISTOGRAM.width - 14 ? 'end' : 'middle' },
    powerText(power)));
  }
  return svg('svg', { width: HISTOGRAM.width, height: 13, class: 'axis', 'aria-hidden': 'true' },
    ...labels);
}

// Values below the axis are counted in its first bin. `kind` is a class of page.css that colours
// the bars.
export function powersHistogram({ first, counts }, kind, powers, label) {
  const { width, height } = HISTOGRAM;
  const within = new Map();
  counts.forEach((count, i) => {
    const power = Math.max(first + i, powers.first);
    within.set(power, (within.get(power) || 0) + count);
  });
  const wide = width / (powers.last + 1 - powers.first);
  const most = Math.max(1, ...within.values());
  const bars = Array.from(within, ([power, count]) => svg('rect', { class: kind,
    x: acrossPowers(power, powers).toFixed(1), width: Math.max(1, wide - 1).toFixed(1),
    y: (height - (height - 2) * count / most).toFixed(1),
    height: ((height - 2) * count / most).toFixed(1) }));
  return svg('svg', { width, height, role: 'img', 'aria-label': label },
    svg('line', { class: 'grid', x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }), ...bars);
}
