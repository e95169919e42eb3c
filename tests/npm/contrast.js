// Contrast of a page's contents: text, and lines and areas on canvases and in SVG. WCAG 2.2
// requires 4.5 for text (1.4.3) and 3 for graphics (1.4.11). Text must reach 4.6 here, so rounding
// does not decide; the better of black and white on a heat map reaches at least 4.58 on any colour.
// Exempt: grids, which carry no information; colour scales, whose pale end is close to the
// background by design (heat maps, strips of vectors, orange over an image); the faint raw curve
// under a smoothed one, and the bands around a curve, whose ends are also given in words.
//
// Screen pixels are not read. Colours come from computed styles and from the arguments of drawing
// calls. The background of a text is blended from everything drawn there before, at points that do
// not depend on the font, so the result is the same for all fonts, scale factors and versions of
// Chromium. See page_states.js.
const assert = require('node:assert');

const TEXT = 4.6, ON_ANY_COLOUR = 4.5, GRAPHIC = 3;

// Runs in the page before its own scripts. Records the contrast of every text and line drawn on a canvas until
// takeDrawn() is called.
function instrument() {
  const drawn = new Map();
  const Context = CanvasRenderingContext2D.prototype;
  const own = Object.fromEntries(
    ['fillText', 'fill', 'fillRect', 'clearRect', 'drawImage', 'stroke', 'strokeRect', 'getImageData']
      .map((name) => [name, Context[name]]));
  const { getContext } = HTMLCanvasElement.prototype; // images are read below: a hint for Chromium
  HTMLCanvasElement.prototype.getContext = function readable(kind, options) {
    return getContext.call(this, kind, { ...options, willReadFrequently: true });
  };
  const scratch = document.createElement('canvas').getContext('2d');

  // [red, green, blue, alpha] of a colour, as serialised by computed styles and canvases.
  function parsed(style) {
    const numbers = (style.match(/[\d.]+(e-?\d+)?/g) ?? []).map(Number);
    if (/^#[\da-f]{6}$/.test(style)) return [...[1, 3, 5].map((i) => parseInt(style.slice(i, i + 2), 16)), 1];
    if (/^rgba?\(/.test(style)) return [...numbers.slice(0, 3), numbers[3] ?? 1];
    if (/^color\(srgb /.test(style)) return [...numbers.slice(0, 3).map((x) => 255 * x), numbers[3] ?? 1];
    throw new Error(`contrast.js: unknown colour format: ${style}`);
  }
  const over = ([r, g, b, a], below, alpha = 1) =>
    [r, g, b].map((x, c) => x * a * alpha + below[c] * (1 - a * alpha));
  const luminance = (rgb) => rgb.slice(0, 3).map((x) => x / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, c) => sum + x * [0.2126, 0.7152, 0.0722][c], 0);
  function contrast(one, other) {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }
  const hex = (rgb) => `#${rgb.slice(0, 3).map((x) => Math.round(x).toString(16).padStart(2, '0')).join('')}`;

  // The background of an element, starting from the page.
  function paper(element) {
    if (!element) return [255, 255, 255];
    return over(parsed(getComputedStyle(element).backgroundColor), paper(element.parentElement));
  }

  // Keeps the worst contrast of each kind of item in each place.
  function remember(kind, place, ratio, colours, text) {
    const key = `${kind} ${place} ${colours}`;
    if (!drawn.has(key) || drawn.get(key).ratio > ratio) drawn.set(key, { kind, place, ratio, colours, text });
  }

  const placeOf = (element) => {
    const named = element.closest('[data-view], [data-chart], [data-stage], .maps, svg') ?? element.parentElement;
    return named.dataset?.view ?? named.dataset?.chart ?? named.getAttribute('class') ?? named.tagName;
  };

  // ---- canvases ---------------------------------------------------------------------------------

  // Everything drawn on a canvas since it was last cleared: { at(x, y): [colour, alpha] or null, in the coordinates
  // of the drawing call; inverse: from pixels to those coordinates }. `grid`: whether there is a grid.
  const layersOf = new WeakMap();
  function layers(canvas) {
    if (!layersOf.has(canvas)) layersOf.set(canvas, Object.assign([], { grid: false }));
    return layersOf.get(canvas);
  }
  const forget = (canvas) => layersOf.delete(canvas);
  for (const side of ['width', 'height']) { // setting either clears the canvas
    const property = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, side);
    Object.defineProperty(HTMLCanvasElement.prototype, side, { ...property, set(value) {
      forget(this);
      property.set.call(this, value);
    } });
  }
  const within = (x, y, left, top, wide, high) => x >= left && x < left + wide && y >= top && y < top + high;

  function addLayer(context, style, isIn) {
    const { globalAlpha } = context;
    const colour = typeof style === 'string' ? parsed(style) : null;
    layers(context.canvas).push({ inverse: context.getTransform().inverse(),
      at: (x, y) => (isIn(x, y) ? [colour ?? style(x, y), globalAlpha] : null) });
  }

  // The colours at these points, in the context's coordinates.
  function behind(context, points) {
    const transform = context.getTransform();
    const below = paper(context.canvas);
    return points.map(([x, y]) => transform.transformPoint({ x, y }))
      .filter(({ x, y }) => within(x, y, 0, 0, context.canvas.width, context.canvas.height))
      .map((pixel) => layers(context.canvas).reduce((back, { inverse, at }) => {
        const { x, y } = inverse.transformPoint(pixel);
        const here = at(x, y);
        return here ? over(here[0], back, here[1]) : back;
      }, below));
  }

  function check(kind, context, style, points, text) {
    const { canvas, globalAlpha } = context;
    if (!canvas.isConnected) return;
    const backs = points ? behind(context, points) : [paper(canvas)];
    // Which letters a grid line crosses depends on the font, so any text on the canvas may meet
    // one.
    if (kind === 'text' && layers(canvas).grid) {
      backs.push(...backs.map((back) => over(parsed(variable('line')), back)));
    }
    for (const back of backs) {
      const front = over(parsed(style), back, globalAlpha);
      remember(kind, placeOf(canvas), contrast(front, back), `${hex(front)} on ${hex(back)}`, text);
    }
  }

  // Assumes a width of half an em per letter, for any font.
  Context.fillText = function fillText(text, x, y, ...rest) {
    if (text.trim() !== '') {
      const em = Number(/([\d.]+)px/.exec(this.font)[1]);
      const wide = Math.min(0.5 * em * text.length, rest[0] ?? Infinity);
      const from = { left: 0, start: 0, center: -0.5, right: -1, end: -1 }[this.textAlign] * wide;
      check('text', this, this.fillStyle, [0.1, 0.5, 0.9].map((at) => [x + from + at * wide, y - 0.35 * em]), text);
    }
    own.fillText.call(this, text, x, y, ...rest);
  };
  // A frame around another one contrasts with that.
  Context.strokeRect = function strokeRect(x, y, wide, high) {
    if (this.strokeStyle !== variable('panel')) {
      check('frame', this, this.strokeStyle, [[x + wide / 2, y - 1], [x + wide / 2, y + high + 1]]);
    }
    const half = this.lineWidth / 2;
    addLayer(this, this.strokeStyle, (a, b) =>
      within(a, b, x - half, y - half, wide + 2 * half, high + 2 * half) &&
      !within(a, b, x + half, y + half, wide - 2 * half, high - 2 * half));
    own.strokeRect.call(this, x, y, wide, high);
  };
  Context.stroke = function stroke(...path) {
    const [, , , alpha] = parsed(this.strokeStyle);
    const grid = this.strokeStyle === variable('line');
    const faint = alpha < 0.5; // plot.js draws raw curves and the edges of bands this way
    if (grid) layers(this.canvas).grid = true;
    else if (!faint) check('line', this, this.strokeStyle);
    own.stroke.call(this, ...path);
  };
  Context.fill = function fill(path, ...rule) {
    if (!(path instanceof Path2D)) throw new Error('contrast.js: expected a Path2D');
    addLayer(this, this.fillStyle, (x, y) => scratch.isPointInPath(path, x, y, ...rule));
    own.fill.call(this, path, ...rule);
  };
  // A rectangle in the panel's colour erases.
  Context.fillRect = function fillRect(...box) {
    const says = ['lives', 'plan'].includes(placeOf(this.canvas)) && this.fillStyle !== variable('panel');
    if (says) check('area', this, this.fillStyle);
    addLayer(this, this.fillStyle, (x, y) => within(x, y, ...box));
    own.fillRect.call(this, ...box);
  };
  Context.clearRect = function clearRect(...box) {
    forget(this.canvas); // the pages only clear whole canvases
    own.clearRect.call(this, ...box);
  };
  // Reads the colour of an image from its source, where the page computed it.
  Context.drawImage = function drawImage(image, x, y, wide = image.width, high = image.height, ...rest) {
    if (image instanceof HTMLCanvasElement && rest.length === 0) {
      addLayer(this, (a, b) => {
        const [r, g, blue, alpha] = own.getImageData.call(image.getContext('2d'),
          Math.floor((a - x) / wide * image.width), Math.floor((b - y) / high * image.height), 1, 1).data;
        return [r, g, blue, alpha / 255];
      }, (a, b) => within(a, b, x, y, wide, high));
    }
    own.drawImage.call(this, image, x, y, wide, high, ...rest);
  };

  // A custom property as canvases return it.
  function variable(name) {
    scratch.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
    return scratch.fillStyle;
  }

  // ---- SVG, and elements --------------------------------------------------------------------------

  const opacity = (element) =>
    (element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1);

  // The middle of a text, or its start or end if it is anchored there.
  function positionOf(element) {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const x = { start: left + 1, end: right - 1 }[getComputedStyle(element).textAnchor] ?? (left + right) / 2;
    return new DOMPoint(x, (top + bottom) / 2);
  }

  // The background of a text is every filled shape drawn before it that contains the text's
  // position; for other elements, every rectangle that covers them entirely.
  function behindPart(element, shapes) {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const place = element.tagName === 'text' ? positionOf(element) : null;
    let back = paper(element.closest('svg').parentElement);
    for (const shape of shapes) {
      if (shape === element || !(shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      const box = shape.getBoundingClientRect();
      const contains = place ? shape.isPointInFill(place.matrixTransform(shape.getScreenCTM().inverse()))
        : shape.tagName === 'rect' && left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom;
      if (!contains && !shape.matches('.paper')) continue; // charts clip their contents
      const { fill, fillOpacity } = getComputedStyle(shape);
      if (fill !== 'none') back = over(parsed(fill), back, fillOpacity * opacity(shape));
    }
    return back;
  }

  function checkVectors() {
    for (const picture of document.querySelectorAll('svg')) {
      if (!picture.checkVisibility()) continue;
      const shapes = Array.from(picture.querySelectorAll('rect, circle, ellipse, polygon, path'))
        .filter((shape) => !shape.closest('marker, clipPath, defs'));
      for (const element of picture.querySelectorAll('text, path, rect, line, circle, polygon, polyline')) {
        const style = getComputedStyle(element);
        const text = element.tagName === 'text';
        const parts = (text ? ['fill'] : ['fill', 'stroke']).filter((name) => style[name] !== 'none');
        const shade = parts.length === 1 && parts[0] === 'fill' && style.fillOpacity < 1; // of a scale
        if (parts.length === 0 || shade || element.closest('.grid, .paper, marker, clipPath')) continue;
        const back = behindPart(element, shapes);
        // A shape must contrast by its edge or its inside.
        const ratio = Math.max(...parts.map((name) =>
          contrast(over(parsed(style[name]), back, opacity(element) * style[`${name}Opacity`]), back)));
        const name = element.getAttribute('class') ?? element.tagName;
        remember(text ? 'text' : 'shape', placeOf(element), ratio,
          `${name} ${style.fill} ${style.stroke} on ${hex(back)}`, element.textContent);
      }
    }
  }

  function checkElements() {
    for (const element of document.querySelectorAll('.bar, .key:not(.token):not(.hidden-pair):not(.graph-key)')) {
      const { backgroundColor, width } = getComputedStyle(element);
      if (!element.checkVisibility() || parseFloat(width) < 1) continue;
      const back = paper(element.parentElement);
      remember('area', element.className, contrast(over(parsed(backgroundColor), back), back), backgroundColor);
    }
    for (const element of document.body.querySelectorAll(':not(svg, svg *, script, style, option, :disabled)')) {
      const text = Array.from(element.childNodes)
        .filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data.trim()).join('');
      if (text === '' || !element.checkVisibility()) continue;
      const back = paper(element);
      const front = over(parsed(getComputedStyle(element).color), back, opacity(element));
      remember('text', placeOf(element), contrast(front, back), `${hex(front)} on ${hex(back)}`, text.slice(0, 40));
    }
  }

  window.takeDrawn = () => {
    checkVectors();
    checkElements();
    const all = Array.from(drawn.values());
    drawn.clear();
    return all;
  };
}

// Call this before opening the page.
exports.watchContrast = (page) => page.addInitScript(instrument);

// Fails if anything drawn since the last call is too pale. Returns the number of items checked.
exports.checkContrast = async (page, where) => {
  const drawn = await page.evaluate(() => window.takeDrawn());
  const least = ({ kind, colours }) =>
    (kind !== 'text' ? GRAPHIC : /^#(000000|ffffff) /.test(colours) ? ON_ANY_COLOUR : TEXT);
  const pale = drawn.filter((each) => each.ratio < least(each));
  assert.deepEqual(pale, [], `${where}: ${JSON.stringify(pale, null, 1)}`);
  return drawn.length;
};
