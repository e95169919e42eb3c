// The tour of a page of one step: see story.js.

const WORDS = [
  ['picture', { column: 0 }, 'Tokens are rows', 'Each row is a token: a letter, or a piece of a word. Its vector begins ' +
    'at the left, as a row of a table, and stays in its row until it becomes a prediction at the right.', 13],
  ['picture', { column: 1 }, 'Every layer adds', 'What is thick is long: the ribbon is the residual stream. Attention adds a ' +
    'vector to it, then the feed-forward layer adds another. Nothing is overwritten, so there is always a way on which nothing is lost.', 13],
  ['picture', { column: 1 }, 'Reading from others', 'Only in attention does one row learn from another. The blue lines are ' +
    'weights: where the chosen token looks, softly. They sum to 1.', 9],
  ['attention', {}, 'Heads', 'Several attentions run side by side, each on a slice of the vector. One may look at the previous ' +
    'token, another at the first, another at what followed the same token before.', 10],
  ['attention', {}, 'A weight, by hand', 'At the bottom: a query times a key, number by number, divided by the root of how ' +
    'many numbers each has; then softmax over the row. Choose another pair, and compare.', 9],
  ['token', {}, 'One token on its way', 'The same vector, stage by stage: norm, query, key and value, the heads, W_O, the sum. ' +
    'Play it; every number is the model\u2019s own.', 13],
  ['predictions', {}, 'From scores to a loss', 'The last vector becomes a score for every token, softmax makes probabilities ' +
    'of them, and the loss is \u2212ln p of the right one: strong colours are surprises.', 7],
  ['picture', { back: 1 }, 'The way back', 'Now from right to left: how much would the loss change if this vector did? Where the ' +
    'ribbon thins out, the gradient vanishes, and what lies before it learns nothing.', 2],
  ['tape', {}, 'The tape', 'The list of operations that ran. Backward walks it from the end: each operation hands its gradient to ' +
    'its inputs by a rule of its own.', 1],
  ['memory', {}, 'What the way back needs', 'The forward pass keeps what those rules will ask for, and the way back releases it. ' +
    'That is why training needs so much more memory than writing.', 1],
  ['gradients', {}, 'What will change', 'Every parameter, with the sizes of its values and of its gradient. The optimiser moves ' +
    'each a little against its gradient; that was one step.', 4],
  ['gradients', {}, 'When it goes wrong', 'Units that never fire, matrices whose gradient is 0, sizes that shrink from layer to ' +
    'layer, NaN: they are all visible here, and the sentence at the top of the page names the first.', 16],
];

const inWords = (words) => words.map(([tab, state, title, text, chapter]) => ({ title, text, chapter, state: { tab, ...state } }));

// Cards for the tabs that the page has.
export const inspectStory = (tabs) => inWords(WORDS).filter(({ state }) => tabs.includes(state.tab));
