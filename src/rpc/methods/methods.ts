import type { RpcMethod } from '../engine/method.ts';
import {
  getaddressbalance,
  getaddressdeltas,
  getaddressmempool,
  getaddresstxids,
  getaddressutxos,
} from './addressindex/address-methods.ts';
import { getdescriptoractivity, scanblocks } from './blockchain/block-scan-methods.ts';
import {
  getbestblockhash,
  getblock,
  getblockcount,
  getblockhash,
  getblockheader,
  getblockstats,
  getchaintxstats,
  getdifficulty,
  gettxout,
  gettxoutsetinfo,
} from './blockchain/blockchain-methods.ts';
import { getchaintips, invalidateblock, preciousblock, reconsiderblock } from './blockchain/chain-control-methods.ts';
import { getdeploymentinfo } from './blockchain/deployment-methods.ts';
import { scantxoutset } from './blockchain/scan-methods.ts';
import { verifychain } from './blockchain/verify-methods.ts';
import { waitforblock, waitforblockheight, waitfornewblock } from './blockchain/wait-methods.ts';
import {
  getchainstates,
  getmemoryinfo,
  getrpcinfo,
  logging,
  pruneblockchain,
  stop,
  syncwithvalidationinterfacequeue,
} from './control/control-methods.ts';
import { devdoublespend, devflood, devpay, devreorg } from './control/dev-methods.ts';
import { helpMethods } from './control/help-methods.ts';
import { createapikey, getapikey, listapikeys, revokeapikey, rotateapikey, setapikey } from './control/key-methods.ts';
import { importmempool } from './mempool/mempool-import-methods.ts';
import {
  getmempoolancestors,
  getmempoolcluster,
  getmempooldescendants,
  getmempoolentry,
  getprioritisedtransactions,
  getrawmempool,
  gettxspendingprevout,
  prioritisetransaction,
  savemempool,
} from './mempool/mempool-methods.ts';
import {
  generateblock,
  generatetoaddress,
  generatetodescriptor,
  setmocktime,
  submitblock,
  submitheader,
} from './mining/mining-methods.ts';
import { getblockchaininfo, getmempoolinfo, getmininginfo, getnetworkhashps } from './mining/node-methods.ts';
import { getblocktemplate } from './mining/template-methods.ts';
import {
  addnode,
  clearbanned,
  disconnectnode,
  getaddednodeinfo,
  getaddrmaninfo,
  getblockfrompeer,
  getconnectioncount,
  getnettotals,
  getnetworkinfo,
  getnodeaddresses,
  getpeerinfo,
  listbanned,
  ping,
  setban,
  setnetworkactive,
} from './network/network-methods.ts';
import { sendrawtransaction, submitpackage, testmempoolaccept } from './rawtransactions/broadcast-methods.ts';
import { decoderawtransaction, decodescript } from './rawtransactions/decode-methods.ts';
import {
  analyzepsbt,
  combinepsbt,
  converttopsbt,
  createpsbt,
  decodepsbt,
  descriptorprocesspsbt,
  finalizepsbt,
  joinpsbts,
  utxoupdatepsbt,
} from './rawtransactions/psbt-methods.ts';
import { getrawtransaction, gettxoutproof, verifytxoutproof } from './rawtransactions/raw-transaction-methods.ts';
import {
  combinerawtransaction,
  createrawtransaction,
  signrawtransactionwithkey,
} from './rawtransactions/sign-methods.ts';
import {
  createmultisig,
  deriveaddresses,
  getdescriptorinfo,
  signmessagewithprivkey,
  verifymessage,
} from './util/descriptor-methods.ts';
import { estimatefee, estimaterawfee, estimatesmartfee } from './util/fee-methods.ts';
import { getblockfilter, getindexinfo } from './util/index-methods.ts';
import { getlistingmetadata, uptime, validateaddress } from './util/util-methods.ts';
import { listaddressgroupings, simulaterawtransaction } from './wallet/wallet-analysis-methods.ts';
import {
  getreceivedbyaddress,
  getreceivedbylabel,
  listlockunspent,
  listreceivedbyaddress,
  listreceivedbylabel,
  listunspent,
  lockunspent,
} from './wallet/wallet-coin-methods.ts';
import {
  backupwallet,
  createwallet,
  encryptwallet,
  listwalletdir,
  loadwallet,
  restorewallet,
  setwalletflag,
  unloadwallet,
  walletlock,
  walletpassphrase,
  walletpassphrasechange,
} from './wallet/wallet-control-methods.ts';
import { exportwatchonlywallet, importprunedfunds, removeprunedfunds } from './wallet/wallet-copy-methods.ts';
import {
  createwalletdescriptor,
  getaddressinfo,
  importdescriptors,
  listdescriptors,
} from './wallet/wallet-descriptor-methods.ts';
import { addhdkey, derivehdkey, gethdkeys } from './wallet/wallet-hd-methods.ts';
import {
  abandontransaction,
  abortrescan,
  gettransaction,
  listsinceblock,
  listtransactions,
  rescanblockchain,
} from './wallet/wallet-history-methods.ts';
import {
  getaddressesbylabel,
  getbalance,
  getbalances,
  getnewaddress,
  getrawchangeaddress,
  getwalletinfo,
  keypoolrefill,
  listlabels,
  listwallets,
  setlabel,
} from './wallet/wallet-methods.ts';
import {
  fundrawtransaction,
  signmessage,
  signrawtransactionwithwallet,
  walletcreatefundedpsbt,
  walletprocesspsbt,
} from './wallet/wallet-psbt-methods.ts';
import { bumpfee, psbtbumpfee, send, sendall, sendmany, sendtoaddress } from './wallet/wallet-send-methods.ts';

/** All methods by topic. One that is not listed is an unused export, which the checks report. */
const METHODS: readonly RpcMethod[] = [
  ...[
    getbestblockhash,
    getblock,
    getblockcount,
    getblockhash,
    getblockheader,
    getblockstats,
    getchaintxstats,
    getdifficulty,
    gettxout,
    gettxoutsetinfo,
  ],
  ...[getchaintips, invalidateblock, preciousblock, reconsiderblock],
  ...[getdeploymentinfo],
  ...[scantxoutset],
  ...[getblockfilter, getindexinfo],
  ...[verifychain],
  ...[waitforblock, waitforblockheight, waitfornewblock],
  ...[estimatefee, estimaterawfee, estimatesmartfee],
  ...[
    getmempoolancestors,
    getmempoolcluster,
    getmempooldescendants,
    getmempoolentry,
    getprioritisedtransactions,
    getrawmempool,
    gettxspendingprevout,
    prioritisetransaction,
    savemempool,
  ],
  ...[getaddressbalance, getaddressdeltas, getaddressmempool, getaddresstxids, getaddressutxos],
  ...[getrawtransaction, gettxoutproof, verifytxoutproof],
  ...[sendrawtransaction, submitpackage, testmempoolaccept],
  ...[decoderawtransaction, decodescript],
  ...[combinerawtransaction, createrawtransaction, signrawtransactionwithkey],
  ...[
    analyzepsbt,
    combinepsbt,
    converttopsbt,
    createpsbt,
    decodepsbt,
    descriptorprocesspsbt,
    finalizepsbt,
    joinpsbts,
    utxoupdatepsbt,
  ],
  ...[createmultisig, deriveaddresses, getdescriptorinfo, signmessagewithprivkey, verifymessage],
  ...[generateblock, generatetoaddress, generatetodescriptor, setmocktime, submitblock, submitheader],
  ...[getblocktemplate],
  ...[
    addnode,
    clearbanned,
    disconnectnode,
    getaddednodeinfo,
    getaddrmaninfo,
    getblockfrompeer,
    getconnectioncount,
    getnettotals,
    getnetworkinfo,
    getnodeaddresses,
    getpeerinfo,
    listbanned,
    ping,
    setban,
    setnetworkactive,
  ],
  ...[getblockchaininfo, getmempoolinfo, getmininginfo, getnetworkhashps],
  ...[getchainstates, getmemoryinfo, getrpcinfo, logging, pruneblockchain, stop, syncwithvalidationinterfacequeue],
  ...[createapikey, getapikey, listapikeys, revokeapikey, rotateapikey, setapikey],
  ...[getlistingmetadata, uptime, validateaddress],
  ...[devdoublespend, devflood, devpay, devreorg],
  ...[
    getaddressesbylabel,
    getbalance,
    getbalances,
    getnewaddress,
    getrawchangeaddress,
    getwalletinfo,
    keypoolrefill,
    listlabels,
    listwallets,
    setlabel,
  ],
  ...[
    getreceivedbyaddress,
    getreceivedbylabel,
    listlockunspent,
    listreceivedbyaddress,
    listreceivedbylabel,
    listunspent,
    lockunspent,
  ],
  ...[
    backupwallet,
    createwallet,
    encryptwallet,
    listwalletdir,
    loadwallet,
    restorewallet,
    setwalletflag,
    unloadwallet,
    walletlock,
    walletpassphrase,
    walletpassphrasechange,
  ],
  ...[createwalletdescriptor, getaddressinfo, importdescriptors, listdescriptors],
  ...[abandontransaction, abortrescan, gettransaction, listsinceblock, listtransactions, rescanblockchain],
  ...[fundrawtransaction, signmessage, signrawtransactionwithwallet, walletcreatefundedpsbt, walletprocesspsbt],
  ...[bumpfee, psbtbumpfee, send, sendall, sendmany, sendtoaddress],
  ...[getdescriptoractivity, scanblocks],
  ...[importmempool],
  ...[listaddressgroupings, simulaterawtransaction],
  ...[exportwatchonlywallet, importprunedfunds, removeprunedfunds],
  ...[addhdkey, derivehdkey, gethdkeys],
];

/** All methods by name. */
export const RPC_METHODS: ReadonlyMap<string, RpcMethod> = new Map(
  [...METHODS, ...helpMethods(() => RPC_METHODS)].map((method) => [method.name, method]),
);
