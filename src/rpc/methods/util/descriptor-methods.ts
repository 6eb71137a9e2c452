import type { ReadEnv } from '../../../queries/read-env.ts';
import { addressOf, parseAddress } from '../../../script/address.ts';
import { MAX_PUBKEYS_PER_MULTISIG, MAX_SCRIPT_ELEMENT_SIZE } from '../../../script/limits.ts';
import { multisig, p2shOf, p2wshOf, scriptType } from '../../../script/templates.ts';
import { descriptorChecksum } from '../../../wallet/descriptor/checksum.ts';
import type { Descriptor, OutputType } from '../../../wallet/descriptor/descriptor.ts';
import { inferDescriptor } from '../../../wallet/descriptor/infer.ts';
import { PrivateKey } from '../../../wallet/keys/private-key.ts';
import { signMessage, verifyMessage } from '../../../wallet/keys/signed-message.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { rpcMethod } from '../../engine/method.ts';
import { array, integer, optional, type Param, readString, text } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, hexStr, maybe, obj, str } from '../../engine/schema.ts';
import { expectDerivations, RANGE, type Range, readDescriptors, readRange } from './descriptor-input.ts';
import { readPublicKey } from './solving-data.ts';

/** Microseconds to check a public key. */
const KEY_US = 40;

const range: Param<Range> = {
  name: 'range',
  aliases: [],
  type: 'any',
  required: true,
  oneline: 'range',
  members: [],
  schema: RANGE,
  read: readRange,
};

export const getdescriptorinfo = rpcMethod({
  name: 'getdescriptorinfo',
  category: 'util',
  help: 'What an output descriptor is, and how it is written with public keys and checksum.',
  params: [text('descriptor')],
  result: obj({
    descriptor: str('with public keys and checksum'),
    multipath_expansion: maybe(arr(str(), 'of each path, where it has several')),
    checksum: str('of what was given'),
    isrange: bool(),
    issolvable: bool(),
    hasprivatekeys: bool(),
  }),
  scope: 'read',
  run(env, given) {
    const { descriptors, keys } = readDescriptors(env, given, false);
    const [first] = descriptors;
    return {
      descriptor: first!.toString(),
      ...(descriptors.length > 1 && { multipath_expansion: descriptors.map(String) }),
      checksum: descriptorChecksum(given),
      isrange: first!.isRange,
      issolvable: first!.isSolvable,
      hasprivatekeys: keys.privateKeys.size > 0,
    };
  },
});

export const deriveaddresses = rpcMethod({
  name: 'deriveaddresses',
  category: 'util',
  help: 'The addresses of an output descriptor with checksum, of each of its paths if it has several.',
  params: [text('descriptor'), optional(range, null)],
  result: anyOf(arr(str()), arr(arr(str()), 'of each path, where it has several')),
  scope: 'read',
  long: true,
  run(env, given, indexes) {
    const { descriptors, keys } = readDescriptors(env, given, true);
    const [first] = descriptors;
    if (!first!.isRange && indexes !== null)
      rpcFail('invalidParameter', 'Range should not be specified for an un-ranged descriptor');
    if (first!.isRange && indexes === null)
      rpcFail('invalidParameter', 'Range must be specified for a ranged descriptor');
    const [begin, end] = indexes ?? [0, 0];
    expectDerivations(env, (end - begin + 1) * descriptors.length * first!.keyCount);
    const addresses = descriptors.map((descriptor) => addressesOf(env, descriptor, keys, [begin, end]));
    return addresses.length === 1 ? addresses[0] : addresses;
  },
});

function addressesOf(env: ReadEnv, descriptor: Descriptor, keys: SigningData, [begin, end]: Range): string[] {
  const addresses: string[] = [];
  for (let index = begin; index <= end; index++) {
    env.expectWork(0);
    const expansion = descriptor.expand(index, keys);
    if (expansion === null) return rpcFail('invalidAddressOrKey', 'Cannot derive script without private keys');
    const { scripts } = expansion;
    for (const script of scripts) {
      const address = addressOf(script, env.params.address);
      if (address !== null) addresses.push(address);
      // A bare key among the scripts of combo() is left out.
      else if (scripts.length === 1 || scriptType(script).type !== 'pubkey')
        rpcFail('invalidAddressOrKey', 'Descriptor does not have a corresponding address');
    }
  }
  return addresses.length > 0 ? addresses : rpcFail('misc', 'Unexpected empty result');
}

function readOutputType(name: string): Exclude<OutputType, 'bech32m'> {
  switch (name) {
    case 'legacy':
    case 'p2sh-segwit':
    case 'bech32':
      return name;
    case 'bech32m':
      return rpcFail('invalidAddressOrKey', 'createmultisig cannot create bech32m multisig addresses');
    default:
      return rpcFail('invalidAddressOrKey', `Unknown address type '${name}'`);
  }
}

export const createmultisig = rpcMethod({
  name: 'createmultisig',
  category: 'util',
  help: 'An address that some of the given public keys can spend from together.',
  params: [integer('nrequired'), array('keys', readString), optional(text('address_type'), 'legacy')],
  result: obj({ address: str(), redeemScript: hexStr(), descriptor: str(), warnings: maybe(arr(str())) }),
  scope: 'read',
  run({ params, expectWork }, required, keys, typeName) {
    expectWork(keys.length * KEY_US);
    const publicKeys = keys.map(readPublicKey);
    const wanted = readOutputType(typeName);
    if (required < 1) rpcFail('invalidParameter', 'a multisignature address must require at least one key to redeem');
    if (publicKeys.length < required)
      rpcFail(
        'invalidParameter',
        `not enough keys supplied (got ${publicKeys.length} keys, but need at least ${required} to redeem)`,
      );
    if (publicKeys.length > MAX_PUBKEYS_PER_MULTISIG)
      rpcFail(
        'invalidParameter',
        `Number of keys involved in the multisignature address creation > ${MAX_PUBKEYS_PER_MULTISIG}\nReduce the number`,
      );
    const redeemScript = multisig(required, publicKeys);
    // A witness may not have uncompressed keys.
    const type = publicKeys.every(({ length }) => length === 33) ? wanted : 'legacy';
    if (type === 'legacy' && redeemScript.length > MAX_SCRIPT_ELEMENT_SIZE)
      rpcFail(
        'invalidParameter',
        `redeemScript exceeds size limit: ${redeemScript.length} > ${MAX_SCRIPT_ELEMENT_SIZE}`,
      );
    const data = new SigningData();
    data.addScript(redeemScript);
    const program = p2wshOf(redeemScript);
    if (type !== 'legacy') data.addScript(program);
    const script = { legacy: p2shOf(redeemScript), 'p2sh-segwit': p2shOf(program), bech32: program }[type];
    const descriptor = inferDescriptor(script, data, params);
    return {
      address: addressOf(script, params.address),
      redeemScript: redeemScript.toHex(),
      descriptor: descriptor.toString(),
      ...(descriptor.outputType !== wanted && {
        warnings: ['Unable to make chosen address type, please ensure no uncompressed public keys are present.'],
      }),
    };
  },
});

export const signmessagewithprivkey = rpcMethod({
  name: 'signmessagewithprivkey',
  category: 'util',
  help: 'Signs a message with a private key.',
  params: [text('privkey'), text('message')],
  result: str('signature in Base64'),
  scope: 'read',
  run({ params }, wif, message) {
    const key = PrivateKey.fromWif(wif, params.wif);
    return key === null ? rpcFail('invalidAddressOrKey', 'Invalid private key') : signMessage(key, message);
  },
});

export const verifymessage = rpcMethod({
  name: 'verifymessage',
  category: 'util',
  help: 'Whether the key of an address has signed a message.',
  params: [text('address'), text('signature'), text('message')],
  result: bool(),
  scope: 'read',
  run({ params }, given, signature, message) {
    const address = parseAddress(given, params.address);
    if (!address.ok) return rpcFail('invalidAddressOrKey', 'Invalid address');
    if (address.type !== 'pubkeyhash') return rpcFail('type', 'Address does not refer to key');
    const keyHash = scriptType(address.script).solutions[0]!;
    return verifyMessage(keyHash, signature, message) ?? rpcFail('type', 'Malformed base64 encoding');
  },
});
