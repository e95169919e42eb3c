// Below the curves: the outlier steps, each with the command to open it.
import { h, number } from './dom.js';

// Fills `panel`; returns a function that updates it with newer data.
export function spikeList(panel, data) {
  const list = h('ul', {});
  const section = h('section', { 'data-view': 'spikes' }, h('h3', {}, 'Steps that stand out'),
    h('p', { class: 'quiet legend' }, 'More than 5 deviations above the mean of the steps before ' +
      '(of about 50, the latest counting most). The command takes the step again and shows it.'), list);
  panel.append(section);
  const renew = ({ spikes }) => {
    section.hidden = spikes.length === 0;
    list.replaceChildren(...spikes.map(({ step, what, value, mean, command }) =>
      h('li', { 'data-spike': step }, `step ${step}: ${what} ${number(value)}, after ${number(mean)}: `,
        h('code', {}, command))));
  };
  renew(data);
  return renew;
}
