import type { ReadEnv } from '../../../queries/read-env.ts';
import { addressOf, parseAddress } from '../../../script/address.ts';
import { MAX_PUBKEYS_PER_MULTISIG, MAX_SCRIPT_ELEMENT_SIZE } from '../../../script/script-limits.ts';
import { multisig, p2shOf, p2wshOf, scriptType } from '../../../script/templates.ts';
import { descriptorChecksum } from '../../../wallet/descriptor/checksum.ts';
import type { Descriptor, OutputType } from '../../../wallet/descriptor/descriptor.ts';
import { inferDescriptor } from '../../../wallet/descriptor/infer.ts';
import { PrivateKey } from '../../../wallet/keys/private-key.ts';
import { signMessage, verifyMessage } from '../../../wallet/keys/signed-message.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { array, integerParam, optional, type Param, readString, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, hexStr, maybe, noted, obj, str } from '../../engine/schema.ts';
import { expectDerivations, RANGE, type Range, readDescriptors, readRange } from './descriptor-input.ts';
import { readHexPublicKey } from './solving-data.ts';

/** Microseconds to validate a public key. */
const KEY_US = 40;

const range: Param<Range> = {
  name: 'range',
  aliases: [],
  type: 'any',
  required: true,
  oneline: 'range',
  members: [],
  schema: noted(RANGE, 'Indexes to derive: required for a descriptor with *, and not allowed otherwise.'),
  read: readRange,
};

const getdescriptorinfo = rpcMethod({
  name: 'getdescriptorinfo',
  category: 'util',
  help: 'Parses an output descriptor and returns it in canonical form, without private keys and with its checksum.',
  params: [textParam('descriptor', { note: 'Descriptor, with or without checksum.' })],
  result: obj({
    descriptor: str('canonical form with public keys and checksum; the first one of several paths'),
    multipath_expansion: maybe(arr(str(), 'one descriptor per path, if it has several paths')),
    checksum: str('checksum of the given text'),
    isrange: bool('whether it has *'),
    issolvable: bool('whether it has the information to spend except private keys'),
    hasprivatekeys: bool('whether the given text has a private key'),
  }),
  examples: [example([EXAMPLE.descriptor]), example([`wpkh(${EXAMPLE.extendedPublicKey}/0/*)`])],
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

const deriveaddresses = rpcMethod({
  name: 'deriveaddresses',
  category: 'util',
  help: 'Derives the addresses of an output descriptor. A call derives at most 5,000,000 keys.',
  params: [textParam('descriptor', { note: 'Descriptor with checksum.' }), optional(range, null)],
  result: anyOf(arr(str('address')), arr(arr(str('address')), 'one list per path, if it has several paths')),
  examples: [example([EXAMPLE.descriptor]), example([EXAMPLE.multipathDescriptor, [0, 2]])],
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
      // The P2PK script of combo() has no address and is omitted.
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

const createmultisig = rpcMethod({
  name: 'createmultisig',
  category: 'util',
  help: 'Returns a multisig address, from which a number of the given keys together can spend. No wallet is read or changed.',
  params: [
    integerParam('nrequired', { note: 'Number of signatures that a spend needs, at least 1.' }),
    array('keys', readString, { note: 'Public keys as hex, in the order of the script; at most 20.' }),
    optional(
      textParam('address_type', {
        note: 'legacy, p2sh-segwit or bech32. With an uncompressed key the address is always legacy.',
      }),
      'legacy',
    ),
  ],
  result: obj({
    address: str('the address'),
    redeemScript: hexStr('multisig script'),
    descriptor: str('its descriptor'),
    warnings: maybe(arr(str(), 'if the address has another type than requested')),
  }),
  examples: [
    example([2, [EXAMPLE.publicKey, EXAMPLE.otherPublicKey]]),
    example([2, [EXAMPLE.publicKey, EXAMPLE.otherPublicKey], 'bech32']),
  ],
  scope: 'read',
  run({ params, expectWork }, required, keys, typeName) {
    expectWork(keys.length * KEY_US);
    const publicKeys = keys.map(readHexPublicKey);
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
    // Segwit policy forbids uncompressed keys.
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

const signmessagewithprivkey = rpcMethod({
  name: 'signmessagewithprivkey',
  category: 'util',
  help: 'Signs a message with a private key. The key is not stored.',
  params: [textParam('privkey', { note: 'Private key in WIF.' }), textParam('message', { note: 'Message to sign.' })],
  result: str('signature in Base64'),
  examples: [example([EXAMPLE.privateKey, 'my message'])],
  scope: 'read',
  run({ params }, wif, message) {
    const key = PrivateKey.fromWif(wif, params.wif);
    return key === null ? rpcFail('invalidAddressOrKey', 'Invalid private key') : signMessage(key, message);
  },
});

const verifymessage = rpcMethod({
  name: 'verifymessage',
  category: 'util',
  help: 'Verifies the signature of a message.',
  params: [
    textParam('address', { note: 'P2PKH address of the signer.' }),
    textParam('signature', { note: 'Signature in Base64, as signmessage returns it.' }),
    textParam('message', { note: 'Signed message.' }),
  ],
  result: bool('whether the key of the address made the signature'),
  examples: [
    example([
      EXAMPLE.legacyAddress,
      'ILkxsQFKUpMZXIOEwozkcJtk2o4+t2AbksBaUtvsaRrYJtGVhkGynLmSMDLTo23PNMRpNeV+c8uY5HIXTQMc1Eo=',
      'my message',
    ]),
  ],
  scope: 'read',
  run({ params }, given, signature, message) {
    const address = parseAddress(given, params.address);
    if (!address.ok) return rpcFail('invalidAddressOrKey', 'Invalid address');
    if (address.type !== 'pubkeyhash') return rpcFail('type', 'Address does not refer to key');
    const keyHash = scriptType(address.script).solutions[0]!;
    return verifyMessage(keyHash, signature, message) ?? rpcFail('type', 'Malformed base64 encoding');
  },
});

export const descriptorMethods: readonly RpcMethod[] = [
  getdescriptorinfo,
  deriveaddresses,
  createmultisig,
  signmessagewithprivkey,
  verifymessage,
];
