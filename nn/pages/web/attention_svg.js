// A head's weights as files: a table, and a picture in the colours of the heat map.
import { isHidden, shade } from './attention_map.js';
import { colour, rgb, svg, tokenText } from './dom.js';
import { csvText } from './export.js';

const LEVELS_OF_COLOUR = 48;
const [SIDE, LABELS] = [16, 110]; // pixels of a cell, and of the tokens beside them

const labelsOf = (texts, count) => Array.from({ length: count }, (_, i) => tokenText((texts || [])[i], i));

// A row per query and a column per key; empty where the key is hidden.
export function headCsv(attention, head) {
  const weights = attention.weights(head);
  const keys = labelsOf(attention.keyTexts, attention.keys);
  return csvText([['query', ...keys], ...labelsOf(attention.queryTexts, attention.queries).map((name, i) =>
    [name, ...keys.map((_, j) => (isHidden(attention, head, i, j) ? '' : String(weights[i * attention.keys + j])))])]);
}

// Neighbours of one colour are one rectangle.
export function headSvg(attention, head) {
  const weights = attention.weights(head);
  const { queries, keys } = attention;
  const [low, high] = [rgb('map-low'), rgb('map-high')];
  const levelOf = (i, j) => {
    const weight = weights[i * keys + j];
    if (isHidden(attention, head, i, j)) return 'map-hidden';
    return Number.isNaN(weight) ? 'warn' : Math.round(LEVELS_OF_COLOUR * shade(Math.max(0, weight)));
  };
  const fillOf = (level) => (typeof level === 'string' ? colour(level) : `rgb(${low.map((from, c) =>
    Math.round(from + level / LEVELS_OF_COLOUR * (high[c] - from))).join(',')})`);
  const parts = [svg('rect', { width: LABELS + SIDE * keys + 8, height: LABELS + SIDE * queries + 8, fill: colour('panel') })];
  for (let i = 0; i < queries; ++i) {
    for (let j = 0, from = 0; j < keys; ++j) {
      if (j + 1 < keys && levelOf(i, j + 1) === levelOf(i, from)) continue;
      parts.push(svg('rect', { x: LABELS + SIDE * from, y: LABELS + SIDE * i, width: SIDE * (j + 1 - from), height: SIDE,
        fill: fillOf(levelOf(i, from)) }));
      from = j + 1;
    }
  }
  const text = (words, more) => svg('text', { fill: colour('text'), ...more }, words);
  labelsOf(attention.queryTexts, queries).forEach((name, i) => parts.push(text(name,
    { x: LABELS - 6, y: LABELS + SIDE * i + 12, 'text-anchor': 'end' })));
  labelsOf(attention.keyTexts, keys).forEach((name, j) => parts.push(text(name,
    { transform: `translate(${LABELS + SIDE * j + 12} ${LABELS - 6}) rotate(-90)` })));
  const whole = svg('svg', { width: LABELS + SIDE * keys + 8, height: LABELS + SIDE * queries + 8,
    'font-family': 'sans-serif', 'font-size': 11 }, ...parts);
  return new XMLSerializer().serializeToString(whole);
}
