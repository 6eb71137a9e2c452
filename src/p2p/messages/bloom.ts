import { emptyCodec, messageCodec, readBytes, ViolationError, writeBytes } from './codec.ts';

/** Enough for 20,000 elements with a false positive rate of 0.1 % (BIP-37). */
const MAX_FILTER_SIZE = 36_000;
const MAX_HASH_FUNCTIONS = 50;
/** Maximum size of a script push, so no longer element can match. */
const MAX_ELEMENT_SIZE = 520;

/** BIP-37: a filter for the transactions that the peer wants. */
export interface FilterLoadMessage {
  readonly filter: Uint8Array;
  readonly hashFunctions: number;
  readonly tweak: number;
  /** BLOOM_UPDATE mode in the two lowest bits; the other bits are ignored. */
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
