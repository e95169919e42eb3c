// Prepended to a test program in WebAssembly for node: emscripten gives programs a separate
// environment.
Module.preRun = () => {
  for (const [name, value] of Object.entries(process.env)) {
    if (name.startsWith('TAPESTRY_')) ENV[name] = value;
  }
};
