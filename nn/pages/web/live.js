// Interactive pages: another prompt, heads switched off, a sample, computed by the library in a
// worker, if the build included it in the page (cmake/live_pages.sh). Read next: live_worker.js.
import { h } from './dom.js';
import { speak } from './speak.js';

const textOf = (id) => document.getElementById(id)?.textContent ?? null;

// Sends requests one after another to a worker that the first one creates.
class Library {
  constructor() {
    Object.assign(this, { worker: null, waiting: new Map(), number: 0 });
  }

  ask(kind, asked = {}) {
    if (this.worker === null) this.start();
    return new Promise((done, fail) => {
      this.waiting.set(++this.number, { done, fail });
      this.worker.postMessage({ kind, number: this.number, ...asked });
    });
  }

  start() {
    const text = textOf('live-worker');
    this.worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })));
    this.worker.onmessage = ({ data: { number, answer, failed } }) => {
      const { done, fail } = this.waiting.get(number);
      this.waiting.delete(number);
      if (failed === undefined) done(answer);
      else fail(new Error(failed));
    };
    this.worker.onerror = (event) => this.waiting.forEach(({ fail }) => fail(new Error(event.message)));
  }
}

// layers x heads buttons: { element, off() }, where off() lists those switched off.
function headSwitches({ layers, heads }, changed) {
  const rows = Array.from({ length: layers }, (_, layer) => h('div', { class: 'row' },
    h('span', {}, `Layer ${layer}`), ...Array.from({ length: heads }, (__, head) =>
      h('button', { class: 'head-switch', 'aria-pressed': 'true', 'data-switch': layer * heads + head,
        'aria-label': `Layer ${layer}, head ${head}`, onclick: ({ currentTarget }) => {
          const on = currentTarget.getAttribute('aria-pressed') === 'true';
          currentTarget.setAttribute('aria-pressed', String(!on));
          changed();
        } }, String(head)))));
  const element = h('details', { class: 'switches' }, h('summary', {}, 'Heads'), ...rows);
  return { element, off: () => [...element.querySelectorAll('[aria-pressed="false"]')]
    .map((button) => button.dataset.switch).join(',') };
}

// The bar above the tabs; `show` receives the data of another step. Null if the page has no
// library.
export function liveBar(prompt, show) {
  const packed = textOf('live-wasm');
  if (packed === null) return null;
  if (packed === '') {
    return h('p', { class: 'quiet', 'data-readout': 'live' },
      'This page shows one prompt; a build with live pages takes others (docs/inspect.md).');
  }
  const library = new Library();
  const field = h('input', { type: 'search', size: 48, value: prompt, 'data-control': 'prompt',
    'aria-label': 'Prompt', onchange: () => look() });
  const failed = h('p', { class: 'warn', role: 'alert', hidden: true, 'data-readout': 'failed' });
  const status = h('span', { class: 'quiet', 'data-readout': 'live' });
  const written = h('pre', { hidden: true, 'data-view': 'sample' });
  const temperature = h('input', { type: 'number', min: 0, max: 5, step: 0.1, value: 0.8,
    'data-control': 'temperature' });
  const place = h('div', {});
  let off = () => '';
  let opened = null;

  // only the latest request matters
  let asked = 0;
  async function answered(kind, more, use) {
    const own = ++asked;
    status.textContent = 'Computing \u2026';
    failed.hidden = true;
    try {
      await (opened ??= library.ask('open', { wasm: packed.trim(),
        files: JSON.parse(textOf('live-model')) }).then(addSwitches));
      const answer = await library.ask(kind, { prompt: field.value, heads: off(), ...more });
      if (own === asked) use(answer);
    } catch (error) {
      failed.hidden = false;
      failed.textContent = error.message;
    }
    if (own === asked) status.textContent = '';
  }

  function addSwitches(shape) {
    const switches = headSwitches(shape, () => look());
    off = switches.off;
    place.replaceChildren(switches.element);
  }

  const look = () => answered('look', {}, show);
  const write = () => answered('sample', { tokens: 160, temperature: Number(temperature.value) },
    (text) => {
      written.hidden = false;
      written.textContent = text;
      speak(text);
    });
  const wake = h('button', { class: 'step-button', 'data-control': 'look', onclick: () => look() },
    'Look');
  place.append(h('p', { class: 'quiet legend' },
    'Heads can be switched off once the library is there: press Look.'));
  return h('div', { class: 'walk live' },
    h('div', { class: 'row' }, h('label', {}, 'Prompt ', field), wake,
      h('button', { class: 'step-button', 'data-control': 'write', onclick: () => write() }, 'Write on'),
      h('label', {}, 'Temperature ', temperature), status), place, failed, written);
}
