// The reports from tests/pages in a browser: every tab and control at two widths, numbers compared
// with their source (tests/pages/report.cpp), and following: the file is replaced while the page is
// open. No error on the console, no request except for the page's own file.
//
// `all`: axe-core on every row (`.ci/long pages`). Run by run_pages.js.
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const { checkAccessible, checkHelp, until, urlOf, watch } = require('./browser.js');
const { all, pages, screenshots } = require('./page_settings.js');

const lossAt = (step) => 2 + 2 * Math.exp(-step / 100);
const near = (got, wanted, what) =>
  assert.ok(Math.abs(got - wanted) <= 0.0006 * Math.abs(wanted), `${what}: ${got}, not ${wanted}`);

// A page at `width`, the requests for its own file, and the errors.
async function opened(browser, file, width, scheme) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  const own = [];
  const wrong = watch(page, (url) => {
    own.push(url);
    return url === urlOf(file) || url.replace(/\?follow=\d+$/, '') === urlOf(file);
  });
  await page.goto(urlOf(file));
  return { page, own, wrong };
}

const openTab = (page, name) => page.click(`#tab-${name}`);
const readout = (page, name) => page.textContent(`[data-readout=${name}]`);

// The step on the sentence at every evaluation, and the track below it.
async function checkPicture(page) {
  const scrubber = page.locator('[data-control=scrubber]');
  const thickness = () => page.$$eval('.ribbon', (all) => {
    const [, from, to] = /([\d.]+)V([\d.]+)C/.exec(all[7].getAttribute('d')); // the third token, after attention
    return Number(to) - Number(from);
  });
  assert.equal(await page.locator('.ribbon').count(), 9);
  assert.equal(await scrubber.getAttribute('aria-valuetext'), 'step 300, loss 2.100');
  assert.match(await readout(page, 'way-back'), /neither vanishes nor explodes: 0\.374 at layer 0, 0\.00374 at the embedding\.$/);
  assert.match(await page.textContent('[data-view=card]'), /After \u201c.*\u201d the model predicts .*Head 0 of layer 0 reads mostly/s);
  const late = await thickness();
  await scrubber.focus();
  await page.keyboard.press('Home');
  assert.match(await readout(page, 'picture'), /^After step 100: loss [\d.]+ on this sentence\.$/);
  near((await thickness() - 1.2) / (late - 1.2), 1 / 3, 'the ribbon follows the step'); // lengths 1 and 3; 1.2 pixels are for 0
  await until(page, () => window.location.hash.includes('step=100'));
  await page.keyboard.press('ArrowRight');
  assert.equal(await scrubber.getAttribute('aria-valuenow'), '1');
  await page.click('[data-control=play-picture]');
  await until(page, () => /^After step 300/.test(document.querySelector('[data-readout=picture]').textContent));
  const box = await scrubber.boundingBox();
  await page.mouse.click(box.x + box.width * 0.66, box.y + 20);
  assert.match(await readout(page, 'picture'), /^After step 200/);
  await page.click('[data-control=way-back]');
  assert.equal(await page.locator('.ribbon.back').count(), 9);
  await page.click('[data-control=way-back]');
  await scrubber.focus();
  await page.keyboard.press('End'); // the address has the step for other tabs
}

// Compares the number in a readout "step N: ..." with f(N); returns N.
async function checkReadout(page, name, pattern, f) {
  const text = await readout(page, name);
  const [, step, value] = pattern.exec(text) ?? assert.fail(`${name}: ${text}`);
  near(Number(value.replace('\u2212', '-')), f(Number(step)), text);
  return Number(step);
}

const checkLoss = (page) =>
  checkReadout(page, 'loss', /^step (\d+): loss ([\d.]+)/, lossAt);

async function checkCurves(page) {
  assert.ok(!await page.isVisible('[data-view=spikes]'));
  assert.equal(await checkLoss(page), 300);
  assert.match(await readout(page, 'loss'), /; validation 2\.503 after step 300$/);
  await checkReadout(page, 'lr', /^step (\d+): (\S+)$/, (step) => 1e-6 * step);
  await checkReadout(page, 'norm', /^step (\d+): ([\d.]+), clipped$/, (step) => 2 - step / 2000);
  assert.equal(await readout(page, 'speed'), 'step 300: 7680 tokens/s, 50% of the peak');
  const levels = await page.$$eval('[data-chart=loss] .level', (all) =>
    all.map((each) => each.textContent));
  assert.deepEqual(levels, ['counting characters: 3.300', 'counting pairs: 2.400']);
  const chart = page.locator('[data-chart=loss]');
  const drawn = await chart.locator(':is(canvas, svg)').first().boundingBox();
  assert.ok(drawn.width > 200 && drawn.height > 200);
  // By pointer: all charts show the step pointed at in one of them.
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  const pointed = await checkLoss(page);
  assert.ok(pointed > 90 && pointed < 220, `step ${pointed} in the middle`);
  assert.match(await readout(page, 'norm'), new RegExp(`^step ${pointed}:`));
  assert.equal(await page.locator('.pointed').count(), 4);
  // By keyboard.
  await page.mouse.move(2, 2);
  assert.equal(await checkLoss(page), 300);
  await chart.focus();
  await page.keyboard.press('Home');
  assert.equal(await checkLoss(page), 1);
  await page.keyboard.press('ArrowRight');
  assert.equal(await checkLoss(page), 2);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.pointed').count(), 0);
  await checkZoom(page, chart);
  await checkLines(page, chart);
  await checkOtherRuns(page);
}

// The number of pixels of the chart with nearly this colour.
const inked = (page, name) => page.evaluate((property) => {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(property).trim();
  const wanted = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const canvas = document.querySelector('[data-chart=loss] canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    count += data[i + 3] > 200 && wanted.every((x, c) => Math.abs(x - data[i + c]) < 12);
  }
  return count;
}, `--${name}`);

// Lines are hidden and shown, one is smoothed, the axis becomes logarithmic and its levels move.
async function checkLines(page, chart) {
  assert.ok(await inked(page, 'gradient') > 20);
  await page.focus('[data-control=validation]');
  await page.keyboard.press('Space');
  assert.equal(await inked(page, 'gradient'), 0);
  await page.keyboard.press('Space');
  const before = await inked(page, 'activation');
  await page.focus('[data-control=smoothing]');
  for (let i = 0; i < 5; ++i) await page.keyboard.press('PageUp');
  assert.ok(Number(await page.inputValue('[data-control=smoothing]')) > 0.2);
  assert.ok(await inked(page, 'activation') > 20 && before > 20);
  await page.keyboard.press('Home');
  const level = async () => (await chart.locator('.level').first().boundingBox()).y;
  const linear = await level();
  await page.check('[data-control=log]');
  assert.ok(Math.abs(await level() - linear) > 3, 'a level stays where it was');
  await page.uncheck('[data-control=log]');
  assert.ok(Math.abs(await level() - linear) < 0.5);
}

const savedText = async (page, name) => {
  const [file] = await Promise.all([page.waitForEvent('download'), page.click(`[data-save="${name}"]`)]);
  return fs.readFileSync(await file.path(), 'utf8');
};

// Another report from disk; a file that is not a report gets a message.
async function checkOtherRuns(page) {
  const chooser = page.locator('[data-control=other-runs]');
  await chooser.setInputFiles(path.join(pages, 'report_finished.html'));
  await until(page, () => document.querySelectorAll('[data-run]').length === 1);
  assert.match(await readout(page, 'loss'), /^step \d+: loss [^;]+;.*: [\d.]+ at step/);
  assert.ok(await inked(page, 'run-1') > 20);
  for (const name of ['lr', 'norm', 'speed']) {
    const csv = await savedText(page, `${name}.csv`);
    assert.ok(csv.split('\r\n')[0].split(',').length === 3, `${name} has no line of the other run: ${csv.slice(0, 80)}`);
  }
  const sweep = await page.$$eval('[data-table=sweep] tr', (rows) =>
    rows.map((row) => Array.from(row.cells, (cell) => cell.textContent)));
  assert.deepEqual(sweep[0], ['run', 'latest loss', 'lowest validation loss']); // no option differs
  assert.deepEqual(sweep.slice(1).map(([, , lowest]) => lowest), ['2.503', '2.501']);
  await chooser.setInputFiles(path.join(pages, 'gpt.txt'));
  await until(page, () => /No report: gpt\.txt/.test(document.body.textContent));
  await page.click('[data-run] button');
  assert.equal(await page.locator('[data-run]').count(), 0);
  assert.equal(await inked(page, 'run-1'), 0);
  assert.equal(await page.locator('[data-table=sweep]').count(), 0);
  // Any number: from the seventh on the colours return, for thicker lines.
  const report = path.join(pages, 'report_finished.html');
  await chooser.setInputFiles(Array.from({ length: 8 }, () => report));
  await until(page, () => document.querySelectorAll('[data-run]').length === 8);
  const marks = await page.$$eval('[data-run] .key', (all) =>
    all.map((each) => [each.className, each.getBoundingClientRect().width]));
  assert.deepEqual(marks, [1, 2, 3, 4, 5, 6].map((i) => [`key run-${i}`, 9]).concat([['key run-1', 18], ['key run-2', 18]]));
  const names = () => page.$$eval('[data-run]', (all) => all.map((each) => each.dataset.run));
  await page.click('[data-run] button');
  await chooser.setInputFiles(report);
  await until(page, () => document.querySelectorAll('[data-run]').length === 8);
  assert.equal(new Set(await names()).size, 8);
  assert.equal(await page.locator('[data-table=sweep] tr').count(), 10); // its head, this run and the others
  for (let left = 8; left > 0; --left) await page.click('[data-run] button');
  assert.equal(await page.locator('[data-run]').count(), 0);
}

async function checkZoom(page, chart) {
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 120, { steps: 4 });
  assert.equal(await page.locator('[data-chart=loss] .dragged').count(), 1);
  await page.mouse.up();
  const [from, to] = [Number(await page.inputValue('[data-control=from]')),
    Number(await page.inputValue('[data-control=to]'))];
  assert.ok(from > 50 && from < to && to < 250, `${from} to ${to}`);
  await page.mouse.move(2, 2);
  assert.equal(await checkLoss(page), 300);
  await chart.focus();
  await page.keyboard.press('Home');
  assert.equal(await checkLoss(page), from);
  await page.keyboard.press('Escape');
  await page.click('[data-control=all-steps]');
  assert.equal(await page.inputValue('[data-control=from]'), '');
}

// No curve crosses the label of a level.
async function checkLevels(page) {
  const crossed = await page.evaluate(() => {
    const { style } = document.body;
    const colours = ['activation', 'gradient'].map((name) => {
      style.outlineColor = `var(--${name})`;
      return getComputedStyle(document.body).outlineColor.match(/\d+/g).map(Number);
    });
    style.outlineColor = '';
    return Array.from(document.querySelectorAll('.level span')).filter((name) => {
      const canvas = name.closest('[data-chart]').querySelector('canvas');
      const [box, whole] = [name.getBoundingClientRect(), canvas.getBoundingClientRect()];
      const scale = canvas.width / whole.width;
      const { data } = canvas.getContext('2d').getImageData((box.left - whole.left) * scale,
        (box.top + 3 - whole.top) * scale, box.width * scale, (box.height - 6) * scale);
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] > 200 && colours.some((rgb) => rgb.every((x, c) => Math.abs(x - data[i + c]) < 24))) return true;
      }
      return false;
    }).map((name) => name.textContent);
  });
  assert.deepEqual(crossed, []);
}

async function checkSamples(page) {
  const samples = await page.$$eval('[data-sample]', (all) => all.map((each) =>
    [each.dataset.sample, each.querySelector('h3').textContent, each.querySelector('pre').textContent]));
  assert.equal(samples.length, 3);
  assert.deepEqual(samples[1], ['200', 'After step 200, validation loss 2.505',
    '\u732b\u5750\u5728\u57ab\u5b50\u4e0a </script> 200\n\n  the cat sat']);
}

// A head that finds its role at the second evaluation; the sentence, and its predictions.
async function checkSentence(page) {
  assert.equal(await readout(page, 'look'), `After step 300: loss ${((Math.log(4) + Math.log(2) -
    Math.log(1 - 1 / 30)) / 3).toFixed(3)} on this sentence; the first choice was right 2 of 3 times.`);
  assert.equal(await page.textContent('#panel-sentence .strip'), 'the\u00b7cat</script>\u00b7sat');
  assert.match(await page.getAttribute('#panel-sentence .token:nth-of-type(3)', 'title'),
    /^25(\.0)?%; word\u00b79 had 50%$/);
  await page.click('[data-look="0 0"]');
  assert.match(await readout(page, 'look-role'), /^Attends to the previous token: 8\d% of its weight\.$/);
  await page.focus('[data-control=look]');
  await page.keyboard.press('Home');
  assert.match(await readout(page, 'look'), /^After step 100: /);
  assert.equal(await readout(page, 'look-role'), 'Attends almost uniformly to everything it can see.');
  assert.match(await page.textContent('#panel-sentence [data-readout=map]'),
    /^query 2 \u201c<\/script>\u201d \u2192 key 0 \u201cthe\u201d: \u2248\u00a00\.33$/);
  await page.click('[data-control=play-looks]');
  await until(page, () => /^After step 300/.test(document.querySelector('[data-readout=look]').textContent));
  assert.match(await page.textContent('[data-control=play-looks]'), /Play/);
  const drawn = await page.$eval('[data-look="0 0"] canvas', (canvas) =>
    new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size);
  assert.ok(drawn > 4, `${drawn} shades`);
}

async function checkFlow(page) {
  await page.focus('[data-control=evaluation]');
  await page.keyboard.press('End'); // the address has the step of another tab
  const row = page.locator('[data-parameter="blocks.0.norm.weight"]');
  const cells = async () => (await row.locator('td').allTextContents()).filter((text) => text !== '');
  assert.deepEqual(await cells(),
    ['blocks.0.norm.weight', '[4, 8]', '6.7e\u22124', '0.500', '0.00200', '50%']);
  const bars = await row.evaluate((element) => ['values', 'gradients', 'updates'].map((kind) =>
    [...element.querySelectorAll(`rect.${kind}`)].map((bar) => Number(bar.getAttribute('height')))));
  assert.deepEqual(bars.map((heights) => heights.length), [5, 3, 3]);
  near(bars[0][1] / bars[0][2], 6 / 16, 'the second bar of the values');
  await page.focus('[data-control=evaluation]');
  await page.keyboard.press('Home');
  assert.equal(await readout(page, 'evaluation'), 'step 100');
  assert.equal((await cells())[2], '0.00200');
  const trend = await row.locator('path.line').getAttribute('d');
  const heights = trend.slice(1).split('L').map((point) => Number(point.split(' ')[1]));
  assert.ok(heights.length === 3 && heights[0] < heights[1] && heights[1] < heights[2], trend);
  await page.fill('[data-control=parameters]', 'norm');
  assert.equal(await page.locator('[data-parameter]:visible').count(), 1);
  await page.fill('[data-control=parameters]', '');
  await page.focus('[data-control=evaluation]');
  await page.keyboard.press('End');
}

async function checkProcesses(page) {
  const rows = await page.$$eval('[data-process]', (all) => all.map((row) =>
    [...row.querySelectorAll('td')].map((td) => td.textContent)));
  assert.deepEqual(rows, [
    ['alpha</script>', '1', '120000', '4000', '3.00\u00a0T', '5.0%', '98%', '2.50\u00a0MB', '65.5\u00a0KB'],
    ['beta', '2', '110400', '3680', '2.76\u00a0T', '20%', '75%', '2.40\u00a0MB', '61.4\u00a0KB']]);
}

async function checkRecipe(page) {
  assert.equal(await page.textContent('[data-view=command]'),
    "tapestry train --text '\u732b</script>.txt' --out m");
  assert.equal(await page.textContent('[data-option="--seed"] .value'), '1337');
  const losses = await page.$$eval('[data-loss]', (all) => all.map((row) =>
    [row.dataset.loss, ...[...row.querySelectorAll('td')].slice(0, 2).map((td) => td.textContent)]));
  assert.deepEqual(losses, [['guessing', '4.174', '65.00'], ['counting characters', '3.300', '27.11'],
    ['counting pairs', '2.400', '11.02'], ['this run, step 300', '2.503', '12.22']]);
  assert.match(await readout(page, 'cost'), /^100.ms of 30\.0.s \(0\.3%\)/);
}

async function checkTabs(browser, file, width, scheme) {
  const { page, wrong } = await opened(browser, file, width, scheme);
  assert.equal(await page.textContent('h1'), 'Training on \u732b</script>.txt');
  assert.match(await readout(page, 'status'),
    /^Running: step 300 of 2000, 0:30 so far, about 2:50 left\. Loss 2\.100, validation 2\.503\./);
  const checks = { picture: checkPicture, curves: checkCurves, samples: checkSamples, sentence: checkSentence, flow: checkFlow,
    processes: checkProcesses, recipe: checkRecipe };
  for (const [name, check] of Object.entries(checks)) {
    await openTab(page, name);
    await checkHelp(page, name, width);
    await check(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${name}: the page is ${wide} pixels wide, the window ${width}`);
    await checkAccessible(page, `${path.basename(file)}, ${name}`,
      { whole: Boolean(all), contrast: Boolean(all) });
    if (screenshots) {
      const shot = `${path.basename(file, '.html')}_${name}_${width}_${scheme}.png`;
      await page.screenshot({ path: path.join(screenshots, shot), fullPage: true });
    }
  }
  assert.deepEqual(wrong, []);
  await page.close();
}

// The file is replaced atomically, as the library does. The page continues, and keeps its state.
async function checkFollowing(browser, { running, newer, finished }) {
  const file = running.replace('.html', '_open.html');
  const replace = (by) => {
    fs.copyFileSync(by, `${file}.new`);
    fs.renameSync(`${file}.new`, file);
  };
  replace(running);
  const { page, own, wrong } = await opened(browser, file, 1280, 'light');
  await openTab(page, 'curves');
  await page.fill('[data-control=from]', '50');
  await page.press('[data-control=from]', 'Enter');
  await page.focus('[data-chart=loss]');
  await page.keyboard.press('Home');
  assert.equal(await checkLoss(page), 50);
  await openTab(page, 'samples');
  await page.setViewportSize({ width: 1280, height: 300 });
  await page.evaluate(() => window.scrollTo(0, 150));
  replace(newer);
  await until(page, () => document.querySelector('.standing').dataset.step === '400');
  assert.match(await readout(page, 'status'), /^Running: step 400 of 2000/);
  assert.equal(await page.getAttribute('#tab-samples', 'aria-selected'), 'true');
  assert.equal(await page.evaluate(() => window.scrollY), 150);
  assert.equal(await page.locator('[data-sample]').count(), 4);
  await openTab(page, 'curves');
  assert.equal(await page.inputValue('[data-control=from]'), '50');
  assert.equal(await checkLoss(page), 50); // still pointed at
  await page.focus('[data-chart=loss]');
  await page.keyboard.press('End');
  assert.equal(await checkLoss(page), 400);
  assert.ok(await page.isVisible('[data-view=spikes]'));
  assert.equal(await page.textContent('[data-spike="350"]'), 'step 350: gradient norm 9 (running mean ' +
    "1.850): tapestry rewind '</script>' --step 350 --inspect page.html");
  fs.unlinkSync(file); // briefly missing, which is ignored
  await page.waitForTimeout(2500);
  replace(finished);
  await until(page, () => document.querySelector('.standing').dataset.state === 'finished');
  assert.match(await readout(page, 'status'), /^Finished: 2000 steps in 3:20\./);
  assert.equal(await page.locator('iframe').count(), 0);
  const asked = own.length;
  assert.ok(asked >= 3);
  await page.waitForTimeout(3000);
  assert.equal(own.length, asked, 'a finished training is still followed');
  assert.deepEqual(wrong.filter((each) => !/ERR_FILE_NOT_FOUND/.test(each)), []); // requests while it was missing
  await page.close();
}

async function checkOthers(browser, { diverged, old, long, newer }) {
  const other = await opened(browser, diverged, 390, 'light');
  assert.match(await readout(other.page, 'status'), /^Diverged after step 0 of 2000: the loss is nan/);
  assert.ok(await other.page.isVisible('[data-view=no-steps]'));
  assert.ok(!await other.page.isVisible('[data-chart=loss]'));
  assert.equal(await other.page.locator('#tab-processes').count(), 0);
  for (const tab of ['samples', 'flow', 'recipe']) await openTab(other.page, tab);
  assert.deepEqual(other.wrong, []);
  await other.page.close();
  const late = await opened(browser, old, 1280, 'dark');
  assert.match(await readout(late.page, 'age'), /^No update for 2 hours:/);
  assert.deepEqual(late.wrong, []);
  await late.page.close();
  const narrow = await opened(browser, newer, 390, 'dark');
  await openTab(narrow.page, 'curves');
  assert.equal(await narrow.page.locator('.level span:visible').count(), 3);
  await checkLevels(narrow.page);
  await narrow.page.close();
  const { page, wrong } = await opened(browser, long, 1280, 'light');
  await openTab(page, 'curves');
  const text = await readout(page, 'loss');
  assert.match(text, /^steps \d+ to 100000: loss 2\.000; validation 2\.500 after step 100000$/);
  assert.match(await readout(page, 'status'), / Loss 2\.000, validation 2\.500\./);
  await openTab(page, 'flow');
  assert.equal(await page.locator('[data-parameter]').count(), 3);
  assert.deepEqual(wrong, []);
  if (screenshots) {
    await openTab(page, 'curves');
    await page.screenshot({ path: path.join(screenshots, `${path.basename(long)}.png`) });
  }
  await page.close();
  console.log(`${path.basename(long)}: ${fs.statSync(long).size} bytes`);
  assert.ok(fs.statSync(long).size < 1e6);
}

const file = (name) => path.join(pages, `report_${name}.html`);

exports.jobs = [
  ['tabs at 1280', (browser) => checkTabs(browser, file('running'), 1280, 'light')],
  ['tabs at 390', (browser) => checkTabs(browser, file('running'), 390, 'dark')],
  ['following', (browser) => checkFollowing(browser, { running: file('running'), newer: file('newer'), finished: file('finished') })],
  ['others', (browser) => checkOthers(browser, { diverged: file('diverged'), old: file('old'), long: file('long'),
    newer: file('newer') })],
];
