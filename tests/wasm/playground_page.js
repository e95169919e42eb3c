// The playground in a browser without a network: started, played, paused, stepped and changed;
// every tab with the worker's results; its digest equals that of the same module in node; an empty
// console, no request, nothing wider than the window.
//
//     node playground_page.js CHROMIUM DIRECTORY [SCREENSHOTS]
const assert = require('node:assert');
const path = require('node:path');
const { chromium } = require('playwright-core');

const { openPage, pause, readout, shooter, startOver, stepOf, until, waitForStep } =
  require('./open_playground.js');
const { urlOf } = require('../npm/browser.js');
const { moduleFactory } = require('./train.js');

const [,, program, directory, screenshots] = process.argv;
const STEPS = 60;

// The result of the page's settings in node, without changes on the way. Without `own` the text is the page's
// stories; `own` may contain U+0000.
async function digestInNode(steps, own) {
  const module = await moduleFactory(directory)();
  const call = (name, result, types, ...args) => module.cwrap(`playground_${name}`, result, types)(...args);
  const text = Buffer.from(own ?? call('stories', 'string', ['number', 'number'], 1, 300000));
  const ended = new Uint8Array(text.length + 1); // cwrap copies arrays as they are
  ended.set(text);
  assert.ok(call('start', 'number', ['array', ...Array(11).fill('number')], ended,
    text.length, 2, 2, 64, 32, 8, steps, 6, 1e-3, 0, 1337));
  while (!call('is_finished', 'number', [])) assert.ok(call('step', 'number', []));
  return call('digest', 'string', []);
}

async function checkSteps(page) {
  await page.click('[data-control="step"]');
  await until(page, () => /^Paused: step 1 of 60\. Loss \d/.test(document.querySelector('[data-readout=status]').textContent));
  assert.equal(await stepOf(page), 1);
  await page.click('[data-control="run"]');
  await waitForStep(page, 10);
  await page.focus('[data-control="lr"]');
  await page.keyboard.press('ArrowRight');
  await page.focus('[data-control="dropout"]');
  await page.keyboard.press('ArrowRight');
  assert.equal(await readout(page, 'lr'), '0.0015');
  assert.equal(await readout(page, 'dropout'), '1%');
  await pause(page);
  await until(page, () => document.body.dataset.playing === 'false');
}

// The picture of the step, which follows the run; its track, and the way back.
async function checkPicture(page) {
  const step = await stepOf(page);
  await until(page, (at) => document.querySelector('[data-readout=stage]').textContent === `The picture: after step ${at}`, step);
  const columns = await page.locator('.ribbon.chosen').count();
  assert.equal(columns, 5); // the embedding, and what two layers add
  const rows = await page.locator('.step-picture .name').count(); // of 19, those for which there is room
  assert.ok(rows >= 8 && rows <= 19, `${rows} rows`);
  assert.equal(await page.locator('.ribbon').count(), 5 * rows);
  assert.match(await page.textContent('[data-view=card]'), /After \u201c\u2068.\u2069\u201d the model predicts \u201c.*\u201d/);
  const drawing = () => page.$eval('.ribbon.chosen:last-of-type, .ribbon.chosen', (each) => each.getAttribute('d'));
  const late = await drawing();
  await page.focus('[data-control=scrubber]');
  await page.keyboard.press('Home');
  assert.match(await page.textContent('[data-readout=stage]'), /^The picture: after step 0, looking back$/);
  assert.notEqual(await drawing(), late);
  await page.keyboard.press('End');
  await page.click('[data-control=way-back]');
  assert.ok(await page.locator('.ribbon.back').count() > 0);
  await page.click('[data-control=way-back]');
  await page.fill('[data-control=stage-sentence]', 'The');
  await page.press('[data-control=stage-sentence]', 'Enter');
  await until(page, () => document.querySelectorAll('.ribbon').length === 10);
}

async function checkTabs(page, shoot) {
  assert.match(await readout(page, 'loss'), /loss \d/);
  await shoot('curves');
  await until(page, () =>
    document.querySelector('[data-view="sample"]').textContent.length > 100);
  const first = await page.textContent('[data-view="sample"]');
  await page.fill('[data-control="prompt"]', 'Tom and');
  await page.click('[data-control="write"]');
  await until(page, (before) => {
    const text = document.querySelector('[data-view="sample"]').textContent;
    return text !== before && text.startsWith('Tom and');
  }, first);
  await shoot('samples');
  await checkPicture(page);
  await page.click('#tab-attention');
  await page.waitForSelector('#panel-attention [data-map]');
  assert.equal(await page.locator('#panel-attention [data-map]').count(), 4); // 2 layers of 2 heads
  await shoot('attention');
  await page.click('#tab-tape');
  await page.waitForSelector('#panel-tape [data-control="next"]');
  await page.click('#panel-tape [data-control="next"]');
  assert.match(await page.textContent('#panel-tape [data-readout="walk"]'), /Step 1 of \d+/);
  await shoot('tape');
  await page.click('#tab-gradients');
  await page.waitForSelector('#panel-gradients [data-table="parameters"]');
  await shoot('gradients');
  await page.click('#tab-flow');
  await page.waitForSelector('#panel-flow [data-parameter="blocks.0.attention.qkv.weight"]');
  await shoot('flow');
  await page.click('#tab-bits');
  await until(page, () =>
    /^[0-9a-f]{64}$/.test(document.querySelector('[data-readout="digest"]').textContent));
  await shoot('bits');
}

async function checkMistakes(page) {
  await page.selectOption('[data-control="source"]', 'own');
  await page.fill('[data-control="text"]', 'too short');
  await page.click('[data-control="restart"]');
  assert.match(await readout(page, 'failed'), /^Your text has 9 characters; at least 1000 are needed/);
  await page.fill('[data-control="text"]', 'A text of one\u2019s own, again and again. '.repeat(60));
  await page.fill('[data-control="steps"]', '0');
  await page.click('[data-control="restart"]');
  assert.equal(await readout(page, 'failed'), 'Steps must be a whole number from 1 to 100000.');
  await startOver(page, 5);
  await page.click('[data-control="run"]');
  await until(page, () => /^Finished: step 5 of 5/.test(document.querySelector('[data-readout=status]').textContent));
  assert.ok(await page.isDisabled('[data-control="run"]'));
  // More steps than it was to take, of the same run.
  await page.click('[data-control=more]');
  await until(page, () => / 5 of 1005\./.test(document.querySelector('[data-readout=status]').textContent) ||
    /step 5 of 1005/.test(document.querySelector('[data-readout=status]').textContent));
  await page.click('[data-control="step"]');
  await waitForStep(page, 6);
  assert.ok(await page.isHidden('[data-readout="failed"]'));
}

// U+0000 ends no text: the bits are those of all its bytes, and not of those before it.
async function checkNul(page) {
  const [before, after] = ['Once upon a time, said the fox. ', 'Never again, said the crow. '].map((each) => each.repeat(60));
  const text = `${before}\0${after}`;
  await page.setInputFiles('[data-control="file"]', { name: 'nul.txt', mimeType: 'text/plain', buffer: Buffer.from(text) });
  await until(page, (length) => document.querySelector('[data-control="text"]').value.length === length, text.length);
  await startOver(page, 5);
  await page.click('[data-control="run"]');
  await waitForStep(page, 5);
  const wanted = await digestInNode(5, text);
  assert.notEqual(wanted, await digestInNode(5, before));
  await page.click('#tab-bits');
  await until(page, (digest) => document.querySelector('[data-readout="digest"]').textContent === digest, wanted);
}

// The tour, by keyboard: each card opens what it speaks of; it ends where it began.
async function checkTour(page, shoot) {
  await page.focus('[data-control=story]');
  await page.keyboard.press('Enter');
  const title = () => page.textContent('[data-view=story] h2');
  const [, count] = /^1 of (\d+): Press Play$/.exec(await title());
  const tabs = new Set();
  let wayBack = 0;
  for (let i = 1; i <= Number(count); ++i) {
    assert.match(await title(), new RegExp(`^${i} of ${count}: `));
    const text = await page.textContent('[data-view=story]');
    assert.match(text, /In the course: chapter \d+/);
    tabs.add(await page.$eval('[role=tab][aria-selected=true]', (each) => each.dataset.tab));
    wayBack += await page.getAttribute('[data-control=way-back]', 'aria-pressed') === 'true' ? 1 : 0;
    if (i < Number(count)) await page.keyboard.press('Enter'); // the focus is on "Next"
  }
  assert.deepEqual([...tabs], ['curves', 'parts', 'operations', 'rules', 'bits']);
  assert.equal(wayBack, 1);
  await shoot('tour');
  await page.keyboard.press('Escape');
  assert.ok(await page.isHidden('[data-view=story]'));
}

// Play, the card, the picture and what the model writes are on a reader's first screen; on a telephone the
// first three begin there.
async function checkFirstScreen(page, width) {
  await page.setViewportSize(width > 600 ? { width, height: 720 } : { width, height: 844 });
  await page.evaluate(() => window.scrollTo(0, 0));
  const measure = () => page.$$eval('[data-control=run], [data-view=card], [data-view=picture], [data-control=scrubber], [data-view=sample]', (all) =>
    all.map((each) => [each.getBoundingClientRect(), each.dataset]).map(([box, data]) => [data.control ?? data.view, box.top, box.bottom]));
  const outside = (all) => all.filter(([name, top, bottom]) => {
    if (width > 600) return name === 'sample' ? top >= 600 : bottom > 720;
    return ['run', 'card'].includes(name) ? bottom > 844 : name === 'picture' && top >= 720;
  });
  let ends = await measure();
  for (let tries = 0; tries < 200 && outside(ends).length > 0; ++tries) { // until it is drawn for this window
    await page.waitForTimeout(50);
    ends = await measure();
  }
  assert.equal(ends.length, 5);
  assert.deepEqual(outside(ends), []);
  await page.setViewportSize({ width, height: 900 });
}

// Every tab as a link opens it: its contents arrive once the library is there, and nothing fails.
async function checkLinks(browser) {
  const { page, wrong } = await openPage(browser, directory, 1280, 'dark');
  const tabs = await page.$$eval('[role=tab]', (all) => all.map((each) => each.dataset.tab));
  for (const tab of tabs) {
    await page.goto('about:blank');
    await page.goto(`${urlOf(path.resolve(directory, 'playground.html'))}#tab=${tab}`);
    await until(page, () => document.body.dataset.step === '0');
    await until(page, (name) => document.querySelector(`#panel-${name}`).textContent.length > 60, tab);
    if (tab === 'parts') await until(page, () => /^Validation loss/.test(document.querySelector('[data-readout=losses]').textContent));
    assert.ok(await page.isHidden('[data-readout="failed"]'), tab);
  }
  assert.deepEqual(wrong.filter((each) => !/about:blank/.test(each)), []);
  await page.context().close();
}

async function check(browser, width, scheme, expected) {
  const { page, wrong } = await openPage(browser, directory, width, scheme);
  const shoot = shooter(page, width, scheme, screenshots);
  await checkFirstScreen(page, width);
  await startOver(page, STEPS);
  await checkSteps(page);
  await checkTabs(page, shoot);
  // Again without changes: the bits of the module in node.
  await page.focus('[data-control="lr"]');
  await page.keyboard.press('ArrowLeft');
  await page.focus('[data-control="dropout"]');
  await page.keyboard.press('ArrowLeft');
  await startOver(page, STEPS);
  await page.click('[data-control="run"]');
  await waitForStep(page, STEPS);
  await until(page, (text) =>
    document.querySelector('[data-readout="digest"]').textContent === text, expected);
  await checkMistakes(page);
  await checkNul(page);
  await checkTour(page, shoot);
  assert.deepEqual(wrong, []);
  await page.context().close();
}

(async () => {
  const expected = await digestInNode(STEPS);
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: 120000 });
  await checkLinks(browser);
  await check(browser, 1280, 'light', expected);
  await check(browser, 390, 'dark', expected);
  await browser.close();
  console.log('the playground plays, at two widths');
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
