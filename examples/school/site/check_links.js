// Checks that every link of the site leads to a file of the site, and every fragment to an existing
// id. Prints those that do not; exits with 1 if there are any.
//
//     node check_links.js SITE
const fs = require('node:fs');
const path = require('node:path');

const site = path.resolve(process.argv[2]);
const pages = fs.readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html'))
  .map((name) => path.join(site, name));

// The visible text of a page, without the scripts and styles of self-contained pages.
const textOf = (file) => fs.readFileSync(file, 'utf8').replace(/<script\b(?![^>]*\bsrc=)[^>]*>[^]*?<\/script>/g, '');
const unescaped = (text) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"');

const places = new Map();
function placesOf(file) {
  if (!places.has(file)) {
    places.set(file, new Set([...textOf(file).matchAll(/\s(?:id|name)="([^"]*)"/g)].map(([, id]) => id)));
  }
  return places.get(file);
}

let links = 0;
const broken = [];
for (const page of pages) {
  for (const [, target] of textOf(page).matchAll(/\s(?:href|src)="([^"]*)"/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    ++links;
    const [name, place] = unescaped(target).split('#').map(decodeURIComponent);
    const file = name ? path.resolve(path.dirname(page), name) : page;
    const inside = file === site || file.startsWith(site + path.sep);
    if (!inside || !fs.existsSync(file) || !fs.statSync(file).isFile() ||
        (place && !place.includes('=') && file.endsWith('.html') && !placesOf(file).has(place))) { // =: a page's state
      broken.push(`${path.relative(site, page)}: ${target}`);
    }
  }
}
broken.forEach((line) => console.error(line));
console.log(`${pages.length} pages, ${links} links, ${broken.length} of them lead nowhere`);
process.exit(broken.length || !links ? 1 : 0);
