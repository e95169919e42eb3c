// Before a test program in WebAssembly, run by node: emscripten gives programs an environment of its own.
Module.preRun = () => {
  for (const [name, value] of Object.entries(process.env)) {
    if (name.startsWith('TAPESTRY_')) ENV[name] = value;
  }
};
