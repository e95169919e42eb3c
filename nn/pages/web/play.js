// A button that goes through something by itself, and stops there.
import { h } from './dom.js';

// begin(): before it goes; next(): one further, every `pace` milliseconds, and is there more? It ends
// with that, with the button, with stop(), or when nobody sees it.
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
