// Checks of the step as one picture: see inspect_pages.js. Lengths and gradients in its card are those
// of an independent pass (plain_gpt.js) and of the page's tape.
const assert = require('node:assert');

const { until } = require('./browser.js');
const { expectShown, toNumber } = require('./numbers.js');

const near = (x, wanted, what) => assert.ok(Math.abs(x / wanted - 1) < 2e-3, `${what}: ${x}, not ${wanted}`);

const cardOf = (page) => page.textContent('[data-view=card]');
const dataOf = (page) => page.$eval('#data', (element) => JSON.parse(element.textContent));
const key = (page, ...keys) => keys.reduce((before, each) => before.then(() => page.keyboard.press(each)), Promise.resolve());

// As many tokens as the first screen has room for.
const shownOf = (page) => page.locator('.step-picture .name').count();

// A ribbon for every token and column, thicker where the vector is longer.
async function checkRibbons(page, columns) {
  const tokens = await shownOf(page);
  assert.equal(await page.locator('.ribbon').count(), tokens * columns);
  assert.equal(await page.locator('.ribbon.chosen').count(), columns);
  const ends = await page.$$eval('.ribbon.chosen', (all) => all.map((each) => {
    const [, y, end] = /([\d.]+)V([\d.]+)C/.exec(each.getAttribute('d'));
    return Number(end) - Number(y);
  }));
  assert.ok(ends.every((high) => high > 0));
  return ends;
}

// The stream before and after a layer's part, and how the picture's thickness follows it.
async function checkLengths(page, { plain, step }) {
  const tokens = step.ids.length;
  const lengthAt = (name) => {
    const x = plain.stages[name];
    const dim = x.length / tokens;
    return Math.hypot(...x.subarray((tokens - 1) * dim, tokens * dim));
  };
  await key(page, 'Home', ...Array(tokens).fill('ArrowDown')); // the last token
  const names = ['embedded', 'blocks.0.middle', 'blocks.0.out', 'blocks.1.middle', 'blocks.1.out'];
  const ends = await checkRibbons(page, names.length);
  const lengths = names.map(lengthAt);
  for (const [i, length] of lengths.entries()) {
    const text = await cardOf(page);
    if (i === names.length - 1) expectShown(/\u2212ln p = ([\d.]+)/.exec(text)[1], plain.losses[tokens - 1], 'the loss');
    else if (i === 0) expectShown(/length ([\d.]+)/.exec(text)[1], length, 'the embedding');
    else {
      const [, before, after] = /([\d.]+) long, plus a vector [\d.]+ long: ([\d.]+) long/.exec(text);
      expectShown(before, lengths[i - 1], `before ${names[i]}`);
      expectShown(after, length, names[i]);
    }
    const ratio = (ends[i] - 1.2) / (ends[ends.length - 1] - 1.2); // 0.6 pixels on either side are for length 0
    assert.ok(Math.abs(ratio - length / lengths[lengths.length - 1]) < 0.02, `${names[i]}: a ribbon of ${ratio}`);
    await key(page, 'ArrowRight');
  }
}

// On the way back: the gradients of the tape.
async function checkBack(page) {
  const data = await dataOf(page);
  await page.click('[data-control=way-back]');
  assert.ok(await page.locator('.ribbon.back').count() > 0);
  assert.equal(await page.locator('.reading').count(), 0);
  const adds = data.path.entries.map(({ entry }) => data.entries[entry]).filter(({ op, module }) => op === 'add' && /\d/.test(module));
  // Together the tokens' gradients have the size that the tape's statistics give.
  const { mean, std, count } = adds[adds.length - 1].outputs[0].grad;
  await page.focus('[data-view=picture]');
  await key(page, 'End', ...Array(data.path.tokens).fill('ArrowDown'));
  let squares = 0;
  for (let i = 0; i < data.path.tokens; ++i) {
    squares += toNumber(/length of the gradient ([\d.e\u2212-]+)/.exec(await cardOf(page))[1]) ** 2;
    await key(page, 'ArrowUp');
  }
  const says = await page.textContent('[data-readout=way-back]');
  const [, last] = /neither vanishes nor explodes: (\S+) at layer 1, \S+ at the embedding\.$/.exec(says) ?? assert.fail(says);
  assert.ok(Math.abs(toNumber(last) / Math.sqrt(squares) - 1) < 6e-3, `${says}: not ${Math.sqrt(squares)}`);
  near(Math.sqrt(squares), Math.sqrt(count) * Math.hypot(mean, std), 'the gradient of all tokens');
  await page.click('[data-control=way-back]');
}

// A head chosen by keyboard, what it reads, and the tabs behind the card.
async function checkHeads(page) {
  const first = page.locator('[data-head="0 0"]');
  await first.click();
  assert.equal(await first.getAttribute('aria-pressed'), 'true');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  assert.equal(await page.getAttribute('[data-head="0 1"]', 'aria-pressed'), 'true');
  assert.match(await cardOf(page), /Head 1: [A-Z].*heaviest|heaviest weight .*Head 1: [A-Z]/s);
  assert.ok(await page.locator('.reading').count() > 0);
  await until(page, () => /layer=0&head=1/.test(window.location.hash));
  await page.click('[data-control=all-attention]');
  assert.equal(await page.textContent('[data-title=head]'), 'blocks.0.attention, head 1');
  await page.goBack();
  await until(page, () => document.querySelector('#tab-picture').getAttribute('aria-selected') === 'true');
  assert.equal(await page.getAttribute('[data-head="0 1"]', 'aria-pressed'), 'true');
  await page.click('[data-control=all-token]');
  assert.match(await page.textContent('[data-view=stage] h3'), /^Added to the residual stream$/);
  await page.goBack();
}

exports.picture = async (page, { model, known }) => {
  const { path } = await dataOf(page);
  const columns = await page.locator('.ribbon.chosen').count();
  assert.ok(columns >= 2, `${columns} columns`);
  const shown = await shownOf(page);
  assert.ok(shown >= Math.min(8, path.tokens) && shown <= Math.min(32, path.tokens), `${shown} tokens`);
  await checkRibbons(page, columns);
  await page.focus('[data-view=picture]');
  const before = await cardOf(page);
  assert.ok((await page.$$eval('[data-view=card] .fact', (all) => all.map((each) => each.textContent)))
    .join(' ').match(/[\d.]+/g).length <= 5, `more than five numbers: ${before}`);
  await key(page, 'ArrowLeft');
  assert.notEqual(await cardOf(page), before, 'the arrow key goes nowhere');
  if (model === 'finding') assert.match(await page.textContent('[data-readout=way-back]'), /is not finite from layer 1 on\.$/);
  if (model === 'finding') assert.ok(await page.locator('.ribbon.lost').count() > 0, 'NaN is not marked');
  if (model === 'gpt') {
    if (known) await checkLengths(page, known);
    await checkBack(page);
    await checkHeads(page);
  }
};
