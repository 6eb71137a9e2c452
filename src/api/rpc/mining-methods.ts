import { parseTransaction } from '../../primitives/block.ts';
import { parseAddress } from '../../script/address.ts';
import { DecodeError, hexToBytes } from '../../util/bytes.ts';
import { type FrontEnv, nodeMethod } from './method.ts';
import { array, flag, hex, integer, optional, readString, text } from './params.ts';
import { orFail, rpcFail } from './rpc-error.ts';

const MAX_TRIES = 1_000_000;

export const submitblock = nodeMethod({
  name: 'submitblock',
  category: 'mining',
  help: 'Hands in a block (BIP-22).',
  params: [hex('hexdata'), optional(text('dummy'), null)],
  result: 'null when it is in the chain now, else why not: duplicate, inconclusive, or the reason of its rejection',
  scope: 'mining',
  long: true,
  async run({ ctx }, raw) {
    const reason = await ctx.node().submitBlock(raw);
    return reason === 'bad-blk-decode' ? rpcFail('deserialization', 'Block decode failed') : reason;
  },
});

export const generatetoaddress = nodeMethod({
  name: 'generatetoaddress',
  category: 'mining',
  help: 'Mines blocks to an address at once. On regtest only.',
  params: [integer('nblocks'), text('address'), optional(integer('maxtries'), MAX_TRIES)],
  result: 'an array of block hashes',
  scope: 'admin',
  long: true,
  async run(env, count, address, maxTries) {
    checkRegtest(env, 'generatetoaddress');
    const script = scriptFor(env, address, 'Error: Invalid address');
    return orFail(await env.ctx.node().act('generate', script, Math.max(0, count), maxTries));
  },
});

export const generateblock = nodeMethod({
  name: 'generateblock',
  category: 'mining',
  help: 'Mines a block of given transactions: txids of the mempool, or raw transactions. On regtest only.',
  params: [text('output'), array('transactions', readString), optional(flag('submit'), true)],
  result: 'an object with the hash, and with the hex where it is not submitted',
  scope: 'admin',
  long: true,
  async run(env, output, transactions, submit) {
    checkRegtest(env, 'generateblock');
    const script = scriptFor(env, output, 'Error: Invalid address or descriptor');
    const txs = transactions.map((one) => (/^[0-9a-fA-F]{64}$/.test(one) ? one.toLowerCase() : rawTransaction(one)));
    const { hash: mined, raw } = orFail(await env.ctx.node().act('generateBlock', script, txs, submit));
    return { hash: mined, ...(!submit && { hex: raw.toHex() }) };
  },
});

function rawTransaction(text: string): Uint8Array {
  try {
    return parseTransaction(hexToBytes(text)).raw;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail(
      'deserialization',
      `Transaction decode failed for ${text}. Make sure the tx has at least one input.`,
    );
  }
}

function checkRegtest({ ctx }: FrontEnv, method: string): void {
  if (ctx.params.name !== 'regtest') rpcFail('misc', `${method} is for regression testing (-regtest mode) only`);
}

function scriptFor({ ctx }: FrontEnv, address: string, fault: string): Uint8Array {
  const parsed = parseAddress(address, ctx.params.address);
  return parsed.ok ? parsed.script : rpcFail('invalidAddressOrKey', fault);
}
