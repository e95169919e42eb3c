// What the tests of pages share.
const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');

// A copy of the page with the script and style of a build without npm (plain.js, plain.css), named
// to its content security policy; its path.
exports.withPlain = (file, plain) => {
  const script = fs.readFileSync(`${plain}.js`, 'utf8');
  const style = fs.readFileSync(`${plain}.css`, 'utf8');
  const hash = (text) => `sha256-${crypto.createHash('sha256').update(text).digest('base64')}`;
  const page = fs.readFileSync(file, 'utf8');
  const start = page.lastIndexOf('<script>') + '<script>'.length;
  const replaced = page.slice(0, start) + script + page.slice(page.lastIndexOf('</script>'));
  const to = file.replace('.html', '_plain.html');
  fs.writeFileSync(to, replaced
    .replace(/<style>[^]*?<\/style>/, () => `<style>${style}</style>`)
    .replace(/script-src '[^']*'; style-src '[^']*'/,
      `script-src '${hash(script)}'; style-src '${hash(style)}'`));
  return to;
};

// Fails on anything that axe-core finds in the page as it stands: names, roles, focus, contrast.
exports.checkAccessible = async (page, where) => {
  await page.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(violations.map(({ id, impact, nodes }) =>
    [id, impact, ...nodes.slice(0, 3).map(({ target }) => target.join(' '))]), [], where);
};

// A list that fills with what the page must not do: write to the console, throw, ask for a URL that
// is not allowed, open a dialog.
exports.watch = (page, allowed) => {
  const wrong = [];
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    if (!allowed(request.url())) wrong.push(`request: ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return wrong;
};
