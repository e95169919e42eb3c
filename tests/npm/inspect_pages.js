// The pages from tests/pages in a browser: opens every tab and uses its controls; compares texts,
// shapes and numbers; expects no error on the console and no request.
//
// The page "gpt" at two widths, its numbers at the first; the others at one, with axe-core only for
// features that "gpt" lacks. `all` (`.ci/long pages`): more pages at two widths, more weights
// compared, axe-core on every tab and row. Run by run_pages.js.
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const { checkAccessible, checkHelp, slowness, until, urlOf, watch } = require('./browser.js');
const { all, pages, screenshots } = require('./page_settings.js');
const { readTensors, trainingStep } = require('./plain_gpt.js');

const tabs = { ...require('./picture_tab.js'), ...require('./predictions_tab.js'), ...require('./attention_tab.js'), ...require('./token_tab.js'),
  ...require('./inspect_tabs.js') };

const MODELS = ['gpt', 'encoder_decoder', 'masked', 'vision', 'dead', 'finding', 'large', 'long'];
const THOROUGHLY = all ? ['gpt', 'encoder_decoder', 'large'] : ['gpt']; // at both widths
// Together they cover everything on the pages: the tabs of "gpt", and the alternatives on other
// pages.
const ALL_TABS = Object.keys(tabs);
const ACCESSIBLE = { gpt: ALL_TABS, masked: all ? ALL_TABS : ['predictions'], dead: all ? ALL_TABS : ['gradients'],
  finding: all ? ALL_TABS : ['predictions', 'tape', 'gradients'] };

const linesOf = (name) => fs.readFileSync(path.join(pages, name), 'utf8').trim().split('\n')
  .map((line) => line.split(' '));

// An independent pass through the model's weights, if they are next to the page.
function knownOf(model) {
  const file = path.join(pages, `${model}.step.json`);
  if (!fs.existsSync(file)) return null;
  const step = JSON.parse(fs.readFileSync(file, 'utf8'));
  const weights = readTensors(path.join(pages, `${model}.safetensors`));
  return { step, weights, plain: trainingStep(weights, step) };
}

// Opens the page; returns the milliseconds it takes. More than 2 s is an error, unless the machine
// is slow or busy.
async function openPage(page, file) {
  let fastest = Infinity;
  let most = 2000;
  for (let tries = 0; fastest > most && tries < 10; ++tries) {
    const began = Date.now();
    await page.goto(urlOf(file));
    fastest = Math.min(fastest, Date.now() - began);
    if (fastest > most) most = Math.max(most, 2000 * slowness());
  }
  assert.ok(fastest <= most, `${file} took ${fastest} ms to open, not ${most}`);
  return fastest;
}

async function checkPage(browser, file, width, scheme) {
  const open = path.basename(file) === 'long.html' ? browser.coldPage : browser.newPage;
  const page = await open({ viewport: { width, height: 900 }, colorScheme: scheme });
  const wrong = watch(page, (url) => url === urlOf(file));
  const opened = await openPage(page, file);
  const model = path.basename(file, '.html');
  const weights = linesOf(`${model}.txt`);
  const expected = linesOf(`${model}.predictions.txt`)
    .map(([layer, ...numbers]) => [layer, ...numbers.map(Number)]);
  const known = all || width === 390 ? knownOf(model) : null;
  const weightsToTry = all || (model === 'gpt' && width === 390) ? 12 : 3;
  for (const [name, check] of Object.entries(tabs)) {
    if (name === 'picture' && await page.locator('#tab-picture').count() === 0) continue; // queries and keys fill the page
    await page.click(`#tab-${name}`);
    assert.equal(await page.getAttribute(`#tab-${name}`, 'aria-selected'), 'true');
    if (model === 'gpt') await checkHelp(page, name, width);
    await check(page, { model, weights, weightsToTry, expected, known, width, all });
    if ((all || width === 390) && ACCESSIBLE[model]?.includes(name)) {
      await checkAccessible(page, `${model}, ${name}`, { whole: Boolean(all), contrast: Boolean(all) });
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${name}: the page is ${wide} pixels wide, the window ${width}`);
    if (screenshots) {
      const shot = `${path.basename(file, '.html')}_${name}_${width}_${scheme}.png`;
      await page.screenshot({ path: path.join(screenshots, shot), fullPage: true });
    }
  }
  await checkTabKeys(page);
  assert.deepEqual(wrong, []);
  await page.close();
  return opened;
}

// A page of 144 heads at 512 tokens: its size, the time until something is visible, that heads are
// decoded on demand, and how quickly lines follow the pointer.
async function checkManyHeads(browser, file) {
  const size = fs.statSync(file).size;
  assert.ok(size <= 20e6, `${size} bytes`);
  let paint = Infinity;
  let most = 1500;
  for (let tries = 0; paint > most && tries < 5; ++tries) { // a busy machine may be the cause
    const page = await browser.coldPage({ viewport: { width: 1280, height: 900 } });
    const wrong = watch(page, (url) => url === urlOf(file));
    await page.goto(urlOf(file));
    await page.waitForSelector('.ribbon');
    await until(page, () => performance.getEntriesByName('first-contentful-paint').length > 0);
    paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
    if (paint > most) most = Math.max(most, 1500 * slowness());
    if (paint <= most || tries === 4) await checkHover(page);
    assert.deepEqual(wrong, []);
    await page.close();
  }
  console.log(`${path.basename(file)}: ${size} bytes, something to be seen after ${Math.round(paint)} ms`);
  assert.ok(paint <= most, `first paint after ${paint} ms, not ${most}`);
}

// The time from a pointer movement, as the browser received it, until the frame that shows it: a
// message sent in the frame's callback arrives when the frame is done. Measured for lines and heat
// map while the 144 small maps are still being computed. The smallest median of several sweeps,
// because a busy machine may cause the others.
async function checkHover(page) {
  await page.click('#tab-attention');
  await page.click('[data-map="blocks.1.attention 3"]');
  await page.evaluate(() => {
    window.times = [];
    const { port1, port2 } = new MessageChannel();
    let moved = null;
    port1.onmessage = () => {
      window.times.push(performance.now() - moved);
      moved = null;
    };
    window.addEventListener('pointermove', (event) => {
      if (moved !== null) return;
      moved = event.timeStamp;
      requestAnimationFrame(() => port2.postMessage(null));
    }, true);
  });
  for (const [view, name] of [['lines', 'Lines'], ['map', 'Heat-map']]) {
    await page.click(`[data-switch=${name}]`);
    const { x, y, width } = await page.locator(`[data-view=${view}]`).boundingBox();
    let least = Infinity;
    let slow = 1;
    for (let sweep = 0; least > 12 * slow && sweep < 8; ++sweep) {
      await page.evaluate(() => { window.times = []; });
      for (let i = 0; i < 24; ++i) {
        const across = view === 'map' ? 100 + 12 * i : i % 8 < 4 ? 40 : width - 40;
        await page.mouse.move(x + across, y + 90 + 20 * (5 * i % 22));
        await page.waitForTimeout(20);
      }
      const times = await page.evaluate(() => window.times.sort((a, b) => a - b));
      least = Math.min(least, times[Math.floor(times.length / 2)]);
      if (least > 12) slow = Math.max(slow, slowness());
    }
    const maps = await page.evaluate(() => document.documentElement.dataset.maps);
    if (view === 'lines' && least <= 16) assert.equal(maps, undefined, 'the maps were there already');
    console.log(`  144 heads, ${name}: what is pointed at is shown after ${least.toFixed(1)} ms (median)`);
    assert.ok(least <= 16 * slow, `${name}: ${least} ms, not ${16 * slow}`);
  }
}

// Left, right, home and end move between tabs.
async function checkTabKeys(page) {
  const names = Object.keys(tabs);
  await page.focus('[role=tab][aria-selected=true]');
  const expectSelected = async (name) =>
    assert.equal(await page.evaluate(() => document.activeElement.dataset.tab), name);
  await page.keyboard.press('Home');
  await expectSelected(names[0]);
  if (names.length > 1) {
    await page.keyboard.press('ArrowRight');
    await expectSelected(names[1]);
  }
  await page.keyboard.press('End');
  await expectSelected(names[names.length - 1]);
}

async function checkModel(browser, model, width, scheme) {
  const file = path.join(pages, `${model}.html`);
  const opened = await checkPage(browser, file, width, scheme);
  console.log(`${path.basename(file)} at ${width}: ${fs.statSync(file).size} bytes, opened in ${opened} ms`);
}

// The longest first.
exports.jobs = [
  ...MODELS.flatMap((model) => [
    [`${model} at 390`, (browser) => checkModel(browser, model, 390, 'dark')], // where space is limited
    ...(THOROUGHLY.includes(model) ? [[`${model} at 1280`, (browser) => checkModel(browser, model, 1280, 'light')]] : []),
  ]),
  ['many heads', (browser) => checkManyHeads(browser, path.join(pages, 'heads.html'))],
  ['size', async () => assert.ok(fs.statSync(path.join(pages, 'large.html')).size < 6.5e6)],
];
