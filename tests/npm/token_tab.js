// Checks of the tab that follows one token: see inspect_pages.js. For the small GPT every number of
// every stage is known (plain_gpt.js).
const assert = require('node:assert');

const { until } = require('./browser.js');
const { expectShown, toNumber } = require('./numbers.js');

const rowsOf = (page, table) => page.$$eval(`[data-view=stage] [data-table=${table}] tbody tr`, (rows) =>
  rows.map((row) => Array.from(row.children, (cell) => cell.textContent)));
const stageNow = (page) => page.textContent('[data-view=stage] h3');

async function goTo(page, stage) {
  await page.click(`[data-stage="${stage}"]`);
  assert.equal(await page.getAttribute(`[data-stage="${stage}"]`, 'aria-selected'), 'true');
}

// The names of a GPT's stages in plain_gpt.js, in the order in which they run.
const stagesOf = (layers) => ['tokens', 'embedded', ...Array.from({ length: layers }, (_, layer) =>
  ['norm', 'qkv', 'mixed', 'written', 'middle', 'second', 'up', 'active', 'down', 'out']
    .map((name) => `blocks.${layer}.${name}`)).flat(), 'final', 'logits'];

// Checks every number that a stage shows about itself, at one place.
async function checkNumbers(page, stages, name, place, tokens) {
  const wanted = stages[name];
  const width = wanted.length / tokens;
  const dim = stages.tokens.length / tokens;
  const rows = await rowsOf(page, 'numbers');
  const at = (d) => wanted[place * width + d];
  if (name.endsWith('qkv')) { // of head 0: q, k, v
    rows.forEach((cells, d) => [0, 1, 2].forEach((part) =>
      expectShown(cells[1 + part], at(part * dim + d), `${name}, part ${part}, ${d}`)));
    return;
  }
  for (const cells of rows) {
    const d = Number(cells[0]);
    expectShown(cells[cells.length - 2], at(d), `${name} at ${place}, ${d}`);
  }
  assert.ok(rows.length === width || name.endsWith('mixed'), `${rows.length} rows of ${width}`);
  if (name !== 'logits') return;
  const largest = rows.reduce((a, b) => (toNumber(b[2]) > toNumber(a[2]) ? b : a));
  const [[answer]] = await rowsOf(page, 'answers');
  assert.equal(largest[1], answer, 'the largest logit is the likeliest answer\'s');
}

// One number of a head's output, term by term, with the values of the tokens that it saw.
async function checkTerms(page, { stages, attention }, layer, head, place, tokens) {
  await page.click(`[data-view=stage] [data-head="${head}"]`);
  const width = stages.tokens.length / tokens / attention[0].length;
  const d = 3;
  await page.click(`[data-view=stage] [data-d="${d}"] button`);
  const rows = await rowsOf(page, 'terms');
  const dim = stages.tokens.length / tokens;
  const value = (j) => stages[`blocks.${layer}.qkv`][j * 3 * dim + 2 * dim + head * width + d];
  const weight = (j) => attention[layer][head][place * tokens + j];
  for (const cells of rows.filter(([j]) => j !== '')) {
    const j = Number(cells[0]);
    expectShown(cells[2], weight(j), `weight of ${j}`);
    expectShown(cells[3], value(j), `v of ${j}`);
    expectShown(cells[4], weight(j) * value(j), `weight times v of ${j}`);
  }
  expectShown(rows[rows.length - 1][4], stages[`blocks.${layer}.mixed`][place * dim + head * width + d],
    `layer ${layer}, head ${head}: the sum`);
}

// The heads' contributions through W_O; with the bias they add up to the total.
async function checkWritten(page, { stages }, weights, layer, place, heads, tokens) {
  const rows = await rowsOf(page, 'written');
  assert.equal(rows.length, heads + 2);
  const dim = stages.tokens.length / tokens;
  const width = dim / heads;
  const matrix = weights[`blocks.${layer}.attention.output.weight`].data;
  const mixed = stages[`blocks.${layer}.mixed`].subarray(place * dim, (place + 1) * dim);
  for (let head = 0; head < heads; ++head) {
    let square = 0;
    for (let c = 0; c < dim; ++c) {
      let sum = 0;
      for (let d = head * width; d < (head + 1) * width; ++d) sum += matrix[c * dim + d] * mixed[d];
      square += sum * sum;
    }
    expectShown(rows[head][1], Math.sqrt(square), `layer ${layer}: what head ${head} writes`);
  }
  const shares = rows.slice(0, -1).reduce((sum, cells) => sum + toNumber(cells[2]), 0);
  assert.ok(Math.abs(shares - 1) < 1e-3, `shares of ${shares} in all`);
}

async function checkAll(page, { weights, step, plain }) {
  const tokens = step.ids.length;
  const names = stagesOf(plain.attention.length);
  assert.equal(await page.locator('[data-stage]').count(), names.length);
  for (const place of [tokens - 1, 6]) {
    await page.click(`[data-token="${place}"]`);
    for (const [i, name] of names.entries()) {
      await goTo(page, i);
      if (name.endsWith('qkv')) await page.click('[data-view=stage] [data-head="0"]');
      if (name.endsWith('mixed')) await page.click('[data-view=stage] [data-head="0"]');
      await checkNumbers(page, plain.stages, name, place, tokens);
      const layer = Number(name.split('.')[1]);
      if (name.endsWith('mixed')) await checkTerms(page, plain, layer, 2, place, tokens);
      if (name.endsWith('written')) await checkWritten(page, plain, weights, layer, place, step.heads, tokens);
    }
  }
}

// By keyboard only: the slider, the list, the tokens; and playback.
async function checkKeys(page, count) {
  await page.focus('[data-control=stage]');
  await page.keyboard.press('Home');
  const first = await stageNow(page);
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await stageNow(page), first);
  assert.match(await page.textContent('[data-readout=stage]'), new RegExp(`^Stage 2 of ${count}: `));
  await page.focus('[data-stage="1"]');
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.stage), '2');
  await page.keyboard.press('End');
  assert.match(await page.textContent('[data-readout=stage]'), new RegExp(`^Stage ${count} of ${count}: `));
  await page.focus('[data-control=stage]');
  await page.keyboard.press('Home');
}

// Pressed again in the page itself, at the second stage: on a busy machine all may be over before this test knows.
async function checkPlay(page, count) {
  await page.evaluate(() => {
    const [play, stage] = ['[data-control=play]', '[data-readout=stage]'].map((at) => document.querySelector(at));
    const watching = new MutationObserver(() => {
      if (/^Stage 1 /.test(stage.textContent)) return;
      watching.disconnect();
      play.dataset.said = play.textContent;
      play.click();
    });
    watching.observe(stage, { childList: true, characterData: true, subtree: true });
  });
  await page.focus('[data-control=play]');
  await page.keyboard.press('Enter');
  await until(page, () => 'said' in document.querySelector('[data-control=play]').dataset);
  assert.match(await page.getAttribute('[data-control=play]', 'data-said'), /Pause/);
  const text = await page.textContent('[data-readout=stage]');
  assert.match(await page.textContent('[data-control=play]'), /Play/);
  const at = Number(/^Stage (\d+)/.exec(text)[1]);
  assert.ok(at >= 2 && at < count, text);
  await page.waitForTimeout(1500);
  assert.equal(await page.textContent('[data-readout=stage]'), text, 'it went on');
}

exports.token = async (page, { model, known }) => {
  const count = await page.locator('[data-stage]').count();
  assert.ok(count >= 8, `${count} stages`);
  const last = await page.getAttribute('[data-token]:last-of-type', 'data-token');
  assert.ok(Number(last) > 0 || model === 'vision', `token ${last}`);
  await checkKeys(page, count);
  if (known) await checkPlay(page, count);
  if (known) await checkAll(page, known);
  const about = model === 'large';
  await goTo(page, await page.$$eval('[data-stage]', (all) =>
    all.findIndex((each) => each.classList.contains('attention'))));
  const [[, shown]] = await rowsOf(page, 'numbers');
  assert.equal(shown.startsWith('\u2248'), about, shown);
};
