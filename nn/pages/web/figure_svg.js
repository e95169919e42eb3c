// Drawings of a page as SVG files, in its colours: an SVG element as it is shown, or rectangles that a
// canvas has.
import { colour, svg } from './dom.js';

const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'font-size',
  'font-weight', 'text-anchor'];
const [BLOCKS_WIDE, BLOCKS_HIGH, AROUND_BLOCKS] = [720, 320, 30]; // pixels

const whole = (width, height, ...parts) => new XMLSerializer().serializeToString(svg('svg', { width, height,
  'font-family': 'sans-serif', 'font-size': 12 }, svg('rect', { width, height, fill: colour('panel') }), ...parts));

// The file needs no style sheet: each shape has the values that apply to it. `canvases` lie on top of it, as
// pictures; they are text only, because the page's policy allows no pictures.
export function drawingSvg(element, canvases = []) {
  const copy = element.cloneNode(true);
  const copies = copy.querySelectorAll('*');
  element.querySelectorAll('*').forEach((each, i) => {
    const style = getComputedStyle(each);
    for (const name of STYLES) copies[i].setAttribute(name, style.getPropertyValue(name));
    copies[i].removeAttribute('class');
  });
  const { width, height } = element.viewBox.baseVal?.width ? element.viewBox.baseVal : element.getBoundingClientRect();
  const images = canvases.map((canvas) => imageOn(element, canvas)).join('');
  return whole(Math.ceil(width), Math.ceil(height), ...copy.childNodes).replace(/<\/svg>$/, `${images}</svg>`);
}

// A canvas as a picture at its place on `element`.
function imageOn(element, canvas) {
  const [at, box] = [element.getBoundingClientRect(), canvas.getBoundingClientRect()];
  return `<image x="${box.left - at.left}" y="${box.top - at.top}" width="${box.width}" height="${box.height}" ` +
    `href="${canvas.toDataURL()}"/>`;
}

// Blocks { from, to, low, high, kind } over time, of which `last` is the largest, and bytes, `most` at most.
export function blocksSvg({ title, blocks, last, most, format }) {
  const x = (time) => AROUND_BLOCKS + BLOCKS_WIDE * time / (last + 1);
  const y = (bytes) => AROUND_BLOCKS + BLOCKS_HIGH * (1 - bytes / most);
  const text = (words, more) => svg('text', { fill: colour('quiet'), ...more }, words);
  return whole(BLOCKS_WIDE + 2 * AROUND_BLOCKS, BLOCKS_HIGH + 2 * AROUND_BLOCKS,
    text(`${title}, ${format(most)} at most`, { x: AROUND_BLOCKS, y: 20 }),
    text('event', { x: AROUND_BLOCKS + BLOCKS_WIDE, y: BLOCKS_HIGH + 2 * AROUND_BLOCKS - 10, 'text-anchor': 'end' }),
    ...blocks.map(({ from, to, low, high, kind }) => svg('rect', { x: x(from).toFixed(2), y: y(high).toFixed(2),
      width: (x(to) - x(from)).toFixed(2), height: (y(low) - y(high)).toFixed(2), fill: colour(kind) })));
}
