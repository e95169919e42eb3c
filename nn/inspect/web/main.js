// The page: a title and tabs, each made when it is first opened. Read next: attention.js.
import { attentionTab } from './attention.js';
import { readData } from './data.js';
import { h } from './dom.js';
import { gradientsTab } from './gradients.js';
import { memoryTab } from './memory.js';
import { tapeTab } from './tape.js';

const TABS = [
  ['attention', 'Attention', attentionTab],
  ['tape', 'Tape', tapeTab],
  ['memory', 'Memory', memoryTab],
  ['gradients', 'Gradients', gradientsTab],
];

function start() {
  const data = readData();
  document.title = `${data.title} \u2013 Tapestry`;
  const made = new Set();
  const tabs = new Map();
  const panels = new Map();

  function open(name) {
    for (const [other, tab] of tabs) {
      tab.setAttribute('aria-selected', String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
      panels.get(other).hidden = other !== name;
    }
    if (!made.has(name)) {
      made.add(name);
      TABS.find(([other]) => other === name)[2](panels.get(name), data);
    }
    panels.get(name).dispatchEvent(new Event('shown'));
  }

  function move(event) {
    const names = TABS.map(([name]) => name);
    const at = names.indexOf(event.currentTarget.dataset.tab);
    const last = names.length - 1;
    const to = { ArrowLeft: Math.max(at - 1, 0), ArrowRight: Math.min(at + 1, last), Home: 0,
      End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    open(names[to]);
    tabs.get(names[to]).focus();
  }

  for (const [name, label] of TABS) {
    tabs.set(name, h('button', { role: 'tab', id: `tab-${name}`, 'data-tab': name,
      'aria-controls': `panel-${name}`, onclick: () => open(name), onkeydown: move }, label));
    panels.set(name, h('section', { role: 'tabpanel', id: `panel-${name}`,
      'aria-labelledby': `tab-${name}` }));
  }
  document.getElementById('page').replaceChildren(
    h('header', {}, h('h1', {}, data.title), h('p', { class: 'quiet' }, data.subtitle)),
    h('div', { role: 'tablist', 'aria-label': 'Views' }, ...tabs.values()),
    ...panels.values());
  open(data.nonFinite ? 'gradients' : data.attention.length > 0 ? 'attention' : 'tape');
}

document.addEventListener('DOMContentLoaded', start);
