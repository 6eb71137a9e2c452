import { listingRecord } from '../../../queries/listing.ts';
import { isSynced } from '../../../queries/synced.ts';
import { parseAddress } from '../../../script/address.ts';
import { hostClock, unixSeconds } from '../../../util/clock.ts';
import { nodeMethod, rpcMethod } from '../../engine/method.ts';
import { text } from '../../engine/params.ts';
import { arr, bool, hexStr, int, maybe, obj, str } from '../../engine/schema.ts';
import { LISTING } from './listing-shape.ts';

export const getlistingmetadata = nodeMethod({
  name: 'getlistingmetadata',
  category: 'util',
  help: 'The listing record of the coin, the same as GET /api/listing.',
  params: [],
  result: LISTING,
  scope: 'read',
  run: ({ ctx, read }) => read((env) => listingRecord(env, { synced: isSynced(ctx, env) })),
});

export const validateaddress = rpcMethod({
  name: 'validateaddress',
  category: 'util',
  help: 'Whether an address is valid, and what it stands for.',
  params: [text('address')],
  result: obj({
    isvalid: bool(),
    address: maybe(str()),
    scriptPubKey: maybe(hexStr()),
    isscript: maybe(bool()),
    iswitness: maybe(bool()),
    witness_version: maybe(int()),
    witness_program: maybe(hexStr()),
    error_locations: maybe(arr(int(), 'of the characters that are wrong')),
    error: maybe(str()),
  }),
  scope: 'read',
  run({ params }, given) {
    const parsed = parseAddress(given, params.address);
    if (!parsed.ok) return { isvalid: false, error_locations: parsed.errorLocations, error: parsed.error };
    const { address, script, type, witnessVersion, witnessProgram } = parsed;
    const keyHash = type === 'pubkeyhash' || type === 'witness_v0_keyhash';
    return {
      isvalid: true,
      address,
      scriptPubKey: script.toHex(),
      ...(type !== 'witness_unknown' && { isscript: !keyHash }),
      iswitness: witnessVersion !== null,
      ...(type !== 'anchor' &&
        witnessVersion !== null && { witness_version: witnessVersion, witness_program: witnessProgram!.toHex() }),
    };
  },
});

export const uptime = nodeMethod({
  name: 'uptime',
  category: 'control',
  help: 'Seconds since the node was started.',
  params: [],
  result: int('seconds'),
  scope: 'read',
  run: ({ ctx }) => Math.max(0, unixSeconds(hostClock) - ctx.startedAt),
});
