import { listingRecord } from '../../../queries/listing.ts';
import { isSynced } from '../../../queries/synced.ts';
import { parseAddress } from '../../../script/address.ts';
import { hostClock, unixSeconds } from '../../../util/clock.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { textParam } from '../../engine/params.ts';
import { arr, bool, hexStr, int, maybe, obj, str } from '../../engine/schema.ts';
import { LISTING_RESULT } from './listing-schema.ts';

const getlistingmetadata = nodeMethod({
  name: 'getlistingmetadata',
  category: 'util',
  help: 'Returns the listing record of the coin, as GET /api/listing does.',
  params: [],
  result: LISTING_RESULT,
  scope: 'read',
  run: ({ ctx, read }) => read((env) => listingRecord(env, { synced: isSynced(ctx, env) })),
});

const validateaddress = rpcMethod({
  name: 'validateaddress',
  category: 'util',
  help: 'Validates an address of this network and returns its script.',
  params: [textParam('address', { note: 'Address to validate.' })],
  result: obj({
    isvalid: bool('whether the address is valid'),
    address: maybe(str('the address in canonical form')),
    scriptPubKey: maybe(hexStr('output script')),
    isscript: maybe(bool('whether it pays to a script rather than to a key; unknown for future witness versions')),
    iswitness: maybe(bool('whether it is a witness address')),
    witness_version: maybe(int('its witness version')),
    witness_program: maybe(hexStr('its witness program')),
    error_locations: maybe(arr(int(), 'indexes of wrong characters, if the address is invalid and they are known')),
    error: maybe(str('if the address is invalid')),
  }),
  examples: [example([EXAMPLE.address])],
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

const uptime = nodeMethod({
  name: 'uptime',
  category: 'control',
  help: 'Returns the time since the node was started.',
  params: [],
  result: int('seconds'),
  scope: 'read',
  run: ({ ctx }) => Math.max(0, unixSeconds(hostClock) - ctx.startedAt),
});

export const utilMethods: readonly RpcMethod[] = [getlistingmetadata, validateaddress, uptime];
