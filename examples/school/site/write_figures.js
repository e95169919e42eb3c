// Writes the style of the site's pages, site.css, and the live figures of the course, figures.js:
//
//     node write_figures.js OUT
//
// A page opened as a file can load no modules: the figures are one script.
// Read next: figures/figure.js.
const fs = require('node:fs');
const path = require('node:path');

const SCRIPTS = ['numbers', 'products', 'figure', 'walk', 'race', 'softmax', 'head', 'widths', 'positions', 'place'];
const STYLES = ['../../../nn/pages/web/colours.css', 'web/site.css', 'figures/figures.css'];

const read = (name) => fs.readFileSync(path.join(__dirname, name), 'utf8');
const [,, out] = process.argv;
fs.writeFileSync(path.join(out, 'figures.js'),
  `(() => {\n'use strict';\n${SCRIPTS.map((name) => read(`figures/${name}.js`)).join('\n')}})();\n`);
fs.writeFileSync(path.join(out, 'site.css'), STYLES.map(read).join(''));
