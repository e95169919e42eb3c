// The tape tab: the step as it ran, as a graph folded by module and as a table; a slider steps
// through backward, rule by rule.
import { keepState, numberOf } from './address.js';
import { saveable, saveTable } from './export.js';
import { bytesText, flopsText, h, number, percent, secondsText, shapeText } from './dom.js';
import { speak } from './speak.js';
import { scrolling, sortable, valueCell } from './table.js';
import { TapeGraph } from './tape_graph.js';
import { stateOf, WalkStates } from './walk.js';

export function tapeTab(panel, data) {
  if (data.entries.length === 0) {
    panel.append(h('p', {}, 'Nothing was recorded.'));
    return;
  }
  const states = new WalkStates(data);
  const begun = numberOf('walk', data.walk.length + 1, 0);
  const bar = walkBar(data.walk.length, begun, show);
  const detail = h('div', { class: 'entry', 'data-view': 'entry' });
  const graph = new TapeGraph(data, choose);
  const table = entryTable(data, choose);
  const filter = h('input', { type: 'search', placeholder: 'op or module',
    'aria-label': 'Show entries whose operation or module contains', 'data-control': 'filter',
    oninput: () => table.filter(filter.value) });

  function choose(entry) {
    detail.replaceChildren(...entryDetail(data, entry));
    keepState({ op: entry });
    graph.mark(entry);
    table.mark(entry);
  }

  function show(at) {
    const state = states.at(at);
    bar.say(statusOf(data, at, state));
    graph.show((entry) => stateOf(entry, state));
    table.show((entry) => stateOf(entry, state));
    if (at > 0) choose(data.walk[at - 1].entry);
    keepState({ walk: at });
  }

  panel.append(bar.element, h('div', { class: 'split tape' }, graph.element, detail),
    h('div', { class: 'row spread' }, h('h3', {}, `All ${data.entries.length} operations`), h('span', { class: 'row' }, saveTable('entries'), filter)),
    impossible(data) ? h('p', { class: 'warn', 'data-readout': 'peak' }, 'More than 100% of the peak is impossible: ' +
      'it was measured while other programs were running.') : '', table.element);
  choose(numberOf('op', data.entries.length, culpritOf(data) ?? 0));
  show(begun);
}

// The entry in which the first NaN or infinity arose, if any.
function culpritOf({ nonFinite }) {
  return nonFinite && nonFinite.entry >= 0 ? nonFinite.entry : null;
}

// A slider and two buttons to move through the steps, and the text for the one shown.
function walkBar(steps, begun, show) {
  const slider = h('input', { type: 'range', min: '0', max: String(steps), value: String(begun),
    'data-control': 'walk', 'aria-label': 'Step of the walk back', id: 'walk-slider',
    oninput: () => show(Number(slider.value)) });
  const status = h('p', { 'data-readout': 'walk' });
  const button = (by, name, label, arrow) => h('button', { class: 'step-button',
    'data-control': name, 'aria-label': label, onclick: () => {
      slider.value = String(Math.max(0, Math.min(steps, Number(slider.value) + by)));
      show(Number(slider.value));
    } }, arrow);
  return {
    element: h('div', { class: 'walk' }, h('div', { class: 'row' },
      h('label', { for: 'walk-slider' }, 'Backward, step by step'),
      button(-1, 'back', 'One step back', '\u2190'), slider,
      button(1, 'next', 'Next step', '\u2192')), status),
    say: (words) => {
      status.replaceChildren(...words);
      slider.setAttribute('aria-valuetext', status.textContent);
      speak(status.textContent);
    },
  };
}

function placeText(data, slot) {
  const place = data.places[slot];
  if (place.entry < 0) return place.leaf;
  const { op } = data.entries[place.entry];
  return `#${place.entry} ${op}`;
}

function statusOf(data, at, state) {
  const total = data.walk.length;
  if (total === 0) return ['Backward did not run.'];
  if (at === 0) {
    return [`Before the walk: ${data.entries.length} operations are recorded. Backward starts at the ` +
      `loss and takes ${total} steps.`];
  }
  const step = data.walk[at - 1];
  const entry = data.entries[step.entry];
  const list = (slots) => Array.from(new Set(slots.map((slot) => placeText(data, slot)))).join(', ') ||
    'none';
  return [h('b', {}, `Step ${at} of ${total}: #${step.entry} ${entry.op}`),
    entry.module ? ` in ${entry.module}` : '',
    `. Consumed the gradient of ${list(step.used)}, produced that of ${list(step.arrived)}. ` +
    `${state.alive.size} gradients in memory, ${bytesText(step.cotangents)}; ` +
    `freed ${bytesText(step.freed)}.`];
}

// ---- one entry ----------------------------------------------------------------------------------

function entryDetail(data, number_) {
  const entry = data.entries[number_];
  const anyDead = entry.inputs.some((x) => x.dead);
  const inputs = entry.inputs.map((x) => h('tr', {},
    h('td', { class: 'word' }, x.slot >= 0 ? placeText(data, x.slot) : 'constant'),
    h('td', { class: 'word' }, `${x.dtype} ${shapeText(x.shape)}`),
    anyDead ? h('td', { class: 'word warn' }, x.dead || '') : ''));
  const several = entry.outputs.length > 1;
  const outputs = entry.outputs.flatMap((y, i) => [['value', y.values], ['gradient', y.grad]]
    .filter(([, s]) => s).map(([name, s]) => h('tr', {},
      h('th', { class: 'word', scope: 'row' }, several ? `${name} of output ${i}` : name),
      ...[s.min, s.max, s.mean, s.std].map((x) => h('td', {}, number(x))),
      h('td', {}, percent(s.count ? s.zeros / s.count : 0)),
      h('td', { class: s.nans + s.infs > 0 ? 'warn' : null }, String(s.nans + s.infs)))));
  const head = (names) => h('thead', {}, h('tr', {}, ...names.map((name) =>
    h('th', { scope: 'col', class: name.startsWith(' ') ? 'word' : null }, name.trim()))));
  return [
    h('h2', {}, `#${number_} ${entry.op}${entry.settings ? ` (${entry.settings})` : ''}`),
    h('p', { class: 'quiet' }, `${entry.module || 'no module'}; ${entry.outputs.length === 1 ? 'output' : 'outputs'} ` +
      `${entry.outputs.map((y) => `${y.dtype} ${shapeText(y.shape)}`).join(', ')}; keeps ` +
      `${bytesText(entry.saved)} for backward`),
    culpritOf(data) === number_ ? h('p', { class: 'warn' }, data.nonFinite.headline) : '',
    entry.dead ? h('p', { class: 'warn' }, entry.dead) : '',
    scrolling('Its output', 'wide', saveable('outputs', null,
      head([' output', 'min', 'max', 'mean', 'std', 'zeros', 'NaN, inf']),
      h('tbody', {}, ...outputs))),
    scrolling('Its inputs', 'wide', saveable('inputs', null,
      head([' input from', ' type and shape', ...(anyDead ? [' why it has no gradient'] : [])]),
      h('tbody', {}, ...inputs))),
    scrolling('What it took', 'wide', saveable('work', null,
      head([' pass', 'FLOPs', 'bytes', 'time', 'least', 'of peak']),
      h('tbody', {}, workRow('forward', entry.forward),
        entry.backward ? workRow('backward', entry.backward) : '')))];
}

function workRow(name, work) {
  return h('tr', {}, h('th', { class: 'word', scope: 'row' }, name),
    valueCell(work.flops, flopsText(work.flops)), valueCell(work.bytes, bytesText(work.bytes)),
    valueCell(work.s, secondsText(work.s)), valueCell(work.least, secondsText(work.least)),
    h('td', {}, percent(ofPeak(work))));
}

const ofPeak = (work) => (work && work.s > 0 ? work.least / work.s : 0);

// Did anything run faster than this machine can?
const impossible = ({ entries }) => entries.some(({ forward, backward }) =>
  ofPeak(forward) > 1.05 || ofPeak(backward) > 1.05);

// ---- all entries --------------------------------------------------------------------------------

const COLUMNS = ['#', ' op', ' module', 'forward', 'backward', 'of peak', 'FLOPs', 'saved', 'min',
  'max', 'mean', 'std', 'gradient std', ' shapes'];

function entryTable(data, choose) {
  const rows = data.entries.map((entry, i) => entryRow(entry, i, choose));
  if (culpritOf(data) !== null) markFinding(rows[culpritOf(data)], data);
  // Tab stops once in the table: at the chosen row, or the first one shown; arrows move on.
  function stop() {
    const shown = Array.from(rows[0].parentElement.rows).filter((row) => !row.hidden);
    const at = shown.find((row) => row.getAttribute('aria-selected') === 'true') ?? shown[0];
    for (const row of rows) row.querySelector('button').tabIndex = row === at ? 0 : -1;
  }
  const moveUpOrDown = (event) => {
    const shown = Array.from(rows[0].parentElement.rows).filter((row) => !row.hidden);
    const at = shown.findIndex((row) => row.contains(document.activeElement) && document.activeElement !== row);
    const to = shown[{ ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: shown.length - 1 }[event.key]];
    if (at < 0 || !to) return;
    event.preventDefault();
    choose(Number(to.dataset.entry));
    to.querySelector('button').focus();
  };
  const element = scrolling('All entries', 'wide entries', sortable(
    h('table', { 'data-table': 'entries' }, h('thead', {}, h('tr', {}, ...COLUMNS.map((name) =>
      h('th', { scope: 'col', class: name.startsWith(' ') ? 'word' : null }, name.trim())))),
    h('tbody', { onkeydown: moveUpOrDown }, ...rows))));
  return {
    element,
    show: (state) => rows.forEach((row, i) => { row.dataset.state = state(i); }),
    mark: (entry) => {
      rows.forEach((row, i) => row.setAttribute('aria-selected', String(i === entry)));
      stop();
    },
    filter: (text) => rows.forEach((row, i) => {
      const { op, module } = data.entries[i];
      row.hidden = !`${op} ${module}`.toLowerCase().includes(text.toLowerCase());
      if (i === rows.length - 1) stop();
    }),
  };
}

function markFinding(row, { nonFinite }) {
  row.classList.add('culprit');
  row.setAttribute('title', nonFinite.headline);
  row.children[1].append(h('b', { class: 'warn' }, ' first NaN or infinity'));
}

function entryRow(entry, i, choose) {
  const [y] = entry.outputs;
  const shapes = `${entry.inputs.map((x) => shapeText(x.shape)).join(' ')} \u2192 ` +
    entry.outputs.map((out) => shapeText(out.shape)).join(' ');
  const { forward: f, backward: b } = entry;
  const time = f.s + (b ? b.s : 0);
  const cells = [
    h('td', { class: 'quiet' }, String(i)),
    h('td', { class: 'word' }, h('button', { tabindex: '-1', onclick: () => choose(i) }, entry.op)),
    h('td', { class: 'word quiet' }, entry.module),
    valueCell(f.s, secondsText(f.s)),
    b ? valueCell(b.s, secondsText(b.s)) : h('td', {}, '\u2013'),
    h('td', {}, percent(time > 0 ? (f.least + (b ? b.least : 0)) / time : 0)),
    valueCell(f.flops, flopsText(f.flops)), valueCell(entry.saved, bytesText(entry.saved)),
    ...[y.values.min, y.values.max, y.values.mean, y.values.std].map((x) =>
      h('td', {}, number(x, 3))),
    entry.dead ? h('td', { class: 'warn', title: entry.dead }, 'none')
      : h('td', {}, y.grad ? number(y.grad.std, 3) : '\u2013'),
    h('td', { class: 'word quiet' }, shapes)];
  return h('tr', { 'data-entry': String(i), onclick: () => choose(i) }, ...cells);
}
