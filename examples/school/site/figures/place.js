// Puts each live figure in the place of its picture, which stays for printing and without script; or
// below a picture that shows something else.
for (const picture of document.querySelectorAll('main img')) {
  const name = picture.getAttribute('src').replace(/^.*\//, '').replace(/(\.zh)?\.svg$/, '');
  if (!Object.hasOwn(FIGURES, name)) continue;
  const { title, fill, keeps } = FIGURES[name];
  const live = h('div', { class: 'live', role: 'group', 'aria-label': title, 'data-figure': name },
    h('p', { class: 'title' }, title));
  fill(live);
  picture.after(live);
  if (!keeps) picture.classList.add('still');
}
