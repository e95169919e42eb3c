// The processes tab of a run shared by several processes: the work of each, and its time.
import { bytesText, flopsText, h, number, percent } from './dom.js';
import { saveable } from './export.js';
import { valueCell } from './table.js';

// Name, text, and the number if the text has a unit. `counted` is what the run counts: "tokens", "rows".
const columnsOf = (counted) => [
  ['threads', (p) => String(p.threads)],
  [counted, (p) => String(p.tokens)],
  [`${counted}/s`, (p) => number(Math.round(p.speed))],
  ['FLOP', (p) => flopsText(p.flops), (p) => p.flops],
  ['waiting', (p) => percent(p.waiting)],
  ['hidden', (p) => percent(p.hidden)],
  ['sent', (p) => bytesText(p.sent), (p) => p.sent],
  ['moments', (p) => bytesText(p.moments), (p) => p.moments],
];

// Fills `panel`; returns a function that updates it with newer data.
export function processesTab(panel, data) {
  const rows = h('tbody', {});
  const columns = columnsOf(data.recipe.counted);
  const heads = ['process', 'host', ...columns.map(([head]) => head)];
  panel.append(h('p', { class: 'quiet legend' }, 'Each process computes the gradients of its ' +
    'micro-batches and updates its slice of the parameters. FLOP: of matrix products; waiting: share of the ' +
    'time spent in messages; hidden: share of the gradients\' transfer that overlaps with the backward pass; ' +
    'moments: memory of the optimiser\'s moments. As of the latest evaluation.'),
  h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'processes' },
    saveable('processes', null, h('thead', {}, h('tr', {}, ...heads.map((head, i) =>
      h('th', { scope: 'col', class: i === 1 ? 'word' : null }, head)))), rows)));
  const renew = ({ processes }) => rows.replaceChildren(...processes.map((p, rank) =>
    h('tr', { 'data-process': rank }, h('th', { scope: 'row' }, String(rank)),
      h('td', { class: 'word' }, p.host), ...columns.map(([, text, value]) => (value ? valueCell(value(p), text(p)) : h('td', {}, text(p)))))));
  renew(data);
  return renew;
}
