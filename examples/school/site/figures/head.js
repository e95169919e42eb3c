// Chapter 9: one head over "the robot hit the ball". A word asks; scores, weights and its result.
function fillHead(root) {
  const words = ['the', 'robot', 'hit', 'the', 'ball'];
  const x = [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]];
  const wQ = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 2, 0, 1], [1, 0, 0, 0]];
  const wK = [[0, 0, 1, 0], [0, 2, 0, 0], [1, 0, 0, 1], [0, 0, 0, 2]];
  const wV = [[0.5, 0, 0, 0], [0, 3, 1, 0], [1, 0, 0, 2], [0, 1, 0, 4]];
  const asks = choice(say('the word that asks', '提问的词'), words, 2, update);
  const causal = checkbox(say('causal mask', '因果掩码'), false, update);
  const alike = checkbox('W_Q = W_K', false, update);
  const scores = words.map(() => h('td', { class: 'value' }));
  const weights = words.map(() => bar('said'));
  const rows = words.map((word, j) => h('tr', {}, h('th', { scope: 'row' }, word), scores[j], h('td', {}, weights[j].element)));
  const told = statement();
  root.append(
    h('div', { class: 'controls' }, h('span', { class: 'labelled' }, say('asks:', '提问：'), asks.element),
      causal.element, alike.element),
    table(say('what the word gets from each word', '这个词从每个词那里得到多少'),
      [say('is asked', '被问'), say('score q·k / √d', '得分 q·k / √d'), say('weight', '权重')], rows),
    told);

  function update() {
    const i = asks.value;
    const found = head(x, wQ, alike.value ? wQ : wK, wV, causal.value);
    words.forEach((_, j) => {
      const score = found.scores[i][j];
      scores[j].textContent = score === -Infinity ? '\u2212\u221e' : shown(score, 2);
      weights[j].set(found.weights[i][j]);
      rows[j].classList.toggle('chosen', i === j);
    });
    const y = found.y[i].map((value) => shown(value, 2)).join(', ');
    const largest = found.weights[i].indexOf(Math.max(...found.weights[i]));
    told.textContent = say(
      `"${words[i]}" takes most from "${words[largest]}". Its result, the mean of the values: y = (${y}).`,
      `“${words[i]}”从“${words[largest]}”那里取得最多。它的结果是值的加权平均：y = (${y})。`);
  }
  update();
}
FIGURES['one-head'] = { title: say('The same for any word: choose the one that asks', '换一个词来提问'), keeps: true,
  fill: fillHead };
