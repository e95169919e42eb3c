// The parts tab: what every head attends to and how much every parameter changes during training;
// and the effect of removing heads, layers or other parts of the model.
import { h, number, onTheme, percent, rgb, sized } from './dom.js';
import { saveable } from './export.js';
import { headSays } from './head_roles.js';
import { roving } from './roving.js';
import { speak } from './speak.js';

const MAP = 84; // pixels
const OTHERS = [['positions', 'positions'], ['norms', 'norms'],
  ['residuals', 'residual connections']];

// Draws weights [tokens, tokens] of one head as squares from light to dark; hidden keys and NaN have
// colours of their own.
function drawMap(canvas, weights, tokens) {
  const context = sized(canvas, MAP, MAP);
  const [low, high] = [rgb('map-low'), rgb('map-high')];
  const side = MAP / tokens;
  for (let i = 0; i < tokens; ++i) {
    for (let j = 0; j < tokens; ++j) {
      const weight = weights[i * tokens + j];
      const share = Math.sqrt(weight);
      const [r, g, b] = Number.isNaN(weight) ? rgb('warn') : j > i ? rgb('map-hidden')
        : low.map((from, k) => Math.round(from + share * (high[k] - from)));
      context.fillStyle = `rgb(${r}, ${g}, ${b})`;
      context.fillRect(j * side, i * side, side, side);
    }
  }
}

// What a head does, in a sentence, from its weights alone.
function roleOf(weights, tokens) {
  let entropy = 0;
  let most = 0;
  for (let i = 0; i < tokens; ++i) {
    most += Math.log(i + 1) / tokens;
    for (let j = 0; j <= i; ++j) {
      const p = weights[i * tokens + j];
      if (!(p <= 0)) entropy -= p * Math.log(p) / tokens;
    }
  }
  return headSays({ queries: tokens, keys: tokens, cross: false, seen: (i) => i + 1, weights: () => weights,
    entropy: [entropy], mostEntropy: () => most }, 0);
}

// A useful step changes a parameter by about a thousandth of its size: the logarithmic scale goes
// from a millionth to 1.
function updateRow({ name, sizes: [value, gradient, update] }) {
  const ratio = value > 0 ? update / value : NaN;
  const share = ratio > 0 ? Math.max(0, Math.min(1, 1 + Math.log10(ratio) / 6)) : 0;
  const bar = h('span', { class: 'bar' });
  bar.style.width = `${(100 * share).toFixed(1)}px`;
  return h('tr', { 'data-update': name }, h('th', { class: 'word', scope: 'row' }, name),
    ...[value, gradient, update, ratio].map((x) => h('td', {}, number(x, 3))),
    h('td', { class: 'word scale' }, bar));
}

// { fill(panel), begin(settings, sentence), show(answer), losses(answer), taken(), stands(step) }.
export function partsView({ ask, askLosses, takeAway }) {
  let panel = null;
  let settings = null;
  let sentence = '';
  let latest = null; // the worker's latest answer about heads
  let step = -1;
  let due = false; // losses have been requested, or must be
  const gone = { layers: new Set(), heads: new Set() };
  const grid = h('div', { class: 'parts-grid' });
  const renewStop = roving(grid, '.part');
  const body = h('tbody', {});
  const verdict = h('p', { 'data-readout': 'losses' });
  const field = h('input', { type: 'search', size: 40, 'data-control': 'parts-sentence',
    'aria-label': 'Sentence whose heads are shown', onchange: () => {
      sentence = field.value;
      ask(sentence);
    } });
  const boxes = Object.fromEntries(OTHERS.map(([name]) => [name,
    h('input', { type: 'checkbox', checked: true, 'data-part': name, onchange: () => change() })]));
  let maps = []; // by head: { button, canvas }
  let layers = []; // buttons

  const isOpen = () => panel !== null && !panel.hidden;

  function change() {
    mark();
    takeAway({ layers: [...gone.layers], heads: [...gone.heads],
      ...Object.fromEntries(OTHERS.map(([name]) => [name, !boxes[name].checked])) });
  }

  function toggle(set, which) {
    if (!set.delete(which)) set.add(which);
    change();
  }

  function mark() {
    layers.forEach((button, i) => button.setAttribute('aria-pressed', !gone.layers.has(i)));
    maps.forEach(({ button }, i) => button.setAttribute('aria-pressed', !gone.heads.has(i) &&
      !gone.layers.has(Math.floor(i / settings.heads))));
  }

  function build() {
    layers = [];
    maps = [];
    const rows = Array.from({ length: settings.layers }, (_, layer) => {
      layers.push(h('button', { class: 'part', 'data-part': `layer ${layer}`, 'aria-pressed': 'true',
        onclick: () => toggle(gone.layers, layer) }, `layer ${layer}`));
      return h('div', { class: 'parts-row' }, layers[layer],
        ...Array.from({ length: settings.heads }, (__, head) => {
          const canvas = h('canvas', { 'aria-hidden': 'true' });
          const which = layer * settings.heads + head;
          const button = h('button', { class: 'part', 'data-part': `head ${which}`,
            'aria-pressed': 'true', 'aria-label': `layer ${layer}, head ${head}`,
            title: `layer ${layer}, head ${head}`, onclick: () => toggle(gone.heads, which) },
          canvas);
          maps.push({ button, canvas });
          return button;
        }));
    });
    grid.replaceChildren(...rows);
    renewStop();
  }

  function draw() {
    if (latest === null || !isOpen()) return;
    const { weights, updates } = latest;
    const tokens = Math.round(Math.sqrt(weights.length / maps.length));
    maps.forEach(({ button, canvas }, i) => {
      const own = weights.slice(i * tokens * tokens, (i + 1) * tokens * tokens);
      drawMap(canvas, own, tokens);
      const name = `layer ${Math.floor(i / settings.heads)}, head ${i % settings.heads}: ${roleOf(own, tokens)}`;
      button.setAttribute('aria-label', name);
      button.setAttribute('title', name);
    });
    body.replaceChildren(...updates.map(updateRow));
  }

  // One request at a time: a large model's answer takes longer than the time between reports.
  function refresh() {
    if (!isOpen()) return;
    ask(sentence);
    if (!due) {
      due = true;
      askLosses();
    }
  }

  onTheme(grid, draw);
  return {
    fill(to) {
      panel = to;
      const box = ([name, label]) => h('label', {}, boxes[name], ` ${label}`);
      panel.append(
        h('p', { class: 'legend' }, 'Press a head or a layer to remove it, again to restore it. ' +
          'A removed part is also left out of training; its parameters are kept.'),
        h('div', { class: 'row' }, ...OTHERS.map(box)), verdict,
        h('div', { class: 'row sentence' }, h('label', {}, 'Heads on ', field)),
        grid, h('p', { class: 'quiet legend' }, 'Rows are queries, columns are keys. Stronger colour means a ' +
          'larger weight.'),
        h('h3', {}, 'What the latest step did'),
        h('p', { class: 'quiet legend' }, 'Root mean squares. At the full learning rate, a healthy update is about a ' +
          'thousandth of the value; the bar goes from a millionth to 1.'),
        h('div', { class: 'wide flow', tabindex: '0', role: 'region', 'aria-label': 'Updates' },
          saveable('updates', null, h('thead', {}, h('tr', {},
            h('th', { scope: 'col', class: 'word' }, 'parameter'),
            ...['value', 'gradient', 'update', 'update / value'].map((name) =>
              h('th', { scope: 'col' }, name)), h('td', {}))), body)));
      panel.addEventListener('shown', refresh);
    },
    begin(those, text) {
      settings = those;
      sentence = text.slice(0, Math.min(settings.context, 24)).split('\n')[0];
      field.value = sentence;
      field.maxLength = settings.context;
      gone.layers.clear();
      gone.heads.clear();
      latest = null;
      step = -1;
      due = false;
      for (const box of Object.values(boxes)) box.checked = true;
      boxes.positions.disabled = !settings.positions;
      boxes.positions.checked = settings.positions;
      verdict.textContent = '';
      body.replaceChildren();
      build();
    },
    show(answer) {
      latest = answer;
      draw();
    },
    losses({ asItStands, whole }) {
      due = false;
      const isWhole = asItStands === whole;
      verdict.textContent = `Validation loss ${number(asItStands)}` + (isWhole ? '.'
        : `; of the whole model ${number(whole)} (${asItStands > whole ? '+' : '\u2212'}` +
          `${percent(Math.abs(asItStands / whole - 1))}).`);
      verdict.className = isWhole ? '' : 'warn';
      if (!isWhole) speak(verdict.textContent);
    },
    taken: refresh,
    failed: () => { due = false; },
    stands(at) {
      if (at === step) return;
      step = at;
      refresh();
    },
  };
}
