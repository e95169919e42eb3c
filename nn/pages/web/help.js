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
  11: ['11-what-heads-do', 'what heads do'],
  13: ['13-from-attention-to-the-transformer', 'from attention to the Transformer'],
  14: ['14-a-gpt-that-writes', 'a GPT that writes'],
  16: ['16-training-and-what-goes-wrong', 'training and what goes wrong'],
  17: ['17-the-state-of-a-training-and-all-reduce-by-hand', 'the state of a training run'],
};

const HELP = {
  picture: { chapter: 13,
    shows: 'One training step as it flows: from the tokens through the layers to the predictions, and back.',
    good: 'ribbons that grow slowly from layer to layer; on the way back, ribbons of similar thickness everywhere.',
    bad: 'a ribbon that jumps (one layer outweighs all others), one that thins out on the way back (the gradient ' +
      'vanishes), or a hatched one (NaN or infinity).' },
  predictions: { chapter: 7,
    shows: 'How well the model predicted each token: pale where it was sure, strong where it was ' +
      'surprised. The loss is the mean of \u2212ln p, in nats.',
    good: 'a loss far below that of guessing, and strong colours only where the text is unpredictable.',
    bad: 'strong colours everywhere, or on words that the text has just used.' },
  attention: { chapter: 10,
    shows: 'What each head attends to: the weights of a query (a row) over the keys (columns) sum to 1. ' +
      'exp(entropy) is the effective number of keys a head attends to.',
    good: 'heads that differ: one attends to the previous token, one to the first, one to similar tokens.',
    bad: 'heads that are all the same, uniform weights (maximum entropy) in a trained model, or NaN.' },
  token: { chapter: 13,
    shows: 'One token\u2019s vector as it passes through the model: every layer reads it and adds to it. ' +
      'Blue columns are positive numbers, orange ones negative.',
    good: 'a residual stream that every layer changes a little: cosines near 1, lengths that grow slowly.',
    bad: 'one layer that outweighs all others, or a layer that adds nothing.' },
  tape: { chapter: 1,
    shows: 'The operations of the step in the order in which they ran, and backward through them: each ' +
      'takes the gradient of its output and produces those of its inputs.',
    good: 'gradients whose deviation stays within a few powers of ten from layer to layer.',
    bad: '\u201cnone\u201d where a gradient was expected, and NaN or infinities, which are marked.' },
  memory: { chapter: 1,
    shows: 'The bytes in live tensors, operation by operation. The forward pass keeps what the backward ' +
      'pass needs; the backward pass releases it and adds the gradients of the parameters.',
    good: 'with many tokens, a peak between the passes and a steady fall after it; with few tokens, a rise ' +
      'to the end, because gradients of parameters outweigh the activations.',
    bad: 'a few blocks that are much larger than the rest at the peak: look at which operation made them.' },
  gradients: { chapter: 16,
    shows: 'Every parameter: the sizes of its values and of its gradient, by powers of two.',
    good: 'gradients of similar size in all layers. Zeros are normal in embeddings, for tokens that the ' +
      'batch does not have.',
    bad: 'dead units, matrices whose gradient is 0, sizes that shrink from layer to layer. (The middle ' +
      'third of qkv.bias, that of the keys, has a zero gradient, because softmax ignores what is added to ' +
      'all scores, unless keys are rotated or normalised after it.)' },
  curves: { chapter: 16,
    shows: 'The loss on the training batches and on text that is never trained on; learning rate, gradient ' +
      'norm and speed.',
    good: 'both losses falling together, below the dashed lines.',
    bad: 'a validation loss that rises while the training loss falls (memorising), spikes, or a loss that ' +
      'stays at a dashed line.' },
  samples: { chapter: 14,
    shows: 'What the model wrote at each evaluation, always from the same random numbers.',
    good: 'letters, then words, then sentences.',
    bad: 'the same few words repeated, or passages copied from the text.' },
  sentence: { chapter: 11,
    shows: 'The same few tokens of the validation text at every evaluation that was kept: how likely ' +
      'the model found each, and what its heads attended to.',
    good: 'colours that fade, and heads that become sharp, each in its own way.',
    bad: 'heads that look the same from the first evaluation to the last.' },
  flow: { chapter: 16,
    shows: 'How much one update changed every parameter, at each evaluation.',
    good: 'an update of about a thousandth of the value, at the full learning rate. Near the end of a ' +
      'schedule that falls to 0, updates are small in a healthy run as well.',
    bad: 'at the full rate: a millionth (nothing is learned), or a tenth (what was learned is lost).' },
  parts: { chapter: 11,
    shows: 'What each head attends to while the model learns, and the loss without a head, a layer, or another part.',
    good: 'heads that take different roles; a loss that rises a little when a part is removed.',
    bad: 'a part whose removal changes nothing: the model does not use it.' },
  operations: { chapter: 2,
    shows: 'One training step, operation by operation: forward to the loss, then back through the same ' +
      'operations, each with its inputs and outputs.',
    good: 'gradients in every operation, of similar size.',
    bad: 'zeros, NaN or infinity in a gradient: nothing before that operation learns.' },
  rules: { chapter: 2,
    shows: 'What happens to training when one backward rule is wrong, and whether the gradient checker finds it.',
    good: 'a check that passes with all rules right, and names the broken rule otherwise.',
    bad: 'a wrong rule that the curves do not show: the model just learns worse.' },
  bits: { chapter: 17,
    shows: 'A digest of all parameters: it is the same wherever the same text, settings and seed are trained.',
    good: 'the same 64 digits here, in another browser and from tapestry train.',
    bad: 'different digits: a setting, the text or the seed differs.' },
  processes: { chapter: 17,
    shows: 'The work of each process of a shared run, and how long it waited for the others.',
    good: 'little waiting, and gradients that are sent during the backward pass.',
    bad: 'one process that all others wait for.' },
  recipe: { chapter: 4,
    shows: 'Every setting of this run, and losses that need no model, for comparison.',
    good: 'a validation loss below \u201ccounting pairs\u201d: the model looks further back than one token.',
    bad: 'a loss at \u201ccounting tokens\u201d: the model does not use its context.' },
};

// Where the course explains something, as a link if the page is next to the course: it gives its
// location in the root's data-course.
export function chapterOf(number) {
  const [file, title] = CHAPTERS[number];
  const course = document.documentElement.dataset.course;
  const chapter = `chapter ${number}, ${title}`;
  return ['In the course: ', course ? h('a', { href: `${course}${file}.html` }, chapter) : `${chapter} (docs/course/${file}.md)`];
}

// The "?" of a tab.
export function helpFor(name) {
  const help = HELP[name];
  if (!help) return '';
  const line = (kind, text) => h('p', {}, h('b', {}, `${kind}: `), text);
  const details = h('details', { class: 'help', 'data-help': name, onkeydown: (event) => {
    if (event.key !== 'Escape' || !details.open) return;
    details.open = false;
    details.querySelector('summary').focus();
  } },
    h('summary', { 'aria-label': 'What this shows' }, '?'),
    h('div', {}, h('p', {}, help.shows), line('Good', help.good), line('Bad', help.bad),
      h('p', { class: 'quiet' }, ...chapterOf(help.chapter))));
  return details;
}

// A click elsewhere closes an open help.
document.addEventListener('pointerdown', ({ target }) => {
  for (const open of document.querySelectorAll('.help[open]')) if (!open.contains(target)) open.open = false;
});
