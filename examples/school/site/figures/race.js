// Chapter 6: three products race in the reader's browser, on one core, at the press of a button.
function fillRace(root) {
  const SIZE = 480, TURNS = 3;
  const names = { loops: say('three loops', '三层循环'), reordered: say('reordered: i, k, j', '换次序：i, k, j'),
    registers: say('4 x 4 numbers of C in variables', 'C 的 4 x 4 个数放在变量里') };
  const rows = Object.keys(PRODUCTS).map((name) => ({ name, found: bar('said') }));
  const told = statement();
  const start = button(say('run the race in this page', '在本页里跑一遍'), run);
  root.append(table(say('billions of operations in a second', '每秒几十亿次运算'), [say('product of 480 x 480', '480 x 480 的乘积'), 'GFLOP/s'],
    rows.map(({ name, found }) => h('tr', {}, h('th', { scope: 'row' }, names[name]), h('td', {}, found.element)))),
  h('div', { class: 'controls' }, start), told);
  for (const { found } of rows) found.set(0, '');
  told.textContent = say('Nothing has been measured yet.', '还没有测量。');

  // The best of some turns, in GFLOP/s, and the product.
  function measure(name, a, b) {
    let best = 0, c;
    for (let turn = 0; turn < TURNS; ++turn) {
      c = new Float32Array(SIZE * SIZE);
      const began = performance.now();
      PRODUCTS[name](a, b, c, SIZE);
      best = Math.max(best, 2e-6 * SIZE ** 3 / (performance.now() - began));
    }
    return { best, c };
  }

  // One after another, so the page can show what is known between them.
  async function run() {
    start.disabled = true;
    told.textContent = say('Running \u2026', '正在跑……');
    const [a, b] = [0, 1].map((row) => Float32Array.from({ length: SIZE * SIZE }, (_, i) => sign(row * SIZE * SIZE + i)));
    const best = [];
    let right;
    for (const { name, found } of rows) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      const measured = measure(name, a, b);
      right ??= measured.c;
      if (measured.c.some((value, i) => value !== right[i])) { // sums of 480 ones are exact
        told.textContent = `${names[name]}: ${say('a wrong product', '乘积不对')}`;
        return;
      }
      best.push(measured.best);
      best.forEach((speed, i) => rows[i].found.set(speed / Math.max(...best), shown(speed, 2)));
    }
    start.disabled = false;
    const times = shown(best[2] / best[0], 1);
    told.textContent = say(
      `The last is ${times} times as fast as three loops, with the same multiplications, on this machine in this browser. A page's script has no vector instructions, from which the other order gains most, and no threads.`,
      `在这台机器的这个浏览器里，最后一种是三层循环的 ${times} 倍，做的乘法一样多。网页的脚本没有向量指令，换次序赢就赢在那里；也没有线程。`);
  }
}
FIGURES.product = { title: say('The race in this page', '在本页里赛跑'), keeps: true, fill: fillRace };
