import type { RpcMethod, RpcMethods } from '../engine/method.ts';
import { addressMethods } from './addressindex/address-methods.ts';
import { blockScanMethods } from './blockchain/block-scan-methods.ts';
import { blockchainMethods } from './blockchain/blockchain-methods.ts';
import { chainControlMethods } from './blockchain/chain-control-methods.ts';
import { deploymentMethods } from './blockchain/deployment-methods.ts';
import { scanMethods } from './blockchain/scan-methods.ts';
import { utxoMethods } from './blockchain/utxo-methods.ts';
import { utxoSnapshotMethods } from './blockchain/utxo-snapshot-methods.ts';
import { verifyMethods } from './blockchain/verify-methods.ts';
import { waitMethods } from './blockchain/wait-methods.ts';
import { backupMethods } from './control/backup-methods.ts';
import { controlMethods } from './control/control-methods.ts';
import { devMethods } from './control/dev-methods.ts';
import { echoMethods } from './control/echo-methods.ts';
import { helpMethods } from './control/help-methods.ts';
import { keyMethods } from './control/key-methods.ts';
import { clusterMethods } from './mempool/cluster-methods.ts';
import { mempoolImportMethods } from './mempool/mempool-import-methods.ts';
import { mempoolMethods } from './mempool/mempool-methods.ts';
import { orphanMethods } from './mempool/orphan-methods.ts';
import { miningMethods } from './mining/mining-methods.ts';
import { nodeMethods } from './mining/node-methods.ts';
import { prioritiseMethods } from './mining/prioritise-methods.ts';
import { templateMethods } from './mining/template-methods.ts';
import { banMethods } from './network/ban-methods.ts';
import { networkMethods } from './network/network-methods.ts';
import { networkTestMethods } from './network/network-test-methods.ts';
import { broadcastMethods } from './rawtransactions/broadcast-methods.ts';
import { decodeMethods } from './rawtransactions/decode-methods.ts';
import { privateBroadcastMethods } from './rawtransactions/private-broadcast-methods.ts';
import { psbtMethods } from './rawtransactions/psbt-methods.ts';
import { rawTransactionMethods } from './rawtransactions/raw-transaction-methods.ts';
import { signMethods } from './rawtransactions/sign-methods.ts';
import { descriptorMethods } from './util/descriptor-methods.ts';
import { feeMethods } from './util/fee-methods.ts';
import { indexMethods } from './util/index-methods.ts';
import { utilMethods } from './util/util-methods.ts';
import { signerMethods } from './wallet/signer-methods.ts';
import { walletAnalysisMethods } from './wallet/wallet-analysis-methods.ts';
import { walletCoinMethods } from './wallet/wallet-coin-methods.ts';
import { walletControlMethods } from './wallet/wallet-control-methods.ts';
import { walletCopyMethods } from './wallet/wallet-copy-methods.ts';
import { walletDescriptorMethods } from './wallet/wallet-descriptor-methods.ts';
import { walletHdMethods } from './wallet/wallet-hd-methods.ts';
import { walletHistoryMethods } from './wallet/wallet-history-methods.ts';
import { walletMethods } from './wallet/wallet-methods.ts';
import { walletPsbtMethods } from './wallet/wallet-psbt-methods.ts';
import { walletSendMethods } from './wallet/wallet-send-methods.ts';

/** All methods but those that describe the methods. */
const METHODS: readonly RpcMethod[] = [
  ...blockchainMethods,
  ...chainControlMethods,
  ...deploymentMethods,
  ...scanMethods,
  ...utxoMethods,
  ...utxoSnapshotMethods,
  ...indexMethods,
  ...verifyMethods,
  ...waitMethods,
  ...feeMethods,
  ...mempoolMethods,
  ...clusterMethods,
  ...orphanMethods,
  ...addressMethods,
  ...rawTransactionMethods,
  ...broadcastMethods,
  ...privateBroadcastMethods,
  ...decodeMethods,
  ...signMethods,
  ...psbtMethods,
  ...descriptorMethods,
  ...miningMethods,
  ...prioritiseMethods,
  ...templateMethods,
  ...networkMethods,
  ...networkTestMethods,
  ...banMethods,
  ...nodeMethods,
  ...controlMethods,
  ...backupMethods,
  ...echoMethods,
  ...keyMethods,
  ...utilMethods,
  ...devMethods,
  ...walletMethods,
  ...walletCoinMethods,
  ...walletControlMethods,
  ...walletDescriptorMethods,
  ...walletHistoryMethods,
  ...walletPsbtMethods,
  ...walletSendMethods,
  ...signerMethods,
  ...blockScanMethods,
  ...mempoolImportMethods,
  ...walletAnalysisMethods,
  ...walletCopyMethods,
  ...walletHdMethods,
];

/** All methods by name. */
export const RPC_METHODS: RpcMethods = new Map(
  [...METHODS, ...helpMethods(() => RPC_METHODS)].map((method) => [method.name, method]),
);
