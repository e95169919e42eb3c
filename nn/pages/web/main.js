// The page of `tapestry inspect`: a title and tabs. Read next: predictions.js.
import { attentionTab } from './attention.js';
import { readData } from './data.js';
import { h } from './dom.js';
import { gradientsTab } from './gradients.js';
import { helpFor } from './help.js';
import { memoryTab } from './memory.js';
import { predictionsTab } from './predictions.js';
import { tabbed } from './tabs.js';
import { tapeTab } from './tape.js';
import { tokenTab } from './token_tab.js';

const TABS = [
  ['predictions', 'Predictions', predictionsTab],
  ['attention', 'Attention', attentionTab],
  ['token', 'One token', tokenTab],
  ['tape', 'Tape', tapeTab],
  ['memory', 'Memory', memoryTab],
  ['gradients', 'Gradients', gradientsTab],
];

function start() {
  const data = readData();
  document.title = `${data.title} \u2013 Tapestry`;
  const tabs = tabbed(TABS.map(([name, label, fill]) => [name, label, (panel) => {
    panel.append(helpFor(name));
    fill(panel, data);
  }]));
  document.getElementById('page').replaceChildren(
    h('header', {}, h('h1', {}, data.title), h('p', { class: 'quiet' }, data.subtitle)),
    ...tabs.elements);
  tabs.open(data.nonFinite ? 'gradients' : data.predictions ? 'predictions'
    : data.attention.length > 0 ? 'attention' : 'tape');
}

document.addEventListener('DOMContentLoaded', start);
