// Goes into every test program that em++ links: environment variables are node's own, and the program
// is a file, which nobody needs to fetch.
delete globalThis.fetch;
Module.preRun = [() => Object.assign(ENV, process.env)];
