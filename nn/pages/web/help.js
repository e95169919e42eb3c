// What a panel shows, what is good and what is bad there, and where the course explains it. Hidden
// behind a "?".
import { h } from './dom.js';

const CHAPTERS = {
  1: ['1-a-tape-in-ten-minutes', 'a tape in ten minutes'],
  2: ['2-gradients-by-hand-and-by-machine', 'gradients by hand and by machine'],
  4: ['4-the-loop-and-its-optimisers', 'the loop and its optimisers'],
  7: ['7-softmax-and-cross-entropy', 'softmax and cross-entropy'],
  9: ['9-attention', 'attention'],
  10: ['10-heads', 'heads'],
  12: ['12-from-attention-to-the-transformer', 'from attention to the Transformer'],
  13: ['13-a-gpt-that-writes', 'a GPT that writes'],
  15: ['15-training-and-what-goes-wrong', 'training and what goes wrong'],
  16: ['16-the-state-of-a-training-and-all-reduce-by-hand', 'the state of a training run'],
};

const HELP = {
  predictions: { chapter: 7,
    shows: 'Every token as the model saw it coming: pale where it was sure of it, strong where it was ' +
      'surprised. The loss is the mean of \u2212ln p, the surprise in nats.',
    good: 'a loss far below that of blind guessing, and strong colours only where nobody could know.',
    bad: 'strong colours everywhere, or on words that the text has just used.' },
  attention: { chapter: 10,
    shows: 'Where each head looks: the weights of a query (a row) over the keys (columns) add up to 1. ' +
      'Entropy says over how many keys a head spreads its weight: e to its power is their number.',
    good: 'heads that differ: one on the previous token, one on the first, one on what is alike.',
    bad: 'all heads alike, or weights as even as they can be (entropy at its maximum) in a trained model.' },
  token: { chapter: 12,
    shows: 'One token\u2019s vector on its way: every layer reads it, and adds something to it. Blue ' +
      'columns are numbers above 0, orange ones below.',
    good: 'a stream that every layer changes a little: cosines near 1, lengths that grow slowly.',
    bad: 'one layer that drowns all others, or a layer that adds nothing.' },
  tape: { chapter: 1,
    shows: 'The operations of the step in the order in which they ran, and backward through them: each ' +
      'takes the gradient of its output and produces those of its inputs.',
    good: 'gradients whose deviation stays within a few powers of ten from layer to layer.',
    bad: '\u201cnone\u201d where a gradient was expected, and NaN or infinities, which are marked.' },
  memory: { chapter: 15,
    shows: 'The bytes in tensors, operation by operation. Forward keeps what backward will need; backward ' +
      'lets it go.',
    good: 'a peak at the end of the forward pass and a steady fall after it.',
    bad: 'a few blocks that are much larger than the rest at the peak: look at which operation made them.' },
  gradients: { chapter: 15,
    shows: 'Every parameter: the sizes of its values and of its gradient, by powers of two.',
    good: 'gradients of similar size in all layers, without zeros.',
    bad: 'dead units, parameters whose gradient is 0, sizes that shrink from layer to layer. (The middle ' +
      'third of qkv.bias, that of the keys, has none by nature: softmax does not see what is added to all ' +
      'scores alike.)' },
  curves: { chapter: 15,
    shows: 'The loss of the training batches and of text that is never trained on, and what drives it.',
    good: 'both losses falling together, below the dashed lines.',
    bad: 'a validation loss that rises while the other falls (it learns by heart), spikes, or a loss that ' +
      'stays at a dashed line.' },
  samples: { chapter: 13,
    shows: 'What the model wrote at each evaluation, always from the same random numbers.',
    good: 'letters, then words, then sentences.',
    bad: 'the same few words again and again, or passages copied from the text.' },
  sentence: { chapter: 10,
    shows: 'The same few tokens of the validation text at every evaluation that was kept: how likely ' +
      'the model found each, and where its heads looked.',
    good: 'colours that fade, and heads that become sharp, each in its own way.',
    bad: 'heads that look the same from the first evaluation to the last.' },
  flow: { chapter: 15,
    shows: 'What one update did to every parameter, at each evaluation.',
    good: 'an update of about a thousandth of the value.',
    bad: 'a millionth (it learns nothing), or near 1 (it forgets what it knew).' },
  processes: { chapter: 16,
    shows: 'What each process of a shared training did, and how long it waited for the others.',
    good: 'little waiting, and gradients that travel behind the backward pass.',
    bad: 'one process that all others wait for.' },
  recipe: { chapter: 4,
    shows: 'Every setting of this training, and losses that need no model to compare with.',
    good: 'a validation loss below \u201ccounting pairs\u201d: the model looks further back than one token.',
    bad: 'one at \u201ccounting tokens\u201d: it does not use what it reads.' },
};

// The "?" of a tab. A page next to the course gives its location in the root's data-course.
export function helpFor(name) {
  const help = HELP[name];
  if (!help) return '';
  const [file, title] = CHAPTERS[help.chapter];
  const course = document.documentElement.dataset.course;
  const chapter = `chapter ${help.chapter}, ${title}`;
  const line = (kind, text) => h('p', {}, h('b', {}, `${kind}: `), text);
  return h('details', { class: 'help', 'data-help': name },
    h('summary', { 'aria-label': 'What this shows' }, '?'),
    h('div', {}, h('p', {}, help.shows), line('Good', help.good), line('Bad', help.bad),
      h('p', { class: 'quiet' }, 'In the course: ', course ? h('a', { href: `${course}${file}.html` }, chapter)
        : `${chapter} (docs/course/${file}.md)`)));
}
