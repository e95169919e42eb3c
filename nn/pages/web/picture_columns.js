// The columns of the picture of a step (picture.js): the embedding, what each layer adds to the
// residual stream, and the end. Layers fold: 48 of them are a few narrow columns.
import { fontPixels } from './dom.js';

const [OPEN, NARROW] = [150, 40]; // pixels, for text of the usual size
const MOST_OPEN = 3; // layers that are all open
const GROUP = 8; // layers in a folded column, if there are many
const MANY = 16;
const MOST_ASKED = 64; // tokens whose reading is looked at
const FIRST = 100; // pixels before the first column, for text of the usual size
const MOST_WIDE = 1.6; // times as wide as needed

export class PictureColumns {
  // `opened`: layers that the reader has opened.
  constructor(path, opened = new Set()) {
    Object.assign(this, { path, opened, all: [] });
    const { stages } = path;
    this.layers = Array.from(new Set(stages.map(({ layer }) => layer).filter(Boolean)));
    const inside = stages.filter(({ layer }) => layer);
    const first = stages.indexOf(inside[0]);
    this.begin = stages.slice(0, first < 0 ? 1 : first).filter(({ kind }) => kind === 'add' || kind === 'embedding').pop() ?? stages[0];
    // By layer: what it adds, each with the stages that made it.
    this.adds = this.layers.map((layer) => {
      const own = stages.filter((stage) => stage.layer === layer);
      let from = 0;
      return own.flatMap((stage, i) => {
        if (stage.kind !== 'add') return [];
        const made = own.slice(from, i + 1);
        from = i + 1;
        return [{ stage, attention: made.find(({ kind }) => kind === 'attention')?.attention ?? null,
          entries: made.map(({ entry }) => entry) }];
      });
    });
    this.mostTelling = this.mostTellingHead();
    const sizes = [this.begin, ...this.adds.flat().map(({ stage }) => stage)].flatMap(({ gradients }) => Array.from(gradients ?? []));
    this.largestGradient = sizes.reduce((most, x) => (Number.isFinite(x) && x > most ? x : most), 0);
  }

  // The length of the gradient of a stage's vector: null if there is none, NaN if it is not finite.
  gradientAt({ gradients, whole }, place) {
    if (!gradients) return null;
    return gradients[whole ? 0 : this.path.rows.indexOf(place)] ?? NaN;
  }

  // The head furthest from uniform attention.
  mostTellingHead() {
    let best = { layer: 0, head: 0, spread: Infinity };
    this.layers.forEach((_, layer) => {
      const attention = this.attentionOf(layer);
      for (let head = 0; attention && head < attention.heads; ++head) {
        const spread = attention.entropy[head] / (attention.mostEntropy(head) || 1);
        if (spread < best.spread) best = { layer, head, spread };
      }
    });
    return best;
  }

  // The token whose reading through a head shows most: the one with the heaviest weight on another token
  // that is not the first; without such a head, the last token.
  tellingPlace(layer, head, predictions) {
    const { path } = this;
    const attention = this.attentionOf(layer);
    const last = path.rows[path.rows.length - 1];
    if (!attention || attention.cross || attention.queries !== path.tokens || attention.keys !== path.tokens) return last;
    let best = { place: last, weight: 0.05 };
    for (const place of path.rows.slice(-MOST_ASKED)) {
      if (predictions && (predictions.rows[place]?.right ?? null) === null) continue;
      path.weightsOf(attention, head, place).forEach((weight, key) => {
        if (key > 0 && key !== place && weight > best.weight) best = { place, weight };
      });
    }
    return best.place;
  }

  attentionOf(layer) {
    return this.adds[layer]?.find(({ attention }) => attention)?.attention ?? null;
  }

  // The attention tab's number of this layer.
  tabLayer(attention) {
    return this.path.attention.indexOf(attention);
  }

  open(layers) {
    layers.forEach((layer) => this.opened.add(layer));
  }

  isOpen(layer, chosen) {
    return this.layers.length <= MOST_OPEN || layer === chosen || this.opened.has(layer);
  }

  column(add, more) {
    return { entries: [], attention: null, folded: false, ...add, ...more };
  }

  // Lays them out within `room` pixels if they fit; the layer `chosen` is open.
  place(chosen, room = 0) {
    const all = [this.column({ stage: this.begin, entries: [this.begin.entry] }, { label: 'embedding', name: 'embedding', width: fontPixels(70) })];
    const group = this.layers.length > MANY ? GROUP : 1;
    for (let layer = 0; layer < this.layers.length;) {
      if (this.isOpen(layer, chosen)) {
        this.adds[layer].forEach((add, i, own) => {
          const isAttention = add.attention || i < own.length - 1; // a report omits the maps of some
          const what = add.attention?.cross ? 'cross-attention' : isAttention ? 'attention' : 'feed-forward';
          all.push(this.column(add, { layer, layers: [layer], label: `${layer} ${what}`, name: `layer ${layer}, after ${what}`,
            width: fontPixels(add.attention ? OPEN : OPEN / 1.5) }));
        });
        ++layer;
        continue;
      }
      const folded = [];
      const end = Math.min(this.layers.length, (Math.floor(layer / group) + 1) * group);
      while (layer < end && !this.isOpen(layer, chosen)) folded.push(layer++);
      const last = this.adds[folded[folded.length - 1]];
      if (last.length === 0) continue;
      const name = folded.length > 1 ? `layers ${folded[0]} to ${folded[folded.length - 1]}` : `layer ${folded[0]}`;
      all.push(this.column(last[last.length - 1], { layers: folded, folded: true, attention: null, name: `${name}, folded`,
        label: folded.length > 1 ? `${folded[0]}\u2013${folded[folded.length - 1]}` : `${folded[0]}`,
        entries: folded.flatMap((each) => this.adds[each].flatMap(({ entries }) => entries)), width: fontPixels(NARROW) }));
    }
    const wide = all.reduce((sum, { width }) => sum + width, fontPixels(FIRST));
    const by = Math.max(1, Math.min(MOST_WIDE, room / wide));
    let x = fontPixels(FIRST);
    for (const column of all) {
      column.width *= by;
      column.x = x += column.width;
    }
    this.all = all;
  }

  // Of the small maps above the streams.
  mapsHigh(side) {
    const rows = this.all.filter(({ attention, folded }) => attention && !folded)
      .map(({ attention, width }) => Math.ceil(attention.heads / Math.max(1, Math.floor((width - 8) / (side + 4)))));
    return Math.max(0, ...rows) * (side + 4);
  }
}
