import { parseTransaction } from '../../../primitives/block.ts';
import { parseAddress } from '../../../script/address.ts';
import { DecodeError, hexToBytes } from '../../../util/bytes.ts';
import { setMockTime } from '../../../util/clock.ts';
import { type FrontEnv, nodeMethod } from '../../engine/method.ts';
import { array, flag, integer, largeInteger, optional, readString, text } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, hexStr, maybe, nil, obj, str } from '../../engine/schema.ts';
import { descriptorScript } from '../util/descriptor-script.ts';
import { readBlock } from './template-methods.ts';

const MAX_TRIES = 1_000_000;
const BLOCKS_AT_A_TIME = 50;
/** A header has 32 bits for its time. */
const MAX_TIME = 0xffff_ffff;

export const submitblock = nodeMethod({
  name: 'submitblock',
  category: 'mining',
  help: 'Hands in a block (BIP-22).',
  params: [text('hexdata', { schema: hexStr() }), optional(text('dummy', { placeholder: true }), null)],
  result: anyOf(nil('it is in the chain now'), str('why not: duplicate, inconclusive, or the reason of its rejection')),
  scope: 'mining',
  long: true,
  async run({ ctx }, hex) {
    const reason = await ctx.node().submitBlock(readBlock(hex));
    return reason === 'bad-blk-decode' ? rpcFail('deserialization', 'Block decode failed') : reason;
  },
});

export const submitheader = nodeMethod({
  name: 'submitheader',
  category: 'mining',
  help: 'Hands in the header of a block, whose body is looked for then.',
  params: [text('hexdata', { schema: hexStr() })],
  result: nil(),
  scope: 'mining',
  run: async ({ ctx }, hex) => orFail(await ctx.node().act('submitHeader', readHeader(hex))),
});

function readHeader(hex: string): Uint8Array {
  try {
    return hexToBytes(hex);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail('deserialization', 'Block header decode failed');
  }
}

export const generatetoaddress = nodeMethod({
  name: 'generatetoaddress',
  hidden: true,
  category: 'mining',
  help: 'Mines blocks to an address at once. On regtest only.',
  params: [integer('nblocks'), text('address'), optional(integer('maxtries'), MAX_TRIES)],
  result: arr(hashStr(), 'of the blocks'),
  scope: 'admin',
  long: true,
  async run(env, count, address, maxTries) {
    checkRegtest(env, 'generatetoaddress');
    const script = scriptFor(env, address, 'Error: Invalid address');
    return generate(env, script, count, maxTries);
  },
});

export const generatetodescriptor = nodeMethod({
  name: 'generatetodescriptor',
  hidden: true,
  category: 'mining',
  help: 'Mines blocks to a descriptor at once. On regtest only.',
  params: [integer('num_blocks'), text('descriptor'), optional(integer('maxtries'), MAX_TRIES)],
  result: arr(hashStr(), 'of the blocks'),
  scope: 'admin',
  long: true,
  async run(env, count, descriptor, maxTries) {
    checkRegtest(env, 'generatetodescriptor');
    const script = descriptorScript(descriptor, env.ctx.params);
    if (typeof script === 'string') return rpcFail('invalidAddressOrKey', script);
    return generate(env, script, count, maxTries);
  },
});

export const generateblock = nodeMethod({
  name: 'generateblock',
  hidden: true,
  category: 'mining',
  help: 'Mines a block of given transactions: txids of the mempool, or raw transactions. On regtest only.',
  params: [
    text('output'),
    array('transactions', readString, { schema: arr(hexStr()), note: 'in order; ids of the mempool, or raw' }),
    optional(flag('submit'), true),
  ],
  result: obj({ hash: hashStr(), hex: maybe(hexStr('where it is not submitted')) }),
  scope: 'admin',
  long: true,
  async run(env, output, transactions, submit) {
    checkRegtest(env, 'generateblock');
    const described = descriptorScript(output, env.ctx.params);
    const script =
      typeof described === 'string' ? scriptFor(env, output, 'Error: Invalid address or descriptor') : described;
    const txs = transactions.map((one) => (/^[0-9a-fA-F]{64}$/.test(one) ? one.toLowerCase() : rawTransaction(one)));
    const { hash: mined, raw } = orFail(await env.ctx.node().act('generateBlock', script, txs, submit));
    return { hash: mined, ...(!submit && { hex: raw.toHex() }) };
  },
});

export const setmocktime = nodeMethod({
  name: 'setmocktime',
  hidden: true,
  category: 'control',
  help: 'Stops the clock of the node at a time; 0 lets it go again. On regtest only.',
  params: [largeInteger('timestamp', { note: 'Unix seconds' })],
  result: nil(),
  scope: 'admin',
  async run(env, seconds) {
    checkRegtest(env, 'setmocktime');
    if (seconds < 0 || seconds > MAX_TIME)
      return rpcFail('invalidParameter', `Mocktime must be in the range [0, ${MAX_TIME}], not ${seconds}.`);
    await env.ctx.node().act('setMockTime', seconds);
    // The node and what answers for it run on threads of their own, each with its clock.
    setMockTime(seconds);
    return null;
  },
});

/** A few at a time, so that it ends when the caller leaves or the node stops. Returns the hashes. */
async function generate({ ctx, signal }: FrontEnv, script: Uint8Array, count: number, maxTries: number) {
  const hashes: string[] = [];
  let tries = maxTries;
  while (hashes.length < count && tries > 0 && !signal.aborted && !ctx.stopping.aborted) {
    const wanted = Math.min(count - hashes.length, BLOCKS_AT_A_TIME);
    const mined = orFail(await ctx.node().act('generate', script, wanted, tries));
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

function checkRegtest({ ctx }: FrontEnv, method: string): void {
  if (ctx.params.name !== 'regtest') rpcFail('misc', `${method} is for regression testing (-regtest mode) only`);
}

function scriptFor({ ctx }: FrontEnv, address: string, fault: string): Uint8Array {
  const parsed = parseAddress(address, ctx.params.address);
  return parsed.ok
    ? parsed.script
    : rpcFail('invalidAddressOrKey', fault, 'invalid_address', { reason: parsed.reason });
}
