import { emptyCodec, messageCodec, readBytes, ViolationError, writeBytes } from './codec.ts';

/** Room for 20,000 elements with one false positive in a thousand. */
const MAX_FILTER_SIZE = 36_000;
const MAX_HASH_FUNCTIONS = 50;
/** Nothing longer can be pushed in a script, so nothing longer can match. */
const MAX_ELEMENT_SIZE = 520;

/** BIP-37: which transactions the peer wants. */
export interface FilterLoadMessage {
  readonly filter: Uint8Array;
  readonly hashFunctions: number;
  readonly tweak: number;
  /** One of BLOOM_UPDATE in the lowest two bits; the others mean nothing. */
  readonly flags: number;
}

export const filterload = messageCodec<FilterLoadMessage>(
  'filterload',
  (w, { filter, hashFunctions, tweak, flags }) => {
    writeBytes(w, filter, MAX_FILTER_SIZE);
    w.u32(hashFunctions);
    w.u32(tweak);
    w.u8(flags);
  },
  (r) => {
    const filter = readBytes(r, r.remaining, 'filter');
    const message = { filter, hashFunctions: r.u32(), tweak: r.u32(), flags: r.u8() };
    if (filter.length > MAX_FILTER_SIZE || message.hashFunctions > MAX_HASH_FUNCTIONS)
      throw new ViolationError('too-large bloom filter', 'misbehaving');
    return message;
  },
);

export interface FilterAddMessage {
  readonly element: Uint8Array;
}

export const filteradd = messageCodec<FilterAddMessage>(
  'filteradd',
  (w, { element }) => writeBytes(w, element, MAX_ELEMENT_SIZE),
  (r) => {
    const element = readBytes(r, r.remaining, 'element');
    if (element.length > MAX_ELEMENT_SIZE) throw new ViolationError('bad filteradd message', 'misbehaving');
    return { element };
  },
);

export const filterclear = emptyCodec('filterclear');
