// The tape as a graph of modules; opening one shows its modules, and finally its entries. An edge
// is a tensor from its producer to a reader.
import { bytesText, h, secondsText, svg } from './dom.js';
import { saveButton } from './export.js';
import { drawingSvg } from './figure_svg.js';
import { layout } from './graph.js';
import { roving } from './roving.js';

const NODE = { width: 190, height: 40, letters: 22 };

export class TapeGraph {
  constructor(data, choose) {
    this.data = data;
    this.choose = choose;
    this.open = new Set();
    this.zoom = 1;
    this.state = () => 'recorded';
    this.parts = data.entries.map(({ module }) => (module ? module.split('.') : []));
    this.openNumbered();
    this.picture = h('div', { class: 'scroller graph', tabindex: '0', role: 'group',
      'aria-label': 'The tape as a graph' });
    this.renewStop = roving(this.picture, '.node');
    this.opened = h('span', { class: 'row' });
    this.element = h('div', {}, h('p', { class: 'quiet legend' },
      'Click a module to expand it, an operation to see its numbers. On the way back: ',
      ...[['walking', 'its rule runs'], ['cotangent', 'its gradient is in memory'], ['walked', 'done']]
        .flatMap(([state, text]) => [h('span', { class: 'key graph-key', 'data-state': state }), `${text}  `])),
    this.picture,
    h('p', { class: 'row' }, h('button', { class: 'step-button', 'data-control': 'fold',
      onclick: () => this.foldAll() }, 'Fold all'), ...this.zoomButtons(),
    saveButton('SVG', 'tape.svg', 'image/svg+xml', () => drawingSvg(this.picture.querySelector('svg'))), this.opened));
    this.draw();
  }

  // Smaller, larger, and fit to width, but never enlarged; Ctrl and the wheel do the first two.
  zoomButtons() {
    this.picture.addEventListener('wheel', (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.setZoom(this.zoom * (event.deltaY < 0 ? 1.15 : 1 / 1.15));
    }, { passive: false });
    const button = (name, label, text, zoom) => h('button', { class: 'step-button', 'data-zoom': name,
      'aria-label': label, onclick: () => this.setZoom(zoom()) }, text);
    return [button('out', 'Smaller', '\u2212', () => this.zoom / 1.25),
      button('in', 'Larger', '+', () => this.zoom * 1.25),
      button('fit', 'Fit the graph into its frame', 'Fit',
        () => Math.min(1, (this.picture.clientWidth - 4) / this.size.width))];
  }

  // Keeps the centre of the view in place.
  setZoom(zoom) {
    const before = this.zoom;
    this.zoom = Math.max(0.2, Math.min(3, zoom));
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.picture;
    this.scale();
    const by = this.zoom / before;
    this.picture.scrollLeft = (scrollLeft + clientWidth / 2) * by - clientWidth / 2;
    this.picture.scrollTop = (scrollTop + clientHeight / 2) * by - clientHeight / 2;
  }

  scale() {
    const svgElement = this.picture.firstChild;
    svgElement.setAttribute('width', this.size.width * this.zoom);
    svgElement.setAttribute('height', this.size.height * this.zoom);
  }

  // "blocks" that contains only "0", "1", ... adds nothing to its parts: opened from the start.
  openNumbered() {
    const inside = new Map();
    for (const parts of this.parts) {
      parts.forEach((part, i) => {
        const path = parts.slice(0, i).join('.');
        inside.set(path, (inside.get(path) ?? true) && /^\d+$/.test(part));
      });
    }
    inside.forEach((numbered, path) => numbered && this.open.add(path));
  }

  // A button for each opened module; closing it also closes everything inside.
  listOpened() {
    const numbered = (path) => this.parts.some((parts) =>
      parts.slice(0, path.split('.').length).join('.') === path && /^\d+$/.test(parts[path.split('.').length] ?? ''));
    const paths = Array.from(this.open).filter((path) => path && !numbered(path)).sort();
    this.opened.replaceChildren(...paths.map((path) => h('button', { class: 'step-button',
      'data-close': path, 'aria-label': `Close ${path}`, onclick: () => {
        for (const each of Array.from(this.open)) {
          if (each === path || each.startsWith(`${path}.`)) this.open.delete(each);
        }
        this.draw();
      } }, `${path} \u00d7`)));
  }

  foldAll() {
    this.open.clear();
    this.openNumbered();
    this.draw();
  }

  // The node that represents an entry: the outermost closed module, or the entry itself.
  nodeOf(entry) {
    const parts = this.parts[entry];
    for (let i = 1; i <= parts.length; ++i) {
      const path = parts.slice(0, i).join('.');
      if (!this.open.has(path)) return path;
    }
    return `#${entry}`;
  }

  nodes() {
    const all = new Map();
    this.data.entries.forEach((entry, i) => {
      const id = this.nodeOf(i);
      if (!all.has(id)) all.set(id, { id, entries: [], ...NODE });
      all.get(id).entries.push(i);
    });
    return all;
  }

  edges() {
    const seen = new Map();
    this.data.entries.forEach((entry, i) => {
      for (const { slot } of entry.inputs) {
        const made = slot >= 0 ? this.data.places[slot].entry : -1;
        if (made < 0) continue;
        const [from, to] = [this.nodeOf(made), this.nodeOf(i)];
        if (from !== to) seen.set(`${from} ${to}`, [from, to]);
      }
    });
    return Array.from(seen.values());
  }

  draw() {
    const nodes = this.nodes();
    const edges = this.edges();
    const { width, height, at, paths } = layout(Array.from(nodes.values()), edges);
    this.boxes = Array.from(nodes.values(), (node) => ({ node, element: this.box(node, at) }));
    const lines = paths.map((points) => svg('path', { class: 'edge', 'marker-end': 'url(#arrow)',
      d: points.map(({ x, y }, i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('') }));
    this.picture.replaceChildren(svg('svg', { viewBox: `0 0 ${width} ${height}` },
      svg('defs', {}, svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: '7', refY: '4',
        markerWidth: '6', markerHeight: '6', orient: 'auto' },
      svg('path', { d: 'M0 0L8 4L0 8z', class: 'arrow' }))),
      ...lines, ...this.boxes.map(({ element }) => element)));
    this.size = { width, height };
    this.scale();
    this.show(this.state);
    this.listOpened();
    if (this.marked === undefined) this.renewStop();
    else this.mark(this.marked);
  }

  box(node, at) {
    const { x, y } = at.get(node.id);
    const [first] = node.entries;
    const single = node.id.startsWith('#');
    const entry = this.data.entries[first];
    const seconds = node.entries.reduce((sum, i) => {
      const { forward, backward } = this.data.entries[i];
      return sum + forward.s + (backward ? backward.s : 0);
    }, 0);
    const saved = node.entries.reduce((sum, i) => sum + this.data.entries[i].saved, 0);
    const title = single ? `${node.id} ${entry.op}` : node.id;
    const note = single ? `${secondsText(seconds)}, keeps ${bytesText(saved)}`
      : `${node.entries.length} ${node.entries.length === 1 ? 'operation' : 'operations'}, ${secondsText(seconds)}`;
    const act = () => {
      if (single) {
        this.choose(first);
        return;
      }
      this.open.add(node.id);
      this.draw();
      const box = this.boxes.find((each) => each.node.entries.includes(first));
      box.element.focus();
    };
    return svg('g', { class: single ? 'node' : 'node module', tabindex: '-1', role: 'button',
      'data-node': node.id, 'aria-label': `${shortened(title)} ${note}`, onclick: act,
      onkeydown: (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        act();
      },
      transform: `translate(${(x - NODE.width / 2).toFixed(1)} ${(y - NODE.height / 2).toFixed(1)})` },
    svg('rect', { width: NODE.width, height: NODE.height, rx: 5 }),
    svg('text', { x: 10, y: 17, class: 'name' }, shortened(title)), ' ',
    svg('text', { x: 10, y: 32, class: 'note' }, note));
  }

  // A module is walking if one of its entries is, and walked if all are.
  show(state) {
    this.state = state;
    for (const { node, element } of this.boxes) {
      const states = node.entries.map(state);
      const any = ['walking', 'cotangent'].find((each) => states.includes(each));
      element.dataset.state = any || (states.includes('recorded')
        ? (states.includes('walked') ? 'cotangent' : 'recorded') : 'walked');
    }
  }

  mark(entry) {
    this.marked = entry;
    for (const { node, element } of this.boxes) {
      element.setAttribute('aria-pressed', String(node.entries.includes(entry)));
    }
    this.renewStop();
  }
}

// The end of a long path is more informative than its beginning.
function shortened(text) {
  return text.length <= NODE.letters ? text : `\u2026${text.slice(1 - NODE.letters)}`;
}
