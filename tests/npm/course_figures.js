// The live figures of the course (examples/school/site/figures): their numbers are the library's, and
// in a browser each answers the mouse and the keyboard, in both languages, colour schemes and widths.
// Without script the picture stays.
//
//     node course_figures.js SOURCE_DIR CHROMIUM FOLDER [SCREENSHOTS]
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const [,, source, program, folder, screenshots] = process.argv;
const site = path.join(source, 'examples/school/site');

// Every number of tests/fixtures/figures.json, from the same inputs.
function checkNumbers() {
  const { crossEntropy, head, position, walk, widths } = require(path.join(site, 'figures/numbers.js'));
  const ways = {
    crossEntropy: ({ scores, temperature, target }) => crossEntropy(scores, temperature, target),
    walk: ({ x, w }) => walk(x, w),
    head: ({ x, wQ, wK, wV, causal }) => head(x, wQ, wK, wV, causal),
    widths: ({ seed, width, divided, visible }) => widths(seed, width, divided, visible),
    position: ({ t, width }) => ({ vector: position(t, width) }),
  };
  let count = 0;
  for (const { figure, input, output } of JSON.parse(fs.readFileSync(path.join(source, 'tests/fixtures/figures.json')))) {
    const found = ways[figure](input);
    for (const [name, wanted] of Object.entries(output)) {
      const flat = [found[name]].flat(2), expected = [wanted].flat(2);
      assert.equal(flat.length, expected.length, `${figure}: ${name}`);
      for (const [i, value] of flat.entries()) {
        if (expected[i] === null) assert.equal(value, -Infinity, `${figure}: ${name}`);
        else assert.ok(Math.abs(value - expected[i]) <= 1e-9 * Math.max(1, Math.abs(value)),
          `${figure}: ${name} is ${value}, the library's ${expected[i]}`);
        ++count;
      }
    }
  }
  // The products of chapter 6's race, of whole numbers, against the definition.
  const { PRODUCTS } = require(path.join(site, 'figures/products.js'));
  const n = 48, [a, b] = [3, 7].map((by) => Float32Array.from({ length: n * n }, (_, i) => i * by % 11 - 5));
  const wanted = Array.from({ length: n * n }, (_, i) =>
    Array.from({ length: n }, (_, k) => a[Math.floor(i / n) * n + k] * b[k * n + i % n]).reduce((sum, x) => sum + x, 0));
  for (const [name, multiply] of Object.entries(PRODUCTS)) {
    const c = new Float32Array(n * n);
    multiply(a, b, c, n);
    assert.deepEqual([...c], wanted, name);
  }
  assert.ok(count > 200, `${count} numbers`);
  return count;
}

const NAMES = ['tape', 'product', 'softmax', 'one-head', 'sqrt_dk-gradient', 'clock'];
const KEPT = 3; // pictures that stay above their figure

// A page for each language with the five pictures, as pandoc writes them, and the site's policy.
function writePages() {
  fs.mkdirSync(folder, { recursive: true });
  execFileSync('node', [path.join(site, 'write_figures.js'), folder]);
  const policy = /<meta http-equiv.*>/.exec(fs.readFileSync(path.join(site, 'page.html'), 'utf8'))[0].replace(/\$if\(front\)\$.*?\$endif\$/, '');
  for (const language of ['en', 'zh']) {
    const pictures = NAMES.map((name) => {
      const measured = path.join(source, 'docs/experiments', `${name}.svg`); // these have no words to translate
      const file = fs.existsSync(measured) ? `${name}.svg` : `${name}${language === 'zh' ? '.zh' : ''}.svg`;
      fs.copyFileSync(fs.existsSync(measured) ? measured : path.join(source, 'docs/course/pictures', file), path.join(folder, file));
      return file;
    });
    fs.writeFileSync(path.join(folder, `${language}.html`), `<!doctype html><html lang="${language}"><head>
      <meta charset="utf-8">${policy}<meta name="viewport" content="width=device-width, initial-scale=1">
      <title>figures</title><link rel="icon" href="data:,"><link rel="stylesheet" href="site.css">
      <script src="figures.js" defer></script></head><body><main><h1>figures</h1>
      ${pictures.map((file) => `<p><img src="${file}" alt="${file}"></p>`).join('\n')}</main></body></html>`);
  }
}

const statementOf = (page, name) => page.textContent(`[data-figure=${name}] .statement`);
const texts = (page, name, selector) => page.locator(`[data-figure=${name}] ${selector}`).allTextContents();

// Moves a slider by keys, from the place where Tab leads to it.
async function press(page, name, label, ...keys) {
  await page.locator(`[data-figure=${name}]`).getByLabel(label, { exact: true }).focus();
  for (const key of keys) await page.keyboard.press(key);
}

async function useEach(page) {
  const { until } = require('./browser.js');
  // The numbers that chapters 1, 7 and 9 print.
  assert.match((await texts(page, 'tape', 'td.back'))[0], /x: 0\.363 {2}0\.136 {2}0\.189\nw: 0\.727 {2}\u22120\.272 {2}2\.274/);
  assert.deepEqual(await texts(page, 'softmax', '.bar .readout'), ['0.042', '0.042', '0.114', '\u22120.886', '0.844', '0.844']);
  assert.deepEqual(await texts(page, 'one-head', '.bar .readout'), ['0.032', '0.645', '0.053', '0.032', '0.237']);
  assert.match(await statementOf(page, 'one-head'), /\(0\.09, 3\.29, 0\.88, 2\.69\)/);
  assert.match(await statementOf(page, 'clock'), /P\(0\) · P\(44\) = 1\.9046/);

  await page.click('[data-figure=tape] button:has-text("from the start")');
  assert.equal(await statementOf(page, 'tape'), 'Nothing has run yet.');
  await page.locator('[data-figure=tape] button:has-text("one row on")').focus();
  for (let i = 0; i < 5; ++i) await page.keyboard.press('Enter');
  assert.match(await statementOf(page, 'tape'), /passed row 3, beginning with dL\/dL = 1/);
  assert.deepEqual((await texts(page, 'tape', 'td.back')).map((text) => text !== ''), [false, false, false, true]);
  for (let i = 0; i < 3; ++i) await page.keyboard.press('Enter');
  assert.match(await statementOf(page, 'tape'), /every gradient is known/);
  await press(page, 'tape', 'x\u2081', 'Home');
  assert.match((await texts(page, 'tape', 'td.back'))[0], /^x: \u2212/);

  await page.locator('[data-figure=product] button').focus();
  await page.keyboard.press('Enter');
  await until(page, () => /times as fast/.test(document.querySelector('[data-figure=product] .statement').textContent));
  const speeds = await texts(page, 'product', '.bar .readout');
  assert.ok(speeds.length === 3 && speeds.every((text) => Number(text) > 0), speeds.join());

  await press(page, 'softmax', 'temperature', 'End');
  assert.deepEqual((await texts(page, 'softmax', '.bar .readout')).filter((_, i) => i % 2 === 0), ['0.289', '0.320', '0.391']);
  await page.click('[data-figure=softmax] [role=radio]:nth-child(3)');
  assert.match(await statementOf(page, 'softmax'), /probability 0\.391/);

  await page.click('[data-figure=one-head] [role=radio]:nth-child(5)');
  assert.match(await statementOf(page, 'one-head'), /^"ball"/);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  assert.match(await statementOf(page, 'one-head'), /^"robot"/);
  await page.getByLabel('causal mask').check();
  assert.deepEqual(await texts(page, 'one-head', '.bar .readout'), ['0.622', '0.378', '0.000', '0.000', '0.000']);

  const divided = await statementOf(page, 'sqrt_dk-gradient');
  await page.getByLabel('divide by √d_k').uncheck();
  await press(page, 'sqrt_dk-gradient', 'd_k', 'End');
  const not = await statementOf(page, 'sqrt_dk-gradient');
  assert.match(not, /√1024 = 32\.0/);
  const weight = (text) => Number(/([\d.]+)\.$/.exec(text)[1]);
  assert.ok(weight(not) > 0.99 && weight(divided) < 0.6, `${divided} ${not}`);
  await page.getByLabel('mask: hide keys 5 to 8').check();
  assert.deepEqual((await texts(page, 'sqrt_dk-gradient', '.bar .readout')).slice(4), ['0.000', '0.000', '0.000', '0.000']);
  const before = await texts(page, 'sqrt_dk-gradient', 'td.value');
  await page.click('[data-figure=sqrt_dk-gradient] button:has-text("draw again")');
  assert.notDeepEqual(await texts(page, 'sqrt_dk-gradient', 'td.value'), before);

  const curve = await page.getAttribute('.curve', 'points');
  const hands = await page.locator('.dial').first().innerHTML();
  await press(page, 'clock', 'position', 'PageUp', 'ArrowRight');
  assert.match(await statementOf(page, 'clock'), /= 1\.9046/);
  assert.notEqual(await page.locator('.dial').first().innerHTML(), hands);
  const numbers = (points) => points.split(/[ ,]/).map(Number);
  const moved = numbers(await page.getAttribute('.curve', 'points'));
  numbers(curve).forEach((value, i) => assert.ok(Math.abs(value - moved[i]) <= 0.011));
  await press(page, 'clock', 'distance', 'Home');
  assert.match(await statementOf(page, 'clock'), /= 2\.0000/);
  await page.click('[data-figure=clock] [role=radio]:nth-child(3)');
  assert.match(await statementOf(page, 'clock'), /= 16\.0000/);
  assert.equal(await page.locator('.dial').first().locator('line').count(), 16);
}

async function check(browser, file, width, scheme) {
  const { checkAccessible, urlOf, watch } = require('./browser.js');
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  const wrong = watch(page, (url) => url.startsWith(urlOf(folder)));
  await page.goto(urlOf(path.join(folder, file)));
  assert.deepEqual(await page.locator('.live').evaluateAll((all) => all.map(({ dataset }) => dataset.figure)), NAMES);
  assert.equal(await page.locator('img:visible').count(), KEPT);
  const shoot = async (state) => {
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, `${file} is wider than ${width}`);
    await checkAccessible(page, `${file} ${width} ${scheme} ${state}`);
    if (screenshots) {
      await page.screenshot({ fullPage: true, path: path.join(screenshots, `figures_${file}_${state}_${width}_${scheme}.png`) });
    }
  };
  await shoot('at first');
  if (file === 'en.html') {
    await useEach(page);
    await shoot('used');
  }
  assert.deepEqual(wrong, []);
  await page.close();
}

(async () => {
  const count = checkNumbers();
  if (program) {
    writePages();
    const { launch, urlOf } = require('./browser.js');
    const browser = await launch(program);
    await check(browser, 'en.html', 1280, 'light');
    await check(browser, 'en.html', 390, 'dark');
    await check(browser, 'zh.html', 390, 'light');
    await check(browser, 'zh.html', 1280, 'dark');
    const still = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await still.goto(urlOf(path.join(folder, 'en.html')));
    assert.equal(await still.locator('img:visible').count(), NAMES.length);
    await browser.close();
  }
  console.log(`${NAMES.length} live figures, ${count} numbers`);
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
