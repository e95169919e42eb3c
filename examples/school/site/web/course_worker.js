// One run of one program, in a separate worker: nothing of it remains afterwards. Emscripten's
// code, tapestryCourse, precedes this text.
onmessage = async ({ data: { wasm, program, changed } }) => {
  const packed = new Blob([Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0))]);
  const unpacked = packed.stream().pipeThrough(new DecompressionStream('gzip'));
  const print = (line) => postMessage({ line });
  const library = await tapestryCourse({ print, printErr: print,
    wasmBinary: await new Response(unpacked).arrayBuffer() });
  for (const [k, value] of changed) library._course_change(k, value);
  try {
    postMessage({ status: library._course_run(program) });
  } catch (error) { // errors that no program catches, such as running out of memory
    print(String(error.message ?? error));
    postMessage({ status: 1 });
  }
};
