// Chapter 9: a query and eight keys of +1 and -1. How large are the scores, and what does softmax
// make of them, with and without the division by sqrt(d_k)?
function fillWidths(root) {
  const KEYS = 8;
  const width = slider('d_k', [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], 64, update);
  const divided = checkbox(say('divide by √d_k', '除以 √d_k'), true, update);
  const hidden = checkbox(say('mask: hide keys 5 to 8', '掩码：遮住第 5 到第 8 个键'), false, update);
  let seed = 1;
  const again = button(say('draw again', '重新抽数'), () => { ++seed; update(); });
  const products = Array.from({ length: KEYS }, () => h('td', { class: 'value' }));
  const scores = products.map(() => h('td', { class: 'value' }));
  const weights = products.map(() => bar('said'));
  const told = statement();
  root.append(
    h('div', { class: 'controls' }, width.element, divided.element, hidden.element, again),
    table(say('scores and weights of eight keys', '八个键的得分和权重'),
      [say('key', '键'), 'q·k', say('score', '得分'), say('weight', '权重')],
      products.map((cell, j) => h('tr', {}, h('th', { scope: 'row' }, String(j + 1)), cell, scores[j], h('td', {}, weights[j].element)))),
    told);

  function update() {
    const found = widths(seed, width.value, divided.value, hidden.value ? 4 : KEYS);
    products.forEach((cell, j) => {
      cell.textContent = shown(found.products[j], 0);
      scores[j].textContent = found.scores[j] === -Infinity ? '\u2212\u221e' : shown(found.scores[j], 2);
      weights[j].set(found.weights[j]);
    });
    const typical = Math.sqrt(width.value);
    const largest = shown(Math.max(...found.weights), 2);
    told.textContent = say(
      `With d_k = ${width.value} a product q·k is typically about √${width.value} = ${shown(typical, 1)} in size, ` +
      `${divided.value ? 'and a score about 1' : 'and so is a score'}. The largest weight is ${largest}.`,
      `d_k = ${width.value} 时，点积 q·k 的大小通常在 √${width.value} = ${shown(typical, 1)} 左右，` +
      `${divided.value ? '得分在 1 左右' : '得分也是'}。最大的权重是 ${largest}。`);
  }
  update();
}
FIGURES['sqrt_dk-gradient'] = { title: say('How large scores are, and what softmax makes of them', '得分有多大，softmax 把它们变成什么'), keeps: true,
  fill: fillWidths };
