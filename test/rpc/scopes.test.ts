import { describe, expect, test } from 'bun:test';
import { hasScope, SCOPES, type Scope } from '../../src/http/scopes.ts';
import { scopeOfCall, scopeText } from '../../src/rpc/engine/method.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';

/** The scope of every method, so that a new method gets its scope on purpose. */
const METHODS: Readonly<Record<string, string>> = {
  read: `analyzepsbt combinepsbt combinerawtransaction converttopsbt createmultisig createpsbt createrawtransaction
    decodepsbt decoderawtransaction decodescript deriveaddresses descriptorprocesspsbt estimatefee estimaterawfee
    echo echoipc echojson estimatesmartfee finalizepsbt getmempoolfeeratediagram getorphantxs getaddressbalance getaddressdeltas getaddressmempool getaddresstxids getaddressutxos
    getaddrmaninfo getbestblockhash getblock getblockchaininfo getblockcount getblockfilter getblockhash getblockheader
    getblockstats getchainstates getchaintips getchaintxstats getconnectioncount getdeploymentinfo
    getdescriptoractivity getdescriptorinfo getdifficulty getindexinfo getlistingmetadata getmemoryinfo
    getmempoolancestors getmempoolcluster getmempooldescendants getmempoolentry getmempoolinfo getmininginfo
    getnettotals getnetworkhashps getnetworkinfo getnodeaddresses getopenrpcinfo getpeerinfo
    getprioritisedtransactions getrawmempool getrawtransaction getrpcinfo gettxout gettxoutproof gettxoutsetinfo
    gettxspendingprevout help joinpsbts rpc.discover scanblocks scantxoutset signmessagewithprivkey
    signrawtransactionwithkey syncwithvalidationinterfacequeue uptime utxoupdatepsbt validateaddress verifymessage
    verifytxoutproof waitforblock waitforblockheight waitfornewblock`,
  broadcast: 'sendrawtransaction submitpackage testmempoolaccept',
  mining: 'getblocktemplate submitblock submitheader',
  admin: `abortprivatebroadcast addconnection addnode addpeeraddress backupnode generate getprivatebroadcastinfo getrawaddrman mockscheduler sendmsgtopeer clearbanned createapikey createlogincode devdoublespend devflood devpay devreorg disconnectnode dumptxoutset generateblock
    generatetoaddress generatetodescriptor getaddednodeinfo getapikey getblockfrompeer importmempool invalidateblock
    listapikeys listbanned loadtxoutset logging ping preciousblock prioritisetransaction pruneblockchain reconsiderblock
    revokeapikey rotateapikey savemempool setapikey setban setmocktime setnetworkactive stop verifychain`,
  'wallet.read': `getaddressesbylabel getaddressinfo getbalance getbalances getreceivedbyaddress getreceivedbylabel
    gettransaction getwalletinfo listaddressgroupings listlabels listlockunspent listreceivedbyaddress
    listreceivedbylabel listsinceblock listtransactions listunspent listwalletdir listwallets simulaterawtransaction`,
  'wallet.spend': `abandontransaction bumpfee fundrawtransaction getnewaddress getrawchangeaddress keypoolrefill
    lockunspent psbtbumpfee send sendall sendmany sendtoaddress setlabel signmessage signrawtransactionwithwallet
    walletcreatefundedpsbt walletdisplayaddress walletlock walletpassphrase walletprocesspsbt`,
  'wallet.keys': `abortrescan addhdkey backupwallet createwallet createwalletdescriptor encryptwallet enumeratesigners
    exportwatchonlywallet importdescriptors importprunedfunds loadwallet removeprunedfunds rescanblockchain
    restorewallet setwalletflag unloadwallet walletpassphrasechange`,
  'wallet.read; wallet.keys where private is true': 'gethdkeys listdescriptors',
  'wallet.spend; wallet.keys where private is true': 'derivehdkey',
};

test('every method has the scope of this list', () => {
  const wanted = Object.entries(METHODS).flatMap(([scope, names]) => names.split(/\s+/).map((name) => [name, scope]));
  const found = [...RPC_METHODS.values()].map((method) => [method.name, scopeText(method)]);
  expect(Object.fromEntries(found.sort())).toEqual(Object.fromEntries(wanted.sort()));
  expect(found.length).toBe(wanted.length);
});

test('the calls that return private keys need wallet.keys', () => {
  const scope = (name: string, args: unknown[]) => scopeOfCall(RPC_METHODS.get(name)!, args);
  expect(scope('listdescriptors', [false])).toBe('wallet.read');
  expect(scope('listdescriptors', [true])).toBe('wallet.keys');
  expect(scope('gethdkeys', [{}])).toBe('wallet.read');
  expect(scope('gethdkeys', [{ private: true }])).toBe('wallet.keys');
  expect(scope('derivehdkey', ['m/0h', {}])).toBe('wallet.spend');
  expect(scope('derivehdkey', ['m/0h', { private: true }])).toBe('wallet.keys');
});

describe('scopes include each other', () => {
  const included = (granted: Scope) => SCOPES.filter((required) => hasScope(new Set([granted]), required));
  test.each([
    ['admin', [...SCOPES]],
    ['wallet', ['wallet.read', 'wallet.spend', 'wallet.keys', 'wallet']],
    ['wallet.read', ['wallet.read']],
    ['wallet.spend', ['wallet.spend']],
    ['wallet.keys', ['wallet.keys']],
    ['read', ['read']],
    ['metrics', ['metrics']],
  ] as [Scope, Scope[]][])('%s', (granted, scopes) => expect(included(granted)).toEqual(scopes));
});
