// Describes a head in a sentence: the share of its weight on the previous token, the first one,
// itself and so on, if that is much more than uniform attention would give.

// Each gives, for query i at position `at` of the keys, the key that such a head attends to.
const ROLES = [
  ['the token itself', (a, i, at) => at],
  ['the previous token', (a, i, at) => at - 1],
  ['the token before the previous one', (a, i, at) => at - 2],
  ['the next token', (a, i, at) => at + 1],
  ['the first token', () => 0],
  ['what followed the same token before', (a, i, at) => afterSame(a, at)],
];

// For patches: the neighbours of the query's patch.
const beside = (down, right) => ({ grid: { rows, columns, first } }, i) => {
  const [row, column] = [Math.floor((i - first) / columns) + down, (i - first) % columns + right];
  const inside = i >= first && row >= 0 && row < rows && column >= 0 && column < columns;
  return inside ? first + row * columns + column : -1;
};
const PATCH_ROLES = [
  ['the patch itself', beside(0, 0)],
  ['the patch on the left', beside(0, -1)],
  ['the patch on the right', beside(0, 1)],
  ['the patch above', beside(-1, 0)],
  ['the patch below', beside(1, 0)],
  ['the class token', () => 0],
];

// The key after the latest earlier one with the query's text; -1 if there is none.
function afterSame({ keyTexts, cross }, at) {
  if (!keyTexts || cross) return -1;
  const same = keyTexts.lastIndexOf(keyTexts[at], at - 1);
  return at > 0 && same >= 0 && same + 1 < at ? same + 1 : -1;
}

// { share, even }: the weight on such keys, over all queries that have one, and that of uniform
// attention.
function shareOf(attention, head, keyOf) {
  const weights = attention.weights(head);
  let share = 0;
  let even = 0;
  let count = 0;
  for (let i = 0; i < attention.queries; ++i) {
    const seen = attention.seen(i);
    const key = keyOf(attention, i, i + attention.keys - attention.queries);
    if (key < 0 || key >= seen || seen < 2) continue;
    share += weights[i * attention.keys + key];
    even += 1 / seen;
    ++count;
  }
  return { share: share / count, even: even / count, count };
}

const lostOf = new WeakMap(); // by attention: of every head that was asked for

// The number of queries of a head whose weights are NaN.
export function lostQueries(attention, head) {
  if (!lostOf.has(attention)) lostOf.set(attention, []);
  const known = lostOf.get(attention);
  if (known[head] === undefined) {
    const weights = attention.weights(head);
    known[head] = 0;
    for (let i = 0; i < attention.queries; ++i) known[head] += Number.isNaN(weights[i * attention.keys]);
  }
  return known[head];
}

export function headSays(attention, head) {
  const lost = lostQueries(attention, head);
  if (lost > 0) return `NaN: the weights of ${lost} of ${attention.queries} queries are not numbers.`;
  if (attention.keys === 1) return 'Sees a single token.';
  const roles = attention.cross ? [] : attention.grid ? PATCH_ROLES : ROLES;
  const [best] = roles.map(([name, keyOf]) => ({ name, ...shareOf(attention, head, keyOf) }))
    .filter(({ share, even, count }) => 2 * count >= Math.min(attention.queries, 8) && share > 0.3 && share > 2 * even)
    .sort((a, b) => b.share - a.share);
  const percent = best && `${Math.round(100 * best.share)}% of its weight`;
  if (best) return `${best.share > 0.5 ? 'Attends' : 'Attends mostly'} to ${best.name}: ${percent}.`;
  const entropy = attention.entropy[head];
  if (entropy > 0.95 * attention.mostEntropy(head)) return 'Attends almost uniformly to everything it can see.';
  const keys = Math.exp(entropy);
  const unit = attention.grid ? 'patch' : 'token';
  return keys < 1.5 ? `Attends to one ${unit} at a time, at no fixed position.`
    : `Spreads over about ${keys.toFixed(keys < 10 ? 1 : 0)} ${unit === 'patch' ? 'patches' : 'tokens'}, at no fixed position.`;
}
