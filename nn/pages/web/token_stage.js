// The computation of one stage of a token's path, with all the numbers needed to repeat it. Read
// next: token_path.js, the source of the numbers.
import { barCell, fixed, h, number, plural, sharePercent, tokenText } from './dom.js';
import { saveable } from './export.js';
import { roving } from './roving.js';
import { scrolling } from './table.js';
import { lengthOf } from './layers.js';

const MOST_ROWS = 256; // per table
const MOST_KEYS = 10;

const BENDS = { relu: 'ReLU', gelu: 'GELU', silu: 'SiLU', relu_squared: 'ReLU squared' };

const lastPart = (module) => module.slice(module.lastIndexOf('.') + 1);

// The name of a stage.
export function stageName({ kind, op, module, from, width, layer }) {
  const names = { attention: 'Weights \u00d7 values', projection: 'Query, key, value',
    output: 'Output projection W_O', norm: 'Norm', logits: 'Logits', embedding: 'Embedding',
    activation: BENDS[op] ?? op };
  if (names[kind]) return names[kind];
  if (kind === 'add') {
    const position = lastPart(module).startsWith('position');
    const earlier = !layer && (/history/.test(module) ? 'summed' : from.some((each) => /history/.test(each.module)) && 'added');
    return position ? 'Position embedding added' : earlier ? `Earlier tokens ${earlier}`
      : from.length > 1 ? 'Added to the residual stream' : 'Added';
  }
  if (kind === 'linear') return `Linear, to ${width}`;
  return op[0].toUpperCase() + op.slice(1).replace(/_/g, ' ');
}

const SAYS = {
  embedding: () => 'The token\u2019s row of the embedding table. From here on the token has a vector, ' +
    'the residual stream, to which every layer adds.',
  norm: ({ op }) => (op === 'rms_norm' ? 'Divide by the root of the mean square; then scale by a learned weight.'
    : 'Subtract the mean and divide by the standard deviation; then scale by a learned weight and add a learned bias, ' +
      'if the model has biases.'),
  projection: () => 'Three matrix products: what the token looks for (q), what it is found by (k), and ' +
    'what it passes on if it is found (v). Each head has its own part.',
  attention: () => 'Every head takes the weighted sum of the values v of the tokens that it attends to. ' +
    'Only here does a token read from other tokens.',
  output: () => 'The heads\u2019 outputs, concatenated and multiplied by W_O: what each head found is ' +
    'written into the residual stream.',
  activation: () => 'A nonlinearity: without it, two linear layers would collapse into one.',
  linear: () => 'A matrix product.',
  logits: () => 'A number for every possible answer; the softmax turns them into probabilities.',
};

// The elements that show `stage` for the token at `place`. `view` holds the choices, { head,
// dimension }, and choose(changes) to change them.
export function stageDetail(path, stage, place, view, predictions) {
  const detail = new StageDetail(path, stage, place, view);
  const kinds = { embedding: 'plain', norm: 'norm', projection: 'projection', attention: 'attention',
    output: 'output', add: 'add', activation: 'activation' };
  const says = SAYS[stage.kind];
  return [h('h3', {}, stageName(stage)),
    h('p', { class: 'quiet' }, `#${stage.entry} ${stage.op}${stage.module ? ` in ${stage.module}` : ''}`),
    says ? h('p', { class: 'legend' }, says(stage)) : '',
    stage.whole ? h('p', { class: 'legend' }, 'From here on there is one vector for the whole sequence.') : '',
    ...(stage.kind === 'logits' && predictions
      ? [detail.logits(predictions, stage.whole ? 0 : place)] : detail[kinds[stage.kind] ?? 'plain']())];
}

class StageDetail {
  constructor(path, stage, place, view) {
    Object.assign(this, { path, stage, place, view, own: path.vector(stage, place) });
  }

  about(x, places = 4) {
    return `${this.path.exact ? '' : '\u2248\u00a0'}${fixed(x, places)}`;
  }

  before() {
    const [first] = this.stage.from;
    return first ? this.path.vector(first, this.place) : null;
  }

  // Columns [name, numbers] side by side, a row for each dimension, which may have a name.
  numbers(columns, choose, nameOf) {
    const all = columns.filter(([, x]) => x);
    const own = all[all.length - 1]?.[1];
    if (!own) return h('p', {}, 'This page has no numbers for this stage.');
    const order = Array.from(own.keys());
    const shown = order.length <= MOST_ROWS ? order : order
      .sort((a, b) => Math.abs(own[b]) - Math.abs(own[a])).slice(0, MOST_ROWS);
    const most = own.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const rows = shown.map((d) => h('tr', { 'data-d': String(d),
      'aria-selected': choose ? String(d === this.view.dimension) : null },
    h('td', { class: 'quiet' }, choose ? h('button', { onclick: () => choose(d),
      'aria-label': `Dimension ${d}` }, String(d)) : String(d)),
    ...(nameOf ? [h('td', { class: 'word' }, nameOf(d))] : []),
    ...all.map(([, x]) => h('td', {}, this.about(x[d]))), barCell(own[d] / most)));
    const body = h('tbody', {}, ...rows);
    if (choose) roving(body, 'button')();
    return h('div', {}, shown.length < own.length
      ? h('p', { class: 'quiet legend' }, `The ${shown.length} largest of ${own.length}.`) : '',
    scrolling('Numbers', 'tall', saveable('numbers', null, h('thead', {}, h('tr', {},
      ...['d', ...(nameOf ? [' answer'] : []), ...all.map(([name]) => name)].map((name) =>
        h('th', { scope: 'col', class: name.startsWith(' ') ? 'word' : null }, name.trim())),
      h('td', {}))), body)));
  }

  // [name, note, number] in rows.
  facts(...rows) {
    return saveable('facts', 'steps', h('tbody', {},
      ...rows.map(([name, note, value]) => h('tr', {}, h('th', { scope: 'row' }, name),
        h('td', { class: 'note quiet' }, note), h('td', {}, value)))));
  }

  plain() {
    return [this.numbers([['x', this.own]])];
  }

  logits(predictions, place) {
    return h('div', { class: 'columns' }, predictions.rows[place].lost ? '' : likeliest(predictions, place),
      this.numbers([['logit', this.own]], null, (id) => predictions.nameOf(id)));
  }

  norm() {
    const x = this.before();
    if (!x) return this.plain();
    const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
    const rootOfMean = (from) => Math.sqrt(x.reduce((sum, value) => sum + (value - from) ** 2, 0) / x.length);
    const facts = this.stage.op === 'rms_norm' ? [['root of the mean square', rootOfMean(0)]]
      : [['mean', mean], ['standard deviation', rootOfMean(mean)]];
    return [h('div', { class: 'columns' }, this.numbers([['before', x], ['after', this.own]]),
      this.facts(...facts.map(([name, value]) => [name, 'before', this.about(value)])))];
  }

  activation() {
    const above = this.own ? this.own.filter((x) => x > 0).length : 0;
    return [h('p', { class: 'quiet' }, `${above} of ${this.stage.width} units are above 0.`),
      this.numbers([['before', this.before()], ['after', this.own]])];
  }

  add() {
    const vectors = this.stage.from.map((each) => this.path.vector(each, this.place));
    if (!this.own || !vectors[0]) return this.plain();
    const [x] = vectors;
    const added = vectors[1] ?? this.own.map((value, d) => value - x[d]); // a parameter: the rest
    const name = vectors[1] ? stageName(this.stage.from[1]) : 'what is added';
    const dot = this.own.reduce((sum, value, d) => sum + value * x[d], 0);
    return [h('div', { class: 'columns' },
      this.numbers([['stream', x], ['+ added', added], ['= sum', this.own]]),
      this.facts(['|stream|', 'its length before', this.about(lengthOf(x))],
        ['|added|', name, this.about(lengthOf(added))],
        ['|sum|', 'its length after', this.about(lengthOf(this.own))],
        ['cosine', 'of the stream before and after', this.about(dot / lengthOf(x) / lengthOf(this.own))]))];
  }

  // ---- heads ------------------------------------------------------------------------------------

  headSwitch() {
    const { heads } = this.stage.attention;
    return h('div', { class: 'row' }, h('span', { class: 'quiet' }, 'head'),
      h('div', { class: 'switch', role: 'group', 'aria-label': 'Head' },
        ...Array.from({ length: heads }, (_, head) => h('button', { 'data-head': String(head),
          'aria-pressed': String(head === this.view.head),
          onclick: () => this.view.choose({ head }) }, String(head)))));
  }

  projection() {
    const { attention } = this.stage;
    const { head } = this.view;
    const itself = !attention.cross && attention.keys === attention.queries;
    return [this.headSwitch(), this.numbers([['q', attention.query(head, this.place)],
      ['k', itself ? attention.key(head, this.place) : null],
      ['v', itself && attention.hasValues() && attention.valueDim === attention.dim
        ? attention.value(head, this.place) : null]]),
    itself ? '' : h('p', { class: 'quiet legend' }, 'Keys and values are computed from other tokens.')];
  }

  attention() {
    const { attention } = this.stage;
    const { head, dimension } = this.view;
    const mixed = this.path.mixed(attention, head, this.place);
    const { valueDim } = attention;
    const kept = this.own ? this.own.subarray(head * valueDim, (head + 1) * valueDim) : mixed;
    const result = h('div', {}, h('h4', {}, `What head ${head} found`),
      this.numbers([[`head ${head}`, kept]], (d) => this.view.choose({ dimension: d })));
    if (!mixed) {
      return [this.headSwitch(), h('p', { class: 'legend' }, 'This page of a large model has no values, ' +
        'only the result.'), result];
    }
    const d = Math.min(dimension, valueDim - 1);
    return [this.headSwitch(), h('div', { class: 'columns' },
      h('div', {}, h('h4', {}, `Dimension ${d}, term by term`), this.terms(mixed, d)), result)];
  }

  terms(mixed, d) {
    const { attention } = this.stage;
    const { head } = this.view;
    const weights = this.path.weightsOf(attention, head, this.place);
    const order = Array.from(weights.keys()).filter((j) => weights[j] > 0)
      .sort((a, b) => weights[b] - weights[a] || a - b);
    const shown = order.slice(0, MOST_KEYS);
    const term = (j) => weights[j] * attention.value(head, j)[d];
    const most = Math.max(...shown.map((j) => Math.abs(term(j)))) || 1;
    const rest = order.slice(MOST_KEYS);
    const rows = shown.map((j) => h('tr', {}, h('td', { class: 'quiet' }, String(j)),
      h('td', { class: 'word' }, tokenText((attention.keyTexts || [])[j], j)),
      h('td', {}, this.about(weights[j])), h('td', {}, this.about(attention.value(head, j)[d])),
      h('td', {}, this.about(term(j))), barCell(term(j) / most)));
    if (rest.length > 0) {
      rows.push(h('tr', { class: 'quiet' }, h('td', {}), h('td', { class: 'word' }, plural(rest.length, 'other')),
        h('td', {}, this.about(rest.reduce((sum, j) => sum + weights[j], 0))), h('td', {}),
        h('td', {}, this.about(rest.reduce((sum, j) => sum + term(j), 0))), h('td', {})));
    }
    rows.push(h('tr', { class: 'total' }, h('td', {}), h('th', { class: 'word', scope: 'row' }, 'sum'),
      h('td', {}), h('td', {}), h('td', {}, this.about(mixed[d])), h('td', {})));
    return saveable('terms', null, h('thead', {}, h('tr', {}, h('td', {}),
      ...['key', 'weight', `v[${d}]`, 'weight \u00d7 v'].map((name) =>
        h('th', { scope: 'col', class: name === 'key' ? 'word' : null }, name)), h('td', {}))),
    h('tbody', {}, ...rows));
  }

  output() {
    const { attention } = this.stage;
    const written = this.path.written(this.stage, this.place);
    if (!written || !this.own) return this.plain();
    const square = this.own.reduce((sum, y) => sum + y * y, 0);
    const along = (x) => x.reduce((sum, value, c) => sum + value * this.own[c], 0) / square;
    const bias = attention.bias();
    const rows = [...written.map((x, head) => [`head ${head}`, x]),
      ...(bias ? [['bias', bias]] : []), ['all', this.own]].map(([name, x]) =>
      h('tr', { class: name === 'all' ? 'total' : null }, h('th', { class: 'word', scope: 'row' }, name),
        h('td', {}, this.about(lengthOf(x))), h('td', {}, this.about(along(x))), barCell(along(x))));
    const many = written.length > 8 ? [] : written.map((x, head) => [`head ${head}`, x]);
    return [h('div', { class: 'columns' },
      h('div', {}, h('h4', {}, 'What each head adds'), saveable('written', null,
        h('thead', {}, h('tr', {}, h('td', {}), h('th', { scope: 'col' }, 'length'),
          h('th', { scope: 'col' }, 'share'), h('td', {}))), h('tbody', {}, ...rows)),
      h('p', { class: 'quiet legend' }, 'Share of the sum along its direction; negative where a head ' +
        'works against the others.')),
      this.numbers([...many, ...(bias && many.length > 0 ? [['bias', bias]] : []), ['sum', this.own]]))];
  }
}

function likeliest(predictions, place) {
  const row = predictions.rows[place];
  return saveable('answers', null, h('thead', {}, h('tr', {},
    h('th', { scope: 'col', class: 'word' }, 'answer'), h('th', { scope: 'col', colspan: '2' }, 'probability'),
    h('td', {}))),
  h('tbody', {}, ...row.likeliest.map(([id, p]) => h('tr', { 'aria-selected': String(id === row.right) },
    h('td', { class: 'word' }, predictions.nameOf(id)), h('td', {}, sharePercent(p)), barCell(p),
    h('td', { class: 'word' }, id === row.right ? '\u2713 right' : '')))));
}
