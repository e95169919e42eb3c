// A tour of a page: a dozen cards that lead through it in the course's words, each with the state of the
// page that it speaks of; and large text for the back row of a classroom. Both are in the address.
import { followAddress, keepState, valueInAddress } from './address.js';
import { h } from './dom.js';
import { chapterOf } from './help.js';
import { speak } from './speak.js';

// The parts of the state that a card sets; those it does not name are as the page has them at first.
const NAMES = ['tab', 'back', 'column', 'token', 'layer', 'head', 'query', 'key', 'step'];

// cards: [{ title, text, chapter, state }], all of whose tabs the page has. A state is changed as by a link.
export function storyBar(cards) {
  const at = () => {
    const number = Number(valueInAddress('story') ?? 0);
    return Number.isInteger(number) && number >= 1 && number <= cards.length ? number : 0;
  };
  const card = h('section', { class: 'story', 'data-view': 'story', 'aria-label': 'Tour', onkeydown: (event) => {
    const to = { Escape: 0, PageDown: at() + 1, PageUp: at() - 1 }[event.key];
    if (to === undefined || (to === 0 && event.key === 'PageUp')) return;
    event.preventDefault();
    go(to);
  } });
  const begin = h('button', { class: 'step-button', 'data-control': 'story', onclick: () => go(1) }, 'Tour');
  const large = h('button', { class: 'step-button', 'data-control': 'projector', 'aria-pressed': 'false',
    title: 'Large text, for the back row', onclick: () => {
      keepState({ projector: valueInAddress('projector') ? null : 1 });
      follow();
      window.dispatchEvent(new Event('resize'));
    } }, 'Large');

  function go(to) {
    const { state = {} } = cards[to - 1] ?? {};
    if (to > cards.length) return;
    const changes = Object.fromEntries(NAMES.map((name) => [name, state[name] ?? null]));
    keepState(to === 0 ? { story: null } : { ...changes, story: to }, true);
    window.dispatchEvent(new Event('hashchange'));
    if (to === 0) begin.focus();
    else card.querySelector(`[data-control=story-${to < cards.length ? 'next' : 'back'}]`).focus();
    speak(card.querySelector('p')?.textContent ?? '');
  }

  const control = (name, label, to, more) => h('button', { class: 'step-button', 'data-control': name, onclick: () => go(to), ...more }, label);

  function follow() {
    const number = at();
    card.hidden = number === 0;
    begin.hidden = number !== 0;
    document.documentElement.toggleAttribute('data-projector', valueInAddress('projector') !== null);
    large.setAttribute('aria-pressed', String(valueInAddress('projector') !== null));
    if (number === 0) return card.replaceChildren();
    const { title, text, chapter } = cards[number - 1];
    card.replaceChildren(h('h2', {}, `${number} of ${cards.length}: ${title}`), h('p', {}, text),
      h('div', { class: 'row' }, control('story-back', 'Back', number - 1, { disabled: number === 1 }),
        control('story-next', 'Next', number + 1, { disabled: number === cards.length }), control('story-end', 'End', 0),
        h('span', { class: 'quiet' }, ...chapterOf(chapter))));
  }
  follow();
  followAddress(follow);
  return { buttons: h('div', { class: 'row' }, begin, large), card };
}
