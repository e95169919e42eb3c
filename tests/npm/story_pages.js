// The tour of the pages of tests/pages: every card opens the state that it speaks of, Back and reload keep
// it, and large text is larger. A page that is shown anew, as Back does, keeps nothing of the one before.
// Run by run_pages.js.
const assert = require('node:assert');
const path = require('node:path');

const { checkAccessible, until, urlOf, watch } = require('./browser.js');
const { pages } = require('./page_settings.js');

const titleOf = (page) => page.textContent('[data-view=story] h2');
const openTabOf = (page) => page.$eval('[role=tab][aria-selected=true]', (each) => each.dataset.tab);

// Goes through all cards by keyboard; returns the tabs that they opened.
async function tour(page, name) {
  await page.focus('[data-control=story]');
  await page.keyboard.press('Enter');
  const [, count] = /^1 of (\d+): /.exec(await titleOf(page)) ?? assert.fail(await titleOf(page));
  assert.ok(Number(count) >= 11, `${name}: ${count} cards`);
  const tabs = [];
  for (let i = 1; i <= Number(count); ++i) {
    assert.match(await titleOf(page), new RegExp(`^${i} of ${count}: [A-Z]`));
    assert.match(await page.textContent('[data-view=story]'), /In the course: chapter \d+, .*docs\/course\/\d+/);
    tabs.push(await openTabOf(page));
    if (i < Number(count)) await page.keyboard.press('Enter'); // the focus is on "Next"
  }
  assert.ok(await page.isDisabled('[data-control=story-next]'));
  return tabs;
}

async function checkTour(browser, name) {
  const file = path.join(pages, `${name}.html`);
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const wrong = watch(page, (url) => url.replace(/\?follow=\d+$/, '') === urlOf(file));
  await page.goto(urlOf(file));
  const tabs = await tour(page, name);
  assert.ok(new Set(tabs).size >= 5, `${name}: the tour sees ${tabs}`);
  const [last, before] = [await titleOf(page), tabs[tabs.length - 2]];
  await page.reload();
  assert.equal(await titleOf(page), last);
  assert.equal(await openTabOf(page), tabs[tabs.length - 1]);
  await page.goBack();
  await until(page, (title) => document.querySelector('[data-view=story] h2').textContent !== title, last);
  assert.equal(await openTabOf(page), before);
  await checkAccessible(page, `${name}, the tour`);
  const size = () => page.$eval('h1', (each) => parseFloat(getComputedStyle(each).fontSize));
  const usual = await size();
  await page.click('[data-control=projector]');
  assert.ok(await size() > 1.4 * usual);
  await until(page, () => window.location.hash.includes('projector=1'));
  await page.reload();
  assert.ok(await size() > 1.4 * usual, 'a reload makes the text small');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 1280, `${name}: ${wide} pixels wide`);
  await page.focus('[data-control=story-back]');
  await page.keyboard.press('Escape');
  assert.ok(await page.isHidden('[data-view=story]'));
  assert.equal(await page.evaluate(() => document.activeElement.dataset.control), 'story');
  assert.deepEqual(wrong, []);
  await page.close();
}

// A link's way back is drawn; on the way forward of the same link it is not.
async function checkLinks(browser) {
  const page = await browser.newPage({});
  await page.goto(`${urlOf(path.join(pages, 'gpt.html'))}#tab=picture&layer=1&head=2&token=14&back=1`);
  assert.equal(await page.getAttribute('[data-head="1 2"]', 'aria-pressed'), 'true');
  assert.ok(await page.locator('.ribbon.back').count() > 0);
  await page.goto(`${urlOf(path.join(pages, 'report_finished.html'))}#step=600`);
  assert.match(await page.textContent('[data-readout=picture]'), /^After step 600: /);
  await page.close();
}

// Listeners on the colour scheme do not add up, and a change of colours reaches what is shown.
async function checkListeners(browser) {
  const page = await browser.newPage({});
  await page.addInitScript(() => {
    window.added = 0;
    const add = MediaQueryList.prototype.addEventListener;
    MediaQueryList.prototype.addEventListener = function counted(...all) {
      window.added += 1;
      return add.apply(this, all);
    };
  });
  await page.goto(`${urlOf(path.join(pages, 'gpt.html'))}#tab=attention`);
  const added = () => page.evaluate(() => window.added);
  const first = await added();
  assert.ok(first > 0);
  for (const tab of ['memory', 'token', 'attention']) await page.click(`#tab-${tab}`);
  for (let i = 0; i < 3; ++i) await page.goBack();
  await until(page, () => document.querySelector('#tab-attention').getAttribute('aria-selected') === 'true');
  assert.equal(await added(), first, 'listeners of tabs that are gone');
  await until(page, () => document.documentElement.dataset.maps === 'drawn');
  const pixels = () => page.$eval('[data-map] canvas', (canvas) =>
    Array.from(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.slice(0, 4000)).join());
  const light = await pixels();
  await page.emulateMedia({ colorScheme: 'dark' });
  for (let tries = 0; await pixels() === light; ++tries) {
    assert.ok(tries < 100, 'the maps keep the colours of before');
    await page.waitForTimeout(50);
  }
  await page.close();
}

exports.jobs = [
  ...['gpt', 'report_running'].map((name) => [`the tour of ${name}`, (browser) => checkTour(browser, name)]),
  ['links', checkLinks],
  ['listeners', checkListeners],
];
