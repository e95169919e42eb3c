// The steps of a run as a slider, whose track is the training loss: ticks are the steps that can be
// shown, marks below are spikes.
import { four, h, onTheme, perFrame, svg } from './dom.js';

const [TRACK_HIGH, TRACK_EDGE] = [72, 8]; // pixels
const FAR = 1000; // times the median: a logarithmic track

export class Scrubber {
  // choose(i): called when the reader moves to stop i.
  constructor(choose) {
    Object.assign(this, { choose, stops: [], at: 0, curve: { last: [], mean: [] }, spikes: [], end: 1, grasped: false });
    this.track = h('div', { class: 'scrubber', role: 'slider', tabindex: '0', 'data-control': 'scrubber',
      'aria-label': 'Training step', 'aria-valuemin': '0', 'aria-valuemax': '0', 'aria-valuenow': '0',
      'aria-valuetext': 'no step yet', onkeydown: (event) => this.keydown(event),
      onpointerdown: (event) => {
        this.grasped = true;
        this.track.setPointerCapture(event.pointerId);
        this.point(event);
      }, onpointermove: (event) => this.grasped && this.point(event),
      onpointerup: () => { this.grasped = false; }, onpointercancel: () => { this.grasped = false; } });
    this.draw = perFrame(() => this.drawNow());
    new ResizeObserver(this.draw).observe(this.track);
    onTheme(this.track, this.draw);
  }

  // curve: { last, mean } of the training loss; stops: steps, ascending; at: index of the chosen stop; end:
  // the last step of the run.
  show({ curve, stops, at, spikes = [], end }) {
    Object.assign(this, { curve, stops, at, spikes, end: Math.max(1, end, stops[stops.length - 1] ?? 1) });
    this.track.setAttribute('aria-valuemax', String(Math.max(0, stops.length - 1)));
    this.mark();
    this.draw();
  }

  // Moves to a stop without asking anyone.
  mark(at = this.at) {
    this.at = at;
    const step = this.stops[at];
    this.track.setAttribute('aria-valuenow', String(at));
    this.track.setAttribute('aria-valuetext', step === undefined ? 'no step yet' : `step ${step}${this.lossText(step)}`);
    this.handle?.setAttribute('x', this.across(step ?? 0) - 2);
  }

  lossText(step) {
    const i = this.curve.last.findIndex((last) => last >= step);
    const loss = this.curve.mean[i];
    return loss === undefined || loss === null ? '' : `, loss ${four(loss)}`;
  }

  across(step) {
    return TRACK_EDGE + (this.track.clientWidth - 2 * TRACK_EDGE) * Math.min(1, step / this.end);
  }

  point(event) {
    const x = event.clientX - this.track.getBoundingClientRect().left;
    const far = this.stops.map((step) => Math.abs(this.across(step) - x));
    this.to(far.indexOf(Math.min(...far)));
  }

  to(at) {
    if (at < 0 || at >= this.stops.length || at === this.at) return;
    this.mark(at);
    this.choose(at);
  }

  keydown(event) {
    const last = this.stops.length - 1;
    const to = { ArrowLeft: this.at - 1, ArrowDown: this.at - 1, ArrowRight: this.at + 1, ArrowUp: this.at + 1, Home: 0, End: last,
      PageUp: this.at + 5, PageDown: this.at - 5 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.to(Math.max(0, Math.min(last, to)));
  }

  drawNow() {
    const width = this.track.clientWidth;
    if (width === 0) return;
    const points = this.curve.mean.flatMap((value, i) => (value === null || !Number.isFinite(value) ? [] : [[this.curve.last[i], value]]));
    const values = points.map(([, value]) => value).sort((a, b) => a - b);
    const log = values.length > 0 && values[0] > 0 && values[values.length - 1] > FAR * values[values.length >> 1];
    const scale = log ? Math.log : (x) => x;
    const [low, high] = values.length > 0 ? [scale(values[0]), scale(values[values.length - 1])] : [0, 1];
    const up = (value) => TRACK_HIGH - 14 - (TRACK_HIGH - 22) * (scale(value) - low) / (high - low || 1);
    const line = points.map(([step, value]) => `${this.across(step).toFixed(1)} ${up(value).toFixed(1)}`).join('L');
    this.handle = svg('rect', { class: 'scrubber-at', x: this.across(this.stops[this.at] ?? 0) - 2, y: 0, width: 4, height: TRACK_HIGH });
    this.track.replaceChildren(svg('svg', { width, height: TRACK_HIGH, 'aria-hidden': 'true' },
      line ? svg('path', { class: 'scrubber-loss', d: `M${line}` }) : '',
      ...this.spikes.map((step) => svg('rect', { class: 'scrubber-spike', x: this.across(step) - 1, y: 0, width: 2, height: 6 })),
      ...this.stops.map((step) => svg('rect', { class: 'scrubber-stop', x: this.across(step) - 1, y: TRACK_HIGH - 9, width: 2, height: 7 })),
      this.handle));
  }
}
