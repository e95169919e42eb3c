// Names of layers, and lengths of vectors.

// "blocks.3.attention.qkv" -> "blocks.3", if that has an attention; otherwise empty: other parts
// are numbered as well, such as the tables of earlier tokens.
export function layerName(module, attention) {
  const found = /^(.*?\.)?\d+(?=\.|$)/.exec(module || '');
  const isLayer = found && attention.some((each) => (each.module || '').startsWith(`${found[0]}.`));
  return isLayer ? found[0] : '';
}

export const lengthOf = (x) => Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));
