// Encodes an image as PNG with at most 256 colours: screenshots of pages have few, and become a
// third as large.
const zlib = require('node:zlib');

const table = Array.from({ length: 256 }, (_, n) => {
  for (let i = 0; i < 8; ++i) n = n & 1 ? 0xEDB88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});
const crc = (bytes) => ~bytes.reduce((sum, byte) => table[(sum ^ byte) & 255] ^ (sum >>> 8), ~0) >>> 0;

function chunk(name, data) {
  const whole = Buffer.concat([Buffer.alloc(4), Buffer.from(name), data, Buffer.alloc(4)]);
  whole.writeUInt32BE(data.length, 0);
  whole.writeUInt32BE(crc(whole.subarray(4, -4)), whole.length - 4);
  return whole;
}

// The most frequent colours that are distinguishable; every other one becomes the nearest of these.
// pixels: RGBA.
function paletteOf(pixels) {
  const counts = new Map();
  for (let i = 0; i < pixels.length; i += 4) {
    const colour = pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2];
    counts.set(colour, (counts.get(colour) || 0) + 1);
  }
  const apart = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + ((a >> 8 & 255) - (b >> 8 & 255)) ** 2 +
    ((a & 255) - (b & 255)) ** 2;
  const palette = [];
  for (const [colour] of Array.from(counts).sort((a, b) => b[1] - a[1])) {
    if (palette.length < 256 && palette.every((each) => apart(each, colour) > 40)) palette.push(colour);
  }
  const index = new Map(palette.map((colour, i) => [colour, i]));
  for (const colour of counts.keys()) {
    if (index.has(colour)) continue;
    index.set(colour, palette.reduce((best, each, i) =>
      (apart(colour, each) < apart(colour, palette[best]) ? i : best), 0));
  }
  return { palette, index };
}

exports.png = (pixels, width, height) => {
  const { palette, index } = paletteOf(pixels);
  const rows = Buffer.alloc(height * (width + 1)); // each row begins with its filter: none
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const i = 4 * (y * width + x);
      rows[y * (width + 1) + 1 + x] = index.get(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    }
  }
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0]); // 8 bits, with a palette
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10]), chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap((c) => [c >> 16, c >> 8 & 255, c & 255]))),
    chunk('IDAT', zlib.deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
};
