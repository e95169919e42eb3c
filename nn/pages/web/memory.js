// The memory tab: bytes in live tensors over the step, the lifetime of every block, and its owners
// at any time, initially at the peak.
import { keepState, numberOf } from './address.js';
import { bytesChart } from './chart.js';
import { breakable, bytesText, h, percent } from './dom.js';
import { saveable } from './export.js';
import { memoryPlan } from './memory_plan.js';
import { isAlive, stackView } from './memory_stack.js';
import { speak } from './speak.js';
import { scrolling, sortable, unsorted, valueCell } from './table.js';

const KINDS = ['parameter', 'input', 'activation', 'gradient'];

export function memoryTab(panel, data) {
  const { bytes, lives, peak } = data.memory;
  if (bytes.length === 0) {
    panel.append(h('p', {}, 'Nothing was recorded.'));
    return;
  }
  const forward = data.entries.length;
  const last = bytes.length - 1;
  const slider = h('input', { type: 'range', min: '0', max: String(last), id: 'time-slider',
    'data-control': 'time', oninput: () => show(Number(slider.value)) });
  const status = h('p', { 'data-readout': 'time' });
  const holders = h('tbody', {});
  const marks = [{ at: peak, text: 'peak' }];
  if (data.walk.length > 0 && forward <= last) marks.push({ at: forward, text: 'backward' });
  const blocks = stackView(lives, last, (life) => lifeText(data, life), (time) => show(time));
  const plan = memoryPlan(data);
  const chart = bytesChart(bytes, marks, show);
  const why = peakText(data);

  function show(time) {
    slider.value = String(time);
    keepState({ event: time });
    const held = lives.filter((life) => isAlive(life, time)).sort((a, b) => b.bytes - a.bytes);
    const sum = held.reduce((total, life) => total + life.bytes, 0);
    status.replaceChildren(h('b', {}, `Event ${time}: ${bytesText(bytes[time])}`),
      ` in live tensors, ${eventText(data, time)}. ${held.length} tracked blocks hold ` +
      `${bytesText(sum)}${time === peak ? '; this is the peak' : ''}.`);
    holders.replaceChildren(...held.slice(0, 25).map((life) => holderRow(data, life, bytes[time])));
    unsorted(holders);
    blocks.show(time);
    plan.show(time);
    speak(status.textContent);
  }

  panel.append(
    h('div', { class: 'row spread' }, h('h3', {}, 'Memory in use, operation by operation'), h('span', { class: 'row' }, ...chart.buttons)),
    why ? h('p', { class: 'legend', 'data-readout': 'peak-reason' }, why) : '',
    chart.element,
    h('div', { class: 'row walk' }, h('label', { for: 'time-slider' }, 'event'), slider,
      h('button', { class: 'step-button', 'data-control': 'peak', onclick: () => show(peak) },
        'peak'), status),
    h('div', { class: 'split halves' },
      h('div', {}, h('div', { class: 'row spread' }, h('h3', {}, `Lifetimes of ${lives.length} blocks, as high as their bytes`),
        h('span', { class: 'row' }, ...blocks.buttons)), blocks.element,
        h('p', { class: 'row quiet legend' }, ...KINDS.map((kind) => h('span', {},
          h('span', { class: `key ${kind}` }), kind)))),
      h('div', {}, h('h3', {}, 'Largest blocks in memory now'),
        scrolling('Largest blocks in memory now', 'wide', sortable(
          saveable('holders', null, h('thead', {}, h('tr', {},
            ...[' block', ' kind', 'bytes', 'share', 'born', 'died'].map((name) => h('th',
              { scope: 'col', class: name.startsWith(' ') ? 'word' : null }, name.trim())))),
          holders))))),
    h('div', { class: 'place' }, ...plan.elements));
  show(numberOf('event', bytes.length, peak));
}

// Where the peak is, and whether that is usual for a model of this kind.
function peakText({ memory: { lives, peak }, entries, walk }) {
  if (walk.length === 0) return '';
  const held = (kinds) => lives.filter((life) => isAlive(life, peak) && kinds.includes(life.kind))
    .reduce((sum, life) => sum + life.bytes, 0);
  const [gradients, activations] = [held(['gradient']), held(['activation'])];
  const kept = `activations hold ${bytesText(activations)} and gradients ${bytesText(gradients)}`;
  if (peak < entries.length) return `The peak is in the forward pass: ${kept}.`;
  return gradients > activations
    ? `The peak is in the backward pass: ${kept}. That is usual when a step has few tokens for the size of the ` +
      'model: the gradients of its parameters outweigh the activations.'
    : `The peak is early in the backward pass: ${kept}. That is usual for a step of many tokens.`;
}

function eventText(data, time) {
  const forward = data.entries.length;
  if (time < forward) return `after the forward of #${time} ${data.entries[time].op}`;
  const step = data.walk[time - forward];
  return step ? `after the backward of #${step.entry} ${data.entries[step.entry].op}` : 'at the end';
}

function lifeText(data, life) {
  const entry = data.entries[life.entry];
  const until = life.died < 0 ? 'stays' : `freed after event ${life.died}`;
  return `${entry ? `#${life.entry} ` : ''}${life.name}${entry && entry.module ? ` in ${entry.module}` : ''}: ` +
    `${bytesText(life.bytes)}, made at event ${life.born}, ${until}`;
}

function holderRow(data, life, all) {
  const module = life.entry >= 0 ? data.entries[life.entry].module : '';
  const name = life.entry >= 0 ? `#${life.entry} ${life.name}` : life.name;
  return h('tr', {}, h('td', { class: 'word of-name', title: module }, ...breakable(name)),
    h('td', { class: 'word quiet' }, h('span', { class: `key ${life.kind}` }), life.kind),
    valueCell(life.bytes, bytesText(life.bytes)), h('td', {}, percent(life.bytes / all)),
    h('td', {}, String(life.born)), h('td', {}, life.died < 0 ? '\u2013' : String(life.died)));
}
