// The heat-map of a head, which is drawn again for every head that is chosen, has in each cell the colour that the
// same weight has in the small map of that head. See inspect_tabs.js.
const assert = require('node:assert');

const CELL = 40; // pixels, as chosen by the zoom
const LEFT = 92, TOP = 84; // of the cells, behind the axes

// Colours of cells [query][key] of a canvas; where a cell has a number, beside it.
async function colours(page, selector, { left, top, cell, inset, count }) {
  return page.$eval(selector, (canvas, at) => {
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const pixel = (x, y) => Array.from(
      context.getImageData(Math.round(x * scale), Math.round(y * scale), 1, 1).data.slice(0, 3));
    const cells = Array.from({ length: at.count }, (_, i) => i);
    return cells.map((i) => cells.map((j) =>
      pixel(at.left + j * at.cell + at.inset, at.top + i * at.cell + at.inset)));
  }, { left, top, cell, inset, count });
}

exports.checkMapColours = async (page, heads, queries) => {
  const seen = new Set();
  for (const head of heads) {
    await page.click(`[data-map="${head}"]`);
    await page.$eval('[data-view=map]', (map) => { map.scrollTop = map.scrollLeft = 0; });
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const small = `[data-map="${head}"] canvas`;
    const cell = await page.$eval(small, (canvas) => canvas.getBoundingClientRect().width) / queries;
    const count = Math.min(queries, 6);
    const large = await colours(page, '[data-view=map] canvas', { left: LEFT, top: TOP, cell: CELL, inset: 5, count });
    assert.deepEqual(large, await colours(page, small, { left: 0, top: 0, cell, inset: cell / 2, count }), head);
    seen.add(JSON.stringify(large));
  }
  assert.equal(seen.size, heads.length, 'heads differ from one another');
};
