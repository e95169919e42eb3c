// Shared by the tests of pages.
const assert = require('node:assert');
const fs = require('node:fs');
const { pathToFileURL } = require('node:url');
const { chromium } = require('playwright-core');

// TAPESTRY_PAGE_SCALE is the device scale factor of pages (1).
const deviceScaleFactor = Number(process.env.TAPESTRY_PAGE_SCALE || 1);

// Playwright's own limits are 30 s, which a slow or busy machine needs to start a browser or to open a page.
const timeout = 120000;
const patient = (of) => {
  of.setDefaultTimeout(timeout);
  return of;
};

exports.launchBrowser = (program) =>
  chromium.launch({ executablePath: program, args: ['--no-sandbox', '--process-per-site'], timeout });

// What checks use one after another. Pages of newPage() share a process (--process-per-site), which one more
// page keeps alive: opening one takes half the time, because the scripts are compiled already. coldPage() opens
// one in a process of its own, as a reader does.
exports.newLane = async (browser) => {
  const context = patient(await browser.newContext({ deviceScaleFactor }));
  await (await context.newPage()).goto(exports.urlOf(__filename)); // a file, like the pages
  return {
    newPage: async ({ viewport = { width: 1280, height: 720 }, colorScheme = 'light' } = {}) => {
      const page = await context.newPage();
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      return page;
    },
    coldPage: async (options) => patient(await browser.newPage({ deviceScaleFactor, ...options })),
    newContext: async (options) => patient(await browser.newContext(options)),
    close: () => context.close(),
  };
};

// A lane with a browser of its own.
exports.launch = async (program) => {
  const browser = await exports.launchBrowser(program);
  return { ...await exports.newLane(browser), close: () => browser.close() };
};

// The URL of a file, for any characters in its path.
exports.urlOf = (file) => pathToFileURL(file).href;

// How many times longer work takes here and now than on an idle 3 GHz core: time limits are
// multiplied by it.
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

// Rows that are all alike; axe-core checks each one, which takes most of its time.
const REPEATED = 'tbody tr:nth-child(n + 9):not([aria-selected=true]):not([class])';

// Fails on any axe-core finding in the current page: names, roles, focus, contrast. `whole`: in
// every row of its tables; otherwise in the first eight and in marked ones. `contrast`: false if
// contrast.js measures it, because it takes 40% of axe-core's time.
exports.checkAccessible = async (page, where, { whole = false, contrast = true } = {}) => {
  if (!await page.evaluate(() => 'axe' in window)) {
    await page.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  }
  const { violations } = await page.evaluate(([exclude, enabled]) =>
    window.axe.run({ include: [['html']], exclude },
      { resultTypes: ['violations'], preload: false, iframes: false, rules: { 'color-contrast': { enabled } } }),
  [whole ? [] : [[REPEATED]], contrast]);
  const found = violations.map(({ id, impact, nodes }) =>
    [id, impact, ...nodes.slice(0, 3).map(({ target }) => target.join(' '))]);
  assert.deepEqual(found, [], `${where}: ${JSON.stringify(found)}`);
};

// A list of everything forbidden that the page does: writing to the console, throwing, requesting a
// URL that is not allowed, opening a dialog.
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

// The "?" of a tab: opened by keyboard it explains what is good and bad, inside the window, and
// closes.
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

// Waits until f() is true in the page. Not waitForFunction, which evaluates a string when it must
// wait: the page's content security policy forbids that.
exports.until = async (page, f, argument) => {
  for (let tries = 0; !await page.evaluate(f, argument); ++tries) {
    assert.ok(tries < 6000, `never true: ${f}`);
    await page.waitForTimeout(50);
  }
};
