// A head as a heat map: a row per query, a column per key, with numbers where cells are large
// enough. Draws only what is visible. Read next: small_maps.js.
import { colour, fixed, h, niceStep, onTheme, perFrame, rgb, sized, tokenText } from './dom.js';

const MAP_LEFT = 92;
const MAP_TOP = 84;
const NUMBERS_FROM = 32; // pixels per side
const LABELS_FROM = 11;

// The darkness for a weight: its square root, because most weights of a long row are small.
export function shade(weight) {
  return Math.sqrt(weight);
}

// Below any weight: marks keys that the query may not see, as distinct from a weight of 0.
export const HIDDEN = -1;

export const isHidden = (attention, head, query, key) =>
  key >= attention.seen(query) || attention.masked(head, query, key) === -Infinity;

// The weights of a head [queries, keys], HIDDEN for masked and future keys.
function weightsAndMask(attention, head) {
  const weights = Float32Array.from(attention.weights(head));
  for (let i = 0; i < attention.queries; ++i) {
    for (let j = 0; j < attention.keys; ++j) {
      if (isHidden(attention, head, i, j)) weights[i * attention.keys + j] = HIDDEN;
    }
  }
  return weights;
}

// Weights [rows, columns] as an image of one pixel each; NaN in the colour of a warning.
export function weightImage(weights, rows, columns) {
  const canvas = document.createElement('canvas');
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  const [from, to, warning] = [rgb('map-low'), rgb('map-high'), rgb('warn')];
  const hidden = rgb('map-hidden');
  for (let i = 0; i < rows * columns; ++i) {
    const s = shade(Math.max(0, weights[i]));
    for (let c = 0; c < 3; ++c) {
      image.data[4 * i + c] = Number.isNaN(s) ? warning[c] : weights[i] === HIDDEN ? hidden[c]
        : from[c] + s * (to[c] - from[c]);
    }
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// Black or white, whichever contrasts more with a fraction `s` between two colours: one of them
// always has a contrast of at least 4.5.
function readableOn(s, from, to) {
  const [r, g, b] = from.map((x, c) => {
    const value = (x + (Number.isNaN(s) ? 1 : s) * (to[c] - x)) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}

export class MapView {
  constructor(choose) {
    this.choose = choose;
    this.cell = null; // pixels; null: as large as fits
    this.pointed = null;
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.spacer = h('div', { class: 'spacer' });
    this.scroller = h('div', { class: 'scroller map', tabindex: '0', role: 'group',
      'aria-label': 'Weights; arrows choose a query and a key', 'data-view': 'map' },
    this.canvas, this.spacer);
    this.zoom = h('input', { type: 'range', min: '1', max: '48', step: '1',
      'aria-label': 'Size of a cell in pixels', 'data-control': 'zoom',
      oninput: () => this.setCell(Number(this.zoom.value)) });
    this.readout = h('output', { class: 'readout', 'data-readout': 'map' });
    this.element = h('div', {}, this.scroller,
      h('div', { class: 'row' }, h('label', { class: 'quiet' }, 'cell ', this.zoom), this.readout));
    this.draw = perFrame(() => this.drawNow());
    this.scroller.addEventListener('scroll', this.draw);
    this.scroller.addEventListener('pointermove', (event) => this.point(this.at(event)));
    this.scroller.addEventListener('pointerleave', () => this.point(null));
    this.scroller.addEventListener('click', (event) => {
      const pair = this.at(event);
      if (pair) this.choose(pair);
    });
    this.scroller.addEventListener('keydown', (event) => this.keydown(event));
    new ResizeObserver(this.draw).observe(this.scroller);
    onTheme(this.scroller, () => {
      this.image = null;
      this.draw();
    });
  }

  show(state) {
    this.state = state; // the caller keeps changing it; the image tracks its own head
    this.draw();
    this.tell();
  }

  setCell(cell) {
    this.cell = cell;
    this.draw();
  }

  // The cell size in pixels: as chosen, or what fits.
  cellSize() {
    const room = Math.min(this.scroller.clientWidth - MAP_LEFT, 640);
    const { queries, keys } = this.state.attention;
    const fit = Math.floor(Math.min(room / keys, Math.max(160, 620 - MAP_TOP) / queries));
    return this.cell || Math.max(1, Math.min(40, fit));
  }

  at(event) {
    const box = this.scroller.getBoundingClientRect();
    const cell = this.cellSize();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const key = Math.floor((x - MAP_LEFT + this.scroller.scrollLeft) / cell);
    const query = Math.floor((y - MAP_TOP + this.scroller.scrollTop) / cell);
    const { queries, keys } = this.state.attention;
    const inside = x >= MAP_LEFT && y >= MAP_TOP && key >= 0 && key < keys && query >= 0 && query < queries;
    return inside ? { query, key } : null;
  }

  point(pair) {
    this.pointed = pair;
    this.draw();
    this.tell();
  }

  keydown(event) {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
      ArrowRight: [0, 1] }[event.key] || [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    this.pointed = null; // the keyboard overrides a resting pointer
    const { attention } = this.state;
    const within = (x, count) => Math.max(0, Math.min(count - 1, x));
    this.choose({ query: within(this.state.query + down, attention.queries),
      key: within(this.state.key + right, attention.keys) });
  }

  tell() {
    const { attention, head } = this.state;
    const { query, key } = this.pointed || this.state;
    const weight = attention.weights(head)[query * attention.keys + key];
    const q = tokenText((attention.queryTexts || [])[query], query);
    const k = tokenText((attention.keyTexts || [])[key], key);
    this.readout.textContent = `query ${query} \u201c${q}\u201d \u2192 key ${key} \u201c${k}\u201d: ` +
      (isHidden(attention, head, query, key) ? 'hidden from the query'
        : `${attention.exact ? '' : '\u2248\u00a0'}${fixed(weight, attention.places ?? 4)}`);
  }

  drawNow() {
    if (!this.state || this.scroller.clientWidth === 0) return;
    const { attention, head } = this.state;
    const cell = this.cellSize();
    this.zoom.value = cell;
    this.scroller.dataset.cell = cell;
    const high = MAP_TOP + cell * attention.queries;
    const wide = MAP_LEFT + cell * attention.keys;
    this.scroller.style.height = `${Math.min(high + 18, 640)}px`;
    const width = this.scroller.clientWidth;
    const height = this.scroller.clientHeight;
    this.spacer.style.width = `${wide}px`;
    this.spacer.style.height = `${Math.max(0, high - height)}px`;
    const context = sized(this.canvas, width, height);
    if (this.image?.attention !== attention || this.image.head !== head) {
      const weights = weightsAndMask(attention, head);
      this.image = { attention, head, canvas: weightImage(weights, attention.queries, attention.keys) };
    }
    const x = MAP_LEFT - this.scroller.scrollLeft;
    const y = MAP_TOP - this.scroller.scrollTop;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image.canvas, x, y, cell * attention.keys, cell * attention.queries);
    if (cell >= NUMBERS_FROM) this.drawNumbers(context, x, y, cell, width, height);
    this.drawChosen(context, x, y, cell);
    this.drawAxes(context, x, y, cell, width, height);
  }

  drawNumbers(context, x, y, cell, width, height) {
    const { attention, head } = this.state;
    const weights = attention.weights(head);
    const [low, high] = [rgb('map-low'), rgb('map-high')];
    context.font = `400 ${cell < 38 ? 10.5 : 11.5}px ${colour('font')}`;
    context.textAlign = 'center';
    for (let i = Math.max(0, Math.floor(-y / cell)); i < attention.queries; ++i) {
      if (y + i * cell > height) break;
      for (let j = Math.max(0, Math.floor(-x / cell)); j < attention.seen(i); ++j) {
        if (x + j * cell > width) break;
        if (isHidden(attention, head, i, j)) continue;
        const weight = weights[i * attention.keys + j];
        context.fillStyle = readableOn(shade(weight), low, high);
        const text = weight.toFixed(attention.places ?? 3); // NaN stays NaN
        context.fillText(text.startsWith('1') ? '1.00' : text.replace('0.', '.'), x + (j + 0.5) * cell, y + (i + 0.5) * cell + 4);
      }
    }
  }

  drawChosen(context, x, y, cell) {
    const size = Math.max(4, cell) + 1;
    for (const { query, key } of this.pointed ? [this.pointed, this.state] : [this.state]) {
      // A wider frame in the panel's colour makes the frame visible on any cell.
      for (const [name, wide] of [['panel', 4.5], ['accent', 1.5]]) {
        context.strokeStyle = colour(name);
        context.lineWidth = wide;
        context.strokeRect(x + key * cell - 0.5, y + query * cell - 0.5, size, size);
      }
    }
  }

  drawAxes(context, x, y, cell, width, height) {
    const { attention } = this.state;
    const shown = this.pointed || this.state;
    context.fillStyle = colour('panel');
    context.fillRect(0, 0, MAP_LEFT - 1, height);
    context.fillRect(0, 0, width, MAP_TOP - 1);
    const every = cell >= LABELS_FROM ? 1 : niceStep(60 / cell);
    const labels = (count, texts, chosen, paint) => {
      for (let i = 0; i < count; ++i) {
        if (i % every !== 0 && i !== chosen) continue;
        if (i !== chosen && every > 1 && Math.abs(i - chosen) * cell < 14) continue;
        context.fillStyle = colour(i === chosen ? 'accent-text' : 'text');
        context.font = `${i === chosen ? 600 : 400} 11.5px ${colour('font')}`;
        paint(i, every > 1 && i !== chosen ? String(i) : tokenText((texts || [])[i], i));
      }
    };
    context.save();
    context.beginPath();
    context.rect(0, MAP_TOP - 6, MAP_LEFT, height);
    context.clip();
    context.textAlign = 'right';
    labels(attention.queries, attention.queryTexts, shown.query, (i, text) => {
      context.fillText(text, MAP_LEFT - 6, y + (i + 0.5) * cell + 4, MAP_LEFT - 24);
    });
    context.restore();
    context.save();
    context.beginPath();
    context.rect(MAP_LEFT - 6, 0, width, MAP_TOP);
    context.clip();
    context.textAlign = 'left';
    labels(attention.keys, attention.keyTexts, shown.key, (i, text) => {
      context.save();
      context.translate(x + (i + 0.5) * cell + 4, MAP_TOP - 6);
      context.rotate(-Math.PI / 2);
      context.fillText(text, 0, 0, MAP_TOP - 24);
      context.restore();
    });
    context.restore();
    context.fillStyle = colour('quiet');
    context.font = `600 11px ${colour('font')}`;
    context.textAlign = 'left';
    context.fillText('key \u2192', MAP_LEFT, 12);
    context.save();
    context.translate(12, MAP_TOP);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'right';
    context.fillText('\u2190 query', 0, 0);
    context.restore();
  }
}
