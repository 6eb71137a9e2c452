import { aboutMethods } from './about-methods.ts';
import * as address from './address-methods.ts';
import * as blockScans from './block-scan-methods.ts';
import * as blockchain from './blockchain-methods.ts';
import * as broadcast from './broadcast-methods.ts';
import * as chainControl from './chain-control-methods.ts';
import * as control from './control-methods.ts';
import * as decode from './decode-methods.ts';
import * as deployments from './deployment-methods.ts';
import * as descriptors from './descriptor-methods.ts';
import * as dev from './dev-methods.ts';
import * as fees from './fee-methods.ts';
import * as index from './index-methods.ts';
import * as keys from './key-methods.ts';
import * as mempoolImport from './mempool-import-methods.ts';
import * as mempool from './mempool-methods.ts';
import type { RpcMethod } from './method.ts';
import * as mining from './mining-methods.ts';
import * as network from './network-methods.ts';
import * as node from './node-methods.ts';
import * as psbt from './psbt-methods.ts';
import * as rawTransactions from './raw-transaction-methods.ts';
import * as scan from './scan-methods.ts';
import * as sign from './sign-methods.ts';
import * as template from './template-methods.ts';
import * as util from './util-methods.ts';
import * as verify from './verify-methods.ts';
import * as waits from './wait-methods.ts';
import * as walletAnalysis from './wallet-analysis-methods.ts';
import * as walletCoins from './wallet-coin-methods.ts';
import * as walletControl from './wallet-control-methods.ts';
import * as walletCopies from './wallet-copy-methods.ts';
import * as walletDescriptors from './wallet-descriptor-methods.ts';
import * as walletHd from './wallet-hd-methods.ts';
import * as walletHistory from './wallet-history-methods.ts';
import * as wallet from './wallet-methods.ts';
import * as walletPsbts from './wallet-psbt-methods.ts';
import * as walletSends from './wallet-send-methods.ts';

/** Every method by its name. A new one is an export of one of these files. */
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
    .concat(aboutMethods(() => RPC_METHODS))
    .map((method) => [method.name, method]),
);
