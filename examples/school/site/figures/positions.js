// Chapter 12: a position as the hands of a clock, and the dot product of two positions.
function fillPositions(root) {
  const LEFT = 18; // of the plot
  const upTo = (n) => Array.from({ length: n + 1 }, (_, i) => i);
  const place = slider(say('position', '位置'), upTo(100), 0, update);
  const apart = slider(say('distance', '距离'), upTo(100), 44, update);
  const hands = choice(say('hands', '针的数目'), ['2', '4', '16'], 0, update);
  const clocks = [0, 1].map(() => svg('svg', { viewBox: '-60 -60 120 120', class: 'dial', role: 'img' }));
  const names = clocks.map(() => h('figcaption', {}));
  const line = svg('polyline', { class: 'curve' });
  const mark = svg('circle', { r: 5, class: 'mark' });
  const top = svg('text', { x: 14, y: 14, 'text-anchor': 'end' });
  const zero = svg('text', { x: 14, 'text-anchor': 'end' });
  const axis = svg('line', { x1: LEFT, x2: LEFT + 300, class: 'axis' });
  const curve = svg('svg', { viewBox: '0 0 326 130', class: 'plot', role: 'img',
    'aria-label': say('dot product against distance', '点积随距离的变化') }, axis, line, mark, top, zero,
  svg('text', { x: LEFT, y: 126 }, say('P(m) · P(m + distance) for distances from 0 to 100', '距离从 0 到 100 的 P(m) · P(m + 距离)')));
  const told = statement();
  root.append(
    h('div', { class: 'controls' }, place.element, apart.element,
      h('span', { class: 'labelled' }, say('hands', '针'), hands.element)),
    h('div', { class: 'dials' }, ...clocks.map((dial, i) => h('figure', {}, dial, names[i])), curve),
    told);

  function drawHands(dial, t, width) {
    const pairs = width / 2;
    dial.replaceChildren(svg('circle', { r: 56, class: 'face' }), ...upTo(pairs - 1).map((i) => {
      const [sine, cosine] = position(t, width).slice(2 * i, 2 * i + 2);
      const length = 54 - 26 * i / Math.max(1, pairs - 1);
      return svg('line', { x2: length * sine, y2: -length * cosine, class: i === 0 ? 'hand first' : 'hand' });
    }).reverse());
    dial.setAttribute('aria-label', say(`the hands at position ${t}`, `位置 ${t} 的针`));
  }

  function update() {
    const width = 2 * [2, 4, 16][hands.value], t = place.value, k = apart.value;
    const at = position(t, width);
    const product = (distance) => dot(at, position(t + distance, width));
    [t, t + k].forEach((where, i) => {
      drawHands(clocks[i], where, width);
      names[i].textContent = say(`position ${where}`, `位置 ${where}`);
    });
    const most = width / 2, y = (value) => 10 + 65 * (1 - value / most);
    line.setAttribute('points', upTo(100).map((d) => `${LEFT + 3 * d},${y(product(d)).toFixed(2)}`).join(' '));
    mark.setAttribute('cx', LEFT + 3 * k);
    mark.setAttribute('cy', y(product(k)));
    axis.setAttribute('y1', y(0));
    axis.setAttribute('y2', y(0));
    top.textContent = String(most);
    zero.setAttribute('y', y(0) + 4);
    zero.textContent = '0';
    told.textContent = say(
      `P(${t}) · P(${t + k}) = ${shown(product(k), 4)}. Move the position: the hands turn, and neither this number nor the curve changes.`,
      `P(${t}) · P(${t + k}) = ${shown(product(k), 4)}。移动位置：针在转，这个数和曲线都不变。`);
  }
  update();
}
FIGURES.clock = { title: say('Positions as the hands of a clock', '位置：钟上的针'),
  fill: fillPositions };
