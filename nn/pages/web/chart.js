// A line over whole numbers, filled below.
import { bytesText, colour, fontPixels, h, onTheme } from './dom.js';
import { chartSvg } from './chart_svg.js';
import { csvOfLines, saveButton } from './export.js';
import { uPlot } from './libraries/uplot.js';

const CHART_HEIGHT = 220;

// values[t] in bytes at times t; marks: [{at, text}] are vertical lines. Calls pointed(t) when a
// time is pointed at. Redraws itself when its size or the colours change. Returns { element, buttons }, of
// which the latter save it.
export function bytesChart(values, marks, pointed) {
  const element = h('div', { class: 'chart', 'data-view': 'chart' });
  let drawn = 0;
  const draw = () => {
    const width = element.clientWidth;
    if (width === 0) return;
    drawn = width;
    element.replaceChildren();
    drawBytes(element, { values, marks, pointed, width });
  };
  new ResizeObserver(() => element.clientWidth !== drawn && draw()).observe(element);
  onTheme(element, draw);
  const line = { name: 'bytes', steps: values.map((_, t) => t), values, colour: 'activation' };
  const buttons = [saveButton('CSV', 'memory.csv', 'text/csv', () => csvOfLines([line], 'event')),
    saveButton('SVG', 'memory.svg', 'image/svg+xml', () => chartSvg({ title: 'Bytes in live tensors', unit: 'event',
      width: 720, height: 260, x: [0, Math.max(1, values.length - 1)], y: [0, 1.25 * values.reduce((a, b) => Math.max(a, b), 1)], log: false,
      format: bytesText, lines: [line], levels: [] }))];
  return { element, buttons };
}

function drawBytes(element, { values, marks, pointed, width }) {
  const axis = { stroke: colour('quiet'), grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1 }, font: `${fontPixels(11)}px ${colour('font')}` };
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
      const right = at > values.length / 2; // then there is space on the left
      ctx.textAlign = right ? 'right' : 'left';
      ctx.fillText(text, x + (right ? -5 : 5) * devicePixelRatio,
        bbox.top + (12 + 14 * row) * devicePixelRatio); // stacked if they are close
    }
    ctx.restore();
  };
  const plot = new uPlot({
    width, height: CHART_HEIGHT, legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, high * 1.25] } },
    axes: [{ ...axis, size: fontPixels(28) }, { ...axis, size: fontPixels(70), values: (_, all) => all.map(bytesText) }],
    series: [{}, { stroke: colour('activation'), width: 1.5, fill: `${colour('activation')}22`,
      paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } }],
    hooks: { draw: [drawMarks], setCursor: [({ cursor }) =>
      cursor.idx !== null && cursor.idx !== undefined && pointed(cursor.idx)] },
  }, [values.map((_, t) => t), values], element);
  plot.root.setAttribute('aria-hidden', 'true');
}
