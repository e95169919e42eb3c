// How fast a page trains, on a text, in chromium: by hand, with speed.sh, which asks the native library
// for the same.
//
//     node speed.js CHROMIUM DIRECTORY TEXT NAME STEPS [GOAL]
//
// Prints the seconds of all steps and, with a GOAL for the validation loss, those until it was reached.
const fs = require('node:fs');

const { inBrowser } = require('./places.js');

const [,, chromium, directory, file, name, steps, goal] = process.argv;

(async () => {
  const place = await inBrowser(directory, chromium);
  const { seconds, reached } = await place.train(name, Number(steps),
    { text: fs.readFileSync(file, 'utf8'), goal: Number(goal ?? 0), evaluateEvery: goal ? 100 : 0,
      lr: goal ? 3e-3 : 1e-3 });
  await place.close();
  console.log(seconds.toFixed(2), goal ? reached?.toFixed(2) ?? 'never' : '');
})().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
