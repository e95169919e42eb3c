// The first NaN or infinity of the step, and the numbers around it.
import { h, number, shapeText } from './dom.js';
import { saveable } from './export.js';

const COUNTS = [['NaN', (s) => s.nans], ['inf', (s) => s.infs - s.negInfs],
  ['\u2212inf', (s) => s.negInfs]];

// Null if everything is finite.
export function nonFiniteView({ nonFinite }) {
  if (!nonFinite) return null;
  const names = [' tensor', ' type and shape', 'elements', ...COUNTS.map(([name]) => name),
    'smallest finite', 'largest finite'];
  const text = nonFinite.headline;
  return h('section', { class: 'finding', role: 'note', 'data-view': 'finding' },
    h('h2', { class: 'warn' }, text[0].toUpperCase() + text.slice(1)),
    h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Around it' },
      saveable('finding', null, h('thead', {}, h('tr', {}, ...names.map((name) =>
        h('th', { scope: 'col', class: name.startsWith(' ') ? 'word' : null }, name.trim())))),
      h('tbody', {}, ...nonFinite.tensors.map(findingRow)))),
    h('p', { class: 'quiet legend' }, 'What came later follows from it. The \u2212inf of a mask, ' +
      'which is there on purpose, is no finding; the tape tab marks the entry.'));
}

function findingRow({ what, shape, dtype, values }) {
  const finite = values.count - values.nans - values.infs;
  return h('tr', {}, h('th', { class: 'word', scope: 'row' }, what),
    h('td', { class: 'word quiet' }, `${dtype} ${shapeText(shape)}`),
    h('td', {}, number(values.count)),
    ...COUNTS.map(([, of]) => h('td', { class: of(values) > 0 ? 'warn' : null },
      number(of(values)))),
    ...[values.min, values.max].map((x) => h('td', {}, finite > 0 ? number(x) : '\u2013')));
}
