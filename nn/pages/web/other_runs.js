// Other runs next to this one: their reports are files that the user chooses, and their curves are
// shown. Nothing loads by itself; a page may not.
import { h } from './dom.js';

const COLOURS = ['run-1', 'run-2', 'run-3', 'run-4', 'run-5', 'run-6'];

// The data in a report file, or null if it is not a report.
function reportIn(text) {
  const found = /<script type="application\/json" id="data">([^<]*)<\/script>/.exec(text);
  try {
    const data = JSON.parse(found[1]);
    return data.curves && data.curves.loss && data.recipe ? data : null;
  } catch {
    return null;
  }
}

// A run's directory, which is its only name; without one, the page's title.
export function nameOfRun({ title, recipe }) {
  const out = (recipe.options ?? []).find(({ name }) => name === '--out');
  return out ? out.value : title;
}

// The mark of a run's lines: once all colours are used, they return for thicker lines.
export function swatch({ colour, lap }) {
  const mark = h('span', { class: `key ${colour}` });
  mark.style.width = `${9 * (1 + lap)}px`;
  return mark;
}

export class OtherRuns {
  constructor(changed) {
    this.changed = changed;
    this.runs = []; // { name, curves, recipe, colour, lap }
    const chooser = h('input', { type: 'file', accept: '.html', multiple: true, class: 'spoken',
      id: 'other-runs', 'data-control': 'other-runs', onchange: () => this.read(chooser) });
    this.said = h('span', { class: 'warn', role: 'alert' });
    this.names = h('span', { class: 'row' });
    this.element = h('div', { class: 'row' }, chooser,
      h('label', { for: 'other-runs', class: 'step-button' }, 'Compare with other reports\u2026'),
      this.names, this.said);
  }

  async read(chooser) {
    const files = Array.from(chooser.files);
    chooser.value = '';
    const found = await Promise.all(files.map(async (file) => [file.name, reportIn(await file.text())]));
    const bad = found.filter(([, data]) => data === null).map(([name]) => name);
    this.said.textContent = bad.length > 0 ? `No report: ${bad.join(', ')}.` : '';
    for (const [, data] of found) {
      if (data !== null) this.add(data);
    }
  }

  // The first colour that no run has or, in a further lap, that fewest have.
  freeLook() {
    for (let lap = 0; ; ++lap) {
      const free = COLOURS.find((each) => !this.runs.some((run) => run.colour === each && run.lap === lap));
      if (free) return { colour: free, lap };
    }
  }

  freeName(title) {
    for (let i = 1; ; ++i) {
      const name = i === 1 ? title : `${title} (${i})`;
      if (this.runs.every((run) => run.name !== name)) return name;
    }
  }

  add(data) {
    const { curves, recipe } = data;
    const { colour, lap } = this.freeLook();
    const run = { name: this.freeName(nameOfRun(data)), curves, recipe, colour, lap };
    this.runs.push(run);
    const name = h('span', { 'data-run': run.name }, swatch(run), run.name, ' ',
      h('button', { class: 'step-button', 'aria-label': `Remove ${run.name}`, onclick: () => {
        this.runs = this.runs.filter((each) => each !== run);
        name.remove();
        this.changed();
      } }, '\u00d7'));
    this.names.append(name);
    this.changed();
  }
}
