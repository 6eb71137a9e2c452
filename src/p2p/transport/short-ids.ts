/** BIP-324's one-byte names of messages, from 1 on, in order. The empty ones mean nothing to us, and neither to Core. */
const SHORT_IDS = [
  '',
  'addr',
  'block',
  'blocktxn',
  'cmpctblock',
  'feefilter',
  'filteradd',
  'filterclear',
  'filterload',
  'getblocks',
  'getblocktxn',
  'getdata',
  'getheaders',
  'headers',
  'inv',
  'mempool',
  'merkleblock',
  'notfound',
  'ping',
  'pong',
  'sendcmpct',
  'tx',
  'getcfilters',
  'cfilter',
  'getcfheaders',
  'cfheaders',
  'getcfcheckpt',
  'cfcheckpt',
  'addrv2',
  '',
  '',
  '',
  '',
  '',
  '',
  '',
  '',
  'feature',
] as const;

const ID_BY_TYPE = new Map<string, number>(SHORT_IDS.flatMap((type, id) => (type === '' ? [] : [[type, id] as const])));

/** The one-byte name, or null where the name is spelt out. */
export function shortIdOf(type: string): number | null {
  return ID_BY_TYPE.get(type) ?? null;
}

/** The name behind an id; empty for one that is reserved, null for one out of the table. */
export function typeOfShortId(id: number): string | null {
  return SHORT_IDS[id] ?? null;
}
