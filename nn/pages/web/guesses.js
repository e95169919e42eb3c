// The predictions of a step, from trace_json.cpp.
import { tokenText } from './dom.js';

// `lost`: a row without probabilities, because the model's output has NaN or infinity and ranks
// mean nothing.
export class Predictions {
  constructor({ rows, layers, classes, smoothing, next, names, read }) {
    this.rows = rows.map(([right, loss, rank, likeliest]) => ({ right, loss: lossIn(loss, likeliest[0][1]), rank,
      likeliest: likeliest.map(([id, p]) => [id, known(p)]), lost: likeliest[0][1] === null }));
    this.layers = layers;
    this.classes = classes;
    this.smoothing = smoothing;
    this.next = next; // are targets the next tokens, rather than the tokens at the same place?
    this.names = names || {};
    this.read = read || [];
    this.asked = this.rows.flatMap(({ right }, i) => (right === null ? [] : [i]));
  }

  nameOf(id) {
    const name = this.names[id];
    return name === undefined ? String(id) : tokenText(name, id);
  }

  // The same within a sentence, where a comma would look like punctuation.
  quoted(id) {
    return this.names[id] === undefined ? String(id) : `\u201c${this.nameOf(id)}\u201d`;
  }

  // The text at the place that `place` predicts; the last place of a text has no target.
  readText(place) {
    return tokenText(this.read[this.next ? place + 1 : place], place);
  }
}

const known = (x) => (x === null ? NaN : x);

// A row's loss, given the probability of the likeliest class: JSON has neither NaN nor infinity, which is
// the loss if the right one has a probability of 0.
export const lossIn = (loss, p) => loss ?? (p === null ? NaN : Infinity);

// For one place: the prediction from every layer's input, and finally the model's.
export function layerRows({ layers, rows }, place) {
  const before = layers.map(({ layer, rows: own }, i) => {
    const [loss, rank, id, p] = own[place];
    const name = i === 0 ? 'before any layer' : `after layer ${i - 1}`;
    return { name, layer, loss: lossIn(loss, p), rank, id, p: known(p), lost: p === null };
  });
  const { loss, rank, likeliest: [[id, p]], lost } = rows[place];
  const name = layers.length > 0 ? `after layer ${layers.length - 1}: the model` : 'the model';
  return [...before, { name, loss, rank, id, p, lost }];
}
