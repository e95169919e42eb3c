// Checks of the tabs tape, memory and gradients, by the tab's name, in their order: see
// inspect_pages.js.
const assert = require('node:assert');

const { until } = require('./browser.js');
const { checkEntries, checkGradients } = require('./known_numbers.js');
const { checkMemoryPlan } = require('./memory_plan.js');

// The minimum number of entries on a model's tape.
const LEAST_ENTRIES = { gpt: 40, large: 120, long: 80, encoder_decoder: 100, masked: 40, vision: 40,
  dead: 40, finding: 40 };

exports.tape = async (page, { model, known, all }) => {
  const rows = page.locator('[data-table=entries] tbody tr');
  const count = await rows.count();
  await checkCulprit(page, model === 'finding');
  assert.ok(count >= LEAST_ENTRIES[model], `${count} entries`);
  await checkWalk(page, count);
  await checkGraph(page, count, model === 'gpt' || all);
  await page.fill('[data-control=filter]', 'ATTENTION');
  const shown = await rows.evaluateAll((all) => all.filter((row) => !row.hidden).map((row) =>
    row.textContent));
  assert.ok(shown.length > 0 && shown.length < count && shown.every((row) =>
    row.includes('attention')));
  await page.fill('[data-control=filter]', '');
  if (known) assert.equal(await checkEntries(page, known), 12); // of two layers
  if (model === 'gpt') await checkEntry(page);
  if (model === 'gpt') await checkSorting(page);
  if (model === 'gpt') await checkClosing(page);
  if (model === 'gpt') await checkZoom(page);
};

// Sorts rows by a column, by mouse and keyboard, for any unit in its cells.
async function checkSorting(page) {
  const column = (i) => page.$$eval('[data-table=entries] tbody tr', (rows, at) =>
    rows.map((row) => Number(row.cells[at].dataset.value ?? row.cells[at].textContent)), i);
  const flops = page.locator('[data-table=entries] th:nth-child(7)');
  await flops.locator('button').click();
  assert.equal(await flops.getAttribute('aria-sort'), 'descending');
  const falling = await column(6);
  assert.ok(falling[0] > 1e5 && falling.every((x, i) => i === 0 || x <= falling[i - 1]));
  await page.keyboard.press('Enter');
  assert.equal(await flops.getAttribute('aria-sort'), 'ascending');
  const number = page.locator('[data-table=entries] th:nth-child(1)');
  await number.locator('button').click();
  await page.keyboard.press('Enter');
  assert.equal(await flops.getAttribute('aria-sort'), null);
  assert.deepEqual(await column(0), falling.map((_, i) => i));
}

// The entry that made the first infinity is marked, and shown until another is chosen.
async function checkCulprit(page, isThere) {
  const culprits = page.locator('[data-table=entries] tr.culprit');
  assert.equal(await culprits.count(), isThere ? 1 : 0);
  if (!isThere) return;
  assert.match(await culprits.textContent(), /linear first NaN or infinity.*feed_forward\.down/);
  assert.equal(await culprits.getAttribute('aria-selected'), 'true');
  const number = await culprits.getAttribute('data-entry');
  assert.equal(await page.textContent('[data-view=entry] h2'), `#${number} linear`);
  assert.match(await page.textContent('[data-view=entry]'), /first infinity: linear \(#\d+\)/);
}

// The slider's ends, its keys and buttons: everything recorded, the loss walked first, everything
// walked.
async function checkWalk(page, count) {
  const states = () => page.$$eval('[data-table=entries] tbody tr', (all) =>
    all.map((row) => row.dataset.state));
  assert.ok((await states()).every((state) => state === 'recorded'));
  await page.focus('[data-control=walk]');
  await page.keyboard.press('ArrowRight');
  assert.equal((await states()).indexOf('walking'), count - 1);
  assert.match(await page.textContent('[data-readout=walk]'), /^Step 1 of \d+: #\d+ cross_entropy/);
  await page.click('[data-control=next]');
  const second = await states();
  assert.equal(second[count - 1], 'walked');
  assert.equal(second.indexOf('walking'), count - 2);
  await page.focus('[data-control=walk]');
  await page.keyboard.press('End');
  assert.match(await page.textContent('[data-readout=walk]'), /^Step (\d+) of \1: .*gradients in memory/);
  const last = await states();
  assert.ok(last.every((state) => state === 'walked' || state === 'walking'));
}

// Opens modules by keyboard, with `whole` until every entry is a separate node; folding restores
// them.
async function checkGraph(page, count, whole) {
  const nodes = () => page.locator('[data-node]').count();
  const folded = await nodes();
  assert.ok(folded >= 5 && folded < count, `${folded} nodes`);
  await page.focus('.node.module');
  await page.keyboard.press('Enter');
  assert.ok(await nodes() >= folded);
  if (whole && count < 60) {
    for (let tries = 0; await page.locator('.node.module').count() > 0; ++tries) {
      assert.ok(tries < count);
      await page.focus('.node.module');
      await page.keyboard.press('Enter');
    }
    assert.equal(await nodes(), count);
  }
  await page.click('[data-control=fold]');
  assert.equal(await nodes(), folded);
}

// An opened module has a button that closes only that module.
async function checkClosing(page) {
  const nodes = () => page.locator('[data-node]').count();
  const folded = await nodes();
  await page.click('[data-node="blocks.0"]');
  await page.click('[data-node="blocks.1"]');
  const both = await nodes();
  await page.focus('[data-close="blocks.0"]');
  await page.keyboard.press('Enter');
  const one = await nodes();
  assert.ok(folded < one && one < both, `${folded}, ${one}, ${both} nodes`);
  assert.equal(await page.locator('[data-close]').count(), 1);
  await page.click('[data-control=fold]');
  assert.equal(await nodes(), folded);
  assert.equal(await page.locator('[data-close]').count(), 0);
}

// Buttons, and the wheel with Ctrl, zoom the graph in and out; fitting never enlarges it.
async function checkZoom(page) {
  const graph = page.locator('.graph svg');
  const wide = async () => (await graph.boundingBox()).width;
  const before = await wide();
  await page.click('[data-zoom=in]');
  assert.ok(Math.abs(await wide() / before - 1.25) < 0.01);
  await page.focus('[data-zoom=fit]');
  await page.keyboard.press('Enter');
  const fits = Math.min(before, await page.$eval('.graph', (element) => element.clientWidth));
  assert.ok(Math.abs(await wide() - fits) < 8, `${await wide()} of ${fits} pixels`);
  await page.locator('.graph').hover();
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, 100);
  await page.keyboard.up('Control');
  await until(page, (most) => document.querySelector('.graph svg').getBoundingClientRect().width < most,
    0.95 * fits);
}

// The first linear layer: [16, 32] x [96, 32] is 2 16 32 96 FLOPs and a bias.
async function checkEntry(page) {
  await page.click('[data-entry="4"] button');
  assert.equal(await page.textContent('[data-view=entry] h2'), '#4 linear');
  const forward = await page.textContent('[data-table=work] tbody tr:first-child td');
  assert.match(forward, /^9[89]\.\d.K$|^100.K$/);
  const inputs = await page.$$eval('[data-table=inputs] tbody tr', (all) =>
    all.map((row) => row.children[0].textContent));
  assert.deepEqual(inputs, ['#3 layer_norm', 'blocks.0.attention.qkv.weight',
    'blocks.0.attention.qkv.bias']);
  await page.focus('[data-node="blocks.0"]');
  assert.equal(await page.getAttribute('[data-node="blocks.0"]', 'aria-pressed'), 'true');
}

// The bottom block is the oldest, a parameter; a click moves to its time.
async function checkBlocks(page) {
  const blocks = page.locator('[data-view=lives] canvas');
  await blocks.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await blocks.boundingBox();
  await page.mouse.move(x + width / 2, y + height - 6);
  assert.match(await page.textContent('[data-readout=block]'),
    /^\S+: [\d.]+\u00a0[KM]?B, made at event 0, stays$/);
  await page.mouse.click(x + 6, y + height - 6);
  assert.match(await page.textContent('[data-readout=time]'), /^Event [01]: /);
  await page.mouse.move(2, 2);
  assert.match(await page.textContent('[data-readout=block]'), /^At most /);
}

// The peak is shown first and is the largest; the slider moves through time and back to it.
exports.memory = async (page) => {
  const bytesAt = async () => {
    const text = await page.textContent('[data-readout=time] b');
    const [, size, unit] = /: ([\d.]+)\u00a0(\w+)$/.exec(text);
    return size * { B: 1, KB: 1e3, MB: 1e6, GB: 1e9 }[unit];
  };
  assert.match(await page.textContent('[data-readout=time]'), /this is the peak/);
  const peak = await bytesAt();
  const held = await page.locator('[data-table=holders] tbody tr').count();
  assert.ok(held >= 10, `${held} blocks at the peak`);
  await page.focus('[data-control=time]');
  for (const key of ['Home', 'ArrowRight', 'PageUp', 'End']) {
    await page.keyboard.press(key);
    assert.ok(await bytesAt() <= peak);
  }
  assert.match(await page.textContent('[data-readout=time]'), /after the backward of/);
  await page.keyboard.press('Home');
  assert.match(await page.textContent('[data-readout=time]'), /^Event 0: .*after the forward of #0 /);
  await page.click('[data-control=peak]');
  assert.equal(await bytesAt(), peak);
  const chart = await page.locator('[data-view=chart] :is(canvas, svg)').first().boundingBox();
  assert.ok(chart.width > 200 && chart.height > 100);
  await page.mouse.move(chart.x + chart.width * 0.4, chart.y + chart.height / 2);
  await until(page, () => !/peak/.test(document.querySelector('[data-readout=time]').textContent));
  await checkBlocks(page);
  await checkMemoryPlan(page);
};

// The known finding of the page "finding"; no other page has one.
async function checkFinding(page, isThere) {
  const finding = page.locator('[data-view=finding]');
  assert.equal(await finding.count(), isThere ? 1 : 0);
  if (!isThere) return;
  assert.match(await finding.locator('h2').textContent(),
    /^First infinity: linear \(#\d+\) in blocks\.1\.feed_forward\.down, forward$/);
  const cells = await finding.locator('tbody tr').evaluateAll((all) =>
    all.map((row) => Array.from(row.children, (cell) => cell.textContent)));
  assert.equal(cells.length, 4); // output, input, weight, bias
  assert.deepEqual(cells[0].slice(0, 7), ['output', 'f32 [1, 16, 32]', '512', '0', '16', '0',
    cells[0][6]]);
  assert.match(cells[1][0], /^input 0 \(#\d+ gelu\)$/);
  assert.equal(cells[1][7], '3.00e+38');
  assert.equal(cells[2][0], 'input 1 (blocks.1.feed_forward.down.weight)');
}

// The page "dead" has known dead units. The encoder and decoder have relu and few rows, so some
// units are inactive; the others' activations are smooth.
async function checkUnits(page, model) {
  const text = await page.textContent('[data-readout=units]');
  const rows = await page.$$eval('[data-table=units] tbody tr', (all) => all.map((row) =>
    Array.from(row.children, (cell) => cell.textContent)));
  if (model === 'dead') {
    assert.equal(text, '5 dead and 2 unreached of 256 units in 2 activation functions.');
    assert.equal(rows.length, 1);
    assert.match(rows[0][0], /^#\d+\u00a0relu$/);
    assert.deepEqual(rows[0].slice(1), ['blocks.1.feed_forward', '32', '128', '5', '3.9%', '', '2']);
  } else if (model === 'encoder_decoder') {
    assert.match(text, /^[1-9]\d? dead and 0 unreached of 512 units in 4 activation functions\.$/);
    assert.ok(rows.length >= 1);
  } else if (model !== 'finding') {
    assert.match(text, /^0 dead and 0 unreached of \d+ units in \d+ activation functions\.$/);
    assert.equal(rows.length, 0);
  }
}

// Every parameter has two histograms; rows can be found by name.
exports.gradients = async (page, { model, known }) => {
  await checkFinding(page, model === 'finding');
  await checkUnits(page, model);
  if (known) assert.ok(await checkGradients(page, known) > 20);
  const rows = page.locator('[data-parameter]');
  const count = await rows.count();
  assert.ok(count >= 20, `${count} parameters`);
  const bars = await rows.evaluateAll((all) => all.map((row) =>
    [row.querySelectorAll('rect.values').length, row.querySelectorAll('rect.gradients').length]));
  if (model !== 'finding') { // gradients are NaN there
    assert.ok(bars.filter(([, gradients]) => gradients > 0).length >= 0.8 * count);
  }
  await page.fill('[data-control=parameters]', 'norm');
  const shown = await rows.evaluateAll((all) => all.filter((row) => !row.hidden)
    .map((row) => row.dataset.parameter));
  assert.ok(shown.length > 0 && shown.length < count && shown.every((name) => /norm/.test(name)));
  await page.fill('[data-control=parameters]', '');
  if (model !== 'gpt') return;
  const norm = page.locator('[data-parameter="blocks.0.attention_norm.weight"]');
  assert.equal(await norm.locator('td').nth(1).textContent(), '[32]');
  assert.equal(await norm.locator('td').nth(4).textContent(), '1'); // a norm starts with ones:
  assert.equal(await norm.locator('rect.values').count(), 1); // all in [2^0, 2^1)
};
