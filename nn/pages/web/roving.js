// One tab stop for a group of controls: arrow keys, Home and End go from one to the next.

const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };

// The controls are those in `element` that match `selector` and can be seen. Returns a function to
// call when they have changed: the chosen one, or the first, is the tab stop.
export function roving(element, selector) {
  const shown = () => Array.from(element.querySelectorAll(selector)).filter((each) => each.getClientRects().length > 0);
  const stopAt = (chosen) => {
    for (const each of element.querySelectorAll(selector)) each.setAttribute('tabindex', each === chosen ? '0' : '-1');
  };
  element.addEventListener('keydown', (event) => {
    const all = shown();
    const at = all.indexOf(document.activeElement);
    const step = STEPS[event.key];
    if (at < 0 || step === undefined) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, at + step))].focus();
  });
  element.addEventListener('focusin', ({ target }) => target.matches(selector) && stopAt(target));
  return () => {
    const all = Array.from(element.querySelectorAll(selector));
    stopAt(all.find((each) => each.closest('[aria-selected=true], [aria-pressed=true]')) ?? all[0]);
  };
}
