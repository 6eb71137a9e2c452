import { parentsOf } from '../../mempool/relatives.ts';
import { type BlockHash, hashToHex, type Txid } from '../../primitives/hash.ts';
import type { Answer, ReadEndpoint } from '../../queries/answer.ts';
import { isIndexReady } from '../../queries/index-reads.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import { txFacts, unconfirmedFacts } from '../../queries/tx-facts.ts';
import { equalBytes } from '../../util/bytes.ts';
import { coreTx } from '../../views/core/core-tx.ts';
import { RPC_METHODS } from '../methods/methods.ts';
import {
  blockHashReply,
  blockPartReply,
  blockReply,
  filterHeadersReply,
  filterReply,
  headersReply,
  restHash,
  spentReply,
} from './rest-blocks.ts';
import { coinsReply } from './rest-coins.ts';
import { encodedReply, jsonReply, noFormat, restFail } from './rest-reply.ts';
import type { RestTarget } from './rest-target.ts';

export interface CoreRestInput {
  readonly target: RestTarget;
  /** The body as hex. */
  readonly body: string;
}

/** Microseconds per byte of a transaction to write it as JSON. */
const JSON_US_PER_BYTE = 0.3;

/** Reads of Core's REST interface. The node thread is needed for `chaininfo` and `mempool` alone. */
export const coreRestEndpoint: ReadEndpoint<CoreRestInput> = {
  name: 'core-rest',
  run(env, { target, body }) {
    switch (target.prefix) {
      case '/rest/tx/':
        return txReply(env, target);
      case '/rest/block/notxdetails/':
        return blockReply(env, target, 1);
      case '/rest/block/':
        return blockReply(env, target, 3);
      case '/rest/blockpart/':
        return blockPartReply(env, target);
      case '/rest/blockfilter/':
        return filterReply(env, target);
      case '/rest/blockfilterheaders/':
        return filterHeadersReply(env, target);
      case '/rest/headers/':
        return headersReply(env, target);
      case '/rest/getutxos':
        return coinsReply(env, target, Uint8Array.fromHex(body));
      case '/rest/deploymentinfo/':
      case '/rest/deploymentinfo':
        return deploymentReply(env, target);
      case '/rest/blockhashbyheight/':
        return blockHashReply(env, target);
      case '/rest/spenttxouts/':
        return spentReply(env, target);
      default:
        throw new Error(`no read of ${target.prefix}`);
    }
  },
  mempoolPart({ mempool: { entries } }, { target }) {
    const slot = target.prefix === '/rest/tx/' && isHash(target.param) ? entries.find(restHash(target.param)) : -1;
    return slot < 0 ? [] : [slot, ...parentsOf(entries, slot)];
  },
  isCached: ({ target }) => target.prefix !== '/rest/blockpart/',
};

function isHash(text: string): boolean {
  return /^[0-9a-fA-F]{64}$/.test(text);
}

function txReply(env: ReadEnv, { param, format }: RestTarget): Answer {
  const txid = restHash<Txid>(param);
  const { facts, blockHash } = findTx(env, txid) ?? restFail(404, `${param} not found`);
  const { raw } = facts.parsed;
  if (format === null) return noFormat();
  if (format !== 'json') return encodedReply(format, raw, null);
  env.expectWork(raw.length * JSON_US_PER_BYTE);
  const { hex, ...shown } = coreTx(facts, env.params, { withFee: false, withPrevouts: false });
  return jsonReply({ ...shown, ...(blockHash !== null && { blockhash: hashToHex(blockHash) }), hex });
}

/** As in Core, a confirmed transaction needs the transaction index, and the coinbase of the genesis block is none. */
function findTx(env: ReadEnv, txid: Txid) {
  const waiting = env.mempool.findEntry(txid);
  if (waiting) return { facts: unconfirmedFacts(env, waiting), blockHash: null };
  const { reads } = env;
  if (!isIndexReady(env, 'tx') || equalBytes(reads.headers.byHeight(0)!.header.subarray(36, 68), txid)) return null;
  const record = reads.txs.byTxid(txid);
  if (record === null) return null;
  const facts = txFacts(env, record);
  return { facts, blockHash: facts.place!.block.hash };
}

function deploymentReply(env: ReadEnv, { param, format }: RestTarget): Answer {
  if (format !== 'json') return noFormat('json');
  const hash = param === '' ? null : restHash<BlockHash>(param);
  if (hash !== null && env.reads.headers.byHash(hash) === null) return restFail(400, 'Block not found');
  const method = RPC_METHODS.get('getdeploymentinfo')!;
  // The state at a block depends on its ancestors alone.
  return jsonReply(method.invoke(env, [hash]), hash === null ? null : hashToHex(hash));
}
