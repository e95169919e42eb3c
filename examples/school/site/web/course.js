// The programs of a chapter, live: numbers can be changed in place, Run runs the precompiled
// program, and its output replaces the one on the page. The library is loaded at the first Run.
// Read next: course_worker.js; ../programs.js, which wrote window.course.
(() => {
  const WORDS = document.documentElement.lang === 'zh'
    ? { run: '运行', stop: '停止', reset: '恢复原样', running: '正在运行……', stopped: '已停止。',
      same: '输出与本页所示相同。', other: '输出与本页所示不同。', changed: '这是改动之后的输出。',
      failed: '程序出错，见输出。', loading: '正在载入库……', number: '程序中的数：',
      leftOut: '这个程序要用多个线程，网页里运行不了。' }
    : { run: 'Run', stop: 'Stop', reset: 'Reset', running: 'Running \u2026', stopped: 'Stopped.',
      same: 'The output matches the one shown.', other: 'The output differs from the one shown.',
      changed: 'Printed with your numbers.', failed: 'The program failed; its output says why.',
      loading: 'Loading the library \u2026', number: 'a number of the program: ',
      leftOut: 'This program needs several threads, which a page does not have.' };

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  // window.courseModule { glue, wasm }, from a file next to this one; a file:// page cannot fetch
  // anything.
  let loading;
  const folder = document.currentScript.src.replace(/[^/]*$/, '');
  const module = () => loading ??= new Promise((resolve, reject) => {
    document.head.append(element('script', { src: `${folder}course_module.js`,
      onload: () => resolve(window.courseModule),
      onerror: () => reject(new Error('course_module.js is missing')) }));
  });

  // Replaces the numbers, at known positions of the code's text, by fields.
  function putFields(code, numbers) {
    const text = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    let begin = 0, next = 0;
    const found = [];
    for (let node = text.nextNode(); node; node = text.nextNode()) {
      for (; next < numbers.length && numbers[next].at < begin + node.length; ++next) {
        found.push({ node, from: numbers[next].at - begin, ...numbers[next] });
      }
      begin += node.length;
    }
    return found.reverse().map(({ node, from, name, type, text: number }) => {
      const field = element('input', { type: 'text', className: 'number', value: number,
        size: Math.max(number.length, 1), inputMode: 'decimal', defaultValue: number, spellcheck: false });
      field.setAttribute('aria-label', WORDS.number + name);
      field.title = name;
      const pattern = type === 'int' ? /^[-+]?\d+$/ : /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
      field.addEventListener('input', () => {
        field.size = Math.max(field.value.length, 1);
        field.toggleAttribute('aria-invalid', !pattern.test(field.value));
      });
      // A number may begin in one node, at its sign, and end in the next.
      const range = document.createRange();
      range.setStart(node, from);
      let end = node, length = number.length - (node.length - from);
      while (length > 0) {
        do end = nextText(end, code); while (end.length === 0);
        length -= end.length;
      }
      range.setEnd(end, end.length + length);
      range.deleteContents();
      range.insertNode(field);
      return field;
    }).reverse();
  }

  function nextText(node, root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    walker.currentNode = node;
    return walker.nextNode();
  }

  const blockOf = (pre) => pre.closest('div.sourceCode') ?? pre;

  const sayWhyNot = (pre) => blockOf(pre).after(element('p', { className: 'run-bar' },
    element('span', { className: 'status', textContent: WORDS.leftOut })));

  function makeLive(pre, { index, numbers }) {
    const code = pre.querySelector('code') ?? pre;
    const block = blockOf(pre);
    const next = block.nextElementSibling;
    const shown = next?.matches('pre.text') ? next : null;
    const original = shown?.textContent.trimEnd();
    const output = shown?.querySelector('code') ?? element('code');
    const frame = shown ?? element('pre', { className: 'text', hidden: true, tabIndex: 0 }, output);
    frame.classList.add('output');
    const fields = putFields(code, numbers);
    const run = element('button', { type: 'button', textContent: WORDS.run, className: 'run' });
    const reset = element('button', { type: 'button', textContent: WORDS.reset, hidden: true });
    const status = element('span', { className: 'status' });
    status.setAttribute('role', 'status');
    const bar = element('div', { className: 'run-bar' }, run, reset, status);
    bar.dataset.program = index;
    block.after(bar, frame);
    let worker;

    const isChanged = () => fields.some((field) => field.value !== field.defaultValue);
    const update = () => reset.hidden = !isChanged() && output.textContent.trimEnd() === (original ?? '');
    fields.forEach((field) => field.addEventListener('input', update));

    function end(words) {
      worker?.terminate();
      worker = undefined;
      run.disabled = false;
      run.textContent = WORDS.run;
      status.textContent = words;
      bar.dataset.state = 'idle';
      update();
    }

    async function start() {
      const wrong = fields.find((field) => field.hasAttribute('aria-invalid'));
      if (wrong) return wrong.focus();
      run.disabled = true;
      status.textContent = WORDS.loading;
      bar.dataset.state = 'running';
      frame.hidden = false;
      const lines = [];
      try {
        const { glue, wasm } = await module();
        const url = URL.createObjectURL(new Blob([glue], { type: 'text/javascript' }));
        worker = new Worker(url);
        run.disabled = false;
        run.textContent = WORDS.stop;
        const changed = fields.map(({ value, defaultValue }, k) => [k, value, defaultValue])
          .filter(([, value, standard]) => value !== standard).map(([k, value]) => [k, Number(value)]);
        status.textContent = WORDS.running;
        output.textContent = '';
        worker.onmessage = ({ data }) => {
          if (data.line !== undefined) {
            lines.push(data.line);
            output.textContent = `${lines.join('\n')}\n`;
            return;
          }
          URL.revokeObjectURL(url);
          end(data.status !== 0 ? WORDS.failed : changed.length ? WORDS.changed
            : original === undefined || lines.join('\n').trimEnd() === original ? WORDS.same : WORDS.other);
        };
        worker.onerror = (event) => end(event.message);
        worker.postMessage({ wasm, program: index, changed });
      } catch (error) {
        end(error.message);
      }
    }

    run.addEventListener('click', () => worker ? end(WORDS.stopped) : start());
    reset.addEventListener('click', () => {
      fields.forEach((field) => {
        field.value = field.defaultValue;
        field.dispatchEvent(new Event('input'));
      });
      output.textContent = original === undefined ? '' : `${original}\n`;
      if (original === undefined) frame.hidden = true;
      end('');
    });
  }

  const chapter = document.body.dataset.chapter;
  const programs = [...document.querySelectorAll('pre.cpp')]
    .filter((pre) => /\bint main\(/.test(pre.textContent));
  programs.forEach((pre, i) => {
    const program = window.course?.[chapter]?.[i];
    if (program?.leftOut) sayWhyNot(pre);
    else if (program) makeLive(pre, program);
  });
})();
