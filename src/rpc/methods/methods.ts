import type { RpcMethod } from '../engine/method.ts';
import * as address from './addressindex/address-methods.ts';
import * as blockScans from './blockchain/block-scan-methods.ts';
import * as blockchain from './blockchain/blockchain-methods.ts';
import * as chainControl from './blockchain/chain-control-methods.ts';
import * as deployments from './blockchain/deployment-methods.ts';
import * as scan from './blockchain/scan-methods.ts';
import * as verify from './blockchain/verify-methods.ts';
import * as waits from './blockchain/wait-methods.ts';
import * as control from './control/control-methods.ts';
import * as dev from './control/dev-methods.ts';
import { helpMethods } from './control/help-methods.ts';
import * as keys from './control/key-methods.ts';
import * as mempoolImport from './mempool/mempool-import-methods.ts';
import * as mempool from './mempool/mempool-methods.ts';
import * as mining from './mining/mining-methods.ts';
import * as node from './mining/node-methods.ts';
import * as template from './mining/template-methods.ts';
import * as network from './network/network-methods.ts';
import * as broadcast from './rawtransactions/broadcast-methods.ts';
import * as decode from './rawtransactions/decode-methods.ts';
import * as psbt from './rawtransactions/psbt-methods.ts';
import * as rawTransactions from './rawtransactions/raw-transaction-methods.ts';
import * as sign from './rawtransactions/sign-methods.ts';
import * as descriptors from './util/descriptor-methods.ts';
import * as fees from './util/fee-methods.ts';
import * as index from './util/index-methods.ts';
import * as util from './util/util-methods.ts';
import * as walletAnalysis from './wallet/wallet-analysis-methods.ts';
import * as walletCoins from './wallet/wallet-coin-methods.ts';
import * as walletControl from './wallet/wallet-control-methods.ts';
import * as walletCopies from './wallet/wallet-copy-methods.ts';
import * as walletDescriptors from './wallet/wallet-descriptor-methods.ts';
import * as walletHd from './wallet/wallet-hd-methods.ts';
import * as walletHistory from './wallet/wallet-history-methods.ts';
import * as wallet from './wallet/wallet-methods.ts';
import * as walletPsbts from './wallet/wallet-psbt-methods.ts';
import * as walletSends from './wallet/wallet-send-methods.ts';

/** All methods by name. A new method is an export of one of these files. */
export const RPC_METHODS: ReadonlyMap<string, RpcMethod> = new Map(
  [
    ...[blockchain, chainControl, deployments, scan, index, verify, waits, fees, mempool, address],
    ...[rawTransactions, broadcast, decode, sign, psbt, descriptors],
    ...[mining, template, network, node, control, keys, util, dev, wallet],
    ...[walletCoins, walletControl, walletDescriptors, walletHistory, walletPsbts, walletSends],
    ...[blockScans, mempoolImport, walletAnalysis, walletCopies, walletHd],
  ]
    .flatMap((exports): unknown[] => Object.values(exports))
    .filter((value): value is RpcMethod => typeof value === 'object' && value !== null && 'invoke' in value)
    .concat(helpMethods(() => RPC_METHODS))
    .map((method) => [method.name, method]),
);
