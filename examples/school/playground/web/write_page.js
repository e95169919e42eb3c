// Writes the playground as one HTML file: joined scripts and styles, which import those of
// nn/pages/web; the worker's text; the library, compressed, as base64. Run by node after everything
// is compiled:
//
//     node write_page.js PAGES_WEB PLAYGROUND_JS PLAYGROUND_WASM OUT
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');

const [,, pages, glue, wasm, out] = process.argv;
const folders = [__dirname, pages];

const find = (name) => folders.map((folder) => path.join(folder, name))
  .find((file) => fs.existsSync(file));

// The module's text without imports and exports, preceded by the modules it imports: top-level
// names are all different.
function joined(name, done = new Set()) {
  if (done.has(name)) return '';
  done.add(name);
  const text = fs.readFileSync(find(name), 'utf8');
  const imports = [...text.matchAll(/^import [^;]* from '\.\/(.*)';$/gm)].map(([, file]) => file);
  return imports.map((file) => joined(file, done)).join('') +
    text.replace(/^import [^;]*;\n/gm, '').replace(/^export /gm, '');
}

const hash = (text) => `'sha256-${crypto.createHash('sha256').update(text).digest('base64')}'`;

function inElement(text, element) {
  if (text.includes(`</${element}`)) throw new Error(`a </${element} would end the page's early`);
  return text;
}

const script = `'use strict';\n(() => {\n${joined('playground.js')}})();\n`;
const style = ['libraries/uplot.css', 'colours.css', 'page.css', 'report.css', 'playground.css']
  .map((name) => fs.readFileSync(find(name), 'utf8')).join('');
const worker = fs.readFileSync(glue, 'utf8') + joined('worker.js');
const policy = `default-src 'none'; script-src ${hash(script)} 'wasm-unsafe-eval'; ` +
  `style-src ${hash(style)}; worker-src blob:; base-uri 'none'; form-action 'none'`;

fs.writeFileSync(out, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Playground \u2013 Tapestry</title>
<style>${inElement(style, 'style')}</style>
</head>
<body>
<main id="page"><noscript>This page draws itself with a script, which is switched off.</noscript></main>
<script type="text/plain" id="worker">${inElement(worker, 'script')}</script>
<script type="text/plain" id="wasm">${zlib.gzipSync(fs.readFileSync(wasm), { level: 9 }).toString('base64')}</script>
<script>${inElement(script, 'script')}</script>
</body>
</html>
`);
