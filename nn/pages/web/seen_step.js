// What a report keeps of a step on its sentence (report.cpp): attention weights, predictions, and the
// lengths of the residual stream and of its gradients, in the forms that a page of one step has.
import { tokenText } from './dom.js';
import { lossIn } from './guesses.js';
import { layerName } from './layers.js';

// Weights at one time, in the form that attention_map.js, head_roles.js and step_picture.js expect.
export class SeenAttention {
  constructor({ weights, ...data }, texts) {
    Object.assign(this, data, { cross: false, queryTexts: texts, keyTexts: texts, exact: false,
      places: 2 }); // the resolution is 1/254
    const bytes = Uint8Array.from(atob(weights), (c) => c.charCodeAt(0));
    this.all = Float32Array.from(bytes, (x) => (x === 255 ? NaN : x / 254));
  }

  weights(head) {
    const size = this.queries * this.keys;
    return this.all.subarray(head * size, (head + 1) * size);
  }

  rowOf(head, i) {
    return this.weights(head).subarray(i * this.keys, (i + 1) * this.keys);
  }

  seen(i) {
    return this.causal ? i + 1 : this.keys;
  }

  masked() {
    return 0;
  }

  mostEntropy() {
    let sum = 0;
    for (let i = 0; i < this.queries; ++i) sum += Math.log(this.seen(i)) / this.queries;
    return sum;
  }
}

const KINDS = { add: 'add', embedding: 'embedding' };

// In the form of TokenPath (token_path.js), without vectors.
class SeenPath {
  constructor({ attention, stream, places }, texts) {
    const order = (a, b) => a.entry - b.entry;
    this.attention = attention.map((each) => new SeenAttention(each, texts));
    Object.assign(this, { tokens: texts.length, rows: places, texts });
    this.stages = [...stream.map((each) => ({ ...each, kind: KINDS[each.op] ?? 'other' })),
      ...this.attention.map((each) => ({ entry: each.entry, module: each.module, kind: 'attention', attention: each }))]
      .map((stage) => ({ ...stage, layer: layerName(stage.module, this.attention) })).sort(order);
  }

  lengthAt({ lengths }, place) {
    const length = lengths?.[this.rows.indexOf(place)];
    return length === undefined ? null : length ?? NaN; // JSON has no NaN
  }

  addedAt() {
    return null;
  }

  weightsOf(attention, head, place) {
    return attention.rowOf(head, place);
  }
}

// In the form of Predictions (guesses.js): the right answers are the sentence's own tokens.
class SeenPredictions {
  constructor(rows, { tokens, names }) {
    Object.assign(this, { tokens, names, layers: [], next: true });
    this.rows = rows.map(([loss, rank, id, p], i) => ({ right: rank === 1 ? id : `next ${i}`, loss: lossIn(loss, p), rank,
      likeliest: [[id, p ?? NaN]], lost: p === null }));
  }

  nameOf(id) {
    const next = /^next (\d+)$/.exec(id);
    if (next) return tokenText(this.tokens[Number(next[1]) + 1], id);
    return this.names[id] === undefined ? String(id) : tokenText(this.names[id], id);
  }

  quoted(id) {
    return `\u201c${this.nameOf(id)}\u201d`;
  }
}

// The step of an evaluation's look, for StepPicture.show(); null if it kept no stream.
export function seenStep(look, sentence) {
  if (!look.stream?.length) return null;
  return { path: new SeenPath(look, sentence.tokens.slice(0, -1)), nonFinite: null,
    predictions: look.rows.length > 0 ? new SeenPredictions(look.rows, sentence) : null };
}
