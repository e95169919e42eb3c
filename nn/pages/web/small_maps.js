// Heads as small maps. A page may hold 144 heads of 512 tokens, whose weights take seconds to
// compute: this is done query by query, a few milliseconds at a time, and not while the pointer
// moves.
import { HIDDEN, weightImage } from './attention_map.js';
import { sized } from './dom.js';

const SLICE = 4; // milliseconds
const REST = 100; // after the pointer's last movement

// Yields until the image is complete: the largest weight of every patch, so a line one key wide
// stays visible.
function* smallImage(attention, head, size) {
  const { queries, keys } = attention;
  const rows = Math.min(queries, size);
  const columns = Math.min(keys, size);
  const small = new Float32Array(rows * columns).fill(HIDDEN);
  for (let i = 0; i < queries; ++i) {
    const weights = attention.rowOf(head, i);
    const first = Math.floor(i * rows / queries) * columns;
    for (let j = 0; j < attention.seen(i); ++j) {
      if (attention.masked(head, i, j) === -Infinity) continue;
      const at = first + Math.floor(j * columns / keys);
      small[at] = Math.max(small[at], weights[j]);
    }
    yield;
  }
  return weightImage(small, rows, columns);
}

function paint(canvas, image, size) {
  const context = sized(canvas, size, size);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, size, size);
}

export function drawSmall(canvas, attention, head, size) {
  const drawing = smallImage(attention, head, size);
  let step = drawing.next();
  while (!step.done) step = drawing.next();
  paint(canvas, step.value, size);
}

let lastMoved = -Infinity;
window.addEventListener('pointermove', () => { lastMoved = performance.now(); }, { capture: true, passive: true });

// Calls f() repeatedly while it returns true, letting other events run in between: a message
// arrives at once, unlike a timer.
function inSlices(f) {
  const { port1, port2 } = new MessageChannel();
  const next = () => port2.postMessage(null);
  port1.onmessage = () => {
    if (performance.now() < lastMoved + REST) setTimeout(next, REST);
    else if (f()) next();
  };
  next();
}

// Draws the maps of `cells`, { canvas, attention, head }, one after another, and calls a cell's
// `drawn`, if it has one, after its map; done() after all. Returns a function that redraws them,
// stopping any drawing in progress.
export function drawInTurn(cells, size, done = () => {}) {
  let turn = 0;
  const draw = () => {
    const own = ++turn;
    let next = 0;
    let drawing = null;
    inSlices(() => {
      for (const until = performance.now() + SLICE; own === turn && performance.now() < until;) {
        if (next === cells.length) {
          done();
          return false;
        }
        const { canvas, attention, head, drawn } = cells[next];
        if (!canvas.isConnected) return false; // the page shows another step
        drawing ??= smallImage(attention, head, size);
        const { done: complete, value } = drawing.next();
        if (!complete) continue;
        paint(canvas, value, size);
        drawn?.();
        drawing = null;
        ++next;
      }
      return own === turn;
    });
  };
  for (const { canvas } of cells) Object.assign(canvas.style, { width: `${size}px`, height: `${size}px` });
  draw();
  return draw;
}
