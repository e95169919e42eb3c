// The attention tab: the model as small maps, layers by heads; one head as lines or as a heat map;
// one pair of tokens as numbers.
import { keepState, numberOf } from './address.js';
import { headCsv, headSvg } from './attention_svg.js';
import { LinesView } from './attention_lines.js';
import { ChainView } from './attention_chain.js';
import { MapView } from './attention_map.js';
import { saveButton } from './export.js';
import { headSays, lostQueries } from './head_roles.js';
import { Attention } from './heads.js';
import { ImageView } from './image_view.js';
import { drawInTurn } from './small_maps.js';
import { speak } from './speak.js';
import { h, number, onTheme, plural, tokenText } from './dom.js';

const MOST_NAMED = 64 * 64; // pairs of tokens

export function attentionTab(panel, data) {
  if (data.attention.length === 0) {
    panel.append(h('p', {}, 'No attention was recorded: the model has none, or none in the form ' +
      'softmax(q k\u1d40) v.'));
    return;
  }
  const layers = data.attention.map((each) => new Attention(each, data.exact, data.image));
  const state = stateAtFirst(layers, data.nonFinite);

  const title = h('h2', { 'data-title': 'head' });
  const says = h('p', { 'data-readout': 'role' });
  const facts = h('p', { class: 'quiet', 'data-readout': 'head' });
  const lines = new LinesView(choose);
  const map = new MapView(choose);
  const chain = new ChainView(choose);
  const image = data.image && layers[0].grid ? new ImageView(data.image, choose) : null;
  const views = { ...(image && { Image: image.element }), Lines: lines.view, 'Heat-map': map.element };
  const switches = Object.keys(views).map((name) => h('button', { 'data-switch': name,
    'aria-pressed': 'false', onclick: () => showView(name) }, name));

  function showView(name) {
    switches.forEach((button) => button.setAttribute('aria-pressed',
      String(button.dataset.switch === name)));
    for (const [other, element] of Object.entries(views)) element.hidden = other !== name;
    for (const view of [image, lines, map]) view?.draw();
  }

  // Chooses {query, key}; without a key, the query's heaviest one.
  function choose({ query = state.query, key }) {
    const { attention, head } = state;
    const within = (x, count) => Math.max(0, Math.min(count - 1, Math.round(x) || 0));
    state.query = within(query, attention.queries);
    state.key = key === undefined ? attention.heaviestKey(head, state.query)
      : within(key, attention.keys);
    show();
  }

  function chooseHead(attention, head) {
    const other = attention !== state.attention;
    state.attention = attention;
    state.head = head;
    if (other && state.query >= attention.queries) state.query = attention.queries - 1;
    model.mark(state);
    choose({});
  }

  function show() {
    const { attention, head, query, key } = state;
    keepState({ layer: layers.indexOf(attention), head, query, key });
    title.textContent = `${attention.module || 'attention'}, head ${head}`;
    says.textContent = headSays(attention, head);
    facts.textContent = `${attention.kind()}; ${plural(attention.queries, 'query', 'queries')}, ` +
      `${plural(attention.keys, 'key')} of ${plural(attention.dim, 'number')}; scale ${number(attention.scale)}; ` +
      `entropy ${number(lostQueries(attention, head) > 0 ? NaN : attention.entropy[head], 3)} nats of at most ` +
      `${number(attention.mostEntropy(head), 3)}` + distanceText(attention, head);
    speak(`Query ${query} ${tokenText((attention.queryTexts || [])[query], query)}, key ${key} ` +
      `${tokenText((attention.keyTexts || [])[key], key)}: weight ` +
      `${attention.weights(head)[query * attention.keys + key].toFixed(4)}`);
    image?.show(state);
    lines.show(state);
    map.show(state);
    chain.show(state);
  }

  const model = modelView(layers, chooseHead);
  panel.append(h('div', { class: 'split' }, model.element, h('div', { class: 'detail' },
    h('div', { class: 'row spread' }, title, h('div', { class: 'switch', role: 'group',
      'aria-label': 'View' }, ...switches)), h('div', { class: 'row' },
      saveButton('CSV', 'head.csv', 'text/csv', () => headCsv(state.attention, state.head)),
      saveButton('SVG', 'head.svg', 'image/svg+xml', () => headSvg(state.attention, state.head))), says, facts, ...Object.values(views))),
  chain.element);
  showView(Object.keys(views)[0]);
  model.mark(state);
  show();
}

// The head, query and key in the address. Without them, a head with NaN if the first one arose in
// attention; otherwise the head furthest from uniform attention.
function stateAtFirst(layers, nonFinite) {
  const spreadOf = (attention, head) => attention.entropy[head] / (attention.mostEntropy(head) || 1);
  const all = layers.flatMap((attention) => Array.from({ length: attention.heads }, (_, head) => ({ attention, head })));
  const lost = nonFinite && all.find(({ attention, head }) => attention.entry === nonFinite.entry &&
    lostQueries(attention, head) > 0);
  const usual = lost || all.reduce((a, b) => (spreadOf(b.attention, b.head) < spreadOf(a.attention, a.head) ? b : a));
  const attention = layers[numberOf('layer', layers.length, layers.indexOf(usual.attention))];
  const head = numberOf('head', attention.heads, attention === usual.attention ? usual.head : 0);
  const last = attention.grid ? 0 : attention.queries - 1;
  const query = numberOf('query', attention.queries, last);
  return { attention, head, query, key: numberOf('key', attention.keys, attention.heaviestKey(head, query)) };
}

// A distance, next to the value to compare it with.
function distanceText(attention, head) {
  if (attention.cross) return '';
  const { weighed, even } = attention.meanDistances(head);
  const own = attention.grid || lostQueries(attention, head) > 0 ? weighed : attention.distance[head];
  return `; mean distance ${number(own, 3)} ${attention.grid ? 'patches' : 'tokens'} ` +
    `(${number(even, 3)} if attention were uniform)`;
}

// Rows of small maps, one per layer, with one heading per kind of attention.
function modelView(layers, choose) {
  const size = smallSize(Math.max(...layers.map((each) => each.heads)));
  const cells = [];
  const element = h('div', { class: 'model' });
  for (const kind of kindsOf(layers)) {
    const members = layers.filter((each) => kindOf(each) === kind);
    const heads = Math.max(...members.map((each) => each.heads));
    const grid = h('div', { class: 'maps', role: 'grid', 'aria-label': kind });
    grid.append(h('div', { class: 'maps-row heads quiet', role: 'row' },
      h('span', { role: 'columnheader' }, 'head'), ...Array.from({ length: heads }, (_, i) => span(String(i), size))));
    members.forEach((attention, layer) => {
      const row = h('div', { class: 'maps-row', role: 'row' },
        h('span', { class: 'quiet', role: 'rowheader', title: attention.module },
          `layer ${layer}`));
      for (let head = 0; head < attention.heads; ++head) {
        const canvas = h('canvas', { 'aria-hidden': 'true' });
        const button = h('button', { role: 'gridcell', tabindex: '-1', 'aria-selected': 'false',
          'data-map': `${attention.module} ${head}`, title: `${attention.module}, head ${head}`,
          'aria-label': `${kind}, layer ${layer}, head ${head}`,
          onclick: () => choose(attention, head), onfocus: () => named(),
          onkeydown: (event) => moveFocus(event, cells) }, canvas);
        const named = () => button.setAttribute('aria-label',
          `${kind}, layer ${layer}, head ${head}: ${headSays(attention, head)}`);
        // The role of a head of many tokens takes long to compute: when it is asked for.
        const drawn = attention.queries * attention.keys <= MOST_NAMED ? named : null;
        cells.push({ attention, head, canvas, button, drawn, row: cells.rows || 0 });
        row.append(button);
      }
      cells.rows = (cells.rows || 0) + 1;
      grid.append(row);
    });
    element.append(h('section', {}, h('h3', {}, kind), grid));
  }
  element.append(h('p', { class: 'quiet legend' },
    'Rows are queries, columns are keys. Stronger colour means a larger weight (square-root scale).'),
  colourScale());
  onTheme(element, drawInTurn(cells, size, () => { document.documentElement.dataset.maps = 'drawn'; }));
  return { element, mark: (state) => markCell(cells, state) };
}

// A legend for the maps' colours, which follow the square root of the weight.
function colourScale() {
  return h('div', { class: 'scale quiet legend' }, h('span', { class: 'scale-bar' }),
    h('span', {}, h('span', { class: 'key hidden-pair' }), 'hidden from the query'),
    h('span', { class: 'scale-ticks' }, ...['0', '.06', '.25', '.56', '1'].map((text) =>
      h('span', {}, text))));
}

function span(text, size) {
  const element = h('span', { role: 'columnheader' }, text);
  element.style.width = `${size}px`;
  return element;
}

const kindOf = (attention) => {
  const stack = /^(encoder|decoder)\b/.exec(attention.module);
  const kind = attention.kind();
  return stack ? `${stack[1]}: ${kind}` : kind[0].toUpperCase() + kind.slice(1);
};
const kindsOf = (layers) => Array.from(new Set(layers.map(kindOf)));

function smallSize(heads) {
  const room = Math.min(document.documentElement.clientWidth - 32, 470) - 62;
  return Math.max(26, Math.min(64, Math.floor(room / heads) - 6));
}

function markCell(cells, state) {
  for (const { attention, head, button } of cells) {
    const chosen = attention === state.attention && head === state.head;
    button.setAttribute('aria-selected', String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
}

function moveFocus(event, cells) {
  const at = cells.findIndex(({ button }) => button === event.currentTarget);
  const { head, row } = cells[at];
  const beside = (r, c) => cells.find((cell) => cell.row === r && cell.head === c);
  const to = { ArrowLeft: beside(row, head - 1), ArrowRight: beside(row, head + 1),
    ArrowUp: beside(row - 1, head), ArrowDown: beside(row + 1, head) }[event.key];
  if (!to) return;
  event.preventDefault();
  to.button.focus();
  to.button.click();
}
