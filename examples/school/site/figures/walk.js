// Chapter 1: the walk forward and the walk back over L = sum of tanh(x w)^2, a row at a time.
function fillWalk(root) {
  const range = Array.from({ length: 33 }, (_, i) => i / 4 - 4);
  const sliders = (name, values) => values.map((value, i) =>
    slider(`${name}${'\u2081\u2082\u2083'[i]}`, range, value, update, (x) => x.toFixed(2)));
  const x = sliders('x', [1, 2, 3]), w = sliders('w', [0.5, -1, 0.25]);
  // What a row computes, and what it gives back to its input.
  const ROWS = [
    { row: '0: p = x w', forward: (f) => list(f.p), rule: 'dL/dx = g w, dL/dw = g x',
      back: (f) => `x: ${list(f.toX)}\nw: ${list(f.toW)}` },
    { row: '1: y = tanh p', forward: (f) => list(f.y), rule: 'dL/dp = g (1 \u2212 y²)', back: (f) => list(f.toP) },
    { row: '2: z = y²', forward: (f) => list(f.z), rule: 'dL/dy = 2 g y', back: (f) => list(f.toY) },
    { row: say('3: L = sum of z', '3: L = z 之和'), forward: (f) => shown(f.loss), rule: 'dL/dz = g', back: (f) => list(f.toZ) },
  ];
  const forward = ROWS.map(() => h('td', { class: 'value forward' }));
  const back = ROWS.map(() => h('td', { class: 'value back' }));
  const rows = ROWS.map(({ row, rule }, i) => h('tr', {}, h('th', { scope: 'row' }, row,
    h('span', { class: 'rule' }, rule)), forward[i], back[i]));
  const last = 2 * ROWS.length;
  let step = last; // 1 to 4: rows that have run; 5 to 8: rows that the walk back has passed
  const go = (to) => { step = Math.max(0, Math.min(last, to)); update(); };
  const previous = button(say('one row less', '退一行'), () => go(step - 1));
  const next = button(say('one row on', '走一行'), () => go(step + 1));
  const told = statement();
  root.append(
    h('div', { class: 'controls' }, ...x.map((s) => s.element)),
    h('div', { class: 'controls' }, ...w.map((s) => s.element)),
    table(say('the rows of the tape', '计算带的各行'),
      [say('row and rule', '行和规则'), say('forward ↓', '前向 ↓'), say('back ↑', '反向 ↑')], rows),
    h('div', { class: 'controls' }, button(say('from the start', '从头开始'), () => go(0)), previous, next),
    told);

  function update() {
    const found = walk(x.map((s) => s.value), w.map((s) => s.value));
    const passed = Math.max(0, step - ROWS.length); // by the walk back
    ROWS.forEach((row, i) => {
      forward[i].textContent = step > i ? row.forward(found) : '';
      back[i].textContent = passed >= ROWS.length - i ? row.back(found) : '';
      rows[i].classList.toggle('chosen', step > 0 && i === (passed > 0 ? ROWS.length - passed : step - 1));
    });
    previous.disabled = step === 0;
    next.disabled = step === last;
    const row = passed > 0 ? ROWS.length - passed : step - 1;
    told.textContent = step === 0
      ? say('Nothing has run yet.', '还什么都没算。')
      : passed === 0
        ? say(`Row ${row} has run and is on the tape.`, `第 ${row} 行算完，记到了计算带上。`)
        : say(`The walk back has passed row ${row}${row === 3 ? ', beginning with dL/dL = 1' : row === 0 ? ': every gradient is known' : ''}.`,
          `往回走，过了第 ${row} 行${row === 3 ? '，起点是 dL/dL = 1' : row === 0 ? '：所有梯度都有了' : ''}。`);
  }
  update();
}
FIGURES.tape = { title: say('One walk forward, one walk back', '往前走一趟，往回走一趟'),
  fill: fillWalk };
