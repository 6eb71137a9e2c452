import type { Txid } from '../../../primitives/hash.ts';
import { transactionBytes, txidOf } from '../../../primitives/transaction.ts';
import { equalBytes } from '../../../util/bytes.ts';
import { walletName } from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { hex, readHashValue, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { hashStr, hexStr, nil, obj, str } from '../../engine/schema.ts';
import { decodeProof } from '../rawtransactions/raw-transaction-methods.ts';
import { readTransactionHex } from '../rawtransactions/transaction-hex.ts';

const importprunedfunds = nodeMethod({
  name: 'importprunedfunds',
  category: 'wallet',
  help: 'Adds a confirmed transaction of the wallet without a rescan, given the proof that it is in a block.',
  params: [
    textParam('rawtransaction', { schema: hexStr(), note: 'Serialized transaction that pays the wallet.' }),
    {
      ...hex('proof', { note: 'Proof of gettxoutproof that the transaction is in a block of the active chain.' }),
      name: 'txoutproof',
      oneline: '"txoutproof"',
    },
  ],
  result: nil(),
  examples: [example([EXAMPLE.signedTransaction, EXAMPLE.proof])],
  scope: 'wallet.keys',
  async run(env, raw, proof) {
    const name = walletName(env);
    const tx = readTransactionHex(raw, 'TX decode failed. Make sure the tx has at least one input.');
    const shown = decodeProof(proof) ?? rpcFail('invalidAddressOrKey', 'Something wrong with merkleblock');
    const txid = txidOf(tx);
    const at = shown.matches.findIndex((match) => equalBytes(match, txid));
    const index = at < 0 ? null : shown.positions[at]!;
    orFail(await env.ctx.node().call('walletImportPruned', name, transactionBytes(tx), shown.hash, index));
    return null;
  },
});

/** Core's sentence, and the setting of this node. */
const REMOVE_DEPRECATED =
  'DEPRECATION WARNING: This feature will be removed in the next major release. Start bitcoind with the `-deprecatedrpc=removeprunedfunds` option in order to use this. The setting of this node is rpc.deprecated = "removeprunedfunds".';

const removeprunedfunds = nodeMethod({
  name: 'removeprunedfunds',
  category: 'wallet',
  help: 'Removes a transaction from the wallet, which changes the balance. A rescan finds a confirmed transaction again. Bitcoin Core will remove this method; it works only with rpc.deprecated = "removeprunedfunds".',
  params: [textParam('txid', { note: 'Transaction to remove.', schema: hashStr() })],
  result: nil(),
  examples: [example([EXAMPLE.txid])],
  scope: 'wallet.keys',
  async run(env, txid) {
    if (!env.settings.deprecated.includes('removeprunedfunds')) rpcFail('deprecated', REMOVE_DEPRECATED);
    const removed = readHashValue<Txid>(txid, 'txid');
    orFail(await env.ctx.node().call('walletRemovePruned', walletName(env), removed));
    return null;
  },
});

const exportwatchonlywallet = nodeMethod({
  name: 'exportwatchonlywallet',
  category: 'wallet',
  help: 'Writes a watch-only copy of the wallet, without private keys, into the directory of backups.',
  params: [textParam('destination', { note: 'Name of the copy; a path where wallet.pathRoot is set.' })],
  result: obj({ exported_file: str('path of the copy') }),
  examples: [example(['savings-watch.dat'])],
  scope: 'wallet.keys',
  async run(env, file) {
    const node = env.ctx.node();
    return { exported_file: orFail(await node.call('walletExportWatchOnly', walletName(env), file)) };
  },
});

export const walletCopyMethods: readonly RpcMethod[] = [importprunedfunds, removeprunedfunds, exportwatchonlywallet];
