// The playground by keyboard only, in a browser without a network: Tab reaches every control that
// training needs and shows the focus, and a key does what a click does.
//
//     node playground_keys.js CHROMIUM DIRECTORY [SCREENSHOTS]
const assert = require('node:assert');
const { chromium } = require('playwright-core');

const { openPage, readout, shooter, until, waitForStep } = require('./open_playground.js');

const [,, program, directory, screenshots] = process.argv;

// Presses Tab, or Shift+Tab, until the element has a visible focus.
async function tabTo(page, selector, key = 'Tab') {
  for (let tries = 0; !await page.evaluate((wanted) =>
    document.activeElement.matches(wanted), selector); ++tries) {
    assert.ok(tries < 150, `${selector} is not reached by ${key}`);
    await page.keyboard.press(key);
  }
  assert.notEqual(await page.evaluate(() =>
    getComputedStyle(document.activeElement).outlineStyle), 'none', `${selector}: its focus is not seen`);
}

// Moves from the open tab, which has the focus, to another.
async function openTab(page, name) {
  await tabTo(page, '[role="tab"]', 'Shift+Tab');
  for (let tries = 0; await page.evaluate(() => document.activeElement.id) !== `tab-${name}`; ++tries) {
    assert.ok(tries < 12, `the tab ${name} is not reached by arrow keys`);
    await page.keyboard.press('ArrowRight');
  }
  await page.keyboard.press('Enter');
  assert.ok(await page.isVisible(`#panel-${name}`));
}

async function press(page, selector, key = 'Enter') {
  await tabTo(page, selector);
  await page.keyboard.press(key);
}

async function train(page) {
  await tabTo(page, '[data-control="steps"]');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('50000'); // more than are taken before the last key
  await press(page, '[data-control="restart"]');
  await until(page, () =>
    document.querySelector('[data-readout="status"]').textContent.includes('step 0 of 50000'));
  await press(page, '[data-control="step"]', ' ');
  await waitForStep(page, 1);
  await tabTo(page, '[data-control="run"]', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await waitForStep(page, 5);
  await press(page, '[data-control="lr"]', 'ArrowRight');
  assert.equal(await readout(page, 'lr'), '0.0015');
  await press(page, '[data-control="dropout"]', 'ArrowRight');
  assert.equal(await readout(page, 'dropout'), '1%');
  await tabTo(page, '[data-control="run"]', 'Shift+Tab');
  if (await page.textContent('[data-control="run"]') === 'Pause') await page.keyboard.press('Enter');
  await until(page, () => document.body.dataset.playing === 'false');
  await tabTo(page, '[role="tab"]');
}

const textHas = (page, selector, pattern) => until(page, ([at, source]) =>
  new RegExp(source).test(document.querySelector(at).textContent), [selector, pattern]);

async function goThroughTabs(page) {
  await tabTo(page, '[data-control="prompt"]', 'Shift+Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('Tom and');
  await press(page, '[data-control="write"]');
  await textHas(page, '[data-view="sample"]', '^Tom and');
  await press(page, '[data-control="scrubber"]', 'Home');
  await textHas(page, '[data-readout="stage"]', 'after step 0, looking back');
  await press(page, '[data-control="more"]');
  await textHas(page, '[data-readout="status"]', 'of 51000');
  await openTab(page, 'parts');
  await tabTo(page, '.part');
  while (!await page.evaluate(() => document.activeElement.matches('[data-part="head 1"]'))) {
    await page.keyboard.press('ArrowRight');
  }
  await page.keyboard.press('Enter');
  await textHas(page, '[data-readout="losses"]', 'of the whole model');
  assert.equal(await page.getAttribute('[data-part="head 1"]', 'aria-pressed'), 'false');
  await page.keyboard.press('Enter');
  await textHas(page, '[data-readout="losses"]', '^Validation loss [\\d.]+\\.$');
  await openTab(page, 'operations');
  await press(page, '[data-control="operation-next"]');
  await textHas(page, '[data-readout="operation"]', '^Forward: #0');
  await openTab(page, 'attention');
  await page.waitForSelector('#panel-attention [data-map]');
  await openTab(page, 'tape');
  await page.waitForSelector('#panel-tape [data-control="next"]');
  await press(page, '#panel-tape [data-control="next"]');
  await textHas(page, '#panel-tape [data-readout="walk"]', '^Step 1 of');
  await openTab(page, 'rules');
  await press(page, '[data-control="check"]');
  await textHas(page, '[data-view="check"]', 'PASS');
  await tabTo(page, '[data-control="rule"]', 'Shift+Tab');
  await page.keyboard.press('ArrowDown');
  await textHas(page, '[data-readout="rule"]', 'the gradient of');
  await page.keyboard.press('ArrowUp');
  await textHas(page, '[data-readout="rule"]', 'All rules are right');
  await openTab(page, 'bits');
  await textHas(page, '[data-readout="digest"]', '^[0-9a-f]{64}$');
  const [download] = await Promise.all([page.waitForEvent('download'),
    press(page, '[data-control="save"]')]);
  assert.equal(download.suggestedFilename(), 'playground.tar.gz');
  assert.equal(await page.locator('[aria-live], [role=status]').count(), 1, 'a screen reader hears of everything twice');
}

(async () => {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: 120000 });
  const { page, wrong } = await openPage(browser, directory, 1280, 'dark');
  await train(page);
  await goThroughTabs(page);
  await shooter(page, 1280, 'dark', screenshots)('keys');
  assert.deepEqual(wrong, []);
  await browser.close();
  console.log('the playground plays by keyboard alone');
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
