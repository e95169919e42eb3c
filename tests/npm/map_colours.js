// The heat map of a head, which is redrawn for every chosen head, has the same cell colours as the
// small map of that head. See attention_tab.js.
const assert = require('node:assert');

const CELL = 40; // pixels, as chosen by the zoom
const LEFT = 92, TOP = 84; // of the cells, after the axes

// Colours of cells [query][key] of a canvas, sampled next to a cell's number.
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

// No number is shown for a cell that the query may not see, neither in it nor below.
exports.checkHiddenCells = async (page, query, key) => {
  await page.fill('input[aria-label=Query]', String(query));
  await page.press('input[aria-label=Query]', 'Enter');
  await page.fill('input[aria-label=Key]', String(key));
  await page.press('input[aria-label=Key]', 'Enter');
  assert.match(await page.textContent('[data-readout=map]'), / hidden from the query$/);
  await page.$eval('[data-view=map]', (map) => { map.scrollTop = map.scrollLeft = 0; });
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const inside = await page.$eval('[data-view=map] canvas', (canvas, [x, y, size]) => {
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const { data } = canvas.getContext('2d').getImageData(x * scale, y * scale, size * scale, size * scale);
    return new Set(new Uint32Array(data.buffer)).size;
  }, [LEFT + key * CELL + 6, TOP + query * CELL + 6, CELL - 12]);
  assert.equal(inside, 1, 'colours in the cell');
};

exports.checkMapColours = async (page, heads, queries) => {
  const seen = new Set();
  for (const head of heads) {
    await page.click(`[data-map="${head}"]`);
    await page.$eval('[data-view=map]', (map) => { map.scrollTop = map.scrollLeft = 0; });
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const small = `[data-map="${head}"] canvas`;
    // The maps of this tab may still be drawn when those of the first have been.
    const isDrawn = () => page.$eval(small, (canvas) => {
      const pixel = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
      const context = pixel.getContext('2d', { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      return context.getImageData(0, 0, 1, 1).data[3] !== 0;
    });
    while (!await isDrawn()) await page.waitForTimeout(20);
    const cell = await page.$eval(small, (canvas) => canvas.getBoundingClientRect().width) / queries;
    const count = Math.min(queries, 6);
    const large = await colours(page, '[data-view=map] canvas', { left: LEFT, top: TOP, cell: CELL, inset: 5, count });
    assert.deepEqual(large, await colours(page, small, { left: 0, top: 0, cell, inset: cell / 2, count }), head);
    seen.add(JSON.stringify(large));
  }
  assert.equal(seen.size, heads.length, 'heads differ from one another');
};
