// A head's view: queries on the left, keys on the right, a line for every significant pair. Draws
// only what is visible, so 512 tokens are as fast as 10.
import { shade } from './attention_map.js';
import { colour, h, number, onTheme, perFrame, sized, tokenText } from './dom.js';

const LINES_ROW = 20;
const LINES_TOP = 26; // room for the columns' names
const LEAST = 0.01; // smallest weight that gets a line
const LEAST_OF_OTHERS = 0.1; // for queries other than the chosen one, to avoid clutter

export class LinesView {
  // choose({query, key}) is called when a token is pointed at.
  constructor(choose) {
    this.choose = choose;
    this.hovered = null;
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.spacer = h('div', { class: 'spacer' });
    this.element = h('div', { class: 'scroller lines', tabindex: '0', role: 'group',
      'aria-label': 'Tokens and lines; arrows up and down choose a query', 'data-view': 'lines' },
    this.canvas, this.spacer);
    this.legend = h('p', { class: 'quiet legend' }, `Blue: the chosen query, weights from ${LEAST}. Grey: the ` +
      `others, from ${LEAST_OF_OTHERS}. Point at a token to see only its lines. NaN has no line.`);
    this.view = h('div', {}, this.element, this.legend);
    this.draw = perFrame(() => this.drawNow());
    this.element.addEventListener('scroll', this.draw);
    this.element.addEventListener('pointermove', (event) => this.hover(event));
    this.element.addEventListener('pointerleave', () => this.setHovered(null));
    this.element.addEventListener('click', (event) => this.click(event));
    this.element.addEventListener('keydown', (event) => this.keydown(event));
    new ResizeObserver(this.draw).observe(this.element);
    onTheme(this.element, this.draw);
  }

  show(state) {
    this.state = state;
    const { attention } = state;
    const height = LINES_TOP + LINES_ROW * Math.max(attention.queries, attention.keys) + 8;
    this.element.style.height = `${Math.min(height + 2, 560)}px`;
    this.height = height;
    this.draw();
  }

  columns() {
    const width = this.element.clientWidth;
    const text = Math.min(150, width * 0.3);
    return { width, left: text, right: width - text };
  }

  at(event) {
    const box = this.element.getBoundingClientRect();
    const { width } = this.columns();
    const index = Math.floor((event.clientY - box.top + this.element.scrollTop - LINES_TOP) / LINES_ROW);
    const side = event.clientX - box.left < width / 2 ? 'query' : 'key';
    const count = side === 'query' ? this.state.attention.queries : this.state.attention.keys;
    return index >= 0 && index < count ? { side, index } : null;
  }

  hover(event) {
    this.setHovered(this.at(event));
  }

  setHovered(place) {
    const same = place && this.hovered && place.side === this.hovered.side &&
      place.index === this.hovered.index;
    if (same) return;
    this.hovered = place;
    this.element.dataset.hovered = place ? `${place.side} ${place.index}` : '';
    this.draw();
  }

  click(event) {
    const place = this.at(event);
    if (place) this.choose({ [place.side]: place.index });
  }

  keydown(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const query = this.state.query + step;
    if (query < 0 || query >= this.state.attention.queries) return;
    this.choose({ query });
  }

  // Scrolls to the chosen query once it is laid out.
  reveal() {
    this.revealed = this.state.query;
    const y = LINES_TOP + LINES_ROW * this.state.query;
    const { scrollTop, clientHeight } = this.element;
    if (y < scrollTop + LINES_TOP) this.element.scrollTop = y - LINES_TOP;
    if (y + LINES_ROW > scrollTop + clientHeight) this.element.scrollTop = y + LINES_ROW - clientHeight;
  }

  drawNow() {
    if (!this.state || this.element.clientWidth === 0) return;
    const { width, left, right } = this.columns();
    const height = this.element.clientHeight;
    this.spacer.style.height = `${Math.max(0, this.height - height)}px`;
    const context = sized(this.canvas, width, height);
    if (this.revealed !== this.state.query) this.reveal(); // once all is as high as it will be
    const y = (index) => LINES_TOP + LINES_ROW * (index + 0.5) - this.element.scrollTop;
    const first = Math.max(0, Math.floor((this.element.scrollTop - LINES_TOP) / LINES_ROW));
    const last = Math.ceil((this.element.scrollTop + height - LINES_TOP) / LINES_ROW);
    this.drawLines(context, { left, right, y, first, last });
    this.drawTokens(context, { left, right, y, first, last, width });
    context.fillStyle = colour('panel');
    context.fillRect(0, 0, width, LINES_TOP - 4);
    context.font = `600 11px ${colour('font')}`;
    context.fillStyle = colour('quiet');
    context.textAlign = 'right';
    context.fillText('query', left - 8, 14);
    context.textAlign = 'left';
    context.fillText('key', right + 8, 14);
  }

  // Draws all lines that touch the visible part; those of the pointed or else the chosen token in
  // the strong colour.
  drawLines(context, { left, right, y, first, last }) {
    const { attention, head, query } = this.state;
    const weights = attention.weights(head);
    const strong = this.hovered || { side: 'query', index: query };
    const passes = this.hovered ? ['strong'] : ['weak', 'strong'];
    for (const pass of passes) {
      const [name, least, faintest, thick] = pass === 'strong' ? ['accent', LEAST, 0.75, 3]
        : ['edge', LEAST_OF_OTHERS, 0.9, 1.5];
      context.strokeStyle = colour(name);
      for (let i = 0; i < attention.queries; ++i) {
        const visible = i >= first && i < last;
        for (let j = 0; j < attention.keys; ++j) {
          if (!visible && (j < first || j >= last)) continue;
          const weight = weights[i * attention.keys + j];
          const isStrong = (strong.side === 'query' ? i : j) === strong.index;
          if (!(weight >= least) || isStrong !== (pass === 'strong')) continue;
          context.globalAlpha = faintest + (1 - faintest) * shade(weight);
          context.lineWidth = 1 + thick * shade(weight);
          context.beginPath();
          context.moveTo(left, y(i));
          context.bezierCurveTo((left + right) / 2, y(i), (left + right) / 2, y(j), right, y(j));
          context.stroke();
        }
      }
    }
    context.globalAlpha = 1;
  }

  // Draws the tokens, with weights next to those opposite the strong one.
  drawTokens(context, { left, right, y, first, last, width }) {
    const { attention, head, query, key } = this.state;
    const weights = attention.weights(head);
    const strong = this.hovered || { side: 'query', index: query };
    const paint = (side, index, text) => {
      const chosen = !this.hovered && (side === 'query' ? index === query : index === key);
      const isStrong = side === strong.side && index === strong.index;
      const weight = side === strong.side ? 0
        : weights[side === 'key' ? strong.index * attention.keys + index
          : index * attention.keys + strong.index];
      const x = side === 'query' ? 0 : right;
      context.globalAlpha = Number.isNaN(weight) ? 0.2 : 0.35 * weight;
      context.fillStyle = colour(Number.isNaN(weight) ? 'warn' : 'accent');
      context.fillRect(x, y(index) - LINES_ROW / 2 + 1, side === 'query' ? left : width - right, LINES_ROW - 2);
      context.globalAlpha = 1;
      context.fillStyle = colour(isStrong || chosen ? 'accent-text' : 'text');
      context.font = `${isStrong || chosen ? 600 : 400} 12.5px ${colour('font')}`;
      context.textAlign = side === 'query' ? 'right' : 'left';
      const at = side === 'query' ? left - 8 : right + 8;
      context.fillText(text, at, y(index) + 4.5, Math.max(20, left - 50));
      if (weight < LEAST) return;
      context.font = `400 10.5px ${colour('font')}`;
      context.fillStyle = colour('text');
      context.textAlign = side === 'query' ? 'left' : 'right';
      context.fillText(number(weight, 2), side === 'query' ? 2 : width - 2, y(index) + 4);
    };
    for (let i = first; i < Math.min(last, attention.queries); ++i) {
      paint('query', i, tokenText((attention.queryTexts || [])[i], i));
    }
    for (let j = first; j < Math.min(last, attention.keys); ++j) {
      paint('key', j, tokenText((attention.keyTexts || [])[j], j));
    }
  }
}
