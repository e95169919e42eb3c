// What a screen reader says of changes: one polite region for the page, whose text changes at most
// every two seconds. Of several changes in between, only the latest is said.
import { isOpening } from './address.js';
import { h } from './dom.js';

const SPOKEN_EVERY = 2000; // milliseconds

let spokenRegion = null;
let unspoken = null;
let spokenTimer = 0;
let spokenAt = -Infinity;

// Says what the reader has just changed; what a page shows when it opens is not said.
export function speak(text) {
  if (isOpening() || text === '') return;
  spokenRegion ??= document.body.appendChild(h('p', { class: 'spoken', 'aria-live': 'polite', 'data-view': 'spoken' }));
  unspoken = text;
  if (spokenTimer !== 0) return;
  spokenTimer = setTimeout(() => {
    spokenTimer = 0;
    spokenAt = performance.now();
    spokenRegion.textContent = unspoken;
  }, Math.max(50, spokenAt + SPOKEN_EVERY - performance.now()));
}
