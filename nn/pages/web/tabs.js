// Tabs: a list to choose from, by mouse or keyboard, and the panel of the open one. Panels are
// filled when first opened.
import { asOpened, keepState, valueInAddress } from './address.js';
import { h } from './dom.js';

// tabs: [[name, label, fill(panel)]]. `shown` is called with the name after every opening; clicking
// the open tab does nothing.
export function tabbed(tabs, shown = () => {}) {
  const buttons = new Map();
  const panels = new Map();
  const filled = new Set();

  function open(name) {
    for (const [other, button] of buttons) {
      button.setAttribute('aria-selected', String(other === name));
      button.tabIndex = other === name ? 0 : -1;
      panels.get(other).hidden = other !== name;
    }
    if (!filled.has(name)) {
      filled.add(name);
      const [, label, fill] = tabs.find(([other]) => other === name);
      panels.get(name).append(h('h2', { class: 'spoken' }, label)); // headings begin at this level
      asOpened(() => fill(panels.get(name)));
    }
    shown(name);
    asOpened(() => panels.get(name).dispatchEvent(new Event('shown')));
  }

  // A tab that the reader chooses is kept in the address; Back returns to the one before.
  function choose(name) {
    open(name);
    keepState({ tab: name }, true);
  }

  function move(event) {
    const names = tabs.map(([name]) => name);
    const at = names.indexOf(event.currentTarget.dataset.tab);
    const last = names.length - 1;
    const to = { ArrowLeft: Math.max(at - 1, 0), ArrowRight: Math.min(at + 1, last), Home: 0,
      End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(names[to]);
    buttons.get(names[to]).focus();
  }

  for (const [name, label] of tabs) {
    buttons.set(name, h('button', { role: 'tab', id: `tab-${name}`, 'data-tab': name,
      'aria-controls': `panel-${name}`, onkeydown: move,
      onclick: () => { if (panels.get(name).hidden) choose(name); } }, label));
    panels.set(name, h('section', { role: 'tabpanel', id: `panel-${name}`,
      'aria-labelledby': `tab-${name}` }));
  }
  const list = h('div', { role: 'tablist', 'aria-label': 'Views' }, ...buttons.values());
  // The address's tab, otherwise `usual`.
  const begin = (usual) => open(buttons.has(valueInAddress('tab')) ? valueInAddress('tab') : usual);
  return { elements: [list, ...panels.values()], open, begin };
}

// A button that opens a tab at this state.
export const openTab = (name, text, changes) => h('button', { class: 'step-button', 'data-control': `all-${name}`, onclick: () => {
  keepState({ tab: name, ...changes }, true);
  window.dispatchEvent(new Event('hashchange'));
} }, text);
