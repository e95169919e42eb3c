// A chart of lines over steps that supports pointing and zooming, by pointer or keyboard. Read
// next: plot.js, which draws the lines; curves.js, which uses these charts.
import { chartSvg } from './chart_svg.js';
import { h, onTheme, perFrame, textWidth } from './dom.js';
import { csvOfLines, saveButton } from './export.js';
import { groupLevels, plotLines, upOf } from './plot.js';
import { speak } from './speak.js';

// name: for labels; height in pixels; describe(): { lines, levels, y, log, format, marks, say(step or
// null) }, where say() is the text when this step is pointed at, and `marks`, [{ step, text, kind }], are steps that stand
// out. `view` is shared by all charts of a page: { range(): [from, to], pointed, pinned, point(step or
// null), pin(step or null), zoom(from, to) }.
// Points on a line through `corners`, so close together that no label fits between them.
function alongLine(corners) {
  return corners.flatMap(([x, y], i) => {
    const [fromX, fromY] = corners[Math.max(0, i - 1)];
    const parts = Math.max(1, Math.ceil(Math.hypot(x - fromX, y - fromY) / 8));
    return Array.from({ length: parts }, (_, k) =>
      [x + (fromX - x) * k / parts, y + (fromY - y) * k / parts]);
  });
}

export class LinesChart {
  constructor(name, title, height, describe, view) {
    Object.assign(this, { height, describe, view, described: null, room: null, dragged: null, isHere: false });
    this.plot = h('div', {});
    this.levels = h('div', { class: 'overlay' });
    this.overlay = h('div', { class: 'overlay' });
    this.area = h('div', { class: 'chart lines-chart', 'data-chart': name, tabindex: '0',
      role: 'application', 'aria-label': `${title}: arrow keys go from point to point`,
      onpointerdown: (event) => this.grasp(event), onpointermove: (event) => this.follow(event),
      onpointerup: () => this.release(), onpointercancel: () => this.drop(),
      onpointerleave: () => {
        this.isHere = false;
        if (!this.dragged) view.point(view.pinned);
      },
      ondblclick: () => {
        view.pin(null);
        view.zoom(null, null);
      }, onkeydown: (event) => this.step(event) },
    this.plot, this.levels, this.overlay);
    this.readout = h('p', { class: 'readout', 'data-readout': name });
    this.element = h('section', { class: 'curve-of' }, h('div', { class: 'row spread' }, h('h3', {}, title),
      h('span', { class: 'row' }, saveButton('CSV', `${name}.csv`, 'text/csv', () => this.csv()),
        saveButton('SVG', `${name}.svg`, 'image/svg+xml', () => chartSvg({ title, width: 720, height: 320,
          x: this.view.range(), ...this.contents() })))), this.area, this.readout);
    const draw = () => this.draw();
    new ResizeObserver(perFrame(draw)).observe(this.area);
    onTheme(this.area, draw);
  }

  // ---- drawing ----------------------------------------------------------------------------------

  // What is drawn, described once until it is drawn again.
  contents() {
    return this.described ??= this.describe();
  }

  draw() {
    const width = this.area.clientWidth;
    this.described = null;
    if (width === 0) return;
    const { lines, levels, marks = [], y, log, format } = this.contents();
    this.room = plotLines(this.plot,
      { width, height: this.height, x: this.view.range(), y, log, format, lines });
    this.drawLevels(levels, lines, y, log);
    const [from, to] = this.view.range();
    this.levels.append(...marks.filter(({ step }) => step >= from && step <= to).map((each) => this.markOf(each)));
    this.mark();
  }

  // A step that stands out: a line with its name, or a tick at the top.
  markOf({ step, text, kind }) {
    const mark = this.bar(kind, this.across(step) - 1, 2);
    if (kind === 'spike') mark.style.height = '6px';
    const right = this.across(step) > this.room.left + this.room.width / 2;
    if (kind !== 'spike') mark.append(h('span', { class: right ? 'right' : 'left' }, text));
    return mark;
  }

  // Labels the levels where the curves leave most space: above or below, at the right or the left.
  // Levels that are closer than a label is high share one.
  drawLevels(levels, lines, y, log) {
    const { top, left, width, height } = this.room;
    const up = upOf(y, log, top, height);
    const taken = lines.flatMap(({ steps, values }) => alongLine(values.flatMap((value, i) =>
      (value === null ? [] : [[this.across(steps[i]), up(value)]]))));
    const shown = groupLevels(levels, y, up).map(({ at, low, text: whole }) => {
      const parts = whole.split('; ');
      const text = parts.length > 2 && textWidth(whole, 11) + 10 > width ? `${parts[0]} \u2026 ${parts[parts.length - 1]}` : whole;
      const [wide, high] = [textWidth(text, 11) + 10, 16];
      const places = [['above', 'right'], ['above', 'left'], ['below', 'right'], ['below', 'left']].map((names) => {
        const x = names[1] === 'right' ? left + width - wide : left;
        const from = names[0] === 'above' ? up(at) - high : up(low);
        const inside = from > top - 6 && from + high < top + height + 6;
        const hit = taken.filter(([a, b]) => a > x - 4 && a < x + wide + 4 && b > from - 3 && b < from + high + 3);
        return { names, cost: hit.length + (inside ? 0 : 1000), corners: [[x, from], [x + wide / 2, from + high / 2],
          [x + wide, from + high], [x, from + high], [x + wide, from]] };
      });
      const best = places.reduce((a, b) => (b.cost < a.cost ? b : a));
      for (const corner of best.corners) taken.push(corner); // the next label must avoid this one
      const line = h('div', { class: 'level' }, h('span', { class: best.names.join(' ') }, text));
      const place = { left: `${left}px`, width: `${width}px` };
      const named = best.names[0] === 'above' ? at : low;
      Object.assign(line.style, { top: `${up(named)}px`, ...place });
      const others = levels.filter((each) => each.at !== named && each.at <= at && each.at >= low).map((each) => {
        const other = h('div', { class: 'level' });
        Object.assign(other.style, { top: `${up(each.at)}px`, ...place });
        return other;
      });
      return [line, ...others];
    });
    this.levels.replaceChildren(...shown.flat());
  }

  // Draws what changes with the pointer only.
  mark() {
    if (this.room === null) return;
    this.readout.textContent = this.contents().say(this.view.pointed);
    const shown = [];
    const [from, to] = this.view.range();
    const { pointed } = this.view;
    if (pointed !== null && pointed >= from && pointed <= to) {
      shown.push(this.bar('pointed', this.across(pointed), 1));
      if (this.isHere) shown.push(this.tip(pointed));
    }
    if (this.dragged) {
      const ends = this.dragged.map((step) => this.across(step)).sort((a, b) => a - b);
      shown.push(this.bar('dragged', ends[0], ends[1] - ends[0]));
    }
    this.overlay.replaceChildren(...shown);
  }

  // The readout's text, at the pointer, in one line per number.
  tip(step) {
    const tip = h('div', { class: 'tip' }, ...this.readout.textContent.split(/; |: /).flatMap((text, i) => (i > 0 ? [h('br'), text] : [text])));
    const right = this.across(step) > this.room.left + this.room.width / 2;
    tip.style[right ? 'right' : 'left'] = `${right ? this.area.clientWidth - this.across(step) + 8 : this.across(step) + 8}px`;
    tip.style.top = `${this.room.top + 8}px`;
    return tip;
  }

  bar(kind, left, width) {
    const bar = h('div', { class: kind });
    Object.assign(bar.style, { left: `${left}px`, width: `${width}px`,
      top: `${this.room.top}px`, height: `${this.room.height}px` });
    return bar;
  }

  // The lines as columns; a smoothed one is faint and not among them.
  csv() {
    return csvOfLines(this.contents().lines.filter(({ faint }) => !faint)
      .map((line, i) => ({ ...line, name: line.name ?? `line ${i + 1}` })));
  }

  // ---- steps and pixels -------------------------------------------------------------------------

  across(step) {
    const [from, to] = this.view.range();
    return this.room.left + this.room.width * (step - from) / (to - from);
  }

  stepAt(event) {
    const [from, to] = this.view.range();
    const pixels = event.clientX - this.area.getBoundingClientRect().left - this.room.left;
    return from + Math.min(Math.max(pixels / this.room.width, 0), 1) * (to - from);
  }

  // ---- pointer and keyboard ---------------------------------------------------------------------

  grasp(event) {
    if (this.room === null || event.button !== 0) return;
    this.dragged = [this.stepAt(event), this.stepAt(event)];
    this.area.setPointerCapture(event.pointerId);
  }

  follow(event) {
    if (this.room === null) return;
    this.isHere = true;
    if (this.dragged) this.dragged[1] = this.stepAt(event);
    this.view.point(this.stepAt(event));
  }

  release() {
    if (!this.dragged) return;
    const [from, to] = this.dragged.sort((a, b) => a - b);
    const wide = this.across(to) - this.across(from) > 8; // less was a click
    this.drop();
    if (wide) this.view.zoom(Math.ceil(from), Math.floor(to));
    else this.view.pin(Math.round(to));
  }

  drop() {
    this.dragged = null;
    this.mark();
  }

  // Moves to the first line's next point on this side.
  step(event) {
    const [from, to] = this.view.range();
    const at = this.view.pointed ?? to;
    const steps = (this.contents().lines[0]?.steps ?? [])
      .filter((step) => step >= from && step <= to);
    const next = {
      ArrowLeft: () => steps.filter((step) => step < at).pop(),
      ArrowRight: () => steps.find((step) => step > at),
      Home: () => steps[0],
      End: () => steps[steps.length - 1],
      Escape: () => null,
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const step = next();
    if (step === undefined) return;
    this.view.pin(step);
    speak(this.readout.textContent); // of this chart only: all show the same step
  }
}
