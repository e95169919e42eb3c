// A head's view of an image: what the chosen patch attends to, overlaid. A click or the arrow keys
// choose the query patch.
import { fixed, colour, h, onTheme, perFrame, rgb, sized } from './dom.js';
import { shade } from './attention_map.js';

const IMAGE_SIZE = 320; // maximum pixels per side
const GAP = 12;

// The image as a canvas at its own resolution, from { channels, height, width, pixels }.
export function imageCanvas({ channels, height, width, pixels }) {
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d');
  const data = context.createImageData(width, height);
  const bytes = atob(pixels);
  for (let i = 0; i < width * height; ++i) {
    for (let c = 0; c < 3; ++c) data.data[4 * i + c] = bytes.charCodeAt(i * channels + c % channels);
    data.data[4 * i + 3] = 255;
  }
  context.putImageData(data, 0, 0);
  return canvas;
}

export class ImageView {
  // choose({query, key}) is called when a patch is pointed at.
  constructor(image, choose) {
    Object.assign(this, { image, choose, source: imageCanvas(image), pointed: null });
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.scene = h('div', { class: 'image-view', tabindex: '0', role: 'group', 'data-view': 'image',
      'aria-label': 'The image and what a patch attends to; arrow keys choose the patch, Home the class token',
      onkeydown: (event) => this.keydown(event), onclick: (event) => this.click(event),
      onpointermove: (event) => this.point(this.at(event)), onpointerleave: () => this.point(null) },
    this.canvas);
    this.readout = h('p', { class: 'readout', 'data-readout': 'image' });
    const token = image.first === 0 ? [] : [h('button', { class: 'step-button', 'data-control': 'class-token',
      onclick: () => choose({ query: 0 }) }, 'Class token')];
    this.element = h('div', {}, this.scene, h('div', { class: 'row' }, ...token, this.readout),
      h('p', { class: 'quiet legend' }, 'The stronger the orange, the larger the weight, on a square-root scale up ' +
        'to the largest weight on any patch.'));
    this.draw = perFrame(() => this.drawNow());
    new ResizeObserver(this.draw).observe(this.element);
    onTheme(this.element, this.draw);
  }

  show(state) {
    this.state = state;
    this.draw();
    this.tell();
  }

  // The image and the overlay, side by side if there is space, else stacked.
  layout() {
    const { width, height } = this.image;
    const room = this.element.clientWidth;
    const beside = room >= 2 * IMAGE_SIZE * 0.6 + GAP;
    const wide = Math.min(IMAGE_SIZE, beside ? (room - GAP) / 2 : room);
    const high = wide * height / width;
    return { wide, high, patch: wide * this.image.patch / width, right: beside ? wide + GAP : 0,
      down: beside ? 0 : high + GAP };
  }

  // The token whose patch is pointed at, in either picture.
  at(event) {
    const box = this.scene.getBoundingClientRect();
    const { wide, high, patch, right, down } = this.layout();
    let [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (right > 0 && x >= right) x -= right;
    if (down > 0 && y >= down) y -= down;
    const { columns, first } = this.state.attention.grid;
    return x >= 0 && x < wide && y >= 0 && y < high
      ? first + Math.floor(y / patch) * columns + Math.floor(x / patch) : null;
  }

  point(token) {
    if (token === this.pointed) return;
    this.pointed = token;
    this.tell();
    this.draw();
  }

  click(event) {
    const token = this.at(event);
    if (token !== null) this.choose({ query: token });
  }

  keydown(event) {
    const { rows, columns, first } = this.state.attention.grid;
    const { query } = this.state;
    const [row, column] = [Math.floor((query - first) / columns), (query - first) % columns];
    const go = (down, right) => first + Math.max(0, Math.min(rows - 1, row + down)) * columns +
      Math.max(0, Math.min(columns - 1, column + right));
    const to = { ArrowUp: () => go(-1, 0), ArrowDown: () => go(1, 0), ArrowLeft: () => go(0, -1),
      ArrowRight: () => go(0, 1), Home: () => 0 }[event.key];
    if (!to) return;
    event.preventDefault();
    this.pointed = null;
    this.choose({ query: query < first && event.key !== 'Home' ? first : to() });
  }

  nameOf(token) {
    const { columns, first } = this.state.attention.grid;
    if (token < first) return 'the class token';
    const at = token - first;
    return `row ${Math.floor(at / columns)}, column ${at % columns}`;
  }

  tell() {
    const { attention, head, query, key } = this.state;
    const to = this.pointed ?? key;
    const weight = attention.weights(head)[query * attention.keys + to];
    const own = query < attention.grid.first ? attention.weights(head)[query * attention.keys] : null;
    this.readout.textContent = `${this.nameOf(query)} \u2192 ${this.nameOf(to)}: ` +
      `${attention.exact ? '' : '\u2248\u00a0'}${fixed(weight, 4)}` +
      (own === null ? '' : `; itself ${fixed(own, 4)}`);
  }

  drawNow() {
    if (!this.state || this.element.clientWidth === 0) return;
    const { attention, head, query } = this.state;
    const { wide, high, patch, right, down } = this.layout();
    const context = sized(this.canvas, wide + right, high + down);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.source, 0, 0, wide, high);
    context.drawImage(this.source, right, down, wide, high);
    const { columns, rows, first } = attention.grid;
    const weights = attention.weights(head).subarray(query * attention.keys + first, (query + 1) * attention.keys);
    const most = Math.max(...weights);
    const [r, g, b] = rgb('loss');
    const square = (token, offset) => [offset[0] + ((token - first) % columns) * patch,
      offset[1] + Math.floor((token - first) / columns) * patch, patch, patch];
    for (let i = 0; i < rows * columns; ++i) {
      context.fillStyle = `rgb(${r} ${g} ${b} / ${0.92 * shade(weights[i] / (most || 1))})`;
      context.fillRect(...square(first + i, [right, down]));
    }
    const outline = (token, offset, name) => {
      if (token === null || token < first) return;
      const [x, y, w, hi] = square(token, offset);
      for (const [stroke, thick] of [['panel', 5], [name, 2]]) {
        context.strokeStyle = colour(stroke);
        context.lineWidth = thick;
        context.strokeRect(x + 1, y + 1, w - 2, hi - 2);
      }
    };
    for (const offset of [[0, 0], [right, down]]) {
      outline(query, offset, 'accent');
      outline(this.pointed, offset, 'warn');
    }
  }
}
