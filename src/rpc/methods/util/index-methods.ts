import { type BlockHash, hashToHex } from '../../../primitives/hash.ts';
import { filterBytes, filterIndexState } from '../../../queries/filter-reads.ts';
import { indexState } from '../../../queries/index-reads.ts';
import { hasFailed } from '../../../storage/header-store.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { hashParam, optional, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { bool, hashStr, hexStr, int, mapOf, obj } from '../../engine/schema.ts';
import { findBlock } from '../blockchain/blockchain-methods.ts';

const BASIC = 'basic';

const getblockfilter = rpcMethod({
  name: 'getblockfilter',
  category: 'blockchain',
  help: 'Returns the compact filter of a block (BIP-158) and its filter header (BIP-157). The filter index (index.filter) is needed.',
  params: [
    hashParam<BlockHash>('blockhash', 'blockhash', { note: 'Hash of the block.' }),
    optional(textParam('filtertype', { note: 'Only basic (BIP-158) is known.' }), BASIC),
  ],
  result: obj({ filter: hexStr('encoded filter'), header: hashStr('filter header') }),
  examples: [example([EXAMPLE.blockHash])],
  scope: 'read',
  run(env, blockHash, filterType) {
    const { reads } = env;
    if (filterType !== BASIC) return rpcFail('invalidAddressOrKey', 'Unknown filtertype');
    const index = filterIndexState(env);
    if (!index) return rpcFail('misc', `Index is not enabled for filtertype ${filterType}`);
    const block = findBlock(env, blockHash);
    const record = reads.filters.get(block.id);
    const filter = record && filterBytes(env, record);
    if (filter) return { filter: filter.toHex(), header: hashToHex(record.header) };
    if (block.fees === null || hasFailed(block.status))
      return rpcFail('invalidAddressOrKey', 'Filter not found. Block was not connected to active chain.');
    if (!index.synced)
      return rpcFail('misc', 'Filter not found. Block filters are still in the process of being indexed.');
    return rpcFail('internal', 'Filter not found. This error is unexpected and indicates index corruption.');
  },
});

const getindexinfo = rpcMethod({
  name: 'getindexinfo',
  category: 'util',
  help: 'Returns the state of the indexes that are switched on. The address index is not listed, since Bitcoin Core has none.',
  params: [optional(textParam('index_name', { note: 'Index to describe; all indexes if it is empty.' }), '')],
  result: mapOf(
    'index',
    obj({ synced: bool('whether it covers the whole chain'), best_block_height: int('last indexed height') }),
  ),
  examples: [example([]), example(['txindex'])],
  scope: 'read',
  run(env, name) {
    const filters = filterIndexState(env);
    const shown = (state: { height: number; synced: boolean }) => ({
      synced: state.synced,
      best_block_height: Math.max(0, state.height),
    });
    const tx = indexState(env, 'tx');
    const coinStats = indexState(env, 'coinStats');
    const spender = indexState(env, 'spender');
    const all = {
      ...(tx.enabled && { txindex: shown(tx) }),
      ...(coinStats.enabled && { coinstatsindex: shown(coinStats) }),
      ...(spender.enabled && { txospenderindex: shown(spender) }),
      ...(filters && { 'basic block filter index': shown(filters) }),
    };
    return name === '' ? all : Object.fromEntries(Object.entries(all).filter(([index]) => index === name));
  },
});

export const indexMethods: readonly RpcMethod[] = [getblockfilter, getindexinfo];
