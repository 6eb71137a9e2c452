import type { RpcMethod, RpcMethods } from '../engine/method.ts';
import * as addressMethods from './addressindex/address-methods.ts';
import * as blockScanMethods from './blockchain/block-scan-methods.ts';
import * as blockchainMethods from './blockchain/blockchain-methods.ts';
import * as chainControlMethods from './blockchain/chain-control-methods.ts';
import * as deploymentMethods from './blockchain/deployment-methods.ts';
import * as scanMethods from './blockchain/scan-methods.ts';
import * as utxoSnapshotMethods from './blockchain/utxo-snapshot-methods.ts';
import * as verifyMethods from './blockchain/verify-methods.ts';
import * as waitMethods from './blockchain/wait-methods.ts';
import * as controlMethods from './control/control-methods.ts';
import * as devMethods from './control/dev-methods.ts';
import { helpMethods } from './control/help-methods.ts';
import * as keyMethods from './control/key-methods.ts';
import * as mempoolImportMethods from './mempool/mempool-import-methods.ts';
import * as mempoolMethods from './mempool/mempool-methods.ts';
import * as miningMethods from './mining/mining-methods.ts';
import * as nodeMethods from './mining/node-methods.ts';
import * as prioritiseMethods from './mining/prioritise-methods.ts';
import * as templateMethods from './mining/template-methods.ts';
import * as networkMethods from './network/network-methods.ts';
import * as broadcastMethods from './rawtransactions/broadcast-methods.ts';
import * as decodeMethods from './rawtransactions/decode-methods.ts';
import * as psbtMethods from './rawtransactions/psbt-methods.ts';
import * as rawTransactionMethods from './rawtransactions/raw-transaction-methods.ts';
import * as signMethods from './rawtransactions/sign-methods.ts';
import * as descriptorMethods from './util/descriptor-methods.ts';
import * as feeMethods from './util/fee-methods.ts';
import * as indexMethods from './util/index-methods.ts';
import * as utilMethods from './util/util-methods.ts';
import * as walletAnalysisMethods from './wallet/wallet-analysis-methods.ts';
import * as walletCoinMethods from './wallet/wallet-coin-methods.ts';
import * as walletControlMethods from './wallet/wallet-control-methods.ts';
import * as walletCopyMethods from './wallet/wallet-copy-methods.ts';
import * as walletDescriptorMethods from './wallet/wallet-descriptor-methods.ts';
import * as walletHdMethods from './wallet/wallet-hd-methods.ts';
import * as walletHistoryMethods from './wallet/wallet-history-methods.ts';
import * as walletMethods from './wallet/wallet-methods.ts';
import * as walletPsbtMethods from './wallet/wallet-psbt-methods.ts';
import * as walletSendMethods from './wallet/wallet-send-methods.ts';

/** The modules whose exported methods are served, by topic. */
const MODULES: readonly object[] = [
  blockchainMethods,
  chainControlMethods,
  deploymentMethods,
  scanMethods,
  utxoSnapshotMethods,
  indexMethods,
  verifyMethods,
  waitMethods,
  feeMethods,
  mempoolMethods,
  addressMethods,
  rawTransactionMethods,
  broadcastMethods,
  decodeMethods,
  signMethods,
  psbtMethods,
  descriptorMethods,
  miningMethods,
  prioritiseMethods,
  templateMethods,
  networkMethods,
  nodeMethods,
  controlMethods,
  keyMethods,
  utilMethods,
  devMethods,
  walletMethods,
  walletCoinMethods,
  walletControlMethods,
  walletDescriptorMethods,
  walletHistoryMethods,
  walletPsbtMethods,
  walletSendMethods,
  blockScanMethods,
  mempoolImportMethods,
  walletAnalysisMethods,
  walletCopyMethods,
  walletHdMethods,
];

const METHODS = MODULES.flatMap((module) => Object.values(module).filter(isMethod));

/** All methods by name. */
export const RPC_METHODS: RpcMethods = new Map(
  [...METHODS, ...helpMethods(() => RPC_METHODS)].map((method) => [method.name, method]),
);

function isMethod(exported: unknown): exported is RpcMethod {
  return typeof exported === 'object' && exported !== null && 'runsOn' in exported && 'invoke' in exported;
}
