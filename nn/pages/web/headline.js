// The head of a page: one sentence on whether the run or the step is as it should be, from
// nn/inspect/diagnosis.h, and the command to run next.
import { h } from './dom.js';

const VERDICTS = { good: 'Good', open: 'Not done yet', bad: 'Problem' };

const asSentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

// { element, renew(diagnosis) }: hidden while the rules are silent.
export function headline(diagnosis) {
  const element = h('section', { class: 'headline', 'data-view': 'headline', 'aria-label': 'Diagnosis' });
  const renew = (found) => {
    element.hidden = !found || !found.text;
    if (element.hidden) return;
    element.dataset.verdict = found.verdict;
    element.dataset.rule = found.rule;
    const advice = found.advice ? ` ${asSentence(found.advice)}` : '';
    element.replaceChildren(h('p', {}, h('b', {}, `${VERDICTS[found.verdict]}: `),
      `${asSentence(found.text)}${advice}`),
    found.command ? h('p', { class: 'row' }, h('code', {}, found.command), copyButton(found.command)) : '');
  };
  renew(diagnosis);
  return { element, renew };
}

// Copies a text; where the browser does not allow that, the button reads "Not allowed here".
function copyButton(text, label = 'Copy') {
  const button = h('button', { class: 'step-button', 'data-control': 'copy', onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed here';
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  } }, label);
  return button;
}
