// Saves a run as a file that `tapestry train` can resume, and opens one; shows the digest of the
// parameters, which identifies the result.
import { h } from './dom.js';

const COMMANDS = ['tar xzf playground.tar.gz && cd playground',
  'TAPESTRY_ISA=baseline tapestry train --resume --out .'].join('\n');

// { element, save(answer), say(changed) }. `ask` requests the file.
export function shareView(ask) {
  const link = h('a', { download: 'playground.tar.gz', hidden: true, 'data-control': 'download' });
  const told = h('div', { hidden: true, 'data-readout': 'saved' });
  const button = h('button', { class: 'step-button', 'data-control': 'save', onclick: ask },
    'Save this run');
  const altered = h('p', { class: 'warn', hidden: true, 'data-readout': 'altered' });
  return {
    element: h('section', {}, h('h3', {}, 'Export this run'), h('p', { class: 'legend' },
      'One file with the model, the optimiser, its random numbers, and the text. tapestry train ' +
      'continues it, and so does this page: choose \u201ca saved run\u201d as its text.'),
    h('div', { class: 'row' }, button), altered, told, link),
    save({ file, step }) {
      if (link.href) URL.revokeObjectURL(link.href);
      link.href = URL.createObjectURL(file);
      link.click();
      told.hidden = false;
      told.replaceChildren(h('p', {}, `Saved after step ${step}, ` +
        `${(file.size / 1e6).toFixed(2)} MB. To continue outside the browser:`), h('pre', {}, COMMANDS),
      h('p', { class: 'legend' }, 'Both give the same bits: the SHA-256 of the numbers in ' +
        'model.safetensors equals the one that this page shows.'));
    },
    // Changes to the run that tapestry train cannot reproduce.
    say(changes) {
      altered.hidden = changes.length === 0;
      altered.textContent = `${changes.join(' and ')}: tapestry train does not apply this ` +
        'change, so its results will differ from here on.';
    },
    clear: () => { told.hidden = true; },
  };
}
