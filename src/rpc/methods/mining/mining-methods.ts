import { isCustomSignet } from '../../../params/signet.ts';
import { parseTransaction } from '../../../primitives/block.ts';
import { parseAddress } from '../../../script/address.ts';
import { DecodeError, hexToBytes } from '../../../util/bytes.ts';
import { setMockTime } from '../../../util/clock.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { array, flagParam, integerParam, largeInteger, optional, readString, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, hexStr, maybe, nil, obj, str } from '../../engine/schema.ts';
import { descriptorScript } from '../util/descriptor-script.ts';
import { readBlock } from './template-methods.ts';

const MAX_TRIES = 1_000_000;
const MAX_TRIES_NOTE = 'Nonces to try over all blocks; mining ends when none is left.';
/** Blocks per call of the node thread, so that generation ends soon when the caller leaves or the node stops. */
const BLOCKS_PER_CALL = 50;
/** The time of a header has 32 bits. */
const MAX_TIME = 0xffff_ffff;

const submitblock = nodeMethod({
  name: 'submitblock',
  category: 'mining',
  help: 'Submits a block for validation (BIP-22).',
  params: [
    textParam('hexdata', { schema: hexStr(), note: 'Serialized block.' }),
    optional(textParam('dummy', { placeholder: true, note: 'Has no effect; kept for older clients (BIP-22).' }), null),
  ],
  result: anyOf(
    nil('the block is the new tip'),
    str('duplicate, inconclusive (valid, but not in the active chain), or the reject reason'),
  ),
  examples: [example([EXAMPLE.block])],
  scope: 'mining',
  long: true,
  async run({ ctx }, hex) {
    const reason = orFail(await ctx.node().call('submitBlock', readBlock(hex)));
    return reason === 'bad-blk-decode' ? rpcFail('deserialization', 'Block decode failed') : reason;
  },
});

const submitheader = nodeMethod({
  name: 'submitheader',
  category: 'mining',
  help: 'Submits a block header for validation. Its block is downloaded from peers if the header is on the best branch. The previous header must be known.',
  params: [textParam('hexdata', { schema: hexStr(), note: 'The 80 bytes of the header.' })],
  result: nil('the header is valid'),
  examples: [example([EXAMPLE.block.slice(0, 160)])],
  scope: 'mining',
  run: async ({ ctx }, hex) => orFail(await ctx.node().call('submitHeader', readHeader(hex))),
});

function readHeader(hex: string): Uint8Array {
  try {
    return hexToBytes(hex);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail('deserialization', 'Block header decode failed');
  }
}

const generatetoaddress = nodeMethod({
  name: 'generatetoaddress',
  hidden: true,
  category: 'mining',
  help: 'Mines blocks whose coinbases pay to an address. On regtest only.',
  params: [
    integerParam('nblocks', { note: 'Number of blocks.' }),
    textParam('address', { note: 'Address that receives the new coins.' }),
    optional(integerParam('maxtries', { note: MAX_TRIES_NOTE }), MAX_TRIES),
  ],
  result: arr(hashStr(), 'hashes of the blocks'),
  examples: [example([1, EXAMPLE.address])],
  scope: 'admin',
  long: true,
  async run(env, count, address, maxTries) {
    checkGenerates(env, 'generatetoaddress');
    const script = scriptFor(env, address, 'Error: Invalid address');
    return generate(env, script, count, maxTries);
  },
});

const generatetodescriptor = nodeMethod({
  name: 'generatetodescriptor',
  hidden: true,
  category: 'mining',
  help: 'Mines blocks whose coinbases pay to the script of a descriptor. On regtest only.',
  params: [
    integerParam('num_blocks', { note: 'Number of blocks.' }),
    textParam('descriptor', { note: 'Descriptor without *, of one script.' }),
    optional(integerParam('maxtries', { note: MAX_TRIES_NOTE }), MAX_TRIES),
  ],
  result: arr(hashStr(), 'hashes of the blocks'),
  examples: [example([1, EXAMPLE.descriptor])],
  scope: 'admin',
  long: true,
  async run(env, count, descriptor, maxTries) {
    checkGenerates(env, 'generatetodescriptor');
    const script = descriptorScript(descriptor, env.ctx.params);
    if (typeof script === 'string') return rpcFail('invalidAddressOrKey', script);
    return generate(env, script, count, maxTries);
  },
});

const generateblock = nodeMethod({
  name: 'generateblock',
  hidden: true,
  category: 'mining',
  help: 'Mines a block with the given transactions and no others. On regtest only.',
  params: [
    textParam('output', { note: 'Address or descriptor that receives the new coins.' }),
    array('transactions', readString, {
      schema: arr(hexStr()),
      note: 'Transactions in their order: txids of the mempool, or serialized transactions.',
    }),
    optional(flagParam('submit', { note: 'Whether the block is submitted; otherwise it is returned as hex.' }), true),
  ],
  result: obj({ hash: hashStr('hash of the block'), hex: maybe(hexStr('serialized block, if submit is false')) }),
  examples: [example([EXAMPLE.address, []]), example([EXAMPLE.address, [EXAMPLE.signedTransaction], false])],
  scope: 'admin',
  long: true,
  async run(env, output, transactions, submit) {
    checkGenerates(env, 'generateblock');
    const described = descriptorScript(output, env.ctx.params);
    const script =
      typeof described === 'string' ? scriptFor(env, output, 'Error: Invalid address or descriptor') : described;
    const txs = transactions.map((one) => (/^[0-9a-fA-F]{64}$/.test(one) ? one.toLowerCase() : rawTransaction(one)));
    const { hash: mined, raw } = orFail(await env.ctx.node().call('generateBlock', script, txs, submit));
    return { hash: mined, ...(!submit && { hex: raw.toHex() }) };
  },
});

const GENERATE_REMOVED = 'has been replaced by the -generate cli option. Refer to -help for more information.';

const generateRemoved = nodeMethod({
  name: 'generate',
  hidden: true,
  removed: true,
  category: 'mining',
  help: GENERATE_REMOVED,
  params: [],
  result: nil(),
  scope: 'admin',
  run: () => rpcFail('methodNotFound', `generate\n\n${GENERATE_REMOVED}\n`),
});

const setmocktime = nodeMethod({
  name: 'setmocktime',
  hidden: true,
  category: 'control',
  help: 'Stops the clock of the node at a time, for tests. On regtest only.',
  params: [largeInteger('timestamp', { note: 'Unix seconds; 0 for the clock of the machine.' })],
  result: nil(),
  examples: [example([1750000000]), example([0])],
  scope: 'admin',
  async run(env, seconds) {
    checkRegtest(env, 'setmocktime');
    if (seconds < 0 || seconds > MAX_TIME)
      return rpcFail('invalidParameter', `Mocktime must be in the range [0, ${MAX_TIME}], not ${seconds}.`);
    await env.ctx.node().call('setMockTime', seconds);
    // The node thread and the main thread have a clock each.
    setMockTime(seconds);
    return null;
  },
});

/** Mines up to `count` blocks and returns their hashes. It ends early when the caller leaves or the node stops. */
async function generate({ ctx, signal }: MainThreadEnv, script: Uint8Array, count: number, maxTries: number) {
  const hashes: string[] = [];
  let tries = maxTries;
  while (hashes.length < count && tries > 0 && !signal.aborted && !ctx.stopping.aborted) {
    const wanted = Math.min(count - hashes.length, BLOCKS_PER_CALL);
    const mined = orFail(await ctx.node().call('generate', script, wanted, tries));
    hashes.push(...mined.hashes);
    tries = mined.triesLeft;
    if (mined.hashes.length < wanted) break;
  }
  return hashes;
}

function rawTransaction(text: string): Uint8Array {
  try {
    return parseTransaction(hexToBytes(text)).raw;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail(
      'deserialization',
      `Transaction decode failed for ${text}. Make sure the tx has at least one input.`,
      'tx_decode_failed',
    );
  }
}

/** Blocks of a custom signet can be generated where its challenge needs no signature, such as OP_TRUE. */
function checkGenerates(env: MainThreadEnv, method: string): void {
  if (!isCustomSignet(env.ctx.params)) checkRegtest(env, method);
}

function checkRegtest({ ctx }: MainThreadEnv, method: string): void {
  if (ctx.params.name !== 'regtest') rpcFail('misc', `${method} is for regression testing (-regtest mode) only`);
}

function scriptFor({ ctx }: MainThreadEnv, address: string, fault: string): Uint8Array {
  const parsed = parseAddress(address, ctx.params.address);
  return parsed.ok
    ? parsed.script
    : rpcFail('invalidAddressOrKey', fault, 'invalid_address', { reason: parsed.reason });
}

export const miningMethods: readonly RpcMethod[] = [
  submitblock,
  submitheader,
  generatetoaddress,
  generatetodescriptor,
  generateblock,
  setmocktime,
  generateRemoved,
];
