// Derives one attention weight: q, k, their products, the score, the softmax of the row, the
// weight; with every number needed to recompute it by hand.
import { barCell, fixed, h, number, plural, tokenText } from './dom.js';
import { saveable } from './export.js';
import { LARGEST_F32, softmax } from './heads.js';
import { scrolling } from './table.js';

const SHOWN_KEYS = 12;

export class ChainView {
  constructor(choose) {
    this.element = h('section', { class: 'chain', 'data-view': 'chain' });
    this.queryInput = h('input', { type: 'number', min: '0', 'aria-label': 'Query',
      onchange: () => choose({ query: Number(this.queryInput.value), key: this.state.key }) });
    this.keyInput = h('input', { type: 'number', min: '0', 'aria-label': 'Key',
      onchange: () => choose({ query: this.state.query, key: Number(this.keyInput.value) }) });
  }

  show(state) {
    this.state = state;
    const { attention, head, query, key } = state;
    this.queryInput.max = attention.queries - 1;
    this.keyInput.max = attention.keys - 1;
    this.queryInput.value = query;
    this.keyInput.value = key;
    const scores = attention.scores(head, query);
    const token = (texts, i) => h('b', {}, tokenText((texts || [])[i], i));
    this.element.replaceChildren(
      h('h3', {}, 'One pair, from vectors to weight'),
      attention.exact ? '' : h('p', { class: 'quiet legend' }, '\u2248 marks numbers computed from q and ' +
        'k, which this page of a large model stores in 12 bits each.'),
      h('p', { class: 'row' },
        h('label', {}, 'query ', this.queryInput, ' ', token(attention.queryTexts, query)),
        h('label', {}, 'key ', this.keyInput, ' ', token(attention.keyTexts, key))),
      h('div', { class: 'columns' }, this.products(), this.steps(scores), this.row(scores)));
  }

  // A number that is only as precise as q and k.
  about(x, places = 4) {
    return `${this.state.attention.exact || !Number.isFinite(x) ? '' : '\u2248\u00a0'}${place(x, places)}`;
  }

  products() {
    const { attention, head, query, key } = this.state;
    const q = attention.query(head, query);
    const k = attention.key(head, key);
    let most = 0;
    for (let d = 0; d < q.length; ++d) most = Math.max(most, Math.abs(q[d] * k[d]));
    const rows = Array.from(q, (value, d) => {
      const product = value * k[d];
      return h('tr', {}, h('td', { class: 'quiet' }, String(d)), h('td', {}, this.about(value)),
        h('td', {}, this.about(k[d])), h('td', {}, this.about(product)), barCell(product / most));
    });
    return scrolling('Products', 'tall', saveable('products', null,
      h('thead', {}, h('tr', {}, ...['d', 'q', 'k', 'q \u00d7 k'].map((name) =>
        h('th', { scope: 'col' }, name)), h('td', {}))),
      h('tbody', {}, ...rows)));
  }

  steps(scores) {
    const { attention, head, query, key } = this.state;
    const [dot, exact] = [false, true].map((all) => attention.dot(head, query, key, all));
    const { max, sum, weights } = softmax(scores, attention.round);
    const over = Math.abs(exact) > LARGEST_F32 && attention.dtype !== 'f64';
    const added = key < attention.seen(query) ? attention.masked(head, query, key) : -Infinity;
    const hidden = added === -Infinity;
    const terms = [
      ['q \u00b7 k', over ? `its size, ${number(Math.abs(exact), 3)}, exceeds ${number(LARGEST_F32, 3)}, the largest f32`
        : 'sum of the products', this.about(dot), 'dot'],
      ['\u00d7 scale', number(attention.scale), this.about(dot * attention.scale), 'scaled'],
      attention.mask || hidden ? ['+ mask', hidden ? 'hidden from the query'
        : 'added by the mask', hidden ? number(-Infinity) : fixed(added, 4), 'mask'] : null,
      ['score', '', this.about(scores[key]), 'score'],
      ['\u2212 max', `the row's largest, ${this.about(max)}`,
        this.about(hidden ? -Infinity : scores[key] - max), 'shifted'],
      ['exp', '', this.about(shareOfMax(scores[key], max), 5), 'exp'],
      ['\u00f7 sum', `over the row, ${this.about(sum)}`, this.about(weights[key], 5), 'weight'],
    ].filter(Boolean);
    return saveable('steps', 'steps', h('tbody', {},
      ...terms.map(([name, note, value, id]) => h('tr', { 'data-step': id, class: /NaN|exceeds/.test(value + note) ? 'warn' : null },
        h('th', { scope: 'row' }, name), h('td', { class: 'note quiet' }, note),
        h('td', {}, value)))));
  }

  // The row's heaviest keys, including the chosen one.
  row(scores) {
    const { attention, key } = this.state;
    const { max, weights } = softmax(scores, attention.round);
    const order = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a] || a - b);
    const shown = order.slice(0, SHOWN_KEYS).filter((j) => !(weights[j] <= 0));
    if (!shown.includes(key)) shown.push(key);
    const rest = max === -Infinity ? 0 : 1 - shown.reduce((sum, j) => sum + weights[j], 0);
    const rows = shown.map((j) => h('tr', { 'aria-selected': String(j === key) },
      h('td', { class: 'quiet' }, String(j)),
      h('td', { class: 'word' }, tokenText((attention.keyTexts || [])[j], j)),
      h('td', {}, this.about(scores[j])), h('td', {}, this.about(shareOfMax(scores[j], max))),
      h('td', {}, this.about(weights[j])), barCell(weights[j])));
    if (shown.length < attention.keys && rest > 5e-5) {
      rows.push(h('tr', { class: 'quiet' }, h('td', {}), h('td', { class: 'word' },
        plural(attention.keys - shown.length, 'other')), h('td', {}), h('td', {}),
      h('td', {}, this.about(rest)), h('td', {})));
    }
    return saveable('row', null, h('thead', {}, h('tr', {},
      h('td', {}), ...['key', 'score', 'exp', 'weight'].map((name) =>
        h('th', { scope: 'col', class: name === 'key' ? 'word' : null }, name)), h('td', {}))),
    h('tbody', {}, ...rows));
  }
}

// exp(score - max); 0 in a row of which the query may see nothing.
const shareOfMax = (score, max) => (max === -Infinity ? 0 : Math.exp(score - max));

// A fixed number of decimals; a score may be -infinity.
function place(x, places = 4) {
  return Number.isFinite(x) ? fixed(x, places) : number(x);
}
