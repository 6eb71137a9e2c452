/** The kinds of what a reader can search for. A hash is that of a block or of a transaction. */
export type Search =
  | { readonly kind: 'height'; readonly height: number }
  | { readonly kind: 'hash'; readonly hash: string }
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'nothing'; readonly reason: string };

const MAX_HEIGHT = 2 ** 31 - 1;

/** Classifies what a reader typed into the search box. Only the node decides whether an address is valid. */
export function classifySearch(text: string): Search {
  const wanted = text.trim();
  if (wanted === '') return { kind: 'nothing', reason: 'Enter a height, a block hash, a txid or an address.' };
  const digits = wanted.replace(/[\s,_\u202f]/g, '');
  if (/^\d{1,10}$/.test(digits)) {
    const height = Number(digits);
    if (height <= MAX_HEIGHT) return { kind: 'height', height };
    return { kind: 'nothing', reason: `A height is at most ${MAX_HEIGHT}.` };
  }
  if (/^[0-9a-f]{64}$/i.test(wanted)) return { kind: 'hash', hash: wanted.toLowerCase() };
  if (/^[0-9a-f]+$/i.test(wanted) && wanted.length > 40)
    return { kind: 'nothing', reason: `A hash has 64 hexadecimal digits; this has ${wanted.length}.` };
  if (/^[0-9A-Za-z]{14,100}$/.test(wanted)) return { kind: 'address', address: wanted };
  return { kind: 'nothing', reason: 'This is not a height, a block hash, a txid or an address.' };
}
