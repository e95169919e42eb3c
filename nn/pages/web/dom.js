// Creating elements, and formatting numbers. Read next: main.js.

export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// ---- numbers ------------------------------------------------------------------------------------

const MINUS = '\u2212';
const unsigned = (text) => text.replace(/-/g, MINUS);

// NaN and infinity are shown as what they are; null otherwise.
function notFinite(x) {
  if (Number.isFinite(x)) return null;
  return Number.isNaN(x) ? 'NaN' : unsigned(`${x < 0 ? '-' : ''}\u221e`);
}

// Four digits: 0.0123, 12.30, 1.23e-7. A dash for a number that is not known.
export function number(x, digits = 4) {
  if (x === null || x === undefined) return '\u2013';
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (!Number.isFinite(x)) return notFinite(x);
  if (Number.isInteger(x) && size < 1e6) return unsigned(String(x));
  if (size < 1e-3 || size >= 1e6) return unsigned(x.toExponential(digits - 2));
  return unsigned(x.toPrecision(digits));
}

// 2 as 2.000: for numbers next to others of their kind.
export const four = (x) => (Number.isInteger(x) && Math.abs(x) < 1000 ? x.toPrecision(4) : number(x, 4));

// A fixed number of decimals, so a column of numbers lines up; with an exponent from a million.
export function fixed(x, places) {
  if (!Number.isFinite(x)) return notFinite(x);
  return unsigned(Math.abs(x) < 1e6 ? x.toFixed(places) : x.toExponential(Math.min(places, 4)));
}

// 1 layer, 2 layers; "query" has its own plural.
export const plural = (count, one, more = `${one}s`) => `${count} ${count === 1 ? one : more}`;

function scaled(x, units, step) {
  let unit = 0;
  while (x >= 0.9995 * step && unit + 1 < units.length) {
    x /= step;
    ++unit;
  }
  return `${unit === 0 && Number.isInteger(x) ? x : x.toPrecision(3)}\u00a0${units[unit]}`;
}

// 1, 2 or 5 times a power of ten, at least x.
export function niceStep(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= x * 0.999);
}

export const bytesText = (x) => scaled(x, ['B', 'KB', 'MB', 'GB', 'TB'], 1000);
export const flopsText = (x) => (x === 0 ? '0' : scaled(x, ['', 'K', 'M', 'G', 'T'], 1000));
export const secondsText = (x) => scaled(1e6 * x, ['\u00b5s', 'ms', 's'], 1000);
export const percent = (x) => (Number.isNaN(x) ? 'NaN' : x > 0 ? `${(100 * x).toFixed(x < 0.1 ? 1 : 0)}%` : '\u2013');
export const sharePercent = (p) => (Number.isNaN(p) ? 'NaN' : `${number(100 * p, 3)}%`); // three digits, always
export const shapeText = (shape) => `[${shape.join(', ')}]`;

// A token made visible: spaces and newlines would show nothing.
export function tokenText(text, position) {
  if (text === undefined) return `#${position}`;
  return text.replace(/ /g, '\u00b7').replace(/\r/g, '\u240d').replace(/\n/g, '\u21b5')
    .replace(/\t/g, '\u21e5').replace(/[\p{C}\p{Z}]/gu, (c) =>
      `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`) || '\u2205';
}

// A module's path, with line breaks allowed after dots and underscores.
export const breakable = (path) => path.split(/(?<=[._])/).flatMap((part, i) => (i > 0 ? [h('wbr'), part] : [part]));

// -1 ... 1 as a bar to the left or right of the middle; 0 ... 1 as a bar to the right.
export function barCell(share) {
  const bar = h('span', { class: share < 0 ? 'bar minus' : 'bar' });
  bar.style.width = `${Math.round(36 * Math.abs(share || 0))}px`;
  return h('td', { class: 'bars', 'aria-hidden': 'true' }, bar);
}

// ---- canvases and colours -----------------------------------------------------------------------

// The current value of a custom property of colours.css, light or dark. Cached, because canvases
// read hundreds while drawing.
const themeColours = new Map();
const onThemeOf = new WeakMap(); // by element
for (const query of ['(prefers-color-scheme: dark)', 'print']) {
  window.matchMedia(query).addEventListener('change', () => {
    themeColours.clear();
    for (const element of document.querySelectorAll('[data-themed]')) onThemeOf.get(element).forEach((f) => f());
  });
}
export function colour(name) {
  if (!themeColours.has(name)) {
    themeColours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return themeColours.get(name);
}

export function rgb(name) {
  const hex = colour(name);
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

// Resizes a canvas to `width` x `height` CSS pixels, sharp on this screen; returns its cleared
// context.
export function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.max(1, Math.round(width * ratio));
  const high = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// A font size for canvases, in pixels where the reader's usual size is 16.
export const fontPixels = (size) => size * (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16) / 16;

// The width of a text in pixels, in the pages' font.
export function textWidth(text, size) {
  measuring.font = `${fontPixels(size)}px ${colour('font')}`;
  return measuring.measureText(text).width;
}
const measuring = document.createElement('canvas').getContext('2d');

// Calls f when the colours change, also before and after printing, while the element is in the page:
// nothing else holds f, so a tab that another replaces is freed.
export function onTheme(element, f) {
  element.setAttribute('data-themed', '');
  onThemeOf.set(element, [...(onThemeOf.get(element) ?? []), f]);
}

// At most once per frame.
export function perFrame(f) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      f();
    });
  };
}
