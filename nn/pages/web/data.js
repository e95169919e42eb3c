// The page's data, as nn/pages/page.cpp wrote it into the page.

export function readData() {
  return JSON.parse(document.getElementById('data').textContent);
}

// A plain loop: Uint8Array.from with a function is ten times slower.
function bytesIn(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// binary16 in base64 -> Float32Array
export function decodeHalf(text) {
  const bytes = bytesIn(text);
  const halves = new Uint16Array(bytes.buffer);
  const numbers = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; ++i) numbers[i] = halfValue(halves[i]);
  return numbers;
}

// The bytes of base91 (encoding.h): 13 bits in two characters. Those of an odd half byte at the end remain.
function bytesIn91(text) {
  const bytes = new Uint8Array(Math.floor(text.length / 2 * 13 / 8));
  const digitAt = (i) => {
    const code = text.charCodeAt(i);
    return code === 33 ? 25 : code === 126 ? 57 : code - 35;
  };
  let [waiting, count] = [0, 0];
  for (let i = 0, at = 0; at < bytes.length; i += 2) {
    waiting = waiting << 13 | 91 * digitAt(i) + digitAt(i + 1);
    count += 13;
    for (; count >= 8 && at < bytes.length; ++at) {
      count -= 8;
      bytes[at] = waiting >> count;
      waiting &= (1 << count) - 1;
    }
  }
  return bytes;
}

// Rows of `width` numbers from pack_rows (encoding.h) -> Float32Array
export function unpackRows(text, units, width) {
  const bytes = bytesIn91(text);
  const unit = Float64Array.from(bytesIn(units), (power) => (power === 255 ? NaN : 2 ** (power - 127)));
  const numbers = new Float32Array(unit.length * width);
  for (let row = 0, i = 0, at = 0; row < unit.length; ++row) {
    for (const end = i + width; i < end; ++i) {
      const bits = i % 2 === 0 ? bytes[at] << 4 | bytes[at + 1] >> 4
        : (bytes[at + 1] & 15) << 8 | bytes[at + 2];
      if (i % 2 === 1) at += 3;
      numbers[i] = (bits << 20 >> 20) * unit[row];
    }
  }
  return numbers;
}

// f32 in base64 -> Float32Array
export function decodeFloats(text) {
  return new Float32Array(bytesIn(text).buffer);
}

function halfValue(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const mantissa = half & 1023;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  return sign * (1024 + mantissa) * 2 ** (exponent - 25);
}
