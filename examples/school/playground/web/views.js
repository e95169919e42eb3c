// The playground's tabs: those of the report, which need data; samples on demand; one inspected
// step; and the digest of the parameters.
import { attentionTab } from './attention.js';
import { gradientsTab } from './gradients.js';
import { h } from './dom.js';
import { speak } from './speak.js';
import { tapeTab } from './tape.js';

// A tab of the report, filled when it is open and data has arrived. `tab(panel, data)` returns a
// function that updates it with newer data.
export function waitingView(tab) {
  let panel = null;
  let renew = null;
  let data = null;
  const show = () => {
    if (panel === null || data === null) return;
    if (renew) return renew(data);
    panel.replaceChildren(...panel.querySelectorAll(':scope > .spoken')); // keeps its heading
    renew = tab(panel, data);
    panel.dispatchEvent(new Event('shown'));
  };
  return {
    fill(to) {
      panel = to;
      show();
    },
    renew(newer) {
      data = newer;
      show();
    },
    clear() {
      renew = null;
      data = null;
    },
  };
}

const EVERY = 3000; // milliseconds between samples, and inspections, during training

// Calls ask() when the tab is opened, when training stops at another step, and occasionally while
// it runs.
class Asking {
  constructor(ask) {
    Object.assign(this, { ask, panel: null, step: -1, latest: -1, asked: 0 });
  }

  fill(panel) {
    this.panel = panel;
    panel.addEventListener('shown', () => this.now());
  }

  now() {
    this.asked = Date.now();
    this.step = this.latest; // or a new tab would be drawn twice, losing keys pressed in between
    this.ask();
  }

  stands(step, playing) {
    const due = playing ? Date.now() - this.asked >= EVERY : step !== this.step;
    this.latest = step;
    if (this.panel !== null && !this.panel.hidden && due) this.now();
  }
}

// `slider`: the temperature's.
export function samplesView(ask, slider) {
  const prompt = h('input', { type: 'search', 'data-control': 'prompt', size: 40,
    'aria-label': 'Text to continue', placeholder: 'text to continue',
    onchange: () => write() });
  const text = h('pre', { 'data-view': 'sample', // many lines scroll, also by keys
    tabindex: '0', role: 'group', 'aria-label': 'The text' });
  let asked = false; // by the reader, who hears the answer
  const write = () => {
    asked = true;
    asking.now();
  };
  const asking = new Asking(() => ask(prompt.value));
  return {
    fill(panel) {
      panel.append(h('div', { class: 'row' }, h('label', {}, 'Begin with ', prompt),
        h('button', { class: 'step-button', 'data-control': 'write',
          onclick: () => write() }, 'Write')), slider,
      text, h('p', { class: 'quiet legend' }, 'The random numbers are the same every time: only the model and the ' +
        'temperature change.'));
      asking.fill(panel);
    },
    ask: () => asking.panel && asking.now(),
    show: (written) => {
      text.textContent = written;
      if (asked) speak(written);
      asked = false;
    },
    clear: () => {
      text.textContent = '';
      prompt.value = ''; // another text may not have its characters
      asking.step = -1;
    },
    stands: (step, playing) => asking.stands(step, playing),
  };
}

const LOOKS = { attention: attentionTab, tape: tapeTab, gradients: gradientsTab };

// The tabs of `tapestry inspect` for one step on a sentence: { fill(name), begin, show, stands }.
export function lookView(ask) {
  const parts = {}; // by name: { field, body, asking }
  let sentence = '';
  let most = 0;
  const askAgain = () => ask(sentence);
  return {
    fill: (name) => (panel) => {
      const field = h('input', { type: 'search', size: 40, value: sentence, maxlength: most,
        'data-control': 'sentence', 'aria-label': 'Sentence to look at', onchange: () => {
          sentence = field.value;
          Object.values(parts).forEach((part) => { part.field.value = sentence; });
          askAgain();
        } });
      const body = h('div', {});
      const asking = new Asking(askAgain);
      parts[name] = { field, body, asking };
      panel.append(h('div', { class: 'row sentence' }, h('label', {}, 'One step on ', field)), body);
      asking.fill(panel);
    },
    // The beginning of the text, as much as fits the context.
    begin(text, context) {
      most = context + 1;
      sentence = text.slice(0, Math.min(most, 33)).split('\n')[0];
      for (const { field, body, asking } of Object.values(parts)) {
        asking.step = -1;
        field.value = sentence;
        field.maxLength = most;
        body.replaceChildren();
      }
    },
    show(data) {
      for (const [name, { body, asking }] of Object.entries(parts)) {
        if (asking.panel.hidden) continue;
        const fresh = h('div', {});
        body.replaceChildren(fresh);
        LOOKS[name](fresh, data);
      }
    },
    // During training the picture does not change, so it can be studied.
    stands(step, playing) {
      if (!playing) Object.values(parts).forEach(({ asking }) => asking.stands(step, playing));
    },
  };
}

// `share` is shown below the digest.
export function bitsView(ask, share) {
  const digest = h('pre', { 'data-readout': 'digest' });
  const at = h('p', { class: 'quiet', 'data-readout': 'digest-step' });
  const asking = new Asking(ask);
  return {
    fill(panel) {
      panel.append(h('h3', {}, 'SHA-256 of all parameters'), digest, at,
        h('p', { class: 'legend' }, 'The same text, settings and seed give these bits in ' +
          'every browser, and in the native library with TAPESTRY_ISA=baseline, if nothing is ' +
          'changed during the run.'), share);
      asking.fill(panel);
    },
    show({ digest: text, step, steps }) {
      digest.textContent = text;
      at.textContent = `After step ${step} of ${steps}.`;
    },
    clear: () => { digest.textContent = at.textContent = ''; },
    stands: (step) => asking.stands(step, false),
  };
}
