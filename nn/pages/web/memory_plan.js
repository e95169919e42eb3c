// The last part of the memory tab: where the step's blocks would be if their memory were planned,
// and which blocks share addresses. Time goes right, addresses go up.
import { bytesText, colour, h, onTheme, perFrame, sized } from './dom.js';
import { csvText, saveable, saveButton } from './export.js';
import { blocksSvg } from './figure_svg.js';
import { roving } from './roving.js';
import { speak } from './speak.js';
import { scrolling, sortable, valueCell, wordCell } from './table.js';

const PLAN_HEIGHT = 300;
const PLAN_HEAD = 20; // for labels above the arena

// Returns elements to append, and show(time), to call when another time is shown.
export function memoryPlan(data) {
  const { lives, plan, bytes } = data.memory;
  const last = bytes.length - 1;
  const blocks = lives.filter((life) => life.at !== null).map((life) => ({ ...life,
    end: life.at + life.bytes, until: life.died < 0 ? last : life.died }));
  const title = h('h3', {}, 'If its memory were planned');
  if (blocks.length === 0) {
    return { elements: [title, h('p', { 'data-readout': 'plan' }, 'There is no plan: either no ' +
      'block belongs to this step alone, or there are too many.')], show: () => {} };
  }
  const chosenText = h('p', { 'data-readout': 'place' });
  const picture = planPicture(blocks, plan, last, choose);
  const rows = h('tbody', {});
  const renewStop = roving(rows, 'button');

  function choose(block) {
    const before = takenFrom(blocks, block);
    const after = givenTo(blocks, block);
    picture.choose(block, before, after);
    chosenText.replaceChildren(h('b', {}, `${blockName(block)}: ${bytesText(block.bytes)}`),
      ` at ${bytesText(block.at)}, from event ${block.born} to ${block.until}. `,
      before.length === 0 ? 'Nothing was there before; ' : `It reuses the memory of ${namesOf(before)}; `,
      after.length === 0 ? 'nothing follows it there.' : `it is followed by ${namesOf(after)}.`);
    for (const row of rows.rows) row.setAttribute('aria-selected', row.dataset.at === keyOf(block));
    renewStop();
    speak(chosenText.textContent);
  }

  const largest = blocks.slice().sort((a, b) => b.bytes - a.bytes || a.born - b.born).slice(0, 25);
  rows.append(...largest.map((block) => reuseRow(blocks, block, choose)));
  const table = saveable('reuse', null, h('thead', {}, h('tr', {},
    ...[' block', 'bytes', 'at', 'born', 'died', ' takes the place of', ' is followed by'].map(
      (name) => h('th', { scope: 'col', class: name.startsWith(' ') ? 'word' : null },
        name.trim())))), rows);
  choose(largest.find((block) => takenFrom(blocks, block).length > 0) || largest[0]);
  const buttons = [saveButton('CSV', 'plan.csv', 'text/csv', () => csvText([['block', 'kind', 'bytes', 'address', 'born', 'died'],
    ...blocks.map((block) => [blockName(block), block.kind, String(block.bytes), String(block.at), String(block.born),
      block.died < 0 ? '' : String(block.died)])])),
  saveButton('SVG', 'plan.svg', 'image/svg+xml', () => blocksSvg({ title: 'Planned memory', last, most: plan.bytes, format: bytesText,
    blocks: blocks.map(({ born, until, at, end, kind }) => ({ from: born, to: until + 1, low: at, high: end, kind })) }))];
  return { elements: [h('div', { class: 'row spread' }, title, h('span', { class: 'row' }, ...buttons)), h('p', { 'data-readout': 'plan' },
    h('b', {}, `${bytesText(plan.bytes)} hold all ${blocks.length} activations and gradients`),
    ` of this step, which would take ${bytesText(plan.apart)} if each had memory of its own. ` +
    `The lower bound is ${bytesText(plan.least)}: the most that is ever live at once.`),
  picture.element, chosenText, scrolling('Who takes whose place', 'wide tall', sortable(table))],
  show: picture.show };
}

const blockName = (block) => (block.entry >= 0 ? `#${block.entry} ${block.name}` : block.name);
const keyOf = (block) => `${block.at} ${block.born}`;

function namesOf(blocks) {
  const names = blocks.slice(0, 3).map(blockName).join(', ');
  return blocks.length > 3 ? `${names} and ${blocks.length - 3} more` : names;
}

// The blocks, in this order, that are the first to cover some byte of `block`.
function firstToCover(block, others) {
  let open = [[block.at, block.end]];
  const size = () => open.reduce((sum, [from, to]) => sum + to - from, 0);
  return others.filter((other) => {
    const before = size();
    open = open.flatMap(([from, to]) =>
      [[from, Math.min(to, other.at)], [Math.max(from, other.end), to]])
      .filter(([from, to]) => from < to);
    return size() < before;
  });
}

const takenFrom = (blocks, block) => firstToCover(block,
  blocks.filter((other) => other.until < block.born).sort((a, b) => b.until - a.until));
const givenTo = (blocks, block) => firstToCover(block,
  blocks.filter((other) => other.born > block.until).sort((a, b) => a.born - b.born));

function reuseRow(blocks, block, choose) {
  return h('tr', { 'data-at': keyOf(block) },
    h('td', { class: 'word' }, h('span', { class: `key ${block.kind}` }),
      h('button', { onclick: () => choose(block) }, blockName(block))),
    valueCell(block.bytes, bytesText(block.bytes)), valueCell(block.at, bytesText(block.at)),
    h('td', {}, String(block.born)), h('td', {}, block.died < 0 ? '\u2013' : String(block.died)),
    wordCell(namesOf(takenFrom(blocks, block)), 'word quiet names'),
    wordCell(namesOf(givenTo(blocks, block)), 'word quiet names'));
}

// A rectangle for each block. The pointed block is chosen and highlighted; blocks that use its
// memory before and after it are framed.
function planPicture(blocks, plan, last, choose) {
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const element = h('div', { class: 'scroller', 'data-view': 'plan' }, canvas);
  let chosen = null;
  let near = new Set();
  let now = 0;
  const scaleX = () => (element.clientWidth - 8) / (last + 1);
  const scaleY = (PLAN_HEIGHT - PLAN_HEAD - 4) / plan.bytes;
  const x = (time) => 4 + scaleX() * time;
  const y = (address) => PLAN_HEIGHT - 4 - scaleY * address;

  const draw = perFrame(() => {
    const width = element.clientWidth;
    if (width === 0) return;
    const context = sized(canvas, width, PLAN_HEIGHT);
    context.strokeStyle = colour('panel');
    for (const block of blocks) {
      const [left, top] = [x(block.born), y(block.end)];
      const wide = Math.max(1, x(block.until + 1) - left - 0.5);
      const high = Math.max(1, y(block.at) - top - 0.5);
      context.fillStyle = colour(block === chosen ? 'text' : block.kind);
      context.fillRect(left, top, wide, high);
      if (!near.has(block)) continue;
      const inset = Math.min(2.5, wide / 4, high / 4);
      context.lineWidth = 0.8 * inset;
      context.strokeRect(left + inset, top + inset, wide - 2 * inset, high - 2 * inset);
    }
    context.lineWidth = 1;
    context.fillStyle = colour('text');
    context.fillRect(x(now + 0.5), PLAN_HEAD, 1, PLAN_HEIGHT - PLAN_HEAD);
    context.strokeStyle = colour('quiet');
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(4, y(plan.least));
    context.lineTo(width - 4, y(plan.least));
    context.stroke();
    context.setLineDash([]);
    context.font = `11px ${colour('font')}`;
    const bound = `lower bound: ${bytesText(plan.least)}`;
    context.fillStyle = colour('panel'); // the label may cover blocks
    context.fillRect(4, y(plan.least) - 15, context.measureText(bound).width + 4, 14);
    context.fillStyle = colour('quiet');
    context.fillText(bound, 6, y(plan.least) - 4);
  });

  const pointAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const time = Math.floor((event.clientX - box.left - 4) / scaleX());
    const address = (PLAN_HEIGHT - 4 - event.clientY + box.top) / scaleY;
    const found = blocks.find((block) => block.born <= time && time <= block.until &&
      block.at <= address && address < block.end);
    if (found && found !== chosen) choose(found);
  };
  canvas.addEventListener('pointermove', pointAt);
  canvas.addEventListener('click', pointAt); // by finger
  new ResizeObserver(draw).observe(element);
  onTheme(element, draw);
  return { element, show: (time) => {
    now = time;
    draw();
  }, choose: (block, before, after) => {
    chosen = block;
    near = new Set([...before, ...after]);
    draw();
  } };
}
