// Every state that a reader can bring the pages of tests/pages into, one after another: in each the
// page is no wider than its window, the console is empty, and everything drawn has enough contrast
// (contrast.js). inspect_pages.js and report_pages.js check the contents.
//
// Each page in one colour scheme and width, which alternate; `all`: each in all four, without
// axe-core findings in any state, and with a picture of each in PAGES/../pictures, for viewing (`.ci/long
// pages`). Run by run_pages.js.
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const { checkAccessible, until, urlOf, watch } = require('./browser.js');
const { checkContrast, watchContrast } = require('./contrast.js');
const { all, pages } = require('./page_settings.js');

const pictures = path.join(pages, '../pictures');
const VARIANTS = [[390, 'dark'], [1280, 'light'], [1280, 'dark'], [390, 'light']];

const slide = (control, keys) => async (page) => {
  await page.focus(`[data-control=${control}]`);
  for (const key of keys) await page.keyboard.press(key);
};
const click = (selector) => (page) => page.locator(selector).first().click();
const fill = (control, text) => (page) => page.fill(`[data-control=${control}]`, text);
const tab = (name) => click(`#tab-${name}`);
const help = (name) => click(`[data-help=${name}] summary`);

// A point of an element, as fractions of its size.
const pointAt = (selector, across, down) => async (page) => {
  const element = page.locator(selector).first();
  await element.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await element.boundingBox();
  await page.mouse.move(x + across * width, y + down * height);
};
const drag = (selector) => async (page) => {
  await pointAt(selector, 0.3, 0.5)(page);
  await page.mouse.down();
  await pointAt(selector, 0.7, 0.5)(page);
  await page.mouse.up();
};
const drawn = (page) => until(page, () => document.documentElement.dataset.maps === 'drawn');
const press = (...keys) => async (page) => {
  for (const key of keys) await page.keyboard.press(key);
};
const attention = (stage) => async (page) => {
  const at = await page.$$eval('[data-stage]', (rows, name) =>
    rows.findIndex((row) => row.classList.contains(name)), stage);
  await page.click(`[data-stage="${at}"]`);
};
const otherRun = (page) =>
  page.locator('[data-control=other-runs]').setInputFiles(path.join(pages, 'report_finished.html'));

// By page, [name, action]: a state begins where the previous one ended.
const PICTURE = [['picture', tab('picture')], ['picture_head', click('[data-view=picture] [data-head]')],
  ['picture_back', click('[data-control=way-back]')], ['picture_large', click('[data-control=projector]')], ['story', async (page) => {
    await click('[data-control=projector]')(page);
    await click('[data-control=story]')(page);
  }], ['story_end', click('[data-control=story-end]')]];
const PREDICTIONS = [['predictions', tab('predictions')], ['predictions_help', help('predictions')],
  ['predictions_next', async (page) => {
    await help('predictions')(page);
    await page.locator('[data-place]').first().focus();
    await press('ArrowRight', 'ArrowRight')(page);
  }]];
const ATTENTION = [['attention', async (page) => {
  await tab('attention')(page);
  await drawn(page);
}], ['attention_help', help('attention')]];
const LINES = [['lines', async (page) => {
  await help('attention')(page);
  await click('[data-switch=Lines]')(page);
}], ['lines_pointed', pointAt('[data-view=lines]', 0.1, 0.3)],
['map', click('[data-switch=Heat-map]')], ['map_pointed', pointAt('[data-view=map]', 0.5, 0.6)],
['map_large', slide('zoom', ['End'])],
['other_head', async (page) => {
  await page.locator('[data-map]').last().click();
  await page.fill('input[aria-label=Query]', '3');
  await page.press('input[aria-label=Query]', 'Enter');
}]];
const TOKEN = [['token', tab('token')], ['token_help', help('token')], ['token_values', async (page) => {
  await help('token')(page);
  await attention('attention')(page);
}], ['token_head', async (page) => {
  await page.locator('[data-view=stage] [data-head]').last().click();
  await page.locator('[data-view=stage] [data-d] button').nth(2).click();
}], ['token_output', attention('output')], ['token_add', attention('add')], ['token_play', async (page) => {
  await page.focus('[data-control=play]');
  await press('Enter')(page);
  await page.waitForTimeout(1500);
}], ['token_answer', async (page) => {
  await press('Enter')(page);
  await slide('stage', ['End'])(page);
}]];
const TAPE = [['tape', tab('tape')], ['tape_help', help('tape')], ['tape_walk', async (page) => {
  await help('tape')(page);
  await slide('walk', ['PageUp', 'ArrowRight'])(page);
}], ['tape_opened', async (page) => {
  await page.locator('.node.module').first().focus();
  await press('Enter')(page);
}], ['tape_large', click('[data-zoom=in]')], ['tape_fit', click('[data-zoom=fit]')],
['tape_folded', click('[data-control=fold]')],
['tape_sorted', click('[data-table=entries] th:nth-child(4) button')],
['tape_filtered', fill('filter', 'norm')],
['tape_entry', click('[data-table=entries] tbody tr:not([hidden]) button')]];
const MEMORY = [['memory', tab('memory')], ['memory_help', help('memory')], ['memory_time', async (page) => {
  await help('memory')(page);
  await slide('time', ['PageDown', 'ArrowLeft'])(page);
}], ['memory_chart', pointAt('[data-view=chart]', 0.4, 0.5)], ['memory_block', pointAt('[data-view=lives]', 0.5, 0.9)],
['memory_plan', pointAt('[data-view=plan]', 0.4, 0.8)],
['memory_sorted', click('[data-table=holders] th:nth-child(5) button')]];
const GRADIENTS = [['gradients', tab('gradients')], ['gradients_help', help('gradients')],
  ['gradients_sorted', async (page) => {
    await help('gradients')(page);
    await click('[data-table=parameters] th:nth-child(6) button')(page);
  }], ['gradients_filtered', fill('parameters', 'norm')]];
const IMAGE = [['image_pointed', async (page) => {
  await help('attention')(page);
  await pointAt('[data-view=image]', 0.2, 0.2)(page);
}], ['image_patch', async (page) => {
  await page.focus('[data-view=image]');
  await press('ArrowRight', 'ArrowDown')(page);
}], ['image_class', click('[data-control=class-token]')]];
const RUN = [['picture', tab('picture')], ['picture_before', slide('scrubber', ['Home'])], ['picture_back', click('[data-control=way-back]')],
  ['story', click('[data-control=story]')], ['story_next', click('[data-control=story-next]')],
  ['story_large', click('[data-control=projector]')], ['story_end', async (page) => {
    await click('[data-control=projector]')(page);
    await click('[data-control=story-end]')(page);
  }]];
const CURVES = [['curves', tab('curves')], ['curves_help', help('curves')], ['curves_pointed', async (page) => {
  await help('curves')(page);
  await pointAt('[data-chart=loss]', 0.6, 0.4)(page);
}], ['curves_smoothed', slide('smoothing', ['PageUp', 'PageUp', 'PageUp'])],
['curves_log', click('[data-control=log]')], ['curves_one', click('[data-control=validation]')],
['curves_others', async (page) => {
  await click('[data-control=validation]')(page);
  await otherRun(page);
  await until(page, () => document.querySelectorAll('[data-run]').length === 1);
}], ['curves_zoomed', drag('[data-chart=loss]')], ['curves_all', click('[data-control=all-steps]')]];
const REST = [['samples', tab('samples')], ['samples_help', help('samples')], ['sentence', tab('sentence')],
  ['sentence_help', help('sentence')], ['sentence_before', async (page) => {
    await help('sentence')(page);
    await slide('look', ['Home'])(page);
  }], ['sentence_head', click('[data-look="0 1"]')], ['sentence_play', async (page) => {
    await click('[data-control=play-looks]')(page);
    await until(page, () => /Play/.test(document.querySelector('[data-control=play-looks]').textContent));
  }], ['flow', tab('flow')], ['flow_help', help('flow')], ['flow_before', async (page) => {
    await help('flow')(page);
    await slide('evaluation', ['Home'])(page);
  }], ['flow_filtered', fill('parameters', 'norm')], ['processes', tab('processes')],
  ['processes_help', help('processes')], ['recipe', tab('recipe')], ['recipe_help', help('recipe')]];

const PAGES = {
  gpt: [...PICTURE, ...PREDICTIONS, ...ATTENTION, ...LINES, ...TOKEN, ...TAPE, ...MEMORY, ...GRADIENTS],
  encoder_decoder: [['predictions', tab('predictions')], ...ATTENTION, ...LINES, ...TOKEN.slice(0, 3)],
  masked: [...PICTURE, ...PREDICTIONS, ...ATTENTION],
  vision: [['predictions', tab('predictions')], ...ATTENTION, ...IMAGE, ['lines', click('[data-switch=Lines]')]],
  large: [...ATTENTION, ['token', tab('token')]],
  dead: [['gradients', tab('gradients')]],
  finding: [['gradients', tab('gradients')], ['tape', tab('tape')], ['predictions', tab('predictions')]],
  report_running: [...RUN, ...CURVES, ...REST],
  report_newer: [['spikes', tab('curves')]],
  report_diverged: [['curves', tab('curves')], ['samples', tab('samples')], ['flow', tab('flow')]],
  report_long: [['curves', tab('curves')]],
  experiments: [['figures', async () => {}]],
};

const drawingsOf = (folder) => {
  const whole = path.join(__dirname, '../..', folder);
  return fs.readdirSync(whole).filter((name) => name.endsWith('.svg')).map((name) => path.join(whole, name));
};

// The figures of docs/experiments.md, one below another.
function writeFigures() {
  const figures = drawingsOf('docs/experiments').map((file) =>
    `<img src="${urlOf(file)}" alt="${path.basename(file)}" style="max-width: 100%">`);
  fs.writeFileSync(path.join(pages, 'experiments.html'), '<!doctype html><html lang="en" style="background: Canvas"><meta charset="utf-8">' +
    '<meta name="color-scheme" content="light dark"><title>Experiments</title>' +
    `<main><h1>Experiments</h1>${figures.join('\n')}</main></html>`);
}

async function goThrough(browser, name, states, [width, colorScheme]) {
  const file = path.join(pages, `${name}.html`);
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  let looked = 0;
  await watchContrast(page);
  const wrong = watch(page, (url) => url.replace(/\?follow=\d+$/, '') === urlOf(file) ||
    url.endsWith('.svg'));
  await page.goto(urlOf(file));
  for (const [number, [state, act]] of states.entries()) {
    const where = `${name}, ${state}, ${width} pixels, ${colorScheme}`;
    await act(page).catch((error) => assert.fail(`${where}: ${error.message}`));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${where}: the page is ${wide} pixels wide`);
    await page.evaluate(() => new Promise((made) => requestAnimationFrame(() => requestAnimationFrame(made))));
    looked += await checkContrast(page, where);
    assert.deepEqual(wrong, [], where);
    if (!all) continue;
    await checkAccessible(page, where, { whole: true });
    const to = `${name}_${String(number).padStart(2, '0')}_${state}_${width}_${colorScheme}.png`;
    // Scrolls to the top, or a table's head would be in the middle of the picture; except if the
    // pointer must not move.
    if (!state.endsWith('pointed')) await page.evaluate(() => window.scrollTo(0, 0));
    await page.screenshot({ path: path.join(pictures, to), fullPage: true });
  }
  await page.close();
  return looked;
}

// Contrast in figures and the course's pictures, which pages show as images. Returns the number of
// items checked.
async function lookAtDrawings(browser, colorScheme) {
  const page = await browser.newPage({ colorScheme });
  await watchContrast(page);
  await page.goto('about:blank');
  let looked = 0;
  for (const file of [...drawingsOf('docs/experiments'), ...drawingsOf('docs/course/pictures')]) {
    await page.setContent(fs.readFileSync(file, 'utf8'));
    looked += await checkContrast(page, `${path.basename(file)}, ${colorScheme}`);
  }
  await page.close();
  return looked;
}

async function checkStates(browser, name, states, variants) {
  let looked = 0;
  for (const variant of variants) looked += await goThrough(browser, name, states, variant);
  assert.ok(looked >= 8 * states.length * variants.length || name === 'experiments', `${name}: ${looked} colours were looked at`);
  console.log(`${name}: ${states.length * variants.length} states, ${looked} pairs of colours`);
}

fs.rmSync(pictures, { recursive: true, force: true });
fs.mkdirSync(pictures, { recursive: true });
writeFigures();
exports.jobs = [
  ...Object.entries(PAGES).map(([name, states], i) =>
    [name, (browser) => checkStates(browser, name, states, all ? VARIANTS : [VARIANTS[i % VARIANTS.length]])]),
  ...['light', 'dark'].map((colorScheme) => [`drawings, ${colorScheme}`, async (browser) => {
    const looked = await lookAtDrawings(browser, colorScheme);
    assert.ok(looked > 500, `${looked} colours were looked at`);
  }]),
];
