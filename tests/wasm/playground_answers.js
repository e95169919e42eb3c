// The playground's interactions: parts of the model removed and restored, a step taken operation by
// operation, a broken rule that the gradient checker finds, a run saved and opened.
//
//     node playground_answers.js CHROMIUM DIRECTORY [SCREENSHOTS]
const assert = require('node:assert');
const { chromium } = require('playwright-core');

const { openPage, readout, restart, shooter, startOver, until, waitForStep } =
  require('./open_playground.js');

const [,, program, directory, screenshots] = process.argv;

const waitForText = (page, selector, pattern) => until(page, ([at, source]) =>
  new RegExp(source).test(document.querySelector(at).textContent), [selector, pattern.source]);

const lossesOf = async (page) => {
  const told = /^Validation loss (\d+\.\d+)(?:; of the whole model (\d+\.\d+))?/
    .exec(await readout(page, 'losses'));
  return told && told.slice(1).map((x) => x && Number(x));
};

async function checkParts(page, shoot) {
  await page.click('#tab-parts');
  await waitForText(page, '[data-readout="losses"]', /^Validation loss [\d.]+\.$/);
  const [whole] = await lossesOf(page);
  assert.equal(await page.locator('#panel-parts canvas').count(), 4); // 2 layers of 2 heads
  await page.click('[data-control="step"]');
  await page.click('[data-control="step"]');
  await until(page, () => document.querySelectorAll('[data-update]').length > 20);
  await page.click('[data-part="head 1"]');
  await page.click('[data-part="layer 1"]');
  await page.uncheck('[data-part="norms"]');
  await waitForText(page, '[data-readout="losses"]', /of the whole model/);
  assert.equal(await page.getAttribute('[data-part="head 1"]', 'aria-pressed'), 'false');
  assert.equal(await page.getAttribute('[data-part="head 2"]', 'aria-pressed'), 'false');
  await shoot('parts');
  await page.click('[data-control="step"]');
  await page.click('[data-part="head 1"]');
  await page.click('[data-part="layer 1"]');
  await page.check('[data-part="norms"]');
  await waitForText(page, '[data-readout="losses"]', /^Validation loss [\d.]+\.$/);
  const [after] = await lossesOf(page);
  assert.ok(after < whole + 0.5, `${after} after ${whole}`);
}

async function checkOperations(page, shoot) {
  await page.click('#tab-operations');
  const before = Number(await page.evaluate(() => document.body.dataset.step));
  const next = '[data-control="operation-next"]';
  await page.click(next);
  await waitForStep(page, before + 1);
  await waitForText(page, '[data-readout="operation"]', /^Forward: #0 embedding/);
  await page.click(next);
  const titles = new Set();
  const last = Number(await page.getAttribute('[data-control="operation"]', 'max'));
  assert.ok(last > 40, `${last + 1} operations`);
  for (let at = 1; at < last; ++at) {
    titles.add((await readout(page, 'operation')).replace(/ #\d+/, ''));
    await page.click(next);
  }
  assert.ok([...titles].some((title) => title.startsWith('Forward: cross_entropy')));
  assert.ok([...titles].some((title) => title.startsWith('Back through layer_norm')));
  await page.click('[data-control="operation-back"]');
  await shoot('operations');
  assert.match(await readout(page, 'operation'), /^Back through #/);
  await page.click(next);
  await page.click(next); // into the next step
  await waitForStep(page, before + 2);
  await waitForText(page, '[data-readout="operation"]', /^Forward: #0 embedding/);
}

async function checkRules(page, shoot) {
  await page.click('#tab-rules');
  await page.click('[data-control="check"]');
  await waitForText(page, '[data-view="check"]', /PASS/);
  await page.selectOption('[data-control="rule"]', { label: 'layer_norm: weight' });
  await page.selectOption('[data-control="flaw"]', { label: 'is twice what it should be' });
  assert.match(await readout(page, 'rule'), /in layer_norm, the gradient of its weight is twice what/);
  await page.click('[data-control="step"]');
  await page.click('[data-control="check"]');
  await waitForText(page, '[data-view="check"]', /FAIL/);
  // The answer comes first, with the operand as it was chosen.
  assert.match(await page.textContent('[data-view="check"]'), /^first wrong op: +layer_norm[^]*?\n +gradient of +operand 1[^]*FAIL/);
  await shoot('rules');
  await page.selectOption('[data-control="rule"]', { index: 0 });
  assert.equal(await readout(page, 'rule'), 'All rules are right.');
}

const digest = async (page, step) => {
  await page.click('#tab-bits');
  await waitForText(page, '[data-readout="digest-step"]', new RegExp(`^After step ${step} of`));
  return readout(page, 'digest');
};

async function runTo(page, step) {
  await page.click('[data-control="run"]');
  await waitForStep(page, step);
}

// Saved halfway and opened again, it reaches the same result.
async function checkSaved(page, shoot) {
  await startOver(page, 20);
  for (let step = 1; step <= 8; ++step) {
    await page.click('[data-control="step"]');
    await waitForStep(page, step);
  }
  await page.click('#tab-bits');
  const [download] = await Promise.all([page.waitForEvent('download'),
    page.click('[data-control="save"]')]);
  await page.waitForSelector('[data-readout="saved"]:not([hidden])');
  assert.match(await readout(page, 'saved'), /Saved after step 8, [\d.]+.MB/);
  await shoot('saved');
  await runTo(page, 20);
  const expected = await digest(page, 20);
  await page.selectOption('[data-control="source"]', 'saved');
  await page.click('[data-control="restart"]');
  assert.match(await readout(page, 'failed'), /Choose a saved run/);
  await page.setInputFiles('[data-control="archive"]', await download.path());
  await restart(page);
  await until(page, () => document.body.dataset.step === '8');
  await shoot('opened');
  await runTo(page, 20);
  await until(page, (text) =>
    document.querySelector('[data-readout="digest"]').textContent === text, expected);
  assert.ok(await page.isHidden('[data-readout="differs"]'));
  assert.ok(await page.isHidden('[data-readout="failed"]'));
}

async function check(browser, width, scheme) {
  const { page, wrong } = await openPage(browser, directory, width, scheme);
  const shoot = shooter(page, width, scheme, screenshots);
  await startOver(page, 100);
  await checkParts(page, shoot);
  await checkOperations(page, shoot);
  await checkRules(page, shoot);
  await checkSaved(page, shoot);
  assert.deepEqual(wrong, []);
  await page.context().close();
}

(async () => {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: 120000 });
  await check(browser, 1280, 'light');
  await check(browser, 390, 'dark');
  await browser.close();
  console.log('the playground answers, at two widths');
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
