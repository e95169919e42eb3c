// What is set before a training, and what may be changed while it goes on. Read next: playground.js.
import { h, number } from './dom.js';

const SIZES = {
  small: { name: '2 layers of 64', layers: 2, heads: 2, dim: 64, context: 32, batch: 8 },
  recipe: { name: '4 layers of 128', layers: 4, heads: 4, dim: 128, context: 64, batch: 12 },
};
const STORY_BYTES = 300000;
const LEAST_TEXT = 1000; // characters

const choice = (name, label, options, onchange) => h('label', {}, `${label} `,
  h('select', { 'data-control': name, onchange },
    ...options.map(([value, text]) => h('option', { value }, text))));

// Text, size and length: { element, settings(), text() }.
export function beginning(restart) {
  const own = h('textarea', { rows: 6, 'data-control': 'text', 'aria-label': 'Your own text',
    placeholder: `At least ${LEAST_TEXT} characters; a hundred thousand are better.` });
  const file = h('input', { type: 'file', accept: 'text/*,.txt', 'data-control': 'file',
    'aria-label': 'A text file', onchange: async () => {
      if (file.files.length > 0) own.value = await file.files[0].text();
    } });
  const ownText = h('div', { class: 'own-text', hidden: true },
    h('p', { class: 'quiet' }, 'Paste a text, or open a file. It stays in this page.'), own, file);
  const source = choice('source', 'Text', [['stories', 'children\u2019s stories'],
    ['own', 'your own']], () => {
    ownText.hidden = source.lastChild.value !== 'own';
  });
  const size = choice('size', 'Model', Object.entries(SIZES).map(([key, { name }]) => [key, name]));
  const steps = h('input', { type: 'number', min: 1, max: 100000, value: 2000,
    'data-control': 'steps', 'aria-label': 'Steps' });
  const seed = h('input', { type: 'number', min: 0, max: 2147483647, value: 1337,
    'data-control': 'seed', 'aria-label': 'Seed' });
  const button = h('button', { class: 'step-button', 'data-control': 'restart', onclick: restart },
    'Start over');
  return {
    element: h('div', { class: 'beginning' }, h('div', { class: 'row' }, source, size,
      h('label', {}, 'Steps ', steps), h('label', {}, 'Seed ', seed), button), ownText),
    settings() {
      const { layers, heads, dim, context, batch } = SIZES[size.lastChild.value];
      return { layers, heads, dim, context, batch, steps: Number(steps.value),
        evaluateEvery: Math.max(1, Math.min(100, Math.ceil(Number(steps.value) / 10))),
        seed: Number(seed.value) };
    },
    // What the worker is to learn from; throws where there is too little of it.
    text() {
      if (source.lastChild.value !== 'own') return { bytes: STORY_BYTES };
      if (own.value.length < LEAST_TEXT) {
        throw new Error(`Your text has ${own.value.length} characters; at least ${LEAST_TEXT} are ` +
          'needed.');
      }
      return { text: own.value };
    },
  };
}

// A slider with its value beside it. `value` makes a number of its place, `text` words of that.
function slider(name, label, [min, max, at], value, text, changed) {
  const output = h('output', { 'data-readout': name });
  const input = h('input', { type: 'range', min, max, step: 1, value: at, 'data-control': name,
    'aria-label': label, oninput: () => show(), onchange: () => changed() });
  const show = () => {
    output.textContent = text(value(Number(input.value)));
    input.setAttribute('aria-valuetext', output.textContent);
  };
  show();
  return { element: h('label', { class: 'slider' }, h('span', {}, label), input, output),
    value: () => value(Number(input.value)) };
}

// 1, 1.5, 2, 3, 5, 7 times a power of ten
const RATES = [-5, -4, -3, -2].flatMap((power) => [1, 1.5, 2, 3, 5, 7].map((x) =>
  Number(`${x}e${power}`)));

// { element, lr(), dropout(), temperature() }; `changed` follows every change of the first two.
export function whileItRuns(changed, temperatureChanged) {
  const lr = slider('lr', 'Learning rate', [0, RATES.length - 1, RATES.indexOf(1e-3)],
    (i) => RATES[i], (x) => number(x, 2), changed);
  const dropout = slider('dropout', 'Dropout', [0, 50, 0], (i) => i / 100,
    (x) => `${Math.round(100 * x)}%`, changed);
  const temperature = slider('temperature', 'Temperature of samples', [0, 15, 8], (i) => i / 10,
    (x) => x.toFixed(1), temperatureChanged);
  return { element: h('div', { class: 'row sliders' }, lr.element, dropout.element,
    temperature.element), lr: lr.value, dropout: dropout.value, temperature: temperature.value };
}
