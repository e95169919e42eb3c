// The settings before a run, and those that can change during it. Read next: playground.js.
import { keepState, valueInAddress } from './address.js';
import { h, number } from './dom.js';

// The names are those in the address, #model=recipe.
const SIZES = {
  small: { name: '2 layers of 64', layers: 2, heads: 2, dim: 64, context: 32, batch: 8 },
  recipe: { name: '4 layers of 128', layers: 4, heads: 4, dim: 128, context: 64, batch: 12 },
  // docs/course/14-a-gpt-that-writes.md, where it learns in f64 and without warm-up
  chapter14: { name: 'chapter 14: 2 layers of 32', layers: 2, heads: 4, dim: 32, context: 32, batch: 16, rotary: true,
    lr: 1e-2, storyBytes: 200000 },
};
const USUAL = { rotary: false, lr: 1e-3, storyBytes: 300000 };
const LEAST_TEXT = 1000; // characters
export const WORTH_ASKING = 20; // steps of a run

const choice = (name, label, options, onchange) => h('label', {}, `${label} `,
  h('select', { 'data-control': name, onchange },
    ...options.map(([value, text]) => h('option', { value }, text))));

// A run saved by this page, or a directory of tapestry train: { element, files() }.
function savedRun() {
  const input = (name, label, more) => h('input', { type: 'file', 'data-control': name,
    'aria-label': label, ...more });
  const archive = input('archive', 'A saved run, playground.tar.gz', { accept: '.gz,.tar' });
  const directory = input('directory', 'A directory that tapestry train wrote',
    { webkitdirectory: true });
  const text = input('run-text', 'The training text', { accept: 'text/*,.txt' });
  return {
    element: h('div', { class: 'own-text', hidden: true },
      h('p', { class: 'quiet' }, 'A run that was saved here, or a directory of tapestry train with ' +
        'its training text. It stays in this page.'),
      h('div', { class: 'row' }, h('label', {}, 'Saved run ', archive)),
      h('div', { class: 'row' }, h('label', {}, 'or directory ', directory),
        h('label', {}, 'and text ', text))),
    files() {
      if (archive.files.length > 0) return { archive: archive.files[0] };
      if (directory.files.length === 0) throw new Error('Choose a saved run, or a directory.');
      return { text: text.files[0], directory: Array.from(directory.files)
        .map((file) => ({ path: file.webkitRelativePath, file }))
        .filter(({ path }) => !/\/(rewind|best)\//.test(path)) };
    },
  };
}

const MOST_STEPS = 100000;
const ASKED_FOR = 4000; // milliseconds in which a second press discards the run

// The number in a field; otherwise an error that names the field.
function wholeIn(field, low, high) {
  const x = Number(field.value);
  if (field.value !== '' && Number.isInteger(x) && x >= low && x <= high) return x;
  throw new Error(`${field.getAttribute('aria-label')} must be a whole number from ${low} to ${high}.`);
}

// Text, size and length: { element, settings(), text(), ask(steps), rate() }. `sized` is called when another
// size is chosen.
export function beginning(restart, sized) {
  const own = h('textarea', { rows: 6, 'data-control': 'text', 'aria-label': 'Your own text',
    placeholder: `At least ${LEAST_TEXT} characters; a hundred thousand are better.` });
  const file = h('input', { type: 'file', accept: 'text/*,.txt', 'data-control': 'file',
    'aria-label': 'A text file', onchange: async () => {
      if (file.files.length > 0) own.value = await file.files[0].text();
    } });
  const ownText = h('div', { class: 'own-text', hidden: true },
    h('p', { class: 'quiet' }, 'Paste a text, or open a file. It stays in this page.'), own, file);
  const saved = savedRun();
  const chosen = () => source.lastChild.value;
  const source = choice('source', 'Text', [['stories', 'children\u2019s stories'],
    ['own', 'your own'], ['saved', 'a saved run']], () => {
    ownText.hidden = chosen() !== 'own';
    saved.element.hidden = chosen() !== 'saved';
    for (const field of [size.lastChild, steps, seed]) field.disabled = chosen() === 'saved';
  });
  const size = choice('size', 'Model', Object.entries(SIZES).map(([key, { name }]) => [key, name]), () => {
    keepState({ model: size.lastChild.value });
    sized();
  });
  if (Object.hasOwn(SIZES, valueInAddress('model') ?? '')) size.lastChild.value = valueInAddress('model');
  const chosenSize = () => ({ ...USUAL, ...SIZES[size.lastChild.value] });
  const steps = h('input', { type: 'number', min: 1, max: MOST_STEPS, value: 2000,
    'data-control': 'steps', 'aria-label': 'Steps' });
  const seed = h('input', { type: 'number', min: 0, max: 2147483647, value: 1337,
    'data-control': 'seed', 'aria-label': 'Seed' });
  const button = h('button', { class: 'step-button', 'data-control': 'restart', onclick: restart },
    'Start over');
  return {
    // Whether a run of so many steps may be discarded: the button asks, and a second press answers.
    ask(taken) {
      if (taken < WORTH_ASKING || button.dataset.asked) {
        delete button.dataset.asked;
        button.textContent = 'Start over';
        return true;
      }
      button.dataset.asked = 'yes';
      button.textContent = `Discard ${taken} steps?`;
      setTimeout(() => {
        delete button.dataset.asked;
        button.textContent = 'Start over';
      }, ASKED_FOR);
      return false;
    },
    element: h('div', { class: 'beginning' }, h('div', { class: 'row' }, source, size,
      h('label', {}, 'Steps ', steps), h('label', {}, 'Seed ', seed), button), ownText,
    saved.element),
    // The peak rate that the chosen model begins with.
    rate: () => chosenSize().lr,
    // The files of a run to resume; null to begin a new one.
    run: () => (chosen() === 'saved' ? saved.files() : null),
    settings() {
      const { layers, heads, dim, context, batch, rotary } = chosenSize();
      const count = wholeIn(steps, 1, MOST_STEPS);
      return { layers, heads, dim, context, batch, rotary, steps: count,
        evaluateEvery: Math.max(1, Math.min(100, Math.ceil(count / 10))),
        seed: wholeIn(seed, 0, 2147483647) };
    },
    // The training text; throws if it is too short.
    text() {
      if (chosen() !== 'own') return { bytes: chosenSize().storyBytes };
      if (own.value.length < LEAST_TEXT) {
        throw new Error(`Your text has ${own.value.length} characters; at least ${LEAST_TEXT} are ` +
          'needed.');
      }
      return { text: own.value };
    },
  };
}

// A slider with its value next to it. `value` maps its position to a number, `text` formats that.
function slider(name, label, [min, max, at], value, text, changed) {
  const output = h('output', { 'data-readout': name });
  let exact = null; // a value between two positions
  const current = () => exact ?? value(Number(input.value));
  const input = h('input', { type: 'range', min, max, step: 1, value: at, 'data-control': name,
    'aria-label': label, oninput: () => {
      exact = null;
      show();
    }, onchange: () => changed() });
  const show = () => {
    output.textContent = text(current());
    input.setAttribute('aria-valuetext', output.textContent);
  };
  show();
  return { element: h('label', { class: 'slider' }, h('span', {}, label), input, output),
    value: current,
    put(place, x) {
      input.value = place;
      exact = x;
      show();
    } };
}

// 1, 1.5, 2, 3, 5, 7 times a power of ten
const RATES = [-5, -4, -3, -2].flatMap((power) => [1, 1.5, 2, 3, 5, 7].map((x) =>
  Number(`${x}e${power}`)));

// { element, lr(), dropout(), temperature() }; `changed` is called after every change of the first
// two.
export function whileItRuns(changed, temperatureChanged) {
  const lr = slider('lr', 'Peak learning rate', [0, RATES.length - 1, RATES.indexOf(1e-3)],
    (i) => RATES[i], (x) => number(x, 2), changed);
  const dropout = slider('dropout', 'Dropout', [0, 50, 0], (i) => i / 100,
    (x) => `${Math.round(100 * x)}%`, changed);
  const temperature = slider('temperature', 'Temperature of samples', [0, 15, 8], (i) => i / 10,
    (x) => x.toFixed(1), temperatureChanged);
  return { element: h('div', { class: 'row sliders' }, lr.element, dropout.element), ofSamples: temperature.element, lr: lr.value, dropout: dropout.value, temperature: temperature.value,
    // Sets the run's values: an opened run's may lie between positions.
    set(settings) {
      const far = (x) => Math.abs(Math.log(x / settings.lr));
      lr.put(RATES.reduce((best, x, i) => (far(x) < far(RATES[best]) ? i : best), 0),
      settings.lr);
      dropout.put(Math.round(100 * settings.dropout), settings.dropout);
    } };
}
