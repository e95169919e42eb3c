// How fast a text is learned in Chromium: run by hand, with speed.sh, which measures the native
// library.
//
//     node speed.js CHROMIUM DIRECTORY TEXT NAME STEPS
//     node speed.js CHROMIUM DIRECTORY TEXT page STEPS [GOAL]
//
// Prints the seconds of all steps of the run NAME in a worker; or those of two layers of 64 in the
// playground's page, which also draws and evaluates, and with a GOAL those until its validation
// loss was reached, at a rate of 5e-3.
const fs = require('node:fs');
const { chromium } = require('playwright-core');

const { openPage, readout, startOver } = require('./open_playground.js');
const { inBrowser } = require('./places.js');

const [,, program, directory, file, name, steps, goal] = process.argv;

async function inWorker() {
  const place = await inBrowser(directory, program);
  const { seconds } = await place.train(name, Number(steps), { text: fs.readFileSync(file, 'utf8') });
  await place.close();
  return [seconds];
}

// The slider moves by half decades: to the right until the rate is reached.
async function setRate(page, rate) {
  await page.focus('[data-control="lr"]');
  while (Number(await readout(page, 'lr')) < rate) await page.keyboard.press('ArrowRight');
}

async function inPage() {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: 120000 });
  const { page } = await openPage(browser, directory, 1280, 'light');
  await page.selectOption('[data-control="source"]', 'own');
  await page.setInputFiles('[data-control="file"]', file);
  if (goal) await setRate(page, 5e-3);
  await startOver(page, steps);
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  await page.click('[data-control="run"]');
  let reached = NaN, told = '';
  while (!/^(Finished|Diverged)/.test(told)) {
    await page.waitForTimeout(50);
    told = await readout(page, 'status');
    const [, loss] = /validation ([\d.]+)\.$/.exec(told) ?? [];
    if (goal && Number.isNaN(reached) && Number(loss) <= Number(goal)) reached = seconds();
  }
  const all = seconds();
  await browser.close();
  return [all, reached];
}

(name === 'page' ? inPage() : inWorker()).then((all) => {
  console.log(...all.map((x) => x.toFixed(2)));
}, (error) => {
  console.error(error.stack);
  process.exit(1);
});
