// What the picture of a step draws (step_picture.js), for one state: ribbons, what the chosen token reads, and
// predictions.
import { fontPixels, sharePercent, svg, tokenText } from './dom.js';

const [ROW_LEAST, ROW_MOST] = [15, 30]; // pixels
const [LEAST_TOKENS, MOST_TOKENS] = [8, 32]; // in sight
export const LEAST_HIGH = 240; // pixels
const [LEFT_OF_PICTURE, AROUND_PICTURE] = [92, 8]; // pixels: tokens at the left
const RIGHT_OF_PICTURE = 250; // predictions
export const DECADES = 6; // of gradients: from the thinnest ribbon to the thickest
export const MAP_SIDE = 34;

// The room for predictions at the right, as wide as the reader's text needs.
export const rightOfPicture = (predictions) => (predictions ? fontPixels(RIGHT_OF_PICTURE) : 20);

// The first characters of a text; half of one would be shown as another.
const beginningOf = (text, most) => Array.from(text).slice(0, most).join('');

const quadratic = (weight) => Math.max(0.5, 7 * Math.sqrt(weight));

export class Drawing {
  // `room`: pixels that the picture may be high, if its rows and maps fit.
  constructor(path, predictions, columns, state, room) {
    Object.assign(this, { path, predictions, columns, state });
    state.column = Math.min(state.column, columns.all.length - 1);
    this.top = columns.mapsHigh(MAP_SIDE) + 30;
    const high = room - this.top - AROUND_PICTURE - 2;
    const most = Math.max(LEAST_TOKENS, Math.min(MOST_TOKENS, Math.floor(high / fontPixels(ROW_LEAST))));
    const first = Math.max(0, Math.min(state.row - (most >> 1), path.rows.length - most));
    this.places = path.rows.slice(first, first + most);
    this.place = path.rows[state.row];
    this.step = Math.max(fontPixels(ROW_LEAST), Math.min(fontPixels(ROW_MOST), high / this.places.length));
    this.lengths = columns.all.map(({ stage }) => this.places.map((place) => path.lengthAt(stage, place)));
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
    return 0.6 + (this.step * 0.45 - 0.6) * (length === null ? 0 : Number.isFinite(length) ? length / this.most : 1);
  }

  // The gradient's size on a logarithmic scale: 1 is the largest in the picture; 0: none, or 10^-6 of it.
  shareBack(column, row) {
    const { largestGradient } = this.columns;
    const size = this.gradient(column, row);
    if (size === null || size === 0) return 0.02;
    return Number.isFinite(size) ? Math.max(0.05, 1 + Math.log10(size / largestGradient) / DECADES) : 1;
  }

  isLost(column, row) {
    const size = this.state.back ? this.gradient(column, row) : this.lengths[column][row];
    return size !== null && !Number.isFinite(size);
  }

  // Pieces of a ribbon, one before every column; those with NaN or infinity are marked.
  ribbon(row) {
    const y = this.y(row);
    const chosen = this.places[row] === this.place;
    const { all } = this.columns;
    return all.map(({ x }, i) => {
      const before = i === 0 ? fontPixels(LEFT_OF_PICTURE) + AROUND_PICTURE : all[i - 1].x;
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
      svg('text', { x: x + 66, y: y + 4 }, `${sharePercent(p)} \u2068${this.predictions.nameOf(own.right)}\u2069` +
        (own.rank === 1 ? ' \u2713' : beginningOf(`, not \u2068${likeliest}`, 20))));
  }

  element(choose, open) {
    const { all } = this.columns;
    const right = all[all.length - 1].x;
    const width = right + rightOfPicture(this.predictions);
    const height = this.top + this.step * this.places.length + AROUND_PICTURE;
    const names = this.places.map((place, row) => svg('text', { class: place === this.place ? 'name chosen' : 'name',
      x: fontPixels(LEFT_OF_PICTURE), y: this.y(row) + 4, 'text-anchor': 'end' }, beginningOf(tokenText(this.path.texts[place], place), 12)));
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
      else choose({ column, row: this.path.rows.indexOf(this.places[at]) });
    };
    return svg('svg', { width, height, role: 'img', 'aria-label': 'Residual streams of all tokens', onclick: place },
      ...all.filter(({ folded }) => folded).map(({ x, width: wide }) => svg('rect', { class: 'fold', x: x - wide + 1, y: 20,
        width: wide - 2, height: height - 24 })), ...heads,
      ...this.places.flatMap((_, i) => this.ribbon(i)), ...this.reading(), ...names,
      ...this.places.map((_, i) => this.answer(i, right + 12)).filter(Boolean),
      svg('rect', { class: 'here', x: chosen.x - 4, y: this.y(row) - this.step / 2, width: 8, height: this.step }));
  }
}
