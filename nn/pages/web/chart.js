// A line over whole numbers, filled below: uPlot's where it is bundled, else an SVG of our own.
import { bytesText, colour, h, niceStep, onTheme, svg } from './dom.js';
import { libraries } from './libraries.js';

const CHART_HEIGHT = 220;

// values[t] in bytes at times t; marks: [{at, text}] are vertical lines. Calls pointed(t) when
// somebody points at a time. Redraws itself when its room or the colours change.
export function bytesChart(values, marks, pointed) {
  const element = h('div', { class: 'chart', 'data-view': 'chart' });
  let drawn = 0;
  const draw = () => {
    const width = element.clientWidth;
    if (width === 0) return;
    drawn = width;
    element.replaceChildren();
    const make = libraries.uPlot ? uplotChart : svgChart;
    make(element, { values, marks, pointed, width });
  };
  new ResizeObserver(() => element.clientWidth !== drawn && draw()).observe(element);
  onTheme(draw);
  return element;
}

function uplotChart(element, { values, marks, pointed, width }) {
  const axis = { stroke: colour('quiet'), grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1 }, font: `11px ${colour('font')}` };
  const drawMarks = (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour('quiet');
    ctx.font = `${11 * devicePixelRatio}px ${colour('font')}`;
    for (const [row, { at, text }] of marks.entries()) {
      const x = Math.round(plot.valToPos(at, 'x', true));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const right = at > values.length / 2; // then there is room on the left
      ctx.textAlign = right ? 'right' : 'left';
      ctx.fillText(text, x + (right ? -5 : 5) * devicePixelRatio,
        bbox.top + (12 + 14 * row) * devicePixelRatio); // one above the other where they are close
    }
    ctx.restore();
  };
  const plot = new libraries.uPlot({
    width, height: CHART_HEIGHT, legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, high * 1.05] } },
    axes: [{ ...axis, size: 28 }, { ...axis, size: 70, values: (_, all) => all.map(bytesText) }],
    series: [{}, { stroke: colour('activation'), width: 1.5, fill: `${colour('activation')}22`,
      paths: libraries.uPlot.paths.stepped({ align: 1 }), points: { show: false } }],
    hooks: { draw: [drawMarks], setCursor: [({ cursor }) =>
      cursor.idx !== null && cursor.idx !== undefined && pointed(cursor.idx)] },
  }, [values.map((_, t) => t), values], element);
  plot.root.setAttribute('aria-hidden', 'true');
}

function svgChart(element, { values, marks, pointed, width }) {
  const [left, bottom] = [70, 28];
  const high = Math.max(...values) * 1.05;
  const x = (t) => left + (width - left - 8) * t / Math.max(1, values.length);
  const y = (bytes) => CHART_HEIGHT - bottom - (CHART_HEIGHT - bottom - 8) * bytes / high;
  const steps = values.map((bytes, t) => `L${x(t)} ${y(bytes)}H${x(t + 1)}`).join('');
  const step = niceStep(high / 4);
  const grid = [];
  for (let bytes = 0; bytes < high; bytes += step) {
    grid.push(svg('line', { class: 'grid', x1: left, x2: width - 8, y1: y(bytes), y2: y(bytes) }),
      svg('text', { class: 'tick', x: left - 8, y: y(bytes) + 4, 'text-anchor': 'end' },
        bytesText(bytes)));
  }
  const every = niceStep(values.length / Math.max(2, width / 120));
  for (let t = 0; t < values.length; t += Math.max(1, every)) {
    grid.push(svg('text', { class: 'tick', x: x(t), y: CHART_HEIGHT - 10, 'text-anchor': 'middle' },
      String(t)));
  }
  const lines = marks.flatMap(({ at, text }, row) => [
    svg('line', { class: 'mark', x1: x(at), x2: x(at), y1: 8, y2: CHART_HEIGHT - bottom }),
    svg('text', { class: 'tick', x: x(at) + (at > values.length / 2 ? -5 : 5), y: 18 + 14 * row,
      'text-anchor': at > values.length / 2 ? 'end' : 'start' }, text)]);
  const picture = svg('svg', { width, height: CHART_HEIGHT, 'aria-hidden': 'true' }, ...grid,
    svg('path', { class: 'area', d: `M${x(0)} ${y(0)}${steps}V${y(0)}Z` }),
    svg('path', { class: 'curve', d: `M${x(0)} ${y(values[0])}${steps}` }), ...lines);
  picture.addEventListener('pointermove', (event) => {
    const share = (event.clientX - picture.getBoundingClientRect().left - left) / (width - left - 8);
    const t = Math.floor(share * values.length);
    if (t >= 0 && t < values.length) pointed(t);
  });
  element.append(picture);
}
