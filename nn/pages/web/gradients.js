// The gradients tab: the first NaN or infinity, dead units, and for every parameter the magnitudes
// of its values and gradient, as histograms over the same powers of two, so rows can be compared at
// a glance. Read next: non_finite.js and units.js.
import { saveTable } from './export.js';
import { breakable, h, number, percent, shapeText } from './dom.js';
import { powersAxis, powersHistogram, powersOf, powerText } from './histogram.js';
import { nonFiniteView } from './non_finite.js';
import { scrolling, sortable } from './table.js';
import { unitsView } from './units.js';

export function gradientsTab(panel, data) {
  panel.append(...[nonFiniteView(data), unitsView(data), parametersView(data.parameters)]
    .filter((view) => view));
}

function parametersView(parameters) {
  const powers = powersOf(parameters.flatMap((p) => [p.valueBins, p.gradBins]));
  const rows = parameters.map((parameter) => parameterRow(parameter, powers));
  const filter = h('input', { type: 'search', placeholder: 'name',
    'aria-label': 'Show parameters whose name contains', 'data-control': 'parameters',
    oninput: () => rows.forEach((row, i) => {
      row.hidden = !parameters[i].name.includes(filter.value);
    }) });
  const names = ['value rms', 'gradient rms', 'gradient / value', 'gradient zeros', 'NaN, inf'];
  const word = (text, kind, ...more) => h('th', { scope: 'col', class: `word ${kind}` }, text, ...more);
  return h('section', {},
    h('div', { class: 'row spread' }, h('h3', {}, `${parameters.length} parameters`), h('span', { class: 'row' }, saveTable('parameters'), filter)),
    h('p', { class: 'quiet legend' }, 'Histograms count elements by the power of two of their ' +
      `size, from ${powerText(powers.first)} to ${powerText(powers.last + 1)}; zeros are not counted.`),
    scrolling('Parameters', 'wide', sortable(
      h('table', { 'data-table': 'parameters' }, h('thead', {}, h('tr', {},
        word('parameter', 'of-name'), word('shape', 'of-shape'), word('sizes of values', '', powersAxis(powers)),
        word('sizes of gradients', '', powersAxis(powers)),
        ...names.map((name) => h('th', { scope: 'col' }, name)))),
      h('tbody', {}, ...rows)))));
}

const rms = (s) => (s.mean === null ? NaN : Math.hypot(s.mean, s.std)); // NaN if none is finite

function parameterRow(parameter, powers) {
  const { name, values, grad } = parameter;
  const bad = values.nans + values.infs + (grad ? grad.nans + grad.infs : 0);
  const cells = grad ? [
    h('td', {}, number(rms(grad), 3)),
    h('td', {}, rms(values) > 0 ? number(rms(grad) / rms(values), 3) : '\u2013'),
    h('td', {}, percent(grad.zeros / grad.count))]
    : [h('td', { class: 'word warn', colspan: '3' }, parameter.dead)];
  return h('tr', { 'data-parameter': name }, h('td', { class: 'word of-name' }, ...breakable(name)),
    h('td', { class: 'word quiet of-shape' }, shapeText(parameter.shape)),
    h('td', {}, powersHistogram(parameter.valueBins, 'values', powers,
      `sizes of the values of ${name}`)),
    h('td', {}, powersHistogram(parameter.gradBins, 'gradients', powers,
      `sizes of the gradient of ${name}`)),
    h('td', {}, number(rms(values), 3)), ...cells,
    h('td', { class: bad > 0 ? 'warn' : null }, String(bad)));
}
