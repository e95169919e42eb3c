// The step as one picture: tokens are rows, layers go from left to right, and the residual stream of
// each token is a ribbon as thick as its vector is long. Heads are small maps in place, probabilities
// stand at the right. On the way back, ribbons are as thick as the logarithm of the gradient's size.
// A card has the numbers of what is chosen; the other tabs have all of them.
import { keepState, numberOf } from './address.js';
import { h, number, onTheme, sharePercent, svg, tokenText } from './dom.js';
import { Predictions } from './guesses.js';
import { headSays } from './head_roles.js';
import { PictureColumns } from './picture_columns.js';
import { roving } from './roving.js';
import { drawInTurn } from './small_maps.js';
import { speak } from './speak.js';
import { lengthOf, TokenPath } from './token_path.js';

const [ROW_LEAST, ROW_MOST, LOOM_HIGH] = [15, 30, 480]; // pixels
const MOST_TOKENS = 32; // tokens in sight
const [LEFT_OF_LOOM, RIGHT_OF_LOOM, AROUND_LOOM] = [92, 250, 8]; // pixels: tokens at the left, predictions at the right
const DECADES = 6; // of gradients: from the thinnest ribbon to the thickest
const MAP_SIDE = 34;

const quadratic = (weight) => Math.max(0.5, 7 * Math.sqrt(weight));

export function pictureTab(panel, data) {
  const path = new TokenPath(data);
  const predictions = data.predictions ? new Predictions(data.predictions) : null;
  const columns = new PictureColumns(path);
  const state = pictureAtFirst(path, columns);
  const card = h('section', { class: 'card', 'data-view': 'card' });
  const picture = h('div', { class: 'loom', tabindex: '0', role: 'group', 'data-view': 'picture', 'aria-label':
    'The step as one picture: arrow keys go from token to token and through the layers', onkeydown: move });
  const maps = h('div', { class: 'loom-maps' });
  const renewStop = roving(maps, 'button');
  const back = h('button', { class: 'step-button', 'data-control': 'way-back', 'aria-pressed': 'false',
    disabled: data.walk.length === 0, onclick: () => {
      state.back = !state.back;
      keepState({ back: state.back ? 1 : null });
      show();
    } }, 'Way back');

  // Changes what is chosen, and says it.
  function choose(changes) {
    Object.assign(state, changes);
    state.column = Math.max(0, Math.min(columns.all.length - 1, state.column));
    keepState({ token: path.places[state.row], column: state.column, layer: state.layer, head: state.head });
    show(true);
    speak(card.textContent);
  }

  function move(event) {
    if (event.target !== picture) return;
    const { row, column } = state;
    const to = { ArrowUp: { row: Math.max(0, row - 1) }, ArrowDown: { row: Math.min(path.places.length - 1, row + 1) },
      ArrowLeft: { column: column - 1 }, ArrowRight: { column: column + 1 }, Home: { column: 0 },
      End: { column: columns.all.length } }[event.key];
    if (event.key === 'Enter' && columns.all[column].folded) open(columns.all[column]);
    else if (to) choose(to);
    else return;
    event.preventDefault();
  }

  function open({ layers }) {
    columns.open(layers);
    choose({ column: columns.all.findIndex(({ layers: own }) => own?.[0] === layers[0]) });
  }

  function show(moved = false) {
    back.setAttribute('aria-pressed', String(state.back));
    columns.place(state.layer, picture.clientWidth - (predictions ? RIGHT_OF_LOOM : 20) - 2);
    const drawing = new Drawing(path, predictions, columns, state);
    picture.replaceChildren(drawing.element(choose, open), maps);
    showMaps();
    card.replaceChildren(...cardOf(drawing, data));
    if (!moved) return;
    const at = columns.all[state.column].x;
    if (at < picture.scrollLeft || at > picture.scrollLeft + picture.clientWidth) picture.scrollLeft = at - picture.clientWidth / 2;
  }

  // The heads of the open layers, above the streams.
  function showMaps() {
    const cells = [];
    maps.replaceChildren(...columns.all.filter(({ attention, folded }) => attention && !folded).map((column) => {
      const { attention, layer } = column;
      const group = h('div', { class: 'loom-heads' }, ...Array.from({ length: attention.heads }, (_, head) => {
        const canvas = h('canvas', { 'aria-hidden': 'true' });
        const name = `layer ${layer}, head ${head}`;
        const chosen = layer === state.layer && head === state.head && attention === columns.attentionOf(state.layer);
        const button = h('button', { 'data-loom': `${layer} ${head}`, 'aria-pressed': String(chosen), 'aria-label': name,
          title: name, onclick: () => {
            columns.place(layer);
            choose({ layer, head, column: columns.all.findIndex((each) => each.attention === attention && !each.folded) });
            maps.querySelector(`[data-loom="${layer} ${head}"]`)?.focus();
          } }, canvas);
        cells.push({ attention, head, canvas, drawn: () => button.setAttribute('aria-label', `${name}: ${headSays(attention, head)}`) });
        return button;
      }));
      group.style.left = `${column.x - column.width + 6}px`;
      group.style.width = `${column.width - 8}px`;
      return group;
    }));
    drawInTurn(cells, MAP_SIDE);
    renewStop();
  }

  panel.append(h('div', { class: 'row' }, h('h2', {}, 'The step as one picture'), back), picture, card,
    h('p', { class: 'quiet legend' }, 'Rows are tokens. A ribbon is a token\u2019s vector, as thick as it is long; layers ' +
      'add to it. Blue lines: what the chosen token reads from others, through the chosen head. On the way back a ' +
      `ribbon\u2019s thickness is the logarithm of the gradient\u2019s size, ${DECADES} powers of ten from nothing to the whole row.`));
  panel.addEventListener('shown', () => show());
  let shownWidth = 0;
  const renew = () => picture.clientWidth > 0 && show();
  new ResizeObserver(() => {
    if (picture.clientWidth !== shownWidth) renew();
    shownWidth = picture.clientWidth;
  }).observe(picture);
  onTheme(renew);
}

// The head furthest from uniform attention, and the last token.
function pictureAtFirst(path, columns) {
  const layer = numberOf('layer', columns.layers.length, columns.mostTelling.layer);
  const place = numberOf('token', path.tokens, path.places[path.places.length - 1]);
  columns.place(layer);
  return { row: Math.max(0, path.places.indexOf(place)), column: numberOf('column', 1e4, columns.all.length - 1), layer,
    head: numberOf('head', columns.attentionOf(layer)?.heads ?? 1, columns.mostTelling.head), back: numberOf('back', 2, 0) === 1 };
}

// What is drawn, for one state.
class Drawing {
  constructor(path, predictions, columns, state) {
    Object.assign(this, { path, predictions, columns, state });
    state.column = Math.min(state.column, columns.all.length - 1);
    const first = Math.max(0, Math.min(state.row - MOST_TOKENS / 2, path.places.length - MOST_TOKENS));
    this.places = path.places.slice(first, first + MOST_TOKENS);
    this.place = path.places[state.row];
    this.step = Math.max(ROW_LEAST, Math.min(ROW_MOST, LOOM_HIGH / this.places.length));
    this.top = columns.mapsHigh(MAP_SIDE) + 30;
    this.lengths = columns.all.map(({ stage }) => this.places.map((place) => {
      const vector = path.vector(stage, place);
      return vector ? lengthOf(vector) : null;
    }));
    this.most = Math.max(1e-30, ...this.lengths.flat().filter(Number.isFinite));
  }

  y(row) {
    return this.top + this.step * (row + 0.5);
  }

  // The length of a token's gradient at a column: null if there is none, NaN if it is not finite.
  gradient(column, row) {
    return this.columns.gradientAt(this.columns.all[column].stage, this.places[row]);
  }

  // Half of a ribbon's thickness at a column.
  half(column, row) {
    if (this.state.back) return this.step * 0.45 * this.shareBack(column, row);
    const length = this.lengths[column][row];
    return 0.6 + (this.step * 0.45 - 0.6) * (Number.isFinite(length) ? length / this.most : 1);
  }

  // The gradient's size on a logarithmic scale: 1 is the largest in the picture; 0: none, or 10^-6 of it.
  shareBack(column, row) {
    const { largestGradient } = this.columns;
    const size = this.gradient(column, row);
    if (size === null || size === 0) return 0.02;
    return Number.isFinite(size) ? Math.max(0.05, 1 + Math.log10(size / largestGradient) / DECADES) : 1;
  }

  isLost(column, row) {
    if (this.state.back) return Number.isNaN(this.gradient(column, row));
    return this.lengths[column][row] !== null && !Number.isFinite(this.lengths[column][row]);
  }

  // Pieces of a ribbon, one before every column; those with NaN or infinity are marked.
  ribbon(row) {
    const y = this.y(row);
    const chosen = this.places[row] === this.place;
    const { all } = this.columns;
    return all.map(({ x }, i) => {
      const before = i === 0 ? LEFT_OF_LOOM + AROUND_LOOM : all[i - 1].x;
      const [from, to] = [this.half(Math.max(0, i - 1), row), this.half(i, row)];
      const middle = (before + x) / 2;
      const lost = this.isLost(i, row);
      return svg('path', { class: `ribbon${lost ? ' lost' : ''}${chosen ? ' chosen' : ''}${this.state.back ? ' back' : ''}`,
        d: `M${before} ${y - from}C${middle} ${y - from} ${middle} ${y - to} ${x} ${y - to}V${y + to}` +
          `C${middle} ${y + to} ${middle} ${y + from} ${before} ${y + from}Z` });
    });
  }

  // What the chosen token reads through the chosen head.
  reading() {
    const column = this.columns.all.find(({ layer, attention, folded }) => attention && !folded && layer === this.state.layer);
    if (!column || this.state.back) return [];
    const { attention } = column;
    if (attention.cross || attention.keys !== this.path.tokens || attention.queries !== this.path.tokens) return [];
    const weights = this.path.weightsOf(attention, Math.min(this.state.head, attention.heads - 1), this.place);
    const to = this.y(this.places.indexOf(this.place));
    const from = column.x - column.width;
    return this.places.flatMap((place, row) => (weights[place] >= 0.01 ? [svg('path', { class: 'reading',
      'stroke-width': quadratic(weights[place]), d: `M${from} ${this.y(row)}C${from + column.width / 2} ${this.y(row)} ` +
        `${from + column.width / 2} ${to} ${column.x} ${to}` })] : []));
  }

  // The probability of the right token, and the likeliest one.
  answer(row, x) {
    const own = this.predictions?.rows[this.places[row]];
    if (!own || own.right === null || own.lost) return '';
    const p = Math.exp(-own.loss);
    const y = this.y(row);
    const likeliest = this.predictions.nameOf(own.likeliest[0][0]);
    return svg('g', {}, svg('rect', { class: 'chance', x, y: y - 5, width: 60, height: 10 }),
      svg('rect', { class: 'chance-of', x, y: y - 5, width: 60 * p, height: 10 }),
      svg('text', { x: x + 66, y: y + 4 }, `${sharePercent(p)} ${this.predictions.nameOf(own.right)}` +
        `${own.rank === 1 ? ' \u2713' : `, not ${likeliest}`}`.slice(0, 20)));
  }

  element(choose, open) {
    const { all } = this.columns;
    const right = all[all.length - 1].x;
    const width = right + (this.predictions ? RIGHT_OF_LOOM : 20);
    const height = this.top + this.step * this.places.length + AROUND_LOOM;
    const names = this.places.map((place, row) => svg('text', { class: place === this.place ? 'name chosen' : 'name',
      x: LEFT_OF_LOOM, y: this.y(row) + 4, 'text-anchor': 'end' }, tokenText(this.columns.texts[place], place).slice(0, 12)));
    const heads = all.map((column, i) => svg('text', { class: column.folded ? 'folded' : 'head',
      x: column.x - column.width / 2, y: 14, 'text-anchor': 'middle', 'data-column': i }, column.label));
    const chosen = all[this.state.column];
    const row = this.places.indexOf(this.place);
    const place = (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const hit = all.findIndex((each) => x <= each.x);
      const at = Math.max(0, Math.min(this.places.length - 1, Math.floor((y - this.top) / this.step)));
      const column = hit < 0 ? all.length - 1 : hit;
      if (y < 20 && all[column].folded) open(all[column]);
      else choose({ column, row: this.path.places.indexOf(this.places[at]) });
    };
    return svg('svg', { width, height, role: 'img', 'aria-label': 'Residual streams of all tokens', onclick: place },
      ...all.filter(({ folded }) => folded).map(({ x, width: wide }) => svg('rect', { class: 'fold', x: x - wide + 1, y: 20,
        width: wide - 2, height: height - 24 })), ...heads,
      ...this.places.flatMap((_, i) => this.ribbon(i)), ...this.reading(), ...names,
      ...this.places.map((_, i) => this.answer(i, right + 12)).filter(Boolean),
      svg('rect', { class: 'here', x: chosen.x - 4, y: this.y(row) - this.step / 2, width: 8, height: this.step }));
  }
}

// ---- the card -----------------------------------------------------------------------------------

const openTab = (name, text, changes) => h('button', { class: 'step-button', 'data-control': `all-${name}`, onclick: () => {
  keepState({ tab: name, ...changes }, true);
  window.dispatchEvent(new Event('hashchange'));
} }, text);

const fact = (name, value) => h('span', { class: 'fact' }, h('span', { class: 'quiet' }, `${name} `), h('b', {}, value));

// At most five numbers of what is chosen, the formula with them in it, and the tab with all of them.
function cardOf({ path, predictions, columns, state, place, lengths, places }, data) {
  const column = columns.all[state.column];
  const row = places.indexOf(place);
  const text = tokenText(columns.texts[place], place);
  const [before, after] = [lengths[Math.max(0, state.column - 1)][row], lengths[state.column][row]];
  const facts = [];
  if (state.back) {
    facts.push(fact('length of the gradient', number(columns.gradientAt(column.stage, place), 4)), fact('largest in the picture', number(columns.largestGradient, 3)));
  } else if (state.column === 0) {
    facts.push(fact('length', number(after, 4)));
  } else {
    const [x, y] = [path.vector(columns.all[state.column - 1].stage, place), path.vector(column.stage, place)];
    const added = x && y ? lengthOf(y.map((value, d) => value - x[d])) : null;
    facts.push(fact('', `|${number(before, 4)} long + ${number(added, 4)} long| = ${number(after, 4)} long`));
  }
  const says = [];
  const { attention, layer } = column;
  if (attention && !column.folded) {
    const head = Math.min(state.head, attention.heads - 1);
    says.push(`Head ${head}: ${headSays(attention, head)}`);
    if (attention.queries === path.tokens) {
      const key = attention.heaviestKey(head, place);
      facts.push(fact('heaviest weight', `${number(path.weightsOf(attention, head, place)[key], 3)} on ${tokenText((attention.keyTexts || [])[key], key)}`));
    }
  }
  const own = predictions?.rows[place];
  if (state.column === columns.all.length - 1 && own && own.right !== null && !own.lost) {
    facts.push(fact('p', sharePercent(Math.exp(-own.loss))), fact('loss', `\u2212ln p = ${number(own.loss)}`));
    says.push(`The right answer is ${predictions.quoted(own.right)}, number ${own.rank} of ${predictions.classes}.`);
  }
  if (data.nonFinite && column.entries.includes(data.nonFinite.entry)) says.push(data.nonFinite.headline);
  return [h('h3', {}, `${text}, ${column.name}`), h('p', { class: 'row' }, ...facts), says.length > 0 ? h('p', {}, says.join(' ')) : '',
    h('p', { class: 'row' }, openTab('token', 'All numbers', { token: place, stage: path.stages.indexOf(column.stage) }),
      attention && !column.folded ? openTab('attention', 'This head', { layer: columns.tabLayer(attention), head: state.head, query: place, key: null }) : '',
      predictions ? openTab('predictions', 'Predictions', { token: place }) : '',
      openTab('tape', 'On the tape', { op: column.stage.entry, walk: null }))];
}
