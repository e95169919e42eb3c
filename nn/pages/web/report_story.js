// The tour of a report: see story.js.

const firstLook = ({ evaluations }) => evaluations.find(({ look }) => look)?.step ?? null;
const lastLook = ({ evaluations }) => evaluations.filter(({ look }) => look).pop()?.step ?? null;

const RUN_WORDS = [
  ['picture', (data) => ({ step: lastLook(data) }), 'Did it go well?', 'The sentence at the top says it, with the losses it rests ' +
    'on, and gives the command to run next.', 16],
  ['picture', (data) => ({ step: firstLook(data) }), 'Before it knew anything', 'The first evaluation: heads look everywhere alike, ' +
    'and every next token is nearly as likely as any other. Drag the track, or press Play.', 14],
  ['picture', (data) => ({ step: lastLook(data) }), 'Afterwards', 'The same sentence, the same picture: heads have found roles, and ' +
    'the bars at the right have grown where the text can be known.', 11],
  ['picture', (data) => ({ step: lastLook(data), back: 1 }), 'The way back', 'The gradients of the same streams, on a logarithmic scale. ' +
    'Ribbons of similar thickness everywhere: all layers learn.', 2],
  ['curves', () => ({}), 'The loss falls', 'The mean of \u2212ln p, on batches that it trains on and on text that it never sees.', 7],
  ['curves', () => ({}), 'Lines to compare with', 'Guessing knows nothing; counting knows how often each token occurs; pairs also know ' +
    'the one before. Below the last line, the model looks further back.', 7],
  ['curves', () => ({}), 'Two curves that part', 'If the training loss falls and the validation loss rises, the model is memorising: ' +
    'stop there, or use more text.', 16],
  ['curves', () => ({}), 'The rate', 'It rises at first, because the optimiser\u2019s means know only few gradients yet; then it falls, so that the last steps settle.', 16],
  ['curves', () => ({}), 'The norm, and clipping', 'One bad batch can throw a model far off. A gradient that is longer than the ' +
    'limit is shortened to it. That many are shortened is no bad sign by itself.', 16],
  ['samples', () => ({}), 'What it writes', 'Letters, then words, then sentences: always from the same random numbers, so only the model differs.', 14],
  ['flow', () => ({}), 'How far each step goes', 'At the full rate a healthy update is about a thousandth of the value. A millionth: ' +
    'nothing is learned. A tenth: what was learned is lost.', 16],
  ['recipe', () => ({}), 'Again', 'Every setting, and a command that gives the same bits on this machine.', 17],
];

// Cards for the tabs that the page has.
export const reportStory = (data, tabs) => RUN_WORDS.filter(([tab]) => tabs.includes(tab))
  .map(([tab, state, title, text, chapter]) => ({ title, text, chapter, state: { tab, ...state(data) } }));
