// The predictions tab: the model's prediction at every place, coloured by the probability of the
// right token; for the chosen place the likeliest tokens, and what each layer would have predicted.
import { keepState, numberOf } from './address.js';
import { barCell, h, number, sharePercent, tokenText } from './dom.js';
import { saveable } from './export.js';
import { layerRows, Predictions } from './guesses.js';
import { imageCanvas } from './image_view.js';
import { speak } from './speak.js';
import { scrolling, wordCell } from './table.js';

// The minimum probability of the right token for each colour.
const LEVELS = [[0.9, 'over 90%'], [0.5, 'over 50%'], [0.2, 'over 20%'], [0.05, 'over 5%'],
  [0.01, 'over 1%'], [0, 'less']];
const CONTEXT = 24; // tokens shown before the chosen one

export function predictionsTab(panel, data) {
  if (!data.predictions || data.predictions.rows.length === 0) {
    panel.append(h('p', {}, 'No predictions were recorded: the loss is not a cross-entropy, or was ' +
      'not computed in one operation (TAPESTRY_FUSE=0).'));
    return;
  }
  const predictions = new Predictions(data.predictions);
  const detail = h('section', { class: 'place', 'data-view': 'prediction' });
  const strip = tokenStrip(predictions, (place) => {
    detail.replaceChildren(...placeDetail(predictions, place));
    keepState({ token: place });
    speak(verdict(predictions, predictions.rows[place]).textContent);
  });
  panel.append(h('h2', {}, 'What the model expected'), data.image ? picture(data.image) : '',
    h('p', { 'data-readout': 'predictions' }, summary(predictions)), strip.element, legend(), detail);
  const wanted = numberOf('token', predictions.rows.length, null);
  strip.choose(predictions.asked.includes(wanted) ? wanted : predictions.asked[0] ?? 0);
}

// The model's input image, enlarged.
function picture(image) {
  const canvas = imageCanvas(image);
  canvas.className = 'picture';
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', 'The image that the model read');
  return canvas;
}

const LOST = 'the model gave no probabilities, because NaN or infinity reached its output';

function summary(predictions) {
  const { rows } = predictions;
  const all = predictions.asked.length;
  if (all === 0) return 'The loss counts none of these positions.';
  const asked = predictions.asked.filter((i) => !rows[i].lost);
  const positions = `${all} ${all === 1 ? 'position' : 'positions'}`;
  if (asked.length === 0) return `At none of ${positions} is there a prediction: ${LOST}.`;
  const text = lossText(predictions, asked);
  return asked.length === all ? text : `At ${all - asked.length} of ${positions} ${LOST}. At the others: ${text}`;
}

function lossText(predictions, asked) {
  const { classes, rows } = predictions;
  const count = (most) => asked.filter((i) => rows[i].rank <= most).length;
  const mean = asked.reduce((sum, i) => sum + rows[i].loss, 0) / asked.length;
  const single = asked.length === 1;
  const hits = single ? `Its first choice was ${count(1) === 1 ? 'right' : 'wrong'}.`
    : `Its first choice was right in ${count(1)} of ${asked.length} positions` +
      `${classes > 5 ? `, and one of its first five in ${count(5)}` : ''}.`;
  return `The ${single ? '' : 'mean '}loss is ${number(mean)} nats: like a choice among ` +
    `${number(Math.exp(mean), 3)} equally likely answers (the perplexity). ${hits} Guessing among ${classes} ` +
    `gives ${number(Math.log(classes))} nats.` + (predictions.smoothing > 0
    ? ` Label smoothing of ${predictions.smoothing}, part of the step's loss, is left out here.` : '');
}

function levelOf(row) {
  if (row.right === null || row.lost) return null;
  return LEVELS.findIndex(([least]) => Math.exp(-row.loss) >= least);
}

function legend() {
  return h('p', { class: 'row quiet legend' }, 'Probability of the right answer:',
    ...LEVELS.map(([, text], level) => h('span', {},
      h('span', { class: 'key token', 'data-level': String(level) }), text)));
}

const given = (predictions, place) =>
  h('span', { class: 'given quiet' }, predictions.readText(place));

// The token at a place: the right answer; in a text with gaps, after the wrong guess.
function answerAt(predictions, { right, likeliest, lost }) {
  const name = predictions.nameOf(right);
  const [guess] = likeliest[0];
  return predictions.next || lost || guess === right ? [name] : [`${predictions.nameOf(guess)} \u2192 ${name}`];
}

// Every place as a button with the right token; places that do not count in the loss are text.
function tokenStrip(predictions, chosen) {
  const buttons = new Map();
  const element = h('div', { class: 'strip', role: 'group', 'aria-label':
    'What was to be predicted; arrow keys go from one to the next', onkeydown: move });
  if (predictions.next && predictions.read.length > 0) element.append(given(predictions, -1));
  predictions.rows.forEach((row, place) => {
    const level = levelOf(row);
    if (row.right === null) {
      element.append(given(predictions, place));
      return;
    }
    const button = h('button', { class: 'token', 'data-place': String(place), tabindex: '-1',
      'aria-pressed': 'false', 'data-level': level === null ? null : String(level),
      title: `loss ${number(row.loss, 3)}`, onclick: () => choose(place) },
    ...answerAt(predictions, row));
    buttons.set(place, button);
    element.append(button);
  });

  function choose(place) {
    for (const [other, button] of buttons) {
      button.setAttribute('aria-pressed', String(other === place));
      button.tabIndex = other === place ? 0 : -1;
    }
    chosen(place);
  }

  function move(event) {
    const all = predictions.asked;
    const at = all.indexOf(Number(document.activeElement.dataset.place));
    const to = { ArrowLeft: Math.max(at - 1, 0), ArrowRight: Math.min(at + 1, all.length - 1),
      Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    choose(all[to]);
    buttons.get(all[to]).focus();
  }

  return { element, choose };
}

// ---- the chosen place ---------------------------------------------------------------------------

function placeDetail(predictions, place) {
  const row = predictions.rows[place];
  return [h('h3', {}, predictions.rows.length === 1 ? 'This example' : `Position ${place}`),
    sentence(predictions, place), verdict(predictions, row),
    h('div', { class: 'columns' }, row.lost ? '' : h('div', {}, h('h4', {}, 'The model\'s first choices'),
      likeliestTable(predictions, row)), layersPart(predictions, place))];
}

// The chosen place in context: before its target, or in the middle.
function sentence(predictions, place) {
  const { next, read } = predictions;
  if (read.length === 0) return '';
  const first = Math.max(0, next ? place - CONTEXT + 1 : place - CONTEXT / 2);
  const last = next ? place : Math.min(read.length - 1, place + CONTEXT / 2);
  const parts = [];
  for (let i = first; i <= last; ++i) {
    const text = tokenText(read[i], i);
    parts.push(!next && i === place ? h('mark', {}, text) : text, ' ');
  }
  return h('p', { class: 'sentence', 'data-readout': 'sentence' }, first > 0 ? '\u2026 ' : '',
    ...parts, next ? h('mark', {}, '?') : last < read.length - 1 ? '\u2026' : '');
}

function verdict(predictions, row) {
  if (row.right === null) return h('p', {}, 'The loss does not count this position.');
  if (row.lost) {
    return h('p', { 'data-readout': 'verdict' }, 'The right answer is ',
      h('b', {}, predictions.quoted(row.right)), `; ${LOST}.`);
  }
  const p = Math.exp(-row.loss);
  const place = row.rank === 1 ? 'its first choice' : `number ${row.rank}`;
  return h('p', { 'data-readout': 'verdict' }, 'The right answer is ',
    h('b', {}, predictions.quoted(row.right)), `, ${place} of ${predictions.classes}, with a ` +
    `probability of ${sharePercent(p)}: the loss is \u2212ln ${number(p)} = ${number(row.loss)} nats.`);
}

function likeliestTable(predictions, row) {
  const all = row.likeliest.map(([id, p], i) => ({ id, p, rank: i + 1 }));
  if (row.right !== null && !all.some(({ id }) => id === row.right)) {
    all.push({ id: row.right, p: Math.exp(-row.loss), rank: row.rank });
  }
  const rest = 1 - all.reduce((sum, { p }) => sum + p, 0);
  const lines = all.map(({ id, p, rank }) => h('tr', { 'aria-selected': String(id === row.right) },
    h('td', { class: 'quiet' }, String(rank)),
    h('td', { class: 'word' }, predictions.nameOf(id)),
    h('td', {}, sharePercent(p)), barCell(p),
    h('td', { class: 'word' }, id === row.right ? '\u2713 right' : '')));
  const others = predictions.classes - all.length;
  if (others > 0) {
    lines.push(h('tr', { class: 'quiet' }, h('td', {}), h('td', { class: 'word' },
      others === 1 ? '1 other' : `${others} others`), h('td', {}, sharePercent(Math.max(0, rest))),
    barCell(Math.max(0, rest)), h('td', {})));
  }
  return saveable('likeliest', null, h('thead', {}, h('tr', {},
    h('th', { scope: 'col' }, 'rank'), h('th', { scope: 'col', class: 'word' }, 'answer'),
    h('th', { scope: 'col', colspan: '2' }, 'probability'), h('td', {}))),
  h('tbody', {}, ...lines));
}

function layersPart(predictions, place) {
  const lines = layerRows(predictions, place);
  if (lines.length < 2) return '';
  const hasRight = predictions.rows[place].right !== null;
  const head = (text, attributes) => h('th', { scope: 'col', ...attributes }, text);
  return h('div', {}, h('h4', {}, 'What each layer alone would predict'),
    h('p', { class: 'quiet legend' }, 'The vectors that each layer reads, sent straight to the ' +
      'model\u2019s output (the \u201clogit lens\u201d).'),
    scrolling('Predictions by layer', 'wide',
      saveable('layers', null, h('thead', {}, h('tr', {},
        head('stage', { class: 'word' }), head('first choice', { class: 'word', colspan: '2' }),
        ...(hasRight ? [head('right answer', { colspan: '2' }), head('rank')] : []))),
      h('tbody', {}, ...lines.map(({ name, loss, rank, id, p, lost }) => h('tr', {},
        h('th', { class: 'word', scope: 'row' }, name),
        wordCell(lost ? '' : predictions.nameOf(id)), h('td', {}, sharePercent(p)),
        ...(hasRight ? [h('td', {}, sharePercent(Math.exp(-loss))), barCell(Math.exp(-loss)),
          h('td', {}, lost ? '\u2013' : String(rank))] : [])))))));
}
