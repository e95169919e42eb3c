// A button that plays a sequence, and stops it.
import { h } from './dom.js';

// begin(): called first; next(): advances, every `pace` milliseconds, and returns whether there is
// more. Playing ends then, or by the button, by stop(), or when the page is hidden.
export function playButton(name, pace, begin, next) {
  let timer = null;
  const button = h('button', { class: 'step-button', 'data-control': name, onclick: () => {
    if (timer !== null) return stop();
    begin();
    button.textContent = '\u275a\u275a Pause';
    timer = setInterval(() => {
      if (button.offsetParent === null || !next()) stop();
    }, pace);
  } });
  function stop() {
    clearInterval(timer);
    timer = null;
    button.textContent = '\u25b6 Play';
  }
  stop();
  return { button, stop };
}
