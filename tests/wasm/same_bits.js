// Trains in WebAssembly and prints, for each run, "NAME STEPS DIGEST" and its seconds.
//
//     node same_bits.js DIRECTORY CHROMIUM NAME:STEPS...
//
// DIRECTORY holds playground.js and playground.wasm; CHROMIUM is a program, or "node" to train in
// node itself.
const { inBrowser, inNode } = require('./places.js');

const [,, directory, chromium, ...trainings] = process.argv;

(async () => {
  const place = await (chromium === 'node' ? inNode(directory) : inBrowser(directory, chromium));
  for (const training of trainings) {
    const [name, steps] = training.split(':');
    const { digest, seconds } = await place.train(name, Number(steps));
    console.log(`${name} ${steps} ${digest} ${seconds.toFixed(1)}`);
  }
  await place.close();
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
