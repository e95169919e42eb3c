// The tab that follows one token through the model, stage by stage, by hand or by playback.
import { keepState, numberOf } from './address.js';
import { colour, fixed, h, onTheme, perFrame, rgb, sized, tokenText } from './dom.js';
import { Predictions } from './guesses.js';
import { playButton } from './play.js';
import { speak } from './speak.js';
import { lengthOf } from './layers.js';
import { TokenPath } from './token_path.js';
import { stageDetail, stageName } from './token_stage.js';

const PACE = 1200; // milliseconds per stage during playback
const STRIP_HEIGHT = 12;

export function tokenTab(panel, data) {
  if (!data.path) {
    panel.append(h('p', {}, 'There is no token to follow: the loss is not a cross-entropy of what ' +
      'tokens became, or was not computed in one operation (TAPESTRY_FUSE=0); or queries and keys of a ' +
      'large model fill the page: look at a shorter text.'));
    return;
  }
  const path = new TokenPath(data);
  const predictions = data.predictions ? new Predictions(data.predictions) : null;
  const usual = path.places[path.stages.some(({ whole }) => whole) ? 0 : path.places.length - 1];
  const wanted = numberOf('token', path.tokens, usual);
  const state = { place: path.places.includes(wanted) ? wanted : usual, at: 0 };
  const view = { head: 0, dimension: 0, choose: (changes) => {
    Object.assign(view, changes);
    showDetail();
  } };
  const detail = h('section', { class: 'stage', 'data-view': 'stage' });
  const transport = playBar(path.stages.length, show);
  const way = wayList(path, show);

  function show(at) {
    state.at = at;
    keepState({ stage: at });
    transport.say(at, statusText(path, at));
    way.mark(at);
    showDetail();
  }
  function showDetail() {
    const stage = path.stages[state.at];
    if (stage.attention && view.head >= stage.attention.heads) view.head = 0;
    const focused = detail.contains(document.activeElement) ? document.activeElement.dataset.head : null;
    detail.replaceChildren(...stageDetail(path, stage, state.place, view, predictions));
    if (focused) detail.querySelector(`[data-head="${focused}"]`)?.focus();
  }

  panel.append(h('h2', {}, 'One token, from embedding to answer'),
    placeSwitch(path, data, state, () => {
      keepState({ token: state.place });
      way.renew(state.place);
      showDetail();
    }), transport.element,
    h('div', { class: 'split way-split' }, way.element, detail));
  way.renew(state.place);
  show(numberOf('stage', path.stages.length, 0));
}

const statusText = (path, at) => {
  const stage = path.stages[at];
  return `Stage ${at + 1} of ${path.stages.length}: ${stageName(stage)}` +
    `${stage.layer ? `, ${stage.layer}` : ''}`;
};

// The tokens as buttons; those without a recorded path are text.
function placeSwitch(path, data, state, changed) {
  const attention = path.stages.find((stage) => stage.attention)?.attention;
  const texts = (attention && attention.queries === path.tokens && attention.queryTexts) ||
    (data.predictions && data.predictions.read) || [];
  const buttons = new Map();
  const element = h('div', { class: 'strip places', role: 'group', 'aria-label':
    'Which token; arrow keys go from one to the next', onkeydown: (event) => {
    const at = path.places.indexOf(state.place);
    const last = path.places.length - 1;
    const to = { ArrowLeft: Math.max(at - 1, 0), ArrowRight: Math.min(at + 1, last), Home: 0,
      End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(path.places[to]);
    buttons.get(path.places[to]).focus();
  } });
  function choose(place) {
    state.place = place;
    for (const [other, button] of buttons) {
      button.setAttribute('aria-pressed', String(other === place));
      button.tabIndex = other === place ? 0 : -1;
    }
    changed();
  }
  const followed = new Set(path.places);
  for (let place = 0; place < path.tokens; ++place) {
    const text = tokenText(texts[place], place);
    if (!followed.has(place)) {
      element.append(h('span', { class: 'given quiet' }, text));
      continue;
    }
    const button = h('button', { class: 'token', 'data-token': String(place),
      tabindex: place === state.place ? '0' : '-1', 'aria-pressed': String(place === state.place),
      onclick: () => choose(place) }, text);
    buttons.set(place, button);
    element.append(button);
  }
  return element;
}

// A slider through the stages, with buttons to step forward, back, and play.
function playBar(count, show) {
  const slider = h('input', { type: 'range', min: '0', max: String(count - 1), value: '0',
    'data-control': 'stage', 'aria-label': 'Stage', oninput: () => go(Number(slider.value)) });
  const status = h('p', { 'data-readout': 'stage' });
  const at = () => Number(slider.value);
  const play = playButton('play', PACE, () => at() === count - 1 && show(0), () => {
    show(Math.min(at() + 1, count - 1));
    return at() < count - 1;
  });
  const step = (by, name, label, arrow) => h('button', { class: 'step-button', 'data-control': name,
    'aria-label': label, onclick: () => go(at() + by) }, arrow);

  function go(to) {
    play.stop();
    show(Math.max(0, Math.min(count - 1, to)));
  }
  return {
    element: h('div', { class: 'walk' }, h('div', { class: 'row' }, play.button,
      step(-1, 'stage-back', 'One stage back', '\u2190'), slider,
      step(1, 'stage-next', 'Next stage', '\u2192')), status),
    say: (to, text) => {
      slider.value = String(to);
      slider.setAttribute('aria-valuetext', text);
      status.textContent = text;
      speak(text);
    },
  };
}

// The stages from top to bottom, grouped by layer, each with its vector as a strip of colours.
function wayList(path, show) {
  const rows = [];
  const element = h('div', { class: 'way', role: 'listbox', 'aria-label': 'Stages; arrow keys go up and down',
    onkeydown: (event) => {
      const at = rows.findIndex(({ row }) => row === document.activeElement);
      const to = { ArrowUp: Math.max(at - 1, 0), ArrowDown: Math.min(at + 1, rows.length - 1), Home: 0,
        End: rows.length - 1 }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      show(to);
      rows[to].row.focus();
    } });
  let layer = null;
  let group = element;
  path.stages.forEach((stage, i) => {
    if (stage.layer !== layer) {
      layer = stage.layer;
      group = h('div', { role: 'group', class: layer ? 'way-layer' : '', 'aria-label': layer || 'around the layers' },
        layer ? h('div', { class: 'quiet legend', 'aria-hidden': 'true' }, layer) : '');
      element.append(group);
    }
    const canvas = h('canvas', { 'aria-hidden': 'true' });
    const length = h('span', { class: 'quiet' });
    const row = h('div', { class: `way-stage ${stage.kind}`, role: 'option', tabindex: '-1',
      'data-stage': String(i), onclick: () => show(i) }, h('span', {}, stageName(stage)), length, canvas);
    rows.push({ row, canvas, length, stage });
    group.append(row);
  });
  let place = 0;
  const draw = perFrame(() => rows.forEach(({ canvas, stage }) =>
    drawStrip(canvas, path.vector(stage, place))));
  new ResizeObserver(draw).observe(element);
  onTheme(element, draw);
  return {
    element,
    renew: (to) => {
      place = to;
      rows.forEach(({ row, length, stage }) => {
        const vector = path.vector(stage, place);
        row.classList.toggle('lost', Boolean(vector) && !Number.isFinite(lengthOf(vector)));
        length.textContent = vector ? `length ${path.exact ? '' : '\u2248'}${fixed(lengthOf(vector), 2)}` : '';
      });
      draw();
    },
    mark: (at) => rows.forEach(({ row }, i) => {
      row.setAttribute('aria-selected', String(i === at));
      row.dataset.state = i < at ? 'passed' : i === at ? 'here' : 'ahead';
      row.tabIndex = i === at ? 0 : -1;
      if (i !== at) return;
      const { offsetTop, offsetHeight } = row;
      if (offsetTop < element.scrollTop) element.scrollTop = offsetTop - 24;
      const below = offsetTop + offsetHeight - element.clientHeight;
      if (below > element.scrollTop) element.scrollTop = below + 24;
    }),
  };
}

// A vector as columns: blue above 0, orange below, stronger for larger values; NaN and infinity in
// the colour of a warning.
function drawStrip(canvas, vector) {
  const width = canvas.parentElement.clientWidth - 20;
  if (width <= 0 || !vector) return;
  const context = sized(canvas, width, STRIP_HEIGHT);
  const [low, above, below] = [rgb('map-low'), rgb('activation'), rgb('gradient')];
  const most = vector.reduce((a, x) => (Number.isFinite(x) ? Math.max(a, Math.abs(x)) : a), 0) || 1;
  const columns = Math.min(vector.length, Math.floor(width));
  for (let i = 0; i < columns; ++i) {
    const first = Math.floor(i * vector.length / columns);
    const last = Math.max(first + 1, Math.floor((i + 1) * vector.length / columns));
    let strongest = 0; // of those sharing the column
    for (let d = first; d < last; ++d) {
      if (!Number.isFinite(vector[d])) strongest = NaN;
      else if (Math.abs(vector[d]) > Math.abs(strongest)) strongest = vector[d];
    }
    const share = Math.sqrt(Math.abs(strongest) / most);
    const to = strongest > 0 ? above : below;
    context.fillStyle = Number.isNaN(strongest) ? colour('warn')
      : `rgb(${low.map((from, c) => Math.round(from + share * (to[c] - from))).join(' ')})`;
    context.fillRect(i * width / columns, 0, width / columns + 0.5, STRIP_HEIGHT);
  }
}
