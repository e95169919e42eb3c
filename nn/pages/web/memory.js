// The memory tab: bytes in live tensors over the step, the life of every block of memory, and who
// holds what at any time; at first at the peak.
import { bytesChart } from './chart.js';
import { bytesText, colour, h, onTheme, percent, perFrame, sized } from './dom.js';
import { scrolling, sortable, unsorted, valueCell } from './table.js';

const LIFE_ROW = 4; // pixels a block
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
  const status = h('p', { 'data-readout': 'time', 'aria-live': 'polite' });
  const holders = h('tbody', {});
  const marks = [{ at: peak, text: 'peak' }];
  if (data.walk.length > 0 && forward <= last) marks.push({ at: forward, text: 'backward' });
  const blocks = livesView(lives, last);

  function show(time) {
    slider.value = String(time);
    const held = lives.filter((life) => isAlive(life, time)).sort((a, b) => b.bytes - a.bytes);
    const sum = held.reduce((total, life) => total + life.bytes, 0);
    status.replaceChildren(h('b', {}, `Event ${time}: ${bytesText(bytes[time])}`),
      ` in live tensors, ${eventText(data, time)}. ${held.length} tracked blocks hold ` +
      `${bytesText(sum)}${time === peak ? '; this is the peak' : ''}.`);
    holders.replaceChildren(...held.slice(0, 25).map((life) => holderRow(data, life, bytes[time])));
    unsorted(holders);
    blocks.show(time);
  }

  panel.append(
    h('h3', {}, 'Memory in use, operation by operation'),
    bytesChart(bytes, marks, show),
    h('div', { class: 'row walk' }, h('label', { for: 'time-slider' }, 'event'), slider,
      h('button', { class: 'step-button', 'data-control': 'peak', onclick: () => show(peak) },
        'peak'), status),
    h('div', { class: 'split halves' },
      h('div', {}, h('h3', {}, `Lifetimes of ${lives.length} blocks`), blocks.element,
        h('p', { class: 'row quiet legend' }, ...KINDS.map((kind) => h('span', {},
          h('span', { class: `key ${kind}` }), kind)))),
      h('div', {}, h('h3', {}, 'Largest blocks in memory now'),
        scrolling('Largest blocks in memory now', 'wide', sortable(
          h('table', { 'data-table': 'holders' }, h('thead', {}, h('tr', {},
            ...[' block', ' kind', 'bytes', 'share', 'born', 'died'].map((name) => h('th',
              { scope: 'col', class: name.startsWith(' ') ? 'word' : null }, name.trim())))),
          holders))))));
  show(peak);
}

const isAlive = (life, time) => life.born <= time && (life.died < 0 || life.died >= time);

function eventText(data, time) {
  const forward = data.entries.length;
  if (time < forward) return `after the forward of #${time} ${data.entries[time].op}`;
  const step = data.walk[time - forward];
  return step ? `after the backward of #${step.entry} ${data.entries[step.entry].op}` : 'at the end';
}

function holderRow(data, life, all) {
  const module = life.entry >= 0 ? data.entries[life.entry].module : '';
  const name = life.entry >= 0 ? `#${life.entry} ${life.name}` : life.name;
  return h('tr', {}, h('td', { class: 'word', title: module }, name),
    h('td', { class: 'word quiet' }, h('span', { class: `key ${life.kind}` }), life.kind),
    valueCell(life.bytes, bytesText(life.bytes)), h('td', {}, percent(life.bytes / all)),
    h('td', {}, String(life.born)), h('td', {}, life.died < 0 ? '\u2013' : String(life.died)));
}

// A row per block, from birth to death, in the order of birth; thick as far as there is room.
function livesView(lives, last) {
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const element = h('div', { class: 'scroller lives', 'data-view': 'lives' }, canvas);
  const order = lives.slice().sort((a, b) => a.born - b.born || b.bytes - a.bytes);
  let now = 0;
  const draw = perFrame(() => {
    const width = element.clientWidth;
    if (width === 0) return;
    const context = sized(canvas, width, LIFE_ROW * order.length + 8);
    const x = (time) => 4 + (width - 8) * time / (last + 1);
    order.forEach((life, i) => {
      context.fillStyle = colour(life.kind);
      context.globalAlpha = isAlive(life, now) ? 1 : 0.4;
      const end = x(life.died < 0 ? last + 1 : life.died + 1);
      context.fillRect(x(life.born), 4 + LIFE_ROW * i, Math.max(1, end - x(life.born)),
        LIFE_ROW - 1);
    });
    context.globalAlpha = 1;
    context.fillStyle = colour('text');
    context.fillRect(x(now + 0.5), 0, 1, LIFE_ROW * order.length + 8);
  });
  new ResizeObserver(draw).observe(element);
  onTheme(draw);
  return { element, show: (time) => {
    now = time;
    draw();
  } };
}
