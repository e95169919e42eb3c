// Search in the site: titles, headings and the text that follows them, from search_index.js, by all words of what is
// asked; a page works without a server.
const field = document.querySelector('.search-field');
const list = document.querySelector('.found');
const said = document.querySelector('.search-said');
const MOST_FOUND = 40;
const MOST_SHOWN = 160; // characters of what follows a heading

// Higher where a heading has the words; 0 if a word is nowhere.
function rank({ title, heading, text }, words) {
  let sum = 0;
  for (const word of words) {
    const place = [[heading, 8], [title, 4], [text, 1]].find(([where]) => where.toLowerCase().includes(word));
    if (!place) return 0;
    sum += place[1];
  }
  return sum;
}

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = words.length === 0 ? [] : window.searchIndex.map((entry) => ({ entry, at: rank(entry, words) }))
    .filter(({ at }) => at > 0).sort((a, b) => b.at - a.at);
  list.replaceChildren(...all.slice(0, MOST_FOUND).map(({ entry }) => {
    const link = document.createElement('a');
    link.href = entry.url;
    link.textContent = entry.heading || entry.title;
    const where = document.createElement('div');
    where.className = 'where';
    where.textContent = `${entry.title}: ${entry.text.slice(0, MOST_SHOWN)}`;
    const item = document.createElement('li');
    item.append(link, where);
    return item;
  }));
  said.textContent = words.length === 0 ? '' : all.length === 0 ? 'Nothing is found.' : `${all.length} found` +
    `${all.length > MOST_FOUND ? `, the first ${MOST_FOUND} of them shown` : ''}.`;
}

field.value = new URLSearchParams(window.location.hash.slice(1)).get('q') ?? '';
field.addEventListener('input', () => {
  history.replaceState(null, '', `#q=${encodeURIComponent(field.value)}`);
  search();
});
search();
field.focus();
