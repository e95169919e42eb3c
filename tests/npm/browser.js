// What the tests of pages share.
const assert = require('node:assert');
const fs = require('node:fs');
const { pathToFileURL } = require('node:url');
const { chromium } = require('playwright-core');

// Chromium. TAPESTRY_PAGE_SCALE is the device scale factor of its pages (1).
exports.launch = async (program) => {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
  const newPage = browser.newPage.bind(browser);
  const deviceScaleFactor = Number(process.env.TAPESTRY_PAGE_SCALE || 1);
  browser.newPage = (options) => newPage({ deviceScaleFactor, ...options });
  return browser;
};

// The URL of a file, whatever characters its path has.
exports.urlOf = (file) => pathToFileURL(file).href;

// How many times as long as on an idle core of 3 GHz work takes here and now: what limits of time are multiplied by.
exports.slowness = () => {
  const times = Array.from({ length: 9 }, () => {
    const began = performance.now();
    let sum = 0;
    for (let i = 1; i < 1e7; ++i) sum += i % 7 / i;
    assert.ok(sum > 0);
    return performance.now() - began;
  });
  return Math.max(1, times.sort((a, b) => a - b)[4] / 13);
};

// Of rows that are all alike, which axe-core checks one by one, and takes most of its time for.
const REPEATED = 'tbody tr:nth-child(n + 9):not([aria-selected=true]):not([class])';

// Fails on anything that axe-core finds in the page as it stands: names, roles, focus, contrast. `whole`: in every
// row of its tables; otherwise in the first eight and in marked ones. `contrast`: false where contrast.js measures
// it, for it is two fifths of axe-core's time.
exports.checkAccessible = async (page, where, { whole = false, contrast = true } = {}) => {
  if (!await page.evaluate(() => 'axe' in window)) {
    await page.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  }
  const { violations } = await page.evaluate(([exclude, enabled]) =>
    window.axe.run({ include: [['html']], exclude },
      { resultTypes: ['violations'], preload: false, rules: { 'color-contrast': { enabled } } }),
  [whole ? [] : [[REPEATED]], contrast]);
  const found = violations.map(({ id, impact, nodes }) =>
    [id, impact, ...nodes.slice(0, 3).map(({ target }) => target.join(' '))]);
  assert.deepEqual(found, [], `${where}: ${JSON.stringify(found)}`);
};

// A list that fills with what the page must not do: write to the console, throw, ask for a URL that
// is not allowed, open a dialog.
exports.watch = (page, allowed) => {
  const wrong = [];
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    if (!allowed(request.url())) wrong.push(`request: ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return wrong;
};

// The "?" of a tab: opened by keyboard it says what is good and bad, inside the window, and closes.
exports.checkHelp = async (page, name, width) => {
  const help = page.locator(`[data-help=${name}]`);
  await help.locator('summary').focus();
  await page.keyboard.press('Enter');
  const box = await help.locator('> div').boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= width, `${name}: help from ${box.x}, ${box.width} wide`);
  assert.match(await help.locator('> div').textContent(), /Good: .*Bad: .*In the course: chapter \d+, /s);
  await page.keyboard.press('Enter');
  assert.ok(!await help.locator('> div').isVisible());
};

// Until f() is true in the page. Not waitForFunction, which evaluates a string where it must wait: the page's
// content security policy forbids that.
exports.until = async (page, f, argument) => {
  for (let tries = 0; !await page.evaluate(f, argument); ++tries) {
    assert.ok(tries < 600, `never true: ${f}`);
    await page.waitForTimeout(50);
  }
};
