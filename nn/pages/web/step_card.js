// The words of the picture of a step (step_picture.js): a card for what is chosen, and a sentence on the way back.
import { h, number, sharePercent, tokenText } from './dom.js';
import { layerRows } from './guesses.js';
import { headSays } from './head_roles.js';
import { lengthOf } from './layers.js';

const VANISHED = 1e-3; // the embedding's share of the last layer's gradient, or less

const fact = (name, value) => h('span', { class: 'fact' }, name ? h('span', { class: 'quiet' }, `${name} `) : '', h('b', {}, value));

// A token inside of a sentence, whatever its direction of writing.
const quotedText = (text) => `\u201c\u2068${text}\u2069\u201d`;

// The token that the chosen one reads most: "“t” (0.93)"; null if there is none of this text.
function mostRead({ path, state, place, columns }) {
  const attention = columns.attentionOf(state.layer);
  if (!attention || attention.queries !== path.tokens) return null;
  const head = Math.min(state.head, attention.heads - 1);
  const weights = path.weightsOf(attention, head, place);
  const key = weights.reduce((best, weight, j) => (weight > weights[best] ? j : best), 0);
  return { attention, head, weight: weights[key], name: tokenText((attention.keyTexts || [])[key], key) };
}

// The prediction at the chosen token, and why: the layer that lowered its loss most, and what
// the chosen head reads.
function predictionSays(drawing, text) {
  const { predictions, state, place } = drawing;
  const own = predictions.rows[place];
  const [likeliest, p] = own.likeliest[0];
  const named = (id) => (predictions.quoted(id) === predictions.nameOf(id) ? predictions.nameOf(id) : quotedText(predictions.nameOf(id)));
  const guess = `${named(likeliest)} (${sharePercent(p)})`;
  const right = own.right === null ? '' : own.rank === 1 ? ', which is right' : `; ${named(own.right)} is right`;
  const says = [`${predictions.next ? `After ${quotedText(text)}` : 'Here'} the model predicts ${guess}${right}.`];
  const rows = own.right === null || predictions.layers.length < 2 ? [] : layerRows(predictions, place);
  const gains = rows.slice(1).map(({ loss }, i) => rows[i].loss - loss);
  const best = gains.indexOf(Math.max(...gains));
  if (gains[best] > 0.05) says.push(`Layer ${best} helped most: before it, the loss was ${number(rows[best].loss, 3)}.`);
  const read = mostRead(drawing);
  if (read && read.weight > 0) says.push(`Head ${read.head} of layer ${state.layer} reads mostly ${quotedText(read.name)} (${number(read.weight, 2)}).`);
  return says;
}

// { title, facts, says }: at most five numbers, and the formula with them in it.
function cardParts(drawing, nonFinite) {
  const { path, predictions, columns, state, place, lengths, places } = drawing;
  const column = columns.all[state.column];
  const row = places.indexOf(place);
  const text = tokenText(path.texts[place], place);
  const [before, after] = [lengths[Math.max(0, state.column - 1)][row], lengths[state.column][row]];
  const facts = [];
  const says = [];
  const own = predictions?.rows[place];
  const isAnswer = !state.back && state.column === columns.all.length - 1 && own && !own.lost;
  if (state.back) {
    facts.push(fact('length of the gradient', number(columns.gradientAt(column.stage, place), 4)), fact('largest in the picture', columns.largestGradient > 0 ? number(columns.largestGradient, 3) : '\u2013'));
  } else if (isAnswer) {
    if (own.right !== null) facts.push(fact('p', sharePercent(Math.exp(-own.loss))), fact('loss', `\u2212ln p = ${number(own.loss)}`));
    says.push(...predictionSays(drawing, text));
  } else if (state.column === 0) {
    facts.push(fact('length', number(after, 4)));
  } else {
    const added = path.addedAt(columns.all[state.column - 1].stage, column.stage, place);
    facts.push(fact('', added === null ? `${number(before, 4)} long, then ${number(after, 4)} long`
      : `${number(before, 4)} long, plus a vector ${number(added, 4)} long: ${number(after, 4)} long`));
  }
  if (column.attention && !column.folded && !isAnswer) {
    const read = mostRead(drawing);
    says.push(`Head ${Math.min(state.head, column.attention.heads - 1)}: ${headSays(column.attention, Math.min(state.head, column.attention.heads - 1))}`);
    if (read && read.attention === column.attention) facts.push(fact('heaviest weight', `${number(read.weight, 3)} on ${read.name}`));
  }
  if (nonFinite && column.entries.includes(nonFinite.entry)) says.push(`${nonFinite.headline[0].toUpperCase()}${nonFinite.headline.slice(1)}.`);
  return { title: `${text}, ${column.name}`, facts, says };
}

// The card's elements; `links` lead to all numbers.
export function cardOf(drawing, nonFinite, links) {
  const { title, facts, says } = cardParts(drawing, nonFinite);
  return [h('div', { class: 'row' }, h('h3', {}, title), ...facts, h('span', { class: 'row links' }, ...links)),
    says.length > 0 ? h('p', {}, says.join(' ')) : ''];
}

// ---- the way back -------------------------------------------------------------------------------

// What happens to the gradient between the last layer and the embedding.
export function wayBackSays(columns) {
  const { begin, adds, path } = columns;
  const places = path.rows;
  const sizeOf = (stage) => lengthOf(places.map((place) => columns.gradientAt(stage, place) ?? 0));
  const all = [{ name: 'the embedding', stage: begin },
    ...adds.map((own, i) => ({ name: `layer ${i}`, stage: own[own.length - 1]?.stage })).filter(({ stage }) => stage)]
    .filter(({ stage }) => stage.gradients).map(({ name, stage }) => ({ name, size: sizeOf(stage) }));
  if (all.length < 2) return 'No gradient was computed.';
  const lost = all.filter(({ size }) => !Number.isFinite(size)).pop();
  if (lost) return `On the way back the gradient is not finite from ${lost.name} on.`;
  const [first, last] = [all[0], all[all.length - 1]];
  const zero = all.filter(({ size }) => size === 0).pop();
  if (zero) return last.size === 0 ? 'The gradient is 0 everywhere.' : `On the way back no gradient reaches ${zero.name}.`;
  const share = first.size / last.size;
  const ends = `${number(last.size, 3)} at ${last.name}, ${number(first.size, 3)} at ${first.name}`;
  if (share > VANISHED && share < 1 / VANISHED) return `On the way back the gradient neither vanishes nor explodes: ${ends}.`;
  const ratios = all.slice(1).map(({ name, size }, i) => ({ name, by: Math.log(all[i].size / size) }));
  const worst = ratios.reduce((a, b) => ((share < 1 ? b.by < a.by : b.by > a.by) ? b : a));
  return `On the way back the gradient ${share < 1 ? 'vanishes' : 'explodes'}: ${ends}; most of it in ${worst.name}, ` +
    `by a factor of ${number(Math.exp(Math.abs(worst.by)), 2)}.`;
}
