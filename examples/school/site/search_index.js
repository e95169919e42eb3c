// Writes the site's search index: every heading of its pages of text, with its page's title and the text
// that follows.
//
//     node search_index.js SITE
const fs = require('node:fs');
const path = require('node:path');

const site = path.resolve(process.argv[2]);
const MOST_TEXT = 600; // characters

const plain = (html) => html.replace(/<(style|script|annotation)\b[^]*?<\/\1>/g, ' ').replace(/<[^>]*>/g, ' ')
  .replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
  .replace(/\s+/g, ' ').trim();

// What the pages of text are, without pages of the library, headers and the reference.
const pages = ['README.html', 'README.zh.html', 'CONTRIBUTING.html', 'CHANGELOG.html',
  ...fs.readdirSync(path.join(site, 'docs'), { recursive: true }).filter((name) => name.endsWith('.html'))
    .map((name) => `docs/${name.split(path.sep).join('/')}`)].filter((name) => fs.existsSync(path.join(site, name)));

const index = pages.flatMap((url) => {
  const html = fs.readFileSync(path.join(site, url), 'utf8');
  const title = plain(/<title>([^]*?)<\/title>/.exec(html)[1]).replace(/ \u2013 Tapestry$/, '');
  const body = html.slice(html.indexOf('<main>')).replace(/<details class="contents">[^]*?<\/details>/, '');
  const parts = body.split(/(?=<h[1-4][ >])/).slice(1);
  return parts.map((part) => {
    const [, tag, attributes, heading] = /^<(h[1-4])([^>]*)>([^]*?)<\/\1>/.exec(part);
    const id = / id="([^"]*)"/.exec(attributes)?.[1];
    return { url: tag === 'h1' || !id ? url : `${url}#${id}`, title, heading: plain(heading),
      text: plain(part.slice(part.indexOf(`</${tag}>`))).slice(0, MOST_TEXT) };
  });
});
fs.writeFileSync(path.join(site, 'site/search_index.js'), `window.searchIndex = ${JSON.stringify(index)};\n`);
console.log(`search: ${index.length} headings of ${pages.length} pages`);
