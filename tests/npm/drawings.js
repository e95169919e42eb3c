// The picture of a step on models of every kind (`.ci/long pages`): 1 to 48 layers, 1 to 144 heads, 1 to
// 512 tokens, words from left and from right, an image, masked words, an encoder-decoder, a step with an
// infinity, one with NaN, one of the fast recipe, a run. Of each: the page's size, the first paint, the
// script of a frame while tokens or evaluations are scrubbed, a width that fits, what axe-core finds, and
// pictures forward and back, in both colours and widths. Thickness and probabilities of those that
// plain_gpt.js knows are those of its pass.
//
//     node drawings.js CHROMIUM PAGES PICTURES
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const { checkAccessible, launch, slowness, until, urlOf, watch } = require('./browser.js');
const { readTensors, trainingStep } = require('./plain_gpt.js');

const [,, program, pages, pictures] = process.argv;
const MODELS = ['one', 'gpt', 'rtl', 'fast', 'deep', 'large', 'long', 'heads', 'encoder_decoder', 'masked', 'vision',
  'finding', 'overflow', 'report_deep'];
const [MOST_BYTES, MOST_PAINT, MOST_SCRIPT] = [20e6, 1000, 8]; // bytes, milliseconds
const FRAMES = 40;

const readout = (page, name) => page.textContent(`[data-readout="${name}"]`);

// Milliseconds of script, of a key and of the frame after it: the median of several, alternating.
const scriptOf = (page, selector, keys) => page.evaluate(async ([at, pressed, frames]) => {
  const element = document.querySelector(at);
  const times = [];
  for (let i = 0; i < frames; ++i) {
    let spent = -performance.now();
    element.dispatchEvent(new KeyboardEvent('keydown', { key: pressed[i % pressed.length], bubbles: true }));
    spent += performance.now();
    await new Promise((done) => requestAnimationFrame(done));
    times.push(spent);
    await new Promise((done) => setTimeout(done, 5));
  }
  return times.sort((a, b) => a - b)[frames >> 1];
}, [selector, keys, FRAMES]);

// The first paint of a page in a process of its own; the best of a few, because others may be busy.
async function paintOf(browser, file) {
  let best = Infinity;
  for (let tries = 0; best > MOST_PAINT && tries < 5; ++tries) {
    const page = await browser.coldPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${urlOf(file)}#tab=picture`); // with NaN another tab opens
    await page.waitForSelector('.ribbon');
    await until(page, () => performance.getEntriesByName('first-contentful-paint').length > 0);
    best = Math.min(best, await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    await page.close();
  }
  return best;
}

// The names of the columns, and the thickness of every ribbon by column and row.
const drawn = (page) => page.evaluate(() => {
  const names = Array.from(document.querySelectorAll('[data-column]'), (each) => each.textContent);
  const all = Array.from(document.querySelectorAll('.ribbon'), (each) => {
    const [, from, to] = /([\d.]+)V([\d.]+)C/.exec(each.getAttribute('d'));
    return Number(to) - Number(from);
  });
  const rows = all.length / names.length;
  return { names, rows, thick: names.map((_, column) => Array.from({ length: rows }, (__, row) => all[row * names.length + column])),
    answers: Array.from(document.querySelectorAll('.step-picture g text'), (each) => each.textContent) };
});

// Every ribbon and every probability against the independent pass; returns how many.
async function checkNumbers(page, model) {
  const file = path.join(pages, `${model}.step.json`);
  if (!fs.existsSync(file)) return 0;
  const step = JSON.parse(fs.readFileSync(file, 'utf8'));
  const { stages, losses } = trainingStep(readTensors(path.join(pages, `${model}.safetensors`)), step);
  const { names, rows, thick, answers } = await drawn(page);
  assert.equal(rows, step.ids.length);
  const stageOf = (name) => {
    const [, folded, layer, what] = /^(?:(?:\d+\u2013)?(\d+)|(\d+) (\S+))$/.exec(name) ?? [];
    if (name === 'embedding') return 'embedded';
    return folded !== undefined ? `blocks.${folded}.out` : `blocks.${layer}.${what === 'attention' ? 'middle' : 'out'}`;
  };
  const lengths = names.map((name) => {
    const x = stages[stageOf(name)];
    const dim = x.length / rows;
    return Array.from({ length: rows }, (_, row) => Math.hypot(...x.subarray(row * dim, (row + 1) * dim)));
  });
  const most = Math.max(...lengths.flat());
  const widest = Math.max(...thick.flat());
  lengths.forEach((own, column) => own.forEach((length, row) => {
    const wanted = 1.2 + (widest - 1.2) * length / most; // 0.6 pixels on either side are for length 0
    assert.ok(Math.abs(thick[column][row] - wanted) < 0.05, `${model}, ${names[column]}, token ${row}: ${thick[column][row]}, not ${wanted}`);
  }));
  answers.forEach((text, row) => {
    const percent = Number(/^([\d.]+)(e\u2212(\d+))?%/.exec(text)?.slice(1, 2) ?? NaN) * 10 ** -Number(/e\u2212(\d+)%/.exec(text)?.[1] ?? 0);
    const wanted = 100 * Math.exp(-losses[row]);
    assert.ok(Math.abs(percent / wanted - 1) < 6e-3, `${model}, token ${row}: ${text}, not ${wanted}%`);
  });
  return lengths.flat().length + answers.length;
}

async function picturesOf(browser, file, model, width, colorScheme) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  const wrong = watch(page, (url) => url === urlOf(file));
  await page.goto(`${urlOf(file)}#tab=picture`);
  await page.waitForSelector('.ribbon');
  await page.waitForTimeout(300);
  const shot = async (what) => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${model}, ${what}: ${wide} pixels wide`);
    await page.screenshot({ path: path.join(pictures, `${model}_${what}_${width}_${colorScheme}.png`) });
  };
  await shot('forward');
  await checkAccessible(page, `${model}, the picture`);
  if (await page.isEnabled('[data-control=way-back]')) {
    await page.click('[data-control=way-back]');
    assert.notEqual(await readout(page, 'way-back'), '');
    await shot('back');
  }
  assert.deepEqual(wrong, []);
  await page.close();
}

async function checkModel(browser, model) {
  const file = path.join(pages, `${model}.html`);
  const { size } = fs.statSync(file);
  assert.ok(size <= MOST_BYTES, `${model}: ${size} bytes`);
  const paint = await paintOf(browser, file);
  const page = await browser.coldPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${urlOf(file)}#tab=picture`);
  await page.waitForSelector('.ribbon');
  const checked = await checkNumbers(page, model);
  await page.waitForTimeout(1500); // the small maps
  const isRun = model.startsWith('report');
  let script = Infinity;
  for (let tries = 0; script > MOST_SCRIPT && tries < 4; ++tries) {
    script = Math.min(script, await scriptOf(page, isRun ? '[data-control=scrubber]' : '[data-view=picture]',
      isRun ? ['ArrowLeft', 'ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowUp', 'ArrowDown']));
  }
  await page.close();
  for (const [width, scheme] of [[1280, 'light'], [390, 'dark'], [1280, 'dark'], [390, 'light']]) {
    await picturesOf(browser, file, model, width, scheme);
  }
  console.log(`${model}: ${(size / 1e6).toFixed(2)} MB, first paint ${paint.toFixed(0)} ms, script ${script.toFixed(1)} ms a frame` +
    `${checked > 0 ? `, ${checked} numbers equal` : ''}`);
  assert.ok(paint <= MOST_PAINT * slowness(), `${model}: first paint after ${paint} ms`);
  assert.ok(script <= MOST_SCRIPT * slowness(), `${model}: ${script} ms of script`);
}

(async () => {
  fs.mkdirSync(pictures, { recursive: true });
  const browser = await launch(program);
  for (const model of MODELS) await checkModel(browser, model);
  await browser.close();
  console.log(`${MODELS.length} models; pictures in ${pictures}`);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
