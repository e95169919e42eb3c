// What axe-core cannot see of a page's colours: texts and lines on canvases and in SVG. A text must stand out
// from what lies behind it with a contrast of 4.5, a line or an area that says something with 3 (WCAG 2.2, 1.4.3
// and 1.4.11). Exempt are grids, which help the eye and say nothing; scales of colour, whose pale end is near the
// paper by nature (heat-maps, strips of vectors, orange over an image); of a smoothed curve the faint one that it
// was made of, and bands around a curve, whose ends are told in words. See page_states.js.
const assert = require('node:assert');

const TEXT = 4.5, GRAPHIC = 3;

// Runs in the page before its own scripts: every text and every line that is drawn on a canvas is remembered, with
// its contrast, until takeDrawn() is called.
function instrument() {
  const drawn = new Map();
  const Context = CanvasRenderingContext2D.prototype;
  const own = Object.fromEntries(['fillText', 'fillRect', 'stroke', 'strokeRect', 'getImageData']
    .map((name) => [name, Context[name]]));
  const { getContext } = HTMLCanvasElement.prototype; // what is on a canvas is read below: Chromium wants to know
  HTMLCanvasElement.prototype.getContext = function readable(kind, options) {
    return getContext.call(this, kind, { ...options, willReadFrequently: true });
  };
  const scratch = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
    .getContext('2d');
  const known = new Map();

  // [red, green, blue, alpha] of any colour of CSS.
  function parsed(style) {
    if (!known.has(style)) {
      scratch.clearRect(0, 0, 1, 1);
      scratch.fillStyle = style;
      own.fillRect.call(scratch, 0, 0, 1, 1);
      const [r, g, b, a] = own.getImageData.call(scratch, 0, 0, 1, 1).data;
      known.set(style, [r, g, b, a / 255]);
    }
    return known.get(style);
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

  // What lies behind an element, from the page up.
  function paper(element) {
    if (!element) return [255, 255, 255];
    return over(parsed(getComputedStyle(element).backgroundColor), paper(element.parentElement));
  }

  // The worst contrast of each kind of thing in each place.
  function remember(kind, place, ratio, colours, text) {
    const key = `${kind} ${place} ${colours}`;
    if (!drawn.has(key) || drawn.get(key).ratio > ratio) drawn.set(key, { kind, place, ratio, colours, text });
  }

  const placeOf = (element) => {
    const named = element.closest('[data-view], [data-chart], [data-stage], .maps, svg') ?? element.parentElement;
    return named.dataset?.view ?? named.dataset?.chart ?? named.getAttribute('class') ?? named.tagName;
  };

  // What is on the canvas at these points, in the coordinates of whoever draws, over the paper.
  function behind(context, points) {
    const below = paper(context.canvas);
    const { a, b, c, d, e, f } = context.getTransform();
    return points.map(([x, y]) => [Math.round(a * x + c * y + e), Math.round(b * x + d * y + f)])
      .filter(([x, y]) => x >= 0 && y >= 0 && x < context.canvas.width && y < context.canvas.height)
      .map(([x, y]) => {
        const [r, g, blue, alpha] = own.getImageData.call(context, x, y, 1, 1).data;
        return over([r, g, blue, alpha / 255], below);
      });
  }

  function check(kind, context, style, points, text) {
    const { canvas, globalAlpha } = context;
    if (!canvas.isConnected || typeof style !== 'string') return;
    const backs = points ? behind(context, points) : [paper(canvas)];
    for (const back of backs) {
      const front = over(parsed(style), back, globalAlpha);
      const hex = (rgb) => rgb.map((x) => Math.round(x).toString(16).padStart(2, '0')).join('');
      remember(kind, placeOf(canvas), contrast(front, back), `#${hex(front)} on #${hex(back)}`, text);
    }
  }

  Context.fillText = function fillText(text, x, y, ...rest) {
    if (text.trim() !== '') {
      const wide = Math.min(this.measureText(text).width, rest[0] ?? Infinity);
      const from = { left: 0, start: 0, center: -0.5, right: -1, end: -1 }[this.textAlign] * wide;
      check('text', this, this.fillStyle, [0.1, 0.5, 0.9].map((at) => [x + from + at * wide, y - 4]), text);
    }
    own.fillText.call(this, text, x, y, ...rest);
  };
  // A frame around another stands out from that.
  Context.strokeRect = function strokeRect(x, y, wide, high) {
    if (this.strokeStyle !== variable('panel')) {
      check('frame', this, this.strokeStyle, [[x + wide / 2, y - 1], [x + wide / 2, y + high + 1]]);
    }
    own.strokeRect.call(this, x, y, wide, high);
  };
  Context.stroke = function stroke(...path) {
    const [, , , alpha] = parsed(this.strokeStyle);
    const grid = this.strokeStyle === variable('line');
    const faint = alpha < 0.5; // plot.js draws so what a smoothed curve was made of, and the edges of bands
    if (!grid && !faint) check('line', this, this.strokeStyle);
    own.stroke.call(this, ...path);
  };
  Context.fillRect = function fillRect(...box) {
    if (['lives', 'plan'].includes(placeOf(this.canvas))) check('area', this, this.fillStyle);
    own.fillRect.call(this, ...box);
  };

  // A custom property as canvases give it back.
  function variable(name) {
    scratch.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
    return scratch.fillStyle;
  }

  // ---- SVG and elements that are all colour -----------------------------------------------------

  const opacity = (element) => (element instanceof SVGElement
    ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1);

  // Behind a part of a picture lie the rectangles that were drawn before it and reach over all of it; of a text,
  // over its middle.
  function behindPart(element, rects) {
    let { left, top, right, bottom } = element.getBoundingClientRect();
    if (element.tagName === 'text') {
      left = right = (left + right) / 2;
      top = bottom = (top + bottom) / 2;
    }
    let back = paper(element.closest('svg').parentElement);
    for (const rect of rects) {
      if (rect === element || !(rect.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      const box = rect.getBoundingClientRect();
      const within = left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom;
      if (!within && !rect.matches('.paper')) continue; // what leaves a chart is cut off there
      const { fill, fillOpacity } = getComputedStyle(rect);
      if (fill !== 'none') back = over(parsed(fill), back, fillOpacity * opacity(rect));
    }
    return back;
  }

  function checkVectors() {
    for (const picture of document.querySelectorAll('svg')) {
      if (!picture.checkVisibility()) continue;
      const rects = Array.from(picture.querySelectorAll('rect'));
      for (const element of picture.querySelectorAll('text, path, rect, line, circle, polygon, polyline')) {
        const style = getComputedStyle(element);
        const text = element.tagName === 'text';
        const parts = (text ? ['fill'] : ['fill', 'stroke']).filter((name) => style[name] !== 'none');
        const shade = parts.length === 1 && parts[0] === 'fill' && style.fillOpacity < 1; // of a scale
        if (parts.length === 0 || shade || element.closest('.grid, .paper, marker, clipPath')) continue;
        const back = behindPart(element, rects);
        // Of a shape its edge or its inside stands out.
        const ratio = Math.max(...parts.map((name) =>
          contrast(over(parsed(style[name]), back, opacity(element) * style[`${name}Opacity`]), back)));
        remember(text ? 'text' : 'shape', placeOf(element), ratio,
          `${element.getAttribute('class') ?? element.tagName} ${style.fill} ${style.stroke}`, element.textContent);
      }
    }
    for (const element of document.querySelectorAll('.bar, .key:not(.token):not(.hidden-pair):not(.graph-key)')) {
      const { backgroundColor, width } = getComputedStyle(element);
      if (!element.checkVisibility() || parseFloat(width) < 1) continue;
      const back = paper(element.parentElement);
      remember('area', element.className, contrast(over(parsed(backgroundColor), back), back), backgroundColor);
    }
  }

  window.takeDrawn = () => {
    checkVectors();
    const all = Array.from(drawn.values());
    drawn.clear();
    return all;
  };
}

// To be called before the page is opened.
exports.watchContrast = (page) => page.addInitScript(instrument);

// Of all that was drawn since the last call nothing is too pale. How much was looked at.
exports.checkContrast = async (page, where) => {
  const drawn = await page.evaluate(() => window.takeDrawn());
  const pale = drawn.filter(({ kind, ratio }) => ratio < (kind === 'text' ? TEXT : GRAPHIC));
  assert.deepEqual(pale, [], `${where}: ${JSON.stringify(pale, null, 1)}`);
  return drawn.length;
};
