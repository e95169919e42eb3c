// The samples tab: the model's samples at the evaluations, from first to latest.
import { h, number } from './dom.js';

// Fills `panel`; returns a function that updates it with newer data. Existing elements are not
// touched, so a text keeps its selection while later ones are added below it.
export function samplesTab(panel, data) {
  const shown = new Map(); // by step
  const list = h('div', { 'data-view': 'samples' });
  const none = h('p', { class: 'quiet' });
  const renew = (newer) => {
    const written = newer.evaluations.filter(({ sample }) => sample !== '');
    const steps = new Set(written.map(({ step }) => step));
    for (const [step, element] of shown) {
      if (steps.has(step)) continue;
      element.remove();
      shown.delete(step);
    }
    for (const evaluation of written) {
      if (shown.has(evaluation.step)) continue;
      shown.set(evaluation.step, sampleOf(evaluation));
      list.append(shown.get(evaluation.step)); // the latest comes last
    }
    none.hidden = written.length > 0;
    none.textContent = newer.status.state === 'running' ? 'Nothing yet: samples are written at ' +
      'evaluations.' : 'There are none: samples are written at evaluations.';
  };
  panel.append(h('p', { class: 'quiet legend' }, 'Every sample begins with the text\'s first ' +
    'token and uses the same random numbers, so any difference comes from the model.'), none, list);
  renew(data);
  return renew;
}

function sampleOf({ step, val, sample }) {
  const loss = val === null ? '' : `, validation loss ${number(val)}`;
  return h('section', { class: 'sample', 'data-sample': step },
    h('h3', {}, `After step ${step}${loss}`), h('pre', {}, sample));
}
