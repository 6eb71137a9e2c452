import type { Txid } from '../../../primitives/hash.ts';
import { transactionBytes, txidOf } from '../../../primitives/transaction.ts';
import { equalBytes } from '../../../util/bytes.ts';
import { nodeMethod } from '../../engine/method.ts';
import { hash, hex, text } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { hexStr, nil, obj, str } from '../../engine/schema.ts';
import { decodeProof } from '../rawtransactions/raw-transaction-methods.ts';
import { readTransactionHex } from '../rawtransactions/transaction-hex.ts';
import { walletName } from './wallet-env.ts';

export const importprunedfunds = nodeMethod({
  name: 'importprunedfunds',
  category: 'wallet',
  help: 'Takes in a transaction that pays the wallet, with the proof that it is in a block, without looking at blocks.',
  params: [
    text('rawtransaction', { schema: hexStr() }),
    { ...hex('proof'), name: 'txoutproof', oneline: '"txoutproof"' },
  ],
  result: nil(),
  scope: 'wallet.keys',
  async run(env, raw, proof) {
    const name = walletName(env);
    const tx = readTransactionHex(raw, 'TX decode failed. Make sure the tx has at least one input.');
    const shown = decodeProof(proof) ?? rpcFail('invalidAddressOrKey', 'Something wrong with merkleblock');
    const txid = txidOf(tx);
    const at = shown.matches.findIndex((match) => equalBytes(match, txid));
    const index = at < 0 ? null : shown.positions[at]!;
    orFail(await env.ctx.node().act('walletImportPruned', name, transactionBytes(tx), shown.hash, index));
    return null;
  },
});

export const removeprunedfunds = nodeMethod({
  name: 'removeprunedfunds',
  category: 'wallet',
  help: 'Has the wallet forget a transaction, which changes its balance; one that is in a block comes back with a rescan.',
  params: [hash<Txid>('txid')],
  result: nil(),
  scope: 'wallet.keys',
  async run(env, txid) {
    orFail(await env.ctx.node().act('walletRemovePruned', walletName(env), txid));
    return null;
  },
});

export const exportwatchonlywallet = nodeMethod({
  name: 'exportwatchonlywallet',
  category: 'wallet',
  help: 'Writes the wallet without private keys into the directory of backups, under a name without a path.',
  params: [text('destination')],
  result: obj({ exported_file: str() }),
  scope: 'wallet.keys',
  async run(env, file) {
    const node = env.ctx.node();
    return { exported_file: orFail(await node.act('walletExportWatchOnly', walletName(env), file)) };
  },
});
