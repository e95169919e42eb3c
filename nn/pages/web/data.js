// The page's data, as nn/pages/page_data.cpp wrote it into the page.

export function readData() {
  return JSON.parse(document.getElementById('data').textContent);
}

// binary16 in base64 -> Float32Array
export function decodeHalf(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const halves = new Uint16Array(bytes.buffer);
  const numbers = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; ++i) numbers[i] = halfValue(halves[i]);
  return numbers;
}

// Rows of `width` numbers as pack_rows (encoding.h) wrote them -> Float32Array
export function unpackRows(text, units, width) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const unit = Array.from(atob(units), (c) => c.charCodeAt(0))
    .map((power) => (power === 255 ? NaN : 2 ** (power - 127)));
  const numbers = new Float32Array(unit.length * width);
  for (let i = 0, at = 0; i < numbers.length; ++i) {
    const bits = i % 2 === 0 ? bytes[at] << 4 | bytes[at + 1] >> 4
      : (bytes[at + 1] & 15) << 8 | bytes[at + 2];
    if (i % 2 === 1) at += 3;
    numbers[i] = (bits << 20 >> 20) * unit[Math.floor(i / width)];
  }
  return numbers;
}

// f32 in base64 -> Float32Array
export function decodeFloats(text) {
  return new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
}

function halfValue(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const mantissa = half & 1023;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  return sign * (1024 + mantissa) * 2 ** (exponent - 25);
}
