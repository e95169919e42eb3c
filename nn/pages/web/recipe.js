// The recipe tab: how to reproduce this run, and the loss to expect.
import { h, number, secondsText } from './dom.js';
import { saveable } from './export.js';

// Fills `panel`; returns a function that updates it with newer data.
export function recipeTab(panel, data) {
  const losses = h('tbody', {});
  const cost = h('p', { 'data-readout': 'cost' });
  const { command, options } = data.recipe;
  const table = (name, heads, body) => h('div', { class: 'wide', tabindex: '0', role: 'region',
    'aria-label': name }, saveable(name, 'words', h('thead', {},
    h('tr', {}, ...heads.map((head) => (head === '' ? h('td', {})
      : h('th', { scope: 'col', class: 'word' }, head))))), body));
  const rows = options.map(({ name, value, meaning }) => h('tr', { 'data-option': name },
    h('th', { class: 'word', scope: 'row' }, name), h('td', { class: 'word value' }, value),
    h('td', { class: 'word quiet' }, meaning)));
  panel.append(h('h3', {}, 'The command'), h('pre', { 'data-view': 'command' }, command),
    h('h3', {}, 'Losses to expect'), h('p', { class: 'quiet legend' }, 'In nats per token, on the ' +
      'validation text. The perplexity, e^loss, is the number of equally likely tokens that would give this loss.'),
    table('expected', ['', 'loss', 'perplexity', 'what that is'], losses),
    h('h3', {}, 'Every option'), table('options', ['option', 'value', 'meaning'], h('tbody', {}, ...rows)),
    h('h3', {}, 'What this report costs'), cost);
  const renew = (newer) => {
    const { latest, lowest } = newer.curves.val;
    const own = !latest ? [] : [{ name: `this run, step ${latest.step}`, loss: latest.value,
      meaning: 'Its latest validation loss.' }];
    if (latest && lowest.step < latest.step) {
      own.push({ name: `this run, step ${lowest.step}`, loss: lowest.value, meaning: 'Its lowest validation loss.' });
    }
    losses.replaceChildren(...[...newer.recipe.expected, ...own].map(({ name, loss, meaning }) =>
      h('tr', { 'data-loss': name }, h('th', { class: 'word', scope: 'row' }, name),
        h('td', {}, number(loss)), h('td', {}, number(Math.exp(loss))),
        h('td', { class: 'word quiet' }, meaning))));
    const { cost: seconds, total: spent } = newer.status;
    cost.textContent = `${secondsText(seconds)} of ${secondsText(spent)} (${costShare(newer)}), ` +
      'before this page was written: statistics of parameters, samples and pages.';
  };
  renew(data);
  return renew;
}

// Share of the run's time: "0.4%"
function costShare({ status }) {
  return status.total > 0 ? `${(100 * status.cost / status.total).toFixed(1)}%` : '0%';
}
