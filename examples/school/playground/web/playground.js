// The playground: a small GPT trains in this page, using the library in a worker, and the views of
// `tapestry train` and `tapestry inspect` are shown live. Read next: worker.js; controls.js;
// views.js.
import { asOpened, followAddress, valueInAddress } from './address.js';
import { beginning, whileItRuns, WORTH_ASKING } from './controls.js';
import { h, number } from './dom.js';
import { headline } from './headline.js';
import { helpFor } from './help.js';
import { operationsView } from './operations.js';
import { partsView } from './parts.js';
import { playgroundStory } from './playground_story.js';
import { rulesView } from './rules.js';
import { shareView } from './share.js';
import { speak } from './speak.js';
import { stageView } from './stage.js';
import { storyBar } from './story.js';
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
  const losses = !curves.loss.latest ? '' : `. Loss ${number(curves.loss.latest.value)}, ` +
    `learning rate ${number(curves.lr.latest.value, 3)}` +
    (curves.val.latest ? `, validation ${number(curves.val.latest.value)}` : '');
  const word = state === 'finished' ? 'Finished' : playing ? 'Running' : 'Paused';
  return `${word}: step ${step} of ${recipe.steps}${losses}.`;
}

const MORE_STEPS = 1000;

function showPlayground() {
  document.title = 'Playground \u2013 Tapestry';
  let isReady = false; // the library; a tab that opens with the page asks again later
  const say = (kind, more) => isReady && worker.postMessage({ kind, ...more });
  const status = h('p', { 'data-readout': 'status' }, 'Loading the library.');
  const subtitle = h('p', { class: 'quiet', 'data-readout': 'subtitle' });
  const failed = h('p', { class: 'warn', 'data-readout': 'failed', role: 'alert', hidden: true });
  const other = h('p', { class: 'warn', 'data-readout': 'differs', hidden: true });
  const head = headline(null);
  const bar = h('progress', { max: 1, value: 0, 'aria-label': 'Steps done' });
  const run = h('button', { class: 'step-button play', 'data-control': 'run', disabled: true,
    onclick: () => say(playing ? 'pause' : 'play') }, 'Play');
  const one = h('button', { class: 'step-button', 'data-control': 'step', disabled: true,
    onclick: () => say('step') }, 'One step');
  const more = h('button', { class: 'step-button', 'data-control': 'more', disabled: true,
    onclick: () => say('more', { steps: MORE_STEPS }) }, `${MORE_STEPS} more steps`);
  let playing = false;
  const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  let begun = valueInAddress('play') === null || isStill; // otherwise it plays by itself
  document.body.toggleAttribute('data-front', valueInAddress('front') !== null); // of the site: the first screen only
  let saved = 0; // the step that was saved
  let latest = null; // report
  let spokenStep = 0; // when its status was last read aloud

  const during = whileItRuns(change, () => samples.ask());
  const usualRate = () => during.set({ lr: before.rate(), dropout: during.dropout() });
  const before = beginning(restart, usualRate);
  usualRate();
  const samples = samplesView((prompt) => say('sample', { prompt, tokens: 160,
    temperature: during.temperature() }), during.ofSamples);
  const written = h('section', { class: 'written', 'aria-label': 'What the model writes' });
  samples.fill(written);
  const stage = stageView((sentence) => say('look', { sentence, of: 'stage' }), written);
  const looks = lookView((sentence) => say('look', { sentence }));
  const share = shareView(() => say('save'));
  const bits = bitsView(() => say('digest'), share.element);
  const operations = operationsView(() => say('operations'));
  const changes = {}; // by kind: changes that tapestry train cannot reproduce
  const parts = partsView({ ask: (sentence) => say('heads', { sentence }),
    askLosses: () => say('losses'), takeAway: (those) => {
      const any = Object.values(those).some((part) => part === true || part.length > 0);
      note('parts', any && 'Parts are removed');
      say('takeAway', those);
    } });
  const rules = rulesView((rule) => {
    note('rule', rule.op !== '' && 'A rule is broken');
    say('breakRule', rule);
  }, () => say('check'));
  const reports = [waitingView(curvesTab), waitingView(flowTab)];
  const views = [
    ['curves', 'Curves', reports[0].fill],
    ['parts', 'Parts', parts.fill],
    ['operations', 'One operation', operations.fill],
    ['attention', 'Attention', looks.fill('attention')],
    ['tape', 'Tape', looks.fill('tape')],
    ['gradients', 'Gradients', looks.fill('gradients')],
    ['flow', 'Gradient flow', reports[1].fill],
    ['rules', 'Gradient check', rules.fill],
    ['bits', 'Bits', bits.fill],
  ];
  const tabs = tabbed(views.map(([name, label, fill]) => [name, label, (panel) => {
    panel.append(helpFor(name));
    fill(panel);
  }]));

  function change() {
    if (latest) say('change', { lr: during.lr(), dropout: during.dropout() });
  }

  function note(kind, change) {
    changes[kind] = change;
    share.say(Object.values(changes).filter(Boolean));
  }

  function restart() {
    failed.hidden = true;
    try {
      const run = before.run();
      const settings = run ? null : { ...before.text(), settings: { ...before.settings(), lr: during.lr(),
        dropout: during.dropout() } };
      if (!before.ask(latest ? latest.status.step : 0)) return;
      if (run) say('resume', run);
      else say('start', settings);
    } catch (error) {
      answers.failed(error);
    }
  }

  const answers = {
    opened() {
      isReady = true;
      restart();
    },
    started({ beginning: text, settings, rules: breakable, differs }) {
      reports.forEach((view) => view.clear());
      samples.clear();
      bits.clear();
      looks.begin(text, settings.context);
      stage.begin(text, settings.context);
      saved = 0;
      during.set(settings);
      operations.clear();
      share.clear();
      parts.begin(settings, text);
      rules.begin(breakable);
      ['parts', 'rule'].forEach((kind) => note(kind, false));
      other.hidden = differs === '';
      other.textContent = 'Its steps so far were taken with another build ' +
        `(${differs.split(' ').join(', ')}): the steps from here on have different bits.`;
    },
    report(answer) {
      const before = latest;
      latest = answer.data;
      const { step, state } = latest.status;
      const stands = standingOf(latest, answer.playing);
      const due = answer.playing && step - spokenStep >= latest.recipe.steps / 4;
      if (before && (answer.playing !== playing || before.status.state !== state || due)) {
        speak(stands);
        spokenStep = step;
      }
      playing = answer.playing;
      run.textContent = playing ? 'Pause' : 'Play';
      run.disabled = one.disabled = state === 'finished' || state === 'diverged';
      more.disabled = state === 'diverged';
      status.textContent = stands;
      status.className = state === 'diverged' ? 'warn' : '';
      document.body.dataset.step = step;
      document.body.dataset.playing = playing;
      subtitle.textContent = latest.subtitle;
      head.renew(latest.diagnosis);
      bar.value = step / Math.max(1, latest.recipe.steps);
      reports.forEach((view) => view.renew(latest));
      samples.stands(step, playing);
      parts.stands(step);
      looks.stands(step, playing);
      bits.stands(step);
      stage.stands(latest, playing);
      if (begun) return;
      begun = true;
      say('play');
    },
    sample: ({ text }) => samples.show(text),
    look: ({ of, step, data }) => {
      if (failed.dataset.of === 'look') failed.hidden = true;
      asOpened(() => (of === 'stage' ? stage.show(step, data) : looks.show(data)));
    },
    digest: (answer) => bits.show(answer),
    heads: (answer) => parts.show(answer),
    losses: (answer) => parts.losses(answer),
    taken: () => parts.taken(),
    checked: ({ text }) => rules.show(text),
    operations: ({ all, step }) => operations.show(all, step),
    saved: (answer) => {
      saved = answer.step;
      share.save(answer);
    },
    failed({ of, message }) {
      parts.failed();
      rules.failed();
      stage.failed();
      failed.hidden = false;
      failed.dataset.of = of;
      failed.textContent = message;
    },
  };

  const story = storyBar(playgroundStory);
  document.getElementById('page').replaceChildren(
    h('header', {}, h('div', { class: 'row spread' }, h('h1', {}, 'Playground'), story.buttons), h('p', {}, 'A small GPT learns to write, in this ' +
      'page: the library\u2019s own code, compiled to WebAssembly. Nothing leaves your computer.')), story.card,
    h('div', { class: 'walk' }, h('div', { class: 'row' }, run, one, more, during.element), bar, status,
      other, failed), stage.element, head.element, subtitle, before.element,
    ...tabs.elements);
  tabs.begin('curves');
  followAddress(() => {
    tabs.open(valueInAddress('tab') ?? 'curves');
    stage.follow();
  });
  window.addEventListener('beforeunload', (event) => {
    const isFront = document.body.hasAttribute('data-front'); // of which nobody has asked anything
    if (!isFront && latest && latest.status.step >= saved + WORTH_ASKING) event.preventDefault();
  });
  const worker = startWorker((answer) => answers[answer.kind](answer));
}

document.addEventListener('DOMContentLoaded', showPlayground);
