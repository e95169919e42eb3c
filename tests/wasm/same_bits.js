// Trains in WebAssembly and prints, for each training, "NAME STEPS DIGEST" and its seconds.
//
//     node same_bits.js DIRECTORY CHROMIUM NAME:STEPS...
//
// DIRECTORY holds playground.js and playground.wasm; CHROMIUM is a program, or "node", where the
// trainings run in node itself.
const fs = require('node:fs');
const path = require('node:path');

const [,, directory, chromium, ...trainings] = process.argv;

async function inNode() {
  const { moduleFactory, trainedDigest } = require('./train.js');
  const factory = moduleFactory(directory);
  return { digestOf: (name, steps) => trainedDigest(factory, name, steps), close: () => {} };
}

// In a worker of an empty page, as the playground's own trains.
async function inBrowser() {
  const { chromium: launcher } = require('playwright-core');
  const browser = await launcher.launch({ executablePath: chromium, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  const wrong = [];
  page.on('console', (message) => wrong.push(message.text()));
  page.on('pageerror', (error) => wrong.push(error.stack));
  const script = fs.readFileSync(path.join(directory, 'playground.js'), 'utf8') +
    fs.readFileSync(path.join(__dirname, 'train.js'), 'utf8') +
    `onmessage = async ({ data: { wasm, name, steps } }) => {
      const bytes = Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0));
      const factory = () => tapestryPlayground({ wasmBinary: bytes });
      postMessage(await trainedDigest(factory, name, steps));
    };`;
  const wasm = fs.readFileSync(path.join(directory, 'playground.wasm')).toString('base64');
  await page.evaluate(([text, bytes]) => Object.assign(window, { text, bytes }), [script, wasm]);
  const digestOf = (name, steps) => page.evaluate(([training, count]) => new Promise((done, fail) => {
    const url = URL.createObjectURL(new Blob([window.text], { type: 'text/javascript' }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }) => done(data);
    worker.onerror = (event) => fail(new Error(event.message));
    worker.postMessage({ wasm: window.bytes, name: training, steps: count });
  }), [name, steps]);
  const close = async () => {
    await browser.close();
    if (wrong.length > 0) throw new Error(`the browser said: ${wrong.join('; ')}`);
  };
  return { digestOf, close };
}

(async () => {
  const place = await (chromium === 'node' ? inNode() : inBrowser());
  for (const training of trainings) {
    const [name, steps] = training.split(':');
    const began = Date.now();
    const digest = await place.digestOf(name, Number(steps));
    console.log(`${name} ${steps} ${digest} ${((Date.now() - began) / 1000).toFixed(1)}`);
  }
  await place.close();
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
