// Screenshots of the pages for the README: NAME-light.png and NAME-dark.png.
//
//     node screenshots.js CHROMIUM TO INSPECT REPORT [PLAYGROUND]
const fs = require('node:fs');
const path = require('node:path');
const { chromium } = require('playwright-core');

const { png } = require('./png.js');

const [,, program, to, inspect, report, playground] = process.argv;
const SIZE = { width: 1280, height: 800 }; // a first screen, whole

// Actions on a page before its screenshot.
const SHOTS = [
  ['picture', inspect, async () => {}],
  ['attention', inspect, async (page) => { // the head with the most pronounced role
    await page.click('#tab-attention');
    let best = ['', -1];
    for (const map of await page.$$eval('[data-map]', (all) => all.map((each) => each.dataset.map))) {
      await page.click(`[data-map="${map}"]`);
      const [, share] = /(\d+)%/.exec(await page.textContent('[data-readout=role]')) ?? [0, 0];
      if (Number(share) > best[1]) best = [map, Number(share)];
    }
    await page.click(`[data-map="${best[0]}"]`);
  }],
  ['token', inspect, async (page) => {
    await page.click('#tab-token');
    await page.locator('.way-stage.attention').nth(1).click();
  }],
  ['report', report, async () => {}],
  ['playground', playground, async (page) => {
    await page.click('[data-control=run]');
    for (let i = 0; i < 90 && await page.evaluate(() => Number(document.body.dataset.step)) < 600; ++i) await page.waitForTimeout(1000);
  }],
];

// The pixels of a PNG, decoded by the browser.
async function pixelsOf(browser, shot) {
  const page = await browser.newPage();
  const { width, height, text } = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    let binary = '';
    for (let i = 0; i < data.length; i += 8192) binary += String.fromCharCode(...data.subarray(i, i + 8192));
    return { width: image.width, height: image.height, text: btoa(binary) };
  }, shot.toString('base64'));
  await page.close();
  return png(Buffer.from(text, 'base64'), width, height);
}

(async () => {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
  for (const [name, file, prepare] of SHOTS.filter(([, from]) => from)) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.newPage({ viewport: SIZE, colorScheme });
      await page.goto(`file://${path.resolve(file)}`);
      await prepare(page);
      await page.evaluate(() => scrollTo(0, 0));
      await page.mouse.move(0, 0);
      await page.waitForTimeout(500);
      fs.writeFileSync(path.join(to, `${name}-${colorScheme}.png`), await pixelsOf(browser, await page.screenshot()));
      await page.close();
    }
  }
  await browser.close();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
