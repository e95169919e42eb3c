// The playground: a small GPT trains in this page, by the library's own code in a worker, and what
// `tapestry train` and `tapestry inspect` show of a training is shown while it goes on. Read next:
// worker.js; controls.js; views.js.
import { beginning, whileItRuns } from './controls.js';
import { h, number } from './dom.js';
import { tabbed } from './tabs.js';
import { bitsView, lookView, samplesView, waitingView } from './views.js';
import { curvesTab } from './curves.js';
import { flowTab } from './flow.js';

function startWorker(answered) {
  const text = document.getElementById('worker').textContent;
  const worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })));
  worker.onmessage = ({ data }) => answered(data);
  worker.onerror = (event) => answered({ kind: 'failed', of: 'open', message: event.message });
  worker.postMessage({ kind: 'open', wasm: document.getElementById('wasm').textContent.trim() });
  return worker;
}

function standingOf({ status, recipe, curves }, playing) {
  const { state, step, message } = status;
  if (state === 'diverged') return `Diverged after step ${step}: ${message}`;
  const last = ({ mean }) => mean[mean.length - 1];
  const losses = step === 0 ? '' : `. Loss ${number(last(curves.loss))}` +
    (curves.val.mean.length > 0 ? `, validation ${number(last(curves.val))}` : '');
  const word = state === 'finished' ? 'Finished' : playing ? 'Running' : 'Paused';
  return `${word}: step ${step} of ${recipe.steps}${losses}.`;
}

function showPlayground() {
  document.title = 'Playground \u2013 Tapestry';
  const say = (kind, more) => worker.postMessage({ kind, ...more });
  const status = h('p', { 'data-readout': 'status', role: 'status' }, 'Loading the library.');
  const subtitle = h('p', { class: 'quiet', 'data-readout': 'subtitle' });
  const failed = h('p', { class: 'warn', 'data-readout': 'failed', role: 'alert', hidden: true });
  const bar = h('progress', { max: 1, value: 0, 'aria-label': 'Steps done' });
  const run = h('button', { class: 'step-button', 'data-control': 'run', disabled: true,
    onclick: () => say(playing ? 'pause' : 'play') }, 'Play');
  const one = h('button', { class: 'step-button', 'data-control': 'step', disabled: true,
    onclick: () => say('step') }, 'One step');
  let playing = false;
  let latest = null; // report

  const before = beginning(restart);
  const during = whileItRuns(change, () => samples.ask());
  const samples = samplesView((prompt) => say('sample', { prompt, tokens: 160,
    temperature: during.temperature() }));
  const looks = lookView((sentence) => say('look', { sentence }));
  const bits = bitsView(() => say('digest'));
  const reports = [waitingView(curvesTab), waitingView(flowTab)];
  const tabs = tabbed([
    ['curves', 'Curves', reports[0].fill],
    ['samples', 'Samples', samples.fill],
    ['attention', 'Attention', looks.fill('attention')],
    ['tape', 'Tape', looks.fill('tape')],
    ['gradients', 'Gradients', looks.fill('gradients')],
    ['flow', 'Gradient flow', reports[1].fill],
    ['bits', 'Bits', bits.fill],
  ]);

  function change() {
    if (latest) say('change', { lr: during.lr(), dropout: during.dropout() });
  }

  function restart() {
    failed.hidden = true;
    try {
      say('start', { ...before.text(), settings: { ...before.settings(), lr: during.lr(),
        dropout: during.dropout() } });
    } catch (error) {
      answers.failed(error);
    }
  }

  const answers = {
    opened: restart,
    started({ beginning: text }) {
      reports.forEach((view) => view.clear());
      samples.clear();
      bits.clear();
      looks.begin(text, before.settings().context);
    },
    report(answer) {
      latest = answer.data;
      playing = answer.playing;
      const { step, state } = latest.status;
      run.textContent = playing ? 'Pause' : 'Play';
      run.disabled = one.disabled = state === 'finished' || state === 'diverged';
      status.textContent = standingOf(latest, playing);
      status.className = state === 'diverged' ? 'warn' : '';
      document.body.dataset.step = step;
      document.body.dataset.playing = playing;
      subtitle.textContent = latest.subtitle;
      bar.value = step / Math.max(1, latest.recipe.steps);
      reports.forEach((view) => view.renew(latest));
      samples.stands(step, playing);
      looks.stands(step, playing);
      bits.stands(step, latest.recipe.steps);
    },
    sample: ({ text }) => samples.show(text),
    look: ({ data }) => looks.show(data),
    digest: ({ digest }) => bits.show(digest),
    failed({ message }) {
      failed.hidden = false;
      failed.textContent = message;
    },
  };

  document.getElementById('page').replaceChildren(
    h('header', {}, h('h1', {}, 'Playground'), h('p', {}, 'A small GPT learns to write, in this ' +
      'page: the library\u2019s own code, compiled to WebAssembly. Nothing leaves your computer.')),
    before.element,
    h('div', { class: 'walk' }, h('div', { class: 'row' }, run, one, during.element), bar, status,
      subtitle, failed),
    ...tabs.elements);
  tabs.open('curves');
  const worker = startWorker((answer) => answers[answer.kind](answer));
}

document.addEventListener('DOMContentLoaded', showPlayground);
