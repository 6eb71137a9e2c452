/** Short message types of BIP-324, indexed by id. Empty ids are unassigned, in Core as well. */
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

/** Returns the short id of a message type, or null if the type must be sent in full. */
export function shortIdOf(type: string): number | null {
  return ID_BY_TYPE.get(type) ?? null;
}

/** Returns the message type of a short id: an empty string for an unassigned id, null for an id beyond the table. */
export function typeOfShortId(id: number): string | null {
  return SHORT_IDS[id] ?? null;
}
