// The pages by keyboard only: Tab reaches every control and shows the focus, and a key does what a
// click does. Run by run_pages.js.
const assert = require('node:assert');
const path = require('node:path');

const { until, urlOf, watch } = require('./browser.js');
const { pages } = require('./page_settings.js');

// Presses Tab, or Shift+Tab, until the element has a visible focus.
async function tabTo(page, selector, key = 'Tab') {
  for (let tries = 0; !await page.evaluate((wanted) =>
    document.activeElement.matches(wanted), selector); ++tries) {
    assert.ok(tries < 400, `${selector} is not reached by ${key}`);
    await page.keyboard.press(key);
  }
  const seen = await page.evaluate(() => {
    const style = getComputedStyle(document.activeElement);
    const label = document.activeElement.labels?.[0];
    return style.outlineStyle !== 'none' || (label && getComputedStyle(label).outlineStyle !== 'none');
  });
  assert.ok(seen, `${selector}: its focus is not seen`);
}

async function press(page, selector, ...keys) {
  await tabTo(page, selector);
  for (const key of keys) await page.keyboard.press(key);
}

// Goes to a group with one tab stop, and on by arrow keys.
async function arrowTo(page, group, wanted) {
  await tabTo(page, group);
  await page.keyboard.press('Home');
  for (let tries = 0; !await page.evaluate((at) => document.activeElement.matches(at), wanted); ++tries) {
    assert.ok(tries < 100, `${wanted} is not reached by arrow keys`);
    await page.keyboard.press('ArrowDown');
  }
}

const text = (page, selector) => page.textContent(selector);
const readout = (page, name) => text(page, `[data-readout=${name}]`);

// f() changes the contents of `selector`.
async function changes(page, selector, f) {
  const before = await text(page, selector);
  await f();
  assert.notEqual(await text(page, selector), before, `${selector} stays as it was`);
}

async function openTab(page, name) {
  await tabTo(page, '[role=tab]', 'Shift+Tab');
  await page.keyboard.press('Home');
  for (let tries = 0; await page.evaluate(() => document.activeElement.id) !== `tab-${name}`; ++tries) {
    assert.ok(tries < 12, `the tab ${name} is not reached by arrow keys`);
    await page.keyboard.press('ArrowRight');
  }
  assert.ok(await page.isVisible(`#panel-${name}`));
  await press(page, `[data-help=${name}] summary`, 'Enter');
  assert.ok(await page.isVisible(`[data-help=${name}] > div`));
  await page.keyboard.press('Enter');
}

async function picture(page) {
  await tabTo(page, '[data-view=picture]');
  await changes(page, '[data-view=card]', () => page.keyboard.press('ArrowUp'));
  await changes(page, '[data-view=card]', () => page.keyboard.press('Home'));
  await arrowTo(page, '[data-view=picture] [data-head]', '[data-head="0 1"]');
  await page.keyboard.press('Enter');
  assert.equal(await page.getAttribute('[data-head="0 1"]', 'aria-pressed'), 'true');
  await press(page, '[data-control=way-back]', 'Enter');
  assert.ok(await page.locator('.ribbon.back').count() > 0);
}

async function predictions(page) {
  await tabTo(page, '[data-place]');
  await changes(page, '[data-view=prediction]', () => page.keyboard.press('ArrowRight'));
  await press(page, '[aria-label="Predictions by layer"]', 'ArrowDown');
}

async function attention(page) {
  await tabTo(page, '[data-map]');
  await changes(page, '[data-title=head]', () => page.keyboard.press('ArrowRight'));
  await tabTo(page, '[data-view=lines]');
  await changes(page, '[data-view=chain]', () => page.keyboard.press('ArrowUp'));
  await tabTo(page, '[data-switch=Heat-map]', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await tabTo(page, '[data-view=map]');
  await changes(page, '[data-readout=map]', () => page.keyboard.press('ArrowLeft'));
  await press(page, '[data-control=zoom]', 'End');
  await until(page, () => document.querySelector('[data-view=map]').dataset.cell === '48');
  await press(page, 'input[aria-label=Query]', 'Control+A', '3', 'Enter');
  assert.match(await readout(page, 'map'), /^query 3 /);
}

async function token(page) {
  await tabTo(page, '[data-token]');
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  const places = await page.locator('[data-token]').count();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.token), String(places - 2));
  await press(page, '[data-control=play]', 'Enter');
  await until(page, () => !/^Stage 1 /.test(document.querySelector('[data-readout=stage]').textContent));
  await page.keyboard.press('Enter');
  assert.match(await text(page, '[data-control=play]'), /Play/);
  const goes = (f) => changes(page, '[data-readout=stage]', f);
  await goes(() => press(page, '[data-control=stage-back]', 'Enter'));
  await goes(() => press(page, '[data-control=stage]', 'ArrowRight'));
  await goes(() => press(page, '[data-control=stage-next]', 'Enter'));
  await tabTo(page, '[data-stage]');
  await page.keyboard.press('Home');
  for (let tries = 0; await page.locator('.way-stage.attention[aria-selected=true]').count() === 0; ++tries) {
    assert.ok(tries < 20, 'no attention on the way');
    await page.keyboard.press('ArrowDown');
  }
  await changes(page, '[data-view=stage] [data-table=terms] tbody', () => press(page, '[data-head="1"]', 'Enter'));
  await changes(page, '[data-view=stage] [data-table=terms] tbody', async () => {
    await arrowTo(page, '[data-d] button', '[data-d="2"] button');
    await page.keyboard.press('Enter');
  });
}

async function tape(page) {
  await tabTo(page, '[data-control=walk]');
  await changes(page, '[data-readout=walk]', () => page.keyboard.press('ArrowRight'));
  await changes(page, '[data-readout=walk]', () => press(page, '[data-control=next]', 'Enter'));
  const nodes = () => page.locator('[data-node]').count();
  const folded = await nodes();
  await arrowTo(page, '[data-node]', '[data-node="blocks.0"]');
  await page.keyboard.press('Enter');
  assert.ok(await nodes() > folded);
  await press(page, '[data-close]', 'Enter');
  assert.equal(await nodes(), folded);
  await tabTo(page, '[data-zoom=in]', 'Shift+Tab');
  const wide = () => page.$eval('.graph svg', (svg) => svg.getBoundingClientRect().width);
  const before = await wide();
  await page.keyboard.press(' ');
  assert.ok(await wide() > before);
  await press(page, '[data-zoom=fit]', 'Enter');
  await press(page, '[data-control=filter]', 'n', 'o', 'r', 'm');
  const shown = await page.locator('[data-table=entries] tbody tr:visible').count();
  assert.ok(shown > 0 && shown < await page.locator('[data-table=entries] tbody tr').count());
  await changes(page, '[data-table=entries] tbody', () => press(page, '[data-table=entries] th:nth-child(7) button', 'Enter'));
  await changes(page, '[data-view=entry]', () => press(page, '[data-table=entries] tbody button', 'Enter'));
}

async function memory(page) {
  await tabTo(page, '[data-control=time]');
  await changes(page, '[data-readout=time]', () => page.keyboard.press('PageDown'));
  await changes(page, '[data-readout=time]', () => press(page, '[data-control=peak]', 'Enter'));
  await changes(page, '[data-table=holders] tbody', () => press(page, '[data-table=holders] th:nth-child(5) button', 'Enter'));
  await tabTo(page, '[data-view=lives]');
  await changes(page, '[data-readout=block]', () => page.keyboard.press('End'));
  await changes(page, '[data-readout=place]', async () => {
    await arrowTo(page, '[data-table=reuse] tbody button', '[data-table=reuse] tbody tr:nth-child(4) button');
    await page.keyboard.press('Enter');
  });
}

async function gradients(page) {
  await press(page, '[data-control=parameters]', 'n', 'o', 'r', 'm');
  const shown = await page.locator('[data-parameter]:visible').count();
  assert.ok(shown > 0 && shown < await page.locator('[data-parameter]').count());
  await press(page, '[data-table=parameters] th:nth-child(6) button', ' ');
  assert.equal(await page.getAttribute('[data-table=parameters] th:nth-child(6)', 'aria-sort'), 'descending');
}

async function image(page) {
  await tabTo(page, '[data-view=image]');
  await changes(page, '[data-readout=image]', () => page.keyboard.press('ArrowDown'));
  await changes(page, '[data-readout=image]', () => press(page, '[data-control=class-token]', 'Enter'));
}

// ---- a report -----------------------------------------------------------------------------------

async function curves(page) {
  await press(page, '[data-control=smoothing]', 'PageUp');
  assert.ok(Number(await page.inputValue('[data-control=smoothing]')) > 0);
  for (const box of ['log', 'training', 'validation']) {
    const before = await page.isChecked(`[data-control=${box}]`);
    await press(page, `[data-control=${box}]`, ' ');
    assert.equal(await page.isChecked(`[data-control=${box}]`), !before);
    await page.keyboard.press(' ');
  }
  await tabTo(page, '[data-control=other-runs]');
  await tabTo(page, '[data-chart=loss]');
  await changes(page, '[data-readout=loss]', () => page.keyboard.press('Home'));
  await tabTo(page, '[data-control=to]', 'Shift+Tab');
  await page.keyboard.type('100');
  await page.keyboard.press('Enter');
  await tabTo(page, '[data-chart=loss]');
  await page.keyboard.press('End');
  assert.match(await readout(page, 'loss'), /^step 100:/);
  await tabTo(page, '[data-control=all-steps]', 'Shift+Tab');
  await page.keyboard.press('Enter');
  assert.equal(await page.inputValue('[data-control=to]'), '');
}

async function sentence(page) {
  await press(page, '[data-control=play-looks]', 'Enter');
  await until(page, () => /Play/.test(document.querySelector('[data-control=play-looks]').textContent));
  await tabTo(page, '[data-control=look]');
  await changes(page, '[data-readout=look]', () => page.keyboard.press('Home'));
  await changes(page, '[data-title=look-head]', async () => {
    await arrowTo(page, '[data-look]', '[data-look="0 1"]');
    await page.keyboard.press('Enter');
  });
}

async function flow(page) {
  await tabTo(page, '[data-control=evaluation]');
  await page.keyboard.press('End'); // whatever the address had
  await changes(page, '[data-readout=evaluation]', () => page.keyboard.press('Home'));
  await press(page, '[data-control=parameters]', 'n', 'o', 'r', 'm');
  assert.equal(await page.locator('[data-parameter]:visible').count(), 1);
}

async function run(page) {
  await tabTo(page, '[data-control=scrubber]');
  await changes(page, '[data-readout=picture]', () => page.keyboard.press('Home'));
  await press(page, '[data-control=play-picture]', 'Enter');
  await until(page, () => /^After step 300/.test(document.querySelector('[data-readout=picture]').textContent));
}

const nothing = async () => {};
const PAGES = {
  gpt: { picture, predictions, attention, token, tape, memory, gradients },
  vision: { attention: image },
  report_running: { picture: run, curves, samples: nothing, sentence, flow, processes: nothing, recipe: nothing },
};

async function checkKeys(browser, name, tabs) {
  const file = path.join(pages, `${name}.html`);
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const wrong = watch(page, (url) => url.replace(/\?follow=\d+$/, '') === urlOf(file));
  await page.goto(urlOf(file));
  await page.keyboard.press('Tab');
  for (const [tab, use] of Object.entries(tabs)) {
    await openTab(page, tab);
    await use(page);
  }
  assert.deepEqual(wrong, []);
  await page.close();
}

exports.jobs = Object.entries(PAGES).map(([name, tabs]) => [name, (browser) => checkKeys(browser, name, tabs)]);
