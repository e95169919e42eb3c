// The page of `tapestry inspect`: a title and tabs. Read next: predictions.js.
import { followAddress } from './address.js';
import { attentionTab } from './attention.js';
import { readData } from './data.js';
import { h } from './dom.js';
import { gradientsTab } from './gradients.js';
import { headline } from './headline.js';
import { helpFor } from './help.js';
import { inspectStory } from './inspect_story.js';
import { liveBar } from './live.js';
import { memoryTab } from './memory.js';
import { pictureTab } from './picture.js';
import { predictionsTab } from './predictions.js';
import { storyBar } from './story.js';
import { tabbed } from './tabs.js';
import { tapeTab } from './tape.js';
import { tokenTab } from './token_tab.js';

const TABS = [
  ['picture', 'One picture', pictureTab],
  ['predictions', 'Predictions', predictionsTab],
  ['attention', 'Attention', attentionTab],
  ['token', 'One token', tokenTab],
  ['tape', 'Tape', tapeTab],
  ['memory', 'Memory', memoryTab],
  ['gradients', 'Gradients', gradientsTab],
];

function start() {
  const first = readData();
  document.title = `${first.title} \u2013 Tapestry`;
  const subtitle = h('p', { class: 'quiet', 'data-readout': 'subtitle' });
  const views = h('div', {});
  const usual = first.nonFinite ? 'gradients' : first.path ? 'picture' : first.predictions ? 'predictions'
    : first.attention.length > 0 ? 'attention' : 'tape';
  let open = usual;
  let latest = first;
  const head = headline(first.diagnosis);
  function show(data) {
    latest = data;
    subtitle.textContent = data.subtitle;
    head.renew(data.diagnosis);
    const tabs = tabbed(TABS.filter(([name]) => name !== 'picture' || data.path).map(([name, label, fill]) => [name, label, (panel) => {
        panel.append(helpFor(name));
        fill(panel, data);
      }]),
      (name) => { open = name; });
    views.replaceChildren(...tabs.elements);
    tabs.begin(open);
  }
  const bar = liveBar(first.prompt ?? '', show);
  const story = storyBar(inspectStory(TABS.map(([name]) => name).filter((name) => name !== 'picture' || first.path)));
  document.getElementById('page').replaceChildren(
    h('header', {}, h('div', { class: 'row spread' }, h('h1', {}, first.title), story.buttons), subtitle, head.element),
    story.card, ...(bar ? [bar] : []), views);
  show(first);
  followAddress(() => {
    open = usual;
    show(latest);
  });
}

document.addEventListener('DOMContentLoaded', start);
