// The memory tab's planned memory, against the lifetimes in the page's data.
const assert = require('node:assert');

const sizeOf = (text) => {
  const [, size, unit] = /([\d.]+)\u00a0(\w+)/.exec(text);
  return size * { B: 1, KB: 1e3, MB: 1e6, GB: 1e9 }[unit];
};
const near = (shown, bytes) => assert.ok(Math.abs(shown - bytes) <= 0.005 * bytes, `${shown}, ${bytes}`);

// Blocks that are alive at the same event do not overlap.
function checkApart(blocks) {
  for (const [i, a] of blocks.entries()) {
    for (const b of blocks.slice(0, i)) {
      const meet = a.at < b.at + b.bytes && b.at < a.at + a.bytes;
      assert.ok(!meet || a.until < b.born || b.until < a.born, `${a.name} and ${b.name}`);
    }
  }
}

exports.checkMemoryPlan = async (page) => {
  const { lives, plan, bytes } = await page.evaluate(() =>
    JSON.parse(document.getElementById('data').textContent).memory);
  const blocks = lives.filter((life) => life.at !== null).map((life) => ({ ...life,
    until: life.died < 0 ? bytes.length - 1 : life.died }));
  assert.ok(blocks.length > 20 && blocks.length < lives.length);
  checkApart(blocks);

  const said = await page.textContent('[data-readout=plan]');
  near(sizeOf(said), plan.bytes);
  near(sizeOf(said.slice(said.indexOf('would take'))), plan.apart);
  near(sizeOf(said.slice(said.indexOf('lower bound'))), plan.least);

  // A row near the end: a block that reuses memory, which the readout describes like the row.
  const rows = page.locator('[data-table=reuse] tbody tr');
  for (const i of [0, await rows.count() - 1]) {
    const row = rows.nth(i);
    const cells = await row.locator('td').allTextContents();
    await row.locator('button').click();
    assert.equal(await row.getAttribute('aria-selected'), 'true');
    const place = await page.textContent('[data-readout=place]');
    assert.ok(place.startsWith(`${cells[0]}: ${cells[1]} at ${cells[2]}, from event ${cells[3]} `));
    for (const names of cells.slice(5)) assert.ok(names === '\u2013' || place.includes(names), names);
    for (const name of cells[5] === '\u2013' ? [] : cells[5].split(' and ')[0].split(', ')) {
      const before = blocks.some((block) => block.until < Number(cells[3]) &&
        name === (block.entry >= 0 ? `#${block.entry} ${block.name}` : block.name));
      assert.ok(before, `${name} was there before ${cells[0]}`);
    }
  }
  assert.ok((await rows.locator('td:nth-child(6)').allTextContents()).some((text) => text !== '\u2013'));

  // Pointing at the picture's lowest address chooses the block there.
  const picture = page.locator('[data-view=plan] canvas');
  await picture.scrollIntoViewIfNeeded();
  const box = await picture.boundingBox();
  const lowest = blocks.find((block) => block.at === 0 && block.until > block.born);
  const time = (lowest.born + lowest.until + 1) / 2;
  await page.mouse.move(box.x + 4 + (box.width - 8) * time / bytes.length, box.y + box.height - 5);
  const place = await page.textContent('[data-readout=place]');
  assert.ok(place.includes(`at 0\u00a0B, from event ${lowest.born} to ${lowest.until}.`), place);
};
