// The site, opened as files and from a server, at two widths and in both colour schemes: every kind
// of page renders with an empty console and without requests outside the site; axe-core finds
// nothing; a program of the course runs, with other numbers, and by keyboard; the page of a step
// takes another prompt. Every chapter opens within 1.5 s, times slowness(), and 3 MB, and its live
// figures answer.
//
//     node site.js CHROMIUM SITE [SCREENSHOTS]
const assert = require('node:assert');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { chromium } = require('playwright-core');

const { checkAccessible, slowness, watch } = require('../npm/browser.js');
const { until } = require('./open_playground.js');

const [,, program, folder, screenshots] = process.argv;
const site = path.resolve(folder);

const PAGES = ['index', 'search', 'README', 'README.zh', 'docs/ops', 'docs/experiments', 'docs/architecture',
  'docs/course/README', 'docs/course/1-a-tape-in-ten-minutes', 'docs/course/7-softmax-and-cross-entropy.zh',
  'docs/course/9-attention', 'docs/course/12-positions', 'docs/course/13-from-attention-to-the-transformer.zh',
  'inspect', 'inspect_dates', 'inspect_masked_words', 'inspect_shapes', 'report', 'playground'];
const CHAPTER = 'docs/course/3-a-line-a-neuron-a-hidden-layer';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
  '.svg': 'image/svg+xml', '.json': 'application/json' };

function serve() {
  const server = http.createServer((request, response) => {
    const file = path.join(site, decodeURIComponent(new URL(request.url, 'http://x').pathname));
    if (!file.startsWith(site) || !fs.existsSync(file)) return response.writeHead(404).end();
    server.bytes += fs.statSync(file).size;
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'text/plain' });
    fs.createReadStream(file).pipe(response);
  });
  server.bytes = 0;
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function checkPage(page, base, name, shoot) {
  await page.goto(`${base}/${name}.html`);
  await page.waitForSelector('main h1, main h2, main [role="tablist"]');
  await shoot(name);
  await checkAccessible(page, name);
}

const state = (bar) => bar.getAttribute('data-state');

async function runIn(page, bar) {
  await bar.locator('.run').focus();
  await page.keyboard.press('Enter');
  await until(page, (index) => document.querySelector(`[data-program="${index}"]`).dataset.state === 'idle',
    await bar.getAttribute('data-program'));
  assert.equal(await state(bar), 'idle');
  return bar.locator('.status').textContent();
}

// Every program of a chapter prints the output on the page; the first one something else for
// another number, in the Chinese chapter as well.
async function checkChapter(page, base, shoot) {
  await page.goto(`${base}/${CHAPTER}.html`);
  const bars = page.locator('[data-program]');
  const count = await bars.count();
  assert.ok(count >= 6, `${count} programs run`);
  for (let i = 0; i < count; ++i) {
    assert.equal(await runIn(page, bars.nth(i)), 'The output matches the one shown.', `program ${i}`);
  }
  await checkAccessible(page, CHAPTER);
  await page.goto(`${base}/${CHAPTER}.zh.html`);
  const bar = page.locator('[data-program]').first();
  assert.equal(await runIn(page, bar), '\u8f93\u51fa\u4e0e\u672c\u9875\u6240\u793a\u76f8\u540c\u3002');
  await page.goto(`${base}/${CHAPTER}.html`);
  const first = page.locator('[data-program]').first();
  const output = page.locator('.output').first();
  const shown = await output.textContent();
  const steps = page.locator('input.number[title="steps"]').first();
  await steps.fill('twenty');
  await first.locator('.run').click();
  assert.ok(await steps.evaluate((field) => field === document.activeElement), 'it is shown what is wrong');
  await steps.fill('20');
  await page.locator('input.number[title="learning rate"]').first().fill('+.1');
  assert.equal(await runIn(page, first), 'Printed with your numbers.');
  await shoot('program');
  const printed = await output.textContent();
  assert.notEqual(printed, shown);
  assert.match(printed, /step 20/);
  assert.doesNotMatch(printed, /step 30/);
  await first.locator('button').nth(1).click();
  assert.equal((await output.textContent()).trim(), shown.trim());
  assert.equal(await steps.inputValue(), '40');
}

const waitForText = (page, selector, pattern) => until(page, ([at, source]) =>
  new RegExp(source).test(document.querySelector(at)?.textContent ?? ''), [selector, pattern]);

// The page of a step responds to another prompt, and to removing a head; the library in the page
// reaches the native one's loss.
async function checkTyping(page, base, shoot) {
  await page.goto(`${base}/inspect.html`);
  const subtitle = '[data-readout="subtitle"]';
  const first = await page.textContent(subtitle);
  const field = page.locator('[data-control="prompt"]');
  const prompt = await field.inputValue();
  assert.equal(prompt, 'Once upon a time');
  await field.fill('Tom and');
  await field.press('Enter');
  await waitForText(page, subtitle, '6 characters predicted');
  assert.equal(await page.locator('#panel-picture .step-picture .name').count(), 6);
  await page.click('#tab-predictions');
  assert.equal(await page.locator('#panel-predictions .strip .token').count(), 6);
  await field.fill(prompt);
  await field.press('Enter');
  await waitForText(page, subtitle, '15 characters predicted');
  assert.equal(await page.textContent(subtitle), first);
  await page.click('#tab-attention');
  await page.locator('.switches summary').click();
  await page.click('[data-switch="1"]');
  await until(page, ([at, before]) => document.querySelector(at).textContent !== before, [subtitle, first]);
  assert.equal(await page.getAttribute('[data-switch="1"]', 'aria-pressed'), 'false');
  assert.ok(await page.isVisible('#panel-attention [data-map]'), 'the tab stays open');
  await page.click('[data-control="write"]');
  await waitForText(page, '[data-view="sample"]', '^Once upon a time.{50}');
  await checkAccessible(page, 'inspect, answered');
  await shoot('inspect_answers');
  await page.click('[data-switch="1"]');
  await until(page, ([at, before]) => document.querySelector(at).textContent === before, [subtitle, first]);
  await field.fill('\u20ac\u20ac\u20ac');
  await field.press('Enter');
  await waitForText(page, '[data-readout="failed"]', '.');
  assert.ok(await page.isVisible('[data-readout="failed"]'));
  const policy = await page.getAttribute('meta[http-equiv]', 'content');
  assert.match(policy, /'wasm-unsafe-eval'; worker-src blob:/);
  await page.goto(`${base}/inspect_dates.html`);
  assert.doesNotMatch(await page.getAttribute('meta[http-equiv]', 'content'), /wasm|blob/);
}

const MOST_SECONDS = 1.5, MOST_BYTES = 3e6;

// Every chapter in both languages, each with an empty cache: how long until it has loaded, how much
// was sent, and that pictures with a live figure have it. A page that takes too long is opened twice
// more, in case the machine was busy.
async function checkOpening(browser, server, base) {
  const chapters = fs.readdirSync(path.join(site, 'docs/course')).filter((name) => /^\d.*\.html$/.test(name));
  assert.equal(chapters.length % 2, 0);
  const limit = MOST_SECONDS * slowness();
  let slowest = 0, largest = 0, figures = 0;
  for (const name of chapters) {
    let seconds = Infinity;
    for (let tries = 0; tries < 3 && seconds > limit; ++tries) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      server.bytes = 0;
      const began = performance.now();
      await page.goto(`${base}/docs/course/${name}`, { waitUntil: 'load' });
      seconds = (performance.now() - began) / 1000;
      assert.ok(server.bytes < MOST_BYTES, `${name}: ${server.bytes} bytes`);
      largest = Math.max(largest, server.bytes);
      if (tries === 0) figures += await page.locator('.live .statement:not(:empty)').count();
      await context.close();
    }
    assert.ok(seconds < limit, `${name}: ${seconds} s`);
    slowest = Math.max(slowest, seconds);
  }
  assert.equal(figures, 2 * 6);
  console.log(`${chapters.length} chapters: at most ${slowest.toFixed(2)} s and ${(largest / 1e6).toFixed(2)} MB, ${figures} live figures`);
}

// The help of a page leads to the chapter that explains it.
async function checkHelpLinks(page, base) {
  for (const [name, tab, chapter] of [['inspect', 'attention', '10-heads'], ['report', 'samples', '14-a-gpt-that-writes'],
    ['playground', 'rules', '2-gradients-by-hand-and-by-machine']]) {
    await page.goto(`${base}/${name}.html#tab=${tab}`);
    await page.click(`[data-help=${tab}] summary`);
    await page.click(`[data-help=${tab}] a`);
    await page.waitForSelector('main h1');
    assert.ok(page.url().endsWith(`/docs/course/${chapter}.html`), page.url());
  }
}

// From a chapter the playground opens with its model, and a reload keeps it.
async function checkChapterModel(page, base) {
  await page.goto(`${base}/docs/course/14-a-gpt-that-writes.html`);
  await page.click('.see a[href*=playground]');
  const opened = () => until(page, () => document.querySelectorAll('.step-heads button').length === 8); // 2 layers of 4 heads
  await opened();
  assert.equal(await page.textContent('[data-readout=lr]'), '0.010');
  await page.reload();
  await opened();
  assert.equal(await page.inputValue('[data-control=size]'), 'chapter14');
  for (const unknown of ['constructor', '']) { // the usual one
    await page.goto('about:blank');
    await page.goto(`${base}/playground.html#model=${unknown}`);
    await until(page, () => document.querySelectorAll('.step-heads button').length === 4);
  }
  await page.selectOption('[data-control=size]', 'chapter14');
  await page.selectOption('[data-control=size]', 'small');
  assert.equal(await page.textContent('[data-readout=lr]'), '0.0010');
  await page.click('[data-control=restart]');
  await until(page, () => document.querySelectorAll('.step-heads button').length === 4);
}

// The first page runs the playground by itself; a chapter leads to its neighbours and to a page in the
// state that shows it; search finds headings and keeps what was asked.
async function checkFront(page, base) {
  await page.goto(`${base}/index.html`);
  const playground = page.frames().find((frame) => /playground\.html/.test(frame.url()));
  await until(playground, () => Number(document.body.dataset.step) > 0);
  assert.ok(await playground.isHidden('[role=tablist]'));
  await page.goto(`${base}/docs/course/10-heads.html`);
  assert.equal(await page.getAttribute('[rel=prev]', 'href'), '9-attention.html');
  assert.equal(await page.getAttribute('[rel=next]', 'href'), '11-what-heads-do.html');
  assert.ok(await page.locator('.contents li').count() > 8);
  await page.click('.see a[href*=inspect]');
  assert.equal(await page.getAttribute('[data-head="1 1"]', 'aria-pressed'), 'true');
  await page.goto(`${base}/search.html`);
  await page.fill('.search-field', 'residual stream');
  assert.match(await page.textContent('.search-said'), /^\d+ found/);
  const first = await page.getAttribute('.found a', 'href');
  await page.reload();
  assert.equal(await page.getAttribute('.found a', 'href'), first);
  await page.click('.found a');
  await page.waitForSelector('main h1');
  assert.match(await page.textContent('main'), /residual/);
}

async function check(browser, base, place, width, scheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  await context.setOffline(place === 'file');
  const page = await context.newPage();
  page.setDefaultTimeout(120000);
  const wrong = watch(page, (url) => url.startsWith(base) || /^(blob|data):/.test(url));
  const shoot = async (name) => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${name}: the page is ${wide} pixels wide, the window ${width}`);
    if (!screenshots) return;
    await page.screenshot({ path: path.join(screenshots,
      `site_${name.replaceAll('/', '_')}_${place}_${width}_${scheme}.png`) });
  };
  for (const name of PAGES) await checkPage(page, base, name, shoot);
  await checkFront(page, base);
  await checkHelpLinks(page, base);
  await checkChapterModel(page, base);
  await checkChapter(page, base, shoot);
  await checkTyping(page, base, shoot);
  assert.deepEqual(wrong, []);
  await context.close();
}

(async () => {
  const server = await serve();
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: 120000 });
  const served = `http://127.0.0.1:${server.address().port}`;
  await checkOpening(browser, server, served);
  await check(browser, `file://${site}`, 'file', 1280, 'light');
  await check(browser, served, 'server', 390, 'dark');
  await browser.close();
  server.close();
  console.log(`${PAGES.length} pages and a chapter's programs, as files and from a server`);
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
