// Places to train in WebAssembly: { train(name, steps, options), close() } of train.js, in node or
// in a browser.
const fs = require('node:fs');
const path = require('node:path');

exports.inNode = async (directory) => {
  const { moduleFactory, train } = require('./train.js');
  const factory = moduleFactory(directory);
  return { train: (...asked) => train(factory, ...asked), close: () => {} };
};

// In a worker of an empty page, as in the playground.
exports.inBrowser = async (directory, program) => {
  const { chromium } = require('playwright-core');
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: 120000 });
  const page = await browser.newPage();
  const wrong = [];
  page.on('console', (message) => wrong.push(message.text()));
  page.on('pageerror', (error) => wrong.push(error.stack));
  const script = fs.readFileSync(path.join(directory, 'playground.js'), 'utf8') +
    fs.readFileSync(path.join(__dirname, 'train.js'), 'utf8') +
    `onmessage = async ({ data: { wasm, asked } }) => {
      const bytes = Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0));
      const factory = () => tapestryPlayground({ wasmBinary: bytes });
      postMessage(await train(factory, ...asked));
    };`;
  const wasm = fs.readFileSync(path.join(directory, 'playground.wasm')).toString('base64');
  await page.evaluate(([text, bytes]) => Object.assign(window, { text, bytes }), [script, wasm]);
  const train = (...asked) => page.evaluate((wanted) => new Promise((done, fail) => {
    const url = URL.createObjectURL(new Blob([window.text], { type: 'text/javascript' }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }) => done(data);
    worker.onerror = (event) => fail(new Error(event.message));
    worker.postMessage({ wasm: window.bytes, asked: wanted });
  }), asked);
  const close = async () => {
    await browser.close();
    if (wrong.length > 0) throw new Error(`the browser said: ${wrong.join('; ')}`);
  };
  return { train, close };
};
