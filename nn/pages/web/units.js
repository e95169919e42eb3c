// Units of activation functions that passed no gradient in this step, entry by entry.
import { h, number, percent } from './dom.js';
import { saveable } from './export.js';
import { scrolling, sortable } from './table.js';

const SATURATES = ['tanh', 'sigmoid'];

const DEFINITION = 'A unit is dead if a gradient reached its output but none got through to its input, in ' +
  'any row (a token of a sequence): in relu because the input was never above 0, in gelu and silu because ' +
  'their slope underflowed, in tanh and sigmoid because they were saturated. A unit is unreached if no ' +
  'gradient reached its output: later layers ignore it.';

export function unitsView({ entries }) {
  const all = entries.map((entry, i) => ({ ...entry, i })).filter(({ units }) => units);
  const idle = all.filter(({ units }) => units.dead + units.unreached > 0);
  const sum = (of) => all.reduce((total, { units }) => total + of(units), 0);
  const count = sum((units) => units.count);
  const summary = all.length === 0 ? 'No activation function was walked back through.'
    : `${number(sum((units) => units.dead))} dead and ${number(sum((units) => units.unreached))} ` +
      `unreached of ${number(count)} units in ${all.length} activation functions.`;
  return h('section', { 'data-view': 'units' },
    h('h3', {}, 'Dead units'), h('p', { 'data-readout': 'units' }, summary),
    idle.length > 0 ? unitsTable(idle) : '',
    h('p', { class: 'quiet legend' }, DEFINITION));
}

function unitsTable(idle) {
  const names = [' entry', ' module', 'rows', 'units', 'dead', 'share', ' ', 'unreached'];
  return scrolling('Dead units', 'wide', sortable(
    saveable('units', null, h('thead', {}, h('tr', {}, ...names.map((name) =>
      (name === ' ' ? h('td', {}) : h('th', { scope: 'col',
        class: name.startsWith(' ') ? 'word' : null }, name.trim()))))),
    h('tbody', {}, ...idle.map(unitsRow)))));
}

function unitsRow({ i, op, module, units }) {
  const share = units.dead / units.count;
  const bar = h('span', { class: 'bar' });
  bar.style.width = `${(60 * share).toFixed(1)}px`;
  const saturated = SATURATES.includes(op) && units.dead > 0 ? ' saturated' : '';
  return h('tr', { 'data-units': String(i) },
    h('th', { class: 'word', scope: 'row' }, `#${i}\u00a0${op}`),
    h('td', { class: 'word quiet' }, module), h('td', {}, number(units.rows)),
    h('td', {}, number(units.count)),
    h('td', { class: units.dead > 0 ? 'warn' : null }, number(units.dead)),
    h('td', {}, percent(share)), h('td', { class: 'word' }, bar, saturated),
    h('td', {}, number(units.unreached)));
}
