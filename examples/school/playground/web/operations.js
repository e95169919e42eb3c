// The operations tab: a step taken operation by operation, forward through the tape and backward,
// with the inputs and outputs of each. Read next: ../op_trace.h.
import { h, number, rgb, shapeText } from './dom.js';
import { speak } from './speak.js';

const tint = (x, largest) => {
  const [r, g, b] = rgb(x < 0 ? 'gradient' : 'activation');
  return `background: rgba(${r}, ${g}, ${b}, ${(0.45 * Math.abs(x) / largest).toFixed(3)})`;
};

// A tensor's first numbers, coloured by magnitude.
function cornerTable({ of, shape, columns, values, whole }) {
  const numbers = values.map(Number);
  const largest = Math.max(1e-300, ...numbers.filter(Number.isFinite).map(Math.abs));
  const rows = [];
  for (let at = 0; at < numbers.length; at += columns) {
    rows.push(h('tr', {}, ...numbers.slice(at, at + columns).map((x) => {
      const cell = h('td', {}, number(x, 3));
      if (Number.isFinite(x)) cell.style.cssText = tint(x, largest);
      return cell;
    })));
  }
  const part = whole ? '' : shape.length > 2 ? ', the upper left corner of the first matrix'
    : ', the upper left corner';
  return h('figure', { class: 'corner' },
    h('figcaption', {}, h('b', {}, of), h('span', { class: 'quiet' }, ` ${shapeText(shape)}${part}`)),
    h('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': `Numbers of ${of}` },
      h('table', {}, h('tbody', {}, ...rows))));
}

const sideOf = (title, corners) => h('section', {}, h('h3', {}, title),
  ...(corners.length > 0 ? corners.map(cornerTable) : [h('p', { class: 'quiet' }, 'nothing')]));

const briefly = ({ number: at, op }) => `#${at} ${op}`;

// { fill(panel), show(all, step), next(), clear() }. `ask` requests the next step.
export function operationsView(ask) {
  let all = [];
  let at = 0;
  let step = 0;
  const title = h('h2', { 'data-readout': 'operation' });
  const place = h('p', { class: 'quiet' });
  const body = h('div', { class: 'operation' });
  const slider = h('input', { type: 'range', min: 0, max: 0, value: 0, 'data-control': 'operation',
    'aria-label': 'Operation of the step', oninput: () => go(Number(slider.value)) });
  const button = (name, label, text, onclick) => h('button', { class: 'step-button',
    'data-control': name, 'aria-label': label, onclick }, text);
  const back = button('operation-back', 'One operation back', '\u2190', () => go(at - 1));
  const one = button('operation-next', 'One operation', 'One operation', () => next());

  // Moves through the operations of this step, and then into the next one.
  function next() {
    if (at + 1 < all.length) go(at + 1);
    else ask();
  }

  function go(to) {
    at = Math.max(0, Math.min(all.length - 1, to));
    draw();
  }

  function draw() {
    slider.max = Math.max(0, all.length - 1);
    slider.value = at;
    back.disabled = at === 0;
    slider.disabled = all.length === 0;
    if (all.length === 0) {
      title.textContent = '';
      place.textContent = 'Take a step operation by operation: first forward, from the tokens to ' +
        'the loss, then back through the same tape, rule by rule.';
      body.replaceChildren();
      return;
    }
    const op = all[at];
    title.textContent = `${op.back ? 'Back through' : 'Forward:'} ${briefly(op)}` +
      (op.settings ? ` (${op.settings})` : '');
    place.textContent = `Step ${step}, operation ${at + 1} of ${all.length}` +
      (op.module ? `, in ${op.module}` : '') + '.' +
      (at + 1 === all.length ? ' With these gradients the parameters have been updated.' : '');
    slider.setAttribute('aria-valuetext', title.textContent);
    speak(title.textContent);
    body.replaceChildren(
      sideOf(op.back ? 'Gradient of the output' : 'Inputs', op.given),
      sideOf(op.back ? 'Gradients of the inputs' : 'Output', op.made));
  }

  return {
    fill(panel) {
      panel.append(h('div', { class: 'row' }, one, back, slider), title, place, body);
      draw();
    },
    show(fresh, taken) {
      all = fresh;
      step = taken;
      go(0);
    },
    clear() {
      all = [];
      go(0);
    },
  };
}
