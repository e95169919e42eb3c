// The gradient check tab: break a backward rule, see the effect on training, and let the gradient
// checker find it. Read next: ../broken_rule.h.
import { h } from './dom.js';
import { speak } from './speak.js';

// In the order of Flaw.
const FLAWS = ['has the wrong sign', 'is twice what it should be', 'is zero', 'is shifted by one place',
  'has its axes exchanged'];

// { fill(panel), begin(rules), show(text) }. `broken` is called with every change, { op, operand,
// flaw }.
export function rulesView(broken, ask) {
  let rules = [];
  const which = h('select', { 'data-control': 'rule', onchange: () => change() });
  const flaw = h('select', { 'data-control': 'flaw',
    'aria-label': 'What is wrong with it', onchange: () => change() },
    ...FLAWS.map((text, i) => h('option', { value: i }, text)));
  const standing = h('p', { 'data-readout': 'rule' });
  const report = h('pre', { 'data-view': 'check', hidden: true });
  const button = h('button', { class: 'step-button', 'data-control': 'check', onclick: () => {
    button.disabled = true;
    report.hidden = false;
    report.textContent = 'Checking.';
    ask();
  } }, 'Check the gradients');

  function change() {
    const rule = rules[which.selectedIndex - 1];
    report.hidden = true;
    flaw.disabled = !rule;
    standing.textContent = rule ? `From now on, steps use a broken rule: in ${rule.op}, the ` +
      `gradient of its ${rule.what} ${FLAWS[flaw.selectedIndex]}.` : 'All rules are right.';
    standing.className = rule ? 'warn' : '';
    speak(standing.textContent);
    broken(rule ? { ...rule, flaw: flaw.selectedIndex } : { op: '', operand: 0, flaw: 0 });
  }

  return {
    fill(panel) {
      panel.append(h('p', { class: 'legend' }, 'A wrong gradient rarely causes an error: the model ' +
        'learns worse than it should, and nothing shows why. Break a rule, train, and look at the ' +
        'curves. The gradient checker does not know what you did: it compares the rules with ' +
        'finite differences of the function.'),
      h('div', { class: 'row' }, h('label', {}, 'The gradient of ', which), flaw),
      standing, h('div', { class: 'row' }, button), report);
    },
    // For a new run, whose rules are all right.
    begin(those) {
      rules = those;
      which.replaceChildren(h('option', {}, 'nothing: all rules are right'),
        ...rules.map(({ op, what }) => h('option', {}, `${op}: ${what}`)));
      flaw.disabled = true;
      standing.textContent = 'All rules are right.';
      standing.className = '';
      report.hidden = true;
      button.disabled = false;
    },
    // The first wrong operation is the answer, so it comes first.
    show(text) {
      const found = /^  first wrong op:[^\n]*(?:\n    [^\n]*)*/m.exec(text);
      report.textContent = found ? `${found[0].trim()}\n\n${text}` : text;
      speak(found ? found[0].trim() : text.split('\n')[0]);
      button.disabled = false;
    },
    failed: () => { button.disabled = false; },
  };
}
