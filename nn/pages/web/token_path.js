// One token's path through the model, from trace_json.cpp: the vectors at its place, from the
// embedding to the logits, and the work of each stage. Read next: token_tab.js, which plays it.
import { decodeFloats, unpackRows } from './data.js';
import { Attention } from './heads.js';
import { layerName, lengthOf } from './layers.js';

const ACTIVATIONS = ['relu', 'gelu', 'silu', 'softplus', 'tanh', 'sigmoid', 'relu_squared'];

export class TokenPath {
  constructor(data) {
    const { tokens, places, entries } = data.path;
    Object.assign(this, { data, tokens, places, exact: data.exact });
    this.attention = data.attention.map((each) => new Attention(each, data.exact, data.image));
    this.texts = this.attention.find((each) => each.queries === tokens && each.queryTexts)?.queryTexts ??
      data.predictions?.read ?? [];
    this.stages = entries.map(({ lengths, gradients, ...each }) => ({ ...each, ...data.entries[each.entry],
      lengths: lengths && decodeFloats(lengths), gradients: gradients && decodeFloats(gradients) }));
    this.rows = Array.from({ length: tokens }, (_, place) => place); // of the picture
    this.byEntry = new Map(this.stages.map((stage) => [stage.entry, stage]));
    this.stages.forEach((stage, i) => {
      stage.from = (stage.op === 'attention' ? stage.inputs.slice(0, 1) : stage.inputs)
        .map(({ slot }) => this.sourceOf(slot)).filter(Boolean);
      stage.layer = this.layerOf(stage.module);
      stage.kind = this.kindOf(stage, i);
    });
    // Queries, keys and values belong to the attention that reads them.
    this.stages.forEach((stage, i) => {
      if (stage.kind !== 'projection') return;
      stage.attention = this.stages.slice(i).find(({ kind }) => kind === 'attention').attention;
    });
  }

  layerOf(module) {
    return layerName(module, this.attention);
  }

  // The stage that computed a tensor, skipping those that only reshape it.
  sourceOf(slot) {
    for (let at = slot; at >= 0;) {
      const { entry } = this.data.places[at];
      if (entry < 0) return null;
      if (this.byEntry.has(entry)) return this.byEntry.get(entry);
      at = this.data.entries[entry].inputs[0]?.slot ?? -1;
    }
    return null;
  }

  kindOf(stage, i) {
    const { op, module, entry } = stage;
    const own = this.attention.find((each) => each.entry === entry);
    if (own) {
      stage.attention = own;
      return 'attention';
    }
    if (op === 'add' && stage.from.length > 0) return 'add';
    if (op.endsWith('norm')) return 'norm';
    if (ACTIVATIONS.includes(op)) return 'activation';
    if (i === this.stages.length - 1) return 'logits';
    if (op !== 'linear') return op === 'embedding' ? op : 'other';
    const around = this.attention.find((each) => each.module && module.startsWith(`${each.module}.`));
    if (!around) return 'linear';
    if (around.entry > entry) return 'projection';
    stage.attention = around;
    return 'output';
  }

  // The vector at a followed place; null if none was kept.
  vector(stage, place) {
    if (stage.numbers === undefined) return null;
    if (typeof stage.numbers === 'string') {
      stage.numbers = this.exact ? decodeFloats(stage.numbers)
        : unpackRows(stage.numbers, stage.numbersUnits, stage.width);
    }
    const row = stage.whole ? 0 : this.places.indexOf(place);
    return stage.numbers.subarray(row * stage.width, (row + 1) * stage.width);
  }

  // The length of a vector of the stream; null if it was not kept.
  lengthAt({ lengths, whole }, place) {
    return lengths ? lengths[whole ? 0 : place] : null;
  }

  // The length of what was added between two stages; null if a vector was not kept.
  addedAt(before, after, place) {
    if (!this.places.includes(place)) return null;
    const [x, y] = [this.vector(before, place), this.vector(after, place)];
    return x && y ? lengthOf(y.map((value, d) => value - x[d])) : null;
  }

  weightsOf(attention, head, place) {
    return attention.rowOf(head, place);
  }

  // One head's attention output, sum over j of weight(j) v(j), or null.
  mixed(attention, head, place) {
    if (!attention.hasValues()) return null;
    const weights = this.weightsOf(attention, head, place);
    const sum = new Float64Array(attention.valueDim);
    for (let j = 0; j < attention.keys; ++j) {
      if (weights[j] === 0) continue;
      const v = attention.value(head, j);
      for (let d = 0; d < sum.length; ++d) sum[d] += weights[j] * v[d];
    }
    return sum;
  }

  // What each head adds to the stream: its D columns of W_O [C, H D] times the head's output.
  written(stage, place) {
    const { attention } = stage;
    const matrix = attention.outputMatrix();
    const heads = this.vector(this.stages.find(({ entry }) => entry === attention.entry), place);
    if (!matrix || !heads) return null;
    const { valueDim } = attention;
    return Array.from({ length: attention.heads }, (_, head) => {
      const sum = new Float64Array(stage.width);
      for (let c = 0; c < sum.length; ++c) {
        const row = c * heads.length;
        for (let d = head * valueDim; d < (head + 1) * valueDim; ++d) {
          sum[c] += matrix[row + d] * heads[d];
        }
      }
      return sum;
    });
  }
}
