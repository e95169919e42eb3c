// The tour of the playground: see ../../../../nn/pages/web/story.js.

// [state, title, text, chapter]; without a tab a card speaks of the first screen.
const PLAYGROUND_WORDS = [
  [{}, 'Press Play', 'A GPT whose weights are random numbers. It reads the text in small batches, and after each one every weight moves a ' +
    'little, so that the right letters become likelier.', 14],
  [{ column: 0 }, 'Rows are letters', 'Each letter has a vector, a ribbon from left to right; layers add to it, and at the right it has become a ' +
    'prediction of the next letter. The picture is drawn anew about once a second.', 13],
  [{}, 'The loss, as a track', 'Below the picture: the loss of every step. It begins at guessing, the logarithm of the number of letters. Drag along ' +
    'it to look back at an earlier step.', 7],
  [{}, 'What it writes', 'Beside the picture: first letters, then words, then something like sentences. The random numbers are always the same, ' +
    'so only the model differs. A lower temperature takes the likeliest letters.', 14],
  [{}, 'The rate', 'Move the first slider while it runs. At ten times the rate the loss leaps; at a tenth of it the loss creeps. The ' +
    'sentence above the settings says what is wrong.', 16],
  [{ back: 1 }, 'The way back', 'The gradients of the same vectors, from right to left, on a logarithmic scale. Ribbons of similar thickness ' +
    'everywhere: all layers learn.', 2],
  [{ tab: 'curves' }, 'Curves', 'Training loss, and the loss on text that it never learns from. Below "counting pairs" it looks back further than ' +
    'one letter.', 16],
  [{ tab: 'parts' }, 'Heads find roles', 'At first all heads look everywhere alike. After some hundred steps one looks at the letter before, another ' +
    'at the beginning of the word.', 11],
  [{ tab: 'parts' }, 'Take something away', 'Press a head, a layer, or a box: the loss without that part is beside that of the whole model. Without ' +
    'positions it is a bag of letters.', 13],
  [{ tab: 'operations' }, 'One operation at a time', 'The step as the tape records it: each operation with its inputs and its output, forward to the ' +
    'loss and back again.', 1],
  [{ tab: 'rules' }, 'A wrong gradient', 'Break a backward rule and train on: nothing fails, the model only learns worse. Then let the gradient ' +
    'checker look for it.', 2],
  [{ tab: 'bits' }, 'The same bits', 'Text, settings and seed decide every bit of the result, here as on the command line. Save the run, and ' +
    'continue it there.', 17],
];

export const playgroundStory = PLAYGROUND_WORDS.map(([state, title, text, chapter]) => ({ title, text, chapter, state }));
