// Below the curves: the outlier steps, each with the command to open it.
import { h, number } from './dom.js';

const WHAT = { loss: 'loss', grad_norm: 'gradient norm' };

// Fills `panel`; returns a function that updates it with newer data.
export function spikeList(panel, data) {
  const list = h('ul', {});
  const section = h('section', { 'data-view': 'spikes' }, h('h3', {}, 'Steps that stand out'),
    h('p', { class: 'quiet legend' }, 'More than 5 standard deviations above the running mean (about 50 ' +
      'steps), or 10 times the mean of the first steps. The command replays the step.'), list);
  panel.append(section);
  const renew = ({ spikes }) => {
    section.hidden = spikes.length === 0;
    list.replaceChildren(...spikes.map(({ step, what, value, mean, command }) =>
      h('li', { 'data-spike': step }, `step ${step}: ${WHAT[what] ?? what} ${number(value)} (running mean ${number(mean)})${command ? ': ' : ''}`,
        command ? h('code', {}, command) : '')));
  };
  renew(data);
  return renew;
}
