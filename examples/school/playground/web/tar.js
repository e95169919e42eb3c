// Several files in one: the tar format (POSIX.1-1988, "ustar"), compressed with gzip. Runs are
// shared in this form, because every system has a program that unpacks it.

const BLOCK = 512;
const blocks = (length) => BLOCK * Math.ceil(length / BLOCK);

function tarHeader(name, length) {
  const header = new Uint8Array(BLOCK);
  const put = (at, text) => header.set(new TextEncoder().encode(text), at);
  const octal = (x, digits) => x.toString(8).padStart(digits, '0');
  put(0, name);
  put(100, '0000644\0' + '0000000\0' + '0000000\0' + `${octal(length, 11)}\0` +
    `${octal(Math.floor(Date.now() / 1000), 11)}\0` + '        ' + '0');
  put(257, 'ustar\0' + '00');
  const sum = header.reduce((all, byte) => all + byte, 0);
  put(148, `${octal(sum, 6)}\0 `);
  return header;
}

// files: { name: bytes }
export async function packed(files) {
  const parts = Object.entries(files).flatMap(([name, bytes]) =>
    [tarHeader(name, bytes.length), bytes, new Uint8Array(blocks(bytes.length) - bytes.length)]);
  const tar = new Blob([...parts, new Uint8Array(2 * BLOCK)]);
  return new Response(tar.stream().pipeThrough(new CompressionStream('gzip'))).blob();
}

// The files of a Blob made by packed() or tar, compressed or not.
export async function unpacked(blob) {
  const magic = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  const isPacked = magic[0] === 0x1f && magic[1] === 0x8b;
  const tar = !isPacked ? await blob.arrayBuffer()
    : await new Response(blob.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  const files = {};
  for (let at = 0; at + BLOCK <= tar.byteLength;) {
    const text = (from, length) => new TextDecoder()
      .decode(new Uint8Array(tar, at + from, length)).split('\0')[0];
    const name = text(345, 155) ? `${text(345, 155)}/${text(0, 100)}` : text(0, 100);
    if (name === '') break;
    if (name.startsWith('/') || name.split('/').includes('..')) {
      throw new Error('This is no run that was saved: it names a file outside of its folder.');
    }
    const length = parseInt(text(124, 12), 8);
    if (!(length >= 0) || at + BLOCK + length > tar.byteLength) {
      throw new Error('This is no run that was saved: the file is damaged, or of another format.');
    }
    if (['', '0'].includes(text(156, 1))) files[name] = new Uint8Array(tar, at + BLOCK, length);
    at += BLOCK + blocks(length);
  }
  return files;
}
