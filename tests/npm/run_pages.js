// The checks of the pages from tests/pages, in one Chromium:
//
//     node run_pages.js CHROMIUM PAGES [--all] SCRIPT...
//
// A script exports `jobs`, [name, check(browser)], independent of each other. Several run at a time, because each
// mostly waits for the next frame; each of these lanes has a context, and so a process, of its own (browser.js).
const { launchBrowser, newLane } = require('./browser.js');
const { program, scripts } = require('./page_settings.js');

const LANES = 4;

(async () => {
  const began = Date.now();
  const browser = await launchBrowser(program);
  const jobs = scripts.flatMap((script) =>
    require(`./${script}.js`).jobs.map(([name, check]) => [`${script}: ${name}`, check]));
  const left = [...jobs];
  const times = [];
  await Promise.all(Array.from({ length: LANES }, async () => {
    const lane = await newLane(browser);
    for (let job = left.shift(); job; job = left.shift()) {
      const [name, check] = job;
      const start = Date.now();
      await check(lane).catch((error) => {
        error.message = `${name}: ${error.message}`;
        throw error;
      });
      times.push([Date.now() - start, name]);
    }
    await lane.close();
  }));
  await browser.close();
  const seconds = (ms) => `${(ms / 1000).toFixed(0)} s`;
  const longest = times.sort(([a], [b]) => b - a).slice(0, 3).map(([ms, name]) => `${name} (${seconds(ms)})`);
  console.log(`${jobs.length} jobs in ${seconds(Date.now() - began)}; the longest: ${longest.join(', ')}`);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
