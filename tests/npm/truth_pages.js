// Pages of runs and steps that went wrong (tests/pages): what they show is what happened. NaN and
// infinity are visible, axes and logarithms stay readable, the last and lowest values are exact, the
// head names the cause, and a page's address keeps its state.
// Run by run_pages.js.
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const { until, urlOf, watch } = require('./browser.js');
const { pages, screenshots } = require('./page_settings.js');

const readout = (page, name) => page.textContent(`[data-readout=${name}]`);

async function opened(browser, name, { width = 1280, scheme = 'light', hash = '' } = {}) {
  const file = path.join(pages, `${name}.html`);
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  const wrong = watch(page, (url) => url.replace(/[#?].*$/, '') === urlOf(file));
  await page.goto(urlOf(file) + hash);
  return { page, close: async () => {
    if (screenshots) await page.screenshot({ path: path.join(screenshots, `${name}_${width}_${scheme}.png`), fullPage: true });
    assert.deepEqual(wrong, [], name);
    await page.close();
  } };
}

// Boxes of these elements that overlap, by their texts.
const overlapping = (page, selector) => page.$$eval(selector, (all) => {
  const boxes = all.filter((each) => each.checkVisibility()).map((each) => [each.getBoundingClientRect(), each.textContent]);
  return boxes.flatMap(([a, text], i) => boxes.slice(i + 1).filter(([b]) => a.left < b.right - 1 &&
    b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2).map(([, other]) => `${text} / ${other}`));
});

// A loss that rises to 1e18 and a run that diverges.
async function checkRuined(browser, width, scheme) {
  const { page, close } = await opened(browser, 'report_ruined', { width, scheme });
  assert.equal(await page.getAttribute('[data-view=headline]', 'data-rule'), 'rate_too_high');
  assert.match(await page.textContent('[data-view=headline]'),
    /^Problem: The learning rate of 10 is too high: the loss was .* at step 2, .*step 61 was not finite.*Try 0\.001\./s);
  assert.match(await page.textContent('[data-view=headline] code'), /--lr 0\.001 --out m-2$/);
  assert.ok(await page.isChecked('[data-control=log]'), 'the axis should be logarithmic');
  assert.deepEqual(await overlapping(page, '.level span'), []);
  assert.match(await page.textContent('.not-finite'), /not finite at step 61/);
  assert.match(await page.textContent('[data-spike="2"]'), /^step 2: /); // from the first step on
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `${wide} pixels`);
  await page.uncheck('[data-control=log]');
  await close();
}

// 200,000 steps: the last and the lowest values are those of single steps.
async function checkLong(browser) {
  const { page, close } = await opened(browser, 'report_exact');
  assert.match(await readout(page, 'status'), /Loss 1\.111, validation 1\.988, lowest 1\.928 at step 150000\.$/);
  await page.click('#tab-recipe');
  const losses = await page.$$eval('[data-loss^="this run"]', (rows) => rows.map((row) => row.cells[1].textContent));
  assert.deepEqual(losses, ['1.988', '1.928']);
  await page.click('#tab-flow'); // the rate is almost 0 at the end
  assert.match(await readout(page, 'evaluation'), /^step 100000, learning rate 0\.00100$/);
  await page.focus('[data-control=evaluation]');
  await page.keyboard.press('End');
  assert.match(await readout(page, 'evaluation'), /^step 200000, learning rate 9\.0e.9 .*small updates are normal/);
  assert.equal(await page.locator('[data-table=flow] td.warn').count(), 0);
  await close();
}

// Scores beyond the largest f32: the head shows NaN, as the step had it.
async function checkOverflow(browser) {
  const { page, close } = await opened(browser, 'overflow');
  assert.match(await page.textContent('[data-view=headline]'), /attention.*largest f32/s);
  await page.click('#tab-attention');
  await until(page, () => document.documentElement.dataset.maps === 'drawn');
  assert.match(await readout(page, 'role'), /^NaN: the weights of \d+ of 16 queries/);
  assert.match(await readout(page, 'head'), /entropy NaN nats/);
  assert.match(await page.textContent('[data-table=steps] [data-step=dot]'), /exceeds 3\.4e\+38, the largest f32/);
  assert.match(await page.textContent('[data-table=steps] [data-step=weight]'), /NaN/);
  await page.click('#tab-token');
  assert.ok(await page.locator('.way-stage.lost').count() > 3, 'strips of NaN');
  const warned = await page.$eval('.way-stage.lost canvas', (canvas) => {
    const [r, g, b] = canvas.getContext('2d').getImageData(5, 5, 1, 1).data;
    return [r, g, b];
  });
  const colour = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--warn').trim());
  assert.deepEqual(warned, [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)));
  const table = await page.textContent('#panel-token');
  assert.ok(!/\d{25}/.test(table), 'numbers of 25 digits');
  await close();
}

// The address keeps tab, head and tokens; a reload shows them again.
async function checkAddress(browser) {
  const { page, close } = await opened(browser, 'gpt', { hash: '#tab=attention&layer=1&head=2&query=6&key=3' });
  assert.equal(await page.getAttribute('#tab-attention', 'aria-selected'), 'true');
  assert.equal(await page.textContent('[data-title=head]'), 'blocks.1.attention, head 2');
  assert.equal(await page.inputValue('input[aria-label=Query]'), '6');
  await page.click('[data-map="blocks.0.attention 3"]');
  await until(page, () => /layer=0&head=3/.test(window.location.hash));
  await page.reload();
  assert.equal(await page.textContent('[data-title=head]'), 'blocks.0.attention, head 3');
  await close();
}

// 30 to 48 tokens: the chosen query is in sight when the tab opens.
async function checkReveal(browser) {
  const { page, close } = await opened(browser, 'forty', { hash: '#tab=attention' });
  await page.click('[data-switch=Lines]');
  await until(page, () => document.documentElement.dataset.maps === 'drawn');
  const [top, high] = await page.$eval('[data-view=lines]', (element) => [element.scrollTop, element.clientHeight]);
  const y = 26 + 20 * Number(await page.inputValue('input[aria-label=Query]'));
  assert.ok(y >= top && y + 20 <= top + high, `the query is at ${y}, ${top} to ${top + high} is shown`);
  await close();
}

// Lines and tables as CSV with plain numbers, a chart as SVG.
async function checkSaving(browser) {
  const { page, close } = await opened(browser, 'report_exact');
  const saved = async (name) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.click(`[data-save="${name}"]`)]);
    return fs.readFileSync(await file.path(), 'utf8');
  };
  const loss = (await saved('loss.csv')).split('\r\n');
  assert.equal(loss[0], 'step,training loss,validation loss');
  assert.ok(loss.length > 500 && loss.slice(1, -1).every((line) => /^\d+,[\d.]*,[\d.]*$/.test(line)), loss[1]);
  assert.match(await saved('loss.svg'), /^<svg xmlns.*>Loss, nats per token<.*<path d="M[\d.]+ [\d.]+L/s);
  await page.click('#tab-flow');
  const [heads, row] = (await saved('flow.csv')).split('\r\n').map((line) => line.replace(/"[^"]*"/g, 'shape').split(','));
  assert.equal(heads.length, row.length);
  assert.deepEqual([row[0], row[2]], ['blocks.0.up.weight', '0.00100']);
  await close();
}

// Escape and a click elsewhere close the help.
async function checkHelpCloses(browser) {
  const { page, close } = await opened(browser, 'report_exact');
  const help = page.locator('[data-help=curves]');
  for (const end of [() => page.keyboard.press('Escape'), () => page.mouse.click(5, 5)]) {
    await help.locator('summary').click();
    assert.ok(await help.locator('> div').isVisible());
    await end();
    assert.ok(!await help.locator('> div').isVisible());
  }
  await close();
}

// The fast recipe's tables of earlier tokens are no layers, and what they add is named.
async function checkHistory(browser) {
  const { page, close } = await opened(browser, 'history', { hash: '#tab=token' });
  assert.deepEqual(await page.$$eval('.way-layer > .legend', (all) => all.map((each) => each.textContent)), ['blocks.0']);
  const names = await page.$$eval('.way-stage > span:first-child', (all) => all.map((each) => each.textContent));
  assert.deepEqual(names.slice(3, 6), ['Earlier tokens summed', 'Earlier tokens added', 'Position embedding added']);
  assert.equal(names.filter((name) => name === 'Added to the residual stream').length, 2);
  await page.click('#tab-attention');
  assert.match(await readout(page, 'head'), /; 8 queries, 8 keys of 16 numbers;/);
  assert.ok(!/\b1 (layers|heads|queries|keys|operations)\b/.test(await page.textContent('body')));
  // More gradients of parameters than activations: the peak is where it should be.
  await page.click('#tab-memory');
  assert.match(await readout(page, 'peak-reason'), /^The peak is in the backward pass: .*usual when a step has few tokens/);
  assert.match(await page.textContent('[data-help=memory]'), /with few tokens, a rise to the end/);
  await page.click('#tab-gradients');
  assert.match(await page.textContent('[data-help=gradients]'), /Zeros are normal in embeddings/);
  await close();
}

// Back returns to the tab before, a link opens its state, and what nobody chose is not in the address.
async function checkBack(browser) {
  const { page, close } = await opened(browser, 'gpt');
  const hash = () => page.evaluate(() => window.location.hash);
  assert.equal(await hash(), '');
  await page.click('#tab-tape');
  assert.equal(await hash(), '#tab=tape');
  await page.click('[data-control=next]');
  await until(page, () => /walk=1/.test(window.location.hash));
  await page.click('#tab-predictions');
  await page.click('[data-place="3"]');
  await until(page, () => /token=3/.test(window.location.hash));
  await page.goBack();
  await until(page, () => document.querySelector('#tab-tape').getAttribute('aria-selected') === 'true');
  assert.match(await readout(page, 'walk'), /^Step 1 of/);
  await page.goBack();
  await until(page, () => document.querySelector('#tab-picture').getAttribute('aria-selected') === 'true');
  await page.evaluate(() => { window.location.hash = '#tab=memory&event=2'; });
  await until(page, () => /^Event 2: /.test(document.querySelector('[data-readout=time]')?.textContent));
  await close();
  const report = await opened(browser, 'report_exact', { hash: '#tab=curves&step=100000' });
  assert.match(await readout(report.page, 'loss'), /steps? [\d ]*(to )?100\d{3}/);
  await report.page.click('#tab-flow');
  assert.match(await readout(report.page, 'evaluation'), /^step 100000,/);
  await report.close();
}

// One region is read aloud, at most every two seconds; what a page shows when it opens is not.
async function checkSpoken(browser) {
  const { page, close } = await opened(browser, 'gpt', { hash: '#tab=tape' });
  const live = () => page.locator('[aria-live], [role=status]').count();
  assert.equal(await live(), 0);
  await page.evaluate(() => {
    window.said = [];
    window.began = performance.now();
    new MutationObserver((all) => all.forEach(({ target }) => target.closest?.('[data-view=spoken]') &&
      window.said.push(target.textContent))).observe(document.body, { childList: true, subtree: true });
  });
  await page.focus('[data-control=walk]');
  for (let i = 0; i < 20; ++i) await page.keyboard.press('ArrowRight');
  await until(page, () => /^Step 20 of /.test(window.said[window.said.length - 1] ?? ''));
  assert.equal(await live(), 1);
  const [count, seconds] = await page.evaluate(() => [window.said.length, (performance.now() - window.began) / 1000]);
  assert.ok(count <= 2 + seconds / 2, `${count} texts in ${seconds} s`);
  await close();
}

// Every table and chart can be saved; numbers are plain.
async function checkEveryFile(browser) {
  const { page, close } = await opened(browser, 'gpt');
  const saved = async (name) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.click(`[data-save="${name}"]:visible`)]);
    return fs.readFileSync(await file.path(), 'utf8');
  };
  for (const tab of ['picture', 'predictions', 'attention', 'token', 'tape', 'memory', 'gradients']) {
    await page.click(`#tab-${tab}`);
    const tables = await page.$$eval('[data-table]', (all) => all.filter((each) => each.checkVisibility())
      .map((each) => each.dataset.table));
    for (const table of tables) assert.ok(await page.isVisible(`[data-save="${table}.csv"]`), `${tab}: ${table}`);
  }
  await page.click('#tab-predictions');
  const rows = (await saved('likeliest.csv')).split('\r\n');
  assert.equal(rows[0], 'rank,answer,probability,');
  assert.match(rows[1], /^1,[^,]+,0\.\d+,/);
  await page.click('#tab-tape');
  assert.match((await saved('work.csv')).split('\r\n')[1], /^forward,\d+,\d+,[\d.e-]+,[\d.e-]+,[\d.]*$/);
  await page.click('#tab-memory');
  assert.match(await saved('memory.csv'), /^event,bytes\r\n0,\d+\r\n1,\d+/);
  assert.match(await saved('memory.svg'), /^<svg .*Bytes in live tensors.*event/s);
  await page.click('#tab-attention');
  const head = (await saved('head.csv')).trim().split('\r\n');
  assert.equal(head.length, 17);
  const last = head[16].match(/[\d.e-]+(?=,|$)/g).slice(-16).map(Number);
  assert.ok(Math.abs(last.reduce((a, b) => a + b, 0) - 1) < 1e-5, 'the weights of a query sum to 1');
  assert.match(await saved('head.svg'), /^<svg .*<rect .*<text /s);
  await close();
}

// Larger text for readers who ask for it, light paper, marks without colours.
async function checkReaders(browser) {
  const { page, close } = await opened(browser, 'gpt', { scheme: 'dark', hash: '#tab=predictions' });
  const size = () => page.$eval('[data-readout=predictions]', (each) => parseFloat(getComputedStyle(each).fontSize));
  const usual = await size();
  await page.evaluate(() => { document.documentElement.style.fontSize = '24px'; });
  assert.ok(Math.abs(await size() - 1.5 * usual) < 0.01, 'text does not follow the reader\u2019s size');
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--text').trim()), '#1c1c1a');
  assert.ok(!await page.isVisible('[role=tablist]') && !await page.isVisible('.save >> nth=0'));
  await page.emulateMedia({ media: 'screen', forcedColors: 'active' });
  await page.click('#tab-attention');
  const outline = await page.$eval('.maps-row button[aria-selected=true]', (each) => getComputedStyle(each).outlineStyle);
  assert.equal(outline, 'solid', 'the chosen head has no mark');
  await until(page, () => document.documentElement.dataset.maps === 'drawn');
  const names = await page.$$eval('[data-map]', (all) => all.map((each) => each.getAttribute('aria-label')));
  assert.ok(names.every((name) => /^Causal self-attention, layer \d+, head \d+: [A-Z].*\.$/.test(name)), names[0]);
  await close();
}

exports.jobs = [
  ['ruined at 1280', (browser) => checkRuined(browser, 1280, 'light')],
  ['ruined at 390', (browser) => checkRuined(browser, 390, 'dark')],
  ...Object.entries({ checkLong, checkOverflow, checkAddress, checkReveal, checkSaving, checkHelpCloses, checkHistory,
    checkBack, checkSpoken, checkEveryFile, checkReaders }),
];
