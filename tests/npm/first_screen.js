// The first screen of the pages of tests/pages, at 1280 x 720 and on a telephone: the diagnosis, the card, the
// picture and its track are on it, and it opens on the most telling head. Then what readers need of every page:
// each figure and table as a file, paper, forced colours, fingers, the back row.
// Run by run_pages.js.
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const { until, urlOf, watch } = require('./browser.js');
const { pages, screenshots } = require('./page_settings.js');

const SCREENS = [[1280, 720, 'light'], [390, 844, 'dark']];
// By figure, the files that have it.
const FILES = { '.step-picture': ['picture.csv', 'picture.svg'], '[data-view=lines], [data-view=map]': ['head.csv', 'head.svg'],
  '#panel-memory [data-view=chart]': ['memory.csv', 'memory.svg'], '[data-view=lives]': ['blocks.csv', 'blocks.svg'],
  '[data-view=plan]': ['plan.csv', 'plan.svg'], '.graph': ['entries.csv', 'tape.svg'],
  '#panel-sentence [data-view=map]': ['sentence_head.csv', 'sentence_head.svg'],
  ...Object.fromEntries(['loss', 'lr', 'norm', 'speed'].map((name) => [`[data-chart=${name}]`, [`${name}.csv`, `${name}.svg`]])) };

async function opened(browser, name, { width = 1280, height = 720, scheme = 'light', hash = '' } = {}) {
  const file = path.join(pages, `${name}.html`);
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
  const wrong = watch(page, (url) => url.replace(/[#?].*$/, '') === urlOf(file));
  await page.goto(urlOf(file) + hash);
  return { page, close: async () => {
    assert.deepEqual(wrong, [], `${name}: ${wrong.join('; ')}`);
    await page.close();
  } };
}

const bottomOf = (page, selector) => page.$eval(selector, (each) => each.getBoundingClientRect().bottom);

// What must end within the first screen, by page.
const ON_IT = {
  gpt: ['[data-view=headline]', '[data-readout=way-back]', '[data-view=card]', '[data-view=picture]'],
  fast: ['[data-view=card]', '[data-view=picture]'],
  long: ['[data-view=card]', '[data-view=picture]'], // 512 tokens
  report_running: ['[data-view=headline]', '[data-readout=way-back]', '[data-view=card]', '[data-view=picture]', '[data-control=scrubber]'],
  report_ruined: ['[data-view=headline]', '[data-view=headline] code'],
};

async function checkFirstScreens(browser) {
  for (const [name, parts] of Object.entries(ON_IT)) {
    for (const [width, height, scheme] of SCREENS) {
      const { page, close } = await opened(browser, name, { width, height, scheme });
      for (const part of parts) {
        if (!await page.isVisible(part)) continue; // a headline says nothing where the rules do not
        const bottom = await bottomOf(page, part);
        assert.ok(bottom <= height, `${name} at ${width} x ${height}: ${part} ends at ${bottom}`);
      }
      if (screenshots) await page.screenshot({ path: path.join(screenshots, `first_${name}_${width}_${scheme}.png`) });
      await close();
    }
  }
}

// A taller window has a taller picture; rows stay readable.
async function checkRoom(browser) {
  const { page, close } = await opened(browser, 'long', { height: 700 });
  const rows = () => page.locator('.step-picture .name').count();
  const few = await rows();
  await page.setViewportSize({ width: 1280, height: 1000 });
  await until(page, (before) => document.querySelectorAll('.step-picture .name').length > before, few);
  assert.ok(await rows() <= 32);
  assert.ok(await bottomOf(page, '[data-view=picture]') <= 1000);
  await close();
}

// The head whose attention is furthest from uniform; a token that reads another.
async function checkOpening(browser) {
  const { page, close } = await opened(browser, 'gpt');
  const data = await page.$eval('#data', (element) => JSON.parse(element.textContent));
  const all = data.attention.flatMap(({ entropy }, layer) => entropy.map((nats, head) => ({ layer, head, nats })));
  const { layer, head } = all.reduce((a, b) => (b.nats < a.nats ? b : a));
  assert.equal(await page.getAttribute('.step-heads [aria-pressed=true]', 'data-head'), `${layer} ${head}`);
  assert.ok(await page.locator('.reading').count() > 0, 'the token reads nothing');
  assert.doesNotMatch(await page.textContent('body'), /cmake\//);
  await close();
  const report = await opened(browser, 'report_running');
  assert.match(await report.page.title(), /^300\/2000, 2\.100: /);
  await report.close();
}

// A row keeps its name while its table is scrolled, and in large text no column's name runs into the next.
async function checkNames(browser) {
  for (const [name, hash, cell] of [['gpt', '#tab=gradients', 'td.of-name'], ['report_running', '#tab=flow', 'td.of-name']]) {
    const { page, close } = await opened(browser, name, { width: 390, hash });
    const [before, after, scrolled] = await page.$eval(`${cell} >> visible=true`, (element) => {
      const scroller = element.closest('.wide, .tall');
      const left = () => element.getBoundingClientRect().left;
      const first = left();
      scroller.scrollLeft = 150;
      return [first, left(), scroller.scrollLeft];
    });
    assert.ok(scrolled > 100 && Math.abs(after - before) < 3, `${name}: a name at ${before}, then at ${after}, scrolled by ${scrolled}`);
    await close();
  }
  for (const width of [390, 1280]) {
    const { page, close } = await opened(browser, 'gpt', { width });
    await page.click('[data-control=projector]');
    const boxes = await page.$$eval('[data-column]', (all) => all.map((each) => each.getBoundingClientRect()).map(({ left, right }) => [left, right]));
    assert.ok(boxes.length > 4);
    boxes.slice(1).forEach(([left], i) => assert.ok(left >= boxes[i][1], `${width}: column ${i + 1} begins at ${left}, that before ends at ${boxes[i][1]}`));
    await close();
  }
}

async function savedFile(page, name) {
  await page.waitForTimeout(110); // Chromium drops the eleventh file of a second
  const [file] = await Promise.all([page.waitForEvent('download'), page.click(`[data-save="${name}"]:visible`)]);
  return fs.readFileSync(await file.path(), 'utf8');
}

// Every table of the open tab as CSV with numbers that a program reads, every figure as SVG that is well formed
// and needs no style sheet. Returns the names of the files.
async function checkFiles(page, where) {
  for (const [figure, names] of Object.entries(FILES)) {
    if (!await page.locator(`${figure} >> visible=true`).count()) continue;
    for (const name of where === 'sentence' && /^head/.test(names[0]) ? [] : names) {
      assert.ok(await page.isVisible(`[data-save="${name}"] >> visible=true`), `${where}: ${figure} is not saved as ${name}`);
    }
  }
  const names = await page.$$eval('[data-save]', (all) => all.filter((each) => each.checkVisibility()).map((each) => each.dataset.save));
  for (const name of names) {
    const text = await savedFile(page, name);
    if (name.endsWith('.csv')) {
      assert.doesNotMatch(text, /[\u2212\u2248\u221e]|\d\u00a0/, `${where}: ${name}`);
      assert.ok(text.split('\r\n').length > 2, `${name}: ${text}`);
      continue;
    }
    const [wrong, shapes, classes] = await page.evaluate((xml) => {
      const parsed = new DOMParser().parseFromString(xml, 'image/svg+xml');
      return ['parsererror', 'path, rect, line', '[class]'].map((each) => parsed.querySelectorAll(each).length);
    }, text);
    assert.deepEqual([wrong, classes, shapes > 2], [0, 0, true], `${where}: ${name}`);
    if (name === 'picture.svg') assert.match(text, /<image [^>]*href="data:image\/png;base64,/, 'without the heads');
  }
  return names;
}

async function checkEveryFigure(browser) {
  const seen = new Set();
  for (const name of ['gpt', 'report_running']) {
    const { page, close } = await opened(browser, name);
    for (const tab of await page.$$eval('[data-tab]', (all) => all.map((each) => each.dataset.tab))) {
      await page.click(`#tab-${tab}`);
      if (tab === 'attention') await until(page, () => document.documentElement.dataset.maps === 'drawn');
      (await checkFiles(page, tab)).forEach((each) => seen.add(each));
    }
    await close();
  }
  for (const each of Object.values(FILES).flat()) assert.ok(seen.has(each), `${each} is nowhere`);
  return seen.size;
}

// Lengths of the picture as CSV: what its card shows.
async function checkPictureFile(browser) {
  const { page, close } = await opened(browser, 'gpt', { hash: '#tab=picture&token=15&column=0' });
  const [heads, ...rows] = (await savedFile(page, 'picture.csv')).trim().split('\r\n');
  assert.match(heads, /^token,length: embedding,"length: layer 0, after attention",.*,p of the right token$/);
  assert.equal(rows.length, 16);
  const [, length] = rows[15].match(/,([\d.e-]+),/);
  const [, shown] = /length ([\d.]+)/.exec(await page.textContent('[data-view=card]'));
  assert.ok(Math.abs(length / shown - 1) < 1e-3, `${length}, not ${shown}`);
  await page.click('[data-control=way-back]');
  assert.match(await savedFile(page, 'picture.csv'), /^token,gradient: embedding,/);
  await close();
}

// On paper: light colours in canvases as well, no controls, nothing wider than the paper.
async function checkPaper(browser) {
  const { page, close } = await opened(browser, 'report_running', { scheme: 'dark', hash: '#tab=curves' });
  const has = (hex) => page.evaluate((wanted) => {
    const canvas = document.querySelector('[data-chart=loss] canvas');
    // From a copy: Chromium writes to the console if the chart's own canvas is read several times.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const rgb = [1, 3, 5].map((i) => parseInt(wanted.slice(i, i + 2), 16));
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250 && rgb.every((x, c) => Math.abs(x - data[i + c]) < 3)) return true;
    return false;
  }, hex);
  const activation = () => page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--activation').trim());
  const dark = await activation();
  assert.ok(await has(dark));
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const light = await activation();
  assert.notEqual(light, dark);
  for (let tries = 0; !await has(light); ++tries) {
    assert.ok(tries < 100, 'charts keep the dark colours on paper');
    await page.waitForTimeout(50);
  }
  for (const hidden of ['[role=tablist]', '.curve-controls', '[data-save]', '[data-control=story]']) {
    assert.equal(await page.locator(`${hidden} >> visible=true`).count(), 0, `${hidden} is on paper`);
  }
  assert.ok(await page.$$eval('canvas', (all) => all.every((each) => getComputedStyle(each).maxWidth === '100%')));
  await close();
}

// What is told apart by colour keeps its colours, or has another mark.
async function checkForcedColours(browser) {
  const { page, close } = await opened(browser, 'gpt', { hash: '#tab=attention' });
  await page.emulateMedia({ forcedColors: 'active' });
  const styles = (selector, name) => page.$$eval(selector, (all, which) => all.map((each) => getComputedStyle(each)[which]), name);
  for (const selector of ['.scale-bar', '.key', '[data-map] canvas']) {
    const all = await styles(selector, 'forcedColorAdjust');
    assert.ok(all.length > 0 && all.every((each) => each === 'none'), `${selector} loses its colours`);
  }
  const [pressed] = await styles('.switch [aria-pressed=true]', 'backgroundColor');
  const [other] = await styles('.switch [aria-pressed=false]', 'backgroundColor');
  assert.notEqual(pressed, other, 'the pressed switch looks like the other');
  const lines = await styles('[role=tab]', 'borderBottomColor');
  assert.equal(new Set(lines).size, 2, 'the open tab is underlined like the others');
  await close();
  const report = await opened(browser, 'report_running');
  await report.page.emulateMedia({ forcedColors: 'active' });
  assert.equal(await report.page.$eval('progress', (each) => getComputedStyle(each).forcedColorAdjust), 'none');
  await report.close();
}

// 48 layers: the chosen head is in sight, and Tab does not stop at each of 48 times as many things.
async function checkDeep(browser) {
  const { page, close } = await opened(browser, 'deep', { hash: '#tab=attention' });
  await until(page, () => document.documentElement.dataset.maps === 'drawn');
  await page.locator('[data-map]').last().click();
  assert.match(await page.textContent('[data-title=head]'), /blocks\.47\./);
  const box = await page.locator('[data-title=head]').boundingBox();
  assert.ok(box.y >= 0 && box.y < 720, `the head is at ${box.y}`);
  await page.click('#tab-tape');
  const stops = await page.$$eval('#panel-tape :is(button, [tabindex], input, summary)', (all) =>
    all.filter((each) => each.tabIndex >= 0 && each.checkVisibility()).length);
  assert.ok(stops < 60, `${stops} stops of the Tab key`);
  await close();
}

// Fingers have targets of 24 pixels; a wide screen has larger text.
async function checkTargets(browser) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const page = await context.newPage();
  for (const [name, tabs] of [['gpt', ['picture', 'predictions', 'attention', 'token', 'tape', 'memory', 'gradients']], ['report_running', ['curves', 'sentence', 'flow', 'recipe']]]) {
    await page.goto(urlOf(path.join(pages, `${name}.html`)));
    for (const tab of tabs) {
      await page.click(`#tab-${tab}`);
      await page.evaluate(() => new Promise((made) => requestAnimationFrame(() => requestAnimationFrame(made))));
      assert.equal(await page.getAttribute(`#tab-${tab}`, 'aria-selected'), 'true');
      const small = await page.$$eval('button, summary, select, input:not([type=checkbox]):not([type=range])', (all) => all.filter((each) =>
        each.checkVisibility()).map((each) => [each.getBoundingClientRect(), each]).filter(([{ width, height }]) => width > 1 && (width < 24 || height < 24))
        .map(([{ width, height }, each]) => `${each.dataset.control ?? each.textContent} ${width} x ${height}`));
      assert.deepEqual(small, [], `${name}, ${tab}`);
    }
  }
  await context.close();
  const { page: wide, close } = await opened(browser, 'gpt', { width: 1920, height: 1080 });
  assert.equal(await wide.evaluate(() => getComputedStyle(document.documentElement).fontSize), '19px');
  await close();
}

exports.jobs = Object.entries({ checkEveryFigure, checkFirstScreens, checkRoom, checkOpening, checkNames, checkPictureFile,
  checkPaper, checkForcedColours, checkDeep, checkTargets });
