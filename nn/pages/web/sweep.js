// Compares this run with the others: the options that differ, and the results.
import { four, h } from './dom.js';
import { saveTable } from './export.js';
import { swatch } from './other_runs.js';
import { scrolling, sortable, valueCell, wordCell } from './table.js';

// The names of the options that differ between `runs`, in the first one's order.
function differing(runs) {
  const values = new Map();
  for (const { recipe } of runs) {
    for (const { name, value } of recipe.options ?? []) {
      if (!values.has(name)) values.set(name, new Set());
      values.get(name).add(value);
    }
  }
  return Array.from(values).filter(([name, all]) => all.size > 1 && name !== '--out').map(([name]) => name);
}

// A row for each of `runs`, { name, colour, lap, curves, recipe }; nothing for a single run.
export function sweepTable(runs) {
  if (runs.length < 2) return '';
  const names = differing(runs);
  const heads = ['run', 'latest loss', 'lowest validation loss', ...names];
  const rows = runs.map((run) => {
    const options = new Map((run.recipe.options ?? []).map(({ name, value }) => [name, value]));
    const { loss, val } = run.curves;
    return h('tr', {}, h('td', { class: 'word' }, swatch(run), run.name),
      ...[loss.latest, val.lowest].map((x) => (x ? valueCell(x.value, four(x.value)) : h('td', {}, '\u2013'))),
      ...names.map((name) => wordCell(options.get(name))));
  });
  return h('section', {}, h('div', { class: 'row spread' }, h('h3', {}, 'Runs compared'), saveTable('sweep')),
    scrolling('Runs compared', 'wide', sortable(h('table', { 'data-table': 'sweep' },
      h('thead', {}, h('tr', {}, ...heads.map((name) =>
        h('th', { scope: 'col', class: / loss$/.test(name) ? null : 'word' }, name)))),
      h('tbody', {}, ...rows)))));
}
