// Checks of the predictions tab: see inspect_pages.js.
const assert = require('node:assert');

const { expectShown } = require('./numbers.js');

const cellsOf = (page, table) => page.$$eval(`[data-table=${table}] tbody tr`, (rows) =>
  rows.map((row) => Array.from(row.children, (cell) => cell.textContent)));

// The number between two words of a sentence.
const between = (text, before, after) => {
  const from = text.indexOf(before);
  assert.ok(from >= 0, `"${before}" is not in: ${text}`);
  const rest = text.slice(from + before.length);
  return rest.slice(0, rest.indexOf(after)).trim();
};

// Compares everything shown about the chosen place with `wanted`: [layer, place, loss, p, rank].
async function checkPlace(page, place, wanted) {
  const [, , loss, p, rank] = wanted.find(([layer, at]) => layer === 'model' && at === place);
  const text = await page.textContent('[data-readout=verdict]');
  expectShown(between(text, 'probability of ', ':'), p, `place ${place}, p`);
  expectShown(between(text, ' = ', ' nats'), loss, `place ${place}, loss`);
  assert.ok(text.includes(rank === 1 ? 'its first choice' : `number ${rank} of`), text);
  const likeliest = await cellsOf(page, 'likeliest');
  const right = likeliest.filter((cells) => cells[4] === '\u2713 right');
  assert.equal(right.length, 1);
  assert.equal(right[0][0], String(rank));
  expectShown(right[0][2], p, `place ${place}, the right one`);
  const order = likeliest.filter(([at]) => at).map(([at]) => Number(at));
  assert.deepEqual(order.slice(0, 5), [1, 2, 3, 4, 5].slice(0, Math.min(5, order.length)));
  const layers = wanted.filter(([layer, at]) => layer !== 'model' && at === place);
  if (layers.length === 0) return;
  const rows = await cellsOf(page, 'layers');
  assert.equal(rows.length, layers.length + 1);
  layers.forEach(([layer, , , layerP, layerRank]) => {
    expectShown(rows[Number(layer)][3], layerP, `layer ${layer} at ${place}`);
    assert.equal(rows[Number(layer)][5], String(layerRank));
  });
  expectShown(rows[layers.length][3], p, `the model at ${place}`);
}

exports.predictions = async (page, { model, expected }) => {
  if (model === 'finding') return checkLost(page);
  const asked = expected.filter(([layer]) => layer === 'model');
  const text = await page.textContent('[data-readout=predictions]');
  const mean = asked.reduce((sum, [, , loss]) => sum + loss, 0) / asked.length;
  expectShown(between(text, 'loss is ', ' nats'), mean, 'the mean loss');
  expectShown(between(text, 'choice among ', ' '), Math.exp(mean), 'perplexity');
  const tokens = page.locator('[data-place]');
  assert.equal(await tokens.count(), asked.length);
  const every = Math.max(1, Math.floor(asked.length / 4));
  for (let i = 0; i < asked.length; i += every) {
    const place = asked[i][1];
    await page.click(`[data-place="${place}"]`);
    assert.equal(await page.getAttribute(`[data-place="${place}"]`, 'aria-pressed'), 'true');
    await checkPlace(page, place, expected);
  }
  await tokens.first().focus();
  await page.keyboard.press('End');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.place),
    String(asked[asked.length - 1][1]));
  await page.keyboard.press('Home');
  await checkPlace(page, asked[0][1], expected);
  if (model === 'gpt') await checkText(page);
  if (model === 'masked') await checkHidden(page);
};

// All NaN: nothing was predicted, so nothing is right or has a rank.
async function checkLost(page) {
  const lost = 'the model gave no probabilities, because NaN or infinity reached its output.';
  assert.match(await page.textContent('[data-readout=predictions]'),
    new RegExp(`^At none of \\d+ positions is there a prediction: ${lost}$`));
  assert.match(await page.textContent('[data-readout=verdict]'), new RegExp(`^The right answer is \\d+; ${lost}$`));
  assert.equal(await page.locator('[data-table=likeliest]').count(), 0);
  const rows = await cellsOf(page, 'layers');
  assert.deepEqual(rows[rows.length - 1].slice(1), ['\u2013', 'NaN', 'NaN', '', '\u2013']);
  assert.equal(rows.flat().filter((text) => text === '\u2013%').length, 0);
}

// Tokens that could end a script are text; the target follows the context.
async function checkText(page) {
  await page.keyboard.press('ArrowRight');
  const sentence = await page.textContent('[data-readout=sentence]');
  assert.match(sentence, /^\u732b \u5750 \?$/);
  const all = await page.textContent('.strip');
  assert.ok(all.startsWith('\u732b'), all);
}

// Words that are not predicted appear between those that are.
async function checkHidden(page) {
  assert.equal(await page.locator('.strip .given').count(), 6);
}
