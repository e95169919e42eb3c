// Pages with HTML in their strings (tests/pages/hostile.cpp), in a browser: opens every tab; the
// strings must remain text and create no element, attribute, request or dialog. Run by run_pages.js.
const assert = require('node:assert');
const path = require('node:path');

const { urlOf, watch } = require('./browser.js');
const { pages } = require('./page_settings.js');

const TEXT = '</script><script>alert(1)</script><img src=x onerror=alert(1)><!--"\'&\u2028<b>';

// Elements, by name, and attributes that could load or run something.
const dangers = () => [...document.querySelectorAll('*')].flatMap((element) => [
  ...(/^(script|style|img|iframe|object|embed|link|base|form|meta|a)$/i.test(element.tagName)
    ? [element.tagName] : []),
  ...[...element.attributes].map(({ name }) => name).filter((name) => /^(on.*|href|src|srcdoc|style)$/.test(name)
    && !(name === 'style' && element.style.length > 0)),
]).sort();

// Uses every tab, and in it every button and table row, once.
async function useAll(page) {
  for (const tab of await page.locator('[role=tab]').all()) {
    await tab.click();
    await page.evaluate(async () => {
      const buttons = () => [...document.querySelectorAll('[role=tabpanel]:not([hidden]) button')]
        .filter((button) => button.checkVisibility());
      for (let i = 0; i < Math.min(40, buttons().length); ++i) {
        buttons()[i].click();
        await new Promise(requestAnimationFrame);
      }
    });
    await page.waitForTimeout(100);
  }
}

async function checkHostile(browser, name, tabs) {
  const file = path.join(pages, `${name}.html`);
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const wrong = watch(page, (url) => url === urlOf(file));
  await page.goto(urlOf(file));
  assert.equal(await page.textContent('h1'), TEXT);
  assert.equal(await page.title(), `${TEXT} \u2013 Tapestry`);
  assert.equal(await page.locator('[role=tab]').count(), tabs);
  const before = await page.evaluate(dangers);
  await useAll(page);
  assert.deepEqual(await page.evaluate(dangers), before);
  // Those of the file itself: policy and two more, style, the data, the script.
  assert.deepEqual(before, ['META', 'META', 'META', 'META', 'SCRIPT', 'SCRIPT', 'STYLE']);
  assert.deepEqual(wrong, []);
  await page.close();
}

exports.jobs = [['hostile', 7], ['hostile_report', 6]].map(([name, tabs]) => [name, (browser) => checkHostile(browser, name, tabs)]);
