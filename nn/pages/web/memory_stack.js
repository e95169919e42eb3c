// The blocks of memory over time, stacked: a block is as high as its bytes, as long as its
// lifetime, and moves down when a block below it is freed. Describes the block pointed at.
import { bytesText, colour, h, onTheme, perFrame, sized } from './dom.js';
import { csvText, saveButton } from './export.js';
import { blocksSvg } from './figure_svg.js';
import { speak } from './speak.js';

const STACK_HEIGHT = 320;
const STACK_EDGE = 4;

export const isAlive = (life, time) => life.born <= time && (life.died < 0 || life.died >= time);

// For every time the live blocks, oldest first, and each one's start in bytes.
function stacksOf(lives, last) {
  const order = lives.slice().sort((a, b) => a.born - b.born || b.bytes - a.bytes);
  return Array.from({ length: last + 1 }, (_, time) => {
    let from = 0;
    return order.filter((life) => isAlive(life, time)).map((life) => {
      const piece = { life, from };
      from += life.bytes;
      return piece;
    });
  });
}

// Merges adjacent pieces of a block at the same height.
function barsOf(stacks) {
  const open = new Map();
  const bars = [];
  stacks.forEach((pieces, time) => {
    for (const { life, from } of pieces) {
      const bar = open.get(life);
      if (bar && bar.until === time && bar.from === from) {
        bar.until = time + 1;
        continue;
      }
      const next = { life, from, time, until: time + 1 };
      open.set(life, next);
      bars.push(next);
    }
  });
  return bars;
}

// lives: from memory.js; describe(life): its text; choose(time): called on a click.
export function stackView(lives, last, describe, choose) {
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const readout = h('p', { class: 'readout', 'data-readout': 'block' });
  const order = lives.slice().sort((a, b) => a.born - b.born || b.bytes - a.bytes);
  const element = h('div', { class: 'scroller lives', 'data-view': 'lives', tabindex: '0', role: 'group',
    'aria-label': 'Blocks over time; arrow keys go from block to block', onkeydown: (event) => {
      const at = order.indexOf(pointed);
      const to = { ArrowLeft: Math.max(at - 1, 0), ArrowRight: Math.min(at + 1, order.length - 1), Home: 0,
        End: order.length - 1 }[event.key];
      if (to === undefined || order.length === 0) return;
      event.preventDefault();
      point(order[to]);
      speak(readout.textContent);
    } }, canvas);
  const stacks = stacksOf(lives, last);
  const bars = barsOf(stacks);
  const most = Math.max(1, ...stacks.map((pieces) => (pieces.length === 0 ? 0
    : pieces[pieces.length - 1].from + pieces[pieces.length - 1].life.bytes)));
  const down = (bytes) => STACK_EDGE + (STACK_HEIGHT - 2 * STACK_EDGE) * (1 - bytes / most);
  let now = 0;
  let pointed = null;

  const across = (time) => STACK_EDGE + (element.clientWidth - 2 * STACK_EDGE) * time / (last + 1);
  const draw = perFrame(() => {
    if (element.clientWidth === 0) return;
    const context = sized(canvas, element.clientWidth, STACK_HEIGHT);
    for (const { life, from, time, until } of bars) {
      context.fillStyle = colour(life === pointed ? 'text' : life.kind);
      const high = down(from) - down(from + life.bytes);
      context.fillRect(across(time), down(from + life.bytes), across(until) - across(time),
        Math.max(0.5, high - (high > 3 ? 0.75 : 0)));
    }
    context.fillStyle = colour('text');
    context.fillRect(across(now + 0.5), 0, 1, STACK_HEIGHT);
  });
  const placeOf = (event) => {
    const box = canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - STACK_EDGE) / (box.width - 2 * STACK_EDGE);
    const bytes = most * (1 - (event.clientY - box.top - STACK_EDGE) / (STACK_HEIGHT - 2 * STACK_EDGE));
    return { time: Math.max(0, Math.min(last, Math.floor(share * (last + 1)))), bytes };
  };
  const point = (life) => {
    if (life === pointed) return;
    pointed = life;
    readout.textContent = life ? describe(life) : `At most ${bytesText(most)} are live at once; point at a block, or use the arrow keys.`;
    draw();
  };
  const pointAt = (event) => {
    const { time, bytes } = placeOf(event);
    const found = stacks[time].find(({ life, from }) => bytes >= from && bytes < from + life.bytes);
    point(found ? found.life : null);
    return time;
  };
  canvas.addEventListener('pointermove', pointAt);
  canvas.addEventListener('pointerleave', ({ pointerType }) => pointerType === 'mouse' && point(null));
  canvas.addEventListener('click', (event) => choose(pointAt(event))); // a finger points by it as well
  pointed = undefined;
  point(null);
  new ResizeObserver(draw).observe(element);
  onTheme(element, draw);
  const buttons = [saveButton('CSV', 'blocks.csv', 'text/csv', () => csvText([['block', 'kind', 'bytes', 'born', 'died'],
    ...order.map(({ entry, name, kind, bytes, born, died }) => [entry >= 0 ? `#${entry} ${name}` : name, kind, String(bytes),
      String(born), died < 0 ? '' : String(died)])])),
  saveButton('SVG', 'blocks.svg', 'image/svg+xml', () => blocksSvg({ title: 'Lifetimes of blocks', last, most, format: bytesText,
    blocks: bars.map(({ life, from, time, until }) => ({ from: time, to: until, low: from, high: from + life.bytes, kind: life.kind })) }))];
  return { element: h('div', {}, element, readout), buttons, show: (time) => {
    now = time;
    draw();
  } };
}
