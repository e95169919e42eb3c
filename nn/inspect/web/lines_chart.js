// A chart of lines over steps that can be pointed at and zoomed into, by pointer or keyboard. Read
// next: plot.js, which draws; curves.js, whose charts these are.
import { h, onTheme, perFrame } from './dom.js';
import { plotLines } from './plot.js';

// name: for labels; height in pixels; describe(step or null): { lines, levels, y, format, text }
// with what is to be seen at this step. `view` is shared by all charts of a page:
// { range(): [from, to], pointed, point(step or null), zoom(from, to) }.
// Returns { element, draw }.
export function linesChart(name, title, height, describe, view) {
  const plot = h('div', {});
  const overlay = h('div', { class: 'overlay' });
  const area = h('div', { class: 'chart lines-chart', 'data-chart': name, tabindex: '0',
    role: 'application', 'aria-label': `${title}: arrow keys go from point to point` },
  plot, overlay);
  const readout = h('p', { class: 'readout', 'data-readout': name, 'aria-live': 'polite' });
  const element = h('section', { class: 'curve-of' }, h('h3', {}, title), area, readout);
  let room = null;
  let dragged = null;

  const across = (step) => {
    const [from, to] = view.range();
    return room.left + room.width * (step - from) / (to - from);
  };
  const stepAt = (pixels) => {
    const [from, to] = view.range();
    const share = Math.min(Math.max((pixels - room.left) / room.width, 0), 1);
    return from + share * (to - from);
  };

  function draw() {
    const width = area.clientWidth;
    if (width === 0) return;
    const { lines, y, format } = describe(view.pointed);
    room = plotLines(plot, { width, height, x: view.range(), y, format, lines });
    mark();
  }
  // What changes with the pointer alone.
  function mark() {
    const { levels, y, text } = describe(view.pointed);
    readout.textContent = text;
    if (room === null) return;
    overlay.replaceChildren();
    for (const level of levels) {
      if (level.at < y[0] || level.at > y[1]) continue;
      const line = h('div', { class: 'level', title: level.meaning }, h('span', {}, level.text));
      line.style.top = `${room.top + room.height * (y[1] - level.at) / (y[1] - y[0])}px`;
      line.style.left = `${room.left}px`;
      line.style.width = `${room.width}px`;
      overlay.append(line);
    }
    const box = (kind, left, width) => {
      const bar = h('div', { class: kind });
      Object.assign(bar.style, { left: `${left}px`, width: `${width}px`, top: `${room.top}px`,
        height: `${room.height}px` });
      overlay.append(bar);
    };
    const [from, to] = view.range();
    if (view.pointed >= from && view.pointed <= to && view.pointed !== null) {
      box('pointed', across(view.pointed), 1);
    }
    if (dragged) {
      const ends = dragged.map(across).sort((a, b) => a - b);
      box('dragged', ends[0], ends[1] - ends[0]);
    }
  }

  const pixelsOf = (event) => event.clientX - area.getBoundingClientRect().left;
  area.addEventListener('pointerdown', (event) => {
    if (room === null || event.button !== 0) return;
    dragged = [stepAt(pixelsOf(event)), stepAt(pixelsOf(event))];
    area.setPointerCapture(event.pointerId);
  });
  area.addEventListener('pointermove', (event) => {
    if (room === null) return;
    if (dragged) dragged[1] = stepAt(pixelsOf(event));
    view.point(stepAt(pixelsOf(event)));
  });
  area.addEventListener('pointerup', () => {
    const ends = dragged;
    dragged = null;
    if (!ends) return;
    const [from, to] = ends.sort((a, b) => a - b);
    if (across(to) - across(from) > 8) view.zoom(Math.ceil(from), Math.floor(to));
    else mark();
  });
  area.addEventListener('pointercancel', () => {
    dragged = null;
    mark();
  });
  area.addEventListener('pointerleave', () => dragged || view.point(null));
  area.addEventListener('dblclick', () => view.zoom(null, null));
  area.addEventListener('keydown', (event) => {
    const [from, to] = view.range();
    const at = view.pointed ?? to;
    const nearby = (describe(null).lines[0]?.steps ?? []).filter((step) => step >= from && step <= to);
    const next = {
      ArrowLeft: () => nearby.filter((step) => step < at).pop(),
      ArrowRight: () => nearby.find((step) => step > at),
      Home: () => nearby[0],
      End: () => nearby[nearby.length - 1],
      Escape: () => null,
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const step = next();
    if (step !== undefined) view.point(step);
  });
  new ResizeObserver(perFrame(draw)).observe(area);
  onTheme(draw);
  return { element, draw, mark };
}
