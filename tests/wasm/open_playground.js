// Shared by the tests of the playground's page: opening it without a network, and waiting.
const assert = require('node:assert');
const path = require('node:path');

const { checkAccessible, urlOf, watch } = require('../npm/browser.js');

// Waits without page.waitForFunction, whose evaluation of text the page's policy forbids.
async function until(page, f, argument) {
  for (let tries = 0; !await page.evaluate(f, argument); ++tries) {
    assert.ok(tries < 6000, `never true: ${f}`);
    await page.waitForTimeout(50);
  }
}

const stepOf = (page) => page.evaluate(() => Number(document.body.dataset.step));
const waitForStep = (page, least) => until(page, (step) =>
  Number(document.body.dataset.step) >= step, least);
const readout = (page, name) => page.textContent(`[data-readout="${name}"]`);

// Presses "Start over"; a run of twenty steps or more is discarded by a second press only, within four seconds:
// both are in one call, because on a busy machine a second call may come later.
async function restart(page) {
  const step = await stepOf(page);
  if (step < 20) return page.click('[data-control="restart"]');
  const [asked, stands] = await page.evaluate(() => {
    const button = document.querySelector('[data-control="restart"]');
    button.click();
    const said = [button.textContent, Number(document.body.dataset.step)];
    button.click();
    return said;
  });
  assert.equal(asked, `Discard ${step} steps?`);
  assert.equal(stands, step);
}

// Presses "Pause" if it is there, in one call: the run may end at any time.
const pause = (page) => page.evaluate(() => {
  const run = document.querySelector('[data-control="run"]');
  if (run.textContent === 'Pause') run.click();
});

async function startOver(page, steps) {
  await page.fill('[data-control="steps"]', String(steps));
  await restart(page);
  await until(page, (text) =>
    document.querySelector('[data-readout="status"]').textContent.includes(text), `step 0 of ${steps}`);
}

// The page when it is ready, and a list of forbidden actions: { page, wrong }.
async function openPage(browser, directory, width, scheme) {
  const file = path.resolve(directory, 'playground.html');
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme,
    acceptDownloads: true });
  await context.setOffline(true);
  const page = await context.newPage();
  page.setDefaultTimeout(120000);
  const wrong = watch(page, (url) => url === urlOf(file) || url.startsWith('blob:'));
  await page.goto(urlOf(file));
  await until(page, () => document.body.dataset.step === '0');
  return { page, wrong };
}

// A function that checks the open view: it is no wider than the window, and axe-core finds nothing;
// it saves a picture if wanted.
const shooter = (page, width, scheme, screenshots) => async (name) => {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `${name}: the page is ${wide} pixels wide, the window ${width}`);
  await checkAccessible(page, name);
  if (!screenshots) return;
  await page.screenshot({ fullPage: true,
    path: path.join(screenshots, `playground_${name}_${width}_${scheme}.png`) });
};

module.exports = { openPage, pause, readout, restart, shooter, startOver, stepOf, until, waitForStep };
