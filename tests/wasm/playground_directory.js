// A directory of the native `tapestry train`, opened in the playground with its training text,
// continues to the same bits as the command.
//
//     node playground_directory.js CHROMIUM DIRECTORY RUN TEXT STEP STEPS DIGEST
//
// RUN is at STEP of STEPS; DIGEST is that of the parameters after the last.
const assert = require('node:assert');
const { chromium } = require('playwright-core');

const { openPage, readout, until, waitForStep } = require('./open_playground.js');

const [,, program, directory, run, text, step, steps, digest] = process.argv;

(async () => {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: 120000 });
  const { page, wrong } = await openPage(browser, directory, 1280, 'light');
  await page.selectOption('[data-control="source"]', 'saved');
  await page.setInputFiles('[data-control="directory"]', run);
  await page.click('[data-control="restart"]');
  await until(page, () => !document.querySelector('[data-readout="failed"]').hidden);
  assert.match(await readout(page, 'failed'), /^The text that it learned from is missing/);
  await page.setInputFiles('[data-control="run-text"]', text);
  await page.click('[data-control="restart"]');
  await until(page, (count) => document.body.dataset.step === count, step);
  assert.ok(await page.isHidden('[data-readout="failed"]'), await readout(page, 'failed'));
  assert.ok(await page.isHidden('[data-readout="differs"]'), 'steps of the baseline are the page\'s');
  await page.click('[data-control="run"]');
  await waitForStep(page, Number(steps));
  await page.click('#tab-bits');
  await until(page, (text) =>
    document.querySelector('[data-readout="digest"]').textContent === text, digest);
  assert.deepEqual(wrong, []);
  await browser.close();
  console.log('a directory of tapestry train goes on in the page, to the same bits');
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
