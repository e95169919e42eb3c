// One run of one program, in a worker of its own: when it is over, nothing of it is left. What comes
// before this text is emscripten's: tapestryCourse.
onmessage = async ({ data: { wasm, program, changed } }) => {
  const packed = new Blob([Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0))]);
  const unpacked = packed.stream().pipeThrough(new DecompressionStream('gzip'));
  const print = (line) => postMessage({ line });
  const library = await tapestryCourse({ print, printErr: print,
    wasmBinary: await new Response(unpacked).arrayBuffer() });
  for (const [k, value] of changed) library._course_change(k, value);
  try {
    postMessage({ status: library._course_run(program) });
  } catch (error) { // what no program catches: memory that ran out, say
    print(String(error.message ?? error));
    postMessage({ status: 1 });
  }
};
