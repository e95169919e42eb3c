// The state shared by all charts of curves: the range of steps, the step pointed at, smoothing, a
// logarithmic loss axis, the visible lines.
import { keepState, numberOf } from './address.js';
import { h } from './dom.js';

export class StepsView {
  // steps(): first and last step; draw() on any change but the pointer; mark() on a pointer change.
  constructor(steps, draw, mark) {
    const pinned = numberOf('step', 1e12, null); // the step that a click or a key has chosen
    Object.assign(this, { steps, draw, mark, pinned, pointed: pinned, logChosen: false });
    const kept = () => {
      keepState({ from: this.from.value || null, to: this.to.value || null });
      draw();
    };
    const field = (label, name) => h('input', { type: 'number', min: 1, 'aria-label': label,
      value: numberOf(name, 1e12, null), 'data-control': name, onchange: kept });
    this.kept = kept;
    const box = (name, text, checked, key, changed = draw) => h('label', {}, h('input', { type: 'checkbox', checked,
      'data-control': name, onchange: changed }), ' ', key ? h('span', { class: `key ${key}` }) : '', text);
    this.from = field('First step shown', 'from');
    this.to = field('Last step shown', 'to');
    this.smoothing = h('input', { type: 'range', min: '0', max: '0.98', step: '0.01', value: '0',
      'aria-label': 'Smoothing', 'data-control': 'smoothing', oninput: draw });
    this.element = h('div', { class: 'row curve-controls' }, h('label', {}, 'Show steps ', this.from),
      h('label', {}, 'to ', this.to), h('button', { class: 'step-button',
        'data-control': 'all-steps', onclick: () => this.zoom(null, null) }, 'All'),
      h('label', {}, 'Smoothing ', this.smoothing), box('log', 'logarithmic loss', false, null, () => {
        this.logChosen = true;
        draw();
      }),
      box('training', 'training', true, 'activation'), box('validation', 'validation', true, 'gradient'));
  }

  // Whether the loss has a logarithmic axis: by the reader, otherwise if its values need one.
  isLog(needed) {
    const box = this.element.querySelector('[data-control=log]');
    if (!this.logChosen) box.checked = needed;
    return box.checked;
  }

  isOn(name) {
    return this.element.querySelector(`[data-control=${name}]`).checked;
  }

  range() {
    const [first, last] = this.steps();
    const { from: { value: from }, to: { value: to } } = this;
    const low = from === '' ? first : Math.min(Math.max(Number(from), first), last - 1);
    const high = to === '' ? last : Math.min(Number(to), last);
    return [low, Math.max(high, low + 1)];
  }

  point(step) {
    this.pointed = step;
    this.mark();
  }

  // Chooses a step, which stays marked when the pointer leaves; null: none.
  pin(step) {
    this.pinned = step;
    keepState({ step });
    this.point(step);
  }

  zoom(from, to) {
    this.from.value = from ?? '';
    this.to.value = to ?? '';
    this.kept();
  }
}

// Exponential moving average with bias correction: s(i) = a s(i - 1) + (1 - a) x(i), divided by the
// sum of all weights, so it starts at the first value and not at 0.
export function smoothed(values, a) {
  if (a === 0) return values;
  let sum = 0;
  let weight = 0;
  return values.map((x) => {
    if (x === null) return null;
    sum = a * sum + (1 - a) * x;
    weight = a * weight + 1 - a;
    return sum / weight;
  });
}
