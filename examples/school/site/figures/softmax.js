// Chapter 7: scores and a temperature become probabilities, a loss and a gradient.
function fillSoftmax(root) {
  const scores = [1, 2, 4];
  const range = Array.from({ length: 33 }, (_, i) => i / 2 - 8);
  const name = (i) => say(`score ${i + 1}`, `得分 ${i + 1}`);
  const fields = scores.map((score, i) => slider(name(i), range, score, update, (x) => x.toFixed(1), String(i + 1)));
  const temperature = slider(say('temperature', '温度'), [0.1, 0.2, 0.5, 1, 2, 5, 10], 1, update);
  const target = choice(say('the truth', '真值'), ['1', '2', '3'], 1, update);
  const p = scores.map(() => bar('said'));
  const g = scores.map(() => bar('back'));
  const words = statement();
  root.append(
    table(say('probabilities and gradients', '概率和梯度'),
      [say('scores', '得分'), say('probability', '概率'), say('gradient dL/d(score)', '梯度 dL/d(得分)')],
      scores.map((_, i) => h('tr', {}, h('td', {}, fields[i].element), h('td', {}, p[i].element), h('td', {}, g[i].element)))),
    h('div', { class: 'controls' }, temperature.element,
      h('span', { class: 'labelled' }, say('the truth', '真值'), target.element)),
    words);

  function update() {
    const found = crossEntropy(fields.map((field) => field.value), temperature.value, target.value);
    found.p.forEach((share, i) => p[i].set(share));
    found.gradient.forEach((slope, i) => g[i].set(slope * temperature.value, shown(slope)));
    words.textContent = say(
      `The truth has the probability ${shown(found.p[target.value])}: L = \u2212log p = ${shown(found.loss, 2)}. ` +
      `The gradient is (p \u2212 truth) / temperature; its parts sum to 0.`,
      `真值的概率是 ${shown(found.p[target.value])}：L = \u2212log p = ${shown(found.loss, 2)}。梯度是（p \u2212 真值）/ 温度，各份之和为 0。`);
  }
  update();
}
FIGURES.softmax = { title: say('From scores to a loss, and back', '从得分到损失，再回来'),
  fill: fillSoftmax };
