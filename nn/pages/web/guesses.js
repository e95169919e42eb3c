// The predictions of a step, as trace_json.cpp wrote them.
import { tokenText } from './dom.js';

// `lost` is a row without probabilities: NaN or infinity came out of the model, and ranks mean nothing.
export class Predictions {
  constructor({ rows, layers, classes, smoothing, next, names, read }) {
    this.rows = rows.map(([right, loss, rank, likeliest]) => ({ right, loss: known(loss), rank,
      likeliest: likeliest.map(([id, p]) => [id, known(p)]), lost: likeliest[0][1] === null }));
    this.layers = layers;
    this.classes = classes;
    this.smoothing = smoothing;
    this.next = next; // is it what follows that is predicted, and not what stands there?
    this.names = names || {};
    this.read = read || [];
    this.asked = this.rows.flatMap(({ right }, i) => (right === null ? [] : [i]));
  }

  nameOf(id) {
    const name = this.names[id];
    return name === undefined ? String(id) : tokenText(name, id);
  }

  // What stands where place `place` predicts; the last place of a text predicts what nobody wrote.
  readText(place) {
    return tokenText(this.read[this.next ? place + 1 : place], place);
  }
}

const known = (x) => (x === null ? NaN : x);

// Of one place: what every layer read, sent to the head, and at last what the model said.
export function layerRows({ layers, rows }, place) {
  const before = layers.map(({ layer, rows: own }, i) => {
    const [loss, rank, id, p] = own[place];
    const name = i === 0 ? 'before any layer' : `after layer ${i - 1}`;
    return { name, layer, loss: known(loss), rank, id, p: known(p), lost: p === null };
  });
  const { loss, rank, likeliest: [[id, p]], lost } = rows[place];
  const name = layers.length > 0 ? `after layer ${layers.length - 1}: the model` : 'the model';
  return [...before, { name, loss, rank, id, p, lost }];
}
